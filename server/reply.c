/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/reply.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT _Alignof(max_align_t)

/* ---- memory ---- */

static void *arena_alloc(void *context, size_t size)
{
	struct arena *arena = context;
	size_t start = (arena->used + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
	if (start > ARENA_SIZE || size > ARENA_SIZE - start)
		return NULL;
	arena->used = start + size;
	return arena->memory + start;
}

static void arena_free(void *memory)
{
	(void)memory;
}

int reply_init(struct reply *reply)
{
	memset(reply, 0, sizeof(*reply));
	void *memory =
		mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -errno;
	reply->arena.memory = memory;
	return 0;
}

void reply_deinit(struct reply *reply)
{
	if (reply->arena.memory != NULL)
		munmap(reply->arena.memory, ARENA_SIZE);
	memset(reply, 0, sizeof(*reply));
}

void reply_clear(struct reply *reply)
{
	struct arena arena = { reply->arena.memory, 0 };
	memset(reply, 0, sizeof(*reply));
	reply->arena = arena;
	reply->mm = (knot_mm_t){ &reply->arena, arena_alloc, arena_free };
}

/* ---- RRsets ---- */

static void rrset_begin(struct reply *reply, const uint8_t *owner, uint16_t type, uint32_t ttl,
			uint16_t compr_hint)
{
	/* libknot's owner is not const; it only reads it. */
	knot_rrset_init(&reply->rrset, (knot_dname_t *)(uintptr_t)owner, type, KNOT_CLASS_IN, ttl);
	reply->compr_hint = compr_hint;
	reply->flags = KNOT_PF_NULL;
	/* The records of a set must lie behind one another; nothing else is taken until put. */
	reply->rrset.rrs.rdata = arena_alloc(&reply->arena, 0);
	reply->is_broken |= reply->rrset.rrs.rdata == NULL;
}

void reply_rrset_begin(struct reply *reply, uint16_t type, uint32_t ttl)
{
	rrset_begin(reply, knot_pkt_qname(reply->query), type, ttl, KNOT_COMPR_HINT_QNAME);
}

static bool has_rdata(const knot_rdataset_t *rrs, const uint8_t *rdata, size_t size)
{
	const uint8_t *at = (const uint8_t *)rrs->rdata;
	for (uint16_t i = 0; i < rrs->count; i++) {
		const knot_rdata_t *have = (const knot_rdata_t *)(const void *)at;
		if (have->len == size && memcmp(have->data, rdata, size) == 0)
			return true;
		at += knot_rdata_size(have->len);
	}
	return false;
}

void reply_rrset_add(struct reply *reply, const uint8_t *rdata, size_t size)
{
	knot_rdataset_t *rrs = &reply->rrset.rrs;
	if (reply->is_broken || has_rdata(rrs, rdata, size))
		return;
	size_t room = ARENA_SIZE - reply->arena.used;
	if (size > UINT16_MAX || knot_rdata_size((uint16_t)size) > room) {
		reply->is_broken = true;
		return;
	}
	uint8_t *end = (uint8_t *)rrs->rdata + rrs->size;
	knot_rdata_init((knot_rdata_t *)(void *)end, (uint16_t)size, rdata);
	rrs->count++;
	rrs->size += (uint32_t)knot_rdata_size((uint16_t)size);
	reply->arena.used += knot_rdata_size((uint16_t)size);
}

void reply_rrset_put(struct reply *reply)
{
	if (reply->is_broken || reply->is_full || reply->rrset.rrs.count == 0)
		return;
	int ret = knot_pkt_put(reply->response, reply->compr_hint, &reply->rrset, reply->flags);
	if (ret == KNOT_ESPACE)
		reply->is_full = (reply->flags & KNOT_PF_NOTRUNC) == 0;
	else
		reply->is_broken |= ret != KNOT_EOK;
}

/* Where the apex of the face is in the question: every owner below ends in it. */
static uint16_t apex_hint(const struct reply *reply)
{
	return (uint16_t)(KNOT_WIRE_HEADER_SIZE + reply->labels_size);
}

static void put_soa(struct reply *reply, uint32_t ttl)
{
	rrset_begin(reply, reply->face->name->wire, KNOT_RRTYPE_SOA, ttl, apex_hint(reply));
	reply_rrset_add(reply, reply->zone->soa, reply->zone->soa_size);
	reply_rrset_put(reply);
}

void reply_put_soa(struct reply *reply)
{
	put_soa(reply, reply->zone->soa_ttl);
}

void reply_put_negative_soa(struct reply *reply)
{
	knot_pkt_begin(reply->response, KNOT_AUTHORITY);
	put_soa(reply, reply->zone->negative_ttl);
}

/* ---- RRs of static names ---- */

/* All RRs of one type into the RRset begun. Returns how many. */
static unsigned add_type(struct reply *reply, const uint8_t *record, size_t size, uint16_t type)
{
	struct dnsblv6_rr rr;
	unsigned count = 0;
	for (size_t offset = 0; dnsblv6_record_next_rr(record, size, &offset, &rr) == DNSBLV6_OK;) {
		if (rr.type != type)
			continue;
		reply->rrset.ttl = rr.ttl;
		reply_rrset_add(reply, rr.rdata, rr.rdata_size);
		count++;
	}
	return count;
}

/* The addresses of target, when it is a name of this zone. What does not fit is left out. */
static void put_glue(struct reply *reply, const uint8_t *target)
{
	uint8_t *name = arena_alloc(&reply->arena, KNOT_DNAME_MAXLEN);
	size_t size = knot_dname_size(target);
	const struct settings_name *apex = reply->face->name;
	if (name == NULL || size > KNOT_DNAME_MAXLEN)
		return;
	memcpy(name, target, size);
	knot_dname_to_lower(name);
	if (knot_dname_in_bailiwick(name, apex->wire) <= 0)
		return;

	struct dnsblv6_key key;
	struct store_bytes value;
	if (dnsblv6_key_from_labels(name, size - apex->size, &key) != DNSBLV6_OK ||
	    reader_get(reply->zone->reader, STORE_RECORDS, key.bytes, key.size, &value) !=
		    DNSBLV6_OK ||
	    dnsblv6_record_kind(value.data, value.size) != DNSBLV6_RECORD_RRSETS)
		return;
	static const uint16_t types[] = { KNOT_RRTYPE_A, KNOT_RRTYPE_AAAA };
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		rrset_begin(reply, name, types[i], 0, KNOT_COMPR_HINT_NONE);
		reply->flags = KNOT_PF_NOTRUNC;
		add_type(reply, value.data, value.size, types[i]);
		reply_rrset_put(reply);
	}
}

static void put_additional(struct reply *reply, const uint8_t *record, size_t size)
{
	struct dnsblv6_rr rr;
	knot_pkt_begin(reply->response, KNOT_ADDITIONAL);
	for (size_t offset = 0; dnsblv6_record_next_rr(record, size, &offset, &rr) == DNSBLV6_OK;) {
		const uint8_t *end = rr.rdata + rr.rdata_size;
		if (rr.type == KNOT_RRTYPE_NS && rr.rdata_size > 0 &&
		    knot_dname_wire_check(rr.rdata, end, NULL) > 0)
			put_glue(reply, rr.rdata);
	}
}

bool reply_put_static(struct reply *reply, const uint8_t *record, size_t size)
{
	struct dnsblv6_rr first;
	size_t offset = 0;
	if (dnsblv6_record_next_rr(record, size, &offset, &first) != DNSBLV6_OK)
		return false;
	uint16_t type = reply->qtype == KNOT_RRTYPE_ANY ? first.type : reply->qtype;
	reply_rrset_begin(reply, type, 0);
	unsigned count = add_type(reply, record, size, type);
	reply_rrset_put(reply);
	if (count != 0 && type == KNOT_RRTYPE_NS && !reply->face->is_classic)
		put_additional(reply, record, size);
	return count != 0;
}
