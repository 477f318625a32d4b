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
#include "zone-tools/plan/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What an origin lists in a part of the address space: dataset_sort() knows which there are. */
struct plan_part {
	struct pieces pieces; /* what the classic zone answers, with the test points */
	struct ranges ipv4;   /* units whose bit is set, with test points and canaries */
	struct ranges ipv6;
	uint32_t default_set;
	bool lists_ipv4; /* the list itself has entries of the family */
	bool lists_ipv6;
};

struct plan_origin {
	uint32_t default_set;
	bool lists_ipv4;
	bool lists_ipv6;
	uint64_t parts[PREFIXES_PARTS / 64]; /* a bit for each that lists something */
	bool has_segments;		     /* in IPv4: pieces with another set than the default */
};

/* What a list has, without test points and canaries. */
struct plan_counts {
	uint64_t ipv4;	      /* addresses */
	uint64_t ipv6;	      /* /64s */
	uint64_t blocks;      /* /25s and /57s */
	uint64_t names;	      /* domain names */
	bool has_clear_point; /* the list names an address that must never be listed */
	/* The line that does, borrowed; without a file where it is not known. */
	struct findings_place clear_point;
};

struct plan {
	struct plan_origin *origins; /* numbered as in the listing */
	size_t origin_count;
	struct listing *listing; /* borrowed; its datasets are sorted part by part */
	struct set_pool *sets;	 /* not embedded: what is a copy of the plan has the same */
	bool *is_used;		 /* of each set: by a piece, or as a default */
	size_t used_count;
	struct plan_counts counts; /* of all origins together */
	struct {
		size_t count;
		struct dnsblv6_addr addr;
	} most_values;		 /* of all listed addresses, and one that has so many */
	struct names_plan names; /* of domain names */
	struct pieces clients;	 /* of the acl, with a set for each */
};

/*
 * DNSBLV6_OK or -ENOMEM. listing must outlive the plan. What origins list is counted part by part, and not
 * kept: plan_load() makes a part again for everything that is done with it.
 */
int plan_make(struct listing *listing, struct plan *ret_plan);
/* One part of an origin, complete. ret_part is zeroed; end it with plan_part_deinit() either way. */
int plan_load(const struct plan *plan, uint16_t origin, unsigned part, struct plan_part *ret_part);
/* Does the format put test points or canaries into it, whatever is listed? */
bool plan_has_points(unsigned part);
/* Has the part of IPv4 a name at all? */
bool plan_has_names(const struct plan *plan, uint16_t origin, unsigned part);
/* The pieces of all parts. As resolve_origin(). */
int plan_load_pieces(const struct plan *plan, uint16_t origin, struct pieces *ret_pieces);
/* The names of one part, as tree_walk(). */
int plan_walk_part(const struct plan *plan, uint16_t origin, unsigned part,
		   enum dnsblv6_style style, tree_fn fn, void *context);
/* The names of an origin's blocks of one family, in the order of their keys: as tree_walk(). */
int plan_walk(const struct plan *plan, uint16_t origin, bool is_ipv4, enum dnsblv6_style style,
	      tree_fn fn, void *context);
/* Then its domain names, when it is known what else the zone has: as names_make(). */
int plan_add_names(struct plan *plan, struct listing *listing, const struct spec *spec,
		   struct findings *findings);
void plan_deinit(struct plan *plan);

/* ---- a part of an origin, or any prefix: for plan_make() and region.c ---- */

/*
 * All but names. Lists of several sub-zones may have more /64s together than there are, and more than a
 * number holds: a count stays at its greatest then.
 */
void plan_counts_add(struct plan_counts *counts, const struct plan_counts *more);

/*
 * From part->pieces: its ranges and what it lists, which is added to
 * *ret_counts. What the pieces say about canaries is removed.
 */
int plan_count(struct plan_part *part, struct plan_counts *ret_counts);
/* Before that, where a list has lost one: its test points inside a prefix, with the default set. */
int plan_add_testpoints(struct plan_part *part, struct dnsblv6_prefix inside);
/* After that: the test points and canaries inside a prefix join, with the default set. */
int plan_complete(struct plan_part *part, struct dnsblv6_prefix inside);
/* Takes a zeroed one. */
void plan_part_deinit(struct plan_part *part);

#ifdef __cplusplus
}
#endif
