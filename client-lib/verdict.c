/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/verdict.h"

#include <string.h>

#define VALUE_COUNT 4 /* A records in the payload of CACHE_VALUES; unused ones are 0.0.0.0 */

static int64_t sum_weights(const struct config *config, uint64_t entries)
{
	int64_t sum = 0;

	for (uint64_t left = entries; left != 0; left &= left - 1)
		sum += config->entries[__builtin_ctzll(left)].weight;
	return sum;
}

void verdict_prepare(const struct config *config, unsigned zone, struct verdict_zone *ret_zone)
{
	static const uint8_t listed[4] = { 127, 0, 0, 2 };
	uint32_t listed_be32;

	memcpy(&listed_be32, listed, sizeof(listed_be32));
	*ret_zone = (struct verdict_zone){ 0 };
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

void verdict_init(struct dnsblv6_result *ret_result)
{
	memset(ret_result, 0, sizeof(*ret_result));
	ret_result->ttl_s = UINT32_MAX;
}

/* Which of entries have a filter that this A record fits. */
static uint64_t filter_value(const struct config *config, uint64_t entries, const uint8_t *a)
{
	uint64_t fitting = 0;
	uint32_t a_be32;

	memcpy(&a_be32, a, sizeof(a_be32));
	for (uint64_t left = entries; left != 0; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		if (config_filter_fits(&config->entries[i].filter, a_be32))
			fitting |= 1ull << i;
	}
	return fitting;
}

static uint64_t filter_low(const struct config *config, uint64_t entries,
			   const struct dnsblv6_bitmap *values)
{
	uint64_t fitting = 0;

	for (unsigned n = 0; n < DNSBLV6_BITMAP_HOSTS; n++) {
		const uint8_t a[4] = { 127, 0, 0, (uint8_t)n };
		if (dnsblv6_bitmap_get(values, n))
			fitting |= filter_value(config, entries, a);
	}
	return fitting;
}

static uint64_t filter_values(const struct config *config, uint64_t entries,
			      const struct dnsblv6_bitmap *values)
{
	uint64_t fitting = 0;

	for (unsigned i = 0; i < VALUE_COUNT; i++) {
		const uint8_t *a = values->bytes + (size_t)4 * i;
		if (a[0] == 127)
			fitting |= filter_value(config, entries, a);
	}
	return fitting;
}

static uint64_t find_listed(const struct config *config, const struct verdict_zone *zone,
			    uint64_t entries, const struct cache_entry *entry,
			    struct dnsblv6_addr addr)
{
	switch (entry->kind) {
	case CACHE_BITMAP:
		if (!dnsblv6_bitmap_get(&entry->payload, dnsblv6_host_index(addr)))
			return 0;
		return entries & zone->bitmap_entries;
	case CACHE_LOW:
		if (dnsblv6_bitmap_is_empty(&entry->payload))
			return 0;
		return filter_low(config, entries, &entry->payload);
	case CACHE_VALUES:
		return filter_values(config, entries, &entry->payload);
	default:
		return 0;
	}
}

void verdict_add_answer(const struct config *config, const struct verdict_zone *zone,
			uint64_t entries, const struct cache_entry *entry, struct dnsblv6_addr addr,
			uint32_t ttl_s, struct dnsblv6_result *result)
{
	result->zones_answered |= entries;
	result->zones_listed |= find_listed(config, zone, entries, entry, addr);
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
	verdict_set_score(score, result);
	result->verdict = choose(config, entries, result);
}
