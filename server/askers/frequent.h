/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * frequent.h - the ranges without a listing that clients ask for again and again, in memory that
 * does not grow.
 *
 * Flow: parent.c makes a bank in shared memory for each generation of workers -> answer.c counts
 *       each denial -> neighbours.c puts proofs of what frequent_next() names into another
 *       denial -> answer.c moves the client on by what it was given.
 *
 * A resolver keeps the proof of a range for the negative TTL. Most of its questions behind that
 * are for ranges that it knew before, because mail servers come back. So a denial brings along
 * the proofs of what comes back most: each client is given the ranges one after the other, the
 * most frequent first, and from the first again when a negative TTL has passed since it began.
 * Such a round costs no question of its own, and a client that asks seldom gets the ranges that
 * matter most. The order changes meanwhile, so that now and then a range comes twice or not.
 *
 * Ranges are counted in sets of four places, one line of a cache each; a keyed hash names the
 * set. Each range that has no place lowers the least count of its set by one, and takes the
 * place when that is used up. All counts are halved each day, and when one has reached its most,
 * so that what comes no longer is forgotten however often it came. A client counts
 * FREQUENT_TIMES_MAX times in a second at most: many clients decide, not the one that asks most.
 *
 * Where a client is in its round, and when it counted, is one word in sets of eight. A client
 * without a word takes that of the round that began first. With more clients in a negative TTL
 * than there are words rounds begin anew before their time.
 *
 * The memory is shared by all workers, since a resolver's questions go to all of them. It is
 * written without locks and may be wrong: a count that is lost, a range with the count of
 * another, a round at any place. What is named is looked up in the store all the same.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FREQUENT_RANGES_MAX 4096
/* How old an order may be: a worker makes it anew in half a millisecond at most. */
#define FREQUENT_ORDER_MS  10000
#define FREQUENT_COUNT_MAX 4096
#define FREQUENT_TIMES_MAX 8
/* A round is no longer, as some resolvers keep no negative answer for longer (Unbound). */
#define FREQUENT_ROUND_MAX_S 3600

struct frequent_bank {
	void *memory; /* shared with the workers; NULL: nothing is counted */
	size_t size_bytes;
	size_t set_count;
	uint64_t seed; /* of the hash: random, for clients not to know */
};

/* range_count is how many are remembered, rounded up to a power of two; 0: none. 0 or -errno. */
int frequent_open(struct frequent_bank *bank, size_t range_count, uint64_t seed);
/* Takes a bank that is all zero. */
void frequent_close(struct frequent_bank *bank);

struct frequent; /* of one worker */

/* *ret_frequent is NULL for a bank that counts nothing. The bank is borrowed. 0 or -ENOMEM. */
int frequent_new(const struct frequent_bank *bank, struct frequent **ret_frequent);
/* Takes NULL. */
void frequent_free(struct frequent *frequent);

/*
 * Names of one zone and one family, in which a range begins with its number (neighbours.h). A
 * family has no number with the uppermost bit.
 */
struct frequent_group {
	uint32_t zone;
	bool is_ipv6;
};

/*
 * A client at now_ms, of a clock that never goes back and is the same in all workers but for
 * milliseconds. The address is that of an IPv4 client, or the first 64 bits of an IPv6 one:
 * resolvers of one network have caches of their own.
 */
struct frequent_client {
	struct frequent *frequent; /* NULL: nothing is counted, and nothing is frequent */
	uint64_t address;
	uint64_t now_ms;
};

/* A question of client was for a range that is not listed. */
void frequent_count(const struct frequent_client *client, struct frequent_group group,
		    uint64_t number);
/*
 * The ranges that client is to be given next, number_max of them at most, where the negative TTL
 * is ttl_s seconds. Returns how many are in ret_numbers. Allocates meanwhile, when the order is
 * made anew.
 */
unsigned frequent_next(const struct frequent_client *client, struct frequent_group group,
		       uint32_t ttl_s, uint64_t *ret_numbers, unsigned number_max);
/* It was given count of them, or they are not to be given. */
void frequent_advance(const struct frequent_client *client, struct frequent_group group,
		      uint32_t ttl_s, unsigned count);

#ifdef __cplusplus
}
#endif
