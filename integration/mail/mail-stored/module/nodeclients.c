/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/module/nodeclients.h"

#include "integration/mail/base/store/storelink.h"
#include "integration/mail/mail-stored/login/logins.h"
#include "lib/common/log.h"
#include "lib/process/doors.h"
#include "lib/process/packet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char context[] = "mail-stored";

/* Requests that one client is read at a time; then it is the others' turn. */
#define READ_MAX 16
#define PAUSE_MS 1000

struct client {
	LIST_ENTRY(client) entry;
	struct nodeclients *clients;
	uv_poll_t poll;
	int fd;
	bool is_own; /* it runs as root, or as this daemon */
	bool is_read;
	bool is_locking; /* LOCK or UNLOCK is under way */
	bool is_closed;
	bool is_gone; /* its handle; its memory waits for its requests */
	unsigned open_count;
	struct nodepin pin;
};

struct nodeclients {
	struct nodeclients_start start;
	struct doors *doors;
	struct logins *logins; /* NULL: none */
	LIST_HEAD(client_list, client) list;
	unsigned count;
	unsigned open_count; /* of all, also of those that have gone */
	uint64_t refused;
	bool is_draining;
	uint8_t bytes[STOREWIRE_PACKET_MAX];
};

unsigned nodeclients_count(const struct nodeclients *clients)
{
	return clients->count;
}

uint64_t nodeclients_refused(const struct nodeclients *clients)
{
	return clients->refused;
}

/* ---- an end ---- */

static void free_if_done(struct client *client)
{
	if (client->is_gone && client->open_count == 0)
		free(client);
}

static void client_on_close(uv_handle_t *handle)
{
	struct client *client = handle->data;
	close(client->fd);
	client->is_gone = true;
	free_if_done(client);
}

/* The lock ends behind what is under way. */
static void unlock_if_done(struct client *client)
{
	if (client->is_closed && client->open_count == 0)
		noderouter_drop(&client->pin);
}

static void cut_off(struct client *client)
{
	if (client->is_closed)
		return;
	client->is_closed = true;
	LIST_REMOVE(client, entry);
	client->clients->count--;
	unlock_if_done(client);
	uv_close((uv_handle_t *)&client->poll, client_on_close);
}

static void pin_on_lost(struct nodepin *pin)
{
	cut_off((struct client *)(void *)((char *)pin - offsetof(struct client, pin)));
}

/* ---- replies ---- */

static void watch(struct client *client);

static void say(struct client *client, const struct storewire_reply *reply, int fd)
{
	if (!client->is_closed && storelink_answer(client->fd, reply, fd) != 0)
		cut_off(client);
}

static void tell_if_drained(struct nodeclients *clients)
{
	if (clients->is_draining && clients->open_count == 0)
		clients->start.drained(clients->start.owner);
}

static void client_on_answer(void *owner, const struct storewire_reply *reply, int fd)
{
	struct client *client = owner;
	struct nodeclients *clients = client->clients;
	client->open_count--;
	clients->open_count--;
	if (reply->type == STOREWIRE_LOCK || reply->type == STOREWIRE_UNLOCK)
		client->is_locking = false;
	say(client, reply, fd);
	if (clients->is_draining && client->open_count == 0)
		cut_off(client);
	else if (!client->is_closed && !client->is_read && !clients->is_draining)
		watch(client);
	unlock_if_done(client);
	free_if_done(client);
	tell_if_drained(clients);
}

/* ---- requests ---- */

static void refuse(struct client *client, const struct storewire_request *request, int status)
{
	const struct storewire_reply reply = { .type = request->type,
					       .serial = request->serial,
					       .status = status };
	say(client, &reply, -1);
}

static void take_request(struct client *client, const struct storewire_request *request, int fd)
{
	struct nodeclients *clients = client->clients;
	const bool is_lock = request->type == STOREWIRE_LOCK || request->type == STOREWIRE_UNLOCK;
	const struct nodework_start start = {
		.parts = clients->start.parts,
		.pin = &client->pin,
		.is_brief = (request->type == STOREWIRE_LIST || request->type == STOREWIRE_BOXES) &&
			    storelink_has_unread(client->fd),
		.answer = client_on_answer,
		.owner = client,
	};
	if (request->is_moved && !client->is_own) {
		refuse(client, request, MAILSTORE_EFOREIGN);
		return;
	}
	if (request->type == STOREWIRE_UNLOCK && client->open_count > 0) {
		refuse(client, request, -EINPROGRESS);
		return;
	}
	client->is_locking = is_lock;
	client->open_count++;
	clients->open_count++;
	nodework_begin(&start, request, fd);
}

static void client_on_login(void *owner, const struct storewire_reply *reply)
{
	client_on_answer(owner, reply, -1);
}

/* Of the users of this node: its own process has the answer. */
static void take_login(struct client *client, const struct storewire_request *request)
{
	struct nodeclients *clients = client->clients;
	client->open_count++;
	clients->open_count++;
	logins_ask(clients->logins, request, client_on_login, client);
	explicit_bzero(clients->bytes, sizeof(clients->bytes));
}

static void take_packet(struct client *client, struct packet *packet)
{
	struct storewire_request request;
	if (packet->fd_count > 1 ||
	    storewire_decode_request(client->clients->bytes, packet->size, &request) != 0)
		cut_off(client);
	else if (request.type == STOREWIRE_LOGIN)
		take_login(client, &request);
	else
		take_request(client, &request, packet->fd_count > 0 ? packet->fds[0] : -1);
	packet_close(packet);
}

/* It may be freed by an answer that comes at once: only while it is not closed is it looked at. */
static void read_client(struct client *client)
{
	struct nodeclients *clients = client->clients;
	for (unsigned i = 0; i < READ_MAX; i++) {
		struct packet packet;
		if (client->open_count >= NODECLIENTS_OPEN_MAX || client->is_locking) {
			uv_poll_stop(&client->poll);
			client->is_read = false;
			return;
		}
		int ret =
			packet_receive(client->fd, clients->bytes, sizeof(clients->bytes), &packet);
		if (ret == -EAGAIN || ret == -EINTR)
			return;
		if (ret > 0)
			take_packet(client, &packet);
		else
			cut_off(client);
		if (client->is_closed)
			return;
	}
}

static void client_on_readable(uv_poll_t *poll, int status, int events)
{
	struct client *client = poll->data;
	(void)events;
	if (status < 0)
		cut_off(client);
	else
		read_client(client);
}

static void watch(struct client *client)
{
	client->is_read = uv_poll_start(&client->poll, UV_READABLE, client_on_readable) == 0;
	if (!client->is_read)
		cut_off(client);
}

/* ---- clients ---- */

/* Some node may have quotas, and any may be down: CHECK is worth asking. */
static void greet(struct client *client)
{
	const struct storewire_reply hello = { .type = STOREWIRE_HELLO,
					       .number = STOREWIRE_HAS_QUOTAS };
	say(client, &hello, -1);
}

static void take_client(void *owner, unsigned door, int fd, const struct sockaddr *peer)
{
	struct nodeclients *clients = owner;
	struct client *client =
		clients->count < clients->start.clients_max ? calloc(1, sizeof(*client)) : NULL;
	(void)door;
	(void)peer;
	if (client == NULL || uv_poll_init(clients->start.loop, &client->poll, fd) != 0) {
		clients->refused++;
		free(client);
		close(fd);
		return;
	}
	clients->count++;
	client->clients = clients;
	client->fd = fd;
	client->is_own = storelink_is_own(fd);
	client->pin.lost = pin_on_lost;
	client->poll.data = client;
	LIST_INSERT_HEAD(&clients->list, client, entry);
	greet(client);
	if (!client->is_closed)
		watch(client);
}

static void log_wait(void *owner, int error)
{
	(void)owner;
	log_warning(context, "clients have to wait (%s)", strerror(error));
}

static const struct doors_rules door_rules = { PAUSE_MS, NULL, take_client, log_wait };

/* ---- begin and end ---- */

int nodeclients_open(const struct nodeclients_start *start, struct nodeclients **ret_clients)
{
	struct nodeclients *clients = calloc(1, sizeof(*clients));
	if (clients == NULL)
		return -ENOMEM;
	clients->start = *start;
	LIST_INIT(&clients->list);
	*ret_clients = clients;
	int ret = start->login_fd != NULL
			  ? logins_open(start->loop, *start->login_fd, &clients->logins)
			  : 0;
	if (ret == 0)
		ret = doors_open(start->loop, &clients->start.listen_fd, 1, &door_rules, clients,
				 &clients->doors);
	return ret == 0 ? doors_watch(clients->doors) : ret;
}

/* What it answers may end all clients. */
static void end_logins(struct nodeclients *clients)
{
	struct logins *logins = clients->logins;
	clients->logins = NULL;
	logins_close(logins);
}

void nodeclients_drain(struct nodeclients *clients)
{
	struct client *client = LIST_FIRST(&clients->list);
	doors_close(clients->doors);
	clients->doors = NULL;
	clients->is_draining = true;
	while (client != NULL) {
		struct client *behind = LIST_NEXT(client, entry);
		if (client->open_count == 0) {
			cut_off(client);
		} else {
			uv_poll_stop(&client->poll);
			client->is_read = false;
		}
		client = behind;
	}
	end_logins(clients);
	tell_if_drained(clients);
}

void nodeclients_close(struct nodeclients *clients)
{
	if (clients == NULL)
		return;
	doors_close(clients->doors);
	clients->doors = NULL;
	end_logins(clients);
	while (!LIST_EMPTY(&clients->list))
		cut_off(LIST_FIRST(&clients->list));
}

void nodeclients_free(struct nodeclients *clients)
{
	free(clients);
}
