/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * prefixes.h - IPv4 prefixes with a number each, in eight bytes: lists of a hundred million.
 *
 * Flow: listing.c adds what parsers read -> resolve.c takes one part after the other, sorted.
 *
 * A part is a /8. Its prefixes are kept in runs that grow, none of which is ever copied; so memory is
 * that of the prefixes, and of one part more while that is sorted. A prefix wider than a
 * /8 is in every part that it reaches.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PREFIXES_PARTS = 256, PREFIXES_PART_BITS = 24 };

/*
 * The first address below its /8, the length, and the number: in this order, from the top. So they sort
 * by address, and wide before narrow.
 */
enum { PREFIXES_LENGTH_SHIFT = 32, PREFIXES_FIRST_SHIFT = 40 };

static inline uint32_t prefixes_number(uint64_t packed)
{
	return (uint32_t)packed;
}

static inline unsigned prefixes_length(uint64_t packed)
{
	return (unsigned)(packed >> PREFIXES_LENGTH_SHIFT & 0xff);
}

/* Of a prefix that is wider than its part: where the part begins. */
static inline uint32_t prefixes_first(unsigned part, uint64_t packed)
{
	return part << PREFIXES_PART_BITS | (uint32_t)(packed >> PREFIXES_FIRST_SHIFT);
}

struct prefixes_run;

struct prefixes_part {
	struct prefixes_run *first;
	struct prefixes_run *last;
	size_t count;
	bool is_sorted;
};

/* All zero at first. */
struct prefixes {
	struct prefixes_part *parts; /* PREFIXES_PARTS, or NULL when there is none yet */
};

void prefixes_deinit(struct prefixes *prefixes);

/* length is 0 to 32; bits below it are zero. 0 or -ENOMEM. */
int prefixes_add(struct prefixes *prefixes, uint32_t first, unsigned length, uint32_t number);

/* Sorts a part; those of one prefix stay in the order in which they came. 0 or -ENOMEM. */
int prefixes_sort(struct prefixes *prefixes, unsigned part);

/* Those of a part, as they are. All zero but prefixes and part at first. */
struct prefixes_walk {
	const struct prefixes *prefixes;
	unsigned part;
	const struct prefixes_run *run;
	size_t index;
	bool is_begun;
};
bool prefixes_next(struct prefixes_walk *walk, uint64_t *ret_packed);

/* Number n becomes numbers[n], but for those that are spared. */
void prefixes_renumber(struct prefixes *prefixes, const uint32_t *numbers, uint32_t spared);

#ifdef __cplusplus
}
#endif
