/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-store/mailfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/format/array.h"

#define FIRST_ROOM 65536

int mailfile_read(int fd, struct mailfile *ret_file)
{
	struct mailfile *file = ret_file;
	*file = (struct mailfile){ 0 };
	size_t room = 0;
	for (;;) {
		if (file->size == room &&
		    !array_reserve(file->bytes, file->size + FIRST_ROOM, &room))
			return -ENOMEM;
		ssize_t got = read(fd, file->bytes + file->size, room - file->size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0 ? 0 : -errno;
		file->size += (size_t)got;
	}
}

int mailfile_map(int fd, struct mailfile *ret_file)
{
	struct stat st;
	bool is_whole = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
			lseek(fd, 0, SEEK_CUR) == 0;
	if (is_whole) {
		void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes != MAP_FAILED) {
			*ret_file = (struct mailfile){ bytes, (size_t)st.st_size, true };
			return 0;
		}
	}
	return mailfile_read(fd, ret_file);
}

void mailfile_free(struct mailfile *file)
{
	if (file->is_mapped)
		munmap(file->bytes, file->size);
	else
		free(file->bytes);
	*file = (struct mailfile){ 0 };
}

int mailfile_open(const char *path, struct mailfile *ret_file, time_t *ret_mtime)
{
	struct stat st;
	*ret_file = (struct mailfile){ 0 };
	/* A pipe without a writer is not waited for. */
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int ret = fd < 0 || fstat(fd, &st) != 0 ? -errno : 0;
	if (ret == 0 && !S_ISREG(st.st_mode))
		ret = -EINVAL;
	if (ret == 0)
		ret = mailfile_read(fd, ret_file);
	if (ret == 0)
		*ret_mtime = st.st_mtim.tv_sec;
	if (fd >= 0)
		close(fd);
	return ret;
}

bool mailfile_is_same(const char *path, const char *other_path)
{
	struct mailfile one = { 0 };
	struct mailfile other = { 0 };
	time_t mtime;
	const bool is_same = mailfile_open(path, &one, &mtime) == 0 &&
			     mailfile_open(other_path, &other, &mtime) == 0 &&
			     one.size == other.size &&
			     (one.size == 0 || memcmp(one.bytes, other.bytes, one.size) == 0);
	mailfile_free(&one);
	mailfile_free(&other);
	return is_same;
}
