/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * listed.h - what a store says of single addresses, beside the records: their values, and where
 *            these are of clients, what those may do.
 *
 * Flow: builder.c -> listed_put() -> plan/segmenter.h -> lib/lmdb/writer.h.
 */

#include "zone-tools/plan/plan.h"

#include "lib/lmdb/writer.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The segments, the sets of values that these name, and the sub-zones, into tables that are empty.
 * A status of lib/store or lib/format, CHAIN_EVALUES or -ENOMEM.
 */
int listed_put(struct writer *writer, const struct plan *plan, const struct listing *listing,
	       enum dnsblv6_style style);

/* The values of a set; none of DNSBLV6_SET_NONE. At most DNSBLV6_SET_VALUES_MAX, else CHAIN_EVALUES. */
int listed_values(const struct plan *plan, const struct listing *listing, uint32_t set,
		  struct dnsblv6_value *ret_values, size_t *ret_count);

#ifdef __cplusplus
}
#endif
