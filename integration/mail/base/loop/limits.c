/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/loop/limits.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/format/address.h"

#define MINUTE_NS UINT64_C(60000000000)
#define SETS_MIN  16
#define SCOPES	  2 /* of an address: its network, and its site */

struct limits_place {
	uint64_t network;   /* 0: of none */
	uint64_t filled_ns; /* when its bucket is full again: GCRA's theoretical arrival time */
	uint32_t open_count;
	uint32_t held_count;
};

struct limits {
	struct limits_rules rules;
	uint64_t seed;
	size_t set_count; /* a power of two */
	struct limits_place *places;
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
	limits->places = calloc(limits->set_count, LIMITS_WAYS * sizeof(struct limits_place));
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

/* Not 0 for any address: IPv4 is apart from ::/31, where no client is. */
static uint64_t network_of(const struct limits_rules *rules, const struct dnsblv6_ip *ip)
{
	struct dnsblv6_addr addr = dnsblv6_addr_from_bytes(ip->bytes);
	if (dnsblv6_addr_is_ipv4(addr))
		return cut(dnsblv6_addr_ipv4(addr), 32, rules->prefix_ipv4) | UINT64_C(1) << 32;
	uint64_t network = cut(addr.hi, 64, rules->prefix_ipv6);
	/* Of longer ones not the number itself, but one that no two have by chance. */
	if (rules->prefix_ipv6 > 64)
		network ^= cut(addr.lo, 64, rules->prefix_ipv6 - 64) * UINT64_C(0x9e3779b97f4a7c15);
	return network != 0 ? network : UINT64_C(1) << 33;
}

/* A product, so that no site is a network by chance. */
static uint64_t site_of(const struct limits_rules *rules, struct dnsblv6_addr addr)
{
	uint64_t site = cut(addr.hi, 64, rules->prefix_ipv6_site) * UINT64_C(0x9e3779b97f4a7c15);
	return site != 0 ? site : UINT64_C(1) << 34;
}

/* How many there are: one, or two where the address has a site. */
static unsigned scopes_of(const struct limits_rules *rules, const struct dnsblv6_ip *ip,
			  uint64_t ret_networks[SCOPES])
{
	struct dnsblv6_addr addr = dnsblv6_addr_from_bytes(ip->bytes);
	ret_networks[0] = network_of(rules, ip);
	if (rules->prefix_ipv6_site == 0 || rules->prefix_ipv6_site >= rules->prefix_ipv6 ||
	    dnsblv6_addr_is_ipv4(addr))
		return 1;
	ret_networks[1] = site_of(rules, addr);
	return 2;
}

static uint64_t times(const struct limits_rules *rules, unsigned scope, unsigned max)
{
	return scope == 0 ? max : (uint64_t)max * rules->site_multiple;
}

/* The finalizer of MurmurHash3 over both: no client knows the seed. */
static struct limits_place *set_of(const struct limits *limits, uint64_t network)
{
	uint64_t hash = network ^ limits->seed;
	hash = (hash ^ (hash >> 33)) * UINT64_C(0xff51afd7ed558ccd);
	hash = (hash ^ (hash >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53) + limits->seed;
	hash ^= hash >> 29;
	return &limits->places[(hash & (limits->set_count - 1)) * LIMITS_WAYS];
}

static struct limits_place *find(const struct limits *limits, uint64_t network)
{
	struct limits_place *set = set_of(limits, network);
	for (unsigned i = 0; i < LIMITS_WAYS; i++)
		if (set[i].network == network)
			return &set[i];
	return NULL;
}

/* Of those without a connection the one that has been quiet longest; NULL when all have one. */
static struct limits_place *make_place(const struct limits *limits, uint64_t network)
{
	struct limits_place *set = set_of(limits, network);
	struct limits_place *best = NULL;
	for (unsigned i = 0; i < LIMITS_WAYS; i++)
		if (set[i].open_count == 0 && (best == NULL || set[i].filled_ns < best->filled_ns))
			best = &set[i];
	if (best != NULL)
		*best = (struct limits_place){ .network = network };
	return best;
}

/* With a connection more, so that another scope does not get the place. NULL: there is none. */
static struct limits_place *reserve(const struct limits *limits, uint64_t network)
{
	struct limits_place *place = find(limits, network);
	if (place == NULL)
		place = make_place(limits, network);
	if (place != NULL)
		place->open_count++;
	return place;
}

static uint64_t step_of(const struct limits_rules *rules, unsigned scope)
{
	return rules->rate_max > 0 ? MINUTE_NS / times(rules, scope, rules->rate_max) : 0;
}

/* May a place that is reserved have this connection? */
static enum limits_answer judge(const struct limits_rules *rules, const struct limits_place *place,
				unsigned scope, uint64_t now_ns)
{
	const uint64_t connections_max = times(rules, scope, rules->connections_max);
	if (connections_max > 0 && place->open_count > connections_max)
		return LIMITS_CONNECTIONS;
	uint64_t filled_ns = place->filled_ns > now_ns ? place->filled_ns : now_ns;
	if (rules->rate_max > 0 && filled_ns + step_of(rules, scope) > now_ns + MINUTE_NS)
		return LIMITS_RATE;
	return LIMITS_FINE;
}

static void fill(const struct limits_rules *rules, struct limits_place *place, unsigned scope,
		 uint64_t now_ns)
{
	if (place->filled_ns < now_ns)
		place->filled_ns = now_ns;
	place->filled_ns += step_of(rules, scope);
}

enum limits_answer limits_enter(struct limits *limits, const struct dnsblv6_ip *ip, uint64_t now_ms,
				bool *ret_is_counted)
{
	const struct limits_rules *rules = &limits->rules;
	const uint64_t now_ns = now_ms * 1000000;
	uint64_t networks[SCOPES];
	struct limits_place *places[SCOPES];
	enum limits_answer answer = LIMITS_FINE;
	const unsigned count = scopes_of(rules, ip, networks);
	bool is_counted = true;
	for (unsigned i = 0; i < count; i++) {
		places[i] = reserve(limits, networks[i]);
		is_counted = is_counted && places[i] != NULL;
		if (places[i] != NULL && answer == LIMITS_FINE)
			answer = judge(rules, places[i], i, now_ns);
	}
	is_counted = is_counted && answer == LIMITS_FINE;
	for (unsigned i = 0; i < count; i++) {
		if (is_counted)
			fill(rules, places[i], i, now_ns);
		else if (places[i] != NULL)
			places[i]->open_count--;
	}
	if (answer == LIMITS_FINE)
		*ret_is_counted = is_counted;
	return answer;
}

bool limits_may_enter(const struct limits *limits, const struct dnsblv6_ip *ip, uint64_t now_ms)
{
	uint64_t networks[SCOPES];
	const unsigned count = scopes_of(&limits->rules, ip, networks);
	for (unsigned i = 0; i < count; i++) {
		const struct limits_place *place = find(limits, networks[i]);
		if (place == NULL)
			continue;
		struct limits_place next = *place;
		next.open_count++;
		if (judge(&limits->rules, &next, i, now_ms * 1000000) != LIMITS_FINE)
			return false;
	}
	return true;
}

uint64_t limits_network(const struct limits *limits, const struct dnsblv6_ip *ip)
{
	return network_of(&limits->rules, ip);
}

void limits_leave(struct limits *limits, const struct dnsblv6_ip *ip)
{
	uint64_t networks[SCOPES];
	const unsigned count = scopes_of(&limits->rules, ip, networks);
	for (unsigned i = 0; i < count; i++) {
		struct limits_place *place = find(limits, networks[i]);
		if (place != NULL && place->open_count > 0)
			place->open_count--;
	}
}

unsigned limits_held(const struct limits *limits, const struct dnsblv6_ip *ip)
{
	const struct limits_place *place = find(limits, network_of(&limits->rules, ip));
	return place != NULL ? place->held_count : 0;
}

bool limits_may_hold(const struct limits *limits, const struct dnsblv6_ip *ip)
{
	const struct limits_rules *rules = &limits->rules;
	uint64_t networks[SCOPES];
	const unsigned count = scopes_of(rules, ip, networks);
	for (unsigned i = 0; i < count && rules->held_max > 0; i++) {
		const struct limits_place *place = find(limits, networks[i]);
		if (place != NULL && place->held_count >= times(rules, i, rules->held_max))
			return false;
	}
	return true;
}

bool limits_hold(struct limits *limits, const struct dnsblv6_ip *ip)
{
	uint64_t networks[SCOPES];
	const unsigned count = scopes_of(&limits->rules, ip, networks);
	if (!limits_may_hold(limits, ip))
		return false;
	for (unsigned i = 0; i < count; i++) {
		struct limits_place *place = find(limits, networks[i]);
		if (place != NULL)
			place->held_count++;
	}
	return true;
}

void limits_release(struct limits *limits, const struct dnsblv6_ip *ip)
{
	uint64_t networks[SCOPES];
	const unsigned count = scopes_of(&limits->rules, ip, networks);
	for (unsigned i = 0; i < count; i++) {
		struct limits_place *place = find(limits, networks[i]);
		if (place != NULL && place->held_count > 0)
			place->held_count--;
	}
}
