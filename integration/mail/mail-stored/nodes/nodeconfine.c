/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/nodes/nodeconfine.h"

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

typedef int (*restrict_fn)(const char *const *directories, size_t count);

static int restrict_by(restrict_fn restrict_them, const char *const *directories, size_t count)
{
	if (IS_SANITIZED || landlock_find_version() == 0)
		return 0;
	int ret = prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0 ? 0 : -errno;
	return ret == 0 ? restrict_them(directories, count) : ret;
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

int nodeconfine_module(const struct stored_setup *setup)
{
	char users[STORED_PATH_MAX + 1];
	char metrics[STORED_PATH_MAX + 1];
	const char *directories[2];
	size_t count = 0;
	const struct confine_rights rights = { .owner = &setup->owner,
					       .root = "",
					       .has_network = true,
					       .has_files = setup->metrics[0] != '\0',
					       .has_memory = true };
	snprintf(users, sizeof(users), "%s", setup->users);
	snprintf(metrics, sizeof(metrics), "%s", setup->metrics);
	if (users[0] != '\0')
		directories[count++] = dirname(users);
	if (metrics[0] != '\0')
		directories[count++] = dirname(metrics);
	return confine(&rights, "module", restrict_by(landlock_restrict_files, directories, count));
}

int nodeconfine_server(const struct stored_setup *setup)
{
	const struct confine_rights rights = {
		.owner = &setup->owner, .root = "", .has_loop = true, .has_memory = true
	};
	return confine(&rights, "node", restrict_by(landlock_restrict_trees, NULL, 0));
}

int nodeconfine_lmtp(const struct stored_setup *setup)
{
	const struct confine_rights rights = {
		.owner = &setup->owner, .root = "", .has_network = true, .has_memory = true
	};
	return confine(&rights, "lmtp", restrict_by(landlock_restrict_files, NULL, 0));
}
