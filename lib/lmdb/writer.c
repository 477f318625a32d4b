/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/lmdb/writer.h"

#include "lib/format/record.h"
#include "lib/lmdb/environment.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The first size limit of a new store. It is address space, not disk: the file
 * grows page by page. Doubled whenever a transaction does not fit.
 */
#define LIMIT_FIRST ((size_t)256 << 20)
#define LIMIT_LAST  (SIZE_MAX / 4)

/* The greatest key put into a table since it was cleared: what lies behind it is appended. */
struct tail {
	bool is_known;
	size_t key_size;
	uint8_t key[DNSBLV6_KEY_MAX];
};

struct writer {
	MDB_txn *txn;
	MDB_dbi tables[STORE_TABLE_COUNT];
	struct tail tails[STORE_TABLE_COUNT];
	MDB_txn *old; /* the version before; NULL in a new store */
	uint64_t sum;
	bool is_new;
};

static MDB_val val(const void *data, size_t size)
{
	/* LMDB does not write through what it is given. */
	return (MDB_val){ size, (void *)(uintptr_t)data };
}

/* ---- what a writer_fn calls ---- */

bool writer_is_new(const struct writer *writer)
{
	return writer->is_new;
}

int writer_get(struct writer *writer, enum store_table table, const void *key, size_t key_size,
	       struct store_bytes *ret_value)
{
	MDB_val k = val(key, key_size);
	MDB_val v;
	int code = mdb_get(writer->txn, writer->tables[table], &k, &v);
	if (code == MDB_SUCCESS)
		*ret_value = (struct store_bytes){ v.mv_data, v.mv_size };
	return environment_status(code);
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

int writer_put(struct writer *writer, enum store_table table, const void *key, size_t key_size,
	       const void *data, size_t size)
{
	struct tail *tail = &writer->tails[table];
	MDB_val k = val(key, key_size);
	MDB_val v = val(data, size);
	unsigned flags = 0;

	if (key_size == 0 || key_size > sizeof(tail->key))
		return DNSBLV6_EKEY;
	if (tail->is_known && is_behind(tail, key, key_size)) {
		flags = MDB_APPEND;
		move_tail(tail, key, key_size);
	} else {
		MDB_val old;
		int code = mdb_get(writer->txn, writer->tables[table], &k, &old);
		if (code == MDB_SUCCESS)
			writer->sum -= environment_sum(table, &k, &old);
		else if (code != MDB_NOTFOUND)
			return environment_status(code);
	}
	int code = mdb_put(writer->txn, writer->tables[table], &k, &v, flags);
	if (code != MDB_SUCCESS)
		return environment_status(code);
	v = val(data, size);
	writer->sum += environment_sum(table, &k, &v);
	return STORE_OK;
}

int writer_delete(struct writer *writer, enum store_table table, const void *key, size_t key_size)
{
	MDB_val k = val(key, key_size);
	MDB_val old;
	int code = mdb_get(writer->txn, writer->tables[table], &k, &old);
	if (code != MDB_SUCCESS)
		return environment_status(code);
	uint64_t share = environment_sum(table, &k, &old);
	code = mdb_del(writer->txn, writer->tables[table], &k, NULL);
	if (code == MDB_SUCCESS)
		writer->sum -= share;
	return environment_status(code);
}

int writer_scan(struct writer *writer, enum store_table table, writer_scan_fn fn, void *context)
{
	MDB_cursor *cursor;
	MDB_val k;
	MDB_val v;
	int code = mdb_cursor_open(writer->txn, writer->tables[table], &cursor);
	if (code != MDB_SUCCESS)
		return environment_status(code);
	int ret = STORE_OK;
	while (ret == STORE_OK && (code = mdb_cursor_get(cursor, &k, &v, MDB_NEXT)) == MDB_SUCCESS)
		ret = fn(context, (struct store_bytes){ k.mv_data, k.mv_size },
			 (struct store_bytes){ v.mv_data, v.mv_size });
	mdb_cursor_close(cursor);
	if (ret != STORE_OK)
		return ret;
	return code == MDB_NOTFOUND ? STORE_OK : environment_status(code);
}

/* What a table that is cleared has had in the checksum. */
struct share {
	enum store_table table;
	uint64_t sum;
};

static int add_share(void *context, struct store_bytes key, struct store_bytes value)
{
	struct share *share = context;
	MDB_val k = val(key.data, key.size);
	MDB_val v = val(value.data, value.size);
	share->sum += environment_sum(share->table, &k, &v);
	return STORE_OK;
}

int writer_clear(struct writer *writer, enum store_table table)
{
	struct share share = { .table = table };
	int ret = writer_scan(writer, table, add_share, &share);
	if (ret != STORE_OK)
		return ret;
	writer->sum -= share.sum;
	writer->tails[table] = (struct tail){ .is_known = true };
	return environment_status(mdb_drop(writer->txn, writer->tables[table], 0));
}

/* ---- the version before ---- */

struct writer_walk {
	MDB_cursor *cursor; /* NULL in a new store */
};

int writer_walk_open(struct writer *writer, enum store_table table, struct writer_walk **ret_walk)
{
	struct writer_walk *walk = calloc(1, sizeof(*walk));
	if (walk == NULL)
		return -ENOMEM;
	int code = MDB_SUCCESS;
	if (writer->old != NULL)
		code = mdb_cursor_open(writer->old, writer->tables[table], &walk->cursor);
	if (code != MDB_SUCCESS) {
		free(walk);
		return environment_status(code);
	}
	*ret_walk = walk;
	return STORE_OK;
}

void writer_walk_close(struct writer_walk *walk)
{
	if (walk != NULL && walk->cursor != NULL)
		mdb_cursor_close(walk->cursor);
	free(walk);
}

static int move(struct writer_walk *walk, MDB_val *k, MDB_cursor_op op, struct store_bytes *ret_key,
		struct store_bytes *ret_value)
{
	MDB_val v;
	if (walk->cursor == NULL)
		return DNSBLV6_ENOTFOUND;
	int code = mdb_cursor_get(walk->cursor, k, &v, op);
	if (code == MDB_SUCCESS) {
		*ret_key = (struct store_bytes){ k->mv_data, k->mv_size };
		*ret_value = (struct store_bytes){ v.mv_data, v.mv_size };
	}
	return environment_status(code);
}

int writer_walk_seek(struct writer_walk *walk, const void *key, size_t key_size,
		     struct store_bytes *ret_key, struct store_bytes *ret_value)
{
	MDB_val k = val(key, key_size);
	return move(walk, &k, key_size == 0 ? MDB_FIRST : MDB_SET_RANGE, ret_key, ret_value);
}

int writer_walk_seek_before(struct writer_walk *walk, const void *key, size_t key_size,
			    struct store_bytes *ret_key, struct store_bytes *ret_value)
{
	MDB_val k = val(key, key_size);
	if (key_size == 0)
		return DNSBLV6_ENOTFOUND; /* no key is less than the empty one */
	int ret = move(walk, &k, MDB_SET_RANGE, ret_key, ret_value);
	if (ret == STORE_OK)
		return move(walk, &k, MDB_PREV, ret_key, ret_value);
	return ret == DNSBLV6_ENOTFOUND ? move(walk, &k, MDB_LAST, ret_key, ret_value) : ret;
}

int writer_walk_next(struct writer_walk *walk, struct store_bytes *ret_key,
		     struct store_bytes *ret_value)
{
	MDB_val k;
	return move(walk, &k, MDB_NEXT, ret_key, ret_value);
}

/*
 * Begun after the write transaction: nothing is committed in between. The tables must
 * have been opened by a transaction that has ended: see find_tables().
 */
static int open_old(struct writer *writer, MDB_env *env)
{
	return environment_begin(env, MDB_RDONLY, &writer->old);
}

/*
 * Handles of the tables, if they exist; they outlive this transaction because
 * it commits. A handle that the write transaction opened is not for others.
 */
static int find_tables(MDB_env *env, bool *ret_are_there)
{
	MDB_txn *txn;
	MDB_dbi table;
	int ret = environment_begin(env, MDB_RDONLY, &txn);
	if (ret != STORE_OK)
		return ret;
	unsigned count = 0;
	int code = MDB_SUCCESS;
	for (unsigned i = 0; code == MDB_SUCCESS && i < STORE_TABLE_COUNT; i++) {
		code = mdb_dbi_open(txn, environment_tables[i], 0, &table);
		count += code == MDB_SUCCESS;
		if (code == MDB_NOTFOUND)
			code = MDB_SUCCESS;
	}
	if (code != MDB_SUCCESS) {
		mdb_txn_abort(txn);
		return environment_status(code);
	}
	*ret_are_there = count == STORE_TABLE_COUNT;
	return environment_status(mdb_txn_commit(txn));
}

/* ---- the transaction ---- */

static int load_sum(struct writer *writer)
{
	struct store_bytes kept = { 0 };
	int ret = writer_get(writer, STORE_FACTS, ENVIRONMENT_SUM_FACT,
			     strlen(ENVIRONMENT_SUM_FACT), &kept);
	writer->is_new = ret == DNSBLV6_ENOTFOUND;
	if (writer->is_new)
		return STORE_OK;
	if (ret == STORE_OK && kept.size != ENVIRONMENT_SUM_SIZE)
		ret = STORE_ECORRUPT;
	if (ret == STORE_OK)
		writer->sum = environment_take_sum(kept.data);
	return ret;
}

static int save_sum(struct writer *writer)
{
	uint8_t schema[4];
	uint8_t sum[ENVIRONMENT_SUM_SIZE];
	dnsblv6_schema_encode(DNSBLV6_SCHEMA, schema);
	int ret = writer_put(writer, STORE_FACTS, DNSBLV6_FACT_SCHEMA, strlen(DNSBLV6_FACT_SCHEMA),
			     schema, sizeof(schema));
	environment_put_sum(writer->sum, sum);
	if (ret == STORE_OK)
		ret = writer_put(writer, STORE_FACTS, ENVIRONMENT_SUM_FACT,
				 strlen(ENVIRONMENT_SUM_FACT), sum, sizeof(sum));
	return ret;
}

static int check_schema(struct writer *writer)
{
	struct store_bytes value = { 0 };
	uint32_t schema;
	if (writer->is_new)
		return STORE_OK;
	int ret = writer_get(writer, STORE_FACTS, DNSBLV6_FACT_SCHEMA, strlen(DNSBLV6_FACT_SCHEMA),
			     &value);
	if (ret != STORE_OK)
		return ret == DNSBLV6_ENOTFOUND ? STORE_ECORRUPT : ret;
	if (dnsblv6_schema_decode(value.data, value.size, &schema) != DNSBLV6_OK)
		return STORE_ECORRUPT;
	return schema == DNSBLV6_SCHEMA ? STORE_OK : STORE_ESCHEMA;
}

/* Another program's LMDB file has entries, and none that is a table of ours. */
static int check_owner(struct writer *writer)
{
	MDB_dbi unnamed;
	MDB_stat stat_;
	int code = mdb_dbi_open(writer->txn, NULL, 0, &unnamed);
	if (code == MDB_SUCCESS)
		code = mdb_stat(writer->txn, unnamed, &stat_);
	if (code != MDB_SUCCESS)
		return environment_status(code);
	if (stat_.ms_entries == 0)
		return STORE_OK;
	MDB_dbi facts;
	code = mdb_dbi_open(writer->txn, environment_tables[STORE_FACTS], 0, &facts);
	return code == MDB_NOTFOUND ? STORE_ENOTSTORE : environment_status(code);
}

static int open_tables(struct writer *writer)
{
	for (unsigned i = 0; i < STORE_TABLE_COUNT; i++) {
		int code = mdb_dbi_open(writer->txn, environment_tables[i], MDB_CREATE,
					&writer->tables[i]);
		if (code != MDB_SUCCESS)
			return environment_status(code);
	}
	return STORE_OK;
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

static int prepare(struct writer *writer, MDB_env *env, bool has_tables)
{
	int ret = check_owner(writer);
	if (ret == STORE_OK)
		ret = set_length(env, true);
	if (ret == STORE_OK)
		ret = open_tables(writer);
	if (ret == STORE_OK)
		ret = load_sum(writer);
	if (ret == STORE_OK)
		ret = check_schema(writer);
	if (ret == STORE_OK && !writer->is_new)
		ret = has_tables ? open_old(writer, env) : STORE_ECORRUPT;
	return ret;
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
static int begin(MDB_env *env, MDB_txn **ret_txn, bool *ret_has_tables)
{
	int ret = STORE_OK;
	for (int tries = 0; tries < 2; tries++) {
		ret = find_tables(env, ret_has_tables);
		if (ret == STORE_OK)
			ret = environment_begin(env, 0, ret_txn);
		if (ret != STORE_OK || *ret_has_tables || is_unused(env) || tries == 1)
			break;
		mdb_txn_abort(*ret_txn);
	}
	return ret;
}

static int run_once(MDB_env *env, writer_fn fn, void *context)
{
	struct writer writer = { 0 };
	bool has_tables = false;
	int ret = begin(env, &writer.txn, &has_tables);
	if (ret != STORE_OK)
		return ret;
	ret = prepare(&writer, env, has_tables);
	if (ret == STORE_OK)
		ret = fn(&writer, context);
	if (ret == STORE_OK)
		ret = save_sum(&writer);
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
	return environment_status(mdb_env_set_mapsize(env, info.me_mapsize * 2));
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
	if (status != STORE_ENOTSTORE)
		(void)set_length(env, false);
	if (status != STORE_OK && is_unused(env) && is_same_file(env, path))
		remove_store(path);
	mdb_txn_abort(txn);
	return status;
}

static int run_until_it_fits(MDB_env *env, const char *path, writer_fn fn, void *context)
{
	int ret;
	while ((ret = run_once(env, fn, context)) == STORE_EFULL) {
		ret = raise_limit(env);
		if (ret != STORE_OK)
			break;
	}
	return settle(env, path, ret);
}

static int open_environment(const char *path, bool is_new, MDB_env **ret_env)
{
	MDB_env *env;
	int code = mdb_env_create(&env);
	if (code != MDB_SUCCESS)
		return environment_status(code);
	code = mdb_env_set_maxdbs(env, STORE_TABLE_COUNT);
	if (code == MDB_SUCCESS)
		code = mdb_env_set_maxreaders(env, ENVIRONMENT_READERS);
	if (code == MDB_SUCCESS && is_new)
		code = mdb_env_set_mapsize(env, LIMIT_FIRST);
	/* MDB_NOTLS: the version before is read beside the write transaction. */
	if (code == MDB_SUCCESS)
		code = environment_open(env, path, MDB_NOSUBDIR | MDB_NOTLS);
	if (code != MDB_SUCCESS) {
		mdb_env_close(env);
		if (code == EACCES && access(path, R_OK | W_OK) == 0)
			return STORE_ELOCK;
		return environment_status(code);
	}
	*ret_env = env;
	return STORE_OK;
}

static int run_at(const char *path, writer_fn fn, void *context)
{
	MDB_env *env = NULL;
	int dead_readers;
	int ret = environment_check_file(path);
	bool is_new = ret == -ENOENT || ret == STORE_EUNFINISHED;
	if (!is_new && ret != STORE_OK)
		return ret;

	ret = open_environment(path, is_new, &env);
	if (ret == STORE_OK)
		ret = environment_check_length(env);
	/* A reader that was killed would keep its version's pages in use for ever. */
	if (ret == STORE_OK)
		ret = environment_status(mdb_reader_check(env, &dead_readers));
	if (ret == STORE_OK)
		ret = run_until_it_fits(env, path, fn, context);
	if (ret == STORE_OK && !is_same_file(env, path))
		ret = STORE_EREPLACED;
	if (env != NULL)
		mdb_env_close(env);
	else if (is_new && environment_check_file(path) == STORE_EUNFINISHED)
		remove_store(path); /* LMDB could not even begin it */
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

int writer_run(const char *path, writer_fn fn, void *context)
{
	if (is_dangling(path))
		return -ENOENT;
	char *resolved = environment_resolve(path);
	if (resolved == NULL)
		return -ENOMEM;
	int ret = run_at(resolved, fn, context);
	free(resolved);
	return ret;
}
