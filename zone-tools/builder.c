/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/builder.h"

#include "zone-tools/apex.h"
#include "zone-tools/array.h"
#include "zone-tools/progress.h"

#include "lib/format/wellknown.h"
#include "lib/store/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct builder {
	struct writer *writer;
	const struct plan *plan;
	const struct listing *listing;
	const struct spec *spec;
	uint64_t now_s;
	uint64_t max_records;
	struct progress *progress;
	struct builder_result result;
	const struct dnsblv6_labels *origin; /* whose names are being written */
};

const char *builder_strerror(int status)
{
	switch (status) {
	case BUILDER_EZONE:
		return "store holds another zone";
	case BUILDER_ESERIAL:
		return "serial is not newer than the store's";
	case BUILDER_EVALUES:
		return "more than 255 values for one address";
	case BUILDER_ERECORDS:
		return "more records than --max-records permits";
	default:
		return store_strerror(status);
	}
}

/* ---- records ---- */

/* name is relative to the origin that is being written. */
static int put_record(struct builder *builder, const struct dnsblv6_labels *name,
		      const uint8_t *data, size_t size)
{
	struct dnsblv6_labels full;
	struct dnsblv6_key key;
	int ret = dnsblv6_name_join(name->wire, name->size, builder->origin->wire,
				    builder->origin->size, &full);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_key_from_labels(full.wire, full.size, &key);
	if (ret != DNSBLV6_OK)
		return ret;
	if (builder->result.record_count == builder->max_records)
		return BUILDER_ERECORDS;
	builder->result.record_count++;
	if (builder->result.record_count % 4096 == 0)
		progress_step(builder->progress, "records written", builder->result.record_count);
	return writer_put(builder->writer, STORE_RECORDS, key.bytes, key.size, data, size);
}

static int put_block(void *context, struct dnsblv6_prefix block, const struct dnsblv6_bitmap *map)
{
	struct builder *builder = context;
	struct dnsblv6_labels name;
	uint8_t data[DNSBLV6_BITMAP_RECORD_SIZE];
	int ret = dnsblv6_name_make(builder->spec->style, block, &name);
	if (ret != DNSBLV6_OK)
		return ret;
	dnsblv6_record_encode_bitmap(map, data);
	return put_record(builder, &name, data, sizeof(data));
}

static int put_apex(struct builder *builder)
{
	static const struct dnsblv6_labels apex = { 0 };
	uint8_t data[APEX_RECORD_MAX];
	size_t size = apex_encode_apex(builder->spec, builder->result.serial, data);
	builder->origin = &apex;
	return size > 0 ? put_record(builder, &apex, data, size) : DNSBLV6_ESPACE;
}

static int put_glue(struct builder *builder)
{
	uint8_t data[APEX_RECORD_MAX];
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < builder->spec->ns_count; i++) {
		struct dnsblv6_labels name;
		if (!apex_glue_name(builder->spec, i, &name))
			continue;
		size_t size = apex_encode_glue(builder->spec, i, data);
		ret = put_record(builder, &name, data, size);
	}
	return ret;
}

static int put_metadata(struct builder *builder, const struct plan_origin *origin)
{
	struct dnsblv6_labels name;
	uint8_t data[APEX_RECORD_MAX];
	int ret = dnsblv6_name_from_text(DNSBLV6_METADATA_LABEL, &name);
	if (ret != DNSBLV6_OK)
		return ret;
	size_t size =
		apex_encode_metadata(builder->spec, origin->lists_ipv4, origin->lists_ipv6, data);
	return size > 0 ? put_record(builder, &name, data, size) : DNSBLV6_ESPACE;
}

/* ---- sections: one origin's records of one kind, which are a run of keys ---- */

enum section_kind { SECTION_IPV4, SECTION_METADATA, SECTION_IPV6 };

struct section {
	uint16_t origin;
	enum section_kind kind;
	struct dnsblv6_key start; /* the least key that the run can have */
};

static int make_section(const struct builder *builder, uint16_t origin, enum section_kind kind,
			struct section *ret_section)
{
	static const char *const first_labels[] = {
		[SECTION_IPV4] = "0",
		[SECTION_METADATA] = DNSBLV6_METADATA_LABEL,
		[SECTION_IPV6] = "ip6",
	};
	const struct dnsblv6_labels *name = &builder->listing->origins[origin];
	const char *label = first_labels[kind];
	ret_section->origin = origin;
	ret_section->kind = kind;
	int ret = dnsblv6_key_from_labels(name->wire, name->size, &ret_section->start);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_key_add_label(&ret_section->start, (const uint8_t *)label,
					    strlen(label));
	return ret;
}

static int compare_sections(const void *a, const void *b)
{
	const struct dnsblv6_key *left = &((const struct section *)a)->start;
	const struct dnsblv6_key *right = &((const struct section *)b)->start;
	size_t shared = left->size < right->size ? left->size : right->size;
	int by_bytes = memcmp(left->bytes, right->bytes, shared);
	return by_bytes != 0 ? by_bytes : (int)left->size - (int)right->size;
}

static int put_section(struct builder *builder, const struct section *section)
{
	const struct plan_origin *origin = &builder->plan->origins[section->origin];
	builder->origin = &builder->listing->origins[section->origin];
	switch (section->kind) {
	case SECTION_IPV4:
		return ranges_walk(&origin->ipv4, builder->spec->style, put_block, builder);
	case SECTION_METADATA:
		return put_metadata(builder, origin);
	case SECTION_IPV6:
		return ranges_walk(&origin->ipv6, builder->spec->style, put_block, builder);
	}
	return DNSBLV6_OK;
}

/* In the order of their keys, so that the store can append. */
static int put_sections(struct builder *builder)
{
	size_t count = builder->plan->origin_count * 3;
	struct section *sections = calloc(count, sizeof(*sections));
	if (sections == NULL)
		return -ENOMEM;
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < count; i++)
		ret = make_section(builder, (uint16_t)(i / 3), (enum section_kind)(i % 3),
				   &sections[i]);
	qsort(sections, count, sizeof(*sections), compare_sections);
	for (size_t i = 0; ret == DNSBLV6_OK && i < count; i++)
		ret = put_section(builder, &sections[i]);
	free(sections);
	return ret;
}

/* ---- segments ---- */

/* Writes the segments of one family of one origin; pending is what is not listed so far. */
struct segmenter {
	struct builder *builder;
	uint16_t origin;
	bool has_pending;
	struct dnsblv6_segment pending;
};

static int put_segment(struct segmenter *segmenter, const struct dnsblv6_segment *segment)
{
	uint8_t key[DNSBLV6_SEGMENT_KEY_MAX];
	uint8_t data[DNSBLV6_SEGMENT_MAX];
	size_t key_size = dnsblv6_segment_make_key(segmenter->origin, segment->last, key);
	size_t size = dnsblv6_segment_encode(segment, data);
	return writer_put(segmenter->builder->writer, STORE_SEGMENTS, key, key_size, data, size);
}

static int flush(struct segmenter *segmenter)
{
	if (!segmenter->has_pending)
		return DNSBLV6_OK;
	segmenter->has_pending = false;
	return put_segment(segmenter, &segmenter->pending);
}

/* first to last has its bit set and is not listed. ::ffff:0:0/96 is cut off: it is IPv4. */
static void add_unlisted(struct segmenter *segmenter, struct dnsblv6_addr first,
			 struct dnsblv6_addr last, bool is_ipv4)
{
	if (!is_ipv4 && dnsblv6_addr_is_ipv4(first))
		first = (struct dnsblv6_addr){ 0, 0x1000000000000 };
	if (!is_ipv4 && dnsblv6_addr_is_ipv4(last))
		last = (struct dnsblv6_addr){ 0, 0xfffeffffffff };
	if (dnsblv6_addr_compare(first, last) > 0)
		return;
	/* Between two unlisted runs of the same stretch no bit is set: one segment does. */
	if (!segmenter->has_pending)
		segmenter->pending.first = first;
	segmenter->pending.last = last;
	segmenter->pending.set = DNSBLV6_SET_NONE;
	segmenter->has_pending = true;
}

static int add_piece(struct segmenter *segmenter, const struct dnsblv6_segment *piece,
		     uint32_t default_set)
{
	int ret = flush(segmenter);
	if (ret != DNSBLV6_OK || piece->set == default_set)
		return ret;
	return put_segment(segmenter, piece);
}

/* One run of set bits, first to last, and the pieces in it from *index on. */
static int segment_range(struct segmenter *segmenter, const struct plan_origin *origin,
			 struct dnsblv6_addr first, struct dnsblv6_addr last, bool is_ipv4,
			 size_t *index)
{
	struct dnsblv6_addr at = first;
	bool is_done = false;

	for (; *index < origin->pieces.count; (*index)++) {
		const struct dnsblv6_segment *piece = &origin->pieces.items[*index];
		if (dnsblv6_addr_is_ipv4(piece->first) != is_ipv4 ||
		    dnsblv6_addr_compare(piece->first, last) > 0)
			break;
		if (dnsblv6_addr_compare(at, piece->first) < 0)
			add_unlisted(segmenter, at, dnsblv6_addr_previous(piece->first), is_ipv4);
		int ret = add_piece(segmenter, piece, origin->default_set);
		if (ret != DNSBLV6_OK)
			return ret;
		is_done = dnsblv6_addr_compare(piece->last, last) == 0;
		at = dnsblv6_addr_next(piece->last);
	}
	if (!is_done)
		add_unlisted(segmenter, at, last, is_ipv4);
	return DNSBLV6_OK;
}

static int put_origin_segments(struct builder *builder, uint16_t number)
{
	const struct plan_origin *origin = &builder->plan->origins[number];
	const struct ranges *families[] = { &origin->ipv4, &origin->ipv6 };
	size_t index = 0;
	int ret = DNSBLV6_OK;

	for (unsigned family = 0; family < 2; family++) {
		const struct ranges *ranges = families[family];
		struct segmenter segmenter = { .builder = builder, .origin = number };
		for (size_t i = 0; ret == DNSBLV6_OK && i < ranges->count; i++)
			ret = segment_range(&segmenter, origin,
					    ranges_first_addr(ranges, ranges->items[i].first),
					    ranges_last_addr(ranges, ranges->items[i].last),
					    ranges->is_ipv4, &index);
		if (ret == DNSBLV6_OK)
			ret = flush(&segmenter);
	}
	return ret;
}

static int put_segments(struct builder *builder)
{
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < builder->plan->origin_count; i++)
		ret = put_origin_segments(builder, (uint16_t)i);
	return ret;
}

/* ---- value sets ---- */

static void mark_sets(const struct plan *plan, bool *is_used)
{
	for (size_t i = 0; i < plan->origin_count; i++) {
		is_used[plan->origins[i].default_set] = true;
		for (size_t j = 0; j < plan->origins[i].pieces.count; j++)
			is_used[plan->origins[i].pieces.items[j].set] = true;
	}
}

static int put_set(struct builder *builder, uint32_t set)
{
	enum { VALUE_MAX = 9 + 255 };
	static const size_t data_max = (size_t)DNSBLV6_SET_VALUES_MAX * VALUE_MAX;
	size_t count;
	size_t size = 0;
	const uint32_t *members = set_pool_members(&builder->plan->sets, set, &count);
	if (count > DNSBLV6_SET_VALUES_MAX)
		return BUILDER_EVALUES;

	struct dnsblv6_value values[DNSBLV6_SET_VALUES_MAX];
	for (size_t i = 0; i < count; i++)
		values[i] = builder->listing->pool.values[members[i]];
	uint8_t *data = malloc(data_max);
	if (data == NULL)
		return -ENOMEM;
	uint8_t key[DNSBLV6_SET_KEY_SIZE];
	dnsblv6_set_make_key(set, key);
	int ret = dnsblv6_set_encode(values, count, data, data_max, &size);
	if (ret == DNSBLV6_OK)
		ret = writer_put(builder->writer, STORE_SETS, key, sizeof(key), data, size);
	free(data);
	return ret;
}

static int put_sets(struct builder *builder)
{
	size_t count = builder->plan->sets.count;
	bool *is_used = calloc(count, sizeof(*is_used));
	if (is_used == NULL)
		return -ENOMEM;
	mark_sets(builder->plan, is_used);
	int ret = DNSBLV6_OK;
	for (uint32_t set = 1; ret == DNSBLV6_OK && set < count; set++) {
		if (is_used[set])
			ret = put_set(builder, set);
	}
	free(is_used);
	return ret;
}

/* ---- facts ---- */

static int put_facts(struct builder *builder)
{
	const struct plan *plan = builder->plan;
	struct dnsblv6_facts facts = {
		.zone = builder->spec->zone,
		.style = (uint8_t)builder->spec->style,
		.ttl = builder->spec->ttl,
		.serial = builder->result.serial,
		.built_s = builder->now_s,
		.expires_s = builder->spec->expires_s,
		.record_count = builder->result.record_count,
		.block_count = plan->block_count,
		.ipv4_count = plan->ipv4_count,
		.ipv6_count = plan->ipv6_count,
	};
	uint8_t data[DNSBLV6_FACTS_MAX];
	size_t size = dnsblv6_facts_encode(&facts, data);
	return writer_put(builder->writer, STORE_FACTS, DNSBLV6_FACT_ZONE,
			  strlen(DNSBLV6_FACT_ZONE), data, size);
}

static int put_origins(struct builder *builder)
{
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < builder->plan->origin_count; i++) {
		struct dnsblv6_origin origin = { builder->listing->origins[i],
						 builder->plan->origins[i].default_set };
		uint8_t key[DNSBLV6_ORIGIN_KEY_SIZE];
		uint8_t data[DNSBLV6_ORIGIN_MAX];
		dnsblv6_origin_make_key((uint16_t)i, key);
		size_t size = dnsblv6_origin_encode(&origin, data);
		ret = writer_put(builder->writer, STORE_FACTS, key, sizeof(key), data, size);
	}
	return ret;
}

/* RFC 1982: is a newer than b? */
static bool is_newer(uint32_t a, uint32_t b)
{
	return a != b && a - b < (uint32_t)1 << 31;
}

static int choose_serial(struct builder *builder)
{
	struct store_bytes value;
	struct dnsblv6_facts facts;
	uint32_t wanted = builder->spec->serial;
	uint32_t now = (uint32_t)builder->now_s;

	builder->result.serial = wanted != 0 ? wanted : now;
	if (writer_is_new(builder->writer))
		return DNSBLV6_OK;
	int ret = writer_get(builder->writer, STORE_FACTS, DNSBLV6_FACT_ZONE,
			     strlen(DNSBLV6_FACT_ZONE), &value);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_facts_decode(value.data, value.size, &facts);
	if (ret != DNSBLV6_OK)
		return STORE_ECORRUPT;
	if (facts.zone.size != builder->spec->zone.size ||
	    strncasecmp((const char *)facts.zone.wire, (const char *)builder->spec->zone.wire,
			facts.zone.size) != 0)
		return BUILDER_EZONE;
	if (is_newer(builder->result.serial, facts.serial))
		return DNSBLV6_OK;
	if (wanted != 0)
		return BUILDER_ESERIAL;
	builder->result.serial = facts.serial + 1;
	return DNSBLV6_OK;
}

/* ---- the whole ---- */

static int clear(struct builder *builder)
{
	int ret = DNSBLV6_OK;
	for (unsigned i = 0; ret == DNSBLV6_OK && i < STORE_TABLE_COUNT; i++)
		ret = writer_clear(builder->writer, (enum store_table)i);
	return ret;
}

static int write_all(struct writer *writer, void *context)
{
	struct builder *builder = context;
	int (*const steps[])(struct builder *) = {
		choose_serial, clear,	 put_apex,  put_sections, put_glue,
		put_segments,  put_sets, put_facts, put_origins,
	};
	int ret = DNSBLV6_OK;
	builder->writer = writer;
	builder->result.record_count = 0;
	for (size_t i = 0; ret == DNSBLV6_OK && i < sizeof(steps) / sizeof(steps[0]); i++)
		ret = steps[i](builder);
	return ret;
}

int builder_write(const char *path, const struct plan *plan, const struct listing *listing,
		  const struct spec *spec, uint64_t now_s, uint64_t max_records,
		  struct progress *progress, struct builder_result *ret_result)
{
	struct builder builder = { .plan = plan,
				   .listing = listing,
				   .spec = spec,
				   .now_s = now_s,
				   .max_records = max_records,
				   .progress = progress };
	int ret = writer_run(path, write_all, &builder);
	if (ret == DNSBLV6_OK)
		*ret_result = builder.result;
	return ret;
}
