/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * ratelimit.h - how many answers a network may get over UDP, in memory that
 * does not grow.
 *
 * Flow: worker.c makes a table -> answer.c asks before it answers.
 *
 * A network is an IPv4 /24 or an IPv6 /56 (access.h). Each has a bucket of
 * tokens, which fills at the rate up to what RATELIMIT_BURST_S bring; an answer
 * takes one. Without a token the answer is limited: every slip-th of a network
 * is a truncated one, which a real client repeats over TCP, the others are
 * dropped.
 *
 * An answer that is larger than others for the sake of later ones pays for itself with more tokens,
 * and is given out of the upper half of a bucket only. So no network is sent more bytes than plain
 * answers at the rate would have, whatever addresses queries are forged from.
 *
 * The table is sets of four buckets, one line of a cache each; a keyed hash of
 * the network names the set. A network without a bucket takes the one that is
 * fullest: what is full says no more than what is not there. So a flood from
 * many networks pushes out those that ask little, never the bucket of one
 * that is limited, as long as its set has another.
 *
 * A table belongs to one worker. Nothing here allocates but ratelimit_new().
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RATELIMIT_BURST_S      4
#define RATELIMIT_RATE_MAX     100000
#define RATELIMIT_NETWORKS_MAX 1048576

struct ratelimit;

enum ratelimit_verdict { RATELIMIT_PASS, RATELIMIT_TRUNCATE, RATELIMIT_DROP };

struct ratelimit_options {
	unsigned rate;		/* answers a second, 1 to RATELIMIT_RATE_MAX */
	unsigned slip;		/* 0: all are dropped; at most 255 */
	unsigned network_count; /* buckets, rounded up to a power of two */
	uint64_t seed;		/* of the hash: random, for clients not to know */
};

/* 0 or -ENOMEM. */
int ratelimit_new(const struct ratelimit_options *options, struct ratelimit **ret_limit);
/* Takes NULL. */
void ratelimit_free(struct ratelimit *limit);

/* One answer to network; now_ms is of a clock that never goes back. */
enum ratelimit_verdict ratelimit_take(struct ratelimit *limit, uint64_t network, uint64_t now_ms);

/*
 * Would count more answers leave network half of its bucket? Then it asks for far less than the
 * limit. ratelimit_pay() takes them.
 */
bool ratelimit_has_spare(struct ratelimit *limit, uint64_t network, uint64_t now_ms,
			 unsigned count);
void ratelimit_pay(struct ratelimit *limit, uint64_t network, uint64_t now_ms, unsigned count);

#ifdef __cplusplus
}
#endif
