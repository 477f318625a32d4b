/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * dnsblv6-mail.h - mailboxes in one directory, where a mail for many is written once.
 *
 * Flow: a mail server or a program of a user -> these functions -> the store's log and index. No
 *       daemon is needed: the process that has the store open is its one writer.
 *
 * The functions are those of MFS (Pathak, Jafri and Hu, "The Case for Spam-Aware High Performance
 * Mail Server Architecture", ICDCS 2009, part 6), under their names, with a store to open, errors
 * that have texts, and what a program needs besides: mail_stat(), mail_header().
 *
 *     #include <dnsblv6-mail.h>
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *             struct mail_store *store = NULL;
 *             struct mail_file *boxes[2] = { NULL, NULL };
 *             struct mail_stat mail;
 *             const char text[] = "Subject: hello\n\nOnce for both.\n";
 *
 *             if (mail_store_open("/var/mail/store", MAIL_STORE_CREATE, &store) < 0)
 *                     return 71;
 *             if (mail_open(store, "anna@example.com", &boxes[0]) < 0 ||
 *                 mail_open(store, "bert@example.com", &boxes[1]) < 0 ||
 *                 mail_nwrite(boxes, 2, text, sizeof(text) - 1, NULL) < 0)
 *                     fprintf(stderr, "%s\n", mail_store_error(store));
 *             else if (mail_stat(boxes[1], &mail) == 1)
 *                     printf("bert has a mail of %llu bytes\n", (unsigned long long)mail.size);
 *             mail_close(boxes[0]);
 *             mail_close(boxes[1]);
 *             mail_store_close(store);
 *             return 0;
 *     }
 *
 * Commit. When mail_nwrite() or mail_delete() has returned 0, what it did is on disk, for all
 * mailboxes; when the power goes before, it has happened for all of them or for none.
 *
 * Errors. A function that may fail returns a negative number: a negative errno, or one of the
 * store's own; mail_strerror() has a text for it,
 * and mail_store_error() one that names the place. When the disk itself fails, the store stops:
 * nothing more is promised on top of what may not be there. Close it, look at the disk, open again.
 *
 * Threads. A store and its mailboxes belong to one thread at a time. Forks. A child must not use
 * what its parent has opened. Signals. None is caught, and no function is async-signal-safe.
 * Descriptors are closed on exec.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MAIL_API __attribute__((visibility("default")))
#else
#define MAIL_API
#endif

struct mail_store; /* an open directory */
struct mail_file;  /* an open mailbox, with a position in it */

/* ---- a store ---- */

#define MAIL_STORE_CREATE                                                                          \
	1 /* makes the directory (mode 0700) and the store, when they are not there */

/*
 * Opens the store in a directory of a local file system. What a process that was killed has left is
 * put right: committed mails are all there. *ret_store, to be ended with mail_store_close(), on
 * success only. -EBUSY while another process has it open; -ENOENT without MAIL_STORE_CREATE.
 */
MAIL_API int mail_store_open(const char *directory, int flags, struct mail_store **ret_store);
/* Closes it; mailboxes have to be closed before. Takes NULL. */
MAIL_API void mail_store_close(struct mail_store *store);
/* What went wrong last, or was found damaged when the store was opened; "" when nothing. */
MAIL_API const char *mail_store_error(const struct mail_store *store);
/* Text for what a function returned. Static, never NULL. */
MAIL_API const char *mail_strerror(int status);

/* ---- mailboxes ---- */

/*
 * Opens a mailbox, at its first mail. A name has 1 to 255 bytes; any is as good as another, and is
 * never part of a path. A mailbox is there as long as it has mails, so that opening makes nothing.
 */
MAIL_API int mail_open(struct mail_store *store, const char *mailbox, struct mail_file **ret_file);
MAIL_API void mail_close(struct mail_file *file);

/*
 * Moves to a mail, counted from 0: whence is SEEK_SET, SEEK_CUR or SEEK_END. Mails keep their places
 * while the mailbox is open, new ones come at the end; SEEK_CUR passes over deleted ones. Returns the
 * new position, which is behind the last mail when there is none left; -EINVAL.
 */
MAIL_API int64_t mail_seek(struct mail_file *file, int64_t offset, int whence);

/*
 * Names a mail: made by the store, the same for all its mailboxes, never used again. It cannot be
 * guessed. text is 32 hexadecimal digits and a NUL.
 */
struct mail_id {
	char text[33];
};

struct mail_stat {
	struct mail_id id;
	int64_t position;
	uint64_t size;	  /* bytes of its text, as it was written */
	uint64_t octets;  /* as POP3 counts it: each line ends in CRLF */
	uint64_t time_us; /* when it was written: microseconds of Unix time */
};

/* 1 with what the mail at the position is; 0 when there is none, or it was deleted. */
MAIL_API int mail_stat(struct mail_file *file, struct mail_stat *ret_stat);

/*
 * Writes a mail into count mailboxes of one store, 1 to 10,000, once. text is any size bytes, and
 * comes out again as it is. id is NULL, or where the mail's id is put; when its text is not empty, it
 * is one that mail_make_id() made: then a second call with the same mail does nothing, for a caller
 * that did not learn how the first one ended; and with another mail it is refused.
 */
MAIL_API int mail_nwrite(struct mail_file *const *files, size_t count, const void *text,
			 size_t size, struct mail_id *id);
MAIL_API int mail_make_id(struct mail_store *store, struct mail_id *ret_id);

/*
 * Reads on in the mail at the position, whose text begins anew after each mail_seek() and
 * mail_header(). Returns the number of bytes, at most size; 0 at its end, where a mail that is not as
 * it was written is an error. -ENOMSG when there is no mail.
 */
MAIL_API ssize_t mail_read(struct mail_file *file, void *bytes, size_t size);
/*
 * The value of the first header field of that name, unfolded, cut to size - 1 bytes and ended with a
 * NUL. Returns its whole length; -ENOMSG; -ENODATA when the mail has no such field.
 */
MAIL_API ssize_t mail_header(struct mail_file *file, const char *name, char *ret_value,
			     size_t size);

/* Deletes the mail at the position from this mailbox; other mailboxes keep it. -ENOMSG. */
MAIL_API int mail_delete(struct mail_file *file);

/* ---- space ---- */

/*
 * Gives back the space of one part of the log, of a fixed size, of which less than share_max percent,
 * 1 to 100, is still wanted: what is, is copied. 1 when there was one, 0 when there is none; to be
 * called again until then, when there is time for it. Mailboxes stay open, and mails that are being
 * read go on. When it fails nothing is lost, and mail_store_error() names the part.
 */
MAIL_API int mail_collect(struct mail_store *store, unsigned share_max);

#ifdef __cplusplus
}
#endif
