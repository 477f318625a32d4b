/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * mailwalk.h - the records of many segments, in the order in which they were written.
 *
 * Flow: recovery and mailcheck.c -> maillog.h. One cursor a segment; the one with the smallest lsn
 *       goes first, by a heap, so that memory does not grow with what the log holds.
 */

#include "lib/mailstore/maillog.h"

#ifdef __cplusplus
extern "C" {
#endif

struct mailwalk_segment {
	struct maillog_cursor cursor; /* its .segment, .at and .end are given */
	uint64_t id;
	uint8_t generation;
};

struct mailwalk {
	struct maillog *log;		   /* borrowed */
	struct mailwalk_segment *segments; /* a heap once it has begun */
	size_t count;
	size_t room;
	bool has_begun;
};

/* Adds a segment, of which the records from one place to another are walked. 0 or -ENOMEM. */
int mailwalk_add(struct mailwalk *walk, const struct mailwalk_segment *segment);
/* The next record; DNSBLV6_ENOTFOUND behind the last. *ret_segment is valid until the next call. */
int mailwalk_next(struct mailwalk *walk, const struct mailwalk_segment **ret_segment);
void mailwalk_free(struct mailwalk *walk);

#ifdef __cplusplus
}
#endif
