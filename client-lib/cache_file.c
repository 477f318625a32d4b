/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client-lib/cache_table.h"

enum { FILE_MODE = S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH };

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

	uint64_t hash = 0;
	for (ssize_t i = 0; i < size; i++)
		hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3ull; /* FNV-1a */
	return hash;
}

static bool is_of_this_boot(const uint64_t *header)
{
	uint64_t boot = read_boot();
	return header[CACHE_WORD_EPOCH] <= cache_clock_s() &&
	       (boot == 0 || header[CACHE_WORD_BOOT] == 0 || boot == header[CACHE_WORD_BOOT]);
}

/* A regular file that nobody but its owner can change, in content or size. */
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

/*
 * Maps fd, whose size is known to be size, and fills cache in when what is there is a table.
 * -EPROTO when not. The file must not become shorter while it is mapped: is_sound_file().
 */
static int map_table(int fd, const struct stat *status, bool is_writable, struct cache *cache)
{
	uint64_t header[CACHE_WORD_ZONE];
	size_t size = (size_t)status->st_size;

	if (cache_table_size(size) != size)
		return -EPROTO;
	char *memory = mmap(NULL, size, PROT_READ | (is_writable ? PROT_WRITE : 0),
			    MAP_SHARED | MAP_POPULATE, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	memcpy(header, memory, sizeof(header));

	int ret = -EPROTO;
	if (has_good_sizes(header, size) && is_of_this_boot(header)) {
		ret = -ENOMEM;
		cache->names = malloc(header[CACHE_WORD_NAMES_SIZE] + 1);
	}
	if (cache->names != NULL) {
		memcpy(cache->names, memory + CACHE_NAMES_OFFSET, header[CACHE_WORD_NAMES_SIZE]);
		ret = has_good_names(cache->names, header) ? DNSBLV6_OK : -EPROTO;
	}
	if (ret != DNSBLV6_OK) {
		free(cache->names);
		cache->names = NULL;
		munmap(memory, size);
		return ret;
	}
	cache_table_use(cache, memory, header, is_writable);
	cache->zone_count = (unsigned)header[CACHE_WORD_ZONES];
	cache->device = status->st_dev;
	cache->inode = status->st_ino;
	return DNSBLV6_OK;
}

static struct cache *make_handle(void)
{
	struct cache *cache = calloc(1, sizeof(*cache));
	if (cache != NULL)
		cache->lock_fd = -1;
	return cache;
}

/* ---- readers ---- */

static bool is_owner_trusted(const char *path, uid_t owner)
{
	char copy[PATH_MAX];
	struct stat status;

	if (owner == 0 || owner == geteuid())
		return true;
	int length = snprintf(copy, sizeof(copy), "%s", path);
	return length >= 0 && (size_t)length < sizeof(copy) && stat(dirname(copy), &status) == 0 &&
	       owner == status.st_uid;
}

int cache_map_file(const char *path, struct cache **ret_cache)
{
	struct stat status;

	/* O_NONBLOCK: a FIFO would wait for its writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == ENXIO || errno == ELOOP ? -EPROTO : -errno;
	struct cache *cache = make_handle();
	int ret = cache != NULL ? DNSBLV6_OK : -ENOMEM;
	if (ret == DNSBLV6_OK && (fstat(fd, &status) < 0 || !is_sound_file(&status) ||
				  !is_owner_trusted(path, status.st_uid)))
		ret = -EPROTO;
	if (ret == DNSBLV6_OK)
		ret = map_table(fd, &status, false, cache);
	close(fd);
	if (ret != DNSBLV6_OK) {
		cache_free(cache);
		return ret;
	}
	*ret_cache = cache;
	return DNSBLV6_OK;
}

bool cache_is_current(const struct cache *cache, const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && status.st_dev == cache->device &&
	       status.st_ino == cache->inode && (uint64_t)status.st_size >= cache->size_bytes &&
	       cache_load(cache->header + CACHE_WORD_RETIRED) == 0;
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

/* Whoever writes PATH holds PATH.lock: a file that nobody else can open, and so not lock. */
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

/* What a writer before us has left, if it is ours and as we want it. */
static int take_over(const char *path, uint64_t size_bytes, const char *const *zones,
		     unsigned zone_count, struct cache *cache)
{
	struct stat status;
	int ret = -EPROTO;

	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) == 0 && is_sound_file(&status) && status.st_uid == geteuid() &&
	    (uint64_t)status.st_size == size_bytes)
		ret = map_table(fd, &status, true, cache);
	close(fd);
	if (ret != DNSBLV6_OK)
		return ret;
	if (has_same_names(cache, zones, zone_count)) {
		cache_store(cache->header + CACHE_WORD_RETIRED, 0);
		return DNSBLV6_OK;
	}
	munmap(cache->header, cache->size_bytes);
	free(cache->names);
	cache->header = NULL;
	cache->names = NULL;
	return -EPROTO;
}

/* Names beside each other. Returns their size, 0 also for too many or none. */
static uint64_t join_names(const char *const *zones, unsigned zone_count, char *ret_names)
{
	uint64_t size = 0;
	for (unsigned i = 0; i < zone_count; i++) {
		size_t text_size = strlen(zones[i]) + 1;
		if (text_size > CACHE_NAMES_MAX - size)
			return 0;
		memcpy(ret_names + size, zones[i], text_size);
		size += text_size;
	}
	return size;
}

/* An empty table in fd, with all its blocks. */
static int fill_file(int fd, uint64_t size_bytes, const char *names, uint64_t names_size,
		     unsigned zone_count, struct cache *cache)
{
	struct stat status;

	/* Whatever umask is: others are to read it. */
	if (fchmod(fd, FILE_MODE) < 0)
		return -errno;
	int ret = -posix_fallocate(fd, 0, (off_t)size_bytes);
	if (ret != 0)
		return ret;
	char *memory = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	uint64_t *header = (uint64_t *)(void *)memory;
	cache_table_fill(header, size_bytes, names_size);
	header[CACHE_WORD_ZONES] = zone_count;
	header[CACHE_WORD_BOOT] = read_boot();
	memcpy(memory + CACHE_NAMES_OFFSET, names, names_size);
	munmap(memory, size_bytes);
	return fstat(fd, &status) == 0 ? map_table(fd, &status, true, cache) : -errno;
}

static int make_file(const char *path, uint64_t size_bytes, const char *const *zones,
		     unsigned zone_count, struct cache *cache)
{
	char beside[PATH_MAX];
	int length = snprintf(beside, sizeof(beside), "%s.new", path);
	if (length < 0 || (size_t)length >= sizeof(beside))
		return -ENAMETOOLONG;
	char *names = malloc(CACHE_NAMES_MAX);
	if (names == NULL)
		return -ENOMEM;
	uint64_t names_size = join_names(zones, zone_count, names);

	unlink(beside); /* of a writer that was killed just here */
	int ret = -EINVAL;
	int fd = -1;
	if ((names_size > 0 || zone_count == 0) && cache_table_sets(size_bytes, names_size) > 0)
		ret = DNSBLV6_OK;
	if (ret == DNSBLV6_OK) {
		fd = open(beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
		ret = fd < 0 ? -errno : DNSBLV6_OK;
	}
	if (ret == DNSBLV6_OK)
		ret = fill_file(fd, size_bytes, names, names_size, zone_count, cache);
	if (ret == DNSBLV6_OK && rename(beside, path) < 0)
		ret = -errno;
	if (ret != DNSBLV6_OK && fd >= 0)
		unlink(beside);
	if (fd >= 0)
		close(fd);
	free(names);
	return ret;
}

int cache_create_file(const char *path, uint64_t size_bytes, const char *const *zones,
		      unsigned zone_count, struct cache **ret_cache)
{
	uint64_t size = cache_table_size(size_bytes);
	if (size == 0 || zone_count > CACHE_ZONES_MAX)
		return -EINVAL;
	struct cache *cache = make_handle();
	if (cache == NULL)
		return -ENOMEM;
	int ret = take_lock(path, &cache->lock_fd);
	if (ret == DNSBLV6_OK && take_over(path, size, zones, zone_count, cache) != DNSBLV6_OK)
		ret = make_file(path, size, zones, zone_count, cache);
	if (ret != DNSBLV6_OK) {
		cache_free(cache);
		return ret;
	}
	*ret_cache = cache;
	return DNSBLV6_OK;
}
