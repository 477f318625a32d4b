/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/lmdb/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the lock file at most: a cache line for each reader behind LMDB's own, which are few. */
#define LOCK_SIZE ((size_t)ENVIRONMENT_READERS * 64 + 4096)

const char *const environment_tables[STORE_TABLE_COUNT] = {
	[STORE_RECORDS] = "records", [STORE_SEGMENTS] = "segments", [STORE_SETS] = "sets",
	[STORE_FACTS] = "facts",     [STORE_JOURNAL] = "journal",
};

int environment_status(int code)
{
	switch (code) {
	case MDB_SUCCESS:
		return STORE_OK;
	case MDB_NOTFOUND:
		return DNSBLV6_ENOTFOUND;
	case MDB_INVALID:
		return STORE_ENOTSTORE;
	case MDB_VERSION_MISMATCH:
		return STORE_ELMDB;
	case MDB_MAP_FULL:
	case MDB_TXN_FULL:
		return STORE_EFULL;
	case MDB_READERS_FULL:
		return STORE_EREADERS;
	case MDB_CORRUPTED:
	case MDB_PAGE_NOTFOUND:
	case MDB_PANIC:
	case MDB_INCOMPATIBLE:
	case MDB_BAD_TXN:
	case MDB_CURSOR_FULL:
	case MDB_PAGE_FULL:
		return STORE_ECORRUPT;
	case MDB_BAD_VALSIZE:
		return DNSBLV6_EKEY;
	default:
		return code > 0 ? -code : STORE_ECORRUPT;
	}
}

char *environment_resolve(const char *path)
{
	char *resolved = realpath(path, NULL);
	return resolved != NULL || errno == ENOMEM ? resolved : strdup(path);
}

static bool has_setgid_directory(const char *path)
{
	char copy[PATH_MAX];
	struct stat st;
	return snprintf(copy, sizeof(copy), "%s", path) < (int)sizeof(copy) &&
	       stat(dirname(copy), &st) == 0 && (st.st_mode & S_ISGID) != 0;
}

/* O_PATH: closing any other descriptor of the file would end LMDB's own lock on it. */
static void share_lock(const char *path)
{
	char lock[PATH_MAX];
	if (snprintf(lock, sizeof(lock), "%s-lock", path) >= (int)sizeof(lock))
		return;
	int fd = open(lock, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	struct stat st;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    (st.st_mode & S_IWGRP) == 0) {
		char name[sizeof("/proc/self/fd/") + 3 * sizeof(fd)];
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		(void)chmod(name, (st.st_mode & ALLPERMS) | S_IRGRP | S_IWGRP);
	}
	close(fd);
}

static bool is_allocated(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && (uint64_t)st.st_blocks * 512 >= LOCK_SIZE;
}

/* Its size stays LMDB's business. A file system that cannot allocate is left to its luck. */
static int allocate(int fd)
{
	int ret;
	if (is_allocated(fd))
		return MDB_SUCCESS;
	do {
		ret = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, LOCK_SIZE);
	} while (ret != 0 && errno == EINTR);
	return ret != 0 && (errno == ENOSPC || errno == EDQUOT) ? errno : MDB_SUCCESS;
}

/*
 * LMDB makes the lock file with ftruncate() and maps it: on a full disk the
 * first write to a page is SIGBUS. So all its pages are allocated before, also
 * those of readers to come. What else is wrong with the file LMDB says itself.
 */
static int prepare_lock(const char *path)
{
	char lock[PATH_MAX];
	if (snprintf(lock, sizeof(lock), "%s-lock", path) >= (int)sizeof(lock))
		return MDB_SUCCESS;
	int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, ENVIRONMENT_FILE_MODE);
	if (fd < 0)
		return MDB_SUCCESS;
	int code = allocate(fd);
	close(fd);
	return code;
}

int environment_open(MDB_env *env, const char *path, unsigned flags)
{
	int code = prepare_lock(path);
	if (code == MDB_SUCCESS)
		code = mdb_env_open(env, path, flags, ENVIRONMENT_FILE_MODE);
	if (code == MDB_SUCCESS && has_setgid_directory(path))
		share_lock(path);
	return code;
}

int environment_check_file(const char *path)
{
	struct stat st;
	if (stat(path, &st) != 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return STORE_ENOTSTORE;
	/* LMDB takes an empty file for a new environment and would write to it. */
	return st.st_size == 0 ? STORE_EUNFINISHED : STORE_OK;
}

int environment_check_length(MDB_env *env)
{
	MDB_envinfo info;
	MDB_stat stat_;
	struct stat st;
	int fd;
	int code = mdb_env_info(env, &info);
	if (code == MDB_SUCCESS)
		code = mdb_env_stat(env, &stat_);
	if (code == MDB_SUCCESS)
		code = mdb_env_get_fd(env, &fd);
	if (code != MDB_SUCCESS)
		return environment_status(code);
	if (fstat(fd, &st) != 0)
		return -errno;

	uint64_t page_count = (uint64_t)info.me_last_pgno + 1;
	return (uint64_t)st.st_size / stat_.ms_psize < page_count ? STORE_ECUT : STORE_OK;
}

int environment_begin(MDB_env *env, unsigned flags, MDB_txn **ret_txn)
{
	int code = mdb_txn_begin(env, NULL, flags, ret_txn);
	if (code == MDB_MAP_RESIZED) {
		code = mdb_env_set_mapsize(env, 0);
		if (code == MDB_SUCCESS)
			code = mdb_txn_begin(env, NULL, flags, ret_txn);
	}
	return environment_status(code);
}

/* FNV-1a, 64 bits; its weak last step is mended by final_mix(). */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3u;
	return hash;
}

/* Sums of similar entries must not cancel out: spread each over all 64 bits. */
static uint64_t final_mix(uint64_t hash)
{
	hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

uint64_t environment_sum(enum store_table table, const MDB_val *key, const MDB_val *value)
{
	if (table == STORE_FACTS && key->mv_size == strlen(ENVIRONMENT_SUM_FACT) &&
	    memcmp(key->mv_data, ENVIRONMENT_SUM_FACT, key->mv_size) == 0)
		return 0;
	uint8_t head[3] = { (uint8_t)table, (uint8_t)(key->mv_size >> 8), (uint8_t)key->mv_size };
	uint64_t hash = hash_bytes(0xcbf29ce484222325u, head, sizeof(head));
	hash = hash_bytes(hash, key->mv_data, key->mv_size);
	hash = hash_bytes(hash, value->mv_data, value->mv_size);
	return final_mix(hash);
}

void environment_put_sum(uint64_t sum, uint8_t *ret_bytes)
{
	for (unsigned i = 0; i < ENVIRONMENT_SUM_SIZE; i++)
		ret_bytes[i] = (uint8_t)(sum >> (56 - 8 * i));
}

uint64_t environment_take_sum(const uint8_t *bytes)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < ENVIRONMENT_SUM_SIZE; i++)
		sum = sum << 8 | bytes[i];
	return sum;
}
