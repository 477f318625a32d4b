/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * syncer.h - the process that waits for the disk, so that the store process need not.
 *
 * Flow: commit.c sends a descriptor by errand.h -> fdatasync() here -> its result -> commit.c.
 *
 * It is a child of the store process, which it ends with, and can do nothing but this. Why it is a
 * process: threads are none of ours, and what a thread could do after a fault this one cannot.
 */

#include "integration/common/owner.h"

/*
 * Begins it, as that user and without a capability. *ret_fd, for errand_ask() and errand_take(), is
 * non-blocking, close-on-exec, the caller's. A status is 0 or -errno of fdatasync(). 0 or -errno.
 */
int syncer_begin(const struct owner *owner, int *ret_fd);
