/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/mailstore/filedisk.h"

#include "lib/format/hex.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#define NAME_SIZE      17
#define OPEN_MAX_FILES 8 /* files that stay open: those that grow, and the last that were read */

struct open_file {
	uint64_t object;
	uint64_t used; /* the count of uses when it was used last; 0: no file */
	uint64_t size;
	int fd;
	int refused;	  /* why it cannot be written, -errno, or 0 */
	bool is_new;	  /* the directory does not have its name for certain */
	bool is_unsynced; /* written, and not synced since by its descriptor */
};

struct filedisk {
	struct disk disk;
	int directory;
	bool is_listed; /* the names that were there at the beginning are there for certain */
	uint64_t use_count;
	struct open_file files[OPEN_MAX_FILES];
};

static void make_name(uint64_t object, char *ret_name)
{
	snprintf(ret_name, NAME_SIZE, "%016" PRIx64, object);
}

/* Only the very name that make_name() makes. */
static bool parse_name(const char *name, uint64_t *ret_object)
{
	char again[NAME_SIZE];
	if (strlen(name) != NAME_SIZE - 1 || !hex_number(name, NAME_SIZE - 1, ret_object))
		return false;
	make_name(*ret_object, again);
	return strcmp(name, again) == 0;
}

static int file_list(struct disk *disk, disk_list_fn fn, void *context)
{
	struct filedisk *self = (struct filedisk *)disk;
	int fd = openat(self->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	if (directory == NULL) {
		int ret = -errno;
		if (fd >= 0)
			close(fd);
		return ret;
	}
	int ret = 0;
	errno = 0;
	for (const struct dirent *entry; ret == 0 && (entry = readdir(directory)) != NULL;) {
		uint64_t object;
		if (parse_name(entry->d_name, &object))
			ret = fn(context, object);
		errno = 0;
	}
	if (ret == 0)
		ret = -errno;
	closedir(directory);
	return ret;
}

/* How much is lost when its descriptor is closed; 0: nothing. */
static int loss(const struct open_file *file)
{
	return file->is_new ? 2 : file->is_unsynced ? 1 : 0;
}

/*
 * The place of the file that was used longest ago, or of none. Not of one that is written: an error of
 * writing is told to the descriptors that were open then, and where there is none the system may forget it.
 */
static struct open_file *free_place(struct filedisk *self)
{
	struct open_file *oldest = &self->files[0];
	for (int i = 1; i < OPEN_MAX_FILES; i++) {
		struct open_file *file = &self->files[i];
		int more = loss(file) - loss(oldest);
		if (more < 0 || (more == 0 && file->used < oldest->used))
			oldest = file;
	}
	if (oldest->used != 0)
		close(oldest->fd);
	*oldest = (struct open_file){ .fd = -1 };
	return oldest;
}

/*
 * What root makes in another user's directory is that user's from the beginning: one that was killed would
 * leave what the user's daemon cannot open. Where root may not become another it is root's.
 */
static bool enter(int directory)
{
	struct stat st;
	if (geteuid() != 0 || fstat(directory, &st) != 0 || st.st_uid == 0)
		return false;
	setfsgid(st.st_gid);
	setfsuid(st.st_uid);
	return true;
}

static void leave(bool is_entered)
{
	if (!is_entered)
		return;
	setfsuid(0);
	setfsgid(getegid());
}

/* A descriptor or -errno. */
static int open_new(int directory, const char *name)
{
	const bool is_entered = enter(directory);
	int fd = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	int ret = fd < 0 ? -errno : fd;
	leave(is_entered);
	return ret;
}

/* One that cannot be written may be read. A descriptor or -errno. */
static int open_old(int directory, const char *name, int *ret_refused)
{
	*ret_refused = 0;
	int fd = openat(directory, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && (errno == EACCES || errno == EROFS)) {
		*ret_refused = -errno;
		fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	}
	return fd < 0 ? -errno : fd;
}

/* Opens, or creates, or finds it open. */
static int use(struct filedisk *self, uint64_t object, bool is_new, struct open_file **ret_file)
{
	char name[NAME_SIZE];
	struct stat st;
	int refused = 0;
	for (int i = 0; !is_new && i < OPEN_MAX_FILES; i++) {
		if (self->files[i].used != 0 && self->files[i].object == object) {
			self->files[i].used = ++self->use_count;
			*ret_file = &self->files[i];
			return 0;
		}
	}
	make_name(object, name);
	int fd = is_new ? open_new(self->directory, name)
			: open_old(self->directory, name, &refused);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	struct open_file *file = free_place(self);
	*file = (struct open_file){ .object = object,
				    .used = ++self->use_count,
				    .size = (uint64_t)st.st_size,
				    .fd = fd,
				    .refused = refused,
				    .is_new = is_new };
	*ret_file = file;
	return 0;
}

static int file_create(struct disk *disk, uint64_t object)
{
	struct open_file *file;
	return use((struct filedisk *)disk, object, true, &file);
}

/* The parts from *skipped on; a part that was begun is written by itself. */
static ssize_t write_some(int fd, uint64_t at, const struct iovec *parts, int count, size_t skipped)
{
	while (count > 0 && skipped >= parts->iov_len) {
		skipped -= parts->iov_len;
		parts++;
		count--;
	}
	if (count == 0)
		return 0;
	if (skipped > 0)
		return pwrite(fd, (const uint8_t *)parts->iov_base + skipped,
			      parts->iov_len - skipped, (off_t)at);
	return pwritev(fd, parts, count < IOV_MAX ? count : IOV_MAX, (off_t)at);
}

/* *ret_done is written in any case. */
static int write_all(int fd, uint64_t at, const struct iovec *parts, int count, size_t *ret_done)
{
	size_t done = 0;
	int ret = 0;
	for (;;) {
		ssize_t written = write_some(fd, at + done, parts, count, done);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			ret = -errno;
		if (written <= 0)
			break;
		done += (size_t)written;
	}
	*ret_done = done;
	return ret;
}

static int file_append(struct disk *disk, uint64_t object, uint64_t at, const struct iovec *parts,
		       int count)
{
	struct open_file *file;
	size_t done;
	int ret = use((struct filedisk *)disk, object, false, &file);
	if (ret != 0)
		return ret;
	if (file->refused != 0)
		return file->refused;
	if (file->size != at)
		return -ESTALE;
	file->is_unsynced = true;
	ret = write_all(file->fd, at, parts, count, &done);
	file->size = at + done;
	return ret;
}

static int file_read(struct disk *disk, uint64_t object, uint64_t at, void *bytes, size_t size)
{
	struct open_file *file;
	uint8_t *out = bytes;
	int ret = use((struct filedisk *)disk, object, false, &file);
	if (ret != 0)
		return ret;
	while (size > 0) {
		ssize_t got = pread(file->fd, out, size, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -ENODATA;
		out += got;
		at += (uint64_t)got;
		size -= (size_t)got;
	}
	return 0;
}

static int file_size(struct disk *disk, uint64_t object, uint64_t *ret_size)
{
	struct open_file *file;
	struct stat st;
	int ret = use((struct filedisk *)disk, object, false, &file);
	if (ret == 0 && fstat(file->fd, &st) != 0)
		ret = -errno;
	if (ret == 0)
		*ret_size = (uint64_t)st.st_size;
	return ret;
}

static int file_sync(struct disk *disk, uint64_t object)
{
	struct filedisk *self = (struct filedisk *)disk;
	struct open_file *file;
	int ret = use(self, object, false, &file);
	if (ret != 0)
		return ret;
	if (fdatasync(file->fd) != 0)
		return -errno;
	file->is_unsynced = false;
	if ((file->is_new || !self->is_listed) && fsync(self->directory) != 0)
		return -errno;
	self->is_listed = true;
	file->is_new = false;
	return 0;
}

static int file_renew(struct disk *disk, uint64_t object, uint64_t from, uint64_t to)
{
	struct open_file *file;
	uint8_t bytes[4096];
	int ret = use((struct filedisk *)disk, object, false, &file);
	if (ret != 0 || file->refused != 0)
		return ret;
	file->is_unsynced = true;
	while (ret == 0 && from < to) {
		size_t size = to - from < sizeof(bytes) ? (size_t)(to - from) : sizeof(bytes);
		const struct iovec part = { bytes, size };
		ret = file_read(disk, object, from, bytes, size);
		if (ret == 0)
			ret = write_all(file->fd, from, &part, 1, &size);
		from += size;
	}
	return ret;
}

static int file_open_sync(struct disk *disk, uint64_t object, int *ret_fd)
{
	struct filedisk *self = (struct filedisk *)disk;
	struct open_file *file;
	char name[NAME_SIZE];
	int ret = use(self, object, false, &file);
	if (ret != 0)
		return ret;
	if (file->is_new || !self->is_listed)
		return -EOPNOTSUPP;
	/*
	 * Not the descriptor itself, which another file may take the place of meanwhile, nor a copy of
	 * it: an error of writing is told once to each open(), and what fdatasync() in another process
	 * has taken, sync() here would not see, and say that all is well.
	 */
	make_name(object, name);
	int fd = openat(self->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	/* sync() needs none, and a system that lacks them for a moment is no disk that has failed. */
	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		return -EOPNOTSUPP;
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int file_cut(struct disk *disk, uint64_t object, uint64_t size)
{
	struct open_file *file;
	int ret = use((struct filedisk *)disk, object, false, &file);
	if (ret != 0)
		return ret;
	if (file->refused != 0)
		return file->refused;
	if (ftruncate(file->fd, (off_t)size) != 0)
		return -errno;
	file->size = size;
	return fdatasync(file->fd) == 0 ? 0 : -errno;
}

static int file_remove(struct disk *disk, uint64_t object)
{
	struct filedisk *self = (struct filedisk *)disk;
	char name[NAME_SIZE];
	for (int i = 0; i < OPEN_MAX_FILES; i++) {
		if (self->files[i].used != 0 && self->files[i].object == object) {
			close(self->files[i].fd);
			self->files[i] = (struct open_file){ .fd = -1 };
		}
	}
	make_name(object, name);
	if (unlinkat(self->directory, name, 0) != 0 && errno != ENOENT)
		return -errno;
	return fsync(self->directory) == 0 ? 0 : -errno;
}

static int file_open(struct disk *disk, uint64_t object, int *ret_fd)
{
	char name[NAME_SIZE];
	make_name(object, name);
	int fd = openat(((struct filedisk *)disk)->directory, name,
			O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int file_room(struct disk *disk, uint64_t *ret_size, uint64_t *ret_root_size)
{
	struct statvfs facts;
	if (fstatvfs(((struct filedisk *)disk)->directory, &facts) != 0)
		return -errno;
	/* A file system without a size, such as some in user space, has no end. */
	*ret_size = facts.f_blocks != 0 ? (uint64_t)facts.f_bavail * facts.f_frsize : UINT64_MAX;
	*ret_root_size =
		facts.f_blocks != 0 ? (uint64_t)facts.f_bfree * facts.f_frsize : UINT64_MAX;
	return 0;
}

static void file_close(struct disk *disk)
{
	struct filedisk *self = (struct filedisk *)disk;
	for (int i = 0; i < OPEN_MAX_FILES; i++)
		if (self->files[i].used != 0)
			close(self->files[i].fd);
	close(self->directory);
	free(self);
}

static const struct disk_ops file_ops = {
	.list = file_list,
	.create = file_create,
	.append = file_append,
	.read = file_read,
	.size = file_size,
	.sync = file_sync,
	.renew = file_renew,
	.open_sync = file_open_sync,
	.cut = file_cut,
	.remove = file_remove,
	.open = file_open,
	.room = file_room,
	.close = file_close,
};

/* A descriptor or -errno. */
static int open_parent(const char *path)
{
	char copy[PATH_MAX];
	if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
		return -ENAMETOOLONG;
	int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int filedisk_sync_parent(const char *path)
{
	int fd = open_parent(path);
	if (fd < 0)
		return fd;
	int ret = fsync(fd) != 0 ? -errno : 0;
	close(fd);
	return ret;
}

static int make_directory(int parent, const char *path)
{
	char copy[PATH_MAX];
	if (parent < 0)
		return mkdir(path, 0700) == 0 ? 0 : -errno;
	snprintf(copy, sizeof(copy), "%s", path); /* open_parent() has had room for it */
	const bool is_entered = enter(parent);
	int ret = mkdirat(parent, basename(copy), 0700) == 0 ? 0 : -errno;
	leave(is_entered);
	return ret;
}

int filedisk_make(const char *path)
{
	int parent = open_parent(path);
	int made = parent == -ENAMETOOLONG ? parent : make_directory(parent, path);
	int ret = made == 0 || made == -EEXIST ? 0 : made;
	if (ret == 0 && parent >= 0 && fsync(parent) != 0)
		ret = -errno;
	/* What was there may be in a directory that is not ours to read. */
	if (ret == 0 && parent < 0 && (made == 0 || parent != -EACCES))
		ret = parent;
	if (parent >= 0)
		close(parent);
	return ret;
}

int filedisk_open(const char *path, struct disk **ret_disk)
{
	struct filedisk *self = calloc(1, sizeof(*self));
	if (self == NULL)
		return -ENOMEM;
	self->disk.ops = &file_ops;
	self->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (self->directory < 0 || flock(self->directory, LOCK_EX | LOCK_NB) != 0) {
		int ret = errno == EWOULDBLOCK ? -EBUSY : -errno;
		if (self->directory >= 0)
			close(self->directory);
		free(self);
		return ret;
	}
	*ret_disk = &self->disk;
	return 0;
}
