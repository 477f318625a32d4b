/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * compare.h - do lists and a store hold the same?
 *
 * Flow: check.c has the plan of the lists and a reader of the store -> compare_store() ->
 *       difference.h prints what one of them has alone.
 *
 * Addresses and clients are compared with their values, domain names with their RRs. What a store
 * holds by itself (test points, canaries) does not count.
 */

#include "zone-tools/base/findings.h"
#include "zone-tools/plan/plan.h"

#include "lib/lmdb/reader.h"

#ifdef __cplusplus
extern "C" {
#endif

struct compare_job {
	struct reader *reader; /* between reader_begin() and reader_end() */
	const char *store;     /* names the place */
	const struct listing *listing;
	const struct plan *plan; /* of listing, with its names */
	uint64_t lines_max;	 /* of the difference */
	struct findings *findings;
};

/*
 * Prints the difference to the stream of findings, "+" for what the lists have alone, "-" for what
 * the store has, "~" for other values, and adds a refusal when there is one. -ENOMEM, or a status
 * of lib/store or lib/format.
 */
int compare_store(const struct compare_job *job);

#ifdef __cplusplus
}
#endif
