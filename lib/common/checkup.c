/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/common/checkup.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

#include "lib/common/log.h"

int checkup_directory(const char *context, const char *item, const char *path, bool is_start)
{
	struct stat status;
	if (path[0] == '\0')
		return EX_OK;
	const int ret = stat(path, &status) != 0 ? -errno : S_ISDIR(status.st_mode) ? 0 : -ENOTDIR;
	if (ret == 0)
		return EX_OK;
	if (ret == -ENOENT && !is_start) {
		log_warning(context, "directory not there yet, %s=%s (%s)", item, path,
			    strerror(-ret));
		return EX_OK;
	}
	if (ret == -EACCES && !is_start) {
		log_warning(context, "directory cannot be looked at by this user, %s=%s (%s)", item,
			    path, strerror(-ret));
		return EX_OK;
	}
	log_error(context, "directory refused, %s=%s (%s)", item, path, strerror(-ret));
	return EX_CONFIG;
}
