/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * mailindex.h - what the log says, in an order in which it can be asked: one file of LMDB.
 *
 * Flow: mailstore.c gathers what was appended (struct mailbatch) -> mailindex_apply(), one
 *       transaction -> readers by lib/lmdb/reader.h and the functions below.
 *
 * Everything here follows from the log and can be made from it again. Each segment's row says up to
 * which place the log has been taken over, in the transaction that took it over; so a record counts
 * once, whatever was killed when. MAILSTORE.md part 5 has tables and rows.
 */

#include "lib/lmdb/reader.h"
#include "lib/lmdb/writer.h"
#include "lib/mailstore/maillog.h"

#ifdef __cplusplus
extern "C" {
#endif

enum mailindex_table {
	MAILINDEX_FACTS,
	MAILINDEX_BOXES,    /* mailbox, number of a mail -> struct mailentry */
	MAILINDEX_MAILS,    /* number -> struct mailrow */
	MAILINDEX_IDS,	    /* mail id -> number */
	MAILINDEX_SEGMENTS, /* number -> struct segmentrow */
	MAILINDEX_COUNTS,   /* mailbox -> struct mailcounts */
	MAILINDEX_TABLE_COUNT
};

extern const struct store_kind mailindex_kind;

/* A mail in a mailbox. */
struct mailentry {
	uint64_t mail; /* its number, by which a mailbox is in order */
	struct mailid id;
	uint64_t octets;
	uint64_t wire_size;
	uint64_t text_size;
	uint64_t time_us;
};

struct mailrow {
	struct mailplace place;
	uint64_t size; /* of the record */
	uint32_t meta_size;
	uint8_t lines;
	uint64_t wire_size;
	uint64_t lsn;  /* of the record at place */
	uint32_t live; /* mailboxes that have it; 0: it waits for collection */
	struct mailid id;
};

/* As it stands in the table, MAILROW_SIZE bytes. */
#define MAILROW_SIZE 65
void mailrow_encode(const struct mailrow *row, uint8_t *out);
void mailrow_decode(const uint8_t *bytes, struct mailrow *ret_row);

/*
 * Where a mail's body is in its segment, as POP3 sends it: with the MAILSPAN_END bytes behind it, "."
 * CR LF, it is all that an answer to RETR has after its first line.
 */
struct mailspan {
	uint64_t segment;
	uint64_t at;
	uint64_t size;
};

#define MAILSPAN_END 3
struct mailspan mailrow_span(const struct mailrow *row);

struct segmentrow {
	uint8_t generation;
	/*
	 * It has records of mails that have been copied to other segments: a collection of it was
	 * interrupted, or is under way.
	 */
	bool is_left;
	uint64_t id;	  /* of its head; 0 also in a row that was made before there were any */
	uint64_t end;	  /* the log up to here is in the index */
	uint64_t live;	  /* bytes of records of mails that some mailbox has, and of deletions */
	uint64_t time_us; /* of its newest record */
};

struct mailcounts {
	uint64_t mails;
	uint64_t octets;
};

struct mailfacts {
	uint8_t store[16];
	uint64_t next_lsn;
	/* A segment below it without a row was removed, or is to be (mailemptied); one from it on is new. */
	uint64_t next_segment;
	uint64_t mails;	  /* that some mailbox has */
	uint64_t entries; /* in mailboxes: what a store with a copy for each would have */
	uint64_t refused; /* ids that were tried with another mail */
};

/* The segment that was emptied last: it may be there still, and is to be removed. */
struct mailemptied {
	uint64_t segment;
	uint64_t id;
	uint64_t end; /* all of it, as it was then */
};

/* What one transaction takes over. */
struct mailbatch_entry {
	struct mailrecord record;
	struct mailplace place;
	uint64_t id;	    /* of its segment */
	uint8_t generation; /* likewise */
	size_t meta_at;	    /* in metas; set by mailbatch_add() */
};

struct mailbatch_kept {
	uint64_t segment;
	uint64_t id;
	uint64_t end;
	uint8_t generation;
};

struct mailbatch {
	struct mailbatch_entry *entries;
	size_t count;
	size_t room;
	uint8_t *metas;
	size_t metas_size;
	size_t metas_room;
	/* A segment that collection has emptied, or 0: its row goes, and those of its dead mails. */
	uint64_t emptied;
	const struct mailemptied
		*known; /* of another index, which this one takes the place of; or NULL */
	uint64_t *dead;
	size_t dead_count;
	size_t dead_room;
	/* Segments that have been taken over to their end, whether any of their records can be read or none. */
	struct mailbatch_kept *kept;
	size_t kept_count;
	size_t kept_room;
	uint64_t next_segment;
	struct mailbatch_kept heads[MAIL_GENERATIONS]; /* segments that grow; .segment 0: none */
	uint64_t refused;			       /* since the batch before */
	uint64_t lsn_next;
	uint64_t lsn_known;   /* what the index has to say of it before; 0: there may be none */
	const uint8_t *store; /* 16 bytes */
};

/* 0 or -ENOMEM. */
int mailbatch_add(struct mailbatch *batch, const struct mailbatch_entry *entry,
		  const uint8_t *meta);
int mailbatch_add_dead(struct mailbatch *batch, uint64_t mail);
int mailbatch_add_kept(struct mailbatch *batch, const struct mailbatch_kept *kept);
/* Takes out what has been applied. */
void mailbatch_clear(struct mailbatch *batch);
void mailbatch_free(struct mailbatch *batch);

/* Makes the index when there is none. A status of lib/lmdb/writer.h, or MAILSTORE_EDAMAGED. */
int mailindex_apply(const char *path, const struct mailbatch *batch);

/*
 * Removes what a full disk, or power that went, has left of an index that was being made: less than
 * two pages, or zeros, to which nothing was ever committed. -ENOENT when it is gone;
 * STORE_ENOTSTORE when the file is something else, and stays.
 */
int mailindex_remove_unborn(const char *path);
/*
 * Removes an index, or its lock file, that is another user's and cannot be opened, from a directory that is ours:
 * root was killed while it made them, and had not given them to us.
 */
void mailindex_remove_locked(const char *path);

/* ---- reading: all between reader_begin() and reader_end(); DNSBLV6_ENOTFOUND ---- */

int mailindex_facts(struct reader *reader, struct mailfacts *ret_facts);
/* The first entry of a mailbox whose mail's number is at least from. */
int mailindex_entry(struct reader *reader, struct mailname name, uint64_t from,
		    struct mailentry *ret_entry);
/* Up to room of them in order; *ret_count is 0 behind the last. STORE_OK or a failure. */
int mailindex_list(struct reader *reader, struct mailname name, uint64_t from, size_t room,
		   struct mailentry *ret_entries, size_t *ret_count);
int mailindex_counts(struct reader *reader, struct mailname name, struct mailcounts *ret_counts);
int mailindex_mail(struct reader *reader, uint64_t mail, struct mailrow *ret_row);
int mailindex_id(struct reader *reader, const struct mailid *id, uint64_t *ret_mail);
/* Of that very segment; reader is NULL when there is no index. */
int mailindex_segment_row(struct reader *reader, uint64_t segment, struct segmentrow *ret_row);
/* The first segment whose number is at least from. */
int mailindex_segment(struct reader *reader, uint64_t from, uint64_t *ret_segment,
		      struct segmentrow *ret_row);
int mailindex_emptied(struct reader *reader, struct mailemptied *ret_emptied);
/* The first mailbox whose name is behind that one; its name is borrowed until reader_end(). */
int mailindex_next_box(struct reader *reader, struct mailname behind, struct mailname *ret_name,
		       struct mailcounts *ret_counts);

#ifdef __cplusplus
}
#endif
