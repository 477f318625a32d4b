/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * peek.h - what the caches together know: the daemon's first, then our own.
 *
 * Flow: engine_look(), engine.c -> peek_*() -> look.c -> cache.h
 * No system call, lock or allocation; any thread. Reads of struct zones only what does
 * not change after engine_new().
 */

#include "client-lib/engine/zone.h"
#include "client-lib/engine/look.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One zone. takes_expired as in look.h. */
void peek_zone(const struct zone *zone, struct dnsblv6_addr addr, bool takes_expired,
	       struct look *ret_look);

/*
 * All zones of entries, of an address as its two words (cache_table.h says why). DNSBLV6_OK or
 * -EAGAIN; result and is_due as dnsblv6_peek() says.
 */
int peek_all(const struct zones *all, uint64_t hi, uint64_t lo, uint64_t entries,
	     struct dnsblv6_result *ret_result);

/* The same without the short way that peek_all() takes for zones that are well: to compare. */
int peek_all_at_length(const struct zones *all, uint64_t hi, uint64_t lo, uint64_t entries,
		       struct dnsblv6_result *ret_result);

#ifdef __cplusplus
}
#endif
