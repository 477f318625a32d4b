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

bool store_index_put_aside(const struct stored_setup *setup, int status)
{
	char path[PATH_MAX];
	char aside[PATH_MAX];
	snprintf(path, sizeof(path), "%s/index.mdb", setup->directory);
	snprintf(aside, sizeof(aside), "%s/index.damaged", setup->directory);
	if (rename(path, aside) != 0) {
		log_error(context, "index not put aside, directory=%s (%s)", setup->directory,
			  strerror(errno));
		return false;
	}
	log_warning(context, "index put aside, another is made from the log, directory=%s (%s)",
		    setup->directory, mailstore_strerror(status));
	return true;
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
		(void)store_index_put_aside(setup, ret);
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
