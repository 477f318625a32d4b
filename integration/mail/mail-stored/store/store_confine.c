/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/store_confine.h"

#include "integration/mail/base/nanny/confine.h"
#include "lib/common/log.h"
#include "lib/process/landlock.h"
#include "lib/process/sanitized.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sysexits.h>

static const char context[] = "mail-stored";

/* Of a path; ret_directory has its room. */
static const char *directory_of(const char *path, char *ret_directory)
{
	snprintf(ret_directory, STORED_PATH_MAX + 1, "%s", path);
	return dirname(ret_directory);
}

static int restrict_to(const char *const *directories, size_t count)
{
	if (IS_SANITIZED || landlock_find_version() == 0)
		return 0;
	int ret = prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0 ? 0 : -errno;
	return ret == 0 ? landlock_restrict_trees(directories, count) : ret;
}

static int restrict_files(const struct stored_setup *setup)
{
	char users[STORED_PATH_MAX + 1];
	char metrics[STORED_PATH_MAX + 1];
	const char *directories[3] = { setup->directory };
	size_t count = 1;
	if (setup->users[0] != '\0')
		directories[count++] = directory_of(setup->users, users);
	if (setup->metrics[0] != '\0')
		directories[count++] = directory_of(setup->metrics, metrics);
	return restrict_to(directories, count);
}

static int confine(const struct confine_rights *rights, const char *role, int ret)
{
	const char *step = "landlock";
	if (ret == 0)
		ret = confine_process(rights, &step);
	if (ret == 0)
		return EX_OK;
	log_error(context, "process not confined, role=%s step=%s (%s)", role, step,
		  strerror(-ret));
	return EX_OSERR;
}

int store_confine(const struct stored_setup *setup)
{
	const struct confine_rights rights = { .owner = &setup->owner,
					       .root = "",
					       .has_loop = true,
					       .has_files = true,
					       .has_memory = true };
	return confine(&rights, "store", restrict_files(setup));
}

int store_confine_lmtp(const struct stored_setup *setup)
{
	const struct confine_rights rights = {
		.owner = &setup->owner, .root = "", .has_loop = true, .has_memory = true
	};
	return confine(&rights, "lmtp", restrict_to(NULL, 0));
}
