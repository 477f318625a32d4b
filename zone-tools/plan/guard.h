/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * guard.h - refuses what would list the world, or half of it by mistake.
 *
 * Flow: the parsers ask guard_entry() about each line; build.c asks
 *       guard_rest() and guard_totals() about the result, before anything is written.
 */

#include "zone-tools/base/findings.h"

#include "lib/format/record.h"

#ifdef __cplusplus
extern "C" {
#endif

struct listing;
struct plan_counts;

/*
 * Why the listing (or exclusion) of first to last must not go unnoticed: static text, or NULL when
 * it is fine. Reserved space (RFC 6890: 0/8, 10/8, 127/8, ...) and contradictions to the test
 * points (RFC 5782) are reasons; the listed test points themselves are not. With allow_reserved an
 * entry inside a canary's block alone is one, since it could never be answered: guard_totals() then
 * looks at the test points.
 */
const char *guard_entry(struct dnsblv6_addr first, struct dnsblv6_addr last, bool is_exclusion,
			bool allow_reserved);

/* Does it reach into the unit of a test point that must be clear? */
bool guard_holds_clear_point(struct dnsblv6_addr first, struct dnsblv6_addr last);

/* Does a listing that guard_entry() allows lose a part to a canary, where no listing counts? */
bool guard_loses_part(struct dnsblv6_addr first, struct dnsblv6_addr last);

/* Changes of fewer units than this are never too large: a list may begin small. */
#define GUARD_SMALL_CHANGE 1000

/* Shares in percent. */
struct guard_limits {
	unsigned max_shrink_percent; /* of the units listed before */
	unsigned max_grow_percent;
	unsigned max_listed_percent; /* of all IPv4 addresses */
	uint64_t max_listed6;	     /* IPv6 networks of the size /32, which is a provider's */
};

/*
 * A share of IPv6 says nothing: all that was ever given to providers is far below one percent
 * of 2000::/3, some 400,000 /32s. Fifty thousand are less than a /16, the first group of an
 * address; a list of all data centres has seven thousand.
 */
#define GUARD_LISTED6_MAX    50000
#define GUARD_LIMITS_DEFAULT ((struct guard_limits){ 50, 200, 20, GUARD_LISTED6_MAX })

/*
 * Where exclusions have left nothing of all lists: adds a warning for each that has an entry. A zone
 * of fewer than GUARD_SMALL_CHANGE would become empty without a word.
 */
void guard_rest(const struct plan_counts *counts, const struct listing *listing,
		struct findings *findings);

/*
 * Adds a refusal for everything about the whole result that looks like an accident: a zone that
 * shrinks or grows by more than its share against before (NULL: there is none), that lists too much
 * of IPv4 or IPv6, that lists a test point which must be clear. store names the place of a change.
 */
void guard_totals(const struct plan_counts *counts, const struct dnsblv6_facts *before,
		  const char *store, const struct guard_limits *limits, struct findings *findings);

#ifdef __cplusplus
}
#endif
