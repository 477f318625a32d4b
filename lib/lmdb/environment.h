/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * environment.h - what reader.c and writer.c share of LMDB. Not for others.
 *
 * Flow: reader.c and writer.c open an MDB_env, look at it here, and translate
 *       LMDB's codes here and nowhere else.
 */

#include "lib/lmdb/store.h"

#include <lmdb.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names of the tables inside the LMDB environment, by enum store_table. */
extern const char *const environment_tables[STORE_TABLE_COUNT];

/* The fact under which the checksum stands; see environment_sum(). */
#define ENVIRONMENT_SUM_FACT "sum"
#define ENVIRONMENT_SUM_SIZE 8

#define ENVIRONMENT_READERS 512 /* processes that may read at the same time */
/* Of the store, less umask; and of the lock file, which a reader makes when it is missing. */
#define ENVIRONMENT_FILE_MODE 0664

/*
 * The one name of a store: path with its symbolic links followed, to be freed.
 * The lock file is beside it, and two lock files would let two writers in. A
 * path that does not exist yet is copied. NULL when memory ran out.
 */
char *environment_resolve(const char *path);

/*
 * mdb_env_open() of a file, whose lock file has its disk space before: ENOSPC
 * is an error then and not a signal. In a directory that hands its group down (setgid)
 * the store is for that group, so a lock file of ours gets write permission for
 * the group whatever umask says: readers need it. Returns LMDB's code.
 */
int environment_open(MDB_env *env, const char *path, unsigned flags);

/* LMDB's code or errno to a status. */
int environment_status(int code);

/*
 * Looks at a file before LMDB does: is it a regular file that could be a store?
 * STORE_ENOTSTORE, STORE_EUNFINISHED (empty), -EISDIR, -ENOENT, ...
 */
int environment_check_file(const char *path);

/* Every page that the newest version may use lies inside the file, else STORE_ECUT. */
int environment_check_length(MDB_env *env);

/*
 * As mdb_txn_begin(); flags are 0 or MDB_RDONLY. When another process has
 * raised the size limit since env was opened, takes that over.
 */
int environment_begin(MDB_env *env, unsigned flags, MDB_txn **ret_txn);

/*
 * One entry's share of the checksum, which is the sum of all shares modulo
 * 2^64: independent of order, so a change costs what it changes. It finds
 * damage, not malice. The fact that keeps the checksum has no share.
 */
uint64_t environment_sum(enum store_table table, const MDB_val *key, const MDB_val *value);
/* The checksum as its fact has it: ENVIRONMENT_SUM_SIZE bytes, big-endian. */
void environment_put_sum(uint64_t sum, uint8_t *ret_bytes);
uint64_t environment_take_sum(const uint8_t *bytes);

#ifdef __cplusplus
}
#endif
