/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_build.h - one transaction that replaces a whole database of recipients.
 *
 * Flow: smtp-front-users reads lists, line by line -> here -> readers of users.h see it at their
 *       next question.
 *
 * The file stays the same file. Everything becomes visible at once, when it is on disk; or never:
 * a crash, a kill -9, a full disk leave the list before, complete. Pages of the list before are
 * used again by a later build, when no reader holds them any more, so that the file is a few times
 * as large as a list. One builder at a time: a second one waits.
 *
 *     static int fill(struct users_builder *build, void *context)
 *     {
 *             return users_build_add(build, "john@example.org", 16);
 *     }
 *     struct users_builder build = { .facts = { .folds_case = true }, .max_shrink_percent = 50 };
 *     int ret = users_build(path, &build, fill, NULL);
 *
 * Logs nothing; what it opens it closes.
 */

#include "integration/mail/base/users/users_list.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Up to nine entries may go, as long as that is at most 50 % of the list, whatever max_shrink_percent says: a
 * list may begin small.
 */
#define USERS_BUILD_SMALL_CHANGE  10
#define USERS_BUILD_SMALL_PERCENT 50

struct writer;

struct users_builder {
	struct users_facts facts; /* in: how, and when; the counts when it is done */
	/* By how much recipients, and domains, may become fewer: a list may be cut, or the wrong
	 * one. */
	unsigned max_shrink_percent;
	/* With USERS_ESHRINK: what would. */
	const char *unit; /* "recipients" or "domains"; static */
	uint64_t before;
	uint64_t now;
	/*
	 * Hears of each target that is no mailbox of the list, or NULL: with fill's context the key
	 * of the alias, the target as its item has it, and USERS_ENOMAILBOX or USERS_ETOALIAS. Then
	 * the status is USERS_EREFUSED.
	 */
	void (*refuse)(void *context, struct store_bytes alias, struct store_bytes target,
		       int status);
	bool drops_secrets;    /* in: passwords of the list are not written */
	bool has_aliases;      /* of users_build() alone */
	bool has_secrets;      /* out: there was a password= or scram= */
	struct writer *writer; /* of users_build() alone */
};

/* Adds all lines; called once. 0, or a status that leaves the list before as it is. */
typedef int (*users_build_fn)(struct users_builder *build, void *context);

/*
 * Creates path when there is none (mode 0644 less umask, as its lock file). Returns 0, -errno
 * (-ENOSPC, -EACCES, ...), a status of lib/lmdb, USERS_ESHRINK, USERS_EREFUSED or what fill returned.
 * A file that was created and never committed is removed; a file that is no database of recipients
 * is left alone, as is one of another version.
 *
 * With the first secret that comes, the file becomes its owner's alone: no other may read or write
 * it, and that stays so, whatever the transaction comes to and later lists have. The lock file keeps
 * its mode; there is nothing of a list in it. -EPERM: the file is another's.
 */
int users_build(const char *path, struct users_builder *build, users_build_fn fill, void *context);

/*
 * For fill: adds the entry of a line, and its domain. What is there already is no harm, unless it
 * has other settings: USERS_EOTHER. After that and after a status of users_list_parse() nothing was
 * added and more lines may be, after any other none.
 */
int users_build_add(struct users_builder *build, const char *line, size_t size);

#ifdef __cplusplus
}
#endif
