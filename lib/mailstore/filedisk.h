/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * filedisk.h - the objects of a mail store as files of one directory.
 *
 * Flow: mailstore.c -> disk.h -> the directory "log" of a store.
 *
 * An object's file has its number as sixteen hexadecimal digits. Other files are left alone. What root makes
 * belongs to the owner of the directory that it is in.
 */

#include "lib/mailstore/disk.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Makes a directory for objects, or one that such a directory is in, when it is not there: mode 0700,
 * and on disk by its name. 0 or -errno.
 */
int filedisk_make(const char *path);
/* The name of what is at path is there after a loss of power. 0 or -errno. */
int filedisk_sync_parent(const char *path);
/*
 * Opens a directory, which is there, for its one writer: -EBUSY while another process has it, until
 * that ends or calls close(). 0 or -errno; *ret_disk on success only, to be ended with its close().
 */
int filedisk_open(const char *path, struct disk **ret_disk);

#ifdef __cplusplus
}
#endif
