/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * past.h - what a list had, or has, around names that have changed.
 *
 * Flow: versions.h -> past_region() finds how far a dotted name reaches, past_read() what was
 *       listed there -> history.c prints the difference of two versions.
 *
 * A name alone does not say what was listed before it came: a wildcard above may have listed all
 * of it (FORMAT.md 2.3). So whole regions are read, which no wildcard above reaches into.
 */

#include "zone-tools/plan/ranges.h"
#include "zone-tools/reading/contents.h"
#include "zone-tools/reading/versions.h"

/* A version of one list in dotted names; all is borrowed. */
struct past {
	struct reader *reader;
	const struct contents_origin *origin;
	const struct version *version; /* what was different in it */
};

/*
 * The region of a name, relative to the list's origin, in two versions. *ret_is_there is false
 * for names that are no block's. A status of lib/store or lib/format.
 */
int past_region(const struct past *left, const struct past *right, const uint8_t *labels,
		size_t size, struct dnsblv6_prefix *ret_region, bool *ret_is_there);
/* Adds what is listed in a region, of its family, as ranges_add() does. */
int past_read(const struct past *past, struct dnsblv6_prefix region, struct ranges *ranges);
