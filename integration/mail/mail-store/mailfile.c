/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-store/mailfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/format/array.h"

#define FIRST_ROOM 65536

int mailfile_fill(int fd, size_t room, struct mailfile *file, bool *ret_is_end)
{
	if (!array_reserve(file->bytes, room, &file->room))
		return -ENOMEM;
	while (file->size < room) {
		ssize_t got = read(fd, file->bytes + file->size, room - file->size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			*ret_is_end = got == 0;
			return got == 0 ? 0 : -errno;
		}
		file->size += (size_t)got;
	}
	return 0;
}

int mailfile_read(int fd, struct mailfile *ret_file)
{
	bool is_end = false;
	int ret = 0;
	*ret_file = (struct mailfile){ 0 };
	while (ret == 0 && !is_end)
		ret = mailfile_fill(fd, 2 * ret_file->size + FIRST_ROOM, ret_file, &is_end);
	return ret;
}

void mailfile_free(struct mailfile *file)
{
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
