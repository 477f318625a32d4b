/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * compare.h - do lists and a store, or two stores, hold the same?
 *
 * Flow: check.c and build.c have the plan of the lists and a store, diff.c has two stores ->
 *       compare_store() -> difference.h prints what one of them has alone.
 *
 * Addresses and clients are compared with their values, domain names with their RRs. What a store
 * holds by itself (test points, canaries) does not count.
 */

#include "zone-tools/base/findings.h"
#include "zone-tools/plan/plan.h"

#include <stdio.h>

struct compare_job {
	const char *store; /* whole, as verify.h has found */
	/* What it is compared with: a later store, or with NULL lists. */
	const char *later;
	const struct listing *listing;
	const struct plan *plan; /* of listing, with its names */
	uint64_t lines_max;	 /* of the difference */
	FILE *stream;
};

struct compare_result {
	uint64_t prefix_count; /* lines about prefixes, with those that were not printed */
	uint64_t added_count;  /* of these, prefixes that the store has not */
	uint64_t removed_count;
	uint64_t name_count; /* lines about domain names */
	uint64_t names_listed;
	uint64_t names_stored;
};

/*
 * Prints the difference, "+" for what the lists (or the later store) have alone, "-" for what the
 * store has, "~" for other values. -ENOMEM, or a status of lib/store or lib/format.
 */
int compare_store(const struct compare_job *job, struct compare_result *ret_result);
/* Is there none? */
bool compare_is_same(const struct compare_result *result);
