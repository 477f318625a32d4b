/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/setup/mailcheckup.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

#include "integration/mail/base/tls/keyholder.h"
#include "integration/mail/base/users/users.h"
#include "lib/common/log.h"

int mailcheckup_users(const char *context, const char *path)
{
	struct users_facts facts;
	const int ret = path[0] == '\0' ? 0 : users_verify(path, &facts);
	if (ret == 0)
		return EX_OK;
	log_error(context, "recipients not opened, users=%s (%s)", path, users_strerror(ret));
	return EX_CONFIG;
}

int mailcheckup_chroot(const char *context, const char *path)
{
	struct stat status;
	if (path[0] == '\0')
		return EX_OK;
	const int ret = stat(path, &status) != 0 ? -errno : S_ISDIR(status.st_mode) ? 0 : -ENOTDIR;
	if (ret == 0)
		return EX_OK;
	log_error(context, "directory refused, chroot=%s (%s)", path, strerror(-ret));
	return EX_CONFIG;
}

int mailcheckup_keys(const char *context, const struct keys_chains *chains)
{
	struct keys_error error = { .reason = "" };
	if (chains != NULL && keyholder_check(chains, &error) != 0) {
		log_error(context, "private key refused, path=%s (%s)", error.path, error.reason);
		return EX_CONFIG;
	}
	if (error.reason[0] != '\0')
		log_warning(context, "clients will refuse a certificate, path=%s (%s)", error.path,
			    error.reason);
	return EX_OK;
}
