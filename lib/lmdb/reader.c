/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/lmdb/reader.h"

#include "lib/lmdb/branches.h"
#include "lib/lmdb/entries.h"
#include "lib/lmdb/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct reader {
	const struct store_kind *kind;
	MDB_env *env;
	MDB_txn *txn; /* reset between end and begin, renewed by begin */
	MDB_dbi tables[STORE_TABLES_MAX];
	struct entries_walk walks[STORE_TABLES_MAX];
	bool has_begun;
	char *path;
	struct stat opened; /* the file as it was opened */
	bool has_lock;	    /* was there a lock file beside it? */
	struct stat lock;
};

/* ---- open and close ---- */

/* The version first: another one may have other tables. */
static int find_tables(struct reader *reader, MDB_txn *txn)
{
	int ret = entries_check_kind(txn, reader->kind);
	if (ret == STORE_OK)
		ret = entries_find_tables(txn, reader->kind, reader->tables);
	return ret == DNSBLV6_ENOTFOUND ? STORE_ECORRUPT : ret;
}

/*
 * The lock file says which version is the newest, and that of another file one that this does not have: LMDB would take
 * an older one, or none.
 */
static bool has_foreign_lock(const struct reader *reader, MDB_txn *txn)
{
	MDB_envinfo info;
	return mdb_env_info(reader->env, &info) == MDB_SUCCESS &&
	       mdb_txn_id(txn) > info.me_last_txnid;
}

/* Handles of tables outlive the transaction that opened them only if it commits. */
static int open_tables(struct reader *reader)
{
	MDB_txn *txn = NULL;
	int ret = environment_begin(reader->env, MDB_RDONLY, &txn);
	if (ret != STORE_OK)
		return ret;
	ret = has_foreign_lock(reader, txn) ? STORE_EMOVED : find_tables(reader, txn);
	if (ret != STORE_OK) {
		mdb_txn_abort(txn);
		return ret;
	}
	return environment_status(mdb_txn_commit(txn));
}

/* This transaction takes the place among the readers, which is kept. */
static int open_cursors(struct reader *reader)
{
	int ret = environment_begin(reader->env, MDB_RDONLY, &reader->txn);
	if (ret != STORE_OK)
		return ret;
	int code = MDB_SUCCESS;
	for (unsigned i = 0; code == MDB_SUCCESS && i < reader->kind->table_count; i++)
		code = mdb_cursor_open(reader->txn, reader->tables[i], &reader->walks[i].cursor);
	mdb_txn_reset(reader->txn);
	return environment_status(code);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The path as it was given is kept: where it leads to may change. */
static int open_resolved(struct reader *reader, unsigned flags)
{
	char *resolved = environment_resolve(reader->path);
	if (resolved == NULL)
		return -ENOMEM;
	struct stat before;
	const bool had_lock = environment_stat_lock(resolved, &before) == 0;
	int ret = environment_open(resolved, reader->kind, MDB_RDONLY | flags, false, &reader->env);
	reader->has_lock = environment_stat_lock(resolved, &reader->lock) == 0;
	/* Which of two was opened is not known: neither is this reader's. */
	if (had_lock && !is_same_file(&before, &reader->lock))
		reader->lock = (struct stat){ 0 };
	free(resolved);
	return ret;
}

static int open_all(struct reader *reader, unsigned flags)
{
	int fd;
	int ret = open_resolved(reader, flags);
	if (ret == STORE_OK)
		ret = open_tables(reader);
	if (ret == STORE_OK)
		ret = open_cursors(reader);
	if (ret == STORE_OK &&
	    (mdb_env_get_fd(reader->env, &fd) != MDB_SUCCESS || fstat(fd, &reader->opened) != 0))
		ret = -EIO;
	return ret;
}

static int open_flagged(const char *path, const struct store_kind *kind, unsigned flags,
			struct reader **ret_reader)
{
	int ret = environment_check_file(path);
	if (ret != STORE_OK)
		return ret;
	struct reader *reader = calloc(1, sizeof(*reader));
	if (reader == NULL)
		return -ENOMEM;

	reader->kind = kind;
	reader->path = strdup(path);
	ret = reader->path != NULL ? open_all(reader, flags) : -ENOMEM;
	if (ret != STORE_OK) {
		reader_close(reader);
		return ret;
	}
	*ret_reader = reader;
	return STORE_OK;
}

int reader_open(const char *path, const struct store_kind *kind, struct reader **ret_reader)
{
	return open_flagged(path, kind, 0, ret_reader);
}

int reader_open_unlocked(const char *path, const struct store_kind *kind,
			 struct reader **ret_reader)
{
	return open_flagged(path, kind, MDB_NOLOCK, ret_reader);
}

void reader_close(struct reader *reader)
{
	if (reader == NULL)
		return;
	for (unsigned i = 0; i < reader->kind->table_count; i++) {
		if (reader->walks[i].cursor != NULL)
			mdb_cursor_close(reader->walks[i].cursor);
	}
	if (reader->txn != NULL)
		mdb_txn_abort(reader->txn);
	if (reader->env != NULL)
		mdb_env_close(reader->env);
	free(reader->path);
	free(reader);
}

int reader_start(const char *path, const struct store_kind *kind, struct reader **ret_reader)
{
	struct reader *reader = NULL;
	int ret = reader_open(path, kind, &reader);
	if (ret == STORE_OK)
		ret = reader_begin(reader);
	if (ret == STORE_OK)
		*ret_reader = reader;
	else
		reader_close(reader);
	return ret;
}

bool reader_is_current(const struct reader *reader)
{
	struct stat st;
	return stat(reader->path, &st) == 0 && is_same_file(&st, &reader->opened);
}

bool reader_has_its_lock(const struct reader *reader)
{
	struct stat st;
	char *resolved = environment_resolve(reader->path);
	bool has_lock = resolved != NULL && environment_stat_lock(resolved, &st) == 0;
	free(resolved);
	return has_lock ? reader->has_lock && is_same_file(&st, &reader->lock) : !reader->has_lock;
}

bool reader_is_locked(const struct reader *reader)
{
	MDB_envinfo info;
	/* It has a place of its own in the lock file, when there is one. */
	return mdb_env_info(reader->env, &info) != MDB_SUCCESS || info.me_numreaders > 0;
}

/* ---- one version ---- */

/* A writer in another process has raised the size limit: take it over. */
static int renew(struct reader *reader)
{
	int code = mdb_txn_renew(reader->txn);
	if (code != MDB_MAP_RESIZED)
		return environment_status(code);
	code = mdb_env_set_mapsize(reader->env, 0);
	if (code == MDB_SUCCESS)
		code = mdb_txn_renew(reader->txn);
	return environment_status(code);
}

static int renew_cursors(struct reader *reader)
{
	int code = MDB_SUCCESS;
	for (unsigned i = 0; code == MDB_SUCCESS && i < reader->kind->table_count; i++)
		code = mdb_cursor_renew(reader->txn, reader->walks[i].cursor);
	return environment_status(code);
}

int reader_begin(struct reader *reader)
{
	int ret = renew(reader);
	if (ret != STORE_OK)
		return ret;
	reader->has_begun = true;
	ret = renew_cursors(reader);
	if (ret != STORE_OK)
		reader_end(reader);
	return ret;
}

void reader_end(struct reader *reader)
{
	if (reader->has_begun)
		mdb_txn_reset(reader->txn);
	reader->has_begun = false;
}

uint64_t reader_version(const struct reader *reader)
{
	return mdb_txn_id(reader->txn);
}

uint64_t reader_lag(const struct reader *reader)
{
	MDB_envinfo info;
	const uint64_t version = reader_version(reader);
	const bool has_newer =
		mdb_env_info(reader->env, &info) == MDB_SUCCESS && info.me_last_txnid > version;
	return has_newer ? info.me_last_txnid - version : 0;
}

/* ---- entries ---- */

int reader_get(struct reader *reader, unsigned table, const void *key, size_t key_size,
	       struct store_bytes *ret_value)
{
	/* Not through the cursor: that would move the walk of this table. */
	return entries_get(reader->txn, reader->tables[table], key, key_size, ret_value);
}

int reader_seek(struct reader *reader, unsigned table, const void *key, size_t key_size,
		struct store_bytes *ret_key, struct store_bytes *ret_value)
{
	return entries_seek(&reader->walks[table], key, key_size, ret_key, ret_value);
}

int reader_seek_before(struct reader *reader, unsigned table, const void *key, size_t key_size,
		       struct store_bytes *ret_key, struct store_bytes *ret_value)
{
	return entries_seek_before(&reader->walks[table], key, key_size, ret_key, ret_value);
}

int reader_next(struct reader *reader, unsigned table, struct store_bytes *ret_key,
		struct store_bytes *ret_value)
{
	return entries_step(&reader->walks[table], MDB_NEXT, ret_key, ret_value);
}

int reader_prev(struct reader *reader, unsigned table, struct store_bytes *ret_key,
		struct store_bytes *ret_value)
{
	return entries_step(&reader->walks[table], MDB_PREV, ret_key, ret_value);
}

int reader_last(struct reader *reader, unsigned table, struct store_bytes *ret_key,
		struct store_bytes *ret_value)
{
	return entries_step(&reader->walks[table], MDB_LAST, ret_key, ret_value);
}

/* ---- verify ---- */

int reader_verify(struct reader *reader)
{
	const struct store_kind *kind = reader->kind;
	struct store_bytes kept;
	uint64_t kept_sum;
	uint64_t sum = 0;

	for (unsigned i = 0; i < kind->table_count; i++) {
		uint64_t share;
		int ret = entries_sum(kind, i, reader->walks[i].cursor, true, &share);
		if (ret == STORE_OK && kind->tables[i] != NULL)
			ret = branches_check(reader->txn, kind->tables[i]);
		if (ret != STORE_OK)
			return ret;
		sum += share;
	}
	int ret = reader_get(reader, kind->head_table, kind->sum_place.key,
			     strlen(kind->sum_place.key), &kept);
	if (ret != STORE_OK)
		return ret == DNSBLV6_ENOTFOUND ? STORE_ECORRUPT : ret;
	bool is_whole = entries_take(&kind->sum_place, kept, 8, &kept_sum);
	return is_whole && kept_sum == sum ? entries_check_freed(reader->txn) : STORE_ECORRUPT;
}
