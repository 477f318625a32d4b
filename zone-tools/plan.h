/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * plan.h - a listing, resolved: everything that is decided before a store is written.
 *
 * Flow: listing.h -> plan_make() -> guard.c looks at the counts -> builder.c
 *       writes. Test points and canaries (FORMAT.md) are put in here.
 *
 * A plan owns its memory; plan_deinit() takes a zeroed or half-made one.
 */

#include "zone-tools/ranges.h"
#include "zone-tools/resolve.h"

#ifdef __cplusplus
extern "C" {
#endif

struct plan_origin {
	struct pieces pieces; /* what the classic zone answers, with the test points */
	struct ranges ipv4;   /* units whose bit is set, with test points and canaries */
	struct ranges ipv6;
	uint32_t default_set;
	bool lists_ipv4; /* the list itself has entries of the family */
	bool lists_ipv6;
	bool lists_clear_point; /* the list names an address that must never be listed */
};

struct plan {
	struct plan_origin *origins; /* numbered as in the listing */
	size_t origin_count;
	struct set_pool sets;
	struct value_pool *pool; /* borrowed from the listing */
	/* Of all origins together, without test points and canaries: */
	uint64_t ipv4_count;  /* addresses */
	uint64_t ipv6_count;  /* /64s */
	uint64_t block_count; /* /25s and /57s */
};

/* DNSBLV6_OK or -ENOMEM. listing must outlive the plan. */
int plan_make(struct listing *listing, struct plan *ret_plan);
void plan_deinit(struct plan *plan);

#ifdef __cplusplus
}
#endif
