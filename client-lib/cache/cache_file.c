/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/cache/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client-lib/cache/cache_table.h"
#include "lib/format/fnv.h"

enum { FILE_MODE = S_IRUSR | S_IWUSR | S_IRGRP };
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* of Linux 5.1; headers may be older than the system */
#endif
enum { TABLE_SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

/* ---- what must be true of a file ---- */

/*
 * Expiries count from an epoch on a clock that begins anew with each boot. 0
 * where there is no /proc, as in a chroot; the clock alone has to tell then.
 */
static uint64_t read_boot(void)
{
	char text[64];
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t size = read(fd, text, sizeof(text));
	close(fd);

	/* Begun with 0: what cannot be read is that, too. */
	return size < 0 ? 0 : fnv_add(0, text, (size_t)size);
}

/* In another time namespace the clock is another one: its writer may have been at work later. */
static bool is_of_this_clock(const uint64_t *header)
{
	uint64_t boot = read_boot();
	uint64_t now_s = cache_clock_s();

	return header[CACHE_WORD_EPOCH] <= now_s && header[CACHE_WORD_BEAT] / 1000 <= now_s + 1 &&
	       (boot == 0 || header[CACHE_WORD_BOOT] == 0 || boot == header[CACHE_WORD_BOOT]);
}

/* A regular file that only its owner can change, in content or size. */
static bool is_sound_file(const struct stat *status)
{
	return S_ISREG(status->st_mode) && (status->st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
	       status->st_size > 0;
}

/* Do the sizes in the header fit the file and each other? Everything else is read by them. */
static bool has_good_sizes(const uint64_t *header, uint64_t file_size)
{
	uint64_t size = header[CACHE_WORD_SIZE];
	uint64_t names_size = header[CACHE_WORD_NAMES_SIZE];
	return header[CACHE_WORD_MAGIC] == CACHE_MAGIC &&
	       header[CACHE_WORD_VERSION] == CACHE_VERSION && size == file_size &&
	       cache_table_size(size) == size && names_size <= CACHE_NAMES_MAX &&
	       header[CACHE_WORD_ZONES] <= CACHE_ZONES_MAX && header[CACHE_WORD_SETS] > 0 &&
	       header[CACHE_WORD_SETS] == cache_table_sets(size, names_size);
}

/* As many strings as the header says, each with its NUL, and nothing behind. */
static bool has_good_names(const char *names, const uint64_t *header)
{
	uint64_t count = 0;
	uint64_t size = header[CACHE_WORD_NAMES_SIZE];
	for (uint64_t i = 0; i < size; i++)
		count += names[i] == '\0';
	return count == header[CACHE_WORD_ZONES] && (size == 0 || names[size - 1] == '\0');
}

/* Memory that has become a table: everything in its header fits, and cache has its names. */
static int use_table(struct cache *cache, char *memory, size_t size, bool is_writable)
{
	uint64_t header[CACHE_WORD_ZONE];

	memcpy(header, memory, sizeof(header));
	if (!has_good_sizes(header, size) || !is_of_this_clock(header))
		return -EPROTO;
	const size_t names_size = (size_t)header[CACHE_WORD_NAMES_SIZE];
	cache->names = malloc(names_size + 1);
	if (cache->names == NULL)
		return -ENOMEM;
	memcpy(cache->names, memory + CACHE_NAMES_OFFSET, names_size);
	if (!has_good_names(cache->names, header)) {
		free(cache->names);
		cache->names = NULL;
		return -EPROTO;
	}
	cache->zone_count = (unsigned)header[CACHE_WORD_ZONES];
	cache_table_use(cache, memory, header, is_writable);
	return DNSBLV6_OK;
}

/* ---- readers ---- */

/* It cannot be made shorter, and so reading it never raises SIGBUS. */
static bool is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	return seals >= 0 && (seals & TABLE_SEALS) == TABLE_SEALS;
}

static int map_table(int fd, struct cache *cache)
{
	struct stat status;

	if (!is_sealed(fd) || fstat(fd, &status) < 0 || status.st_size <= 0 ||
	    cache_table_size((uint64_t)status.st_size) != (uint64_t)status.st_size)
		return -EPROTO;
	size_t size = (size_t)status.st_size;
	char *memory = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	int ret = use_table(cache, memory, size, false);
	if (ret != DNSBLV6_OK)
		munmap(memory, size);
	cache->inode = status.st_ino;
	return ret;
}

int cache_map_shared(int fd, struct cache **ret_cache)
{
	struct cache *cache = cache_make_handle();
	if (cache == NULL)
		return -ENOMEM;
	int ret = map_table(fd, cache);
	if (ret != DNSBLV6_OK) {
		cache_free(cache);
		return ret;
	}
	*ret_cache = cache;
	return DNSBLV6_OK;
}

/* All memory of this kind is in one file system of the kernel's own, where no two numbers are
 * alike. */
bool cache_is_same(const struct cache *cache, int fd)
{
	struct stat status;
	return is_sealed(fd) && fstat(fd, &status) == 0 && status.st_ino == cache->inode;
}

bool cache_is_retired(const struct cache *cache)
{
	return cache_load(cache->header + CACHE_WORD_RETIRED) != 0;
}

int cache_shared_fd(const struct cache *cache)
{
	return cache->table_fd >= 0 ? cache->table_fd : -ENOENT;
}

int cache_read_beat(const char *path, int64_t *ret_beat_ms)
{
	uint64_t header[CACHE_WORD_ZONE];

	/* O_NONBLOCK: a FIFO would wait for its writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == ENXIO || errno == ELOOP ? -EPROTO : -errno;
	ssize_t size = pread(fd, header, sizeof(header), 0);
	close(fd);
	if (size != (ssize_t)sizeof(header) || header[CACHE_WORD_MAGIC] != CACHE_MAGIC ||
	    header[CACHE_WORD_VERSION] != CACHE_VERSION)
		return -EPROTO;
	*ret_beat_ms = (int64_t)header[CACHE_WORD_BEAT];
	return DNSBLV6_OK;
}

int cache_zone_index(const struct cache *cache, const char *zone)
{
	size_t size = strlen(zone);
	const char *name = cache->names;

	if (size > 1 && zone[size - 1] == '.')
		size--;
	for (unsigned i = 0; i < cache->zone_count; i++) {
		if (strlen(name) == size && strncasecmp(name, zone, size) == 0)
			return (int)i;
		name += strlen(name) + 1;
	}
	return -ENOENT;
}

/* ---- the writer ---- */

/* The writer of PATH holds PATH.lock: a file that no other user can open, and so not lock. */
static int take_lock(const char *path, int *ret_fd)
{
	char lock[PATH_MAX];
	int length = snprintf(lock, sizeof(lock), "%s.lock", path);
	if (length < 0 || (size_t)length >= sizeof(lock))
		return -ENAMETOOLONG;
	int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
		      S_IRUSR | S_IWUSR);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int ret = errno == EWOULDBLOCK ? -EBUSY : -errno;
		close(fd);
		return ret;
	}
	*ret_fd = fd;
	return DNSBLV6_OK;
}

static bool has_same_names(const struct cache *cache, const char *const *zones, unsigned zone_count)
{
	const char *name = cache->names;

	if (cache->zone_count != zone_count)
		return false;
	for (unsigned i = 0; i < zone_count; i++) {
		if (strcmp(name, zones[i]) != 0)
			return false;
		name += strlen(name) + 1;
	}
	return true;
}

/* Names beside each other. Returns their size, 0 also for too many or none. */
static size_t join_names(const char *const *zones, unsigned zone_count, char *ret_names)
{
	size_t size = 0;
	for (unsigned i = 0; i < zone_count; i++) {
		size_t text_size = strlen(zones[i]) + 1;
		if (text_size > CACHE_NAMES_MAX - size)
			return 0;
		memcpy(ret_names + size, zones[i], text_size);
		size += text_size;
	}
	return size;
}

/* ---- memory that can be handed out ---- */

/* Behind the mapping, which stays the only one that is written to. */
static int seal(int fd)
{
	enum { SEALS = TABLE_SEALS | F_SEAL_SEAL };

	if (fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_FUTURE_WRITE) == 0)
		return DNSBLV6_OK;
	/* A system that does not know that one has readers that are trusted not to write. */
	return errno == EINVAL && fcntl(fd, F_ADD_SEALS, SEALS) == 0 ? DNSBLV6_OK : -errno;
}

/* All of it now: -ENOMEM instead of a kill later. Zeros. */
static int make_memory(size_t size, struct cache *cache, char **ret_memory)
{
	struct stat status;

	cache->table_fd = memfd_create("dnsblv6-cache", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (cache->table_fd < 0)
		return -errno;
	int ret = -posix_fallocate(cache->table_fd, 0, (off_t)size);
	if (ret != 0)
		return ret;
	if (fstat(cache->table_fd, &status) != 0)
		return -errno;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			    cache->table_fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	ret = seal(cache->table_fd);
	if (ret != DNSBLV6_OK) {
		munmap(memory, size);
		return ret;
	}
	cache->inode = status.st_ino;
	*ret_memory = memory;
	return DNSBLV6_OK;
}

/* ---- the copy ---- */

/* What a writer before us has left, if it is ours. The descriptor is cache's then. */
static int read_copy(const char *path, size_t size, struct cache *cache, char *memory)
{
	struct stat status;

	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	size_t done = 0;
	if (fstat(fd, &status) == 0 && is_sound_file(&status) && status.st_uid == geteuid() &&
	    (uint64_t)status.st_size == size) {
		ssize_t got = 1;
		for (; done < size && got > 0; done += (size_t)(got > 0 ? got : 0))
			got = pread(fd, memory + done, size - done, (off_t)done);
	}
	if (done != size) {
		close(fd);
		return -EPROTO;
	}
	cache->copy_fd = fd;
	return DNSBLV6_OK;
}

/* The same if it is as we want it; memory is a table then, and all zeros if not. */
static int take_over(const char *path, size_t size, const char *const *zones, unsigned zone_count,
		     struct cache *cache, char *memory)
{
	int ret = read_copy(path, size, cache, memory);
	if (ret == DNSBLV6_OK)
		ret = use_table(cache, memory, size, true);
	if (ret == DNSBLV6_OK && has_same_names(cache, zones, zone_count)) {
		cache_count_away(cache);
		return DNSBLV6_OK;
	}
	if (cache->copy_fd >= 0)
		close(cache->copy_fd);
	free(cache->names);
	cache->copy_fd = -1;
	cache->names = NULL;
	cache->header = NULL;
	memset(memory, 0, size);
	return ret != DNSBLV6_OK ? ret : -EPROTO;
}

/* An empty table of that header in fd, with all its blocks. */
static int fill_copy(int fd, size_t size, const char *memory, size_t header_size)
{
	/* Whatever umask is: the group is to read the beat. */
	if (fchmod(fd, FILE_MODE) < 0)
		return -errno;
	int ret = -posix_fallocate(fd, 0, (off_t)size);
	if (ret != 0)
		return ret;
	ssize_t written = pwrite(fd, memory, header_size, 0);
	if (written < 0)
		return -errno;
	return (size_t)written == header_size ? DNSBLV6_OK : -ENOSPC;
}

static int make_copy(const char *path, size_t size, const char *memory, size_t header_size,
		     int *ret_fd)
{
	char beside[PATH_MAX];
	int length = snprintf(beside, sizeof(beside), "%s.new", path);
	if (length < 0 || (size_t)length >= sizeof(beside))
		return -ENAMETOOLONG;
	unlink(beside); /* of a writer that was killed just here */
	int fd = open(beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
	if (fd < 0)
		return -errno;
	int ret = fill_copy(fd, size, memory, header_size);
	if (ret == DNSBLV6_OK && rename(beside, path) < 0)
		ret = -errno;
	if (ret != DNSBLV6_OK) {
		unlink(beside);
		close(fd);
		return ret;
	}
	*ret_fd = fd;
	return DNSBLV6_OK;
}

/* An empty table, in memory and in its copy. */
static int make_table(const char *path, size_t size, const char *const *zones, unsigned zone_count,
		      struct cache *cache, char *memory)
{
	uint64_t *header = (uint64_t *)(void *)memory;
	size_t names_size = 0;
	char *names = malloc(CACHE_NAMES_MAX);
	if (names == NULL)
		return -ENOMEM;
	if (zone_count > 0)
		names_size = join_names(zones, zone_count, names);
	bool is_good =
		(names_size > 0 || zone_count == 0) && cache_table_sets(size, names_size) > 0;
	if (is_good) {
		cache_table_fill(header, size, names_size);
		header[CACHE_WORD_ZONES] = zone_count;
		header[CACHE_WORD_BOOT] = read_boot();
		memcpy(memory + CACHE_NAMES_OFFSET, names, names_size);
	}
	free(names);
	if (!is_good)
		return -EINVAL;
	int ret = make_copy(path, size, memory, (size_t)cache_table_offset(names_size),
			    &cache->copy_fd);
	return ret == DNSBLV6_OK ? use_table(cache, memory, size, true) : ret;
}

static int open_table(const char *path, size_t size, const char *const *zones, unsigned zone_count,
		      struct cache *cache)
{
	char *memory = NULL;

	int ret = take_lock(path, &cache->lock_fd);
	if (ret == DNSBLV6_OK)
		ret = make_memory(size, cache, &memory);
	if (memory == NULL)
		return ret;
	if (take_over(path, size, zones, zone_count, cache, memory) != DNSBLV6_OK)
		ret = make_table(path, size, zones, zone_count, cache, memory);
	if (ret != DNSBLV6_OK)
		munmap(memory, size);
	return ret;
}

int cache_create_shared(const char *path, uint64_t size_bytes, const char *const *zones,
			unsigned zone_count, struct cache **ret_cache)
{
	size_t size = cache_table_size(size_bytes);
	if (size == 0 || zone_count > CACHE_ZONES_MAX)
		return -EINVAL;
	struct cache *cache = cache_make_handle();
	if (cache == NULL)
		return -ENOMEM;
	int ret = open_table(path, size, zones, zone_count, cache);
	if (ret != DNSBLV6_OK) {
		cache_free(cache);
		return ret;
	}
	cache_set_header(cache, CACHE_WORD_RETIRED, 0);
	cache_beat(cache, (int64_t)cache_clock_s() * 1000);
	*ret_cache = cache;
	return DNSBLV6_OK;
}
