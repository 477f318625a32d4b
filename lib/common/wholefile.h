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

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	WHOLEFILE_LASTS =
		1, /* it is there after a loss of power too: fsync() of it and of its directory */
	WHOLEFILE_FIRST =
		2, /* -EEXIST when there is one: what a process that is killed leaves has its name */
	WHOLEFILE_EXACT = 4, /* of that mode whatever umask is */
};

/*
 * Writes size bytes to path, which begins at the open directory directory_fd, or AT_FDCWD. how is of the
 * above. 0 or -errno: then nothing has changed, unless it was the last step of WHOLEFILE_LASTS that
 * failed, fsync() of the directory of a file that was there before. Not for two threads and the same path.
 */
int wholefile_write(int directory_fd, const char *path, const void *bytes, size_t size, mode_t mode,
		    unsigned how);

#ifdef __cplusplus
}
#endif
