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

#include "zone-tools/names/names.h"
#include "zone-tools/plan/ranges.h"
#include "zone-tools/plan/resolve.h"

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
};

/* What a list has, without test points and canaries. */
struct plan_counts {
	uint64_t ipv4;	      /* addresses */
	uint64_t ipv6;	      /* /64s */
	uint64_t blocks;      /* /25s and /57s */
	uint64_t names;	      /* domain names */
	bool has_clear_point; /* the list names an address that must never be listed */
};

struct plan {
	struct plan_origin *origins; /* numbered as in the listing */
	size_t origin_count;
	struct set_pool sets;
	struct value_pool *pool;   /* borrowed from the listing */
	struct plan_counts counts; /* of all origins together */
	struct names_plan names;   /* of domain names */
	struct pieces clients;	   /* of the acl, with a set for each */
};

/* DNSBLV6_OK or -ENOMEM. listing must outlive the plan. */
int plan_make(struct listing *listing, struct plan *ret_plan);
/* Then its domain names, when it is known what else the zone has: as names_make(). */
int plan_add_names(struct plan *plan, struct listing *listing, const struct spec *spec,
		   struct findings *findings);
void plan_deinit(struct plan *plan);

/* ---- an origin, or a part of one: for plan_make() and region.c ---- */

/*
 * From origin->pieces: its ranges and what it lists, which is added to
 * *ret_counts. What the pieces say about canaries is removed.
 */
int plan_count(struct plan_origin *origin, struct plan_counts *ret_counts);
/* Before that, where a list has lost one: its test points inside a prefix, with the default set. */
int plan_add_testpoints(struct plan_origin *origin, struct dnsblv6_prefix inside);
/* After that: the test points and canaries inside a prefix join, with the default set. */
int plan_complete(struct plan_origin *origin, struct dnsblv6_prefix inside);
/* Takes a zeroed one. */
void plan_origin_deinit(struct plan_origin *origin);

#ifdef __cplusplus
}
#endif
