/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/smtp-front/precheck.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/smtp-front/keyholder.h"
#include "integration/smtp-front/users.h"
#include "lib/common/log.h"

/* The child's word for its parent: a status has more bits than an exit. */
static int look_at_users(const char *path, int answer_fd)
{
	struct users *users = NULL;
	int ret = users_open(path, &users);
	users_close(users);
	return write(answer_fd, &ret, sizeof(ret)) == (ssize_t)sizeof(ret) ? 0 : 1;
}

static int check_users(const char *path)
{
	int ends[2];
	int ret = USERS_ECORRUPT; /* of a child that has died */
	if (pipe(ends) != 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		_exit(look_at_users(path, ends[1]));
	int error = errno;
	close(ends[1]);
	if (pid < 0)
		ret = -error;
	else if (read(ends[0], &ret, sizeof(ret)) != (ssize_t)sizeof(ret))
		ret = USERS_ECORRUPT;
	close(ends[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return ret;
}

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
	int ret = users[0] == '\0' ? 0 : check_users(users);
	if (ret != 0) {
		log_error(context, "recipients not opened, users=%s (%s)", users,
			  users_strerror(ret));
		return EX_CONFIG;
	}
	int status = check_chroot(setup, context);
	return status == EX_OK ? check_keys(setup, context) : status;
}
