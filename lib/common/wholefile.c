/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/common/wholefile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int wholefile_put(int fd, const void *bytes, size_t size)
{
	const char *from = bytes;
	while (size > 0) {
		ssize_t some = write(fd, from, size);
		if (some < 0 && errno != EINTR)
			return -errno;
		if (some > 0) {
			from += some;
			size -= (size_t)some;
		}
	}
	return 0;
}

ssize_t wholefile_take(int fd, void *ret_bytes, size_t max)
{
	char *to = ret_bytes;
	size_t size = 0;
	while (size < max) {
		ssize_t some = read(fd, to + size, max - size);
		if (some == 0)
			break;
		if (some < 0 && errno != EINTR)
			return -errno;
		size += some > 0 ? (size_t)some : 0;
	}
	return (ssize_t)size;
}

bool wholefile_is_fifo(const char *path)
{
	struct stat found;
	return lstat(path, &found) == 0 && S_ISFIFO(found.st_mode);
}

int wholefile_get(int fd, uint64_t at, void *ret_bytes, size_t size)
{
	char *to = ret_bytes;
	while (size > 0) {
		ssize_t some = pread(fd, to, size, (off_t)at);
		if (some == 0 || (some < 0 && errno != EINTR))
			return some == 0 ? -ENODATA : -errno;
		if (some > 0) {
			to += some;
			at += (uint64_t)some;
			size -= (size_t)some;
		}
	}
	return 0;
}

static int sync_directory(int directory_fd, const char *path)
{
	char copy[PATH_MAX];
	snprintf(copy, sizeof(copy), "%s", path);
	int fd = openat(directory_fd, dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ret = fd < 0 || fsync(fd) != 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return ret;
}

/* What is in fd then is all of it. */
static int fill(int fd, const void *bytes, size_t size, mode_t mode, unsigned how)
{
	int ret = wholefile_put(fd, bytes, size);
	if (ret == 0 && (how & WHOLEFILE_EXACT) != 0 && fchmod(fd, mode) != 0)
		ret = -errno;
	if (ret == 0 && (how & WHOLEFILE_LASTS) != 0 && fsync(fd) != 0)
		ret = -errno;
	if (close(fd) != 0 && ret == 0)
		ret = -errno;
	return ret;
}

static int open_new(int directory_fd, const char *path, mode_t mode, int *ret_fd)
{
	*ret_fd = openat(directory_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			 mode);
	return *ret_fd < 0 ? -errno : 0;
}

/* A file system has one of these at least. */
static int name_first(int directory_fd, const char *beside, const char *path)
{
	if (linkat(directory_fd, beside, directory_fd, path, 0) == 0) {
		unlinkat(directory_fd, beside, 0);
		return 0;
	}
	if (errno != EEXIST &&
	    renameat2(directory_fd, beside, directory_fd, path, RENAME_NOREPLACE) == 0)
		return 0;
	return -errno;
}

static int name_file(int directory_fd, const char *beside, const char *path, unsigned how)
{
	if ((how & WHOLEFILE_FIRST) != 0)
		return name_first(directory_fd, beside, path);
	return renameat(directory_fd, beside, directory_fd, path) == 0 ? 0 : -errno;
}

/* How much of it is not lost with the power. */
static int settle_name(int directory_fd, const char *path, unsigned how)
{
	int ret = (how & WHOLEFILE_LASTS) != 0 ? sync_directory(directory_fd, path) : 0;
	if (ret != 0 && (how & WHOLEFILE_FIRST) != 0)
		unlinkat(directory_fd, path, 0);
	return ret;
}

int wholefile_write(int directory_fd, const char *path, const void *bytes, size_t size, mode_t mode,
		    unsigned how)
{
	char beside[PATH_MAX];
	int fd;
	int length = snprintf(beside, sizeof(beside), "%s.new-%ld", path, (long)getpid());
	if (length < 0 || (size_t)length >= sizeof(beside))
		return -ENAMETOOLONG;
	unlinkat(directory_fd, beside, 0); /* of a process that had this number and was killed */
	int ret = open_new(directory_fd, beside, mode, &fd);
	if (ret != 0)
		return ret;
	ret = fill(fd, bytes, size, mode, how);
	if (ret == 0)
		ret = name_file(directory_fd, beside, path, how);
	if (ret != 0) {
		unlinkat(directory_fd, beside, 0);
		return ret;
	}
	return settle_name(directory_fd, path, how);
}
