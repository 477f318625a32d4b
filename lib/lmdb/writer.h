/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * writer.h - one write transaction that replaces or changes what a store has.
 *
 * Flow: zone-tools/chain/builder.c calls writer_run() with a function that puts.
 *       A table is a number, the place of its name in the kind.
 *
 * Everything that function does becomes visible to readers at once, when it
 * has returned 0 and the data is on disk; or never. A crash, a kill -9, a full
 * disk, a failing function leave the version before, complete.
 *
 * The size limit of the store grows by itself, unless its kind has a fixed one: when a
 * transaction does not fit, it is thrown away, the limit is raised, and the
 * function is called again. So it must be repeatable, and must return at once
 * whatever a writer function below returned.
 *
 * The version and the checksum are put into their places when the function has returned.
 *
 * No function here logs. One writer at a time: a second one waits.
 */

#include "lib/lmdb/store.h"

#ifdef __cplusplus
extern "C" {
#endif

struct writer;

/* Returns 0 to commit; anything else throws the transaction away. */
typedef int (*writer_fn)(struct writer *writer, void *context);

/*
 * Creates path when there is none, with the kind's mode, as its lock file.
 * Returns what fn returned, or STORE_OK, -errno (-ENOSPC, -EACCES, ...), or a
 * STORE_ status. A file that was created and never committed is removed; a
 * file that is no store is left alone.
 */
int writer_run(const char *path, const struct store_kind *kind, writer_fn fn, void *context);

/* Removes every entry of a table. */
int writer_clear(struct writer *writer, unsigned table);

/*
 * Adds or replaces. Keys that come in ascending order are appended, which is
 * faster and packs pages full.
 */
int writer_put(struct writer *writer, unsigned table, const void *key, size_t key_size,
	       const void *data, size_t size);
/* DNSBLV6_ENOTFOUND when there was none. */
int writer_delete(struct writer *writer, unsigned table, const void *key, size_t key_size);
/* As the transaction stands. Borrowed until the next call that changes it. */
int writer_get(struct writer *writer, unsigned table, const void *key, size_t key_size,
	       struct store_bytes *ret_value);

/*
 * Calls fn for every entry as the transaction stands, in order. Stops at the first
 * call that does not return 0, and returns that. fn must not change the table.
 */
typedef int (*writer_scan_fn)(void *context, struct store_bytes key, struct store_bytes value);
int writer_scan(struct writer *writer, unsigned table, writer_scan_fn fn, void *context);

/*
 * A walk over a table of the version before, whatever this transaction has
 * changed since: for finding out what has to be changed at all. Several may be
 * open at a time; each is ended with writer_walk_close(), which takes NULL, before
 * the function returns. In a new store nothing is found.
 */
struct writer_walk;
int writer_walk_open(struct writer *writer, unsigned table, struct writer_walk **ret_walk);
void writer_walk_close(struct writer_walk *walk);
/* As reader_seek(), _seek_before() and _next(). Outputs are borrowed until writer_fn returns. */
int writer_walk_seek(struct writer_walk *walk, const void *key, size_t key_size,
		     struct store_bytes *ret_key, struct store_bytes *ret_value);
int writer_walk_seek_before(struct writer_walk *walk, const void *key, size_t key_size,
			    struct store_bytes *ret_key, struct store_bytes *ret_value);
int writer_walk_next(struct writer_walk *walk, struct store_bytes *ret_key,
		     struct store_bytes *ret_value);

/*
 * Takes the file from its group and from others, at once and for good: for what they are not to
 * read. The file that is open, whatever its path names by now. 0 or -errno.
 */
int writer_hide(struct writer *writer);

/* True until the first commit into this store. */
bool writer_is_new(const struct writer *writer);

#ifdef __cplusplus
}
#endif
