/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/setup/mailcheckup.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/mail/base/nanny/confine.h"
#include "integration/mail/base/tls/keyholder.h"
#include "integration/mail/base/users/users.h"
#include "lib/common/log.h"

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

/* ---- as the user ---- */

int mailcheckup_as(const char *context, const struct owner *owner, int (*look)(const void *what),
		   const void *what)
{
	int status = 0;
	const pid_t child = fork();
	if (child == 0)
		_exit(confine_user(owner) == 0 ? look(what) : EX_NOPERM);
	pid_t ended = child;
	if (child > 0) {
		do
			ended = waitpid(child, &status, 0);
		while (ended < 0 && errno == EINTR);
	}
	if (ended > 0)
		return WIFEXITED(status) ? WEXITSTATUS(status) : EX_SOFTWARE;
	log_error(context, "configuration not looked at, user=%s (%s)", owner->user,
		  strerror(errno));
	return EX_OSERR;
}

struct wanted {
	const char *context;
	const struct owner *owner;
	const char *path;
	int mode;
};

static int look_at_path(const void *what)
{
	const struct wanted *wanted = what;
	if (access(wanted->path, wanted->mode) != 0 && errno != ENOENT)
		log_warning(wanted->context, "no access, path=%s user=%s (%s)", wanted->path,
			    wanted->owner->user[0] != '\0' ? wanted->owner->user : "-",
			    strerror(errno));
	return EX_OK;
}

static int look_at_users(const void *what)
{
	const struct wanted *wanted = what;
	struct users_facts facts;
	const int ret = users_verify(wanted->path, &facts);
	if (ret == 0)
		return EX_OK;
	log_error(wanted->context, "recipients not opened, users=%s (%s)", wanted->path,
		  users_strerror(ret));
	return EX_CONFIG;
}

int mailcheckup_users(const char *context, const struct owner *owner, const char *path)
{
	const struct wanted wanted = { context, owner, path, 0 };
	if (path[0] == '\0')
		return EX_OK;
	return owner == NULL ? look_at_users(&wanted)
			     : mailcheckup_as(context, owner, look_at_users, &wanted);
}

void mailcheckup_path(const char *context, const struct owner *owner, const char *path, int mode)
{
	const struct wanted wanted = { context, owner, path, mode };
	if (path[0] == '/')
		(void)mailcheckup_as(context, owner, look_at_path, &wanted);
}

void mailcheckup_scan(const char *context, const struct owner *owner,
		      const struct scan_settings *scan)
{
	if (!scan->is_on)
		return;
	mailcheckup_path(context, owner, scan->signatures, R_OK);
	for (unsigned i = 0; i < SCAN_PEER_COUNT; i++)
		mailcheckup_path(context, owner, scan->peers[i], W_OK);
}
