/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/lmdb/writer.h"

#include "lib/format/bytes.h"
#include "lib/lmdb/entries.h"
#include "lib/lmdb/environment.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT_LAST   (SIZE_MAX / 16)
#define LIMIT_GROWTH 8	 /* each time costs what has been written so far */
#define KEY_MAX	     511 /* LMDB's */

/* The greatest key put into a table since it was cleared: what lies behind it is appended. */
struct tail {
	bool is_known;
	size_t key_size;
	uint8_t key[KEY_MAX];
};

struct writer {
	const struct store_kind *kind;
	MDB_txn *txn;
	MDB_dbi tables[STORE_TABLES_MAX];
	struct tail tails[STORE_TABLES_MAX];
	MDB_txn *old; /* the version before; NULL in a new store */
	uint64_t sum;
	bool is_new;
};

/* ---- what a writer_fn calls ---- */

bool writer_is_new(const struct writer *writer)
{
	return writer->is_new;
}

int writer_hide(struct writer *writer)
{
	struct stat st;
	int fd;
	int code = mdb_env_get_fd(mdb_txn_env(writer->txn), &fd);
	if (code != MDB_SUCCESS)
		return environment_status(code);
	if (fstat(fd, &st) != 0)
		return -errno;
	if ((st.st_mode & (S_IRWXG | S_IRWXO)) == 0)
		return STORE_OK;
	return fchmod(fd, st.st_mode & S_IRWXU) == 0 ? STORE_OK : -errno;
}

int writer_get(struct writer *writer, unsigned table, const void *key, size_t key_size,
	       struct store_bytes *ret_value)
{
	return entries_get(writer->txn, writer->tables[table], key, key_size, ret_value);
}

static bool is_behind(const struct tail *tail, const void *key, size_t key_size)
{
	size_t shared = key_size < tail->key_size ? key_size : tail->key_size;
	int order = memcmp(key, tail->key, shared);
	return order > 0 || (order == 0 && key_size > tail->key_size);
}

static void move_tail(struct tail *tail, const void *key, size_t key_size)
{
	memcpy(tail->key, key, key_size);
	tail->key_size = key_size;
}

/* Takes the share of an entry out of the checksum, if there is one. */
static int forget(struct writer *writer, unsigned table, struct store_bytes key)
{
	struct store_bytes old;
	int ret = writer_get(writer, table, key.data, key.size, &old);
	if (ret == STORE_OK)
		writer->sum -= entries_share(writer->kind, table, key, old);
	return ret;
}

int writer_put(struct writer *writer, unsigned table, const void *key, size_t key_size,
	       const void *data, size_t size)
{
	struct tail *tail = &writer->tails[table];
	const struct store_bytes entry = { key, key_size };
	MDB_val k = entries_val(key, key_size);
	MDB_val v = entries_val(data, size);
	unsigned flags = 0;

	if (key_size == 0 || key_size > sizeof(tail->key))
		return DNSBLV6_EKEY;
	if (tail->is_known && is_behind(tail, key, key_size)) {
		flags = MDB_APPEND;
		move_tail(tail, key, key_size);
	} else {
		int ret = forget(writer, table, entry);
		if (ret != STORE_OK && ret != DNSBLV6_ENOTFOUND)
			return ret;
	}
	int code = mdb_put(writer->txn, writer->tables[table], &k, &v, flags);
	if (code == MDB_SUCCESS)
		writer->sum += entries_share(writer->kind, table, entry,
					     (struct store_bytes){ data, size });
	return environment_status(code);
}

int writer_delete(struct writer *writer, unsigned table, const void *key, size_t key_size)
{
	MDB_val k = entries_val(key, key_size);
	int ret = forget(writer, table, (struct store_bytes){ key, key_size });
	if (ret != STORE_OK)
		return ret;
	return environment_status(mdb_del(writer->txn, writer->tables[table], &k, NULL));
}

int writer_scan(struct writer *writer, unsigned table, writer_scan_fn fn, void *context)
{
	struct entries_walk walk = { 0 };
	struct store_bytes key;
	struct store_bytes value;
	int code = mdb_cursor_open(writer->txn, writer->tables[table], &walk.cursor);
	if (code != MDB_SUCCESS)
		return environment_status(code);
	int ret = STORE_OK;
	int found = entries_step(&walk, MDB_FIRST, &key, &value);
	while (found == STORE_OK && ret == STORE_OK) {
		ret = fn(context, key, value);
		if (ret == STORE_OK)
			found = entries_step(&walk, MDB_NEXT, &key, &value);
	}
	mdb_cursor_close(walk.cursor);
	if (ret != STORE_OK)
		return ret;
	return found == DNSBLV6_ENOTFOUND ? STORE_OK : found;
}

static int sum_table(struct writer *writer, unsigned table, uint64_t *ret_sum)
{
	MDB_cursor *cursor;
	int code = mdb_cursor_open(writer->txn, writer->tables[table], &cursor);
	if (code != MDB_SUCCESS)
		return environment_status(code);
	int ret = entries_sum(writer->kind, table, cursor, false, ret_sum);
	mdb_cursor_close(cursor);
	return ret;
}

int writer_clear(struct writer *writer, unsigned table)
{
	uint64_t share = 0;
	int ret = sum_table(writer, table, &share);
	if (ret != STORE_OK)
		return ret;
	writer->sum -= share;
	writer->tails[table] = (struct tail){ .is_known = true };
	return environment_status(mdb_drop(writer->txn, writer->tables[table], 0));
}

/* ---- the version before ---- */

struct writer_walk {
	struct entries_walk old; /* its cursor is NULL in a new store */
};

int writer_walk_open(struct writer *writer, unsigned table, struct writer_walk **ret_walk)
{
	struct writer_walk *walk = calloc(1, sizeof(*walk));
	if (walk == NULL)
		return -ENOMEM;
	int code = MDB_SUCCESS;
	if (writer->old != NULL)
		code = mdb_cursor_open(writer->old, writer->tables[table], &walk->old.cursor);
	if (code != MDB_SUCCESS) {
		free(walk);
		return environment_status(code);
	}
	*ret_walk = walk;
	return STORE_OK;
}

void writer_walk_close(struct writer_walk *walk)
{
	if (walk != NULL && walk->old.cursor != NULL)
		mdb_cursor_close(walk->old.cursor);
	free(walk);
}

int writer_walk_seek(struct writer_walk *walk, const void *key, size_t key_size,
		     struct store_bytes *ret_key, struct store_bytes *ret_value)
{
	if (walk->old.cursor == NULL)
		return DNSBLV6_ENOTFOUND;
	return entries_seek(&walk->old, key, key_size, ret_key, ret_value);
}

int writer_walk_seek_before(struct writer_walk *walk, const void *key, size_t key_size,
			    struct store_bytes *ret_key, struct store_bytes *ret_value)
{
	if (walk->old.cursor == NULL)
		return DNSBLV6_ENOTFOUND;
	return entries_seek_before(&walk->old, key, key_size, ret_key, ret_value);
}

int writer_walk_next(struct writer_walk *walk, struct store_bytes *ret_key,
		     struct store_bytes *ret_value)
{
	if (walk->old.cursor == NULL)
		return DNSBLV6_ENOTFOUND;
	return entries_step(&walk->old, MDB_NEXT, ret_key, ret_value);
}

/* ---- the transaction ---- */

/*
 * Handles of the tables, if they exist; they outlive this transaction because
 * it commits. A handle that the write transaction opened is not for others.
 */
static int find_tables(MDB_env *env, const struct store_kind *kind, bool *ret_are_there)
{
	MDB_txn *txn;
	MDB_dbi tables[STORE_TABLES_MAX];
	int ret = environment_begin(env, MDB_RDONLY, &txn);
	if (ret != STORE_OK)
		return ret;
	ret = entries_find_tables(txn, kind, tables);
	*ret_are_there = ret == STORE_OK;
	if (ret == STORE_OK || ret == DNSBLV6_ENOTFOUND)
		return environment_status(mdb_txn_commit(txn));
	mdb_txn_abort(txn);
	return ret;
}

static int open_tables(struct writer *writer)
{
	int code = MDB_SUCCESS;
	for (unsigned i = 0; code == MDB_SUCCESS && i < writer->kind->table_count; i++)
		code = mdb_dbi_open(writer->txn, writer->kind->tables[i], MDB_CREATE,
				    &writer->tables[i]);
	return environment_status(code);
}

static int load_sum(struct writer *writer)
{
	const struct store_kind *kind = writer->kind;
	struct store_bytes kept;
	int ret = writer_get(writer, kind->head_table, kind->sum_place.key,
			     strlen(kind->sum_place.key), &kept);
	if (ret == STORE_OK && entries_take(&kind->sum_place, kept, 8, &writer->sum))
		return STORE_OK;
	return ret == STORE_OK || ret == DNSBLV6_ENOTFOUND ? STORE_ECORRUPT : ret;
}

/* What else is in the value stays. */
static int put_number(struct writer *writer, const struct store_place *place, uint64_t number,
		      unsigned size)
{
	uint8_t value[STORE_HEAD_MAX] = { 0 };
	struct store_bytes kept = { 0 };
	unsigned table = writer->kind->head_table;
	int ret = writer_get(writer, table, place->key, strlen(place->key), &kept);
	if (ret != STORE_OK && ret != DNSBLV6_ENOTFOUND)
		return ret;
	if (kept.size == place->value_size)
		memcpy(value, kept.data, kept.size);
	uint8_t *out = value + place->offset;
	bytes_put(&out, number, size);
	return writer_put(writer, table, place->key, strlen(place->key), value, place->value_size);
}

/* The checksum last: the version has a share in it, unless both are in one entry. */
static int put_head(struct writer *writer)
{
	const struct store_kind *kind = writer->kind;
	int ret = put_number(writer, &kind->version_place, kind->version, 4);
	return ret == STORE_OK ? put_number(writer, &kind->sum_place, writer->sum, 8) : ret;
}

/*
 * LMDB never writes a page that one transaction has taken at the end of the
 * file and freed again, so the file may end before the last page of a whole
 * version, and look as if it had been cut short. Therefore it is as long as
 * the map while a transaction runs (a hole: no disk is used), and afterwards
 * as long as the newest version says. A writer killed in between leaves it
 * too long, never too short, and the next writer cuts it. Called inside a
 * write transaction, so that no other writer is behind the end.
 */
static int set_length(MDB_env *env, bool is_writing)
{
	MDB_envinfo info;
	MDB_stat stat_;
	int fd;
	int code = mdb_env_info(env, &info);
	if (code == MDB_SUCCESS)
		code = mdb_env_stat(env, &stat_);
	if (code == MDB_SUCCESS)
		code = mdb_env_get_fd(env, &fd);
	if (code != MDB_SUCCESS)
		return environment_status(code);
	size_t size = is_writing ? info.me_mapsize : (info.me_last_pgno + 1) * stat_.ms_psize;
	return ftruncate(fd, (off_t)size) == 0 ? STORE_OK : -errno;
}

/*
 * The version before is begun after the write transaction, so that nothing is committed in between;
 * its tables must have been opened by a transaction that has ended: see find_tables().
 */
static int prepare(struct writer *writer, MDB_env *env, bool has_tables)
{
	int ret = entries_check_kind(writer->txn, writer->kind);
	writer->is_new = ret == STORE_EUNFINISHED;
	if (ret == STORE_OK || writer->is_new)
		ret = set_length(env, true);
	if (ret == STORE_OK)
		ret = open_tables(writer);
	if (ret != STORE_OK || writer->is_new)
		return ret;
	if (!has_tables)
		return STORE_ECORRUPT;
	ret = load_sum(writer);
	return ret == STORE_OK ? environment_begin(env, MDB_RDONLY, &writer->old) : ret;
}

/* True when nothing was ever committed: then there are no tables yet. */
static bool is_unused(MDB_env *env)
{
	MDB_envinfo info;
	return mdb_env_info(env, &info) == MDB_SUCCESS && info.me_last_txnid == 0;
}

/*
 * A write transaction, in which the tables have handles if they exist. Another
 * writer may make them between the two looks, but only once.
 */
static int begin(MDB_env *env, struct writer *writer, bool *ret_has_tables)
{
	int ret = STORE_OK;
	for (int tries = 0; tries < 2; tries++) {
		ret = find_tables(env, writer->kind, ret_has_tables);
		if (ret == STORE_OK)
			ret = environment_begin(env, 0, &writer->txn);
		if (ret != STORE_OK || *ret_has_tables || is_unused(env) || tries == 1)
			break;
		mdb_txn_abort(writer->txn);
	}
	return ret;
}

static int run_once(MDB_env *env, const struct store_kind *kind, writer_fn fn, void *context)
{
	struct writer writer = { .kind = kind };
	bool has_tables = false;
	int ret = begin(env, &writer, &has_tables);
	if (ret != STORE_OK)
		return ret;
	ret = prepare(&writer, env, has_tables);
	if (ret == STORE_OK)
		ret = fn(&writer, context);
	if (ret == STORE_OK)
		ret = put_head(&writer);
	if (writer.old != NULL)
		mdb_txn_abort(writer.old);
	if (ret != STORE_OK) {
		mdb_txn_abort(writer.txn);
		return ret;
	}
	return environment_status(mdb_txn_commit(writer.txn));
}

/* Other processes learn of the new limit by themselves: see renew() in reader.c. */
static int raise_limit(MDB_env *env)
{
	MDB_envinfo info;
	int code = mdb_env_info(env, &info);
	if (code != MDB_SUCCESS)
		return environment_status(code);
	if (info.me_mapsize > LIMIT_LAST)
		return STORE_EFULL;
	return environment_status(mdb_env_set_mapsize(env, info.me_mapsize * LIMIT_GROWTH));
}

/*
 * LMDB calls a write that was cut short an I/O error. Writing again, behind
 * the map, asks the system for its reason: -ENOSPC, -EDQUOT, or indeed -EIO.
 */
static int reason_of_io_error(MDB_env *env)
{
	static const uint8_t page[4096];
	MDB_envinfo info;
	int fd;
	if (mdb_env_info(env, &info) != MDB_SUCCESS || mdb_env_get_fd(env, &fd) != MDB_SUCCESS)
		return -EIO;
	return pwrite(fd, page, sizeof(page), (off_t)info.me_mapsize) < 0 ? -errno : -EIO;
}

/* False when path now names another file, or none: what was committed is lost. */
static bool is_same_file(MDB_env *env, const char *path)
{
	struct stat opened;
	struct stat named;
	int fd;
	return mdb_env_get_fd(env, &fd) == MDB_SUCCESS && fstat(fd, &opened) == 0 &&
	       stat(path, &named) == 0 && opened.st_ino == named.st_ino &&
	       opened.st_dev == named.st_dev;
}

static void remove_store(const char *path)
{
	char lock[PATH_MAX];
	unlink(path);
	if (snprintf(lock, sizeof(lock), "%s-lock", path) < (int)sizeof(lock))
		unlink(lock);
}

/*
 * After the last transaction: gives the file its length again, or removes it
 * when nothing was ever committed to it. Inside a transaction, because another
 * writer may do so at any time. Returns what to report for status.
 */
static int settle(MDB_env *env, const char *path, int status)
{
	MDB_txn *txn;
	if (environment_begin(env, 0, &txn) != STORE_OK)
		return status; /* too long a file is no harm */
	if (status == -EIO)
		status = reason_of_io_error(env);
	/* Of another program's file nothing is ours to cut: its lock may be another, too. */
	if (status != STORE_ENOTSTORE && status != STORE_ESCHEMA)
		(void)set_length(env, false);
	if (status != STORE_OK && is_unused(env) && is_same_file(env, path))
		remove_store(path);
	mdb_txn_abort(txn);
	return status;
}

static int run_until_it_fits(MDB_env *env, const char *path, const struct store_kind *kind,
			     writer_fn fn, void *context)
{
	int ret;
	while ((ret = run_once(env, kind, fn, context)) == STORE_EFULL && !kind->is_limit_fixed) {
		ret = raise_limit(env);
		if (ret != STORE_OK)
			break;
	}
	return settle(env, path, ret);
}

/* Of a file whose head it could not write LMDB wants to be opened anew: settle() did not begin. */
static void settle_again(const char *path, const struct store_kind *kind, int status)
{
	MDB_env *env;
	if (environment_open(path, kind, kind->write_flags, false, &env) != STORE_OK)
		return;
	(void)settle(env, path, status);
	mdb_env_close(env);
}

/* As environment_check_file() says it. */
static bool is_unbegun(int status)
{
	return status == -ENOENT || status == STORE_EUNFINISHED;
}

/*
 * Of a file that was not there and could not be opened either: it has LMDB's two heads of a page
 * each, or the part of them that a full disk took, and nothing that was committed.
 */
static bool is_barely_begun(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? st.st_size <= 2 * sysconf(_SC_PAGESIZE) : errno == ENOENT;
}

static int run_at(const char *path, const struct store_kind *kind, writer_fn fn, void *context)
{
	MDB_env *env = NULL;
	int ret = environment_check_file(path);
	bool is_new = is_unbegun(ret);
	if (!is_new && ret != STORE_OK)
		return ret;

	ret = environment_open(path, kind, kind->write_flags, is_new, &env);
	if (ret == STORE_OK)
		ret = run_until_it_fits(env, path, kind, fn, context);
	if (ret == STORE_OK && !is_same_file(env, path))
		ret = STORE_EREPLACED;
	if (env != NULL)
		mdb_env_close(env);
	else if (is_new && is_barely_begun(path))
		remove_store(path); /* also of its lock file alone */
	if (is_new && ret != STORE_OK && environment_check_file(path) == STORE_OK)
		settle_again(path, kind, ret);
	return ret;
}

/* A symbolic link to nothing: the store would be made without its one name. */
static bool is_dangling(const char *path)
{
	struct stat found;
	/* The link first: a file that another writer makes meanwhile is none. */
	return lstat(path, &found) == 0 && S_ISLNK(found.st_mode) && stat(path, &found) != 0 &&
	       errno == ENOENT;
}

int writer_run(const char *path, const struct store_kind *kind, writer_fn fn, void *context)
{
	/* Without a name there would be a lock file named by its ending alone. */
	if (*path == '\0' || is_dangling(path))
		return -ENOENT;
	char *resolved = environment_resolve(path);
	if (resolved == NULL)
		return -ENOMEM;
	int ret = run_at(resolved, kind, fn, context);
	free(resolved);
	return ret;
}
