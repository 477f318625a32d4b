/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * region.h - the parts of a zone that an update touches, before and after.
 *
 * Flow: update.c's changes -> regions_make() reads what the store lists there
 *       and changes it -> updater.c writes their names and segments.
 *
 * A region is the run of names of one prefix: a /24 or /56, or a wider block
 * where the change reaches further, where a wildcard above lists parts of it now, or
 * where one may: when it becomes whole. Whether the block above has a wildcard depends on its
 * whole parts alone (tree.h), so no other change moves names of others. So what an update costs
 * depends on what it changes, and not on the zone around it. A zone of classic names is one region, which is
 * all of it.
 */

#include "zone-tools/reading/contents.h"
#include "zone-tools/reading/difference.h"
#include "zone-tools/plan/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

struct region {
	struct dnsblv6_prefix prefix;
	uint8_t *start; /* what all its keys begin with; ours. Not of a zone of classic names */
	size_t start_size;
	struct plan_part after;	  /* complete, with test points and canaries */
	bool is_changed;	  /* another bit, or another value */
	struct pieces difference; /* as pieces_compare() has it: left is after */
};

/* Ascending addresses; disjoint. */
struct regions {
	struct region *items;
	size_t count;
	size_t capacity;
	struct plan_counts before; /* of all regions together */
	struct plan_counts after;
};

struct regions_job {
	struct writer_walk *records; /* of the version before */
	struct writer_walk *segments;
	const struct dnsblv6_facts *facts;
	const struct contents_origin *origin;
	const struct pieces *changes; /* as pieces_change() takes them, of both families */
	uint32_t set;		      /* of what they add */
};

/* Where the names of a region begin, and the key before which they end. */
struct dnsblv6_key region_start(const struct region *region);
struct dnsblv6_key region_end(const struct region *region);

/* Prints the lines of the difference; origin is that of the list. */
void region_print(const struct region *region, const struct dnsblv6_labels *origin,
		  struct difference *difference);

/*
 * DNSBLV6_OK, -ENOMEM or a status of lib/format or lib/store. End ret_regions, zeroed or deinited
 * before, with regions_deinit() either way.
 */
int regions_make(const struct regions_job *job, struct regions *ret_regions);
void regions_deinit(struct regions *regions);

#ifdef __cplusplus
}
#endif
