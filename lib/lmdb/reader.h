/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * reader.h - reading a store, one consistent version at a time.
 *
 * Flow: server/zone/zone.c asks inside one batch; dnsblv6-zone dump and check walk.
 *       A table is a number, the place of its name in the kind.
 *
 *     struct reader *reader = NULL;
 *     int ret = reader_start("bl6.mdb", &zone_store, &reader);
 *     if (ret == STORE_OK) {
 *             struct store_bytes value;
 *             ret = reader_get(reader, STORE_RECORDS, key, key_size, &value);
 *             // value is borrowed until reader_end() or reader_close()
 *     }
 *     reader_close(reader);
 *
 * Between begin and end a reader sees one version, whatever writers do; the
 * next begin sees the newest. Keep that span short: pages freed meanwhile
 * cannot be used again and the file grows. begin and end cost no allocation.
 *
 * A handle belongs to one thread of one process. It takes memory of its own
 * (returned, end with reader_close()), never logs and never waits for a writer.
 */

#include "lib/lmdb/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens path read-only and checks what can be checked in no time: that it is
 * a store of that kind and version, whole in length. Returns STORE_OK, -errno
 * (-ENOENT, -EACCES, ...) or a status above; *ret_reader on success only.
 */
int reader_open(const char *path, const struct store_kind *kind, struct reader **ret_reader);
/* The same, and within reader_begin(). */
int reader_start(const char *path, const struct store_kind *kind, struct reader **ret_reader);
/*
 * Without a lock file, so that writers do not know of it: for moments behind one that was lost, see
 * reader_lag(). It may be beside another reader of the same file in one process.
 */
int reader_open_unlocked(const char *path, const struct store_kind *kind,
			 struct reader **ret_reader);
/* Ends what has begun. Takes NULL. */
void reader_close(struct reader *reader);

int reader_begin(struct reader *reader);
void reader_end(struct reader *reader);

/*
 * Number of the version that begin() took: grows with every commit. Two equal
 * numbers mean that nothing changed in between.
 */
uint64_t reader_version(const struct reader *reader);
/*
 * How many versions the file has behind the one that begin() took; no system call. More than none at
 * once behind begin(), and again and again: the lock file that was opened is not that of writers any
 * more. What an unlocked reader has read is whole with less than 2: a writer uses no page again that
 * the version before the newest has.
 */
uint64_t reader_lag(const struct reader *reader);

/* DNSBLV6_OK, DNSBLV6_ENOTFOUND or a failure. Outputs are borrowed until reader_end(). */
int reader_get(struct reader *reader, unsigned table, const void *key, size_t key_size,
	       struct store_bytes *ret_value);
/* The first entry whose key is key or greater. key_size 0: the first of all. */
int reader_seek(struct reader *reader, unsigned table, const void *key, size_t key_size,
		struct store_bytes *ret_key, struct store_bytes *ret_value);
/* The last entry whose key is less than key. */
int reader_seek_before(struct reader *reader, unsigned table, const void *key, size_t key_size,
		       struct store_bytes *ret_key, struct store_bytes *ret_value);
/* The entry behind the one that was found last in this table, reader_get() apart. */
int reader_next(struct reader *reader, unsigned table, struct store_bytes *ret_key,
		struct store_bytes *ret_value);
/* The entry before it; and the last of all, for when seek has found none. */
int reader_prev(struct reader *reader, unsigned table, struct store_bytes *ret_key,
		struct store_bytes *ret_value);
int reader_last(struct reader *reader, unsigned table, struct store_bytes *ret_key,
		struct store_bytes *ret_value);

/*
 * Reads everything and compares it with the checksum that the writer keeps.
 * STORE_ECORRUPT when it differs. A file whose inner pages were overwritten
 * can make LMDB crash: call this in a child process, as verify.h does. Between begin and end; costs
 * a walk of the file.
 */
int reader_verify(struct reader *reader);

/*
 * Do writers know of this reader? On a file system that is read-only here LMDB goes without its lock
 * file: a writer elsewhere may write over what is being read. Behind the first begin.
 */
bool reader_is_locked(const struct reader *reader);

/*
 * Is path still the file that was opened? False when it was deleted or another
 * file was moved to its place. A system call; between or outside begin and end.
 */
bool reader_is_current(const struct reader *reader);

/*
 * Is the lock file beside path still what it was then? Behind another one, or none, this reader
 * learns of no newer version, and writers may write over what it reads.
 */
bool reader_has_its_lock(const struct reader *reader);

#ifdef __cplusplus
}
#endif
