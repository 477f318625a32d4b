/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * maildir.h - mails into maildirs: on disk before a client hears so, and one file for all of them.
 *
 * Flow: sink_maildir.c of smtp-front, layer_sort.c of mail-stored, export of mail-store -> here ->
 *       a directory, the root, with a maildir for each mailbox (a box) or itself one (MAILDIR_ROOT).
 *
 *     struct maildir mail;
 *     int ret = maildir_begin(root_fd, name, &mail);
 *     if (ret == 0)
 *             ret = maildir_write(&mail, text, size);
 *     if (ret == 0)
 *             ret = maildir_settle(&mail);
 *     if (ret == 0)
 *             ret = maildir_make_box(root_fd, box);        // for each
 *     if (ret == 0)
 *             ret = maildir_publish(&mail, boxes, count);  // 0: all have it, and the disk knows
 *     maildir_abort(&mail);                                // in any case: the name in tmp/
 *
 * A mail is written to tmp/ of the root, and fsync() says that the disk has it. Then it gets a name in
 * new/ of each box by link(), which never replaces a file, and each new/ is synced. So the copies for
 * several boxes are one file, and all that is needed is that root and boxes are in one file system.
 * A process that is killed leaves a file in tmp/: maildir_sweep() removes those of 36 hours ago.
 *
 * What is written is what the file has: lines of a maildir end in LF, and that is the caller's work.
 * No function logs, or keeps a pointer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAILDIR_NAME_SIZE 128 /* of a file: time, process, random number, hostname cut to 64 */
#define MAILDIR_BOX_SIZE  256 /* NAME_MAX and the NUL */
#define MAILDIR_ROOT	  "." /* the box that is the root itself */

/* ---- names ---- */

/* Unique for this machine and for all that share the directory. ret_name has MAILDIR_NAME_SIZE. */
void maildir_make_name(const char *hostname, char *ret_name);
/*
 * The box of a mailbox: its name, with what is not for a name of a file as %XX: NUL, controls, "/",
 * "%", and a dot in front. false when that is too long for one, or the name is empty.
 */
bool maildir_box_of(const uint8_t *mailbox, size_t size, char *ret_box);
/*
 * The way back: ret_mailbox has MAILDIR_BOX_SIZE bytes, of which *ret_size are used. false when it is not
 * the box of any mailbox.
 */
bool maildir_mailbox_of(const char *box, uint8_t *ret_mailbox, size_t *ret_size);

/* ---- directories; all return 0 or -errno ---- */

/* Opens a root, which is made with mode 0700 when it is not there, and stays after a loss of power. */
int maildir_open_root(const char *path, int *ret_root_fd);
/* Makes the three folders of a box, and the box, durably and with mode 0700. One that is there is fine. */
int maildir_make_box(int root_fd, const char *box);
/* What has been linked into a box, or unlinked, stays so after a loss of power. */
int maildir_sync_box(int root_fd, const char *box);
/* Removes what killed processes have left in tmp/ of the root. What fails is tried by the next. */
void maildir_sweep(int root_fd);

/* ---- a mail ---- */

/* A plain value; one that is all zero has not begun. */
struct maildir {
	int root_fd;		      /* borrowed */
	int fd;			      /* of the file in tmp/, until it is settled */
	bool is_open;		      /* fd is one */
	char name[MAILDIR_NAME_SIZE]; /* "": there is no file */
};

/*
 * Makes the file, and tmp/ for the first one. name is copied; -ENAMETOOLONG, -EEXIST. *ret_mail is
 * written in any case, for maildir_abort().
 */
int maildir_begin(int root_fd, const char *name, struct maildir *ret_mail);
int maildir_write(const struct maildir *mail, const void *bytes, size_t size);
/* The file is on disk, and closed. */
int maildir_settle(struct maildir *mail);
/*
 * One name, of less than MAILDIR_NAME_SIZE bytes, which the disk need not know yet: maildir_sync_box(). -EEXIST
 * when it is there.
 */
int maildir_link(const struct maildir *mail, const char *box, const char *name);
void maildir_unlink(const struct maildir *mail, const char *box);
/* Names in all boxes, and the disk knows; or in none. */
int maildir_publish(const struct maildir *mail, const char *const *boxes, size_t count);
/* Takes the name in tmp/ away, and closes the file. Takes one that has not begun, or was aborted. */
void maildir_abort(struct maildir *mail);

#ifdef __cplusplus
}
#endif
