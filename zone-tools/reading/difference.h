/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * difference.h - how two lists differ, in lines of one prefix each.
 *
 * Flow: history.c compares versions of a store, compare.c a store and lists -> difference_print().
 *
 *       + 192.0.2.7
 *       - 198.51.100.0/24<TAB>sub-zone
 */

#include "lib/format/record.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct difference {
	FILE *stream;
	uint64_t limit; /* of lines */
	uint64_t count; /* of lines, with those that were not printed */
};

/* One line for each prefix of the range, which is of one family. */
void difference_print(struct difference *difference, char sign, struct dnsblv6_addr first,
		      struct dnsblv6_addr last, const struct dnsblv6_labels *origin);
/* "... 30 more (--all prints them)", when there are. */
void difference_end(const struct difference *difference);

#ifdef __cplusplus
}
#endif
