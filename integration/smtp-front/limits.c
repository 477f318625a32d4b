/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/smtp-front/limits.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/format/address.h"

#define MINUTE_NS UINT64_C(60000000000)
#define SETS_MIN  16

struct place {
	uint64_t network;   /* 0: nobody's */
	uint64_t filled_ns; /* when its bucket is full again: GCRA's theoretical arrival time */
	uint32_t open_count;
	uint32_t held_count;
};

struct limits {
	struct limits_rules rules;
	uint64_t seed;
	size_t set_count; /* a power of two */
	struct place *places;
};

int limits_new(size_t place_count, uint64_t seed, const struct limits_rules *rules,
	       struct limits **ret_limits)
{
	struct limits *limits = calloc(1, sizeof(*limits));
	if (limits == NULL)
		return -ENOMEM;
	limits->rules = *rules;
	limits->seed = seed;
	limits->set_count = SETS_MIN;
	while (limits->set_count * LIMITS_WAYS < place_count && limits->set_count < SIZE_MAX / 2)
		limits->set_count *= 2;
	limits->places = calloc(limits->set_count, LIMITS_WAYS * sizeof(struct place));
	if (limits->places == NULL) {
		free(limits);
		return -ENOMEM;
	}
	*ret_limits = limits;
	return 0;
}

void limits_free(struct limits *limits)
{
	if (limits == NULL)
		return;
	free(limits->places);
	free(limits);
}

/* The bits of number that a prefix of so many of width has. */
static uint64_t cut(uint64_t number, unsigned width, unsigned bits)
{
	if (bits >= width)
		return number;
	return bits == 0 ? 0 : number >> (width - bits) << (width - bits);
}

/* Not 0 for any address: IPv4 is apart from ::/31, where nobody is. */
static uint64_t network_of(const struct limits_rules *rules, const struct dnsblv6_ip *ip)
{
	struct dnsblv6_addr addr = dnsblv6_addr_from_bytes(ip->bytes);
	if (dnsblv6_addr_is_ipv4(addr))
		return cut(dnsblv6_addr_ipv4(addr), 32, rules->prefix_ipv4) | UINT64_C(1) << 32;
	uint64_t network = cut(addr.hi, 64, rules->prefix_ipv6);
	/* Of longer ones not the number itself, but one that nobody makes twice by chance. */
	if (rules->prefix_ipv6 > 64)
		network ^= cut(addr.lo, 64, rules->prefix_ipv6 - 64) * UINT64_C(0x9e3779b97f4a7c15);
	return network != 0 ? network : UINT64_C(1) << 33;
}

/* The finalizer of MurmurHash3 over both: nobody outside knows the seed. */
static struct place *set_of(const struct limits *limits, uint64_t network)
{
	uint64_t hash = network ^ limits->seed;
	hash = (hash ^ (hash >> 33)) * UINT64_C(0xff51afd7ed558ccd);
	hash = (hash ^ (hash >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53) + limits->seed;
	hash ^= hash >> 29;
	return &limits->places[(hash & (limits->set_count - 1)) * LIMITS_WAYS];
}

static struct place *find(const struct limits *limits, uint64_t network)
{
	struct place *set = set_of(limits, network);
	for (unsigned i = 0; i < LIMITS_WAYS; i++)
		if (set[i].network == network)
			return &set[i];
	return NULL;
}

/* Of those without a connection the one that has been quiet longest; NULL when all have one. */
static struct place *make_place(const struct limits *limits, uint64_t network)
{
	struct place *set = set_of(limits, network);
	struct place *best = NULL;
	for (unsigned i = 0; i < LIMITS_WAYS; i++)
		if (set[i].open_count == 0 && (best == NULL || set[i].filled_ns < best->filled_ns))
			best = &set[i];
	if (best != NULL)
		*best = (struct place){ .network = network };
	return best;
}

enum limits_answer limits_enter(struct limits *limits, const struct dnsblv6_ip *ip, uint64_t now_ms,
				bool *ret_is_counted)
{
	const struct limits_rules *rules = &limits->rules;
	uint64_t network = network_of(rules, ip);
	uint64_t now_ns = now_ms * 1000000;
	struct place *place = find(limits, network);
	if (place == NULL)
		place = make_place(limits, network);
	if (place == NULL) {
		*ret_is_counted = false;
		return LIMITS_FINE;
	}
	if (rules->connections_max > 0 && place->open_count >= rules->connections_max)
		return LIMITS_CONNECTIONS;
	uint64_t step_ns = rules->rate_max > 0 ? MINUTE_NS / rules->rate_max : 0;
	uint64_t filled_ns = place->filled_ns > now_ns ? place->filled_ns : now_ns;
	if (rules->rate_max > 0 && filled_ns + step_ns > now_ns + MINUTE_NS)
		return LIMITS_RATE;
	place->filled_ns = filled_ns + step_ns;
	place->open_count++;
	*ret_is_counted = true;
	return LIMITS_FINE;
}

void limits_leave(struct limits *limits, const struct dnsblv6_ip *ip)
{
	struct place *place = find(limits, network_of(&limits->rules, ip));
	if (place != NULL && place->open_count > 0)
		place->open_count--;
}

unsigned limits_held(const struct limits *limits, const struct dnsblv6_ip *ip)
{
	const struct place *place = find(limits, network_of(&limits->rules, ip));
	return place != NULL ? place->held_count : 0;
}

bool limits_may_hold(const struct limits *limits, const struct dnsblv6_ip *ip)
{
	const unsigned held_max = limits->rules.held_max;
	return held_max == 0 || limits_held(limits, ip) < held_max;
}

bool limits_hold(struct limits *limits, const struct dnsblv6_ip *ip)
{
	struct place *place = find(limits, network_of(&limits->rules, ip));
	if (!limits_may_hold(limits, ip))
		return false;
	if (place != NULL)
		place->held_count++;
	return true;
}

void limits_release(struct limits *limits, const struct dnsblv6_ip *ip)
{
	struct place *place = find(limits, network_of(&limits->rules, ip));
	if (place != NULL && place->held_count > 0)
		place->held_count--;
}
