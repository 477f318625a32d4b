/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/askers/ratelimit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/askers/mix.h"

#define SET_BUCKETS 4
#define LINE_SIZE   64
/* Tokens are counted in thousandths, so that a millisecond brings rate of them. */
#define TOKEN 1000U

/* 16 bytes: the network is 64 bits, of which access.h leaves the lowest eight free. */
struct bucket {
	uint64_t network_and_limited; /* below the network: how many were limited, for slip */
	uint32_t tokens;
	uint32_t time_ms; /* of tokens; it wraps */
};

struct set {
	_Alignas(LINE_SIZE) struct bucket buckets[SET_BUCKETS];
};

struct ratelimit {
	struct set *sets;
	uint64_t set_mask;
	uint64_t seed;
	unsigned rate;
	unsigned slip;
	uint32_t token_max;
};

#define LIMITED_MASK 0xffU

static size_t count_sets(unsigned network_count)
{
	size_t count = 1;
	while (count * SET_BUCKETS < network_count)
		count *= 2;
	return count;
}

int ratelimit_new(const struct ratelimit_options *options, struct ratelimit **ret_limit)
{
	size_t count = count_sets(options->network_count);
	struct ratelimit *limit = calloc(1, sizeof(*limit));
	if (limit == NULL)
		return -ENOMEM;
	*limit = (struct ratelimit){
		.set_mask = count - 1,
		.seed = options->seed,
		.rate = options->rate,
		.slip = options->slip,
		.token_max = options->rate * RATELIMIT_BURST_S * TOKEN,
	};
	limit->sets = aligned_alloc(LINE_SIZE, count * sizeof(*limit->sets));
	if (limit->sets == NULL) {
		ratelimit_free(limit);
		return -ENOMEM;
	}
	/* Written once, so that it is there from the start and no flood makes it grow. */
	memset(limit->sets, 0, count * sizeof(*limit->sets));
	*ret_limit = limit;
	return 0;
}

void ratelimit_free(struct ratelimit *limit)
{
	if (limit == NULL)
		return;
	free(limit->sets);
	free(limit);
}

/* With what came since it was looked at last. */
static uint32_t tokens_at(const struct ratelimit *limit, const struct bucket *bucket,
			  uint32_t now_ms)
{
	uint64_t tokens = bucket->tokens + (uint64_t)(now_ms - bucket->time_ms) * limit->rate;
	return tokens < limit->token_max ? (uint32_t)tokens : limit->token_max;
}

/* The bucket of network, brought to now_ms; a new one is full. */
static struct bucket *find(struct ratelimit *limit, uint64_t network, uint32_t now_ms)
{
	struct set *set = &limit->sets[mix(network, limit->seed) & limit->set_mask];
	struct bucket *fullest = &set->buckets[0];
	uint32_t most = 0;
	for (size_t i = 0; i < SET_BUCKETS; i++) {
		struct bucket *bucket = &set->buckets[i];
		bool is_free = bucket->network_and_limited == 0;
		uint32_t tokens = is_free ? UINT32_MAX : tokens_at(limit, bucket, now_ms);
		if ((bucket->network_and_limited & ~(uint64_t)LIMITED_MASK) == network) {
			bucket->tokens = is_free ? limit->token_max : tokens;
			bucket->time_ms = now_ms;
			return bucket;
		}
		if (tokens > most) {
			most = tokens;
			fullest = bucket;
		}
	}
	*fullest = (struct bucket){ network, limit->token_max, now_ms };
	return fullest;
}

enum ratelimit_verdict ratelimit_take(struct ratelimit *limit, uint64_t network, uint64_t now_ms)
{
	struct bucket *bucket = find(limit, network & ~(uint64_t)LIMITED_MASK, (uint32_t)now_ms);
	if (bucket->tokens >= TOKEN) {
		bucket->tokens -= TOKEN;
		return RATELIMIT_PASS;
	}
	unsigned limited = (unsigned)(bucket->network_and_limited & LIMITED_MASK) + 1;
	bool is_slip = limited == limit->slip;
	bucket->network_and_limited &= ~(uint64_t)LIMITED_MASK;
	bucket->network_and_limited |= is_slip || limited > limit->slip ? 0 : limited;
	return is_slip ? RATELIMIT_TRUNCATE : RATELIMIT_DROP;
}

bool ratelimit_has_spare(struct ratelimit *limit, uint64_t network, uint64_t now_ms, unsigned count)
{
	const struct bucket *bucket =
		find(limit, network & ~(uint64_t)LIMITED_MASK, (uint32_t)now_ms);
	uint64_t least = (uint64_t)count * TOKEN + limit->token_max / 2;
	return bucket->tokens >= least;
}

void ratelimit_pay(struct ratelimit *limit, uint64_t network, uint64_t now_ms, unsigned count)
{
	struct bucket *bucket = find(limit, network & ~(uint64_t)LIMITED_MASK, (uint32_t)now_ms);
	uint64_t price = (uint64_t)count * TOKEN;
	bucket->tokens = bucket->tokens > price ? bucket->tokens - (uint32_t)price : 0;
}
