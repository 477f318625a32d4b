/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users_build.h"

#include "integration/mail/base/users/users_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct build {
	const char *path; /* resolved */
	const struct users_list *list;
	struct users_facts facts;	 /* of the list, as they are written */
	struct users_build_guard *guard; /* NULL: none */
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi table;
};

/* ---- the length of the file ---- */

/*
 * LMDB never writes a page that one transaction has taken at the end of the file and freed again,
 * so the file may end before the last page of a whole version, and look as if it had been cut
 * short. Therefore it is made long enough (a hole: no disk is used) before the commit, and as long
 * as the newest version says after it. A builder killed in between leaves it too long, never too
 * short. Called inside a write transaction, so that no other builder is behind the end.
 */
static int set_length(const struct build *build, uint64_t more)
{
	MDB_envinfo info;
	MDB_stat stat_;
	int fd;
	int code = mdb_env_info(build->env, &info);
	if (code == MDB_SUCCESS)
		code = mdb_env_stat(build->env, &stat_);
	if (code == MDB_SUCCESS)
		code = mdb_env_get_fd(build->env, &fd);
	if (code != MDB_SUCCESS)
		return users_file_status(code);
	uint64_t size = ((uint64_t)info.me_last_pgno + 1) * stat_.ms_psize + more;
	if (size > USERS_FILE_MAP_SIZE)
		size = USERS_FILE_MAP_SIZE;
	return ftruncate(fd, (off_t)size) == 0 ? USERS_OK : -errno;
}

/* More than the list can take: a key has a header of 10 bytes, and pages are at least half full. */
static uint64_t room_for(const struct users_list *list)
{
	uint64_t room = 1 << 20;
	for (size_t i = 0; i < users_list_count(list); i++) {
		size_t size;
		(void)users_list_key(list, i, &size);
		room += 2 * (size + 16);
	}
	return room;
}

/* ---- the transaction ---- */

static bool is_too_small(struct users_build_guard *guard, const char *unit, uint64_t before,
			 uint64_t now)
{
	if (now >= before || before - now < USERS_BUILD_SMALL_CHANGE ||
	    (before - now) * 100 <= before * guard->max_shrink_percent)
		return false;
	guard->unit = unit;
	guard->before = before;
	guard->now = now;
	return true;
}

static int check_shrink(const struct build *build, const struct users_facts *before)
{
	const struct users_facts *now = &build->facts;
	struct users_build_guard *guard = build->guard;
	if (guard == NULL)
		return USERS_OK;
	if (is_too_small(guard, "recipients", before->address_count + before->catchall_count,
			 now->address_count + now->catchall_count) ||
	    is_too_small(guard, "domains", before->domain_count, now->domain_count))
		return USERS_ESHRINK;
	return USERS_OK;
}

/* Another program's LMDB file has entries, and no metadata of ours. */
static int check_before(const struct build *build)
{
	char letter = USERS_FILE_META;
	MDB_val key = { 1, &letter };
	MDB_val value;
	MDB_stat stat_;
	struct users_facts facts;
	int code = mdb_stat(build->txn, build->table, &stat_);
	if (code != MDB_SUCCESS || stat_.ms_entries == 0)
		return users_file_status(code);
	code = mdb_get(build->txn, build->table, &key, &value);
	if (code == MDB_NOTFOUND)
		return USERS_ENOTUSERS;
	if (code != MDB_SUCCESS)
		return users_file_status(code);
	int ret = users_file_decode(value.mv_data, value.mv_size, &facts);
	return ret == USERS_OK ? check_shrink(build, &facts) : ret;
}

static int put(const struct build *build, const char *bytes, size_t size, void *data,
	       size_t data_size)
{
	/* LMDB does not write through what it is given. */
	MDB_val key = { size, (void *)(uintptr_t)bytes };
	MDB_val value = { data_size, data };
	return users_file_status(
		mdb_put(build->txn, build->table, &key, &value, MDB_APPEND | MDB_NOOVERWRITE));
}

static int put_all(const struct build *build)
{
	static const char letter = USERS_FILE_META;
	uint8_t meta[USERS_FILE_META_SIZE];
	int ret = users_file_status(mdb_drop(build->txn, build->table, 0));
	for (size_t i = 0; ret == USERS_OK && i < users_list_count(build->list); i++) {
		size_t size;
		const char *key = users_list_key(build->list, i, &size);
		ret = put(build, key, size, meta, 0);
	}
	users_file_encode(&build->facts, meta);
	return ret == USERS_OK ? put(build, &letter, 1, meta, sizeof(meta)) : ret;
}

static int replace_all(struct build *build)
{
	int code = mdb_txn_begin(build->env, NULL, 0, &build->txn);
	if (code != MDB_SUCCESS)
		return users_file_status(code);
	int ret = users_file_status(mdb_dbi_open(build->txn, NULL, 0, &build->table));
	if (ret == USERS_OK)
		ret = check_before(build);
	if (ret == USERS_OK)
		ret = set_length(build, room_for(build->list));
	if (ret == USERS_OK)
		ret = put_all(build);
	if (ret != USERS_OK) {
		mdb_txn_abort(build->txn);
		return ret;
	}
	return users_file_status(mdb_txn_commit(build->txn));
}

/* ---- afterwards ---- */

/*
 * LMDB calls a write that was cut short an I/O error. Writing again, at the end, asks the system
 * for its reason: -ENOSPC, -EDQUOT, or indeed -EIO.
 */
static int reason_of_io_error(const struct build *build)
{
	static const uint8_t page[4096];
	struct stat st;
	int fd;
	if (mdb_env_get_fd(build->env, &fd) != MDB_SUCCESS || fstat(fd, &st) != 0)
		return -EIO;
	return pwrite(fd, page, sizeof(page), st.st_size) < 0 ? -errno : -EIO;
}

/* False when path now names another file, or none: what was committed is lost. */
static bool is_same_file(const struct build *build)
{
	struct stat opened;
	struct stat named;
	int fd;
	return mdb_env_get_fd(build->env, &fd) == MDB_SUCCESS && fstat(fd, &opened) == 0 &&
	       stat(build->path, &named) == 0 && opened.st_ino == named.st_ino &&
	       opened.st_dev == named.st_dev;
}

/* True when nothing was ever committed. */
static bool is_unused(const struct build *build)
{
	MDB_envinfo info;
	return mdb_env_info(build->env, &info) == MDB_SUCCESS && info.me_last_txnid == 0;
}

static void remove_files(const char *path)
{
	char lock[PATH_MAX];
	unlink(path);
	if (snprintf(lock, sizeof(lock), "%s-lock", path) < (int)sizeof(lock))
		unlink(lock);
}

/*
 * Gives the file its length again, or removes it when nothing was ever committed to it. Inside a
 * transaction, because another builder may do so at any time. Returns what to report for status.
 */
static int settle(struct build *build, int status)
{
	if (status == USERS_ENOTUSERS || status == USERS_EVERSION)
		return status; /* not ours: left as it is */
	if (mdb_txn_begin(build->env, NULL, 0, &build->txn) != MDB_SUCCESS)
		return status; /* too long a file is no harm */
	if (status == -EIO)
		status = reason_of_io_error(build);
	(void)set_length(build, 0);
	if (status != USERS_OK && is_unused(build) && is_same_file(build))
		remove_files(build->path);
	mdb_txn_abort(build->txn);
	return status;
}

static int run(struct build *build)
{
	int ret = users_file_check(build->path);
	bool is_new = ret == -ENOENT || ret == USERS_EUNFINISHED;
	if (ret != USERS_OK && !is_new)
		return ret;
	ret = users_file_open(build->path, 0, &build->env);
	if (ret != USERS_OK) {
		if (is_new && users_file_check(build->path) == USERS_EUNFINISHED)
			remove_files(build->path); /* LMDB could not even begin it */
		return ret;
	}
	ret = users_file_check_length(build->env);
	if (ret == USERS_OK)
		ret = settle(build, replace_all(build));
	if (ret == USERS_OK && !is_same_file(build))
		ret = USERS_EREPLACED;
	mdb_env_close(build->env);
	return ret;
}

/* A symbolic link to nothing: the file would be made without its one name. */
static bool is_dangling(const char *path)
{
	struct stat st;
	/* The link first: a file that another builder makes meanwhile is none. */
	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && stat(path, &st) != 0 &&
	       errno == ENOENT;
}

int users_build(const char *path, const struct users_list *list, int64_t now_s,
		struct users_build_guard *guard)
{
	if (is_dangling(path))
		return -ENOENT;
	char *resolved = users_file_resolve(path);
	if (resolved == NULL)
		return -ENOMEM;
	struct build build = { .path = resolved, .list = list, .guard = guard };
	users_list_facts(list, &build.facts);
	build.facts.built_at_s = now_s;
	int ret = run(&build);
	free(resolved);
	return ret;
}
