/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * maillog.h - the log: segments with records, written at the end of one and read from any place.
 *
 * Flow: mailstore.c appends and syncs, and walks what the index does not know; mailcollect.c
 *       appends copies -> disk.h.
 *
 * A log has one segment for each generation that grows; the others are sealed: they get nothing
 * more. maillog_sync() is the commit of everything that was appended to a generation before. When it
 * fails the log has failed for good: what is on disk is not known, and a second attempt could
 * succeed without having written what the first one lost. Every later call that writes returns
 * MAILSTORE_EFAILED. What was not committed is cut off then, as its writers hear that it is refused;
 * where the cut fails, that sync and later ones are MAILSTORE_EUNSURE.
 */

#include "lib/mailstore/disk.h"
#include "lib/mailstore/mailbody.h"
#include "lib/mailstore/mailrecord.h"

#ifdef __cplusplus
extern "C" {
#endif

struct mailplace {
	uint64_t segment;
	uint64_t at;
};

/* The segment of a generation that grows. */
struct maillog_head {
	uint64_t segment; /* 0: none yet */
	uint64_t id;	  /* of its head */
	uint64_t end;
	uint64_t synced;
};

struct maillog {
	struct disk *disk; /* borrowed */
	struct mailidentity identity;
	struct maillog_head heads[MAIL_GENERATIONS];
	uint64_t next_segment;
	uint64_t sealed; /* of generation 0, by collection: the last one, synced to its end */
	uint64_t sync_count;
	uint64_t written; /* bytes, since it was opened */
	int failure;	  /* -errno of what has stopped it for good, or 0 */
	bool is_unsure;	  /* what was refused then may be on disk: it was not cut off */
	uint8_t *buffer;  /* MAILLOG_BUFFER_SIZE bytes */
};

#define MAILLOG_BUFFER_SIZE (256U << 10)

/*
 * Reads the identity, or makes one when the disk has no object: random has 32 bytes for it.
 * MAILSTORE_ENOTSTORE when there are objects and no identity. maillog_close() in any case.
 */
int maillog_open(struct maillog *ret_log, struct disk *disk, const uint8_t *random,
		 uint64_t segment_size);
void maillog_close(struct maillog *log);

/* What a record has behind its meta: the text of a mail, or the body of another record. */
struct maillog_body {
	struct mailbody *text; /* measured; NULL: the wire form at from, size bytes */
	struct mailplace from;
	uint64_t size;
};

/*
 * Appends a record, whose .size and .synced are set here. body is NULL for MAILRECORD_DELETE. When
 * it fails nothing of it is there: -ENOSPC, ..., or the log has failed.
 */
int maillog_append(struct maillog *log, unsigned generation, struct mailrecord *record,
		   const uint8_t *meta, const struct maillog_body *body,
		   struct mailplace *ret_place);
int maillog_sync(struct maillog *log, unsigned generation);
/*
 * Stops the log, and cuts off what no sync() of generation 0 has covered; copies may stay. A cut wants
 * nothing of what the failed sync() was to write, so that it counts when it succeeds. Returns status,
 * or MAILSTORE_EUNSURE: the cut has failed, too, and opening the log again may find what was refused.
 */
int maillog_fail(struct maillog *log, int status);
/* A sync() that is under way outside; mailstore.h says how. */
struct mailstore_sync {
	uint64_t segment;
	uint64_t end;
	int fd;
};
/* Of generation 0, to which alone deliveries and deletions go. */
int maillog_sync_begin(struct maillog *log, struct mailstore_sync *ret_sync);
int maillog_sync_end(struct maillog *log, const struct mailstore_sync *sync, int status);
/* Of generation 0, too: behind what was appended last, and whether a sync() has covered what is before a place. */
struct mailplace maillog_end(const struct maillog *log);
bool maillog_has_synced(const struct maillog *log, struct mailplace end);
/*
 * Goes on at the end of a segment that recovery has examined: cuts what is behind its end, writes what
 * is behind what was synced once more, and syncs, so that nothing is built on what is in memory alone.
 */
int maillog_resume(struct maillog *log, unsigned generation, const struct maillog_head *head);

/* ---- reading ---- */

/* MAILSTORE_EDAMAGED when the object is there and has no whole head of that number. */
int maillog_read_segment(struct maillog *log, uint64_t segment, struct mailsegment_head *ret_head);

/* A record at a place, with its meta, which is freed by the caller. */
int maillog_read(struct maillog *log, struct mailplace place, struct mailrecord *ret_record,
		 uint8_t **ret_meta);

/* What a pass over a segment has found. */
struct maillog_finding {
	uint64_t end;		/* behind the last record: what comes then was never durable */
	uint64_t size;		/* of the object */
	uint64_t durable;	/* it is known that all before it was synced; or 0 */
	uint64_t damaged_count; /* places before end that have no record, or one that is damaged */
	uint64_t damaged_at;	/* the first of them */
};

/*
 * The last segment of each generation, as far as heads say so, and of all. Those before it are followed: before a
 * generation begins another one, the one before is synced, all of it.
 */
struct maillog_lasts {
	uint64_t of[MAIL_GENERATIONS];
	uint64_t of_all;
};
/* By its head; MAIL_GENERATIONS: that is lost. */
unsigned maillog_generation(struct maillog *log, uint64_t segment);
/* For each segment of the log, in any order. */
void maillog_note_last(struct maillog_lasts *lasts, uint64_t segment, unsigned generation);
/* Of one whose generation is lost any that is behind it says so. */
bool maillog_is_followed(const struct maillog_lasts *lasts, uint64_t segment, unsigned generation);

/*
 * Examines a segment from a place that is a record's, or the end. A record that is not whole ends the
 * segment when nothing says that it was ever durable: it was being written when the power went. It is
 * damage when a record behind it knows of a sync() that covered it, or the segment is followed: that may have been
 * acknowledged, and what is behind it too.
 */
int maillog_examine(struct maillog *log, uint64_t segment, uint64_t from, bool is_followed,
		    struct maillog_finding *ret_finding);

/* A walk over the records of one segment, up to a place that maillog_examine() has found. */
struct maillog_cursor {
	uint64_t segment;
	uint64_t at;
	uint64_t end;
	struct mailplace place; /* of record */
	struct mailrecord record;
};

/*
 * The next record, past damaged ones: 0, DNSBLV6_ENOTFOUND behind the last, or -errno. Its meta is
 * read with maillog_read().
 */
int maillog_next(struct maillog *log, struct maillog_cursor *cursor);

#ifdef __cplusplus
}
#endif
