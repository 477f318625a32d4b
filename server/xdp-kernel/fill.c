/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/xdp-kernel/fill.h"

#include <string.h>

#include <libknot/libknot.h>

#include "lib/format/bytes.h"
#include "lib/store/tables.h"

enum {
	NETWORK_LEN = DNSBLV6_IPV4_BASE_LEN + 24,
	FLAT_LABEL_SIZE = 7,
	POINTER_SIZE = 2,
	RR_SIZE = 10,	      /* type, class, TTL, size of RDATA */
	NUMBERS_SIZE = 20,    /* of an SOA */
	NAMES_PER_BUCKET = 6, /* of the slots a quarter stays free, and a name is in few buckets */
	NO_POINTER = 0xffff,
};

const char *fill_reason_text(enum fill_reason reason)
{
	static const char *const texts[] = {
#define X(name, text) [name] = text,
		FILL_REASON_MAP(X)
#undef X
	};
	return texts[reason];
}

/* ---- keys ---- */

static bool is_apex(const struct store_bytes *key)
{
	return key->size == 1 && key->data[0] == 0;
}

static bool can_be_asked(size_t key_size)
{
	return key_size <= XDP_ASKED_KEY_MAX;
}

/* Of key's first bytes, as layout.h has them. */
static void put_key(const uint8_t *key, size_t size, uint64_t *ret_words)
{
	uint8_t bytes[XDP_KEY_MAX] = { 0 };
	memcpy(bytes, key, size < sizeof(bytes) ? size : sizeof(bytes));
	for (size_t i = 0; i < XDP_KEY_WORDS; i++) {
		memcpy(&ret_words[i], bytes + i * sizeof(uint64_t), sizeof(uint64_t));
		ret_words[i] = be64toh(ret_words[i]);
	}
}

static bool is_wildcard(const uint8_t *key, size_t size)
{
	return key[size - 1] == '*' && (size == 1 || key[size - 2] == 0);
}

static void note_wildcard(struct fill *fill, const uint8_t *key, size_t size)
{
	unsigned depth = dnsblv6_key_label_count(key, size);
	if (!is_wildcard(key, size))
		return;
	fill->flags |= XDP_ZONE_WILDCARDS;
	fill->wildcard_depths |= (uint8_t)(1U << (depth < 8 ? depth - 1 : 7));
}

/* ---- the walk ---- */

/* What is done with a name that has data, and with one that has only names below it. */
struct visitor {
	enum fill_reason (*put_name)(struct fill *fill, const struct store_bytes *key,
				     const struct store_bytes *record);
	enum fill_reason (*put_empty)(struct fill *fill, const uint8_t *key, size_t size);
};

/*
 * The names above key that have no data: those that the name before has not above it, for data
 * would have come before key.
 */
static enum fill_reason visit_empties(struct fill *fill, const struct store_bytes *key,
				      const struct visitor *visitor)
{
	const struct dnsblv6_key *before = &fill->done;
	size_t shared = 0;
	while (shared < key->size && shared < before->size &&
	       key->data[shared] == before->bytes[shared])
		shared++;
	enum fill_reason reason = FILL_OK;
	for (size_t at = shared + 1; at < key->size && reason == FILL_OK; at++) {
		if (key->data[at] == 0)
			reason = visitor->put_empty(fill, key->data, at);
	}
	return reason;
}

static enum fill_reason visit(struct fill *fill, const struct store_bytes *key,
			      const struct store_bytes *record, const struct visitor *visitor)
{
	if (key->size == 0 || key->size > sizeof(fill->done.bytes))
		return FILL_DAMAGED;
	enum fill_reason reason = visit_empties(fill, key, visitor);
	if (reason == FILL_OK)
		reason = visitor->put_name(fill, key, record);
	fill->done.size = (uint16_t)key->size;
	memcpy(fill->done.bytes, key->data, key->size);
	return reason;
}

/* True: there are more. */
static bool walk(struct fill *fill, size_t name_count, const struct visitor *visitor)
{
	struct zone *zone = fill->zone;
	struct store_bytes key;
	struct store_bytes record;
	if (fill->reason != FILL_OK)
		return false;
	if (!zone->is_begun || zone->version != fill->version) {
		fill->reason = FILL_CHANGED;
		return false;
	}
	int ret = reader_seek(zone->reader, STORE_RECORDS, fill->done.bytes, fill->done.size, &key,
			      &record);
	if (ret == DNSBLV6_OK && fill->done.size != 0)
		ret = reader_next(zone->reader, STORE_RECORDS, &key, &record);
	for (; ret == DNSBLV6_OK && name_count > 0; name_count--) {
		fill->reason = visit(fill, &key, &record, visitor);
		if (fill->reason != FILL_OK)
			return false;
		ret = reader_next(zone->reader, STORE_RECORDS, &key, &record);
	}
	if (ret != DNSBLV6_OK && ret != DNSBLV6_ENOTFOUND)
		fill->reason = FILL_DAMAGED;
	return ret == DNSBLV6_OK;
}

/* ---- hosts ---- */

static const struct dnsblv6_bitmap no_bitmap = { { 0 } };

/* What a name is among those that are found by their number. */
struct numbered {
	uint32_t first;
	unsigned
		count; /* of numbers from first on: 0, 1, or both halves of a network below a wildcard */
	bool is_wide; /* a wildcard that more of them may be below */
};

static struct numbered find_number(const uint8_t *key, size_t size)
{
	struct dnsblv6_labels labels;
	struct dnsblv6_prefix block;
	struct numbered none = { .is_wide = is_wildcard(key, size) && size == 1 };
	if (dnsblv6_key_to_labels(key, size, &labels) != DNSBLV6_OK ||
	    dnsblv6_name_parse(DNSBLV6_STYLE_BOTH, labels.wire, labels.size, &block) !=
		    DNSBLV6_OK ||
	    !dnsblv6_prefix_is_ipv4(block))
		return none;
	uint32_t address = dnsblv6_addr_ipv4(block.first);
	if (block.prefix_len < NETWORK_LEN)
		return (struct numbered){ .is_wide = true };
	return (struct numbered){ xdp_hosts_number(address >> 8, address >> 7 & 1,
						   labels.wire[0] == FLAT_LABEL_SIZE),
				  block.prefix_len == NETWORK_LEN ? 2 : 1, false };
}

/*
 * The slots of a name, XDP_HOSTS_OF_NAME at most. map is empty for one that is no bitmap; where: its line.
 * Returns how many there are.
 */
static unsigned make_slots(const struct dnsblv6_bitmap *map, uint32_t tag, uint32_t where,
			   uint32_t *ret_slots)
{
	unsigned count = dnsblv6_bitmap_count(map);
	unsigned done = 0;
	if (count == 0) {
		ret_slots[0] = tag | XDP_HOSTS_ELSEWHERE;
		return 1;
	}
	if (count > XDP_HOSTS_OF_NAME) {
		ret_slots[0] = tag | XDP_HOSTS_MANY;
		ret_slots[1] = XDP_HOSTS_WHERE | where;
		return 2;
	}
	for (unsigned host = 0; host < DNSBLV6_BITMAP_HOSTS; host++) {
		if (dnsblv6_bitmap_get(map, host))
			ret_slots[done++] = tag | host;
	}
	return done;
}

static void count_hosts(struct fill *fill, const uint8_t *key, size_t size,
			const struct dnsblv6_bitmap *map)
{
	const struct numbered numbered = find_number(key, size);
	uint32_t slots[XDP_HOSTS_OF_NAME];
	fill->host_count += (uint64_t)numbered.count * make_slots(map, 0, 0, slots);
	if (numbered.is_wide)
		fill->flags |= XDP_ZONE_WIDE;
}

/* Of a name that is no bitmap, map is empty. False when record is damaged. */
static bool read_bitmap(const struct store_bytes *record, struct dnsblv6_bitmap *ret_map)
{
	*ret_map = no_bitmap;
	return dnsblv6_record_kind(record->data, record->size) != DNSBLV6_RECORD_BITMAP ||
	       dnsblv6_record_decode_bitmap(record->data, record->size, ret_map) == DNSBLV6_OK;
}

/* ---- what is needed ---- */

static enum fill_reason count_name(struct fill *fill, const struct store_bytes *key,
				   const struct store_bytes *record)
{
	struct dnsblv6_bitmap map;
	/* It is the first in each store: so it is the first link. */
	if (is_apex(key) != (fill->link_count == 0) || !read_bitmap(record, &map))
		return FILL_DAMAGED;
	count_hosts(fill, key->data, key->size, &map);
	fill->link_count++;
	fill->slot_count += can_be_asked(key->size);
	note_wildcard(fill, key->data, key->size);
	return FILL_OK;
}

static enum fill_reason count_empty(struct fill *fill, const uint8_t *key, size_t size)
{
	if (!can_be_asked(size))
		return FILL_OK;
	count_hosts(fill, key, size, &no_bitmap);
	fill->empty_count++;
	fill->slot_count++;
	note_wildcard(fill, key, size);
	return FILL_OK;
}

static uint32_t stride_of(const struct fill *fill)
{
	return (fill->flags & XDP_ZONE_SIGNED) != 0 ? XDP_SIGNED_STRIDE : XDP_UNSIGNED_STRIDE;
}

static uint64_t order_lines(const struct fill *fill)
{
	return stride_of(fill) == XDP_SIGNED_STRIDE
		       ? (fill->link_count + XDP_ORDER_LINKS - 1) / XDP_ORDER_LINKS
		       : 0;
}

static void count_lines(struct fill *fill)
{
	uint64_t bucket_count = 1;
	while (bucket_count * NAMES_PER_BUCKET < fill->slot_count)
		bucket_count *= 2;
	uint64_t lines = bucket_count + fill->link_count * stride_of(fill) + fill->empty_count;
	uint64_t hosts_count = (fill->host_count + XDP_HOSTS_TAKEN - 1) / XDP_HOSTS_TAKEN;
	if (hosts_count < XDP_HOSTS_MIN)
		hosts_count = XDP_HOSTS_MIN;
	lines += order_lines(fill) + hosts_count;
	if (fill->link_count == 0)
		fill->reason = FILL_DAMAGED;
	else if (lines > ~XDP_HOSTS_WHERE)
		fill->reason = FILL_NAMES;
	fill->bucket_count = (uint32_t)bucket_count;
	fill->hosts_count = (uint32_t)hosts_count;
	fill->line_count = (uint32_t)lines;
}

/* Of the SOA and its RRSIG, as answers have them. */
static size_t soa_size_max(const struct zone *zone)
{
	return 2 * (POINTER_SIZE + RR_SIZE) + zone->soa_size +
	       (size_t)ZONE_SOA_NAMES * POINTER_SIZE + zone->soa_rrsig_size;
}

static enum fill_reason judge(const struct zone *zone)
{
	if (!zone->is_begun || zone->status != 0)
		return FILL_CLOSED;
	if (zone->damage != 0)
		return FILL_DAMAGED;
	if (zone->facts.style == DNSBLV6_STYLE_CLASSIC)
		return FILL_CLASSIC;
	if (zone->has_clients)
		return FILL_CLIENTS;
	if (zone->apex_size > XDP_APEX_MAX)
		return FILL_APEX;
	/* NSECs have the name as the store has it. */
	if (memcmp(zone->facts.zone.wire, zone->apex, zone->facts.zone.size) != 0)
		return FILL_CAPITALS;
	if (soa_size_max(zone) > XDP_SOA_MAX)
		return FILL_SOA;
	if (zone->is_signed && zone->signing.other_algorithm != 0)
		return FILL_TWO_ALGORITHMS;
	return FILL_OK;
}

void fill_begin(struct fill *fill, struct zone *zone, bool has_neighbours)
{
	memset(fill, 0, sizeof(*fill));
	fill->zone = zone;
	fill->version = zone->version;
	fill->reason = judge(zone);
	/* The same question is asked by grant_neighbours() of answer.c. */
	bool is_flat = dnsblv6_style_asked((enum dnsblv6_style)zone->facts.style, true) ==
		       DNSBLV6_STYLE_FLAT;
	if (zone->is_signed)
		fill->flags |= XDP_ZONE_SIGNED;
	if (zone->is_signed && is_flat && has_neighbours)
		fill->flags |= XDP_ZONE_NEIGHBOURS;
}

bool fill_count(struct fill *fill, size_t name_count)
{
	static const struct visitor visitor = { count_name, count_empty };
	if (walk(fill, name_count, &visitor))
		return true;
	if (fill->reason == FILL_OK)
		count_lines(fill);
	return false;
}

/* ---- names ---- */

static struct xdp_slot *slots_at(const struct fill *fill, uint64_t bucket)
{
	return fill->place.lines[bucket & (fill->bucket_count - 1U)].u.bucket.slots;
}

/* Slots of a bucket are taken from the first on. NULL when none is free. */
static struct xdp_slot *find_free(const struct fill *fill, uint64_t bucket)
{
	struct xdp_slot *slots = slots_at(fill, bucket);
	for (size_t i = 0; i < XDP_BUCKET_SLOTS; i++) {
		if (slots[i].where == 0)
			return &slots[i];
	}
	return NULL;
}

/* May what is in slot lie in that bucket? */
static bool can_move(const struct fill *fill, const struct xdp_slot *slot, uint64_t bucket)
{
	uint64_t home = xdp_hash(fill->place.lines[slot->where].u.name.key);
	return ((bucket - home) & (fill->bucket_count - 1U)) < XDP_PROBES_MAX;
}

/*
 * *free, in *bucket, takes a name from a bucket before: *free becomes the slot of that name. All
 * buckets between are full and stay so, when the slot is taken in turn. False when no name can move.
 */
static bool move_back(const struct fill *fill, struct xdp_slot **free, uint64_t *bucket)
{
	for (uint64_t back = XDP_PROBES_MAX - 1; back > 0; back--) {
		struct xdp_slot *slots = slots_at(fill, *bucket - back);
		for (size_t i = 0; i < XDP_BUCKET_SLOTS; i++) {
			if (!can_move(fill, &slots[i], *bucket))
				continue;
			**free = slots[i];
			*free = &slots[i];
			*bucket -= back;
			return true;
		}
	}
	return false;
}

/* where: of a line, from the first of the run. Hopscotch hashing (Herlihy, Shavit, Tzafrir 2008). */
static enum fill_reason put_slot(struct fill *fill, const uint64_t *key, uint64_t where)
{
	uint64_t hash = xdp_hash(key);
	uint64_t bucket = hash;
	struct xdp_slot *free = find_free(fill, bucket);
	for (; free == NULL && bucket - hash < fill->bucket_count; free = find_free(fill, bucket))
		bucket++;
	while (free != NULL && bucket - hash >= XDP_PROBES_MAX) {
		if (!move_back(fill, &free, &bucket))
			return FILL_CROWDED;
	}
	if (free == NULL)
		return FILL_CROWDED;
	*free = (struct xdp_slot){ (uint32_t)(hash >> 32), (uint32_t)where };
	return FILL_OK;
}

/* Of one number, in its line. */
static void put_slots(const struct fill *fill, uint32_t number, const struct dnsblv6_bitmap *map,
		      uint32_t where)
{
	uint32_t mixed = xdp_hosts_mix(number);
	uint32_t made[XDP_HOSTS_OF_NAME];
	unsigned count = make_slots(map, xdp_hosts_tag(mixed), where, made);
	uint32_t first = fill->line_count - fill->hosts_count;
	uint32_t at = first + xdp_hosts_line(mixed, fill->hosts_count);
	uint32_t *slots = fill->place.lines[at].u.hosts.slots;
	size_t taken = 0;
	/* A smaller name would take the place of the mark, and those that are missing would be denied. */
	if (slots[XDP_HOSTS_SLOTS - 1] == XDP_HOSTS_FULL)
		return;
	while (taken < XDP_HOSTS_SLOTS && slots[taken] != 0)
		taken++;
	if (taken + count > XDP_HOSTS_SLOTS)
		slots[XDP_HOSTS_SLOTS - 1] = XDP_HOSTS_FULL;
	else
		memcpy(slots + taken, made, count * sizeof(*made));
}

/* As make_slots() says. What is below a wildcard is elsewhere. */
static void put_hosts(const struct fill *fill, const uint8_t *key, size_t size,
		      const struct dnsblv6_bitmap *map, uint64_t where)
{
	const struct numbered numbered = find_number(key, size);
	for (unsigned i = 0; i < numbered.count; i++)
		put_slots(fill, numbered.first + i * XDP_HOSTS_HALF,
			  numbered.count == 1 ? map : &no_bitmap, (uint32_t)where);
}

static enum fill_reason write_empty(struct fill *fill, const uint8_t *key, size_t size)
{
	if (!can_be_asked(size))
		return FILL_OK;
	put_hosts(fill, key, size, &no_bitmap, 0);
	uint64_t where =
		fill->bucket_count + fill->link_count * stride_of(fill) + fill->empties_done++;
	struct xdp_name *name = &fill->place.lines[where].u.name;
	*name = (struct xdp_name){ .key_size = (uint16_t)size, .kind = XDP_KIND_EMPTY };
	/* The name that is below it comes next. */
	name->u.before = (uint32_t)fill->links_done - 1;
	put_key(key, size, name->key);
	return put_slot(fill, name->key, where);
}

/* As it is in an answer, and what an RRSIG says of it. */
static enum fill_reason put_labels(const struct zone *zone, const struct store_bytes *key,
				   struct xdp_name *name, struct xdp_signed *rest)
{
	struct dnsblv6_labels labels;
	if (dnsblv6_key_to_labels(key->data, key->size, &labels) != DNSBLV6_OK)
		return FILL_DAMAGED;
	name->rrsig_labels = dnsblv6_rrsig_labels(&zone->facts.zone, &labels);
	if (labels.size > XDP_NAME_MAX) {
		name->flags |= XDP_NAME_LONG;
		return FILL_OK;
	}
	name->name_size = labels.size;
	if (rest != NULL)
		memcpy(rest->name, labels.wire, labels.size);
	return FILL_OK;
}

static void put_times(const struct dnsblv6_signature *signature, uint8_t *at)
{
	bytes_put32(&at, signature->expiration);
	bytes_put32(&at, signature->inception);
	bytes_put16(&at, signature->key_tag);
}

/* The one RRSIG over the NSEC of a static name. False when there is another number of them. */
static bool find_nsec_rrsig(const struct store_bytes *record, struct dnsblv6_rr *ret_rr)
{
	struct dnsblv6_rr rr;
	unsigned count = 0;
	size_t offset = 0;
	while (dnsblv6_record_next_rr(record->data, record->size, &offset, &rr) == DNSBLV6_OK) {
		if (!zone_rr_is_rrsig_of(&rr, KNOT_RRTYPE_NSEC))
			continue;
		*ret_rr = rr;
		count++;
	}
	return count == 1;
}

/* False when the program would not make the same RRSIG of it again. */
static bool read_nsec_rrsig(const struct zone *zone, const struct store_bytes *record,
			    uint8_t labels, struct dnsblv6_signature *ret_signature)
{
	struct dnsblv6_rr rr;
	if (!find_nsec_rrsig(record, &rr) ||
	    dnsblv6_rrsig_decode(rr.rdata, rr.rdata_size, KNOT_RRTYPE_NSEC, ret_signature) !=
		    DNSBLV6_OK)
		return false;
	const struct dnsblv6_rrsig again = { .type_covered = KNOT_RRTYPE_NSEC,
					     .algorithm = zone->signing.algorithm,
					     .labels = labels,
					     .ttl = zone->negative_ttl,
					     .signature = *ret_signature };
	uint8_t rdata[DNSBLV6_RRSIG_MAX];
	size_t size = dnsblv6_rrsig_encode(&again, &zone->facts.zone, rdata);
	return size == rr.rdata_size && memcmp(rdata, rr.rdata, size) == 0;
}

/* The type bit maps, as they are behind the next name in an NSEC. */
static bool put_types(const struct store_bytes *record, struct xdp_name *name,
		      struct xdp_signed *rest)
{
	static const struct dnsblv6_labels none = { 0 };
	struct dnsblv6_types types;
	uint8_t rdata[DNSBLV6_NSEC_MAX];
	if (dnsblv6_types_of_record(record->data, record->size, true, &types) != DNSBLV6_OK)
		return false;
	/* Behind the root, which is one byte. */
	size_t size = dnsblv6_nsec_encode(&none, &none, &types, rdata) - 1;
	if (size > XDP_TYPES_MAX)
		return false;
	name->types_size = (uint8_t)size;
	memcpy(rest->types, rdata + 1, size);
	return true;
}

static void put_nsec(const struct dnsblv6_signature *signature, struct xdp_line *lines)
{
	put_times(signature, lines[XDP_LINE_SIGNED].u.rest.nsec_times);
	memcpy(lines[XDP_LINE_NSEC].u.signature.bytes, signature->bytes, sizeof(signature->bytes));
}

/* The other lines of a bitmap. */
static enum fill_reason put_signatures(const struct store_bytes *record, struct xdp_line *lines)
{
	struct dnsblv6_signatures signatures;
	if (dnsblv6_record_decode_signatures(record->data, record->size, &signatures) != DNSBLV6_OK)
		return FILL_UNSIGNED;
	put_times(&signatures.aaaa, lines[XDP_LINE_SIGNED].u.rest.aaaa_times);
	memcpy(lines[XDP_LINE_AAAA].u.signature.bytes, signatures.aaaa.bytes,
	       sizeof(signatures.aaaa.bytes));
	put_nsec(&signatures.nsec, lines);
	return FILL_OK;
}

/* All of a signed link, the key apart. */
static enum fill_reason put_signed(const struct zone *zone, const struct store_bytes *record,
				   struct xdp_line *lines)
{
	struct xdp_name *name = &lines[XDP_LINE_NAME].u.name;
	struct dnsblv6_signature signature;
	bool is_rebuilt = put_types(record, name, &lines[XDP_LINE_SIGNED].u.rest);
	if (name->kind == XDP_KIND_BITMAP) {
		if (!is_rebuilt)
			name->flags |= XDP_NSEC_OTHER;
		return put_signatures(record, lines);
	}
	if (is_rebuilt && read_nsec_rrsig(zone, record, name->rrsig_labels, &signature))
		put_nsec(&signature, lines);
	else
		name->flags |= XDP_NSEC_OTHER;
	return FILL_OK;
}

/* Of a signed version: where the search for a link looks first. */
static void put_order(struct fill *fill, uint64_t link, uint64_t first)
{
	uint64_t orders =
		fill->bucket_count + fill->link_count * XDP_SIGNED_STRIDE + fill->empty_count;
	struct xdp_order *order = &fill->place.lines[orders + link / XDP_ORDER_LINKS].u.order;
	order->first[link % XDP_ORDER_LINKS] = first;
}

static enum fill_reason write_name(struct fill *fill, const struct store_bytes *key,
				   const struct store_bytes *record)
{
	uint32_t stride = stride_of(fill);
	uint64_t link = fill->links_done++;
	uint64_t where = fill->bucket_count + link * stride;
	struct xdp_line *lines = &fill->place.lines[where];
	struct xdp_name *name = &lines[XDP_LINE_NAME].u.name;
	struct dnsblv6_bitmap map;
	bool is_signed = stride == XDP_SIGNED_STRIDE;
	memset(lines, 0, stride * sizeof(*lines));
	name->kind = XDP_KIND_OTHER;
	if (!is_apex(key)) {
		name->key_size = (uint16_t)key->size;
		put_key(key->data, key->size, name->key);
	}
	if (!read_bitmap(record, &map))
		return FILL_DAMAGED;
	if (dnsblv6_record_kind(record->data, record->size) == DNSBLV6_RECORD_BITMAP) {
		name->kind = XDP_KIND_BITMAP;
		memcpy(name->u.bitmap, map.bytes, sizeof(name->u.bitmap));
	}
	put_hosts(fill, key->data, key->size, &map, where);
	enum fill_reason reason = put_labels(fill->zone, key, name,
					     is_signed ? &lines[XDP_LINE_SIGNED].u.rest : NULL);
	if (is_signed)
		put_order(fill, link, name->key[0]);
	if (reason == FILL_OK && is_signed)
		reason = put_signed(fill->zone, record, lines);
	if (reason == FILL_OK && can_be_asked(key->size))
		reason = put_slot(fill, name->key, where);
	return reason;
}

/* ---- the version ---- */

/* RRs that grow in it. */
struct soa_writer {
	struct xdp_version *version;
	uint8_t *at;
	unsigned pointer_count;
};

static void put_apex_pointer(struct soa_writer *writer)
{
	struct xdp_version *version = writer->version;
	version->soa_pointers[writer->pointer_count++] = (uint16_t)(writer->at - version->soa);
	bytes_put16(&writer->at, 0);
}

static void put_rr_head(struct soa_writer *writer, uint16_t type, size_t rdata_size)
{
	put_apex_pointer(writer);
	bytes_put16(&writer->at, type);
	bytes_put16(&writer->at, KNOT_CLASS_IN);
	bytes_put32(&writer->at, writer->version->negative_ttl);
	bytes_put16(&writer->at, (unsigned)rdata_size);
}

static void put_soa_rr(struct soa_writer *writer, const struct zone *zone)
{
	put_rr_head(writer, KNOT_RRTYPE_SOA, 0);
	uint8_t *rdata = writer->at;
	for (size_t i = 0; i < ZONE_SOA_NAMES; i++) {
		const struct zone_soa_name *name = &zone->soa_names[i];
		bytes_put_string(&writer->at, name->labels, name->size);
		if (name->is_below)
			put_apex_pointer(writer);
	}
	bytes_put_string(&writer->at, zone->soa + zone->soa_size - NUMBERS_SIZE, NUMBERS_SIZE);
	knot_wire_write_u16(rdata - 2, (uint16_t)(writer->at - rdata));
}

/* As put_soa() of quick.c does it. */
static void put_soa(struct xdp_version *version, const struct zone *zone)
{
	struct soa_writer writer = { version, version->soa, 0 };
	for (size_t i = 0; i < XDP_SOA_POINTERS; i++)
		version->soa_pointers[i] = NO_POINTER;
	put_soa_rr(&writer, zone);
	version->soa_size = (uint16_t)(writer.at - version->soa);
	if (zone->is_signed) {
		put_rr_head(&writer, KNOT_RRTYPE_RRSIG, zone->soa_rrsig_size);
		bytes_put_string(&writer.at, zone->soa_rrsig, zone->soa_rrsig_size);
	}
	version->soa_signed_size = (uint16_t)(writer.at - version->soa);
}

void fill_place(struct fill *fill, const struct tables_place *place)
{
	const struct zone *zone = fill->zone;
	struct xdp_version *version = place->version;
	fill->place = *place;
	fill->done.size = 0;
	if (fill->reason != FILL_OK)
		return;
	*version = (struct xdp_version){
		.first_line = place->first_line,
		.bucket_count = fill->bucket_count,
		.link_count = (uint32_t)fill->link_count,
		.empty_count = (uint32_t)fill->empty_count,
		.first_hosts = fill->line_count - fill->hosts_count,
		.hosts_count = fill->hosts_count,
		.ttl = zone->facts.ttl,
		.negative_ttl = zone->negative_ttl,
		.flags = fill->flags,
		.wildcard_depths = fill->wildcard_depths,
		.algorithm = zone->is_signed ? zone->signing.algorithm : 0,
		.apex_size = (uint8_t)zone->apex_size,
	};
	memcpy(version->apex, zone->apex, zone->apex_size);
	memset(place->lines, 0, (size_t)fill->bucket_count * sizeof(*place->lines));
	memset(place->lines + (fill->line_count - fill->hosts_count), 0,
	       (size_t)fill->hosts_count * sizeof(*place->lines));
	put_soa(version, zone);
}

bool fill_write(struct fill *fill, size_t name_count)
{
	static const struct visitor visitor = { write_name, write_empty };
	return walk(fill, name_count, &visitor);
}
