/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * look.h - what the caches know about an address: the daemon's first, then our own.
 *
 * Flow: client.c -> look_address(); engine_start() before it asks -> look_all(), look_zone()
 *       -> cache.h, ranges.h -> verdict.h
 * No system call, lock or allocation; any thread. Reads of struct zones only what does not change
 * after engine_new().
 *
 * An answer keeps its slot until another key needs it. That a question failed is written into
 * another slot (look_failure_key()), so an expired answer and its true age stay, and both together
 * make a stale answer (RFC 8767).
 */

#include "client-lib/engine/zone.h"

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

/* One zone. takes_expired: a request is at its end, and an expired answer is better than none. */
void look_zone(const struct zone *zone, struct dnsblv6_addr addr, bool takes_expired,
	       struct look *ret_look);
/* The daemon's cache alone. False: there is none, or it does not have the zone. */
bool look_shared(const struct zone *zone, struct dnsblv6_addr addr, bool takes_expired,
		 struct look *ret_look);

/*
 * All zones of entries, of an address as its two words (cache_table.h says why). DNSBLV6_OK or
 * -EAGAIN; result and is_due as dnsblv6_peek() says.
 */
int look_all(const struct zones *all, uint64_t hi, uint64_t lo, uint64_t entries,
	     struct dnsblv6_result *ret_result);
/*
 * What dnsblv6_peek_zones() returns and writes. -EINVAL: the set has no zone of addresses. Where
 * is_due is set, engine_start() starts what is due.
 */
int look_address(const struct zones *all, const struct dnsblv6_ip *ip, uint64_t zones,
		 struct dnsblv6_result *ret_result);
/* look_all() without the short way that it takes for zones that are well: to compare. */
int look_all_at_length(const struct zones *all, uint64_t hi, uint64_t lo, uint64_t entries,
		       struct dnsblv6_result *ret_result);

/* Where the slot of the answer is. */
struct cache_key look_key(const struct cache *cache, unsigned zone, bool is_block,
			  struct dnsblv6_addr addr);
struct cache_key look_failure_key(unsigned zone, struct cache_key key);

#ifdef __cplusplus
}
#endif
