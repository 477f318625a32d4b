/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/clients_parts.h"

#include "integration/mail/mail-stored/store/counters.h"
#include "lib/process/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* A reply that waits for a commit. */
struct pending {
	struct commit_waiter waiter; /* first */
	struct client *client;
	struct storewire_reply reply;
};

/* ---- commits ---- */

static void commit_done(void *owner, struct commit_waiter *waiter, int status)
{
	struct pending *pending = (struct pending *)waiter;
	struct client *client = pending->client;
	(void)owner;
	pending->reply.status = status;
	client->open_count--;
	client->change_count--;
	client_say(client, &pending->reply, -1);
	free(pending);
	client_settle(client);
}

static void commit_fail(void *owner, int status)
{
	clients_fail(owner, status);
}

/* Without memory for that the mail may be delivered, and its client does not hear so. */
static void wait_for_commit(struct client *client, const struct storewire_reply *reply)
{
	struct pending *pending = calloc(1, sizeof(*pending));
	if (pending == NULL) {
		client_cut_off(client);
		return;
	}
	pending->client = client;
	pending->reply = *reply;
	client->open_count++;
	client->change_count++;
	commit_add(client->clients->commit, &pending->waiter);
}

/* ---- requests ---- */

static int unlock(struct client *client)
{
	if (client->change_count > 0)
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
	client_say(client, &reply, -1);
}

static void take_request(struct client *client, const struct storewire_request *request, int fd)
{
	struct clients *clients = client->clients;
	struct requests_answer answer;
	const bool has_rows = request->type == STOREWIRE_LIST || request->type == STOREWIRE_BOXES;
	clients->start.requests->is_brief = has_rows && storelink_has_unread(client->fd);
	clients->start.requests->is_own = client->is_own;
	requests_take(clients->start.requests, request, fd, clock_wall_us(), &answer);
	if (answer.waits)
		wait_for_commit(client, &answer.reply);
	else
		client_say(client, &answer.reply, answer.fd);
	if (answer.fd >= 0)
		close(answer.fd);
	/* A disk that fails under an append has stopped the store, and without its index it begins anew. */
	if (answer.reply.status == MAILSTORE_EFAILED || answer.reply.status == MAILSTORE_EUNSURE ||
	    answer.reply.status == MAILSTORE_ENOINDEX)
		clients_fail(clients, answer.reply.status);
}

static void take(struct client *client, const struct storewire_request *request,
		 struct packet *packet)
{
	if (request->type == STOREWIRE_LOCK || request->type == STOREWIRE_UNLOCK)
		take_lock(client, request);
	else
		take_request(client, request, packet->fd_count > 0 ? packet->fds[0] : -1);
	packet_close(packet);
}

/*
 * A lock stays for what is under way: the next session must not list mails that are about to go.
 */
static void end(struct client *client)
{
	boxlocks_free(&client->clients->locks, &client->lock);
	client_is_ended(client);
}

/* ---- begin and end ---- */

static const struct commit_rules rules = { commit_done, commit_fail };

static int open_commit(struct clients *clients)
{
	const struct clients_start *start = &clients->start;
	return commit_open(clients->loop, start->requests->layer, start->syncer_fds, &rules,
			   clients, start->counters, &clients->commit);
}

static void finish(struct clients *clients)
{
	if (clients->commit != NULL)
		commit_finish(clients->commit);
}

static void close_commit(struct clients *clients)
{
	commit_close(clients->commit);
}

static void free_commit(struct clients *clients)
{
	commit_free(clients->commit);
}

const struct clients_way clients_commit = {
	.client_size = sizeof(struct client),
	.open = open_commit,
	.take = take,
	.end = end,
	.finish = finish,
	.close = close_commit,
	.free = free_commit,
};
