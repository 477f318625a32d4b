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

void reply_begin_section(struct reply *reply, knot_section_t section)
{
	if (reply->response->current != section)
		knot_pkt_begin(reply->response, section);
}

static void rrset_begin(struct reply *reply, const uint8_t *owner, uint16_t type, uint32_t ttl,
			uint16_t compr_hint)
{
	/* libknot's owner is not const; it only reads it. */
	knot_rrset_init(&reply->rrset, (knot_dname_t *)(uintptr_t)owner, type, KNOT_CLASS_IN, ttl);
	reply->compr_hint = compr_hint;
	reply->is_optional = false;
	/* The records of a set must lie behind one another; nothing else is taken until put. */
	reply->rrset.rrs.rdata = arena_alloc(&reply->arena, 0);
	reply->is_broken |= reply->rrset.rrs.rdata == NULL;
}

void reply_rrset_begin(struct reply *reply, uint16_t type, uint32_t ttl)
{
	rrset_begin(reply, knot_pkt_qname(reply->query), type, ttl, KNOT_COMPR_HINT_QNAME);
}

void reply_rrset_begin_at(struct reply *reply, const uint8_t *owner, uint16_t type, uint32_t ttl)
{
	rrset_begin(reply, owner, type, ttl, KNOT_COMPR_HINT_NONE);
}

void reply_rrset_begin_rrsig(struct reply *reply)
{
	bool is_optional = reply->is_optional;
	rrset_begin(reply, reply->rrset.owner, KNOT_RRTYPE_RRSIG, reply->rrset.ttl,
		    reply->compr_hint);
	reply->is_optional = is_optional;
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

/* Bytes of one part of RDATA that begins at, before end; negative when it is malformed. */
static int part_size(int part, const uint8_t *at, const uint8_t *end)
{
	switch (part) {
	case KNOT_RDATA_WF_COMPRESSIBLE_DNAME:
	case KNOT_RDATA_WF_DECOMPRESSIBLE_DNAME:
	case KNOT_RDATA_WF_FIXED_DNAME:
		return at < end ? knot_dname_wire_check(at, end, NULL) : -1;
	case KNOT_RDATA_WF_NAPTR_HEADER:
		return knot_naptr_header_size(at, end);
	case KNOT_RDATA_WF_REMAINDER:
		return (int)(end - at);
	default:
		return part <= end - at ? part : -1;
	}
}

/* libknot reads RDATA that it writes, and trusts names in it to have an end. */
static bool is_whole(uint16_t type, const uint8_t *rdata, size_t size)
{
	const knot_rdata_descriptor_t *descriptor = knot_get_rdata_descriptor(type);
	const uint8_t *at = rdata;
	for (size_t i = 0; descriptor->block_types[i] != KNOT_RDATA_WF_END; i++) {
		int part = part_size(descriptor->block_types[i], at, rdata + size);
		if (part < 0)
			return false;
		at += part;
	}
	return at == rdata + size;
}

void reply_rrset_add(struct reply *reply, const uint8_t *rdata, size_t size)
{
	knot_rdataset_t *rrs = &reply->rrset.rrs;
	if (reply->is_broken || has_rdata(rrs, rdata, size))
		return;
	size_t room = ARENA_SIZE - reply->arena.used;
	if (size > UINT16_MAX || knot_rdata_size((uint16_t)size) > room ||
	    !is_whole(reply->rrset.type, rdata, size)) {
		reply->is_broken = true;
		return;
	}
	uint8_t *end = (uint8_t *)rrs->rdata + rrs->size;
	knot_rdata_init((knot_rdata_t *)(void *)end, (uint16_t)size, rdata);
	rrs->count++;
	rrs->size += (uint32_t)knot_rdata_size((uint16_t)size);
	reply->arena.used += knot_rdata_size((uint16_t)size);
}

/* Where the name that begins at offset may be pointed to, for the next RRset of this owner. */
static uint16_t owner_hint(const knot_pkt_t *response, size_t offset)
{
	if (knot_wire_is_pointer(response->wire + offset))
		return knot_wire_get_pointer(response->wire + offset);
	return offset <= KNOT_WIRE_PTR_MAX ? (uint16_t)offset : KNOT_COMPR_HINT_NONE;
}

bool reply_rrset_put(struct reply *reply)
{
	if (reply->is_broken || reply->is_full || reply->rrset.rrs.count == 0)
		return false;
	knot_pkt_t *response = reply->response;
	size_t offset = response->size;
	int ret = knot_pkt_put(response, reply->compr_hint, &reply->rrset, KNOT_PF_NOTRUNC);
	if (ret == KNOT_EOK && reply->compr_hint == KNOT_COMPR_HINT_NONE)
		reply->compr_hint = owner_hint(response, offset);
	if (ret == KNOT_ESPACE)
		reply->is_full = !reply->is_optional;
	else
		reply->is_broken |= ret != KNOT_EOK;
	return ret == KNOT_EOK;
}

const uint8_t *reply_make_name(struct reply *reply, const uint8_t *labels, size_t size)
{
	const struct settings_name *apex = reply->face->name;
	uint8_t *name = NULL;
	if (size + apex->size <= KNOT_DNAME_MAXLEN)
		name = arena_alloc(&reply->arena, size + apex->size);
	if (name == NULL) {
		reply->is_broken = true;
		return NULL;
	}
	memcpy(name, labels, size);
	memcpy(name + size, apex->wire, apex->size);
	return name;
}

/* ---- SOA ---- */

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
	if (!reply->has_dnssec)
		return;
	reply_rrset_begin_rrsig(reply);
	reply_rrset_add(reply, reply->zone->soa_rrsig, reply->zone->soa_rrsig_size);
	reply_rrset_put(reply);
}

void reply_put_soa(struct reply *reply)
{
	put_soa(reply, reply->zone->soa_ttl);
}

void reply_put_negative_soa(struct reply *reply)
{
	reply_begin_section(reply, KNOT_AUTHORITY);
	put_soa(reply, reply->zone->negative_ttl);
}
