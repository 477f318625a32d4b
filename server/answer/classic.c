/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/answer/classic.h"

#include <string.h>

#include "lib/format/wellknown.h"
#include "lib/store/tables.h"
#include "server/answer/statics.h"

/* What an address is asked in: a sub-zone of the list, or the apex. */
struct scope {
	struct reply *reply;
	struct zone *zone;
	uint16_t number;
	const struct dnsblv6_labels *name;
};

/* An address that is listed, and what with. */
struct hit {
	struct dnsblv6_addr addr;
	uint32_t set;
};

#define HITS_MAX 2 /* the address itself, and the one inside a 6to4 address */

#define IPV4_FIRST_LEN DNSBLV6_IPV4_BASE_LEN
#define BLOCK4_LEN     (DNSBLV6_IPV4_BASE_LEN + 25)
#define BLOCK6_LEN     57
#define UNIT6_LEN      64
#define SIXTOFOUR_LEN  16

static const struct dnsblv6_prefix every_ipv4 = { { 0, 0x0000ffff00000000 }, IPV4_FIRST_LEN };
static const struct dnsblv6_prefix loopback = { { 0, 0x0000ffff7f000000 }, IPV4_FIRST_LEN + 8 };
static const struct dnsblv6_prefix sixtofour = { { 0x2002000000000000, 0 }, SIXTOFOUR_LEN };

/* A failed look-up makes the whole reply a SERVFAIL. Returns whether ret is a success. */
static bool check(const struct scope *scope, int ret)
{
	if (ret != DNSBLV6_OK && ret != ZONE_EMPTY && ret != DNSBLV6_ENOTFOUND)
		scope->reply->is_broken = true;
	return ret == DNSBLV6_OK;
}

/* ---- is it listed ---- */

/* FORMAT.md part 7: what the bits of a canary say is not about addresses, in no sub-zone. */
static bool is_canary(struct dnsblv6_addr addr)
{
	struct dnsblv6_addr block = dnsblv6_block_of(addr).first;
	if (!dnsblv6_prefix_contains(loopback, addr))
		return false;
	for (size_t i = 0; i < DNSBLV6_CANARY_COUNT; i++) {
		if (dnsblv6_addr_compare(dnsblv6_canary_get(i)->block, block) == 0)
			return true;
	}
	return false;
}

/* The bitmap that the bitmap zone answers for the block of addr; all zero when none. */
static struct dnsblv6_bitmap get_bitmap(const struct scope *scope, struct dnsblv6_addr addr)
{
	struct dnsblv6_bitmap map = { 0 };
	struct dnsblv6_labels block;
	struct dnsblv6_labels name;
	struct dnsblv6_key key;
	struct zone_entry entry;
	enum dnsblv6_style style = scope->zone->facts.style == DNSBLV6_STYLE_FLAT
					   ? DNSBLV6_STYLE_FLAT
					   : DNSBLV6_STYLE_DOTTED;
	if (is_canary(addr) ||
	    dnsblv6_name_make(style, dnsblv6_block_of(addr), &block) != DNSBLV6_OK ||
	    dnsblv6_name_join(block.wire, block.size, scope->name->wire, scope->name->size,
			      &name) != DNSBLV6_OK ||
	    !check(scope, dnsblv6_key_from_labels(name.wire, name.size, &key)) ||
	    !check(scope, zone_find_entry(scope->zone, &key, &entry)))
		return map;
	const struct store_bytes *record = &entry.record;
	if (dnsblv6_record_kind(record->data, record->size) == DNSBLV6_RECORD_BITMAP)
		check(scope, dnsblv6_record_decode_bitmap(record->data, record->size, &map));
	return map;
}

/* The segment that holds addr, if there is one. */
static bool find_segment(const struct scope *scope, struct dnsblv6_addr addr,
			 struct dnsblv6_segment *ret_segment)
{
	uint8_t key[DNSBLV6_SEGMENT_KEY_MAX];
	struct store_bytes found;
	struct store_bytes value;
	uint16_t origin = 0;
	size_t size = dnsblv6_segment_make_key(scope->number, addr, key);
	if (!check(scope,
		   reader_seek(scope->zone->reader, STORE_SEGMENTS, key, size, &found, &value)) ||
	    !check(scope, dnsblv6_segment_decode(found.data, found.size, value.data, value.size,
						 &origin, ret_segment)))
		return false;
	return origin == scope->number &&
	       dnsblv6_addr_is_ipv4(ret_segment->last) == dnsblv6_addr_is_ipv4(addr) &&
	       dnsblv6_addr_compare(ret_segment->first, addr) <= 0;
}

/* The value set of one address, DNSBLV6_SET_NONE when it is not listed. */
static uint32_t find_set(const struct scope *scope, struct dnsblv6_addr addr)
{
	struct dnsblv6_segment segment;
	if (find_segment(scope, addr, &segment))
		return segment.set;
	struct dnsblv6_bitmap map = get_bitmap(scope, addr);
	return dnsblv6_bitmap_get(&map, dnsblv6_host_index(addr))
		       ? scope->zone->origins[scope->number].default_set
		       : DNSBLV6_SET_NONE;
}

/* ---- is anything in a prefix listed ---- */

/* What there is below the name of a prefix. */
enum run { RUN_EMPTY, RUN_LISTED, RUN_MARKS /* names that are not listed, below a wildcard */ };

static bool next_of_run(const struct scope *scope, const struct dnsblv6_key *start, int ret,
			const struct store_bytes *found)
{
	return check(scope, ret) && found->size >= start->size &&
	       memcmp(found->data, start->bytes, start->size) == 0;
}

static enum run look_at_run(const struct scope *scope, struct dnsblv6_prefix prefix)
{
	struct dnsblv6_key origin;
	struct dnsblv6_key start;
	struct store_bytes found;
	struct store_bytes value;
	enum dnsblv6_style style = scope->zone->facts.style == DNSBLV6_STYLE_FLAT
					   ? DNSBLV6_STYLE_FLAT
					   : DNSBLV6_STYLE_DOTTED;
	if (!check(scope, dnsblv6_key_from_labels(scope->name->wire, scope->name->size, &origin)) ||
	    !check(scope, dnsblv6_key_of_prefix(&origin, style, prefix, &start)))
		return RUN_EMPTY;
	enum run run = RUN_EMPTY;
	int ret = reader_seek(scope->zone->reader, STORE_RECORDS, start.bytes, start.size, &found,
			      &value);
	while (next_of_run(scope, &start, ret, &found)) {
		if (dnsblv6_record_kind(value.data, value.size) == DNSBLV6_RECORD_BITMAP)
			return RUN_LISTED;
		run = RUN_MARKS;
		ret = reader_next(scope->zone->reader, STORE_RECORDS, &found, &value);
	}
	return run;
}

/* A prefix of a block or less: some of its bits. */
static bool has_bits(const struct scope *scope, struct dnsblv6_prefix prefix)
{
	struct dnsblv6_bitmap map = get_bitmap(scope, prefix.first);
	unsigned last = dnsblv6_host_index(dnsblv6_prefix_last(prefix));
	for (unsigned i = dnsblv6_host_index(prefix.first); i <= last; i++) {
		if (dnsblv6_bitmap_get(&map, i))
			return true;
	}
	return false;
}

/* A prefix inside one /64: only segments tell its addresses apart. */
static bool has_segment(const struct scope *scope, struct dnsblv6_prefix prefix)
{
	struct dnsblv6_addr addr = prefix.first;
	struct dnsblv6_addr last = dnsblv6_prefix_last(prefix);
	/* Neighbours with one set are one segment, so two steps decide; damaged stores stop too. */
	for (int step = 0; step < 4; step++) {
		struct dnsblv6_segment segment;
		if (!find_segment(scope, addr, &segment))
			return find_set(scope, addr) != DNSBLV6_SET_NONE;
		if (segment.set != DNSBLV6_SET_NONE)
			return true;
		if (dnsblv6_addr_compare(segment.last, last) >= 0)
			return false;
		addr = dnsblv6_addr_next(segment.last);
	}
	return false;
}

/* In a store of classic names all that is listed is a segment, and no other is. */
static bool has_any_segment(const struct scope *scope, struct dnsblv6_prefix prefix)
{
	uint8_t key[DNSBLV6_SEGMENT_KEY_MAX];
	struct store_bytes found;
	struct store_bytes value;
	struct dnsblv6_segment segment;
	uint16_t origin = 0;
	size_t size = dnsblv6_segment_make_key(scope->number, prefix.first, key);
	return check(scope,
		     reader_seek(scope->zone->reader, STORE_SEGMENTS, key, size, &found, &value)) &&
	       check(scope, dnsblv6_segment_decode(found.data, found.size, value.data, value.size,
						   &origin, &segment)) &&
	       origin == scope->number &&
	       dnsblv6_addr_is_ipv4(segment.last) == dnsblv6_prefix_is_ipv4(prefix) &&
	       dnsblv6_addr_compare(segment.first, dnsblv6_prefix_last(prefix)) <= 0;
}

static bool has_listed(const struct scope *scope, struct dnsblv6_prefix prefix);

/* One by one, in prefixes that are longer by step bits. */
static bool has_listed_part(const struct scope *scope, struct dnsblv6_prefix prefix, unsigned step)
{
	struct dnsblv6_addr first = prefix.first;
	for (unsigned i = 0; i < 1U << step; i++) {
		struct dnsblv6_prefix part = dnsblv6_prefix_make(first, prefix.prefix_len + step);
		if (has_listed(scope, part))
			return true;
		first = dnsblv6_addr_next(dnsblv6_prefix_last(part));
	}
	return false;
}

/*
 * Is anything in prefix listed? IPv4 lengths are 96 and more in steps of 4,
 * IPv6 lengths steps of 4: that is what names can say. A whole-block record
 * above the prefix is not below its name; any block of the prefix shows it.
 */
static bool has_listed(const struct scope *scope, struct dnsblv6_prefix prefix)
{
	bool is_ipv4 = dnsblv6_prefix_is_ipv4(prefix);
	if (scope->zone->facts.style == DNSBLV6_STYLE_CLASSIC)
		return has_any_segment(scope, prefix);
	if (prefix.prefix_len == 128)
		return find_set(scope, prefix.first) != DNSBLV6_SET_NONE;
	if (!is_ipv4 && prefix.prefix_len > UNIT6_LEN)
		return has_segment(scope, prefix);
	if (prefix.prefix_len >= (is_ipv4 ? BLOCK4_LEN : BLOCK6_LEN))
		return has_bits(scope, prefix);
	/* The keys of a /24 may be canaries alone, so its two blocks are looked at. */
	if (is_ipv4 && prefix.prefix_len == BLOCK4_LEN - 1)
		return has_listed_part(scope, prefix, 1);
	/* No key begins with half an octet, or with all of IPv4. */
	if (is_ipv4 && (prefix.prefix_len % 8 != 0 || prefix.prefix_len == IPV4_FIRST_LEN))
		return has_listed_part(scope, prefix, 4);
	enum run run = look_at_run(scope, prefix);
	if (run == RUN_LISTED)
		return true;
	/* A wildcard above lists what has no name here. */
	if (run == RUN_MARKS)
		return has_listed_part(scope, prefix, is_ipv4 ? 8 : 4);
	struct dnsblv6_bitmap map = get_bitmap(scope, prefix.first);
	return !dnsblv6_bitmap_is_empty(&map);
}

/* The IPv4 prefix that the 6to4 addresses in prefix are made of. */
static struct dnsblv6_prefix sixtofour_part(struct dnsblv6_prefix prefix)
{
	unsigned len = prefix.prefix_len - (unsigned)SIXTOFOUR_LEN;
	struct dnsblv6_addr addr = dnsblv6_addr_from_ipv4((uint32_t)(prefix.first.hi >> 16));
	return dnsblv6_prefix_make(addr, IPV4_FIRST_LEN + (len < 32 ? len : 32));
}

static bool is_sixtofour(struct dnsblv6_addr addr)
{
	return dnsblv6_prefix_contains(sixtofour, addr);
}

/* The same for a name of nibbles, below which there are also mapped and 6to4 names. */
static bool has_listed_nibbles(const struct scope *scope, struct dnsblv6_prefix prefix)
{
	if (has_listed(scope, prefix))
		return true;
	if (prefix.prefix_len >= SIXTOFOUR_LEN && is_sixtofour(prefix.first))
		return has_listed(scope, sixtofour_part(prefix));
	bool holds_ipv4 = prefix.prefix_len < IPV4_FIRST_LEN &&
			  (dnsblv6_prefix_contains(prefix, every_ipv4.first) ||
			   dnsblv6_prefix_contains(prefix, sixtofour.first));
	return holds_ipv4 && has_listed(scope, every_ipv4);
}

/* ---- what is said about it ---- */

/* Steps through the values of a set. False behind the last, and for what is damaged. */
static bool next_value(const struct scope *scope, const struct store_bytes *set, size_t *offset,
		       struct dnsblv6_value *ret_value)
{
	return check(scope, dnsblv6_set_next(set->data, set->size, offset, ret_value));
}

static bool get_set(const struct scope *scope, uint32_t set, struct store_bytes *ret_set)
{
	uint8_t key[DNSBLV6_SET_KEY_SIZE];
	dnsblv6_set_make_key(set, key);
	int ret = reader_get(scope->zone->reader, STORE_SETS, key, sizeof(key), ret_set);
	/* A number without a set is damage, not an answer. */
	scope->reply->is_broken |= ret != DNSBLV6_OK;
	return ret == DNSBLV6_OK;
}

/* A value without text says nothing about the TXT RRset, its TTL included. */
static void add_value(struct reply *reply, const struct dnsblv6_value *value,
		      struct dnsblv6_addr addr, uint16_t type)
{
	uint8_t rdata[1 + DNSBLV6_TEXT_MAX];
	size_t size = 4;
	if (type == KNOT_RRTYPE_A) {
		knot_wire_write_u32(rdata, value->a);
	} else {
		size_t text_size = dnsblv6_value_expand(value, addr, rdata + 1);
		if (text_size == 0)
			return;
		rdata[0] = (uint8_t)text_size;
		size = 1 + text_size;
	}
	if (value->ttl < reply->rrset.ttl)
		reply->rrset.ttl = value->ttl;
	reply_rrset_add(reply, rdata, size);
}

/* True when there was a record of that type: a listed address may have no text. */
static bool put_values(const struct scope *scope, const struct hit *hits, size_t hit_count,
		       uint16_t type)
{
	struct reply *reply = scope->reply;
	/* The TTL of an RRset is one: the least that a value of it has. */
	reply_rrset_begin(reply, type, UINT32_MAX);
	for (size_t i = 0; i < hit_count; i++) {
		struct store_bytes set;
		struct dnsblv6_value value;
		if (!get_set(scope, hits[i].set, &set))
			return false;
		for (size_t offset = 0; next_value(scope, &set, &offset, &value);)
			add_value(reply, &value, hits[i].addr, type);
	}
	reply_rrset_put(reply);
	return reply->rrset.rrs.count != 0;
}

/* ---- questions ---- */

static size_t add_hit(const struct scope *scope, struct dnsblv6_addr addr, struct hit *hits,
		      size_t count)
{
	uint32_t set = find_set(scope, addr);
	if (set != DNSBLV6_SET_NONE)
		hits[count++] = (struct hit){ addr, set };
	return count;
}

static enum reply_result answer_negative(struct reply *reply, enum reply_result result)
{
	reply_put_negative_soa(reply);
	return result;
}

static enum reply_result answer_hits(const struct scope *scope, const struct hit *hits,
				     size_t count)
{
	struct reply *reply = scope->reply;
	uint16_t type = reply->qtype == KNOT_RRTYPE_ANY ? KNOT_RRTYPE_A : reply->qtype;
	if ((type == KNOT_RRTYPE_A || type == KNOT_RRTYPE_TXT) &&
	    put_values(scope, hits, count, type))
		return REPLY_NOERROR;
	return answer_negative(reply, REPLY_NODATA);
}

/*
 * labels may be an IPv4 name, an IPv6 name, or (up to four labels of one digit)
 * both; then it is what it has data as, and exists when either exists.
 */
static enum reply_result answer_address(const struct scope *scope, const uint8_t *labels,
					size_t size)
{
	struct dnsblv6_prefix four;
	struct dnsblv6_prefix six;
	bool is_four = dnsblv6_name_parse_classic4(labels, size, &four) == DNSBLV6_OK;
	bool is_six = dnsblv6_name_parse_classic6(labels, size, &six) == DNSBLV6_OK;
	struct hit hits[HITS_MAX];
	size_t count = 0;
	if (is_four && four.prefix_len == 128)
		count = add_hit(scope, four.first, hits, count);
	if (is_six && six.prefix_len == 128) {
		count = add_hit(scope, six.first, hits, count);
		if (is_sixtofour(six.first))
			count = add_hit(scope, sixtofour_part(six).first, hits, count);
	}
	if (count > 0)
		return answer_hits(scope, hits, count);

	bool exists = (is_four && four.prefix_len < 128 && has_listed(scope, four)) ||
		      (is_six && six.prefix_len < 128 && has_listed_nibbles(scope, six));
	return answer_negative(scope->reply, exists ? REPLY_NODATA : REPLY_NXDOMAIN);
}

/* ---- domain names of lists ---- */

/* They are names of the bitmap zone, and of this one. otherwise: where there is nothing. */
static enum reply_result answer_name(struct reply *reply, enum reply_result otherwise)
{
	struct dnsblv6_key key;
	struct zone_match match;
	int ret = dnsblv6_key_from_labels(reply->labels, reply->labels_size, &key);
	if (ret == DNSBLV6_OK)
		ret = zone_find(reply->zone, &key, &match);
	if (ret == DNSBLV6_OK && !statics_is_of_signing(reply->qtype) &&
	    dnsblv6_record_kind(match.entry.record.data, match.entry.record.size) ==
		    DNSBLV6_RECORD_RRSETS &&
	    statics_put(reply, &match.entry))
		return REPLY_NOERROR;
	if (ret != DNSBLV6_OK && ret != ZONE_EMPTY && ret != DNSBLV6_ENOTFOUND)
		return REPLY_SERVFAIL;
	return answer_negative(reply, ret == DNSBLV6_ENOTFOUND ? otherwise : REPLY_NODATA);
}

/*
 * The classic zone has the SOA and the NS of the bitmap zone, under its own
 * name. No signature of the store is good for that name, so it is not signed.
 */
static enum reply_result answer_apex(struct reply *reply)
{
	if (reply_wants(reply, KNOT_RRTYPE_SOA)) {
		reply_put_soa(reply);
		return REPLY_NOERROR;
	}
	return answer_name(reply, REPLY_SERVFAIL);
}

/* ---- clients that are told something else ---- */

/* Does rbldnsd take the name for one that a list might have? */
static bool is_listable(const struct scope *scope, const uint8_t *labels, size_t size)
{
	const struct dnsblv6_facts *facts = &scope->zone->facts;
	struct dnsblv6_prefix prefix;
	if (dnsblv6_name_parse_classic4(labels, size, &prefix) == DNSBLV6_OK &&
	    prefix.prefix_len == 128 && facts->ipv4_count > 0)
		return true;
	if (dnsblv6_name_parse_classic6(labels, size, &prefix) == DNSBLV6_OK &&
	    prefix.prefix_len == 128) {
		bool is_ipv4 = dnsblv6_addr_is_ipv4(prefix.first) || is_sixtofour(prefix.first);
		return is_ipv4 ? facts->ipv4_count > 0 : facts->ipv6_count > 0;
	}
	return facts->name_count > 0 && !dnsblv6_name_is_reserved(labels, size);
}

/* Everything is listed, with the client's address for the one that was asked about; or nothing. */
static enum reply_result answer_client(const struct scope *scope, const uint8_t *labels,
				       size_t size)
{
	const struct clients_answer *client = &scope->reply->client;
	const struct hit hit = { client->addr, client->set };
	if (client->verdict == CLIENTS_EMPTY || !is_listable(scope, labels, size))
		return answer_negative(scope->reply, REPLY_NXDOMAIN);
	return answer_hits(scope, &hit, 1);
}

enum reply_result classic_answer(struct reply *reply)
{
	if (reply->labels_size == 0)
		return answer_apex(reply);
	struct zone *zone = reply->zone;
	if (zone->origin_count == 0)
		return REPLY_SERVFAIL;
	size_t rest_size = 0;
	bool is_above = false;
	uint16_t origin =
		zone_find_origin(zone, reply->labels, reply->labels_size, &rest_size, &is_above);
	if (rest_size == 0 || (is_above && reply->client.verdict == CLIENTS_PASS))
		return answer_name(reply, REPLY_NODATA);
	struct scope scope = { reply, zone, origin, &zone->origins[origin].name };
	if (reply->client.verdict != CLIENTS_PASS)
		return answer_client(&scope, reply->labels, rest_size);
	if (zone->facts.name_count > 0 && !dnsblv6_name_is_reserved(reply->labels, rest_size))
		return answer_name(reply, REPLY_NXDOMAIN);
	return answer_address(&scope, reply->labels, rest_size);
}
