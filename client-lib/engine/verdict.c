/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/engine/verdict.h"

#include "client-lib/config/sites.h"

#include <string.h>

static int64_t sum_weights(const struct config *config, uint64_t entries)
{
	int64_t sum = 0;

	for (uint64_t left = entries; left != 0; left &= left - 1)
		sum += config->entries[__builtin_ctzll(left)].weight;
	return sum;
}

_Static_assert((int64_t)CONFIG_ENTRIES_MAX *SITES_WEIGHT_MAX <= INT32_MAX,
	       "a sum of weights is a score");

void verdict_prepare(const struct config *config, unsigned zone, struct verdict_zone *ret_zone)
{
	static const uint8_t listed[4] = { 127, 0, 0, 2 };
	uint32_t listed_be32;

	memcpy(&listed_be32, listed, sizeof(listed_be32));
	*ret_zone = (struct verdict_zone){
		.index = zone,
		.wants_secure = config->zones[zone].secure == CONFIG_SECURE_YES,
	};
	for (unsigned i = 0; i < config->entry_count; i++) {
		const struct config_entry *entry = config->entries + i;
		if (entry->zone != zone)
			continue;
		ret_zone->entries |= 1ull << i;
		if (config_filter_fits(&entry->filter, listed_be32))
			ret_zone->bitmap_entries |= 1ull << i;
	}
	ret_zone->bitmap_weight = sum_weights(config, ret_zone->bitmap_entries);
}

/* Into the first place that is free. */
static void add_code(struct dnsblv6_result *result, unsigned entry, const uint8_t *a)
{
	static const struct dnsblv6_code none;

	for (unsigned i = 0; i < DNSBLV6_CODES_MAX; i++) {
		struct dnsblv6_code *code = &result->codes[i];

		if (memcmp(code->octets, none.octets, sizeof(none.octets)) != 0)
			continue;
		code->entry = (uint8_t)entry;
		memcpy(code->octets, a + 1, sizeof(code->octets));
		return;
	}
}

/* The entries that have a filter which this A record, one of 127/8, fits are listed. */
static void add_value(const struct config *config, uint64_t entries, const uint8_t *a,
		      struct dnsblv6_result *result)
{
	uint64_t fitting = 0;
	uint32_t a_be32;

	memcpy(&a_be32, a, sizeof(a_be32));
	for (uint64_t left = entries; left != 0; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		if (config_filter_fits(&config->entries[i].filter, a_be32))
			fitting |= 1ull << i;
	}
	if (fitting == 0)
		return;
	result->zones_listed |= fitting;
	add_code(result, (unsigned)__builtin_ctzll(fitting), a);
}

static void add_low(const struct config *config, uint64_t entries,
		    const struct dnsblv6_bitmap *values, struct dnsblv6_result *result)
{
	for (unsigned n = 0; n < DNSBLV6_BITMAP_HOSTS; n++) {
		const uint8_t a[4] = { 127, 0, 0, (uint8_t)n };
		if (dnsblv6_bitmap_get(values, n))
			add_value(config, entries, a, result);
	}
}

static void add_values(const struct config *config, uint64_t entries,
		       const struct dnsblv6_bitmap *values, struct dnsblv6_result *result)
{
	/* Unused ones are 0.0.0.0. */
	for (size_t i = 0; i < sizeof(*values); i += 4) {
		const uint8_t *a = values->bytes + i;
		if (a[0] == 127)
			add_value(config, entries, a, result);
	}
}

static void add_pairs(const struct config *config, uint64_t entries,
		      const struct dnsblv6_bitmap *pairs, struct dnsblv6_result *result)
{
	for (size_t i = 0; i < sizeof(*pairs); i += 2) {
		const uint8_t a[4] = { 127, 0, pairs->bytes[i], pairs->bytes[i + 1] };
		if (a[2] != 0 || a[3] != 0)
			add_value(config, entries, a, result);
	}
}

static void add_listed(const struct config *config, const struct verdict_zone *zone,
		       uint64_t entries, const struct cache_entry *entry, struct dnsblv6_addr addr,
		       struct dnsblv6_result *result)
{
	switch (entry->kind) {
	case CACHE_BITMAP:
		if (dnsblv6_bitmap_get(&entry->payload, dnsblv6_host_index(addr)))
			result->zones_listed |= entries & zone->bitmap_entries;
		break;
	case CACHE_LOW:
		if (!dnsblv6_bitmap_is_empty(&entry->payload))
			add_low(config, entries, &entry->payload, result);
		break;
	case CACHE_VALUES:
		add_values(config, entries, &entry->payload, result);
		break;
	case CACHE_PAIRS:
		add_pairs(config, entries, &entry->payload, result);
		break;
	default:
		break;
	}
}

void verdict_add_answer(const struct config *config, const struct verdict_zone *zone,
			uint64_t entries, const struct cache_entry *entry, struct dnsblv6_addr addr,
			uint32_t ttl_s, struct dnsblv6_result *result)
{
	result->zones_answered |= entries;
	add_listed(config, zone, entries, entry, addr, result);
	if (entry->is_secure)
		result->zones_secure |= entries;
	if (entry->is_stale)
		result->zones_stale |= entries;
	if (ttl_s < result->ttl_s)
		result->ttl_s = ttl_s;
}

void verdict_add_failure(uint64_t entries, struct dnsblv6_result *result)
{
	result->zones_failed |= entries;
}

/* ---- the end of it ---- */

static uint64_t find_failed(const struct config *config, uint64_t failed,
			    enum config_failure on_failure)
{
	uint64_t found = 0;

	for (uint64_t left = failed; left != 0; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		if (config->zones[config->entries[i].zone].on_failure == on_failure)
			found |= 1ull << i;
	}
	return found;
}

static int32_t choose(const struct config *config, uint64_t entries,
		      const struct dnsblv6_result *result)
{
	if (result->score >= config->threshold)
		return DNSBLV6_LISTED;
	if (find_failed(config, result->zones_failed, CONFIG_DEFER) != 0)
		return DNSBLV6_DEFER;
	return (entries & ~result->zones_answered) != 0 ? DNSBLV6_UNKNOWN : DNSBLV6_CLEAR;
}

void verdict_finish(const struct config *config, uint64_t entries, struct dnsblv6_result *result)
{
	uint64_t counted = result->zones_listed;

	if (result->zones_failed != 0)
		counted |= find_failed(config, result->zones_failed, CONFIG_CLOSED);
	int64_t score = counted == 0 ? 0 : sum_weights(config, counted);
	result->score = (int32_t)score; /* the weights of all entries are within it */
	if (result->ttl_s == UINT32_MAX)
		result->ttl_s = 0;
	result->verdict = choose(config, entries, result);
}
