/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * syncer.h - the process that waits for the disk, so that the store process need not.
 *
 * Flow: commit.c sends a descriptor -> fdatasync() here -> its result, 4 bytes -> commit.c.
 *
 * It is a child of the store process, which it ends with, and can do nothing but this. Why it is a
 * process: threads are none of ours, and what a thread could do after a fault this one cannot.
 */

#include "integration/common/owner.h"

#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Begins it, as that user and without a capability. *ret_fd is non-blocking, close-on-exec, the
 * caller's. Its process or -errno.
 */
pid_t syncer_begin(const struct owner *owner, int *ret_fd);
/* Gives it a descriptor, which stays the caller's. 0 or -errno. */
int syncer_ask(int fd, int descriptor);
/* 1 with the result, 0 or -errno of fdatasync(); -EAGAIN; -ECONNRESET when it has ended. */
int syncer_take(int fd, int *ret_status);

#ifdef __cplusplus
}
#endif
