/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/zone/zone.h"

#include "lib/store/tables.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libknot/libknot.h>

/*
 * Names that are indexed for a batch: some microseconds, as the store is fresh in no cache and its
 * new pages have to be mapped. A question behind that batch waits for it.
 */
#define INDEX_STEP 16

void zone_init(struct zone *zone, const uint8_t *apex, size_t apex_size, const char *path)
{
	memset(zone, 0, sizeof(*zone));
	zone->apex = apex;
	zone->apex_size = apex_size;
	zone->apex_labels = (unsigned)knot_dname_labels(apex, NULL);
	zone->path = path;
	zone->status = -ENODATA;
}

const char *zone_strerror(int status)
{
	return status == ZONE_EAPEX ? "store of another zone" : store_strerror(status);
}

const char *zone_explain(int status)
{
	if (status == -EACCES && geteuid() == 0)
		return "Permission denied; workers of root may have no capabilities: give a "
		       "\"user\"";
	return zone_strerror(status);
}

bool zone_is_damage(int status)
{
	switch (status) {
	case STORE_ENOTSTORE:
	case STORE_ELMDB:
	case STORE_ESCHEMA:
	case STORE_ECUT:
	case STORE_ECORRUPT:
	case STORE_EUNFINISHED:
	case DNSBLV6_ERECORD:
	case ZONE_EAPEX:
		return true;
	default:
		return false;
	}
}

/* ---- what is kept ---- */

bool zone_has_apex(const struct zone *zone, const struct dnsblv6_labels *apex)
{
	/* A store keeps it without its root label. */
	uint8_t lower[KNOT_DNAME_MAXLEN] = { 0 };
	memcpy(lower, apex->wire, apex->size);
	knot_dname_to_lower(lower);
	return apex->size + 1U == zone->apex_size &&
	       memcmp(lower, zone->apex, zone->apex_size) == 0;
}

static int load_facts(struct zone *zone)
{
	struct store_bytes value;
	int ret = reader_get(zone->reader, STORE_FACTS, DNSBLV6_FACT_ZONE,
			     sizeof(DNSBLV6_FACT_ZONE) - 1, &value);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_facts_decode(value.data, value.size, &zone->facts);
	if (ret != DNSBLV6_OK)
		return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_ERECORD : ret;
	return zone_has_apex(zone, &zone->facts.zone) ? DNSBLV6_OK : ZONE_EAPEX;
}

/*
 * A store that was built before there was this fact has none. No answer needs it, so that one that
 * cannot be read is as good as none.
 */
static int load_lists_time(struct zone *zone)
{
	struct store_bytes value;
	int ret = reader_get(zone->reader, STORE_FACTS, DNSBLV6_FACT_LISTS,
			     sizeof(DNSBLV6_FACT_LISTS) - 1, &value);
	zone->lists_s = 0;
	zone->is_age_lost = ret == DNSBLV6_OK && dnsblv6_lists_decode(value.data, value.size,
								      &zone->lists_s) != DNSBLV6_OK;
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

/* What the parent is told of. It takes no notice of what is no row. */
static int load_files(struct zone *zone)
{
	struct store_bytes value;
	int ret = reader_get(zone->reader, STORE_FACTS, DNSBLV6_FACT_FILES,
			     sizeof(DNSBLV6_FACT_FILES) - 1, &value);
	zone->files_size = 0;
	if (ret == DNSBLV6_OK && value.size <= sizeof(zone->files)) {
		zone->files_size = value.size;
		memcpy(zone->files, value.data, value.size);
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

/* Sub-zones are numbered without gaps, so the count is the first that is missing. */
static int load_origins(struct zone *zone)
{
	free(zone->origins);
	zone->origins = NULL;
	zone->origin_count = 0;
	for (;;) {
		uint8_t key[DNSBLV6_ORIGIN_KEY_SIZE];
		struct store_bytes value;
		dnsblv6_origin_make_key((uint16_t)zone->origin_count, key);
		int ret = reader_get(zone->reader, STORE_FACTS, key, sizeof(key), &value);
		if (ret == DNSBLV6_ENOTFOUND || zone->origin_count == UINT16_MAX)
			return DNSBLV6_OK;
		if (ret != DNSBLV6_OK)
			return ret;
		struct dnsblv6_origin *origins =
			reallocarray(zone->origins, zone->origin_count + 1, sizeof(*origins));
		if (origins == NULL)
			return -ENOMEM;
		zone->origins = origins;
		ret = dnsblv6_origin_decode(value.data, value.size, &origins[zone->origin_count]);
		if (ret != DNSBLV6_OK)
			return ret;
		zone->origin_count++;
	}
}

/* Its segments are the last ones: no other origin has so high a number. */
static int find_clients(struct zone *zone)
{
	uint8_t key[DNSBLV6_SEGMENT_KEY_MAX];
	struct store_bytes found;
	struct store_bytes value;
	size_t size = dnsblv6_segment_make_key(DNSBLV6_ORIGIN_ACL, dnsblv6_addr_from_ipv4(0), key);
	int ret = reader_seek(zone->reader, STORE_SEGMENTS, key, size, &found, &value);
	zone->has_clients = ret == DNSBLV6_OK;
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int load_signing(struct zone *zone)
{
	struct store_bytes value;
	int ret = reader_get(zone->reader, STORE_FACTS, DNSBLV6_FACT_SIGNING,
			     sizeof(DNSBLV6_FACT_SIGNING) - 1, &value);
	zone->is_signed = ret == DNSBLV6_OK;
	if (ret == DNSBLV6_OK)
		return dnsblv6_signing_decode(value.data, value.size, &zone->signing);
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

bool zone_rr_is_rrsig_of(const struct dnsblv6_rr *rr, uint16_t type)
{
	return rr->type == KNOT_RRTYPE_RRSIG && rr->rdata_size > 2 &&
	       knot_wire_read_u16(rr->rdata) == type;
}

/* Takes the names of the kept SOA apart. False when they are none. */
static bool split_soa(struct zone *zone)
{
	const uint8_t *at = zone->soa;
	/* Behind them are five numbers. */
	const uint8_t *end = zone->soa + zone->soa_size - 20;
	for (size_t i = 0; i < ZONE_SOA_NAMES; i++) {
		int size = knot_dname_wire_check(at, end, NULL);
		if (size <= 0)
			return false;
		struct zone_soa_name *name = &zone->soa_names[i];
		size_t apex = (size_t)size > zone->apex_size ? (size_t)size - zone->apex_size : 0;
		size_t offset = 0;
		while (offset < apex)
			offset += 1U + at[offset];
		*name = (struct zone_soa_name){ at, (uint8_t)size, false };
		name->is_below = offset + zone->apex_size == (size_t)size &&
				 memcmp(at + offset, zone->apex, zone->apex_size) == 0;
		if (name->is_below)
			name->size = (uint8_t)offset;
		at += size;
	}
	return at == end;
}

static int keep_soa(struct zone *zone, const struct dnsblv6_rr *rr)
{
	if (rr->rdata_size > ZONE_SOA_MAX || rr->rdata_size < 22)
		return DNSBLV6_ERECORD;
	memcpy(zone->soa, rr->rdata, rr->rdata_size);
	zone->soa_size = rr->rdata_size;
	if (!split_soa(zone))
		return DNSBLV6_ERECORD;
	zone->soa_ttl = rr->ttl;
	/* MINIMUM is the last of the five numbers. */
	uint32_t minimum = knot_wire_read_u32(zone->soa + zone->soa_size - 4);
	zone->negative_ttl = minimum < rr->ttl ? minimum : rr->ttl;
	return DNSBLV6_OK;
}

static int keep_soa_rrsig(struct zone *zone, const struct dnsblv6_rr *rr)
{
	bool is_other = zone->soa_rrsig_size != 0;
	if (rr->rdata_size > sizeof(zone->soa_rrsig) || zone->other_soa_rrsig_size != 0)
		return DNSBLV6_ERECORD;
	memcpy(is_other ? zone->other_soa_rrsig : zone->soa_rrsig, rr->rdata, rr->rdata_size);
	*(is_other ? &zone->other_soa_rrsig_size : &zone->soa_rrsig_size) = rr->rdata_size;
	return DNSBLV6_OK;
}

/* All RRs of the apex that are kept. */
static int keep_apex(struct zone *zone, const struct store_bytes *record)
{
	struct dnsblv6_rr rr;
	zone->soa_size = 0;
	zone->soa_rrsig_size = 0;
	zone->other_soa_rrsig_size = 0;
	int ret = DNSBLV6_OK;
	for (size_t offset = 0; ret == DNSBLV6_OK;) {
		ret = dnsblv6_record_next_rr(record->data, record->size, &offset, &rr);
		if (ret == DNSBLV6_OK && rr.type == KNOT_RRTYPE_SOA)
			ret = keep_soa(zone, &rr);
		else if (ret == DNSBLV6_OK && zone_rr_is_rrsig_of(&rr, KNOT_RRTYPE_SOA))
			ret = keep_soa_rrsig(zone, &rr);
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

/* Each negative answer has the SOA, and its signature in a signed zone. */
static bool can_say_no(const struct zone *zone)
{
	return zone->soa_size != 0 && (zone->soa_rrsig_size != 0 || !zone->is_signed);
}

static int load_soa(struct zone *zone)
{
	struct dnsblv6_key key;
	struct store_bytes value;
	int ret = dnsblv6_key_from_labels(zone->apex, 0, &key);
	if (ret == DNSBLV6_OK)
		ret = reader_get(zone->reader, STORE_RECORDS, key.bytes, key.size, &value);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_record_kind(value.data, value.size) == DNSBLV6_RECORD_RRSETS
			      ? DNSBLV6_OK
			      : DNSBLV6_ERECORD;
	if (ret == DNSBLV6_OK)
		ret = keep_apex(zone, &value);
	if (ret == DNSBLV6_OK && can_say_no(zone))
		return DNSBLV6_OK;
	return ret == DNSBLV6_OK || ret == DNSBLV6_ENOTFOUND ? DNSBLV6_ERECORD : ret;
}

static int load(struct zone *zone)
{
	int ret = load_facts(zone);
	if (ret == DNSBLV6_OK)
		ret = load_lists_time(zone);
	if (ret == DNSBLV6_OK)
		ret = load_files(zone);
	if (ret == DNSBLV6_OK)
		ret = load_origins(zone);
	if (ret == DNSBLV6_OK)
		ret = find_clients(zone);
	if (ret == DNSBLV6_OK)
		ret = load_signing(zone);
	if (ret == DNSBLV6_OK)
		ret = load_soa(zone);
	if (ret == DNSBLV6_OK && !zone->is_read_once)
		index_begin(&zone->index, zone->facts.record_count);
	zone->has_version = ret == DNSBLV6_OK;
	zone->version = reader_version(zone->reader);
	return ret;
}

/* ---- life ---- */

int zone_open(struct zone *zone)
{
	zone_close(zone);
	int ret = reader_open(zone->path, &zone_store, &zone->reader);
	if (ret == STORE_OK) {
		zone->status = 0;
		ret = zone_begin(zone);
		zone_end(zone);
		if (ret != 0)
			zone_close(zone);
	}
	zone->status = ret;
	return ret;
}

void zone_close(struct zone *zone)
{
	zone_end(zone);
	reader_close(zone->reader);
	zone->reader = NULL;
	zone->status = -ENODATA;
	zone->damage = 0;
	zone->checked_s = 0;
	zone->has_version = false;
	index_deinit(&zone->index);
	free(zone->origins);
	zone->origins = NULL;
	zone->origin_count = 0;
}

int zone_begin(struct zone *zone)
{
	if (zone->is_begun)
		return zone->status;
	if (zone->reader == NULL)
		return zone->status;
	int ret = reader_begin(zone->reader);
	if (ret != STORE_OK) {
		zone->status = ret;
		return ret;
	}
	zone->is_begun = true;
	zone->status = 0;
	if (!zone->has_version || reader_version(zone->reader) != zone->version)
		zone->status = load(zone);
	return zone->status;
}

void zone_end(struct zone *zone)
{
	if (zone->is_begun && zone->has_version && !zone->is_read_once)
		index_build(&zone->index, zone->reader, INDEX_STEP);
	if (zone->is_begun)
		reader_end(zone->reader);
	zone->is_begun = false;
}

void zone_prepare(struct zone *zone)
{
	if (zone_begin(zone) == 0 && !zone->is_read_once)
		index_build(&zone->index, zone->reader, SIZE_MAX);
	zone_end(zone);
}

/* ---- names ---- */

static bool is_at(const struct zone_entry *entry, const uint8_t *key, size_t size)
{
	return entry->key.size == size && memcmp(entry->key.data, key, size) == 0;
}

/* The first entry at key or behind it. */
static int seek(struct zone *zone, const uint8_t *key, size_t size, struct zone_entry *ret_entry)
{
	return reader_seek(zone->reader, STORE_RECORDS, key, size, &ret_entry->key,
			   &ret_entry->record);
}

/*
 * DNSBLV6_OK when key is there, ZONE_EMPTY when only something below it is, and
 * else DNSBLV6_ENOTFOUND. *ret_behind is the entry at key or behind it; its
 * key has no bytes when there is none.
 */
static int find_place(struct zone *zone, const struct dnsblv6_key *key,
		      struct zone_entry *ret_behind)
{
	int ret = seek(zone, key->bytes, key->size, ret_behind);
	if (ret != DNSBLV6_OK) {
		ret_behind->key.size = 0;
		return ret;
	}
	if (is_at(ret_behind, key->bytes, key->size))
		return DNSBLV6_OK;
	return dnsblv6_key_is_below(ret_behind->key.data, ret_behind->key.size, key->bytes,
				    key->size)
		       ? ZONE_EMPTY
		       : DNSBLV6_ENOTFOUND;
}

/* The entry before the place that was found last. There is always one: the apex. */
static int find_before(struct zone *zone, const struct zone_entry *behind,
		       struct zone_entry *ret_before)
{
	int ret = behind->key.size != 0 ? reader_prev(zone->reader, STORE_RECORDS, &ret_before->key,
						      &ret_before->record)
					: reader_last(zone->reader, STORE_RECORDS, &ret_before->key,
						      &ret_before->record);
	return ret == DNSBLV6_ENOTFOUND ? -ENODATA : ret;
}

static struct zone_link make_link(const struct zone_entry *before, const struct zone_entry *behind)
{
	static const uint8_t apex[] = { 0 };
	struct zone_link link = { *before, { apex, sizeof(apex) } };
	if (behind->key.size != 0)
		link.next = behind->key;
	return link;
}

/*
 * The wildcard at the closest encloser of a key that is not there. Names sort
 * with everything below them, so the longest ancestor that exists has the
 * labels that the key shares with its neighbour on one side or the other.
 */
static int make_wildcard(const struct dnsblv6_key *key, const struct zone_entry *before,
			 const struct zone_entry *behind, struct dnsblv6_key *ret_wildcard)
{
	unsigned shared = dnsblv6_key_common_labels(key->bytes, key->size, before->key.data,
						    before->key.size);
	unsigned labels = dnsblv6_key_label_count(key->bytes, key->size);
	if (behind->key.size != 0 && shared + 1 < labels) {
		unsigned other = dnsblv6_key_common_labels(key->bytes, key->size, behind->key.data,
							   behind->key.size);
		shared = other > shared ? other : shared;
	}
	ret_wildcard->size = key->size;
	memcpy(ret_wildcard->bytes, key->bytes, key->size);
	for (; labels > shared; labels--)
		dnsblv6_key_to_parent(ret_wildcard);
	/* No longer than the name, whose label it takes the place of. */
	return dnsblv6_key_add_label(ret_wildcard, (const uint8_t *)"*", 1);
}

static bool is_before(const struct store_bytes *a, const struct dnsblv6_key *b)
{
	size_t shared = a->size < b->size ? a->size : b->size;
	int order = memcmp(a->data, b->bytes, shared);
	return order < 0 || (order == 0 && a->size < b->size);
}

/* What is at the wildcard for key, which is not there; name is the link that covers key. */
static int find_wildcard(struct zone *zone, const struct dnsblv6_key *key,
			 const struct zone_link *name, struct zone_match *match,
			 struct zone_cover *cover)
{
	const struct store_bytes wildcard = { match->wildcard.bytes, match->wildcard.size };
	/* Between the entry before and the name there is nothing: not the wildcard either. */
	if (is_before(&wildcard, key) && is_before(&name->entry.key, &match->wildcard)) {
		cover->has_wildcard = true;
		cover->wildcard = *name;
		return DNSBLV6_ENOTFOUND;
	}
	struct zone_entry behind;
	struct zone_entry before;
	int ret = find_place(zone, &match->wildcard, &behind);
	match->entry = behind;
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	int back = find_before(zone, &behind, &before);
	if (back != DNSBLV6_OK)
		return back;
	cover->has_wildcard = true;
	cover->wildcard = make_link(&before, &behind);
	return ret;
}

/* INDEX_ELSEWHERE also while the index is not complete. */
static enum index_state ask_index(const struct zone *zone, const struct dnsblv6_key *key,
				  struct zone_entry *ret_entry)
{
	if (!zone->index.is_complete)
		return INDEX_ELSEWHERE;
	return index_find(&zone->index, key, &ret_entry->key, &ret_entry->record);
}

int zone_find_cover(struct zone *zone, const struct dnsblv6_key *key, struct zone_match *ret_match,
		    struct zone_cover *ret_cover)
{
	struct zone_entry behind;
	struct zone_entry before;
	ret_cover->has_name = false;
	ret_cover->has_wildcard = false;
	ret_match->is_name = true;
	if (ask_index(zone, key, &ret_match->entry) == INDEX_ENTRY)
		return DNSBLV6_OK;
	int ret = find_place(zone, key, &behind);
	ret_match->is_name = ret != DNSBLV6_ENOTFOUND;
	if (ret == DNSBLV6_OK)
		ret_match->entry = behind;
	if (ret != ZONE_EMPTY && ret != DNSBLV6_ENOTFOUND)
		return ret;

	int back = find_before(zone, &behind, &before);
	if (back != DNSBLV6_OK)
		return back;
	ret_cover->has_name = true;
	ret_cover->name = make_link(&before, &behind);
	if (ret == ZONE_EMPTY)
		return ret;
	ret = make_wildcard(key, &before, &behind, &ret_match->wildcard);
	return ret == DNSBLV6_OK ? find_wildcard(zone, key, &ret_cover->name, ret_match, ret_cover)
				 : ret;
}

int zone_find(struct zone *zone, const struct dnsblv6_key *key, struct zone_match *ret_match)
{
	struct zone_cover cover;
	return zone_find_cover(zone, key, ret_match, &cover);
}

/* key becomes the wildcard beside it. False at the apex. */
static bool key_to_wildcard(struct dnsblv6_key *key)
{
	/* No longer than the name, whose label it takes the place of. */
	return dnsblv6_key_to_parent(key) &&
	       dnsblv6_key_add_label(key, (const uint8_t *)"*", 1) == DNSBLV6_OK;
}

/* Is there a wildcard at any ancestor of key? Mostly there is none. */
static bool has_wildcard_above(const struct zone *zone, const struct dnsblv6_key *key)
{
	struct dnsblv6_key wildcard;
	unsigned labels = dnsblv6_key_label_count(key->bytes, key->size);
	wildcard.size = key->size;
	memcpy(wildcard.bytes, key->bytes, key->size);
	for (; index_has_wildcards(&zone->index, labels); labels--) {
		if (!key_to_wildcard(&wildcard))
			return false;
		if (index_has_wildcard(&zone->index, &wildcard))
			return true;
		dnsblv6_key_to_parent(&wildcard);
	}
	return false;
}

int zone_find_entry(struct zone *zone, const struct dnsblv6_key *key, struct zone_entry *ret_entry)
{
	enum index_state state = ask_index(zone, key, ret_entry);
	if (state == INDEX_ENTRY)
		return DNSBLV6_OK;
	/* Which wildcard stands for it is the store's to say. */
	if (state == INDEX_NONE && !has_wildcard_above(zone, key))
		return DNSBLV6_ENOTFOUND;
	struct zone_match match;
	int ret = zone_find(zone, key, &match);
	if (ret == DNSBLV6_OK)
		*ret_entry = match.entry;
	return ret;
}

/* ---- the chain of a signed zone ---- */

/* ret is what came of looking for the next key. */
static int close_chain(int ret, struct store_bytes *next)
{
	static const uint8_t apex[] = { 0 };
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	*next = (struct store_bytes){ apex, sizeof(apex) };
	return DNSBLV6_OK;
}

int zone_find_link(struct zone *zone, const uint8_t *key, size_t size, struct zone_link *ret_link)
{
	struct zone_entry found;
	int ret = seek(zone, key, size, &found);
	if (ret == DNSBLV6_OK && is_at(&found, key, size)) {
		ret_link->entry = found;
		ret = reader_next(zone->reader, STORE_RECORDS, &ret_link->next, &found.record);
		return close_chain(ret, &ret_link->next);
	}
	if (ret == DNSBLV6_OK)
		ret_link->next = found.key;
	ret = close_chain(ret, &ret_link->next);
	if (ret != DNSBLV6_OK)
		return ret;
	/* There is always one: the apex is before every name. */
	return reader_seek_before(zone->reader, STORE_RECORDS, key, size, &ret_link->entry.key,
				  &ret_link->entry.record);
}

enum zone_signatures zone_judge_signatures(uint64_t built_s, uint64_t expires_s, uint64_t now_s)
{
	if (now_s >= expires_s)
		return ZONE_SIGNATURES_ENDED;
	if (built_s > now_s + ZONE_SIGNATURES_SKEW_S)
		return ZONE_SIGNATURES_NOT_YET;
	return expires_s - now_s < ZONE_SIGNATURES_SOON_S ? ZONE_SIGNATURES_END_SOON
							  : ZONE_SIGNATURES_GOOD;
}

enum zone_signatures zone_check_signatures(const struct zone *zone, uint64_t now_s)
{
	return zone->is_signed
		       ? zone_judge_signatures(zone->facts.built_s, zone->signing.expires_s, now_s)
		       : ZONE_SIGNATURES_GOOD;
}

/* ---- sub-zones ---- */

/* Is name a proper or improper ancestor of labels, at a border between labels? */
static bool is_suffix(const uint8_t *labels, size_t size, const struct dnsblv6_labels *name)
{
	size_t offset = 0;
	while (offset + name->size < size)
		offset += 1U + labels[offset];
	return offset + name->size == size && memcmp(labels + offset, name->wire, name->size) == 0;
}

uint16_t zone_find_origin(const struct zone *zone, const uint8_t *labels, size_t size,
			  size_t *ret_rest_size, bool *ret_is_above)
{
	uint16_t best = 0;
	size_t best_size = 0;
	*ret_is_above = false;
	for (size_t i = 1; i < zone->origin_count; i++) {
		const struct dnsblv6_labels *name = &zone->origins[i].name;
		if (name->size > best_size && name->size <= size && is_suffix(labels, size, name)) {
			best = (uint16_t)i;
			best_size = name->size;
		}
		struct dnsblv6_labels asked = { .size = (uint8_t)size };
		if (name->size > size) {
			memcpy(asked.wire, labels, size);
			*ret_is_above |= is_suffix(name->wire, name->size, &asked);
		}
	}
	*ret_rest_size = size - best_size;
	return best;
}
