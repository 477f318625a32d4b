/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * maillayer.h - what takes mail, behind one small table of functions.
 *
 * Flow: mail-stored, mail-store -> maillayer_deliver() ... -> the log of this library (mailstore_open()),
 *       a store that mail-stored has open (remote.h), or one of the other layers of mail-stored.
 *
 * The idea is Meta's (Westerlund et al., "Meta: A Freely Available Scalable MTA", FREENIX 1999, part
 * 8): the same server over a log, over a mailbox of its own for each user, or over nothing at all.
 *
 * A layer that cannot be asked (it only takes mail) answers -EOPNOTSUPP. A layer belongs to one thread.
 */

#include "lib/mailstore/mailindex.h"

#ifdef __cplusplus
extern "C" {
#endif

struct maillayer;

struct mailstore_mail {
	struct mailname sender;		   /* reverse-path, without brackets */
	const struct mailname *recipients; /* mailboxes; one that is there twice counts once */
	size_t recipient_count;
	const uint8_t *text; /* size bytes, as they are to come out again */
	size_t size;
	uint64_t time_us; /* microseconds of Unix time */
	/*
	 * NULL: an id is made. Else one of maillayer_make_id(): when a mail with it is there, its
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

struct mailstore_info {
	struct mailfacts facts;
	uint64_t segments;
	uint64_t log_size;   /* bytes of all segments */
	uint64_t live_size;  /* of the records of mails that some mailbox has, and of deletions */
	uint64_t newest_us;  /* time of the newest record; 0: there is none, or that is not known */
	uint64_t sync_count; /* since it was opened, as are the next */
	uint64_t written;
	uint64_t copied; /* by collection */
	uint64_t reclaimed;
	bool has_failed;
};

/* NULL for what a layer cannot do, but for deliver, sync and close. */
struct maillayer_ops {
	const char *name;
	int (*deliver)(struct maillayer *layer, const struct mailstore_mail *mail,
		       struct mailid *ret_id);
	int (*erase)(struct maillayer *layer, struct mailname mailbox, const uint64_t *mails,
		     size_t count, uint64_t time_us);
	int (*sync)(struct maillayer *layer);
	/* All four or none; without them a commit is sync(). */
	int (*sync_begin)(struct maillayer *layer, struct mailstore_sync *ret_sync);
	int (*sync_end)(struct maillayer *layer, const struct mailstore_sync *sync, int status);
	struct mailplace (*end)(const struct maillayer *layer);
	bool (*has_synced)(const struct maillayer *layer, struct mailplace end);
	int (*flush)(struct maillayer *layer);
	int (*make_id)(struct maillayer *layer, struct mailid *ret_id);
	int (*list)(struct maillayer *layer, struct mailname mailbox, uint64_t from, size_t room,
		    struct mailentry *ret_entries, size_t *ret_count);
	int (*counts)(struct maillayer *layer, struct mailname mailbox,
		      struct mailcounts *ret_counts);
	int (*peek_counts)(struct maillayer *layer, struct mailname mailbox,
			   struct mailcounts *ret_counts);
	int (*next_box)(struct maillayer *layer, struct mailname behind, uint8_t *ret_name,
			size_t *ret_size, struct mailcounts *ret_counts);
	int (*find_id)(struct maillayer *layer, struct mailname mailbox, const struct mailid *id,
		       uint64_t *ret_mail);
	int (*find_row)(struct maillayer *layer, uint64_t mail, struct mailrow *ret_row);
	int (*read)(struct maillayer *layer, const struct mailrow *row, uint64_t at, void *bytes,
		    size_t size);
	int (*record)(struct maillayer *layer, const struct mailrow *row,
		      struct mailrecord *ret_record, uint8_t **ret_meta);
	int (*open)(struct maillayer *layer, uint64_t segment, int *ret_fd);
	int (*describe)(struct maillayer *layer, struct mailstore_info *ret_info);
	int (*failure)(struct maillayer *layer);
	int (*collect)(struct maillayer *layer, unsigned share_max, uint64_t *ret_segment);
	/* Both or none. */
	int (*lock)(struct maillayer *layer, struct mailname mailbox);
	int (*unlock)(struct maillayer *layer);
	void (*close)(struct maillayer *layer);
};

/* The first member of what an implementation has. */
struct maillayer {
	const struct maillayer_ops *ops;
};

/* ---- writing ---- */

/*
 * Appends a mail for all its recipients, or for none. 0, MAILSTORE_EBOX, MAILSTORE_ERECIPIENTS,
 * MAILSTORE_EID, MAILSTORE_EFOREIGN, MAILSTORE_ELINES, -ENOSPC, ...
 */
int maillayer_deliver(struct maillayer *layer, const struct mailstore_mail *mail,
		      struct mailid *ret_id);
/* Numbers (struct mailentry) that the mailbox does not have are passed over. */
int maillayer_erase(struct maillayer *layer, struct mailname mailbox, const uint64_t *mails,
		    size_t count, uint64_t time_us);
/* The commit of all that was delivered and erased before. */
int maillayer_sync(struct maillayer *layer);
/*
 * The same in two halves, for a program that goes on meanwhile: between them it calls fdatasync() of
 * the descriptor, in another process if it likes, and may append, but nothing of what it appends then
 * is committed by that. 0 with a descriptor to be closed by maillayer_sync_end(); DNSBLV6_ENOTFOUND:
 * all is committed; -EOPNOTSUPP: maillayer_sync() is the only way, now, on this disk or of this layer.
 */
int maillayer_sync_begin(struct maillayer *layer, struct mailstore_sync *ret_sync);
/* status is 0 or -errno of fdatasync(); with that the layer has failed. Returns it. */
int maillayer_sync_end(struct maillayer *layer, const struct mailstore_sync *sync, int status);
/*
 * Behind what was delivered or erased last, and whether a sync has covered what is before such a place, one
 * that has failed or is under way aside. Also of a layer that has failed. Of one that has no such places: all
 * zero, and false.
 */
struct mailplace maillayer_end(const struct maillayer *layer);
bool maillayer_has_synced(const struct maillayer *layer, struct mailplace end);
/* Makes the index that of the log, as far as that is synced. */
int maillayer_flush(struct maillayer *layer);
int maillayer_make_id(struct maillayer *layer, struct mailid *ret_id);

/* ---- asking ---- */

/* The mailbox's first mail whose number is at least from; DNSBLV6_ENOTFOUND. */
int maillayer_find(struct maillayer *layer, struct mailname mailbox, uint64_t from,
		   struct mailentry *ret_entry);
/* Up to room mails in order, from such a number on; *ret_count is 0 behind the last. */
int maillayer_list(struct maillayer *layer, struct mailname mailbox, uint64_t from, size_t room,
		   struct mailentry *ret_entries, size_t *ret_count);
/* All zero for a mailbox without mails. */
int maillayer_counts(struct maillayer *layer, struct mailname mailbox,
		     struct mailcounts *ret_counts);
/* The same as it was at the last maillayer_flush(): never waits for the disk. */
int maillayer_peek_counts(struct maillayer *layer, struct mailname mailbox,
			  struct mailcounts *ret_counts);
/* The mailbox behind that one in order of bytes; DNSBLV6_ENOTFOUND. ret_name has MAILBOX_NAME_MAX bytes. */
int maillayer_next_box(struct maillayer *layer, struct mailname behind, uint8_t *ret_name,
		       size_t *ret_size, struct mailcounts *ret_counts);
/* Of several stores the one is asked that has this mailbox, which need not have the mail; size 0: all of them. */
int maillayer_find_id(struct maillayer *layer, struct mailname mailbox, const struct mailid *id,
		      uint64_t *ret_mail);
/* Where a mail is: valid until maillayer_collect(). */
int maillayer_find_row(struct maillayer *layer, uint64_t mail, struct mailrow *ret_row);
/* size bytes of the body's wire form (mailbody.h), from at. -ENODATA behind its end. */
int maillayer_read(struct maillayer *layer, const struct mailrow *row, uint64_t at, void *bytes,
		   size_t size);
/* The record of a mail with its meta, to be freed: who sent it, and how its lines ended. */
int maillayer_record(struct maillayer *layer, const struct mailrow *row,
		     struct mailrecord *ret_record, uint8_t **ret_meta);
/* A descriptor for reading a segment, the caller's: what it reads stays when that is collected. */
int maillayer_open(struct maillayer *layer, uint64_t segment, int *ret_fd);
int maillayer_describe(struct maillayer *layer, struct mailstore_info *ret_info);
/* What has stopped it, behind which all calls fail: -errno, or 0. */
int maillayer_failure(struct maillayer *layer);

/* ---- collection ---- */

/*
 * Empties one segment and removes it: what lives is copied to the generation above. The
 * segment with the smallest share of live bytes, below share_max (percent), young generations
 * first. DNSBLV6_ENOTFOUND when there is none. Killed at any point it has lost and doubled nothing.
 * MAILSTORE_EDAMAGED, with the segment: that one stays as it is, and the next call takes another.
 * -ENOSPC: the disk has no room for what has to be copied of any of them; nothing was written then.
 */
int maillayer_collect(struct maillayer *layer, unsigned share_max, uint64_t *ret_segment);

/* ---- locks, and the end ---- */

/*
 * The exclusive lock of a mailbox among those that ask for it: it keeps nothing from delivering, nor
 * from erasing without it. A layer has one at a time, MAILSTORE_ELOCK for a second mailbox, and frees
 * it when it is closed. -EBUSY: another one has it; nothing waits. A layer that has its store for
 * itself needs none, and answers -EOPNOTSUPP.
 */
int maillayer_lock(struct maillayer *layer, struct mailname mailbox);
/* 0 without a lock, too. */
int maillayer_unlock(struct maillayer *layer);
/* Takes NULL. */
void maillayer_close(struct maillayer *layer);

#ifdef __cplusplus
}
#endif
