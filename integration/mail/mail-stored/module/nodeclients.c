/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/module/nodeclients.h"

#include "integration/mail/mail-stored/module/nodework.h"
#include "integration/mail/mail-stored/store/clients_parts.h"
#include "integration/mail/mail-stored/store/counters.h"

#include <errno.h>

struct node_client {
	struct client client; /* first */
	struct nodepin pin;
};

static void pin_on_lost(struct nodepin *pin)
{
	client_cut_off((struct client *)(void *)((char *)pin - offsetof(struct node_client, pin)));
}

static void client_on_answer(void *owner, const struct storewire_reply *reply, int fd)
{
	struct client *client = owner;
	client->open_count--;
	if (reply->type == STOREWIRE_LOCK || reply->type == STOREWIRE_UNLOCK)
		client->is_held = false;
	client_say(client, reply, fd);
	client_settle(client);
}

static void take_request(struct client *client, const struct storewire_request *request, int fd)
{
	struct node_client *own = (struct node_client *)client;
	const struct nodework_start start = {
		.parts = client->clients->start.nodes,
		.pin = &own->pin,
		.is_brief = (request->type == STOREWIRE_LIST || request->type == STOREWIRE_BOXES) &&
			    storelink_has_unread(client->fd),
		.answer = client_on_answer,
		.owner = client,
	};
	if (request->is_moved && !client->is_own) {
		client_refuse(client, request, MAILSTORE_EFOREIGN);
		return;
	}
	if (request->type == STOREWIRE_UNLOCK && client->open_count > 0) {
		client_refuse(client, request, -EINPROGRESS);
		return;
	}
	own->pin.lost = pin_on_lost;
	client->is_held = request->type == STOREWIRE_LOCK || request->type == STOREWIRE_UNLOCK;
	client->open_count++;
	client->clients->start.counters[STORED_REQUESTS]++;
	nodework_begin(&start, request, fd);
}

static void take(struct client *client, const struct storewire_request *request,
		 struct packet *packet)
{
	take_request(client, request, packet->fd_count > 0 ? packet->fds[0] : -1);
	packet_close(packet);
}

/* The lock ends behind what was under way. */
static void end(struct client *client)
{
	noderouter_drop(&((struct node_client *)client)->pin);
	client_is_ended(client);
}

const struct clients_way clients_nodes = {
	.client_size = sizeof(struct node_client),
	.take = take,
	.end = end,
};
