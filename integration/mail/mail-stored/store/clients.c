/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/clients.h"

#include "integration/mail/mail-stored/store/boxlocks.h"
#include "integration/mail/mail-stored/store/counters.h"
#include "lib/common/log.h"
#include "lib/process/doors.h"
#include "lib/process/packet.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char context[] = "mail-stored";

/* Requests that one client is read at a time; then it is the others' turn. */
#define READ_MAX 16
/* When the system lacks descriptors for clients. */
#define PAUSE_MS 1000

struct client {
	LIST_ENTRY(client) link;
	struct clients *clients;
	uv_poll_t poll;
	int fd;
	bool is_read; /* the loop tells when it says something */
	bool is_closed;
	bool is_gone; /* its memory waits for its pending ones */
	bool is_own;  /* see requests.h */
	unsigned open_count;
	struct boxlock lock;
};

/* A reply that waits for a commit. */
struct pending {
	struct commit_waiter waiter; /* first */
	struct client *client;
	struct storewire_reply reply;
};

struct clients {
	struct clients_start start;
	struct commit *commit;
	struct doors *doors;
	struct boxlocks locks;
	uv_loop_t *loop;
	LIST_HEAD(client_list, client) list;
	unsigned count;
	bool is_closed;
	uint8_t bytes[STOREWIRE_PACKET_MAX];
};

unsigned clients_count(const struct clients *clients)
{
	return clients->count;
}

static uint64_t now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
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

/*
 * Of one that is closed. A lock stays for what is under way: the next session must not list mails that
 * are about to go.
 */
static void unlock_if_done(struct client *client)
{
	if (client->is_closed && client->open_count == 0)
		boxlocks_free(&client->clients->locks, &client->lock);
}

/* What it has appended is committed with the rest; its replies go nowhere. */
static void cut_off(struct client *client)
{
	if (client->is_closed)
		return;
	client->is_closed = true;
	LIST_REMOVE(client, link);
	client->clients->count--;
	unlock_if_done(client);
	uv_close((uv_handle_t *)&client->poll, client_on_close);
}

/* ---- replies ---- */

static void say(struct client *client, const struct storewire_reply *reply, int fd)
{
	uint8_t head[STOREWIRE_REPLY_HEAD];
	const struct iovec parts[] = { { head, sizeof(head) },
				       { (void *)(uintptr_t)reply->rows, reply->rows_size } };
	if (client->is_closed)
		return;
	storewire_encode_reply(reply, head);
	if (packet_send(client->fd, parts, reply->rows_size > 0 ? 2 : 1, &fd, fd >= 0) >= 0)
		return;
	client->clients->start.counters[STORED_CONNECTIONS_CUT]++;
	cut_off(client);
}

static void watch(struct client *client);

static void commit_done(void *owner, struct commit_waiter *waiter, int status)
{
	struct pending *pending = (struct pending *)waiter;
	struct client *client = pending->client;
	(void)owner;
	pending->reply.status = status;
	client->open_count--;
	say(client, &pending->reply, -1);
	free(pending);
	if (!client->is_closed && !client->is_read)
		watch(client);
	unlock_if_done(client);
	free_if_done(client);
}

static void commit_fail(void *owner, int status)
{
	struct clients *clients = owner;
	clients->start.fail(clients->start.owner, status);
}

/* ---- requests ---- */

/* Without memory for that the mail may be delivered, and its client does not hear so. */
static void wait_for_commit(struct client *client, const struct storewire_reply *reply)
{
	struct pending *pending = calloc(1, sizeof(*pending));
	if (pending == NULL) {
		cut_off(client);
		return;
	}
	pending->client = client;
	pending->reply = *reply;
	client->open_count++;
	commit_add(client->clients->commit, &pending->waiter);
}

/*
 * Of replies. One that comes in memory is small in the socket, which so would hold a gigabyte of
 * them for a client that asks and does not read.
 */
static bool has_unread(const struct client *client)
{
	int size = 0;
	return ioctl(client->fd, SIOCOUTQ, &size) == 0 && size > 0;
}

static int unlock(struct client *client)
{
	if (client->open_count > 0)
		return -EINPROGRESS;
	boxlocks_free(&client->clients->locks, &client->lock);
	return 0;
}

/* Of requests these are the connection's and not the store's. */
static void take_lock(struct client *client, const struct storewire_request *request)
{
	struct clients *clients = client->clients;
	uint64_t *counters = clients->start.counters;
	struct storewire_reply reply = { .type = request->type, .serial = request->serial };
	bool is_lock = request->type == STOREWIRE_LOCK;
	reply.status = is_lock ? boxlocks_take(&clients->locks, &client->lock, request->mailbox)
			       : unlock(client);
	counters[STORED_REQUESTS]++;
	counters[STORED_LOCKS] += is_lock && reply.status == 0;
	counters[STORED_LOCKS_REFUSED] += is_lock && reply.status == -EBUSY;
	say(client, &reply, -1);
}

static void take_request(struct client *client, const struct storewire_request *request, int fd)
{
	struct clients *clients = client->clients;
	struct requests_answer answer;
	const bool has_rows = request->type == STOREWIRE_LIST || request->type == STOREWIRE_BOXES;
	clients->start.requests->is_brief = has_rows && has_unread(client);
	clients->start.requests->is_own = client->is_own;
	requests_take(clients->start.requests, request, fd, now_us(), &answer);
	if (answer.waits)
		wait_for_commit(client, &answer.reply);
	else
		say(client, &answer.reply, answer.fd);
	if (answer.fd >= 0)
		close(answer.fd);
	/* A disk that fails under an append has stopped the store, and without its index it begins anew. */
	if (answer.reply.status == MAILSTORE_EFAILED || answer.reply.status == MAILSTORE_ENOINDEX)
		commit_fail(clients, answer.reply.status);
}

static void take_packet(struct client *client, struct packet *packet)
{
	struct clients *clients = client->clients;
	struct storewire_request request;
	if (packet->fd_count > 1 ||
	    storewire_decode_request(clients->bytes, packet->size, &request) != 0) {
		clients->start.counters[STORED_CONNECTIONS_CUT]++;
		cut_off(client);
	} else if (request.type == STOREWIRE_LOCK || request.type == STOREWIRE_UNLOCK) {
		take_lock(client, &request);
	} else {
		take_request(client, &request, packet->fd_count > 0 ? packet->fds[0] : -1);
	}
	packet_close(packet);
}

static void client_on_readable(uv_poll_t *poll, int status, int events)
{
	struct client *client = poll->data;
	struct clients *clients = client->clients;
	(void)events;
	if (status < 0)
		cut_off(client);
	for (unsigned i = 0; i < READ_MAX && !client->is_closed; i++) {
		struct packet packet;
		if (client->open_count >= CLIENTS_OPEN_MAX) {
			uv_poll_stop(&client->poll);
			client->is_read = false;
			return;
		}
		int ret =
			packet_receive(client->fd, clients->bytes, sizeof(clients->bytes), &packet);
		if (ret == -EAGAIN || ret == -EINTR)
			return;
		if (ret <= 0)
			cut_off(client);
		else
			take_packet(client, &packet);
	}
}

static void watch(struct client *client)
{
	client->is_read = uv_poll_start(&client->poll, UV_READABLE, client_on_readable) == 0;
	if (!client->is_read)
		cut_off(client);
}

/* ---- clients ---- */

static void greet(struct client *client)
{
	const struct clients_start *start = &client->clients->start;
	const struct storewire_reply hello = { .type = STOREWIRE_HELLO,
					       .number = start->has_quotas ? STOREWIRE_HAS_QUOTAS
									   : 0 };
	say(client, &hello, -1);
}

static bool is_own(int fd)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

static void take_client(void *owner, unsigned door, int fd, const struct sockaddr *peer)
{
	struct clients *clients = owner;
	struct client *client =
		clients->count < clients->start.clients_max ? calloc(1, sizeof(*client)) : NULL;
	(void)door;
	(void)peer;
	if (client == NULL || uv_poll_init(clients->loop, &client->poll, fd) != 0) {
		clients->start.counters[STORED_CONNECTIONS_REFUSED]++;
		free(client);
		close(fd);
		return;
	}
	clients->start.counters[STORED_CONNECTIONS]++;
	clients->count++;
	client->clients = clients;
	client->fd = fd;
	client->is_own = is_own(fd);
	client->poll.data = client;
	LIST_INSERT_HEAD(&clients->list, client, link);
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
static const struct commit_rules commit_rules = { commit_done, commit_fail };

/* ---- begin and end ---- */

int clients_open(uv_loop_t *loop, const struct clients_start *start, struct clients **ret_clients)
{
	struct clients *clients = calloc(1, sizeof(*clients));
	if (clients == NULL) {
		for (unsigned i = 0; i < COMMIT_SYNCS; i++)
			close(start->syncer_fds[i]);
		return -ENOMEM;
	}
	clients->start = *start;
	clients->loop = loop;
	LIST_INIT(&clients->list);
	*ret_clients = clients;
	int ret = commit_open(loop, start->requests->layer, start->syncer_fds, &commit_rules,
			      clients, start->counters, &clients->commit);
	if (ret == 0)
		ret = doors_open(loop, &clients->start.listen_fd, 1, &door_rules, clients,
				 &clients->doors);
	return ret == 0 ? doors_watch(clients->doors) : ret;
}

void clients_close(struct clients *clients)
{
	if (clients == NULL || clients->is_closed)
		return;
	clients->is_closed = true;
	doors_close(clients->doors);
	if (clients->commit != NULL)
		commit_finish(clients->commit);
	while (!LIST_EMPTY(&clients->list))
		cut_off(LIST_FIRST(&clients->list));
	commit_close(clients->commit);
}

void clients_free(struct clients *clients)
{
	if (clients == NULL)
		return;
	commit_free(clients->commit);
	free(clients);
}
