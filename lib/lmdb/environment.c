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
#include <time.h>
#include <unistd.h>

/* A tenth of a second in all. */
#define OPEN_TRIES    20
#define OPEN_PAUSE_NS 500000L

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

int environment_stat_lock(const char *path, struct stat *ret_st)
{
	char lock[PATH_MAX];
	if (snprintf(lock, sizeof(lock), "%s-lock", path) >= (int)sizeof(lock))
		return -ENAMETOOLONG;
	return stat(lock, ret_st) == 0 ? 0 : -errno;
}

static bool find_directory(const char *path, struct stat *ret_st)
{
	char copy[PATH_MAX];
	return snprintf(copy, sizeof(copy), "%s", path) < (int)sizeof(copy) &&
	       stat(dirname(copy), ret_st) == 0;
}

/*
 * In a directory that hands its group down (setgid) a store of a kind with write permission for the
 * group is for that group, so a lock file of ours gets it whatever umask says: readers need it.
 */
static void share_lock(int fd, const char *path, const struct store_kind *kind)
{
	struct stat st;
	if ((kind->mode & S_IWGRP) != 0 && find_directory(path, &st) &&
	    (st.st_mode & S_ISGID) != 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	    (st.st_mode & S_IWGRP) == 0)
		(void)fchmod(fd, (st.st_mode & ALLPERMS) | S_IRGRP | S_IWGRP);
}

/*
 * A lock file of root's would lock out the owner of the store, or of its directory where the store is
 * new or root's: it is that owner's. What refuses this refuses no more than it did before.
 */
static void give_lock(int fd, const char *path)
{
	struct stat st;
	if (geteuid() != 0 ||
	    ((stat(path, &st) != 0 || st.st_uid == 0) && !find_directory(path, &st)))
		return;
	if (st.st_uid != 0)
		(void)fchownat(fd, "", st.st_uid, st.st_gid, AT_EMPTY_PATH);
}

static bool is_allocated(int fd, off_t size)
{
	struct stat st;
	return fstat(fd, &st) == 0 && st.st_blocks * 512 >= size;
}

/* Its size stays LMDB's business. A file system that cannot allocate is left to its luck. */
static int allocate(int fd, off_t size)
{
	int ret;
	if (is_allocated(fd, size))
		return MDB_SUCCESS;
	do {
		ret = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, size);
	} while (ret != 0 && errno == EINTR);
	return ret != 0 && (errno == ENOSPC || errno == EDQUOT) ? errno : MDB_SUCCESS;
}

/*
 * LMDB makes the lock file with ftruncate() and maps it: on a full disk the
 * first write to a page is SIGBUS. So all its pages are allocated before, also
 * those of readers to come. What else is wrong with the file LMDB says itself.
 */
static int prepare_lock(const char *path, const struct store_kind *kind)
{
	/* At most: a cache line for each reader behind LMDB's own, which are few. */
	off_t size = (off_t)kind->reader_max * 64 + 4096;
	char lock[PATH_MAX];
	if (snprintf(lock, sizeof(lock), "%s-lock", path) >= (int)sizeof(lock))
		return MDB_SUCCESS;
	/* Through no link: a store's owner may have put it there for root. */
	int fd = open(lock, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kind->mode);
	const bool is_made = fd >= 0;
	if (!is_made)
		fd = open(lock, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return MDB_SUCCESS;
	share_lock(fd, path, kind);
	if (is_made)
		give_lock(fd, path);
	int code = allocate(fd, size);
	close(fd);
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

enum { PAGE_LEAST = 512, PAGE_MOST = 32768, ADDRESS_BITS = 47 };

/* One of the two heads. *ret_page is the size of a page. */
static int check_head(int fd, off_t at, uint32_t *ret_page)
{
	/* Behind the header of a page: magic number, version, address, size of the map and of a page. */
	enum { MAGIC_AT = 16, MAP_AT = 32, PAGE_AT = 40, HEAD_SIZE = 44 };
	static const uint32_t magic = 0xbeefc0de;
	uint8_t head[HEAD_SIZE];
	uint64_t map_size;
	if (pread(fd, head, sizeof(head), at) != (ssize_t)sizeof(head) ||
	    memcmp(head + MAGIC_AT, &magic, sizeof(magic)) != 0)
		return STORE_ENOTSTORE;
	memcpy(&map_size, head + MAP_AT, sizeof(map_size));
	memcpy(ret_page, head + PAGE_AT, sizeof(*ret_page));
	return map_size >> ADDRESS_BITS == 0 && *ret_page >= PAGE_LEAST && *ret_page <= PAGE_MOST
		       ? STORE_OK
		       : STORE_ECORRUPT;
}

/*
 * LMDB believes both sizes: it would divide by a page of no bytes, and call it a lack of memory
 * when the system has no addresses for such a map. What is no file of its own it refuses too, but makes a
 * lock file first, and none is to be left beside such a file. The second head alone is missing
 * while another writer makes the file: waiting for the lock is waiting for that.
 */
static int check_heads(const char *path)
{
	uint32_t page_size;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return STORE_OK; /* LMDB says why */
	int ret = check_head(fd, 0, &page_size);
	if (ret == STORE_OK && check_head(fd, (off_t)page_size, &page_size) == STORE_ECORRUPT)
		ret = STORE_ECORRUPT;
	close(fd);
	return ret;
}

/* Every page that the newest version may use lies inside the file, else STORE_ECUT. */
static int check_length(MDB_env *env)
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

static int open_file(MDB_env *env, const char *path, const struct store_kind *kind, unsigned flags)
{
	int code = (flags & MDB_NOLOCK) == 0 ? prepare_lock(path, kind) : MDB_SUCCESS;
	/* MDB_NOTLS: a reader's place belongs to its transaction and not to the thread. */
	if (code == MDB_SUCCESS)
		code = mdb_env_open(env, path, flags | MDB_NOSUBDIR | MDB_NOTLS, kind->mode);
	return code;
}

static int set_up(MDB_env *env, const struct store_kind *kind, bool is_new)
{
	int code = mdb_env_set_maxdbs(env, kind->table_count);
	/* Of the lock file, when we make it: that of a store which was copied here. */
	if (code == MDB_SUCCESS)
		code = mdb_env_set_maxreaders(env, kind->reader_max);
	if (code == MDB_SUCCESS && (is_new || kind->is_limit_fixed))
		code = mdb_env_set_mapsize(env, kind->limit);
	return code;
}

/* Tried, because access() looks at permissions and not at what confines a process. */
static bool can_open(const char *path, unsigned flags)
{
	int fd = open(path, ((flags & MDB_RDONLY) != 0 ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Takes a reader's place, and gives it back. EINVAL, or 0 also where there is none. */
static int try_lock(MDB_env *env)
{
	MDB_txn *txn;
	int code = mdb_txn_begin(env, NULL, MDB_RDONLY, &txn);
	if (code == MDB_SUCCESS)
		mdb_txn_abort(txn);
	return code == EINVAL ? code : MDB_SUCCESS;
}

static int open_once(const char *path, const struct store_kind *kind, unsigned flags, bool is_new,
		     MDB_env **ret_env)
{
	MDB_env *env;
	int dead_readers;
	int code = mdb_env_create(&env);
	if (code != MDB_SUCCESS)
		return environment_status(code);
	code = set_up(env, kind, is_new);
	if (code == MDB_SUCCESS)
		code = open_file(env, path, kind, flags);
	bool is_locked_out = code == EACCES && can_open(path, flags);
	if (code == MDB_SUCCESS)
		code = try_lock(env);
	/* A reader that was killed would keep its place, and its version's pages, for ever. */
	if (code == MDB_SUCCESS)
		code = mdb_reader_check(env, &dead_readers);
	int ret = is_locked_out ? STORE_ELOCK : environment_status(code);
	if (ret == STORE_OK)
		ret = check_length(env);
	if (ret != STORE_OK) {
		mdb_env_close(env);
		return ret;
	}
	*ret_env = env;
	return STORE_OK;
}

/*
 * LMDB 0.9.31 has a race: the last process that closes a store destroys the mutexes of its lock file, and one that has
 * waited to open it meanwhile uses them, which is EINVAL. It makes them when it opens again and is the first.
 */
int environment_open(const char *path, const struct store_kind *kind, unsigned flags, bool is_new,
		     MDB_env **ret_env)
{
	int ret = check_heads(path);
	if (ret != STORE_OK && !(is_new && ret == STORE_ENOTSTORE))
		return ret;
	ret = open_once(path, kind, flags, is_new, ret_env);
	for (long tries = 1; ret == -EINVAL && tries <= OPEN_TRIES; tries++) {
		const struct timespec pause = { .tv_nsec = tries * OPEN_PAUSE_NS };
		nanosleep(&pause, NULL);
		ret = open_once(path, kind, flags, is_new, ret_env);
	}
	return ret;
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
