/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * mailrecover.h - what stands in the log and not in the index, found when a store is opened.
 *
 * Flow: mailstore_open() -> here: which segments are there, which grow on, where their ends are;
 *       then mailwalk.h gives the records that the index lacks.
 */

#include "lib/mailstore/mailindex.h"
#include "lib/mailstore/mailwalk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What opening has found and done. */
struct mailstore_recovery {
	uint64_t segments;	/* of the log */
	uint64_t examined;	/* of them */
	uint64_t replayed;	/* records that the index did not have */
	uint64_t cut;		/* bytes that were never committed */
	uint64_t damaged;	/* places of the log that were committed and are no records now */
	uint64_t orphans;	/* segments that had been emptied and not been removed */
	struct mailplace first; /* of damaged */
	uint64_t refused; /* the segment for which the store is not opened; 0: it is not for one */
	bool was_built;	  /* there was no index */
};

/* How far opening is: behind each segment, and each few thousand records. */
typedef void (*mailstore_step_fn)(void *context, const struct mailstore_recovery *recovery);

/*
 * An index that is made of the log cannot know which numbers a segment had that has gone. It passes over as many, of
 * mails and of segments: one that is brought back has none that was given again.
 */
#define MAILSTORE_LEAP (1ULL << 32)

struct mailrecover_segment; /* mailrecover.c */

struct mailrecover {
	struct maillog *log;	/* borrowed */
	struct reader *reader;	/* within reader_begin(); NULL: there is no index */
	struct mailfacts facts; /* of the index */
	struct mailwalk walk;	/* the records that the index lacks */
	struct maillog_lasts lasts;
	struct mailstore_recovery *recovery;
	mailstore_step_fn on_step; /* NULL: it is not told */
	void *context;
	struct mailrecover_segment *segments; /* of the log, in order */
	size_t count;
	size_t room;
	struct maillog_lasts known; /* the last ones that the index knows */
};

/*
 * Examines all segments, changes nothing. MAILSTORE_ELOST, MAILSTORE_EAHEAD, and MAILSTORE_EDAMAGED
 * for one that has the head of another, or -errno for one that cannot be read, with recovery->refused.
 * MAILSTORE_EOLD as mailrecover_compare(). mailrecover_free() in any case.
 */
int mailrecover_examine(struct mailrecover *recover);
/*
 * Cuts what was never committed, makes the rest durable, removes what had been emptied, and lets the
 * log go on where it ended.
 */
int mailrecover_resume(struct mailrecover *recover);
/* Notes the segments that the index did not know, for the last of what it takes over: 0 or -ENOMEM. */
int mailrecover_note_kept(const struct mailrecover *recover, struct mailbatch *batch);
void mailrecover_free(struct mailrecover *recover);
/*
 * Is a segment the one that the index knows by its number, or a new one, or the one that was emptied last and is
 * to be removed, *ret_is_emptied? MAILSTORE_EOLD when it is neither: the log has gone on with another index since,
 * which did not know which numbers had been given. What of it cannot be read says nothing.
 */
int mailrecover_compare(struct maillog *log, struct reader *reader, uint64_t next_segment,
			uint64_t segment, bool *ret_is_emptied);
void mailrecover_step(const struct mailrecover *recover);
/* What a program says of recovery->refused, by the status of opening. Static, never NULL. */
const char *mailrecover_advice(int status);

#ifdef __cplusplus
}
#endif
