/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * environment.h - one file of LMDB: checked, opened, measured. Not for others.
 *
 * Flow: reader.c and writer.c open an MDB_env here. LMDB's codes are
 *       translated here and nowhere else.
 */

#include "lib/lmdb/store.h"

#include <lmdb.h>

#include <sys/stat.h>

/* LMDB's code or errno to a status. */
int environment_status(int code);

/*
 * The one name of a store: path with its symbolic links followed, to be freed.
 * The lock file is beside it, and two lock files would let two writers in. A
 * path that does not exist yet is copied. NULL when memory ran out.
 */
char *environment_resolve(const char *path);

/*
 * Looks at a file before LMDB does: is it a regular file that could be a store?
 * STORE_ENOTSTORE, STORE_EUNFINISHED (empty), -EISDIR, -ENOENT, ...
 */
int environment_check_file(const char *path);

/*
 * Opens a resolved path whose file was checked, or is_new. flags: MDB_RDONLY or 0. The lock
 * file has its disk space before: ENOSPC is an error then and not a signal.
 * STORE_ECORRUPT when its sizes cannot be, STORE_ECUT when a page that the newest version may use
 * lies outside the file, STORE_ELOCK when nothing but the lock file refuses. *ret_env is the
 * caller's, on success only.
 */
int environment_open(const char *path, const struct store_kind *kind, unsigned flags, bool is_new,
		     MDB_env **ret_env);

/* The lock file beside a resolved path: 0 or -errno. */
int environment_stat_lock(const char *path, struct stat *ret_st);

/*
 * As mdb_txn_begin(); flags are 0 or MDB_RDONLY. When another process has
 * raised the size limit since env was opened, takes that over.
 */
int environment_begin(MDB_env *env, unsigned flags, MDB_txn **ret_txn);
