/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/zones/handover.h"

#include "lib/common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Root's own still, and of one name: the owner of the directory may have moved another there. */
static bool is_ours(const struct stat *file)
{
	return file->st_uid == 0 &&
	       (S_ISDIR(file->st_mode) || (S_ISREG(file->st_mode) && file->st_nlink == 1));
}

static int give(int fd, const char *directory)
{
	struct stat owner;
	struct stat file;
	if (stat(directory, &owner) != 0 || fstat(fd, &file) != 0)
		return -errno;
	if (owner.st_uid == 0 || !is_ours(&file))
		return 0;
	return fchownat(fd, "", owner.st_uid, owner.st_gid, AT_EMPTY_PATH) == 0 ? 0 : -errno;
}

void handover_give(const char *path)
{
	char *copy = strdup(path);
	if (copy == NULL || geteuid() != 0) {
		free(copy);
		return;
	}
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int ret = fd < 0 ? -errno : give(fd, dirname(copy));
	if (ret != 0 && ret != -ENOENT) /* it was not made after all */
		log_warning(path, "owner not changed, and it is root's (%s)", strerror(-ret));
	if (fd >= 0)
		close(fd);
	free(copy);
}

bool handover_is_absent(const char *path)
{
	struct stat file;
	return lstat(path, &file) != 0 && errno == ENOENT;
}
