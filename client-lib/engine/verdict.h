/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * verdict.h - answers of zones, filters, weights and on-failure become a result.
 *
 * Flow: engine.c, look.c -> verdict_add_*() for each zone -> verdict_finish().
 * Pure: no clock, cache or I/O. The parts may be added in any order.
 */

#include "client-lib/cache/cache.h"
#include "client-lib/config/config.h"
#include "client-lib/dnsblv6.h"

#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The entries of one zone, made once. */
struct verdict_zone {
	unsigned index;		 /* of the zone */
	bool wants_secure;	 /* what a daemon has not validated is not for it */
	uint64_t entries;	 /* of config->entries */
	uint64_t bitmap_entries; /* of them: their filter fits 127.0.0.2 */
	int64_t bitmap_weight;	 /* of these together */
};

void verdict_prepare(const struct config *config, unsigned zone, struct verdict_zone *ret_zone);

/*
 * All zero, and no TTL yet. In parts: all of it at once gcc writes by "rep stos", which takes
 * longer to begin than to write this.
 */
static inline void verdict_init(struct dnsblv6_result *ret_result)
{
	memset(ret_result, 0, offsetof(struct dnsblv6_result, codes));
	memset(ret_result->codes, 0, sizeof(ret_result->codes));
	ret_result->ttl_s = UINT32_MAX;
}

/* All that is zero when every entry has answered by a bitmap, and the rest is written anyway. */
static inline void verdict_init_whole(struct dnsblv6_result *ret_result)
{
	ret_result->zones_failed = 0;
	ret_result->zones_stale = 0;
	ret_result->elapsed_us = 0;
	ret_result->queries = 0;
	memset(ret_result->reserved, 0,
	       sizeof(*ret_result) - offsetof(struct dnsblv6_result, reserved));
}

/* entries: a subset of zone->entries. ttl_s is what is left of the answer. */
void verdict_add_answer(const struct config *config, const struct verdict_zone *zone,
			uint64_t entries, const struct cache_entry *entry, struct dnsblv6_addr addr,
			uint32_t ttl_s, struct dnsblv6_result *result);
void verdict_add_failure(uint64_t entries, struct dnsblv6_result *result);

/* Score, TTL and verdict. Entries that are neither answered nor failed count for nothing. */
void verdict_finish(const struct config *config, uint64_t entries, struct dnsblv6_result *result);

/* verdict_finish() where every entry has answered, and score is the sum of those that list. */
static inline void verdict_finish_whole(const struct config *config, int64_t score,
					struct dnsblv6_result *result)
{
	result->score = (int32_t)score;
	result->verdict = result->score >= config->threshold ? DNSBLV6_LISTED : DNSBLV6_CLEAR;
}

#ifdef __cplusplus
}
#endif
