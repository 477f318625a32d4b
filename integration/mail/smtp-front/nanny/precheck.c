/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/nanny/precheck.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/mail/base/setup/mailcheckup.h"
#include "lib/common/checkup.h"
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
struct maildir {
	const struct setup *setup;
	const char *context;
	int fd; /* or -errno */
};

static int try_maildir(const void *what)
{
	const struct maildir *maildir = what;
	const char *name = ".";
	const char *user = maildir->setup->front.worker_owner.user;
	const int ret =
		maildir->fd < 0 ? maildir->fd : look_at_maildir(maildir->setup, maildir->fd, &name);
	if (ret != 0)
		log_error(maildir->context, "maildir refused, to=%s folder=%s user=%s (%s)",
			  maildir->setup->sink.to.text, name, user[0] != '\0' ? user : "-",
			  strerror(-ret));
	return ret == 0 ? EX_OK : EX_CONFIG;
}

static int check_maildir(const struct setup *setup, const char *context)
{
	const int fd = open(setup->sink.to.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct maildir maildir = { setup, context, fd < 0 ? -errno : fd };
	const int status =
		mailcheckup_as(context, &setup->front.worker_owner, try_maildir, &maildir);
	if (fd >= 0)
		(void)close(fd);
	return status;
}

/* What edges and workers connect to when they are those users. */
static void check_sockets(const struct setup *setup, const char *context)
{
	const struct setup_front *front = &setup->front;
	const char *forward = setup->trust.forward.text;
	const bool is_sink = strcmp(forward, setup->sink.to.text) == 0;
	const bool is_one_user = strcmp(front->edge_owner.user, front->worker_owner.user) == 0;
	if (setup->sink.kind != SETUP_SINK_MAILDIR)
		mailcheckup_path(context, &front->worker_owner, setup->sink.to.text, W_OK);
	if (!is_sink || !is_one_user)
		mailcheckup_path(context, &front->edge_owner, forward, W_OK);
	if (!is_sink && !is_one_user)
		mailcheckup_path(context, &front->worker_owner, forward, W_OK);
	mailcheckup_scan(context, &front->worker_owner, &setup->scan);
}

int precheck_run(const struct setup *setup, const char *context, bool is_start)
{
	int status = mailcheckup_users(context, NULL, setup->trust.users);
	if (status == EX_OK)
		status = checkup_directory(context, "chroot", setup->front.chroot, is_start);
	if (status == EX_OK && setup->sink.kind == SETUP_SINK_MAILDIR)
		status = check_maildir(setup, context);
	if (status == EX_OK)
		status = mailcheckup_keys(context, setup->tls.chains);
	if (status == EX_OK)
		check_sockets(setup, context);
	return status;
}
