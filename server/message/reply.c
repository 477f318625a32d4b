/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/message/reply.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT    _Alignof(max_align_t)
#define RR_HEAD_SIZE 10 /* behind the owner: type, class, TTL, size of the RDATA */

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
	/* Not the names, which are many: the next response begins them. */
	memset(reply, 0, offsetof(struct reply, names));
	reply->arena = arena;
	reply->mm = (knot_mm_t){ &reply->arena, arena_alloc, arena_free };
}

/* ---- RRsets ---- */

void reply_begin_section(struct reply *reply, knot_section_t section)
{
	if (reply->response->current != section)
		knot_pkt_begin(reply->response, section);
}

void reply_rrset_begin_at(struct reply *reply, const uint8_t *owner, uint16_t type, uint32_t ttl)
{
	/* libknot's owner is not const; nothing here writes to it. */
	knot_rrset_init(&reply->rrset, (knot_dname_t *)(uintptr_t)owner, type, KNOT_CLASS_IN, ttl);
	reply->is_optional = false;
	/* The records of a set must lie behind one another; nothing else is taken until put. */
	reply->rrset.rrs.rdata = arena_alloc(&reply->arena, 0);
	reply->is_broken |= reply->rrset.rrs.rdata == NULL;
}

void reply_rrset_begin(struct reply *reply, uint16_t type, uint32_t ttl)
{
	reply_rrset_begin_at(reply, knot_pkt_qname(reply->query), type, ttl);
}

void reply_rrset_begin_rrsig(struct reply *reply)
{
	bool is_optional = reply->is_optional;
	reply_rrset_begin_at(reply, reply->rrset.owner, KNOT_RRTYPE_RRSIG, reply->rrset.ttl);
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

/* ---- writing ---- */

/* Where the next byte goes, and the end of what there is room for. */
struct cursor {
	struct reply *reply;
	size_t at;
	size_t end;
};

static bool put_bytes(struct cursor *place, const uint8_t *bytes, size_t size)
{
	if (size > place->end - place->at)
		return false;
	memcpy(place->reply->response->wire + place->at, bytes, size);
	place->at += size;
	return true;
}

static bool put_name(struct cursor *place, const uint8_t *name)
{
	struct reply *reply = place->reply;
	size_t size =
		compress_put(&reply->names, reply->response->wire, place->at, place->end, name);
	place->at += size;
	return size > 0;
}

/* RDATA that reply_rrset_add() found whole. RFC 3597: only names of old types are compressed. */
static bool put_rdata(struct cursor *place, uint16_t type, const knot_rdata_t *rdata)
{
	const knot_rdata_descriptor_t *descriptor = knot_get_rdata_descriptor(type);
	const uint8_t *at = rdata->data;
	const uint8_t *end = at + rdata->len;
	for (size_t i = 0; descriptor->block_types[i] != KNOT_RDATA_WF_END; i++) {
		int part = descriptor->block_types[i];
		int size = part_size(part, at, end);
		bool is_put = part == KNOT_RDATA_WF_COMPRESSIBLE_DNAME
				      ? put_name(place, at)
				      : put_bytes(place, at, (size_t)size);
		if (!is_put)
			return false;
		at += size;
	}
	return true;
}

static bool put_rr(struct cursor *place, const knot_rrset_t *rrset, const knot_rdata_t *rdata)
{
	uint8_t head[RR_HEAD_SIZE];
	knot_wire_write_u16(head, rrset->type);
	knot_wire_write_u16(head + 2, rrset->rclass);
	knot_wire_write_u32(head + 4, rrset->ttl);
	if (!put_name(place, rrset->owner) || !put_bytes(place, head, sizeof(head)))
		return false;
	size_t start = place->at;
	if (!put_rdata(place, rrset->type, rdata))
		return false;
	knot_wire_write_u16(place->reply->response->wire + start - 2,
			    (uint16_t)(place->at - start));
	return true;
}

static void count_rrs(const knot_pkt_t *response, uint16_t count)
{
	uint8_t *wire = response->wire;
	if (response->current == KNOT_ANSWER)
		knot_wire_set_ancount(wire, (uint16_t)(knot_wire_get_ancount(wire) + count));
	else if (response->current == KNOT_AUTHORITY)
		knot_wire_set_nscount(wire, (uint16_t)(knot_wire_get_nscount(wire) + count));
	else
		knot_wire_set_arcount(wire, (uint16_t)(knot_wire_get_arcount(wire) + count));
}

bool reply_rrset_put(struct reply *reply)
{
	const knot_rdataset_t *rrs = &reply->rrset.rrs;
	knot_pkt_t *response = reply->response;
	size_t name_count = reply->names.count;
	struct cursor place = { reply, response->size, response->max_size - response->reserved };
	const uint8_t *at = (const uint8_t *)rrs->rdata;
	if (reply->is_broken || reply->is_full || rrs->count == 0)
		return false;
	for (uint16_t i = 0; i < rrs->count; i++) {
		const knot_rdata_t *rdata = (const knot_rdata_t *)(const void *)at;
		if (!put_rr(&place, &reply->rrset, rdata)) {
			compress_forget(&reply->names, name_count);
			reply->is_full = !reply->is_optional;
			return false;
		}
		at += knot_rdata_size(rdata->len);
	}
	response->size = place.at;
	count_rrs(response, rrs->count);
	return true;
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

static void put_soa(struct reply *reply, uint32_t ttl)
{
	reply_rrset_begin_at(reply, reply->face->name->wire, KNOT_RRTYPE_SOA, ttl);
	reply_rrset_add(reply, reply->zone->soa, reply->zone->soa_size);
	reply_rrset_put(reply);
	if (!reply->has_dnssec)
		return;
	reply_rrset_begin_rrsig(reply);
	reply_rrset_add(reply, reply->zone->soa_rrsig, reply->zone->soa_rrsig_size);
	if (reply->zone->other_soa_rrsig_size != 0)
		reply_rrset_add(reply, reply->zone->other_soa_rrsig,
				reply->zone->other_soa_rrsig_size);
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
