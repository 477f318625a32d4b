/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/plan/guard.h"

#include "zone-tools/plan/plan.h"

#include "lib/format/wellknown.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- entries ---- */

/* ::ffff:a.b.c.d: a static initialiser takes no function call. */
#define IPV4(a, b, c, d)                                                                           \
	{                                                                                          \
		0, 0xffffull << 32 | (a) << 24 | (b) << 16 | (c) << 8 | (d)                        \
	}

/*
 * RFC 6890 and the multicast registries: no mail comes from there. Documentation
 * prefixes are left out: examples and tests live in them.
 */
static const struct reserved {
	struct dnsblv6_addr first;
	uint8_t prefix_len; /* in the mapped space */
	const char *reason;
} reserved_space[] = {
	{ IPV4(0ull, 0, 0, 0), 104, "lists 0.0.0.0/8, this network" },
	{ IPV4(10ull, 0, 0, 0), 104, "lists 10.0.0.0/8, private space" },
	{ IPV4(100ull, 64, 0, 0), 106, "lists 100.64.0.0/10, shared space" },
	{ IPV4(127ull, 0, 0, 0), 104, "lists 127.0.0.0/8, loopback" },
	{ IPV4(169ull, 254, 0, 0), 112, "lists 169.254.0.0/16, link-local" },
	{ IPV4(172ull, 16, 0, 0), 108, "lists 172.16.0.0/12, private space" },
	{ IPV4(192ull, 168, 0, 0), 112, "lists 192.168.0.0/16, private space" },
	{ IPV4(224ull, 0, 0, 0), 100, "lists 224.0.0.0/4, multicast" },
	{ IPV4(240ull, 0, 0, 0), 100, "lists 240.0.0.0/4, reserved" },
	{ { 0x0, 0 }, 8, "lists ::/8, unspecified, loopback and mapped addresses" },
	{ { 0x64ff9b00000000, 0 }, 96, "lists 64:ff9b::/96, translated IPv4" },
	{ { 0xfc00000000000000, 0 }, 7, "lists fc00::/7, private space" },
	{ { 0xfe80000000000000, 0 }, 10, "lists fe80::/10, link-local" },
	{ { 0xff00000000000000, 0 }, 8, "lists ff00::/8, multicast" },
};

/*
 * A list may have a hundred million lines, nearly all of them far from everything that matters here:
 * IPv4 inside a /8 that has no reserved space, test point or canary in it.
 */
static bool is_ordinary(struct dnsblv6_addr first, struct dnsblv6_addr last)
{
	static const uint8_t special[] = { 0, 10, 100, 127, 169, 172, 192 };
	if (!dnsblv6_addr_is_ipv4(first) || !dnsblv6_addr_is_ipv4(last))
		return false;
	uint32_t octet = dnsblv6_addr_ipv4(first) >> 24;
	return octet == dnsblv6_addr_ipv4(last) >> 24 && octet < 224 &&
	       memchr(special, (int)octet, sizeof(special)) == NULL;
}

static bool overlaps(struct dnsblv6_prefix prefix, struct dnsblv6_addr first,
		     struct dnsblv6_addr last)
{
	return dnsblv6_prefix_is_ipv4(prefix) == dnsblv6_addr_is_ipv4(first) &&
	       dnsblv6_addr_compare(first, dnsblv6_prefix_last(prefix)) <= 0 &&
	       dnsblv6_addr_compare(prefix.first, last) <= 0;
}

/* Does the range touch the unit of a test point that has to be listed, or else clear? */
static bool holds_point(struct dnsblv6_addr first, struct dnsblv6_addr last, bool is_listed)
{
	for (size_t i = 0; i < DNSBLV6_TESTPOINT_COUNT; i++) {
		const struct dnsblv6_testpoint *point = dnsblv6_testpoint_get(i);
		if (point->is_listed == is_listed &&
		    overlaps(dnsblv6_unit_of(point->addr), first, last))
			return true;
	}
	return false;
}

bool guard_holds_clear_point(struct dnsblv6_addr first, struct dnsblv6_addr last)
{
	return !is_ordinary(first, last) && holds_point(first, last, false);
}

/* Exactly a test point that is listed anyway: many lists carry 127.0.0.2 themselves. */
static bool is_listed_point(struct dnsblv6_addr first, struct dnsblv6_addr last)
{
	return dnsblv6_addr_compare(first, last) == 0 && holds_point(first, last, true);
}

bool guard_loses_part(struct dnsblv6_addr first, struct dnsblv6_addr last)
{
	for (size_t i = 0; !is_ordinary(first, last) && i < DNSBLV6_CANARY_COUNT; i++) {
		if (overlaps(dnsblv6_block_of(dnsblv6_canary_get(i)->block), first, last))
			return true;
	}
	return false;
}

static bool is_inside_canary(struct dnsblv6_addr first, struct dnsblv6_addr last)
{
	struct dnsblv6_prefix block = dnsblv6_block_of(first);
	return dnsblv6_addr_is_ipv4(first) && guard_loses_part(first, first) &&
	       dnsblv6_prefix_contains(block, last);
}

const char *guard_entry(struct dnsblv6_addr first, struct dnsblv6_addr last, bool is_exclusion,
			bool allow_reserved)
{
	if (is_ordinary(first, last))
		return NULL;
	if (allow_reserved && !is_exclusion && is_inside_canary(first, last))
		return "lies in a canary's block, where no listing counts (127.0.1.0/25 to "
		       "127.0.5.0/25)";
	if (allow_reserved)
		return NULL;
	if (is_exclusion)
		return holds_point(first, last, true)
			       ? "excludes a test point that must be listed (RFC 5782)"
			       : NULL;
	if (is_listed_point(first, last))
		return NULL;
	for (size_t i = 0; i < sizeof(reserved_space) / sizeof(reserved_space[0]); i++) {
		struct dnsblv6_prefix prefix = { reserved_space[i].first,
						 reserved_space[i].prefix_len };
		if (overlaps(prefix, first, last))
			return reserved_space[i].reason;
	}
	if (holds_point(first, last, false))
		return "lists a test point that must not be listed (RFC 5782)";
	return NULL;
}

/* ---- totals ---- */

static double share(uint64_t part, uint64_t whole)
{
	return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

static void refuse(struct findings *findings, const char *file, const char *what,
		   const char *reason)
{
	struct findings_place place = { file, 0 };
	findings_add(findings, FINDING_REFUSAL, place, what, NULL, 0, reason);
}

static void check_change(const struct guard_limits *limits, const char *store, const char *unit,
			 uint64_t before, uint64_t now, struct findings *findings)
{
	char what[160];
	char reason[160];
	uint64_t change = now > before ? now - before : before - now;
	bool is_too_small = now < before && share(change, before) > limits->max_shrink_percent;
	bool is_too_large =
		now > before && before > 0 && share(change, before) > limits->max_grow_percent;

	if (change < GUARD_SMALL_CHANGE || (!is_too_small && !is_too_large))
		return;
	snprintf(what, sizeof(what), "zone would %s too much, %s: before=%" PRIu64 " now=%" PRIu64,
		 is_too_small ? "shrink" : "grow", unit, before, now);
	snprintf(reason, sizeof(reason), "%.1f%%; --max-%s %u permits %u%%", share(change, before),
		 is_too_small ? "shrink" : "grow",
		 is_too_small ? limits->max_shrink_percent : limits->max_grow_percent,
		 is_too_small ? limits->max_shrink_percent : limits->max_grow_percent);
	refuse(findings, store, what, reason);
}

static void check_world(const struct guard_limits *limits, const struct plan_counts *counts,
			struct findings *findings)
{
	char what[120];
	char reason[120];
	double listed = share(counts->ipv4, (uint64_t)1 << 32);
	if (listed <= limits->max_listed_percent)
		return;
	snprintf(what, sizeof(what), "zone would list too much of IPv4, addresses=%" PRIu64,
		 counts->ipv4);
	snprintf(reason, sizeof(reason), "%.1f%%; --max-listed %u permits %u%%", listed,
		 limits->max_listed_percent, limits->max_listed_percent);
	refuse(findings, NULL, what, reason);
}

/* Counted in /64s. */
static void check_world6(const struct guard_limits *limits, const struct plan_counts *counts,
			 struct findings *findings)
{
	char what[120];
	char reason[160];
	uint64_t networks = counts->ipv6 >> 32;
	if (networks <= limits->max_listed6)
		return;
	snprintf(what, sizeof(what), "zone would list too much of IPv6, /64s=%" PRIu64,
		 counts->ipv6);
	snprintf(reason, sizeof(reason),
		 "as many as %" PRIu64 " /32s; --max-listed6 %" PRIu64 " permits %" PRIu64,
		 networks, limits->max_listed6, limits->max_listed6);
	refuse(findings, NULL, what, reason);
}

static void check_points(const struct plan_counts *counts, struct findings *findings)
{
	if (counts->has_clear_point)
		findings_add(findings, FINDING_REFUSAL, counts->clear_point,
			     "zone would list a test point", NULL, 0,
			     "127.0.0.1 and 2001:db8:7f00:1::/64 must not be listed (RFC 5782); "
			     "exclude them with !");
}

static bool lists_something(const struct dataset *dataset)
{
	struct dataset_walk walk = dataset_walk_all(dataset);
	struct entry entry;
	bool is_acl = dataset->origin_count > 0 && dataset->origins[0] == DNSBLV6_ORIGIN_ACL;
	for (size_t i = 0; i < dataset->name_count; i++) {
		if (dataset->names[i].value != ENTRY_EXCLUDED)
			return true;
	}
	while (!is_acl && dataset_next(&walk, &entry)) {
		if (entry.value != ENTRY_EXCLUDED)
			return true;
	}
	return false;
}

void guard_rest(const struct plan_counts *counts, const struct listing *listing,
		struct findings *findings)
{
	if (counts->ipv4 > 0 || counts->ipv6 > 0 || counts->names > 0)
		return;
	for (size_t i = 0; i < listing->dataset_count; i++) {
		const struct dataset *dataset = &listing->datasets[i];
		struct findings_place place = { dataset->list, 0 };
		if (lists_something(dataset))
			findings_add(findings, FINDING_WARNING, place,
				     "nothing is left of the list", NULL, 0,
				     "all of it is excluded, by ! or --except");
	}
}

void guard_totals(const struct plan_counts *counts, const struct dnsblv6_facts *before,
		  const char *store, const struct guard_limits *limits, struct findings *findings)
{
	check_world(limits, counts, findings);
	check_world6(limits, counts, findings);
	check_points(counts, findings);
	if (before == NULL)
		return;
	check_change(limits, store, "IPv4 addresses", before->ipv4_count, counts->ipv4, findings);
	check_change(limits, store, "IPv6 /64s", before->ipv6_count, counts->ipv6, findings);
	check_change(limits, store, "names", before->name_count, counts->names, findings);
}
