/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * wholefile.h - a file that is there in full, or as it was before.
 *
 * Flow: a program has all bytes of a file -> wholefile_write() -> they are written beside it, and take
 *       its name when they are complete.
 *
 * Beside it is its name with ".new-" and the process id behind, so that two processes that write the
 * same file do not write into each other's. One that is killed meanwhile leaves that.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/* It is there after a loss of power too: fsync() of it and of its directory. */
	WHOLEFILE_LASTS = 1,
	/* -EEXIST when there is one, and it stays. */
	WHOLEFILE_FIRST = 2,
	/* Of that mode whatever umask is. */
	WHOLEFILE_EXACT = 4,
};

/*
 * Writes size bytes to path, which begins at the open directory directory_fd, or AT_FDCWD. how is of the
 * above. 0 or -errno, such as -ENOSPC: then all is as it was, but when fsync() of the directory has failed
 * the new file is in place, where WHOLEFILE_FIRST has not removed it. Two threads may write at once, but
 * not the same path.
 */
int wholefile_write(int directory_fd, const char *path, const void *bytes, size_t size, mode_t mode,
		    unsigned how);

/* All bytes into fd, which blocks. 0, or -errno when some are not there. */
int wholefile_put(int fd, const void *bytes, size_t size);

/* From fd, which blocks, up to its end, but max bytes at most. How many, or -errno. */
ssize_t wholefile_take(int fd, void *ret_bytes, size_t max);

/* Is path itself the name of a pipe? Opening it would wait for a writer; a shell's /dev/fd/63 has one. */
bool wholefile_is_fifo(const char *path);

/* The size bytes from offset at on. 0, -ENODATA when the file ends before, or -errno. */
int wholefile_get(int fd, uint64_t at, void *ret_bytes, size_t size);

#ifdef __cplusplus
}
#endif
