/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * entries.h - tables, their entries, and these entries' share of the checksum. Not for others.
 *
 * Flow: reader.c, and writer.c for what it writes and for the version before.
 *
 * What is found is borrowed until the transaction ends or changes the table.
 */

#include "lib/lmdb/store.h"

#include <lmdb.h>

/*
 * Handles of the kind's tables, kind->table_count of them. They outlive the
 * transaction only when it commits. DNSBLV6_ENOTFOUND when one is not there.
 */
int entries_find_tables(MDB_txn *txn, const struct store_kind *kind, MDB_dbi *ret_tables);

/*
 * Is it a store of this kind and version? STORE_EUNFINISHED when nothing was
 * ever put into it, STORE_ENOTSTORE, STORE_ESCHEMA.
 */
int entries_check_kind(MDB_txn *txn, const struct store_kind *kind);

/* Bytes for LMDB, which does not write through what it is given. */
MDB_val entries_val(const void *data, size_t size);

/* STORE_OK, DNSBLV6_ENOTFOUND or a failure; so do all below. */
int entries_get(MDB_txn *txn, MDB_dbi table, const void *key, size_t key_size,
		struct store_bytes *ret_value);

struct entries_walk {
	MDB_cursor *cursor;  /* its opener's */
	uint64_t step_count; /* since it began or sought; 0 at first */
};
/* The first entry whose key is key or greater. key_size 0: the first of all. */
int entries_seek(struct entries_walk *walk, const void *key, size_t key_size,
		 struct store_bytes *ret_key, struct store_bytes *ret_value);
/* The last entry whose key is less than key. */
int entries_seek_before(struct entries_walk *walk, const void *key, size_t key_size,
			struct store_bytes *ret_key, struct store_bytes *ret_value);
/*
 * op: MDB_NEXT, MDB_PREV, MDB_FIRST or MDB_LAST. Damaged pages may lead over the same entries again
 * and again: STORE_ECORRUPT when a walk is longer than the table.
 */
int entries_step(struct entries_walk *walk, MDB_cursor_op op, struct store_bytes *ret_key,
		 struct store_bytes *ret_value);

/*
 * One entry's share of the checksum, which is the sum of all shares modulo
 * 2^64: independent of order, so a change costs what it changes. The entry
 * that keeps the checksum has no share.
 */
uint64_t entries_share(const struct store_kind *kind, unsigned table, struct store_bytes key,
		       struct store_bytes value);
/*
 * The shares of all entries of a table, from the cursor's first to its last. is_mapped: the pages
 * are those of the file, as no transaction writes, and their heads are looked at: STORE_ECORRUPT.
 */
int entries_sum(const struct store_kind *kind, unsigned table, MDB_cursor *cursor, bool is_mapped,
		uint64_t *ret_sum);

/*
 * Are the pages that may be written again some that there can be? STORE_ECORRUPT: a writer would
 * end over them, or write where it must not; and are the heads of the pages that say so as a writer needs
 * them, which would write over what is there? The checksum is over entries and knows no pages.
 */
int entries_check_freed(MDB_txn *txn);

/* The number of size bytes at that place of value, 0 when the value ends before it. Returns whether
 * the value has the size that it should. */
bool entries_take(const struct store_place *place, struct store_bytes value, unsigned size,
		  uint64_t *ret_number);
