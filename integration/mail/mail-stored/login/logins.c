/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/login/logins.h"

#include "integration/mail/mail-stored/login/loginserver.h"
#include "lib/process/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>
#include <sys/socket.h>

#define TRIES 2

struct login {
	STAILQ_ENTRY(login) link;
	struct login_question question;
	logins_answer_fn answer;
	void *owner;
	uint64_t serial; /* the client's */
	uint64_t due_ms; /* when it is answered in any case */
	unsigned tries;
};
STAILQ_HEAD(login_list, login);

struct logins {
	int fd;
	uv_poll_t poll;
	uv_timer_t timer;
	struct login_list waiting; /* the first one is under way, when it is asked */
	struct login_list paused;
	unsigned waiting_count;
	unsigned paused_count;
	unsigned handle_count;
	uint64_t serial;
	bool is_asked;
	bool is_closed;
};

/* ---- answers ---- */

static void say(struct login *login, int status, const char *mailbox)
{
	char row[USERS_ENTRY_SIZE + sizeof("mailbox=\n")];
	struct storewire_reply reply = { .type = STOREWIRE_LOGIN,
					 .serial = login->serial,
					 .status = status };
	if (status == 0) {
		reply.rows_size = (size_t)snprintf(row, sizeof(row), "mailbox=%s\n", mailbox);
		reply.rows = (const uint8_t *)row;
		reply.count = 1;
	}
	login->answer(login->owner, &reply);
}

static void end(struct login *login, int status, const char *mailbox)
{
	explicit_bzero(&login->question, sizeof(login->question));
	say(login, status, mailbox);
	free(login);
}

static void remove_first_waiting(struct logins *logins)
{
	logins->is_asked = false;
	STAILQ_REMOVE_HEAD(&logins->waiting, link);
	logins->waiting_count--;
}

static void remove_first_paused(struct logins *logins)
{
	STAILQ_REMOVE_HEAD(&logins->paused, link);
	logins->paused_count--;
}

/* A client that tries passwords has to wait for each. */
static void refuse(struct logins *logins, struct login *login)
{
	if (logins->is_closed || logins->paused_count == LOGINS_PAUSED_MAX) {
		end(login, -EACCES, NULL);
		return;
	}
	explicit_bzero(&login->question, sizeof(login->question));
	login->due_ms = clock_now_ms() + LOGINS_PAUSE_MS;
	STAILQ_INSERT_TAIL(&logins->paused, login, link);
	logins->paused_count++;
}

static void settle(struct logins *logins, struct login *login, int status, const char *mailbox)
{
	if (status == -EACCES)
		refuse(logins, login);
	else
		end(login, status, mailbox);
}

/* ---- questions ---- */

static void set_timer(struct logins *logins);

static void logins_on_timer(uv_timer_t *timer);

/* What cannot be sent now is asked when the process has begun, or when it answers. */
static void ask_next(struct logins *logins)
{
	struct login *login = STAILQ_FIRST(&logins->waiting);
	if (!logins->is_closed && !logins->is_asked && login != NULL) {
		login->tries++;
		login->question.serial = ++logins->serial;
		logins->is_asked = true;
		(void)send(logins->fd, &login->question, sizeof(login->question),
			   MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	set_timer(logins);
}

/* A process that has begun knows of none that was under way. */
static void ask_again(struct logins *logins)
{
	struct login *login = STAILQ_FIRST(&logins->waiting);
	if (login == NULL || !logins->is_asked)
		return;
	logins->is_asked = false;
	if (login->tries < TRIES)
		return;
	remove_first_waiting(logins);
	end(login, -EIO, NULL);
}

static void take(struct logins *logins, struct login_answer *answer)
{
	struct login *login = STAILQ_FIRST(&logins->waiting);
	answer->mailbox[sizeof(answer->mailbox) - 1] = '\0';
	if (answer->serial == 0) {
		ask_again(logins);
	} else if (login != NULL && logins->is_asked && login->question.serial == answer->serial) {
		remove_first_waiting(logins);
		settle(logins, login, answer->status, answer->mailbox);
	}
}

static void logins_on_readable(uv_poll_t *poll, int status, int events)
{
	struct logins *logins = poll->data;
	struct login_answer answer;
	(void)status;
	(void)events;
	while (!logins->is_closed &&
	       recv(logins->fd, &answer, sizeof(answer), MSG_DONTWAIT) == (ssize_t)sizeof(answer))
		take(logins, &answer);
	if (!logins->is_closed)
		ask_next(logins);
}

/* ---- time ---- */

static uint64_t first_due(const struct login_list *list)
{
	const struct login *login = STAILQ_FIRST(list);
	return login != NULL ? login->due_ms : UINT64_MAX;
}

/* Each list is in the order of what is due. */
static void set_timer(struct logins *logins)
{
	const uint64_t waiting_ms = first_due(&logins->waiting);
	const uint64_t paused_ms = first_due(&logins->paused);
	const uint64_t due_ms = waiting_ms < paused_ms ? waiting_ms : paused_ms;
	const uint64_t now_ms = clock_now_ms();
	if (logins->is_closed)
		return;
	if (due_ms == UINT64_MAX)
		uv_timer_stop(&logins->timer);
	else
		uv_timer_start(&logins->timer, logins_on_timer,
			       due_ms > now_ms ? due_ms - now_ms : 0, 0);
}

static void logins_on_timer(uv_timer_t *timer)
{
	struct logins *logins = timer->data;
	const uint64_t now_ms = clock_now_ms();
	while (first_due(&logins->paused) <= now_ms) {
		struct login *login = STAILQ_FIRST(&logins->paused);
		remove_first_paused(logins);
		end(login, -EACCES, NULL);
	}
	while (first_due(&logins->waiting) <= now_ms) {
		struct login *login = STAILQ_FIRST(&logins->waiting);
		remove_first_waiting(logins);
		end(login, -ETIMEDOUT, NULL);
	}
	ask_next(logins);
}

/* ---- clients ---- */

/* A text with its NUL, when it is one that a user could have. */
static bool copy_text(const void *bytes, size_t size, char *ret_text)
{
	if (size > SASL_TEXT_MAX || !sasl_is_text(bytes, size))
		return false;
	memcpy(ret_text, bytes, size);
	ret_text[size] = '\0';
	return true;
}

void logins_ask(struct logins *logins, const struct storewire_request *request,
		logins_answer_fn answer, void *owner)
{
	struct login refused = { .answer = answer, .owner = owner, .serial = request->serial };
	const bool has_room = logins != NULL && logins->waiting_count < LOGINS_WAITING_MAX;
	struct login *login = has_room && !logins->is_closed ? calloc(1, sizeof(*login)) : NULL;
	if (login == NULL) {
		say(&refused, logins == NULL ? -EOPNOTSUPP : -EAGAIN, NULL);
		return;
	}
	*login = refused;
	login->due_ms = clock_now_ms() + LOGINS_WAIT_MS;
	if (!request->has_memory ||
	    !copy_text(request->mailbox.bytes, request->mailbox.size, login->question.user) ||
	    !copy_text(request->memory, request->memory_size, login->question.password)) {
		refuse(logins, login);
	} else {
		STAILQ_INSERT_TAIL(&logins->waiting, login, link);
		logins->waiting_count++;
	}
	ask_next(logins);
}

/* ---- begin and end ---- */

int logins_open(uv_loop_t *loop, int fd, struct logins **ret_logins)
{
	struct logins *logins = calloc(1, sizeof(*logins));
	if (logins == NULL)
		return -ENOMEM;
	logins->fd = fd;
	STAILQ_INIT(&logins->waiting);
	STAILQ_INIT(&logins->paused);
	/* Answers to a process before this one are none of these. */
	int ret = getentropy(&logins->serial, sizeof(logins->serial)) == 0
			  ? uv_poll_init(loop, &logins->poll, fd)
			  : -errno;
	logins->serial >>= 1;
	if (ret != 0) {
		free(logins);
		return ret;
	}
	uv_timer_init(loop, &logins->timer); /* it cannot fail */
	logins->poll.data = logins->timer.data = logins;
	logins->handle_count = 2;
	*ret_logins = logins;
	return uv_poll_start(&logins->poll, UV_READABLE, logins_on_readable);
}

static void logins_on_close(uv_handle_t *handle)
{
	struct logins *logins = handle->data;
	if (--logins->handle_count == 0)
		free(logins);
}

void logins_close(struct logins *logins)
{
	struct login *login;
	if (logins == NULL || logins->is_closed)
		return;
	logins->is_closed = true;
	while ((login = STAILQ_FIRST(&logins->paused)) != NULL) {
		remove_first_paused(logins);
		end(login, -EACCES, NULL);
	}
	while ((login = STAILQ_FIRST(&logins->waiting)) != NULL) {
		remove_first_waiting(logins);
		end(login, -EAGAIN, NULL);
	}
	uv_close((uv_handle_t *)&logins->poll, logins_on_close);
	uv_close((uv_handle_t *)&logins->timer, logins_on_close);
}
