/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/lmdb/reader.h"

#include "lib/format/record.h"
#include "lib/lmdb/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct reader {
	MDB_env *env;
	MDB_txn *txn; /* reset between end and begin, renewed by begin */
	MDB_dbi tables[STORE_TABLE_COUNT];
	MDB_cursor *cursors[STORE_TABLE_COUNT];
	bool has_begun;
	char *path;
	struct stat opened; /* the file as it was opened */
};

static MDB_val val(const void *data, size_t size)
{
	/* LMDB does not write through keys that it is given. */
	return (MDB_val){ size, (void *)(uintptr_t)data };
}

static struct store_bytes bytes_of(const MDB_val *value)
{
	return (struct store_bytes){ value->mv_data, value->mv_size };
}

/* ---- open and close ---- */

/* Tried, because access() looks at permissions and not at what confines a process. */
static bool can_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int open_environment(struct reader *reader, const char *path)
{
	int code = mdb_env_create(&reader->env);
	if (code == MDB_SUCCESS)
		code = mdb_env_set_maxdbs(reader->env, STORE_TABLE_COUNT);
	/* Of the lock file, when we make it: that of a store which was copied here. */
	if (code == MDB_SUCCESS)
		code = mdb_env_set_maxreaders(reader->env, ENVIRONMENT_READERS);
	if (code != MDB_SUCCESS)
		return environment_status(code);

	/* MDB_NOTLS: the reader slot belongs to the transaction, not to the thread. */
	code = environment_open(reader->env, path, MDB_RDONLY | MDB_NOSUBDIR | MDB_NOTLS);
	if (code == EACCES && can_read(path))
		return STORE_ELOCK;
	/* Readers that were killed must not fill up the places for readers. */
	int dead_readers;
	if (code == MDB_SUCCESS)
		code = mdb_reader_check(reader->env, &dead_readers);
	return environment_status(code);
}

static int find_table(struct reader *reader, MDB_txn *txn, enum store_table table)
{
	int code = mdb_dbi_open(txn, environment_tables[table], 0, &reader->tables[table]);
	return code == MDB_NOTFOUND ? STORE_EUNFINISHED : environment_status(code);
}

static int check_schema(const struct reader *reader, MDB_txn *txn)
{
	MDB_val key = val(DNSBLV6_FACT_SCHEMA, strlen(DNSBLV6_FACT_SCHEMA));
	MDB_val value;
	uint32_t schema;
	int code = mdb_get(txn, reader->tables[STORE_FACTS], &key, &value);
	if (code == MDB_NOTFOUND)
		return STORE_EUNFINISHED;
	if (code != MDB_SUCCESS)
		return environment_status(code);
	if (dnsblv6_schema_decode(value.mv_data, value.mv_size, &schema) != DNSBLV6_OK)
		return STORE_ECORRUPT;
	return schema == DNSBLV6_SCHEMA ? STORE_OK : STORE_ESCHEMA;
}

/* The schema first: another one may have other tables. */
static int find_tables(struct reader *reader, MDB_txn *txn)
{
	int ret = find_table(reader, txn, STORE_FACTS);
	if (ret == STORE_OK)
		ret = check_schema(reader, txn);
	for (unsigned i = 0; ret == STORE_OK && i < STORE_TABLE_COUNT; i++)
		ret = find_table(reader, txn, (enum store_table)i);
	return ret;
}

/* Handles of tables outlive the transaction that opened them only if it commits. */
static int open_tables(struct reader *reader)
{
	MDB_txn *txn = NULL;
	int ret = environment_begin(reader->env, MDB_RDONLY, &txn);
	if (ret != STORE_OK)
		return ret;
	ret = find_tables(reader, txn);
	if (ret != STORE_OK) {
		mdb_txn_abort(txn);
		return ret;
	}
	return environment_status(mdb_txn_commit(txn));
}

static int open_cursors(struct reader *reader)
{
	int ret = environment_begin(reader->env, MDB_RDONLY, &reader->txn);
	if (ret != STORE_OK)
		return ret;
	int code = MDB_SUCCESS;
	for (unsigned i = 0; code == MDB_SUCCESS && i < STORE_TABLE_COUNT; i++)
		code = mdb_cursor_open(reader->txn, reader->tables[i], &reader->cursors[i]);
	return environment_status(code);
}

/* The path as it was given is kept: where it leads to may change. */
static int open_resolved(struct reader *reader)
{
	char *resolved = environment_resolve(reader->path);
	if (resolved == NULL)
		return -ENOMEM;
	int ret = open_environment(reader, resolved);
	free(resolved);
	return ret;
}

static int open_all(struct reader *reader)
{
	int ret = open_resolved(reader);
	if (ret == STORE_OK)
		ret = environment_check_length(reader->env);
	if (ret == STORE_OK)
		ret = open_tables(reader);
	if (ret == STORE_OK)
		ret = open_cursors(reader);
	if (ret == STORE_OK)
		mdb_txn_reset(reader->txn);
	return ret;
}

int reader_open(const char *path, struct reader **ret_reader)
{
	int ret = environment_check_file(path);
	if (ret != STORE_OK)
		return ret;
	struct reader *reader = calloc(1, sizeof(*reader));
	if (reader == NULL)
		return -ENOMEM;

	reader->path = strdup(path);
	ret = reader->path != NULL ? open_all(reader) : -ENOMEM;
	int fd;
	if (ret == STORE_OK &&
	    (mdb_env_get_fd(reader->env, &fd) != MDB_SUCCESS || fstat(fd, &reader->opened) != 0))
		ret = -EIO;
	if (ret != STORE_OK) {
		reader_close(reader);
		return ret;
	}
	*ret_reader = reader;
	return STORE_OK;
}

void reader_close(struct reader *reader)
{
	if (reader == NULL)
		return;
	for (unsigned i = 0; i < STORE_TABLE_COUNT; i++) {
		if (reader->cursors[i] != NULL)
			mdb_cursor_close(reader->cursors[i]);
	}
	if (reader->txn != NULL)
		mdb_txn_abort(reader->txn);
	if (reader->env != NULL)
		mdb_env_close(reader->env);
	free(reader->path);
	free(reader);
}

bool reader_is_current(const struct reader *reader)
{
	struct stat st;
	return stat(reader->path, &st) == 0 && st.st_dev == reader->opened.st_dev &&
	       st.st_ino == reader->opened.st_ino;
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
	for (unsigned i = 0; i < STORE_TABLE_COUNT; i++) {
		int code = mdb_cursor_renew(reader->txn, reader->cursors[i]);
		if (code != MDB_SUCCESS)
			return environment_status(code);
	}
	return STORE_OK;
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

/* ---- entries ---- */

int reader_get(struct reader *reader, enum store_table table, const void *key, size_t key_size,
	       struct store_bytes *ret_value)
{
	MDB_val k = val(key, key_size);
	MDB_val v;
	/* Not through the cursor: that would move the walk of this table. */
	int code = mdb_get(reader->txn, reader->tables[table], &k, &v);
	if (code == MDB_SUCCESS)
		*ret_value = bytes_of(&v);
	return environment_status(code);
}

static int found(int code, const MDB_val *k, const MDB_val *v, struct store_bytes *ret_key,
		 struct store_bytes *ret_value)
{
	if (code == MDB_SUCCESS) {
		*ret_key = bytes_of(k);
		*ret_value = bytes_of(v);
	}
	return environment_status(code);
}

int reader_seek(struct reader *reader, enum store_table table, const void *key, size_t key_size,
		struct store_bytes *ret_key, struct store_bytes *ret_value)
{
	MDB_val k = val(key, key_size);
	MDB_val v;
	MDB_cursor_op op = key_size == 0 ? MDB_FIRST : MDB_SET_RANGE;
	int code = mdb_cursor_get(reader->cursors[table], &k, &v, op);
	return found(code, &k, &v, ret_key, ret_value);
}

int reader_seek_before(struct reader *reader, enum store_table table, const void *key,
		       size_t key_size, struct store_bytes *ret_key, struct store_bytes *ret_value)
{
	MDB_val k = val(key, key_size);
	MDB_val v;
	MDB_cursor *cursor = reader->cursors[table];
	if (key_size == 0)
		return DNSBLV6_ENOTFOUND; /* no key is less than the empty one */
	int code = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
	if (code == MDB_SUCCESS)
		code = mdb_cursor_get(cursor, &k, &v, MDB_PREV);
	else if (code == MDB_NOTFOUND)
		code = mdb_cursor_get(cursor, &k, &v, MDB_LAST);
	return found(code, &k, &v, ret_key, ret_value);
}

static int step(struct reader *reader, enum store_table table, MDB_cursor_op op,
		struct store_bytes *ret_key, struct store_bytes *ret_value)
{
	MDB_val k;
	MDB_val v;
	int code = mdb_cursor_get(reader->cursors[table], &k, &v, op);
	return found(code, &k, &v, ret_key, ret_value);
}

int reader_next(struct reader *reader, enum store_table table, struct store_bytes *ret_key,
		struct store_bytes *ret_value)
{
	return step(reader, table, MDB_NEXT, ret_key, ret_value);
}

int reader_prev(struct reader *reader, enum store_table table, struct store_bytes *ret_key,
		struct store_bytes *ret_value)
{
	return step(reader, table, MDB_PREV, ret_key, ret_value);
}

int reader_last(struct reader *reader, enum store_table table, struct store_bytes *ret_key,
		struct store_bytes *ret_value)
{
	return step(reader, table, MDB_LAST, ret_key, ret_value);
}

/* ---- verify ---- */

static int sum_table(struct reader *reader, enum store_table table, uint64_t *sum)
{
	MDB_val k;
	MDB_val v;
	MDB_cursor_op op = MDB_FIRST;
	int code;
	while ((code = mdb_cursor_get(reader->cursors[table], &k, &v, op)) == MDB_SUCCESS) {
		*sum += environment_sum(table, &k, &v);
		op = MDB_NEXT;
	}
	return code == MDB_NOTFOUND ? STORE_OK : environment_status(code);
}

int reader_verify(struct reader *reader)
{
	struct store_bytes kept = { 0 };
	uint8_t sum_bytes[ENVIRONMENT_SUM_SIZE];
	uint64_t sum = 0;

	for (unsigned i = 0; i < STORE_TABLE_COUNT; i++) {
		int ret = sum_table(reader, (enum store_table)i, &sum);
		if (ret != STORE_OK)
			return ret;
	}
	int ret = reader_get(reader, STORE_FACTS, ENVIRONMENT_SUM_FACT,
			     strlen(ENVIRONMENT_SUM_FACT), &kept);
	if (ret != STORE_OK)
		return ret == DNSBLV6_ENOTFOUND ? STORE_ECORRUPT : ret;
	environment_put_sum(sum, sum_bytes);
	if (kept.size != sizeof(sum_bytes) || memcmp(kept.data, sum_bytes, sizeof(sum_bytes)) != 0)
		return STORE_ECORRUPT;
	return STORE_OK;
}
