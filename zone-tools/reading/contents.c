/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/reading/contents.h"

#include "lib/format/wellknown.h"

#include <string.h>

int contents_read_facts(struct reader *reader, struct dnsblv6_facts *ret_facts)
{
	return zone_store.read_facts(reader, ret_facts);
}

int contents_read_signing(struct reader *reader, struct dnsblv6_signing *ret_signing)
{
	struct store_bytes value;
	int ret = reader_get(reader, STORE_FACTS, DNSBLV6_FACT_SIGNING,
			     strlen(DNSBLV6_FACT_SIGNING), &value);
	*ret_signing = (struct dnsblv6_signing){ 0 };
	if (ret == DNSBLV6_ENOTFOUND)
		return DNSBLV6_OK;
	return ret == DNSBLV6_OK ? dnsblv6_signing_decode(value.data, value.size, ret_signing)
				 : ret;
}

int contents_read_origin(struct reader *reader, uint16_t number, struct contents_origin *ret_origin)
{
	uint8_t key[DNSBLV6_ORIGIN_KEY_SIZE];
	struct store_bytes value;
	dnsblv6_origin_make_key(number, key);
	int ret = reader_get(reader, STORE_FACTS, key, sizeof(key), &value);
	if (ret != DNSBLV6_OK)
		return ret;
	ret_origin->number = number;
	return dnsblv6_origin_decode(value.data, value.size, &ret_origin->origin);
}

/* ---- where entries come from ---- */

/* What is walked: a version that is read, or the one before a transaction. */
struct contents {
	struct reader *reader; /* or NULL, and then: */
	struct writer_walk *walks[STORE_TABLE_COUNT];
	const struct dnsblv6_facts *facts;
	const struct contents_origin *origin;
	bool is_whole; /* or else inside prefix alone */
	struct dnsblv6_prefix prefix;
};

static int seek(const struct contents *contents, enum store_table table, const void *key,
		size_t key_size, struct store_bytes *ret_key, struct store_bytes *ret_value)
{
	if (contents->reader != NULL)
		return reader_seek(contents->reader, table, key, key_size, ret_key, ret_value);
	return writer_walk_seek(contents->walks[table], key, key_size, ret_key, ret_value);
}

static int next(const struct contents *contents, enum store_table table,
		struct store_bytes *ret_key, struct store_bytes *ret_value)
{
	if (contents->reader != NULL)
		return reader_next(contents->reader, table, ret_key, ret_value);
	return writer_walk_next(contents->walks[table], ret_key, ret_value);
}

/* ---- set bits ---- */

int contents_read_name(struct tree_reading *reading, size_t origin_size, struct store_bytes key,
		       struct store_bytes record)
{
	struct dnsblv6_labels name;
	struct dnsblv6_bitmap map;
	bool is_bitmap = dnsblv6_record_kind(record.data, record.size) == DNSBLV6_RECORD_BITMAP;
	int ret = dnsblv6_key_to_labels(key.data, key.size, &name);
	if (ret == DNSBLV6_OK && is_bitmap)
		ret = dnsblv6_record_decode_bitmap(record.data, record.size, &map);
	if (ret != DNSBLV6_OK)
		return ret;
	return tree_read(reading, name.wire, name.size - origin_size, is_bitmap ? &map : NULL);
}

/* What is asked for has the keys that begin with start, and stand before end if it has one. */
struct span {
	struct dnsblv6_key start;
	struct dnsblv6_key end;
};

static bool is_inside(const struct contents *contents, const struct span *span,
		      struct store_bytes key)
{
	const struct dnsblv6_key *start = &span->start;
	const struct dnsblv6_key *end = &span->end;
	if (end->size > 0 && dnsblv6_key_compare(key.data, key.size, end->bytes, end->size) >= 0)
		return false;
	if (contents->is_whole && key.size != start->size)
		return dnsblv6_key_is_below(key.data, key.size, start->bytes, start->size);
	return key.size >= start->size && memcmp(key.data, start->bytes, start->size) == 0;
}

static enum dnsblv6_style style_of(const struct contents *contents)
{
	return dnsblv6_style_read((enum dnsblv6_style)contents->facts->style);
}

/* All names of IPv6 are below one label, and no name of IPv4 is behind it. */
static int find_family(bool is_ipv4, struct span *span)
{
	static const uint8_t label[] = { 'i', 'p', '6' };
	struct dnsblv6_key ip6 = span->start;
	int ret = dnsblv6_key_add_label(&ip6, label, sizeof(label));
	if (is_ipv4)
		span->end = ip6;
	else
		span->start = ip6;
	return ret;
}

static int find_span(const struct contents *contents, bool is_ipv4, struct span *ret_span)
{
	const struct dnsblv6_labels *name = &contents->origin->origin.name;
	struct dnsblv6_key origin;
	int ret = dnsblv6_key_from_labels(name->wire, name->size, &origin);
	if (ret != DNSBLV6_OK)
		return ret;
	*ret_span = (struct span){ .start = origin };
	if (contents->is_whole)
		return find_family(is_ipv4, ret_span);
	return dnsblv6_key_of_prefix(&origin, style_of(contents), contents->prefix,
				     &ret_span->start);
}

static int load_ranges(const struct contents *contents, struct ranges *ranges)
{
	struct span span;
	struct store_bytes key;
	struct store_bytes value;
	struct tree_reading reading = { .ranges = ranges, .style = style_of(contents) };
	int ret = find_span(contents, ranges->is_ipv4, &span);
	if (ret == DNSBLV6_OK)
		ret = seek(contents, STORE_RECORDS, span.start.bytes, span.start.size, &key,
			   &value);
	while (ret == DNSBLV6_OK && is_inside(contents, &span, key)) {
		ret = contents_read_name(&reading, contents->origin->origin.name.size, key, value);
		if (ret == DNSBLV6_OK)
			ret = next(contents, STORE_RECORDS, &key, &value);
	}
	int status = tree_end(&reading);
	return ret == DNSBLV6_OK || ret == DNSBLV6_ENOTFOUND ? status : ret;
}

/* ---- segments over set bits ---- */

/* The next segment of the origin and family, kept while it still reaches into later ranges. */
struct segments {
	const struct contents *contents;
	uint16_t origin;
	bool is_ipv4;
	bool has_segment;
	struct dnsblv6_segment segment;
};

static int take_segment(struct segments *segments, int ret, struct store_bytes key,
			struct store_bytes value)
{
	uint16_t origin;
	segments->has_segment = false;
	if (ret == DNSBLV6_ENOTFOUND)
		return DNSBLV6_OK;
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_segment_decode(key.data, key.size, value.data, value.size, &origin,
					     &segments->segment);
	if (ret == DNSBLV6_OK)
		segments->has_segment =
			origin == segments->origin &&
			dnsblv6_addr_is_ipv4(segments->segment.first) == segments->is_ipv4;
	return ret;
}

static int first_segment(struct segments *segments)
{
	uint8_t start[DNSBLV6_SEGMENT_KEY_MAX];
	struct store_bytes key;
	struct store_bytes value;
	struct dnsblv6_addr least = { 0, 0 };
	if (!segments->contents->is_whole)
		least = segments->contents->prefix.first;
	else if (segments->is_ipv4)
		least = dnsblv6_addr_from_ipv4(0);
	size_t size = dnsblv6_segment_make_key(segments->origin, least, start);
	int ret = seek(segments->contents, STORE_SEGMENTS, start, size, &key, &value);
	return take_segment(segments, ret, key, value);
}

static int next_segment(struct segments *segments)
{
	struct store_bytes key;
	struct store_bytes value;
	int ret = next(segments->contents, STORE_SEGMENTS, &key, &value);
	return take_segment(segments, ret, key, value);
}

struct output {
	const struct contents_origin *origin;
	bool has_testpoints;
	contents_fn fn;
	void *context;
	bool has_range; /* that what follows may go on with: an update cuts segments at the ends of its regions */
	struct dnsblv6_segment range;
};

static int put_range(struct output *output)
{
	const struct dnsblv6_segment *range = &output->range;
	if (!output->has_range)
		return DNSBLV6_OK;
	output->has_range = false;
	return output->fn(output->context, output->origin, range->first, range->last, range->set);
}

static bool is_testpoint(struct dnsblv6_addr first, struct dnsblv6_addr last)
{
	for (size_t i = 0; i < DNSBLV6_TESTPOINT_COUNT; i++) {
		struct dnsblv6_prefix unit = dnsblv6_unit_of(dnsblv6_testpoint_get(i)->addr);
		if (dnsblv6_addr_compare(first, unit.first) == 0 &&
		    dnsblv6_addr_compare(last, dnsblv6_prefix_last(unit)) == 0)
			return true;
	}
	return false;
}

static int put(struct output *output, struct dnsblv6_addr first, struct dnsblv6_addr last,
	       uint32_t set)
{
	if (set == DNSBLV6_SET_NONE || (!output->has_testpoints && is_testpoint(first, last)))
		return DNSBLV6_OK;
	if (output->has_range && output->range.set == set &&
	    dnsblv6_addr_compare(dnsblv6_addr_next(output->range.last), first) == 0) {
		output->range.last = last;
		return DNSBLV6_OK;
	}
	int ret = put_range(output);
	output->range = (struct dnsblv6_segment){ first, last, set };
	output->has_range = true;
	return ret;
}

static struct dnsblv6_addr smaller(struct dnsblv6_addr a, struct dnsblv6_addr b)
{
	return dnsblv6_addr_compare(a, b) <= 0 ? a : b;
}

static int walk_range(struct output *output, struct segments *segments, struct dnsblv6_addr first,
		      struct dnsblv6_addr last)
{
	uint32_t default_set = output->origin->origin.default_set;
	int ret = DNSBLV6_OK;

	while (ret == DNSBLV6_OK && segments->has_segment &&
	       dnsblv6_addr_compare(segments->segment.first, last) <= 0) {
		struct dnsblv6_segment segment = segments->segment;
		if (dnsblv6_addr_compare(first, segment.first) < 0) {
			ret = put(output, first, dnsblv6_addr_previous(segment.first), default_set);
			first = segment.first;
		}
		if (ret == DNSBLV6_OK && dnsblv6_addr_compare(first, segment.last) <= 0)
			ret = put(output, first, smaller(segment.last, last), segment.set);
		if (ret != DNSBLV6_OK || dnsblv6_addr_compare(segment.last, last) > 0)
			return ret;
		if (dnsblv6_addr_compare(first, segment.last) <= 0)
			first = dnsblv6_addr_next(segment.last);
		ret = next_segment(segments);
		if (dnsblv6_addr_compare(segment.last, last) == 0)
			return ret;
	}
	return ret == DNSBLV6_OK ? put(output, first, last, default_set) : ret;
}

/* In a zone of classic names segments say it all. */
static int walk_segments(struct output *output, struct segments *segments)
{
	int ret = first_segment(segments);
	while (ret == DNSBLV6_OK && segments->has_segment) {
		const struct dnsblv6_segment segment = segments->segment;
		ret = put(output, segment.first, segment.last, segment.set);
		if (ret == DNSBLV6_OK)
			ret = next_segment(segments);
	}
	return ret == DNSBLV6_OK ? put_range(output) : ret;
}

static int walk_family(const struct contents *contents, bool is_ipv4, contents_fn fn, void *context)
{
	struct output output = { .origin = contents->origin,
				 .has_testpoints = contents->reader == NULL,
				 .fn = fn,
				 .context = context };
	struct ranges ranges = { .is_ipv4 = is_ipv4 };
	struct segments segments = { .contents = contents,
				     .origin = contents->origin->number,
				     .is_ipv4 = is_ipv4 };
	if (contents->facts->style == DNSBLV6_STYLE_CLASSIC)
		return walk_segments(&output, &segments);
	int ret = load_ranges(contents, &ranges);
	if (ret == DNSBLV6_OK)
		ret = first_segment(&segments);
	for (size_t i = 0; ret == DNSBLV6_OK && i < ranges.count; i++)
		ret = walk_range(&output, &segments,
				 ranges_first_addr(&ranges, ranges.items[i].first),
				 ranges_last_addr(&ranges, ranges.items[i].last));
	ranges_deinit(&ranges);
	return ret == DNSBLV6_OK ? put_range(&output) : ret;
}

int contents_walk(struct reader *reader, const struct dnsblv6_facts *facts,
		  const struct contents_origin *origin, contents_fn fn, void *context)
{
	const struct contents contents = {
		.reader = reader, .facts = facts, .origin = origin, .is_whole = true
	};
	int ret = walk_family(&contents, true, fn, context);
	return ret == DNSBLV6_OK ? walk_family(&contents, false, fn, context) : ret;
}

int contents_walk_prefix(struct writer_walk *records, struct writer_walk *segments,
			 const struct dnsblv6_facts *facts, const struct contents_origin *origin,
			 struct dnsblv6_prefix prefix, contents_fn fn, void *context)
{
	const struct contents contents = {
		.walks = { [STORE_RECORDS] = records, [STORE_SEGMENTS] = segments },
		.facts = facts,
		.origin = origin,
		.prefix = prefix,
	};
	return walk_family(&contents, dnsblv6_prefix_is_ipv4(prefix), fn, context);
}

int contents_walk_before(struct writer_walk *segments, const struct dnsblv6_facts *facts,
			 const struct contents_origin *origin, bool is_ipv4, contents_fn fn,
			 void *context)
{
	const struct contents contents = {
		.walks = { [STORE_SEGMENTS] = segments },
		.facts = facts,
		.origin = origin,
		.is_whole = true,
	};
	return walk_family(&contents, is_ipv4, fn, context);
}

/* Of clients there are segments alone. */
int contents_walk_clients(struct reader *reader, contents_fn fn, void *context)
{
	uint8_t start[DNSBLV6_SEGMENT_KEY_MAX];
	struct store_bytes key;
	struct store_bytes value;
	/* The least key: IPv4 stands before IPv6. */
	size_t size =
		dnsblv6_segment_make_key(DNSBLV6_ORIGIN_ACL, dnsblv6_addr_from_ipv4(0), start);
	int ret = reader_seek(reader, STORE_SEGMENTS, start, size, &key, &value);
	while (ret == DNSBLV6_OK) {
		struct dnsblv6_segment segment;
		uint16_t origin;
		ret = dnsblv6_segment_decode(key.data, key.size, value.data, value.size, &origin,
					     &segment);
		if (ret != DNSBLV6_OK || origin != DNSBLV6_ORIGIN_ACL)
			return ret;
		ret = fn(context, NULL, segment.first, segment.last, segment.set);
		if (ret == DNSBLV6_OK)
			ret = reader_next(reader, STORE_SEGMENTS, &key, &value);
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}
