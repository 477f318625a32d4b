/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * maillayer.h - what takes mail, behind one small table of functions.
 *
 * Flow: mail-stored, mail-store -> maillayer_deliver() ... -> the log of this library (maillayer_log()),
 *       a store that mail-stored has open (remote.h), or one of the other layers of mail-stored.
 *
 * The idea is Meta's (Westerlund et al., "Meta: A Freely Available Scalable MTA", FREENIX 1999, part
 * 8): the same server over a log, over a mailbox of its own for each user, or over nothing at all.
 *
 * Each function but those of the lock means what the one of mailstore.h with its name does, and
 * returns the same. A layer that cannot be asked (it only takes mail) answers -EOPNOTSUPP. A layer
 * belongs to one thread.
 */

#include "lib/mailstore/mailstore.h"

#ifdef __cplusplus
extern "C" {
#endif

struct maillayer;

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

/* The log: store is the layer's, and closed with it. 0 or -ENOMEM. */
int maillayer_log(struct mailstore *store, struct maillayer **ret_layer);

int maillayer_deliver(struct maillayer *layer, const struct mailstore_mail *mail,
		      struct mailid *ret_id);
int maillayer_erase(struct maillayer *layer, struct mailname mailbox, const uint64_t *mails,
		    size_t count, uint64_t time_us);
int maillayer_sync(struct maillayer *layer);
/* -EOPNOTSUPP: maillayer_sync() is the only way. */
int maillayer_sync_begin(struct maillayer *layer, struct mailstore_sync *ret_sync);
int maillayer_sync_end(struct maillayer *layer, const struct mailstore_sync *sync, int status);
/* Of a layer that has no such places: all zero, and false. */
struct mailplace maillayer_end(const struct maillayer *layer);
bool maillayer_has_synced(const struct maillayer *layer, struct mailplace end);
int maillayer_flush(struct maillayer *layer);
int maillayer_make_id(struct maillayer *layer, struct mailid *ret_id);
int maillayer_find(struct maillayer *layer, struct mailname mailbox, uint64_t from,
		   struct mailentry *ret_entry);
int maillayer_list(struct maillayer *layer, struct mailname mailbox, uint64_t from, size_t room,
		   struct mailentry *ret_entries, size_t *ret_count);
int maillayer_counts(struct maillayer *layer, struct mailname mailbox,
		     struct mailcounts *ret_counts);
int maillayer_peek_counts(struct maillayer *layer, struct mailname mailbox,
			  struct mailcounts *ret_counts);
int maillayer_next_box(struct maillayer *layer, struct mailname behind, uint8_t *ret_name,
		       size_t *ret_size, struct mailcounts *ret_counts);
/* Of several stores the one is asked that has this mailbox, which need not have the mail; size 0: all of them. */
int maillayer_find_id(struct maillayer *layer, struct mailname mailbox, const struct mailid *id,
		      uint64_t *ret_mail);
int maillayer_find_row(struct maillayer *layer, uint64_t mail, struct mailrow *ret_row);
int maillayer_read(struct maillayer *layer, const struct mailrow *row, uint64_t at, void *bytes,
		   size_t size);
int maillayer_record(struct maillayer *layer, const struct mailrow *row,
		     struct mailrecord *ret_record, uint8_t **ret_meta);
/* A descriptor for reading a segment; the caller's. */
int maillayer_open(struct maillayer *layer, uint64_t segment, int *ret_fd);
int maillayer_describe(struct maillayer *layer, struct mailstore_info *ret_info);
int maillayer_failure(struct maillayer *layer);
int maillayer_collect(struct maillayer *layer, unsigned share_max, uint64_t *ret_segment);
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
