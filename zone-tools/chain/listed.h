/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * listed.h - what a store says of single addresses, beside the records: their values, and where
 *            these are of clients, what those may do.
 *
 * Flow: builder.c -> listed_put() -> plan/segmenter.h -> lib/lmdb/writer.h.
 *       updater.c -> listed_find_set(), listed_add_set(): what is added has a value.
 */

#include "zone-tools/plan/plan.h"
#include "zone-tools/records/recorder.h"

#include "lib/lmdb/writer.h"

/*
 * The segments, the sets of values that these name, and the sub-zones, into tables that are empty.
 * A status of lib/store or lib/format, CHAIN_EVALUES or -ENOMEM.
 */
int listed_put(struct writer *writer, const struct plan *plan, const struct listing *listing,
	       enum dnsblv6_style style);

/* The values of a set; none of DNSBLV6_SET_NONE. At most DNSBLV6_SET_VALUES_MAX, else CHAIN_EVALUES. */
int listed_values(const struct plan *plan, const struct listing *listing, uint32_t set,
		  struct dnsblv6_value *ret_values, size_t *ret_count);

/*
 * The set of a store that has value alone; where there is none, a number for it, and then it is to be added.
 */
int listed_find_set(struct writer *writer, const struct dnsblv6_value *value, uint32_t *ret_set,
		    bool *ret_is_new);
int listed_add_set(struct writer *writer, struct recorder *recorder, uint32_t set,
		   const struct dnsblv6_value *value);
/* As listed_values(), of a set of the store, from which they are borrowed until the transaction changes it. */
int listed_get_values(struct writer *writer, uint32_t set, struct dnsblv6_value *ret_values,
		      size_t *ret_count);
