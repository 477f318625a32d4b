/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * tree.h - the owner names that say which units are listed, and back.
 *
 * Flow: ranges.h -> tree_walk() calls builder.c for every name of a list, in the order of the
 *       store's keys; contents.c gives them back to a tree_reading.
 *
 * A dotted name is a place in a tree whose levels are the borders of whole blocks (FORMAT.md 2.3).
 * Of a place that is listed in part each child that is listed has names. One of 65,536 children may
 * be written in another way: a wildcard lists all children but those that have names of their own.
 * That needs marks: names that say nothing themselves, and keep the wildcard, and denials beside it,
 * from what is not theirs.
 */

#include "zone-tools/plan/ranges.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tree_kind {
	TREE_BLOCK, /* its bitmap, or of a whole block its wildcard */
	TREE_MARK,  /* the name of the block itself: the wildcard above is not for it */
	TREE_END,   /* the last name below a block */
};

struct tree_name {
	struct dnsblv6_prefix block; /* one that dnsblv6_name_make() has a name for */
	enum tree_kind kind;
	struct dnsblv6_bitmap map; /* of TREE_BLOCK; whole blocks have a full one */
};

/* Relative to the list's origin. DNSBLV6_OK, or DNSBLV6_EPREFIX as dnsblv6_name_make(). */
int tree_name_make(enum dnsblv6_style style, const struct tree_name *name,
		   struct dnsblv6_labels *ret_labels);
/* Its record without signatures; ret_data has TREE_RECORD_MAX bytes. Returns its size. */
#define TREE_RECORD_MAX 64
size_t tree_name_encode(const struct tree_name *name, uint32_t ttl, uint8_t *ret_data);

typedef int (*tree_fn)(void *context, const struct tree_name *name);
/* Stops at the first call that does not return 0, and returns that. */
int tree_walk(const struct ranges *ranges, enum dnsblv6_style style, tree_fn fn, void *context);

/* The borders of whole blocks of a family as lengths of prefixes, the widest first. */
struct tree_borders {
	const unsigned *lengths;
	size_t count;
};
struct tree_borders tree_borders(bool is_ipv4);

/* Octets in the order of their labels: "0", "1", "10", "100", "101", ... */
enum { TREE_OCTETS = 256 };
void tree_fill_order(uint8_t *ret_octets);

/* ---- back ---- */

/* A whole block that is open: names below it take their part out of it. */
struct tree_open {
	struct dnsblv6_prefix block;
	struct ranges holes;
};

struct tree_reading {
	struct ranges *ranges; /* what is listed; of one family. Borrowed */
	enum dnsblv6_style style;
	struct tree_open open[4]; /* each inside the one before */
	unsigned open_count;
};

/* The block whose own name a dotted name is, or is next below. False for names of another kind. */
bool tree_place(const uint8_t *labels, size_t size, struct dnsblv6_prefix *ret_place);

/*
 * The next name of a list, relative to its origin, in the order of the keys; map is NULL where
 * there is no bitmap. Names that are no block's, or of the other family, are left out.
 * DNSBLV6_OK or -ENOMEM.
 */
int tree_read(struct tree_reading *reading, const uint8_t *labels, size_t size,
	      const struct dnsblv6_bitmap *map);
/* Behind the last, also after a failure; then ranges are normalised. */
int tree_end(struct tree_reading *reading);

#ifdef __cplusplus
}
#endif
