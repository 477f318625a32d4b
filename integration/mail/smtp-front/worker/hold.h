/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * hold.h - a mail that is kept until its verdict is there.
 *
 * Flow: parcel.c, when a verdict may add a header field or change the recipients -> hold_open(),
 *       hold_append() in place of the sink -> the verdict -> hold_read() -> the sink.
 *
 * The bytes lie in a memfd: memory of the system, not a file, gone with the process. A mail that is
 * only taken or refused is never kept.
 *
 * For one thread. Nothing is logged.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* fd -1: nothing is held. */
struct hold {
	int fd;
};

/* 0 or -errno. */
int hold_open(struct hold *ret_hold);
/* Takes one that is not open. */
void hold_close(struct hold *hold);

/* 0 or -errno; -ENOSPC when the system has no memory for it. */
int hold_append(struct hold *hold, const uint8_t *bytes, size_t size);
/* Up to size bytes from offset on. How many, 0 at the end, or -errno. */
ssize_t hold_read(const struct hold *hold, uint64_t offset, uint8_t *ret_bytes, size_t size);

#ifdef __cplusplus
}
#endif
