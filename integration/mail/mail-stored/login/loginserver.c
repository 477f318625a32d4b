/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/login/loginserver.h"

#include "integration/mail/base/users/users_password.h"
#include "lib/common/log.h"
#include "lib/process/child.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

static const char context[] = "mail-stored";

#define NICE	10
#define LOOK_MS 500

struct loginserver {
	const char *path;
	int fd;
	struct users *users;
	struct users_password *password;
	bool has_failed; /* the database could not be read when it last was to be */
};

/* ---- questions ---- */

static void note_users(struct loginserver *server, int found)
{
	if (found < 0 && !server->has_failed)
		log_error(context, "logins not read, path=%s (%s)", server->path,
			  users_strerror(found));
	else if (found >= 0 && server->has_failed)
		log_info(context, "logins read again, path=%s", server->path);
	server->has_failed = found < 0;
}

static int32_t check(struct loginserver *server, const struct login_question *question,
		     char *ret_mailbox)
{
	char mailbox[USERS_ENTRY_SIZE] = "";
	struct users_secret secret = { .password = "" };
	const int found = users_find_secret(server->users, question->user, strlen(question->user),
					    mailbox, &secret);
	note_users(server, found);
	if (found < 0)
		return -EIO;
	const bool is_right = users_password_is(
		server->password, found == USERS_VALID ? &secret : NULL, question->password);
	explicit_bzero(&secret, sizeof(secret));
	if (!is_right)
		return -EACCES;
	memcpy(ret_mailbox, mailbox, sizeof(mailbox));
	return 0;
}

static bool ends(const char *text, size_t room)
{
	return memchr(text, '\0', room) != NULL;
}

/* false: the other end is closed. */
static bool answer(struct loginserver *server)
{
	struct login_question question;
	struct login_answer reply = { .status = -EACCES };
	const ssize_t size = recv(server->fd, &question, sizeof(question), MSG_TRUNC);
	if (size < 0)
		return errno == EAGAIN || errno == EINTR;
	if (size == 0)
		return false;
	if (size == (ssize_t)sizeof(question)) {
		reply.serial = question.serial;
		if (ends(question.user, sizeof(question.user)) &&
		    ends(question.password, sizeof(question.password)))
			reply.status = check(server, &question, reply.mailbox);
		/* There is room: one question is under way at a time. */
		(void)send(server->fd, &reply, sizeof(reply), MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	explicit_bzero(&question, sizeof(question));
	return true;
}

static int serve(struct loginserver *server)
{
	const struct login_answer begun = { .serial = 0 };
	struct pollfd poller = { .fd = server->fd, .events = POLLIN };
	if (send(server->fd, &begun, sizeof(begun), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
	    errno != EAGAIN)
		return EX_OSERR;
	for (;;) {
		if (poll(&poller, 1, -1) < 0 && errno != EINTR)
			return EX_OSERR;
		if (poller.revents != 0 && !answer(server))
			return EX_OK;
	}
}

/* ---- begin and end ---- */

/* Of a cluster it may not be there yet: it comes with its list in it. */
static int open_all(struct loginserver *server, const struct stored_setup *setup)
{
	while (setup->cluster.has_users && access(server->path, F_OK) != 0)
		poll(NULL, 0, LOOK_MS);
	int ret = users_open(server->path, &server->users);
	if (ret != 0) {
		log_error(context, "logins not opened, path=%s (%s)", server->path,
			  users_strerror(ret));
		return EX_NOINPUT;
	}
	ret = users_password_new(&server->password);
	if (ret == 0)
		return EX_OK;
	log_error(context, "logins not checked (%s)", strerror(-ret));
	return EX_OSERR;
}

int loginserver_run(const struct loginserver_start *start)
{
	struct loginserver server = { .path = stored_setup_logins(start->setup), .fd = start->fd };
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	child_ignore_signals();
	int status = open_all(&server, start->setup);
	if (status == EX_OK && start->confine != NULL)
		status = start->confine(start->setup);
	if (status == EX_OK)
		status = serve(&server);
	users_password_free(server.password);
	users_close(server.users);
	return status;
}
