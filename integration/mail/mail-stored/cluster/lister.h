/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * lister.h - the process that makes the users' databases of a node, of a list that the cluster has.
 *
 * Flow: mend.c has a new list -> its memory -> here: users_copy_build() -> readers of users.h see it at
 *       their next question; a status -> mend.c.
 *
 * It is a process as LMDB must not have a file open twice in one, and the store process reads one of the
 * databases. It begins before that has threads, ends with it, and can write nothing but the files'
 * directories.
 */

#include "integration/mail/mail-stored/stored_setup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* *ret_fd is close-on-exec, the caller's; to close it ends the process. 0 or -errno. */
int lister_begin(const struct stored_setup *setup, int *ret_fd);

/*
 * Waits, for LISTER_TIMEOUT_MS at most. 0, a status of users_status.h, -ECONNRESET when it has ended, or
 * another -errno; behind that and -ETIMEDOUT it is of no use any more.
 */
#define LISTER_TIMEOUT_MS 120000
int lister_build(int fd, const void *list, size_t size);

#ifdef __cplusplus
}
#endif
