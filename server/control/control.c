/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/control/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/process/listening.h"

#define BACKLOG	    16
#define HEAD_MAX    32 /* "ok SIZE\n" */
#define REFUSAL_MAX 1024
/* Without a descriptor for it a client would be announced again and again. */
#define PAUSE_MS 1000

enum step { STEP_FREE, STEP_READING, STEP_WAITING, STEP_WRITING, STEP_HELD };

struct control_client {
	enum step step;
	int fd;
	uint64_t deadline_ms; /* of the step */
	uint64_t ticket;      /* while waiting */
	bool is_held;	      /* not closed when all is written */
	char in[REQUEST_MAX];
	size_t in_size;
	char head[HEAD_MAX > REFUSAL_MAX ? HEAD_MAX : REFUSAL_MAX];
	size_t head_size;
	char *text; /* ours */
	size_t text_size;
	size_t written; /* of head and text */
};

struct control {
	char path[SETTINGS_CONTROL_MAX + 1];
	dev_t device; /* of the socket that is ours to remove */
	ino_t inode;
	int fd;
	uint64_t paused_ms; /* no client is taken before */
	struct control_client clients[CONTROL_CLIENTS_MAX];
};

/* ---- the socket ---- */

/* No client can connect before it has its owner and its mode. */
static int give_path(const struct control *control, const struct settings *settings)
{
	bool has_owner = settings->control_owner.text[0] != '\0';
	bool has_user = settings->owner.text[0] != '\0' && geteuid() == 0;
	const struct settings_owner *owner =
		has_owner ? &settings->control_owner : &settings->owner;
	if ((has_owner || has_user) && lchown(control->path, owner->uid, owner->gid) != 0)
		return -errno;
	if (chmod(control->path, (mode_t)settings->control_mode) != 0)
		return -errno;
	return listen(control->fd, BACKLOG) == 0 ? 0 : -errno;
}

int control_open(const struct settings *settings, struct control **ret_control)
{
	struct control *control = calloc(1, sizeof(*control));
	if (control == NULL)
		return -ENOMEM;
	memcpy(control->path, settings->control_path, sizeof(control->path));
	control->fd = -1;
	int ret = listening_bind_path(control->path, SOCK_STREAM, &control->fd);
	struct stat status;
	if (ret == 0 && lstat(control->path, &status) == 0) {
		control->device = status.st_dev;
		control->inode = status.st_ino;
	}
	if (ret == 0)
		ret = give_path(control, settings);
	if (ret != 0) {
		control_close(control);
		return ret;
	}
	*ret_control = control;
	return 0;
}

static void close_client(struct control_client *client)
{
	if (client->step == STEP_FREE)
		return;
	close(client->fd);
	free(client->text);
	memset(client, 0, sizeof(*client));
}

void control_close(struct control *control)
{
	if (control == NULL)
		return;
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++)
		close_client(&control->clients[i]);
	struct stat status;
	bool is_ours = control->inode != 0 && lstat(control->path, &status) == 0 &&
		       status.st_dev == control->device && status.st_ino == control->inode;
	if (is_ours)
		unlink(control->path);
	if (control->fd >= 0)
		close(control->fd);
	free(control);
}

void control_forget(const struct control *control)
{
	if (control == NULL)
		return;
	close(control->fd);
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		if (control->clients[i].step != STEP_FREE)
			close(control->clients[i].fd);
	}
}

/* ---- writing ---- */

static void finish_writing(struct control_client *client)
{
	if (!client->is_held) {
		close_client(client);
		return;
	}
	client->step = STEP_HELD;
	client->deadline_ms = UINT64_MAX;
}

static void write_some(struct control_client *client)
{
	size_t all = client->head_size + client->text_size;
	while (client->written < all) {
		bool is_head = client->written < client->head_size;
		const char *data = is_head ? client->head + client->written
					   : client->text + client->written - client->head_size;
		size_t size = (is_head ? client->head_size : all) - client->written;
		ssize_t sent = send(client->fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN)
			return;
		if (sent < 0) {
			close_client(client);
			return;
		}
		client->written += (size_t)sent;
	}
	finish_writing(client);
}

static void start_writing(struct control_client *client, uint64_t now_ms)
{
	client->step = STEP_WRITING;
	client->deadline_ms = now_ms + CONTROL_WRITE_MS;
	write_some(client);
}

void control_refuse(struct control_client *client, const char *reason, uint64_t now_ms)
{
	int size = snprintf(client->head, sizeof(client->head), "error %s", reason);
	client->head_size = size < 0 ? 0 : (size_t)size;
	if (client->head_size > sizeof(client->head) - 1)
		client->head_size = sizeof(client->head) - 1;
	client->head[client->head_size++] = '\n'; /* in the place of the terminator */
	start_writing(client, now_ms);
}

void control_answer(struct control_client *client, char *text, size_t text_size, uint64_t now_ms)
{
	if (text == NULL || text_size > REQUEST_ANSWER_MAX) {
		free(text);
		control_refuse(client, text == NULL ? "out of memory" : "the answer is too long",
			       now_ms);
		return;
	}
	client->text = text;
	client->text_size = text_size;
	client->head_size =
		(size_t)snprintf(client->head, sizeof(client->head), "ok %zu\n", text_size);
	start_writing(client, now_ms);
}

void control_hold(struct control_client *client, uint64_t now_ms)
{
	client->is_held = true;
	control_answer(client, strdup(""), 0, now_ms);
}

void control_wait(struct control_client *client, uint64_t ticket, uint64_t now_ms)
{
	client->step = STEP_WAITING;
	client->ticket = ticket;
	client->deadline_ms = now_ms + CONTROL_WAIT_MS;
}

static bool is_waiting(const struct control_client *client, uint64_t ticket)
{
	return client->step == STEP_WAITING && client->ticket <= ticket;
}

void control_prolong_waiting(struct control *control, uint64_t ticket, uint64_t until_ms)
{
	for (size_t i = 0; control != NULL && i < CONTROL_CLIENTS_MAX; i++) {
		if (is_waiting(&control->clients[i], ticket))
			control->clients[i].deadline_ms = until_ms + CONTROL_WAIT_MS;
	}
}

void control_refuse_waiting(struct control *control, uint64_t ticket, const char *reason,
			    uint64_t now_ms)
{
	for (size_t i = 0; control != NULL && i < CONTROL_CLIENTS_MAX; i++) {
		if (is_waiting(&control->clients[i], ticket))
			control_refuse(&control->clients[i], reason, now_ms);
	}
}

void control_answer_waiting(struct control *control, uint64_t ticket, const char *text,
			    uint64_t now_ms)
{
	for (size_t i = 0; control != NULL && i < CONTROL_CLIENTS_MAX; i++) {
		if (is_waiting(&control->clients[i], ticket))
			control_answer(&control->clients[i], strdup(text), strlen(text), now_ms);
	}
}

/* ---- reading ---- */

struct taking {
	struct control *control;
	uint64_t now_ms;
	control_on_request on_request;
	void *context;
};

static void take_line(const struct taking *taking, struct control_client *client, size_t size)
{
	struct request request;
	const char *reason = size + 1 < client->in_size ? "one request for each connection"
							: request_parse(client->in, size, &request);
	if (reason != NULL)
		control_refuse(client, reason, taking->now_ms);
	else
		taking->on_request(taking->control, client, &request, taking->context);
}

static void read_some(const struct taking *taking, struct control_client *client)
{
	ssize_t size = recv(client->fd, client->in + client->in_size,
			    sizeof(client->in) - client->in_size, MSG_DONTWAIT);
	if (size < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (size <= 0) {
		close_client(client);
		return;
	}
	client->in_size += (size_t)size;
	const char *end = memchr(client->in, '\n', client->in_size);
	if (end != NULL)
		take_line(taking, client, (size_t)(end - client->in));
	else if (client->in_size == sizeof(client->in))
		control_refuse(client, "the request is too long", taking->now_ms);
}

/* A free place, or that of the client that has been at its step longest. */
static struct control_client *find_place(struct control *control)
{
	struct control_client *oldest = NULL;
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct control_client *client = &control->clients[i];
		if (client->step == STEP_FREE)
			return client;
		bool may_go = client->step == STEP_READING || client->step == STEP_WRITING;
		if (may_go && (oldest == NULL || client->deadline_ms < oldest->deadline_ms))
			oldest = client;
	}
	return oldest;
}

/* One at a time: a client that connects without end does not keep the parent from its work. */
static void take_client(const struct taking *taking)
{
	int fd = listening_accept(taking->control->fd, NULL);
	if (fd < 0) {
		taking->control->paused_ms = fd == -EAGAIN ? 0 : taking->now_ms + PAUSE_MS;
		return;
	}
	struct control_client *client = find_place(taking->control);
	if (client == NULL) {
		close(fd);
		return;
	}
	close_client(client);
	client->fd = fd;
	client->step = STEP_READING;
	client->deadline_ms = taking->now_ms + CONTROL_READ_MS;
}

/* ---- the parent's loop ---- */

size_t control_fill(const struct control *control, struct pollfd *ret_polls)
{
	static const short events[] = { [STEP_READING] = POLLIN, [STEP_WRITING] = POLLOUT };
	if (control == NULL)
		return 0;
	ret_polls[0] = (struct pollfd){ .fd = control->paused_ms != 0 ? -1 : control->fd,
					.events = POLLIN };
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		const struct control_client *client = &control->clients[i];
		bool has_event = client->step == STEP_READING || client->step == STEP_WRITING;
		ret_polls[1 + i] =
			(struct pollfd){ .fd = client->step == STEP_FREE ? -1 : client->fd,
					 .events = has_event ? events[client->step] : (short)0 };
	}
	return CONTROL_POLLS_MAX;
}

uint64_t control_deadline_ms(const struct control *control)
{
	uint64_t deadline = UINT64_MAX;
	if (control != NULL && control->paused_ms != 0)
		deadline = control->paused_ms;
	for (size_t i = 0; control != NULL && i < CONTROL_CLIENTS_MAX; i++) {
		const struct control_client *client = &control->clients[i];
		if (client->step != STEP_FREE && client->deadline_ms < deadline)
			deadline = client->deadline_ms;
	}
	return deadline;
}

static void take_event(const struct taking *taking, struct control_client *client, short events)
{
	if (client->step == STEP_READING)
		read_some(taking, client);
	else if (client->step == STEP_WRITING)
		write_some(client);
	else if ((events & (POLLHUP | POLLERR)) != 0)
		close_client(client);
}

static void take_time(const struct taking *taking, struct control_client *client)
{
	if (client->step == STEP_FREE || client->deadline_ms > taking->now_ms)
		return;
	if (client->step == STEP_WAITING)
		control_refuse(client, "the new workers do not serve yet, the old ones go on",
			       taking->now_ms);
	else
		close_client(client);
}

void control_take(struct control *control, const struct pollfd *polls, size_t count,
		  uint64_t now_ms, control_on_request on_request, void *context)
{
	struct taking taking = { control, now_ms, on_request, context };
	if (control == NULL || count != CONTROL_POLLS_MAX)
		return;
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct control_client *client = &control->clients[i];
		if (polls[1 + i].revents != 0 && client->step != STEP_FREE)
			take_event(&taking, client, polls[1 + i].revents);
		take_time(&taking, client);
	}
	if (control->paused_ms <= now_ms)
		control->paused_ms = 0;
	/* Last, so that no event is taken for that of a client that came after it. */
	if (polls[0].revents != 0)
		take_client(&taking);
}
