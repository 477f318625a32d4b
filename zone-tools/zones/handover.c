/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/zones/handover.h"

#include "lib/common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
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

static int give(int fd, const char *like)
{
	struct stat owner;
	struct stat file;
	if (stat(like, &owner) != 0 || fstat(fd, &file) != 0)
		return -errno;
	if (owner.st_uid == 0 || !is_ours(&file))
		return 0;
	return fchownat(fd, "", owner.st_uid, owner.st_gid, AT_EMPTY_PATH) == 0 ? 0 : -errno;
}

static void give_like(const char *path, const char *like)
{
	if (geteuid() != 0)
		return;
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) /* it was not made after all */
		return;
	int ret = fd < 0 ? -errno : give(fd, like);
	if (ret != 0)
		log_warning(path, "owner not changed, and it is root's (%s)", strerror(-ret));
	if (fd >= 0)
		close(fd);
}

void handover_give(const char *path)
{
	char *copy = strdup(path);
	if (copy != NULL)
		give_like(path, dirname(copy));
	free(copy);
}

/* ---- a store ---- */

static bool is_absent(const char *path)
{
	struct stat file;
	return lstat(path, &file) != 0 && errno == ENOENT;
}

/* The lock file is beside the store itself, where that is a symbolic link. */
void handover_begin(struct handover *handover, const char *store)
{
	*handover = (struct handover){ 0 };
	if (geteuid() != 0)
		return;
	handover->store = realpath(store, NULL);
	if (handover->store == NULL)
		handover->store = strdup(store);
	if (handover->store == NULL || asprintf(&handover->lock, "%s-lock", handover->store) < 0) {
		handover->lock = NULL;
		return;
	}
	handover->is_store_new = is_absent(handover->store);
	handover->is_lock_new = is_absent(handover->lock);
}

void handover_end(struct handover *handover)
{
	if (handover->is_store_new)
		handover_give(handover->store);
	/* Without room for a store its lock file may be there alone. */
	if (handover->is_lock_new && handover->is_store_new)
		handover_give(handover->lock);
	else if (handover->is_lock_new)
		give_like(handover->lock, handover->store);
	free(handover->store);
	free(handover->lock);
}
