/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/lmtp/lmtp_client.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Looks for silent clients in the time that they have. */
#define LOOKS	 4
#define LOOK_MAX 1000

struct lmtp_client {
	TAILQ_ENTRY(lmtp_client) link;
	struct lmtp_clients *clients;
	uv_poll_t poll;
	int fd;
	int watched; /* events */
	bool is_asking;
	bool is_closed;
	uint64_t heard_ms;
	struct lmtp_ask ask;
	struct lmtp_session session;
};

/* ---- an end ---- */

static void client_on_close(uv_handle_t *handle)
{
	struct lmtp_client *client = handle->data;
	free(client);
}

/* Not while it asks, unless the store's side is closed. */
static void end_client(struct lmtp_client *client)
{
	struct lmtp_clients *clients = client->clients;
	char rest[512];
	if (client->is_closed)
		return;
	client->is_closed = true;
	lmtp_session_deinit(&client->session);
	TAILQ_REMOVE(&clients->list, client, link);
	clients->count--;
	/* With unread bytes in the socket the close would take our last reply from the client. */
	(void)recv(client->fd, rest, sizeof(rest), MSG_DONTWAIT);
	uv_close((uv_handle_t *)&client->poll, client_on_close);
	close(client->fd);
	if (clients->count == 0 && clients->world->is_ending)
		clients->end(clients->owner);
}

/* ---- bytes ---- */

static void client_on_event(uv_poll_t *poll, int status, int events);

static void watch(struct lmtp_client *client, int events)
{
	if (client->watched == events)
		return;
	client->watched = events;
	if (uv_poll_start(&client->poll, events, client_on_event) != 0)
		end_client(client);
}

/* 0: all is said; -EAGAIN: the client takes no more now; or -errno. */
static int flush(struct lmtp_client *client)
{
	size_t size = 0;
	const char *bytes = lmtp_session_said(&client->session, &size);
	while (size > 0) {
		ssize_t sent = send(client->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno != EINTR)
			return -errno;
		lmtp_session_sent(&client->session, sent > 0 ? (size_t)sent : 0);
		bytes = lmtp_session_said(&client->session, &size);
	}
	return 0;
}

static void ask(struct lmtp_client *client)
{
	/* A client that says nothing meanwhile costs no call: client_on_event() stops the watch. */
	client->is_asking = true;
	client->ask.request = &client->session.request;
	client->ask.memory = client->session.memory.fd >= 0 || client->session.memory.part_count > 0
				     ? &client->session.memory
				     : NULL;
	lmtp_store_ask(client->clients->store, &client->ask);
}

/* What the session wants, until it waits for something. */
static void go_on(struct lmtp_client *client)
{
	for (;;) {
		enum lmtp_wish wish = lmtp_session_run(&client->session);
		if (wish == LMTP_ASK) {
			ask(client);
			return;
		}
		int ret = flush(client);
		if (ret == -EAGAIN && wish != LMTP_END) {
			watch(client, UV_WRITABLE);
			return;
		}
		if (ret != 0 || wish == LMTP_END) {
			end_client(client);
			return;
		}
		if (wish == LMTP_READ) {
			watch(client, UV_READABLE);
			return;
		}
	}
}

static void hear(struct lmtp_client *client)
{
	struct lmtp_clients *clients = client->clients;
	client->heard_ms = uv_now(clients->loop);
	TAILQ_REMOVE(&clients->list, client, link);
	TAILQ_INSERT_TAIL(&clients->list, client, link);
}

static void client_on_answer(struct lmtp_ask *ask, int status, const struct mailid *id)
{
	struct lmtp_client *client = ask->owner;
	client->is_asking = false;
	hear(client);
	lmtp_session_answer(&client->session, status, id, ask->rows, ask->row_count);
	go_on(client);
}

static void client_on_event(uv_poll_t *poll, int status, int events)
{
	struct lmtp_client *client = poll->data;
	size_t room = 0;
	if (client->is_asking) {
		uv_poll_stop(poll);
		client->watched = 0;
		return;
	}
	if (status < 0) {
		end_client(client);
		return;
	}
	hear(client);
	if ((events & UV_READABLE) != 0) {
		uint8_t *bytes = lmtp_session_room(&client->session, &room);
		ssize_t got = recv(client->fd, bytes, room, MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0) {
			end_client(client);
			return;
		}
		lmtp_session_fed(&client->session, (size_t)got);
	}
	go_on(client);
}

/* ---- times ---- */

static void end_with(struct lmtp_client *client, enum dialogue_refusal refusal)
{
	lmtp_session_end(&client->session, refusal);
	(void)lmtp_session_run(&client->session);
	(void)flush(client);
	end_client(client);
}

static void look_on_timer(uv_timer_t *timer)
{
	struct lmtp_clients *clients = timer->data;
	uint64_t now_ms = uv_now(clients->loop);
	struct lmtp_client *client = NULL;
	struct lmtp_client *next = NULL;
	for (client = TAILQ_FIRST(&clients->list); client != NULL; client = next) {
		next = TAILQ_NEXT(client, link);
		if (client->is_asking)
			continue;
		if (now_ms - client->heard_ms < clients->timeout_ms)
			return;
		end_with(client, DIALOGUE_TIMED_OUT);
	}
}

/* ---- clients ---- */

static void format_peer(const struct sockaddr *peer, char *ret_text, size_t room)
{
	char text[INET6_ADDRSTRLEN];
	ret_text[0] = '\0';
	if (uv_ip_name(peer, text, sizeof(text)) == 0)
		snprintf(ret_text, room, "%s%s", peer->sa_family == AF_INET6 ? "IPv6:" : "", text);
}

/* Replies are short, and each is what the client waits for. */
static void do_not_gather(int fd, const struct sockaddr *peer)
{
	int on = 1;
	if (peer->sa_family != AF_UNIX)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void turn_away(const struct lmtp_clients *clients, int fd)
{
	struct dialogue dialogue;
	struct dialogue_event event;
	dialogue_init(&dialogue);
	dialogue_refuse(&dialogue, &clients->world->limits, DIALOGUE_BUSY, &event);
	(void)send(fd, event.reply, event.reply_size, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

void lmtp_clients_take(struct lmtp_clients *clients, int fd, const struct sockaddr *peer)
{
	char text[64];
	struct lmtp_client *client =
		clients->count < clients->client_max ? malloc(sizeof(*client)) : NULL;
	if (client == NULL || uv_poll_init(clients->loop, &client->poll, fd) != 0) {
		free(client);
		turn_away(clients, fd);
		return;
	}
	client->clients = clients;
	client->poll.data = client;
	client->fd = fd;
	client->watched = 0;
	client->is_asking = false;
	client->is_closed = false;
	client->heard_ms = uv_now(clients->loop);
	client->ask = (struct lmtp_ask){ .answer = client_on_answer, .owner = client };
	format_peer(peer, text, sizeof(text));
	do_not_gather(fd, peer);
	lmtp_session_init(&client->session, clients->world, clients->next_id++, text);
	TAILQ_INSERT_TAIL(&clients->list, client, link);
	clients->count++;
	go_on(client);
}

void lmtp_clients_open(struct lmtp_clients *clients)
{
	uint64_t look_ms = clients->timeout_ms / LOOKS + 1;
	TAILQ_INIT(&clients->list);
	clients->count = 0;
	uv_timer_init(clients->loop, &clients->timer); /* cannot fail, as the next */
	clients->timer.data = clients;
	if (look_ms > LOOK_MAX)
		look_ms = LOOK_MAX;
	uv_timer_start(&clients->timer, look_on_timer, look_ms, look_ms);
}

void lmtp_clients_drain(struct lmtp_clients *clients)
{
	struct lmtp_client *client = NULL;
	struct lmtp_client *next = NULL;
	for (client = TAILQ_FIRST(&clients->list); client != NULL; client = next) {
		next = TAILQ_NEXT(client, link);
		if (!client->is_asking)
			go_on(client);
	}
}

void lmtp_clients_close(struct lmtp_clients *clients)
{
	struct lmtp_client *client = NULL;
	while ((client = TAILQ_FIRST(&clients->list)) != NULL) {
		if (client->is_asking)
			end_client(client);
		else
			end_with(client, DIALOGUE_SHUTTING_DOWN);
	}
	uv_close((uv_handle_t *)&clients->timer, NULL);
}
