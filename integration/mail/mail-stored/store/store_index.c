/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/store_index.h"

#include "integration/mail/base/nanny/confine.h"
#include "lib/common/log.h"
#include "lib/lmdb/verify.h"
#include "lib/mailstore/mailindex.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char context[] = "mail-stored";

/* Not one of another version or another LMDB, which a person may have to open elsewhere. */
static bool is_damage(int status)
{
	return status == STORE_ECORRUPT || status == STORE_ECUT || status == STORE_ENOTSTORE ||
	       status == STORE_EENDLESS;
}

static void put_aside(const struct stored_setup *setup, const char *path, int status)
{
	char aside[PATH_MAX];
	snprintf(aside, sizeof(aside), "%s/index.damaged", setup->directory);
	if (rename(path, aside) != 0)
		log_error(context, "index is damaged and stays, directory=%s (%s)",
			  setup->directory, strerror(errno));
	else
		log_warning(context,
			    "index was damaged, another is made from the log, directory=%s (%s)",
			    setup->directory, store_strerror(status));
}

/* As the user that has the store: a lock file that is missing becomes that one's. */
static void look(const struct stored_setup *setup)
{
	char path[PATH_MAX];
	struct mailfacts facts;
	int ret = confine_user(&setup->owner);
	snprintf(path, sizeof(path), "%s/index.mdb", setup->directory);
	if (ret == 0)
		ret = verify_store(path, &mailindex_kind, &facts);
	if (is_damage(ret))
		put_aside(setup, path, ret);
}

void store_index_look(const struct stored_setup *setup)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		look(setup);
		_exit(0);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	if (child < 0)
		log_warning(context, "index not looked at (%s)", strerror(errno));
}
