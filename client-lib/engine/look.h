/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * look.h - what a cache knows about one address in one zone.
 *
 * Flow: engine_look(), engine.c -> look_zone() -> cache.h, ranges.h.
 * No system call, lock or allocation; any thread.
 *
 * An answer keeps its slot until another key needs it. That a question failed is written into
 * another slot (look_failure_key()), so an expired answer and its true age stay, and both together
 * make a stale answer (RFC 8767).
 */

#include "client-lib/engine/health.h"

#ifdef __cplusplus
extern "C" {
#endif

enum look_kind {
	LOOK_MISS,   /* has to be asked */
	LOOK_ANSWER, /* *entry, for ttl_s */
	LOOK_FAILED, /* asking is no use now */
};

struct look {
	enum look_kind kind;
	struct cache_entry entry;
	uint32_t ttl_s;
	bool is_old;   /* little of its TTL is left: time for a new question */
	bool is_block; /* LOOK_MISS: what is to be asked for, the block or the address */
};

struct look_place {
	const struct config *config;
	const struct cache *cache;
	unsigned zone; /* index in cache */
	uint64_t word;
	uint32_t now_s;
	bool takes_expired; /* a request is at its end: an expired answer is better than none */
};

void look_zone(const struct look_place *place, struct dnsblv6_addr addr, struct look *ret_look);

/* Where the slot of the answer is. */
struct cache_key look_key(const struct cache *cache, unsigned zone, bool is_block,
			  struct dnsblv6_addr addr);
struct cache_key look_failure_key(unsigned zone, struct cache_key key);

#ifdef __cplusplus
}
#endif
