/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/common/owner.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "lib/common/log.h"
#include "lib/process/daemon.h"

#define KEEP ((uid_t)-1) /* chown(2): no change; a gid_t is the same type */
/* Of a user; a daemon with some of them alone would be refused where only the others count. */
#define GROUPS_MAX 1024

const char *owner_take_user(void *member, const struct conf_value *value)
{
	struct owner *owner = member;
	const struct passwd *found = getpwnam(value->text);
	if (found == NULL)
		return "no such user";
	snprintf(owner->user, sizeof(owner->user), "%s", value->text);
	owner->uid = found->pw_uid;
	owner->gid = found->pw_gid;
	return NULL;
}

const char *owner_take_group(void *member, const struct conf_value *value)
{
	struct owner *owner = member;
	const struct group *found = getgrnam(value->text);
	if (found == NULL)
		return "no such group";
	snprintf(owner->group, sizeof(owner->group), "%s", value->text);
	owner->socket_gid = found->gr_gid;
	return NULL;
}

static int drop(const struct owner *owner, gid_t *groups, size_t group_count, const char *context)
{
	if (owner->group[0] != '\0')
		groups[group_count++] = owner->socket_gid;
	struct daemon_user user = { .name = owner->user,
				    .uid = owner->uid,
				    .gid = owner->gid,
				    .groups = groups,
				    .group_count = group_count };
	return daemon_drop_privileges(&user, context);
}

int owner_drop(const struct owner *owner, const char *context)
{
	gid_t groups[GROUPS_MAX + 1];
	int count = GROUPS_MAX;
	if (owner->user[0] == '\0')
		return EX_OK;
	if (getgrouplist(owner->user, owner->gid, groups, &count) < 0) {
		log_error(context, "user not changed, user=%s (in more than %d groups)",
			  owner->user, GROUPS_MAX);
		return EX_NOPERM;
	}
	return drop(owner, groups, (size_t)count, context);
}

int owner_drop_bare(const struct owner *owner, const char *context)
{
	gid_t groups[2] = { owner->gid };
	return drop(owner, groups, 1, context);
}

/* What is made in it has its group. */
static bool is_group_of_directory(const char *path)
{
	char directory[PATH_MAX];
	struct stat status;
	const char *slash = strrchr(path, '/');
	if (slash == NULL || (size_t)(slash - path) >= sizeof(directory) - 1)
		return false;
	snprintf(directory, sizeof(directory), "%.*s", (int)(slash - path) + 1, path);
	return stat(directory, &status) == 0 && (status.st_mode & S_ISGID) != 0;
}

int owner_make_directory(const struct owner *owner, const char *path, mode_t mode,
			 const char *context)
{
	mode_t mask = umask(0);
	int ret = mkdir(path, mode);
	umask(mask);
	if (ret != 0) {
		if (errno == EEXIST)
			return EX_OK;
	} else if (geteuid() != 0 || owner->user[0] == '\0' ||
		   chown(path, owner->uid, owner->gid) == 0) {
		return EX_OK;
	}
	const int error = errno;
	log_error(context, "directory not made, path=%s (%s)", path, strerror(error));
	return error == ENOSPC || error == EDQUOT ? EX_UNAVAILABLE : EX_NOPERM;
}

int owner_give(const struct owner *owner, const char *path)
{
	uid_t uid = geteuid() == 0 && owner->user[0] != '\0' ? owner->uid : KEEP;
	gid_t gid = KEEP;
	if (owner->group[0] != '\0')
		gid = owner->socket_gid;
	else if (uid != KEEP && !is_group_of_directory(path))
		gid = owner->gid;
	if ((uid != KEEP || gid != KEEP) && lchown(path, uid, gid) != 0)
		return -errno;
	return chmod(path, owner->socket_mode) == 0 ? 0 : -errno;
}

const char *owner_explain(const struct owner *owner, int ret)
{
	if (ret == -EPERM && owner->group[0] != '\0')
		return "\"socket-group\" is not one of the groups that this process has";
	return strerror(-ret);
}
