/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * tool.h - the subcommands of mail-store, and what they share.
 *
 * Flow: main.c finds the row and calls it with argv[0] being the subcommand -> here -> maillayer.h,
 *       behind which the log of a directory is, or a mail-stored that has one open (remote.h).
 *
 * Each command returns the exit status: 0, 1 (fsck found something) or one of sysexits.
 */

#include "lib/mailstore/maillayer.h"

#include "lib/common/options.h"

#include <stdbool.h>
#include <stdio.h>

int deliver_command(int argc, char **argv);
int ls_command(int argc, char **argv);
int cat_command(int argc, char **argv);
int rm_command(int argc, char **argv);
int stat_command(int argc, char **argv);
int collect_command(int argc, char **argv);
int import_command(int argc, char **argv);
int export_command(int argc, char **argv);
int fsck_command(int argc, char **argv);
int bench_command(int argc, char **argv);
int copies_command(int argc, char **argv);
int gather_command(int argc, char **argv);

/* The files of a store. */
struct store_paths {
	char log[4096];
	char index[4096];
	char scratch[4096]; /* of fsck */
};

/*
 * The lock of what moves mails between nodes, gather and copies. Two at once, of which one still has the list of
 * before, would each delete the mail that the other one has seen, or bring it twice. *ret_is_away: the node that
 * keeps it is down, without which nothing has it. EX_OK, or an exit status with a line of the log; tool_let_go() in
 * any case.
 */
int tool_open_lock(const char *store, struct maillayer **ret_lock, bool *ret_is_away);
/* 0: it still has it, or has it again. */
int tool_lock_moves(struct maillayer *lock);
/* A lock ends with its connection, too, but in a while: until then it keeps out others. Takes NULL. */
void tool_let_go(struct maillayer *layer);

/* EX_OK, or EX_USAGE with a line of the log. */
int tool_paths(const char *store, struct store_paths *ret_paths);
/*
 * An index that root has made, and its lock file, become those of the log's owner, which opens the store next.
 * 0, also when there is none, or -errno.
 */
int tool_give_index(const struct store_paths *paths, const char *index);
/* Is that a socket? Then a daemon is to be reached there. */
bool tool_is_socket(const char *store);
/*
 * Opens the store of a directory, which is made when creates, or a daemon's. EX_OK, or an exit status
 * with a line of the log that names the store; damage that opening has found is a warning.
 */
int tool_open(const char *store, bool creates, struct maillayer **ret_layer);
/* Logs that it is not opened, and for -EBUSY what may be done; returns the exit status. */
int tool_fail_open(const char *store, int status);
/* Logs "what" of store with the text of status; returns the exit status for it. */
int tool_fail(const char *store, const char *what, int status);
/* The same of one mail, whose id stands as it was written. */
int tool_fail_mail(const char *store, const char *what, const char *id, int status);
/*
 * The same of one that a list has; 0 for one that is damaged, and *is_damaged: it is left out, and the
 * others go on. Else status.
 */
int tool_leave_out(const char *store, const char *what, const struct mailentry *entry, int status,
		   bool *is_damaged);
/* The same of a work that was done for count mails before it failed. */
int tool_fail_after(const char *store, const char *what, uint64_t count, int status);
/* NULL and a line of the log when it is no mailbox name. */
struct mailname tool_mailbox(const char *text);

/* Mailboxes that are kept, in memory of their own. */
struct tool_names {
	struct mailname *items;
	size_t count;
};

/* A copy of name becomes the last. 0 or -ENOMEM. */
int tool_keep_name(struct tool_names *names, struct mailname name);
void tool_free_names(struct tool_names *names);

/* MAILSTORE_EAWAY when a list was without the mails of some node since the last call; else 0. */
int tool_end_lists(const char *store, struct maillayer *layer);

/* Returns 0 to go on. */
typedef int (*tool_piece_fn)(void *context, const struct mailentry *entries, size_t count);
/* Calls fn for the mails of a mailbox at all nodes, some thousand at a time. 0, or the first other status. */
int tool_walk(struct maillayer *layer, struct mailname mailbox, tool_piece_fn fn, void *context);
/* Mails of a list that are kept. */
struct tool_list {
	struct mailentry *entries; /* to be freed */
	size_t count;
};

/* Behind those that the list has, as a piece of tool_walk(). 0 or -ENOMEM. */
int tool_keep_entries(void *list, const struct mailentry *entries, size_t count);
/* Of entries, by their ids. */
int tool_compare_ids(const void *one, const void *other);
void tool_sort_by_ids(const struct tool_list *list);
/* The first that has the entry's id, in a list in the order of ids; NULL: none has. */
struct mailentry *tool_find_entry(const struct tool_list *list, const struct mailentry *entry);
/* One that came under another id: with the same time and text. NULL: the list has none. */
const struct mailentry *tool_find_same(struct maillayer *layer, const struct tool_list *list,
				       const struct mailstore_mail *mail);
/* MAILSTORE_EMAIL also for one that no mailbox has any more: it waits for collection. */
int tool_find_mail(struct maillayer *layer, const struct mailid *id, uint64_t *ret_mail);
/* In this mailbox, at its node by now: MAILSTORE_EMAIL for what it does not have there. */
int tool_find_in(struct maillayer *layer, struct mailname mailbox, const struct mailid *id,
		 uint64_t *ret_mail);
/* The record of a mail with its meta, to be freed, and where it is. */
int tool_find_record(struct maillayer *layer, uint64_t mail, struct mailrow *ret_row,
		     struct mailrecord *ret_record, uint8_t **ret_meta);
/*
 * Writes the text of a mail, as it was delivered. 0 or a status; -errno when out takes no more;
 * MAILSTORE_EDAMAGED when it cannot be read, or all is written and does not have its checksum.
 */
int tool_write_text(struct maillayer *layer, uint64_t mail, FILE *out);

/* What is delivered again. */
struct tool_mail {
	struct mailmeta meta; /* borrowed from the next */
	uint8_t *bytes;
	char *text;
	size_t size;
};

/* 0 or a status; tool_free_mail() in any case. */
int tool_read_mail(struct maillayer *layer, uint64_t mail, struct tool_mail *ret_mail);
void tool_free_mail(struct tool_mail *mail);
