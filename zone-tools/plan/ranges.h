/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * ranges.h - which units are listed, and the blocks that say so.
 *
 * Flow: resolve.c's pieces -> ranges_add_pieces() rounds them out to units ->
 *       tree_walk() calls builder.c for every owner name of the zone.
 *
 * A range is a run of listed units of one family: IPv4 addresses by their 32
 * bits, IPv6 /64s by their 64. Values do not matter here.
 */

#include "lib/format/bitmap.h"
#include "lib/format/name.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pieces;

struct range {
	uint64_t first;
	uint64_t last;
};

struct ranges {
	struct range *items; /* disjoint, ascending, neighbours merged: see ranges_normalise() */
	size_t count;
	size_t capacity;
	bool is_ipv4;
};

void ranges_deinit(struct ranges *ranges);

/* DNSBLV6_OK or -ENOMEM. In any order; ranges_normalise() before anything else is asked. */
int ranges_add(struct ranges *ranges, uint64_t first, uint64_t last);
/* The units of ranges->is_ipv4's family that pieces touch. */
int ranges_add_pieces(struct ranges *ranges, const struct pieces *pieces);
void ranges_normalise(struct ranges *ranges);

/* Adds the units of left that right has not, ascending. Both are normalised, of ret's family. */
int ranges_add_difference(struct ranges *ret, const struct ranges *left,
			  const struct ranges *right);
/* The units of from that lie in first to last. Both are of one family. */
int ranges_add_part(struct ranges *ranges, const struct ranges *from, uint64_t first,
		    uint64_t last);
/* The units of block, /25 or wider, whose bits are set: whole blocks have a full map. */
int ranges_add_block(struct ranges *ranges, struct dnsblv6_prefix block,
		     const struct dnsblv6_bitmap *map);

/* The first address of unit first, and the last of unit last. */
struct dnsblv6_addr ranges_first_addr(const struct ranges *ranges, uint64_t first);
struct dnsblv6_addr ranges_last_addr(const struct ranges *ranges, uint64_t last);

/* UINT64_MAX for all of IPv6, which has one more. */
uint64_t ranges_unit_count(const struct ranges *ranges);
/* /25s or /57s with at least one listed unit: the records of flat style. */
uint64_t ranges_block_count(const struct ranges *ranges);

#ifdef __cplusplus
}
#endif
