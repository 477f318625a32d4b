/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * resolve.h - from entries, with all their overlaps, to pieces that have one answer each.
 *
 * Flow: listing.h -> resolve_origin() -> ranges.c (which units are listed) and
 *       builder.c (what the classic zone answers).
 *
 * Inside a dataset the longest prefix that holds an address decides; what
 * several entries of the very same prefix mean is the dataset's policy. An
 * address gets the values of all datasets of its origin (rbldnsd's rule).
 */

#include "zone-tools/base/listing.h"
#include "zone-tools/plan/sets.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Disjoint, ascending, IPv4 before IPv6, each with a set that is not empty;
 * neighbours of one set are one piece.
 */
struct pieces {
	struct dnsblv6_segment *items;
	size_t count;
	size_t capacity;
};

/*
 * The pieces of one origin in one part of the address space (dataset_sort()), which sorts that part of
 * its datasets. As resolve_origin(), which see.
 */
int resolve_part(struct listing *listing, uint16_t origin, unsigned part, struct set_pool *sets,
		 struct pieces *ret_pieces);
/*
 * The pieces of one origin. ret_pieces is zeroed or deinited before; on failure
 * (-ENOMEM) it may be half-filled: end it with pieces_deinit() either way.
 */
int resolve_origin(struct listing *listing, uint16_t origin, struct set_pool *sets,
		   struct pieces *ret_pieces);

/* Exclusions that no listed entry of their dataset holds. */
struct idle_exclusions {
	size_t count;
	struct dnsblv6_prefix one; /* of them, the last that was found */
};

/* Adds those of dataset. DNSBLV6_OK or -ENOMEM. */
int resolve_idle_exclusions(struct dataset *dataset, struct idle_exclusions *ret_idle);

/*
 * What listing->excepted has of one family, as changes that pieces_change() takes: PIECES_REMOVED
 * everywhere. resolve_origin() has made them already, but for clients (DNSBLV6_ORIGIN_ACL).
 */
int resolve_excepted(struct listing *listing, bool is_ipv4, struct pieces *ret_changes);

/* Behind the last piece, with which it is united if it may be. An empty set is left out. */
int pieces_append(struct pieces *pieces, struct dnsblv6_addr first, struct dnsblv6_addr last,
		  uint32_t set);
/* All of more behind the last piece. */
int pieces_append_all(struct pieces *pieces, const struct pieces *more);
/* An IPv6 piece without ::ffff:0:0/96: those addresses are IPv4, whatever a list says. */
int pieces_append_ipv6(struct pieces *pieces, const struct dnsblv6_segment *piece);
/* Of the first piece that ends at or behind addr; count when there is none. */
size_t pieces_index(const struct pieces *pieces, struct dnsblv6_addr addr);

/* Lists what addr's range first to last does not list yet. Keeps the order. */
int pieces_add_missing(struct pieces *pieces, struct dnsblv6_addr first, struct dnsblv6_addr last,
		       uint32_t set);
/* Lists nothing from first to last any more. */
int pieces_remove(struct pieces *pieces, struct dnsblv6_addr first, struct dnsblv6_addr last);
/*
 * pieces with changes made to them, both of one family: what a piece of changes has PIECES_REMOVED
 * as its set for is listed no more, what it has PIECES_ADDED for is listed with set unless it is
 * listed already. ret_result as in resolve_origin().
 */
#define PIECES_ADDED   1u
#define PIECES_REMOVED 2u
int pieces_change(const struct pieces *pieces, const struct pieces *changes, uint32_t set,
		  struct pieces *ret_result);
/*
 * Where the two, both of one family, do not have the same set: as sets, PIECES_LEFT where left
 * alone has one, PIECES_RIGHT, or PIECES_BOTH. ret_result as in resolve_origin().
 */
#define PIECES_LEFT  1u
#define PIECES_RIGHT 2u
#define PIECES_BOTH  3u
int pieces_compare(const struct pieces *left, const struct pieces *right,
		   struct pieces *ret_result);
/* The set of addr, DNSBLV6_SET_NONE when no piece holds it. */
uint32_t pieces_find(const struct pieces *pieces, struct dnsblv6_addr addr);

void pieces_deinit(struct pieces *pieces);

#ifdef __cplusplus
}
#endif
