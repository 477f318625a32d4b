/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * fetch.h - one question for a block or an address, however many wait for the answer.
 *
 * Flow: engine.c -> fetch_dns() or fetch_daemon() -> stub.c, remote.c -> the cache
 *       -> the waiters.
 *
 * A fetch goes on without waiters: the next request finds the answer. Its question may wait to be
 * sent for FETCH_LIFE_MIN_MS, or for as long as the request that began the fetch. From then on it
 * lives as long, but FETCH_LIFE_MAX_MS at most. Without a reply by then the fetch has failed.
 */

#include "client-lib/engine/zone.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FETCH_LIFE_MIN_MS 5000
#define FETCH_LIFE_MAX_MS 30000

struct fetches; /* opaque */

int fetches_new(struct zones *all, struct fetches **ret_fetches);
/* Wakes no waiter. What the stub and the daemon were asked is theirs to forget. */
void fetches_clear(struct fetches *fetches);
void fetches_free(struct fetches *fetches);

struct fetch_target {
	struct zone *zone;
	struct dnsblv6_addr addr;
	bool is_block; /* of DNS: an AAAA for the block, or an A for the address */
	/* In whose place addr is; NULL: it is an address. Borrowed until the call returns. */
	const struct dnsblv6_labels *name;
};

/*
 * Asks DNS, or joins a fetch that does; waiter may be NULL. The zone has been probed. Returns how
 * many questions that cost, 0 or 1, or -errno, and then the waiter does not wait.
 * The waiter gets the answer, or a CACHE_FAILED entry.
 */
int fetch_dns(struct fetches *fetches, const struct fetch_target *target, int64_t wait_ms,
	      struct waiter *waiter);

/*
 * The same of dnsblv6-cached. The waiter gets the answer, CACHE_FAILED, or NULL when
 * the daemon cannot say. -errno when there is none.
 */
int fetch_daemon(struct fetches *fetches, const struct fetch_target *target, int64_t wait_ms,
		 struct waiter *waiter);

#ifdef __cplusplus
}
#endif
