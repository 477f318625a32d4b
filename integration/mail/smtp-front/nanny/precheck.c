/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/nanny/precheck.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/mail/base/nanny/confine.h"
#include "integration/mail/base/setup/mailcheckup.h"
#include "lib/common/log.h"

/* 0 or -errno. A name that is not there yet is fine: the worker makes it. */
static int look_at(int directory_fd, const char *name)
{
	const bool may_write = faccessat(directory_fd, name, R_OK | W_OK | X_OK, AT_EACCESS) == 0;
	return may_write || errno == ENOENT ? 0 : -errno;
}

/* The maildir of all has these; of those that have one each, only tmp is in "to". */
static int look_at_maildir(const struct setup *setup, int directory_fd, const char **ret_name)
{
	static const char *const names[] = { ".", "tmp", "new", "cur" };
	const size_t count = setup->sink.maildir == SETUP_MAILDIR_ONE ? 4 : 2;
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		*ret_name = names[i];
		ret = look_at(directory_fd, names[i]);
	}
	return ret;
}

/* As a worker does it: what root has opened its user has to write to. */
static _Noreturn void try_maildir(const struct setup *setup, const char *context)
{
	const char *name = ".";
	const struct setup_sink *sink = &setup->sink;
	const char *user = setup->front.worker_owner.user;
	const int fd = open(sink->to.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ret = fd < 0 ? -errno : confine_user(&setup->front.worker_owner);
	if (ret == 0)
		ret = look_at_maildir(setup, fd, &name);
	if (ret != 0)
		log_error(context, "maildir refused, to=%s folder=%s user=%s (%s)", sink->to.text,
			  name, user[0] != '\0' ? user : "-", strerror(-ret));
	_exit(ret == 0 ? EX_OK : EX_CONFIG);
}

static int check_maildir(const struct setup *setup, const char *context)
{
	int status = 0;
	if (setup->sink.kind != SETUP_SINK_MAILDIR)
		return EX_OK;
	(void)fflush(stdout);
	const pid_t child = fork();
	if (child == 0)
		try_maildir(setup, context);
	pid_t ended = child;
	if (child > 0) {
		do
			ended = waitpid(child, &status, 0);
		while (ended < 0 && errno == EINTR);
	}
	if (ended > 0)
		return WIFEXITED(status) ? WEXITSTATUS(status) : EX_SOFTWARE;
	log_error(context, "maildir not looked at, to=%s (%s)", setup->sink.to.text,
		  strerror(errno));
	return EX_OSERR;
}

int precheck_run(const struct setup *setup, const char *context)
{
	int status = mailcheckup_users(context, setup->trust.users);
	if (status == EX_OK)
		status = mailcheckup_chroot(context, setup->front.chroot);
	if (status == EX_OK)
		status = check_maildir(setup, context);
	return status == EX_OK ? mailcheckup_keys(context, setup->tls.chains) : status;
}
