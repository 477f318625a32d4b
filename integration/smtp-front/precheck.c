/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/smtp-front/precheck.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

#include "integration/smtp-front/keyholder.h"
#include "integration/smtp-front/users.h"
#include "lib/common/log.h"

static int check_keys(const struct setup *setup, const char *context)
{
	struct keys_error error = { .reason = "" };
	if (setup->tls.chains == NULL)
		return EX_OK;
	int ret = keyholder_check(setup->tls.chains, &error);
	if (ret == 0)
		return EX_OK;
	log_error(context, "private key refused, path=%s (%s)", error.path, error.reason);
	return EX_CONFIG;
}

static int check_chroot(const struct setup *setup, const char *context)
{
	struct stat status;
	const char *path = setup->front.chroot;
	if (path[0] == '\0')
		return EX_OK;
	int ret = stat(path, &status) != 0 ? -errno : S_ISDIR(status.st_mode) ? 0 : -ENOTDIR;
	if (ret == 0)
		return EX_OK;
	log_error(context, "directory refused, chroot=%s (%s)", path, strerror(-ret));
	return EX_CONFIG;
}

int precheck_run(const struct setup *setup, const char *context)
{
	const char *users = setup->trust.users;
	struct users_facts facts;
	int ret = users[0] == '\0' ? 0 : users_verify(users, &facts);
	if (ret != 0) {
		log_error(context, "recipients not opened, users=%s (%s)", users,
			  users_strerror(ret));
		return EX_CONFIG;
	}
	int status = check_chroot(setup, context);
	return status == EX_OK ? check_keys(setup, context) : status;
}
