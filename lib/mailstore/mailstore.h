/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * mailstore.h - mailboxes over one log: a mail for many is written once, and one sync commits it.
 *
 * Flow: mail.c (the public functions), mail-store, mail-stored -> mailstore_open() -> a layer
 *       (maillayer.h), behind which maillog.h has what is durable, and mailindex.h what is asked.
 *
 *     mailstore_open(&setup, &layer, &recovery);
 *     maillayer_deliver(layer, &mail, &id);   // any number of times: nothing is promised yet
 *     maillayer_erase(layer, ...);
 *     ret = maillayer_sync(layer);            // 0: all of it is on disk, for all recipients
 *
 * The index is behind the log by what maillayer_flush() has not taken over; functions that ask flush
 * first, and maillayer_deliver() does when much is waiting. What a killed process had not
 * flushed, the next mailstore_open() takes out of the log.
 *
 * There is one writer at a time, which has the lock of the store: -EBUSY for a second one. A handle
 * belongs to one thread. No function reads a clock, logs or exits. After MAILSTORE_EFAILED, or a
 * sync that failed, nothing works but maillayer_close(): open again, which reads what is on disk. Of
 * what was not committed that is nothing, if the disk let it be cut off; a sync that is MAILSTORE_EUNSURE, the
 * one that failed or one of a store that had, says that it did not.
 */

#include "lib/mailstore/maillayer.h"
#include "lib/mailstore/mailrecover.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MAILSTORE_SEGMENT_SIZE (64U << 20)
#define MAILSTORE_RESERVE      (8U << 20)

struct mailstore_setup {
	struct disk *disk;	/* becomes the store's, also when opening fails */
	const char *index_path; /* of a file that is there or not; copied */
	uint64_t segment_size;	/* of a new store; 0: MAILSTORE_SEGMENT_SIZE */
	/*
	 * Bytes of the disk that mails leave free: a store opens with room for what its index lacks, and
	 * deletions are written. MAILSTORE_RESERVE, or 0 where the caller looks after that.
	 */
	uint64_t reserve;
	/* Or NULL. Without an index all of the log is read, which may take minutes. */
	mailstore_step_fn on_step;
	void *context; /* of on_step */
};

/*
 * 0, a status of status.h or of lib/lmdb, or -errno; *ret_layer on success only: closing it flushes, unless
 * the store has failed. Damage does not prevent opening: what is whole is served, and *ret_recovery says what is not.
 * That is written in any case.
 */
int mailstore_open(const struct mailstore_setup *setup, struct maillayer **ret_layer,
		   struct mailstore_recovery *ret_recovery);
/* Closes it without writing anything: for tests of what a killed process leaves. Takes NULL. */
void mailstore_abandon(struct maillayer *layer);

/*
 * The recipients as a mail keeps them: sorted, each once, to be freed. 0, MAILSTORE_EBOX,
 * MAILSTORE_ERECIPIENTS or -ENOMEM.
 */
int mailstore_copy_recipients(const struct mailstore_mail *mail, struct mailname **ret_names,
			      size_t *ret_count);

/* ---- for other files of this library ---- */

struct mailstore_parts {
	struct maillog *log;
	struct mailbatch *batch;
	struct reader *reader;
	uint64_t *copied; /* counters: bytes */
	uint64_t *reclaimed;
	struct mailskipped *skipped;
	bool *is_short; /* the disk had no room for the last copies: generations do not count */
};
/* Segments that collection leaves alone, until the store is opened again: they are damaged. */
struct mailskipped {
	uint64_t *segments;
	size_t count;
};
/* Of a layer of mailstore_open(): flushes, and lends what it stands on; the reader is within reader_begin(). */
int mailstore_borrow(struct maillayer *layer, struct mailstore_parts *ret_parts);
/* The index as it is, without flushing; the reader is good until something is appended. */
int mailstore_reader(struct maillayer *layer, struct reader **ret_reader);
/* Appends a record to a generation's segment and to the batch. */
int mailstore_append(struct maillayer *layer, unsigned generation, struct mailrecord *record,
		     const uint8_t *meta, const struct maillog_body *body);
/* That is maillayer_collect(). */
int mailstore_collect(struct maillayer *layer, unsigned share_max, uint64_t *ret_segment);

#ifdef __cplusplus
}
#endif
