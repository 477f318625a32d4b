/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/chain/listed.h"

#include "zone-tools/chain/chain.h"
#include "zone-tools/plan/segmenter.h"

#include "lib/format/bytes.h"
#include "lib/store/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_MAX = 9 + DNSBLV6_TEXT_MAX + 1 }; /* of a set, encoded */

int listed_values(const struct plan *plan, const struct listing *listing, uint32_t set,
		  struct dnsblv6_value *ret_values, size_t *ret_count)
{
	const uint32_t *members = set_pool_members(plan->sets, set, ret_count);
	if (*ret_count > DNSBLV6_SET_VALUES_MAX)
		return CHAIN_EVALUES;
	for (size_t i = 0; i < *ret_count; i++)
		ret_values[i] = listing->pool.values[members[i]];
	return DNSBLV6_OK;
}

/* ---- segments ---- */

static int put_part_segments(const struct plan *plan, struct segmenter *segmenter, unsigned number)
{
	struct plan_part part = { 0 };
	int ret = plan_load(plan, segmenter->origin, number, &part);
	if (ret == DNSBLV6_OK)
		ret = segmenter_add(segmenter, &part);
	plan_part_deinit(&part);
	return ret;
}

/*
 * A unit of IPv4 is an address: where all have the default set, there is nothing to say, but that
 * canaries are not listed.
 */
static int put_origin_segments(const struct plan *plan, enum dnsblv6_style style,
			       const struct segment_sink *sink, uint16_t number)
{
	struct segmenter segmenter = { .sink = sink, .origin = number, .style = style };
	bool has_ipv4 = plan->origins[number].has_segments || style == DNSBLV6_STYLE_CLASSIC;
	int ret = DNSBLV6_OK;
	for (unsigned part = 0; ret == DNSBLV6_OK && part < DATASET_PARTS; part++) {
		if (has_ipv4 || part == DATASET_PART_IPV6 || plan_has_points(part))
			ret = put_part_segments(plan, &segmenter, part);
	}
	return ret == DNSBLV6_OK ? segmenter_end(&segmenter) : ret;
}

static int put_segments(struct writer *writer, const struct plan *plan, enum dnsblv6_style style)
{
	const struct segment_sink sink = { writer, NULL };
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < plan->origin_count; i++)
		ret = put_origin_segments(plan, style, &sink, (uint16_t)i);
	for (size_t i = 0; ret == DNSBLV6_OK && i < plan->clients.count; i++)
		ret = segmenter_put(&sink, DNSBLV6_ORIGIN_ACL, &plan->clients.items[i]);
	return ret;
}

/* ---- value sets ---- */

/* recorder may be NULL. */
static int put_set(struct writer *writer, struct recorder *recorder, uint32_t set,
		   const struct dnsblv6_value *values, size_t count)
{
	static const size_t data_max = (size_t)DNSBLV6_SET_VALUES_MAX * VALUE_MAX;
	size_t size = 0;
	uint8_t key[DNSBLV6_SET_KEY_SIZE];
	uint8_t *data = malloc(data_max);
	if (data == NULL)
		return -ENOMEM;
	dnsblv6_set_make_key(set, key);
	int ret = dnsblv6_set_encode(values, count, data, data_max, &size);
	if (ret == DNSBLV6_OK && recorder != NULL)
		ret = recorder_note(recorder, STORE_SETS, key, sizeof(key));
	if (ret == DNSBLV6_OK)
		ret = writer_put(writer, STORE_SETS, key, sizeof(key), data, size);
	free(data);
	return ret;
}

int listed_add_set(struct writer *writer, struct recorder *recorder, uint32_t set,
		   const struct dnsblv6_value *value)
{
	return put_set(writer, recorder, set, value, 1);
}

/* A set of one value, as the store has it. */
struct wanted_set {
	uint8_t data[VALUE_MAX];
	size_t size;
	uint32_t number;   /* 0: not found */
	uint32_t greatest; /* of all that there are */
};

static int compare_set(void *context, struct store_bytes key, struct store_bytes value)
{
	struct wanted_set *wanted = context;
	uint32_t number = (uint32_t)bytes_get(key.data, (unsigned)key.size);
	if (number > wanted->greatest)
		wanted->greatest = number;
	if (value.size == wanted->size && memcmp(value.data, wanted->data, value.size) == 0)
		wanted->number = number;
	return DNSBLV6_OK;
}

int listed_find_set(struct writer *writer, const struct dnsblv6_value *value, uint32_t *ret_set,
		    bool *ret_is_new)
{
	struct wanted_set wanted = { 0 };
	int ret = dnsblv6_set_encode(value, 1, wanted.data, sizeof(wanted.data), &wanted.size);
	if (ret == DNSBLV6_OK)
		ret = writer_scan(writer, STORE_SETS, compare_set, &wanted);
	if (ret != DNSBLV6_OK)
		return ret;
	*ret_is_new = wanted.number == 0;
	*ret_set = *ret_is_new ? wanted.greatest + 1 : wanted.number;
	return DNSBLV6_OK;
}

int listed_get_values(struct writer *writer, uint32_t set, struct dnsblv6_value *ret_values,
		      size_t *ret_count)
{
	uint8_t key[DNSBLV6_SET_KEY_SIZE];
	struct store_bytes bytes;
	size_t offset = 0;
	*ret_count = 0;
	if (set == DNSBLV6_SET_NONE)
		return DNSBLV6_OK;
	dnsblv6_set_make_key(set, key);
	int ret = writer_get(writer, STORE_SETS, key, sizeof(key), &bytes);
	while (ret == DNSBLV6_OK && *ret_count < DNSBLV6_SET_VALUES_MAX) {
		ret = dnsblv6_set_next(bytes.data, bytes.size, &offset, &ret_values[*ret_count]);
		*ret_count += ret == DNSBLV6_OK;
	}
	return ret == DNSBLV6_OK || (ret == DNSBLV6_ENOTFOUND && *ret_count > 0) ? DNSBLV6_OK
										 : STORE_ECORRUPT;
}

static int put_planned_set(struct writer *writer, const struct plan *plan,
			   const struct listing *listing, uint32_t set)
{
	size_t count;
	struct dnsblv6_value values[DNSBLV6_SET_VALUES_MAX];
	int ret = listed_values(plan, listing, set, values, &count);
	return ret == DNSBLV6_OK ? put_set(writer, NULL, set, values, count) : ret;
}

static int put_sets(struct writer *writer, const struct plan *plan, const struct listing *listing)
{
	int ret = DNSBLV6_OK;
	for (uint32_t set = 1; ret == DNSBLV6_OK && set < plan->used_count; set++) {
		if (plan->is_used[set])
			ret = put_planned_set(writer, plan, listing, set);
	}
	return ret;
}

static int put_origins(struct writer *writer, const struct plan *plan,
		       const struct listing *listing)
{
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < plan->origin_count; i++) {
		struct dnsblv6_origin origin = { listing->origins[i],
						 plan->origins[i].default_set };
		uint8_t key[DNSBLV6_ORIGIN_KEY_SIZE];
		uint8_t data[DNSBLV6_ORIGIN_MAX];
		dnsblv6_origin_make_key((uint16_t)i, key);
		size_t size = dnsblv6_origin_encode(&origin, data);
		ret = writer_put(writer, STORE_FACTS, key, sizeof(key), data, size);
	}
	return ret;
}

int listed_put(struct writer *writer, const struct plan *plan, const struct listing *listing,
	       enum dnsblv6_style style)
{
	int ret = put_segments(writer, plan, style);
	if (ret == DNSBLV6_OK)
		ret = put_sets(writer, plan, listing);
	return ret == DNSBLV6_OK ? put_origins(writer, plan, listing) : ret;
}
