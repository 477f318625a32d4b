/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * mailstore.h - mailboxes over one log: a mail for many is written once, and one sync commits it.
 *
 * Flow: mail.c (the public functions), mail-store -> here -> maillog.h for what is durable,
 *       mailindex.h for what is asked.
 *
 *     mailstore_deliver(store, &mail, &id);   // any number of times: nothing is promised yet
 *     mailstore_delete(store, ...);
 *     ret = mailstore_sync(store);            // 0: all of it is on disk, for all recipients
 *
 * The index is behind the log by what mailstore_flush() has not taken over; functions that ask flush
 * first, and mailstore_deliver() does when much is waiting. What a killed process had not
 * flushed, the next mailstore_open() takes out of the log.
 *
 * There is one writer at a time, which has the lock of the store: -EBUSY for a second one. A handle
 * belongs to one thread. No function reads a clock, logs or exits. After MAILSTORE_EFAILED, or a
 * sync that failed, nothing works but mailstore_close(): open again, which reads what is on disk. Of
 * what was not committed that is nothing, if the disk let it be cut off; a sync that is MAILSTORE_EUNSURE, the
 * one that failed or one of a store that had, says that it did not.
 */

#include "lib/mailstore/mailindex.h"
#include "lib/mailstore/mailrecover.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MAILSTORE_SEGMENT_SIZE (64U << 20)
#define MAILSTORE_RESERVE      (8U << 20)

struct mailstore;

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
 * 0, a status of status.h or of lib/lmdb, or -errno; *ret_store on success only. Damage does not
 * prevent opening: what is whole is served, and *ret_recovery says what is not. That is written in any case.
 */
int mailstore_open(const struct mailstore_setup *setup, struct mailstore **ret_store,
		   struct mailstore_recovery *ret_recovery);
/* Flushes, unless the store has failed. Takes NULL. */
void mailstore_close(struct mailstore *store);
/* Closes it without writing anything: for tests of what a killed process leaves. Takes NULL. */
void mailstore_abandon(struct mailstore *store);

/* ---- writing ---- */

struct mailstore_mail {
	struct mailname sender;		   /* reverse-path, without brackets */
	const struct mailname *recipients; /* mailboxes; one that is there twice counts once */
	size_t recipient_count;
	const uint8_t *text; /* size bytes, as they are to come out again */
	size_t size;
	uint64_t time_us; /* microseconds of Unix time */
	/*
	 * NULL: an id is made. Else one of mailstore_make_id(): when a mail with it is there, its
	 * text has to be the same, and nothing is done, so that a caller which did not hear of
	 * the outcome may try again.
	 */
	const struct mailid *id;
	/*
	 * The id may be one of another store, from which the mail comes: MAILSTORE_EID when a mail
	 * has it here, or had it and is still in the log. For an operator's tool: a program that
	 * takes mail from others must not set it, as part 2 of MAILSTORE.md says.
	 */
	bool is_moved;
};

/*
 * The recipients as a mail keeps them: sorted, each once, to be freed. 0, MAILSTORE_EBOX,
 * MAILSTORE_ERECIPIENTS or -ENOMEM.
 */
int mailstore_copy_recipients(const struct mailstore_mail *mail, struct mailname **ret_names,
			      size_t *ret_count);

int mailstore_make_id(struct mailstore *store, struct mailid *ret_id);
/*
 * Appends a mail for all its recipients, or for none. 0, MAILSTORE_EBOX, MAILSTORE_ERECIPIENTS,
 * MAILSTORE_EID, MAILSTORE_EFOREIGN, MAILSTORE_ELINES, -ENOSPC, ...
 */
int mailstore_deliver(struct mailstore *store, const struct mailstore_mail *mail,
		      struct mailid *ret_id);
/* Numbers (struct mailentry) that the mailbox does not have are passed over. */
int mailstore_delete(struct mailstore *store, struct mailname mailbox, const uint64_t *mails,
		     size_t count, uint64_t time_us);
/* The commit of all that was delivered and deleted before. */
int mailstore_sync(struct mailstore *store);
/*
 * The same in two halves, for a program that goes on meanwhile: between them it calls fdatasync() of
 * the descriptor, in another process if it likes, and may append, but nothing of what it appends then
 * is committed by that. 0 with a descriptor to be closed by mailstore_sync_end(); DNSBLV6_ENOTFOUND:
 * all is committed; -EOPNOTSUPP: mailstore_sync() is the only way, now or on this disk.
 */
int mailstore_sync_begin(struct mailstore *store, struct mailstore_sync *ret_sync);
/* status is 0 or -errno of fdatasync(); with that the store has failed. Returns it. */
int mailstore_sync_end(struct mailstore *store, const struct mailstore_sync *sync, int status);
/*
 * Behind what was delivered or deleted last, and whether a sync has covered what is before such a place, one
 * that has failed or is under way aside. Also of a store that has failed.
 */
struct mailplace mailstore_end(const struct mailstore *store);
bool mailstore_has_synced(const struct mailstore *store, struct mailplace end);
/* Makes the index that of the log, as far as that is synced. */
int mailstore_flush(struct mailstore *store);

/* ---- asking ---- */

/* The mailbox's first mail whose number is at least from; DNSBLV6_ENOTFOUND. */
int mailstore_find(struct mailstore *store, struct mailname mailbox, uint64_t from,
		   struct mailentry *ret_entry);
/* Up to room mails in order, from such a number on; *ret_count is 0 behind the last. */
int mailstore_list(struct mailstore *store, struct mailname mailbox, uint64_t from, size_t room,
		   struct mailentry *ret_entries, size_t *ret_count);
/* All zero for a mailbox without mails. */
int mailstore_counts(struct mailstore *store, struct mailname mailbox,
		     struct mailcounts *ret_counts);
/* The same as it was at the last mailstore_flush(): never waits for the disk. */
int mailstore_peek_counts(struct mailstore *store, struct mailname mailbox,
			  struct mailcounts *ret_counts);
/* The mailbox behind that one in order of bytes; DNSBLV6_ENOTFOUND. ret_name has
 * MAILBOX_NAME_MAX bytes. */
int mailstore_next_box(struct mailstore *store, struct mailname behind, uint8_t *ret_name,
		       size_t *ret_size, struct mailcounts *ret_counts);
int mailstore_find_id(struct mailstore *store, const struct mailid *id, uint64_t *ret_mail);
/* Where a mail is: valid until mailstore_collect(). */
int mailstore_find_row(struct mailstore *store, uint64_t mail, struct mailrow *ret_row);
/* size bytes of the body's wire form (mailbody.h), from at. -ENODATA behind its end. */
int mailstore_read(struct mailstore *store, const struct mailrow *row, uint64_t at, void *bytes,
		   size_t size);
/* The record of a mail with its meta, to be freed: who sent it, and how its lines ended. */
int mailstore_record(struct mailstore *store, const struct mailrow *row,
		     struct mailrecord *ret_record, uint8_t **ret_meta);

/* A descriptor for reading a segment, the caller's: what it reads stays when that is collected. */
int mailstore_open_segment(struct mailstore *store, uint64_t segment, int *ret_fd);

struct mailstore_info {
	struct mailfacts facts;
	uint64_t segments;
	uint64_t log_size;   /* bytes of all segments */
	uint64_t live_size;  /* of the records of mails that some mailbox has, and of deletions */
	uint64_t sync_count; /* since it was opened, as are the next */
	uint64_t written;
	uint64_t copied; /* by collection */
	uint64_t reclaimed;
	bool has_failed;
};
int mailstore_describe(struct mailstore *store, struct mailstore_info *ret_info);
/* What has stopped the store, behind which all calls fail: -errno, or 0. */
int mailstore_failure(const struct mailstore *store);

/* ---- collection ---- */

/*
 * Empties one segment and removes it: what lives is copied to the generation above. The
 * segment with the smallest share of live bytes, below share_max (percent), young generations
 * first. DNSBLV6_ENOTFOUND when there is none. Killed at any point it has lost and doubled nothing.
 * MAILSTORE_EDAMAGED, with the segment: that one stays as it is, and the next call takes another.
 * -ENOSPC: the disk has no room for what has to be copied of any of them; nothing was written then.
 */
int mailstore_collect(struct mailstore *store, unsigned share_max, uint64_t *ret_segment);

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
/* Flushes, and lends what the store stands on; the reader is within reader_begin(). */
int mailstore_borrow(struct mailstore *store, struct mailstore_parts *ret_parts);
/* The index as it is, without flushing; the reader is good until something is appended. */
int mailstore_reader(struct mailstore *store, struct reader **ret_reader);
/* Appends a record to a generation's segment and to the batch. */
int mailstore_append(struct mailstore *store, unsigned generation, struct mailrecord *record,
		     const uint8_t *meta, const struct maillog_body *body);

#ifdef __cplusplus
}
#endif
