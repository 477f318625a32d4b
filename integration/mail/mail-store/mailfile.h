/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mailfile.h - a file's whole content as bytes in memory.
 *
 * Flow: deliver and import -> here -> mailstore_deliver(), which reads it twice.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mailfile {
	uint8_t *bytes;
	size_t size;
	bool is_mapped;
};

/* Reads a descriptor to its end. 0 or -errno; mailfile_free() in any case. */
int mailfile_read(int fd, struct mailfile *ret_file);
/*
 * The same of what may be longer than memory, mapped where that can be: a file that another process cuts
 * meanwhile, or that the disk does not give, ends this one.
 */
int mailfile_map(int fd, struct mailfile *ret_file);
/* The same of a regular file, and when it was written last. */
int mailfile_open(const char *path, struct mailfile *ret_file, time_t *ret_mtime);
void mailfile_free(struct mailfile *file);
/* Have both files the same bytes? False also when one cannot be read. */
bool mailfile_is_same(const char *path, const char *other_path);

#ifdef __cplusplus
}
#endif
