/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mailfile.h - a file's whole content as bytes in memory.
 *
 * Flow: deliver and import -> here -> maillayer_deliver(), which reads it twice.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct mailfile {
	uint8_t *bytes;
	size_t size;
	size_t room;
};

/* Reads a descriptor to its end. 0 or -errno; mailfile_free() in any case. */
int mailfile_read(int fd, struct mailfile *ret_file);
/* Reads on behind what is there until the file has room bytes. */
int mailfile_fill(int fd, size_t room, struct mailfile *file, bool *ret_is_end);
/* Reads a regular file, and when it was written last. mailfile_free() in any case. */
int mailfile_open(const char *path, struct mailfile *ret_file, time_t *ret_mtime);
void mailfile_free(struct mailfile *file);
