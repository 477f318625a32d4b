/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/clients.h"

#include "integration/mail/mail-stored/store/clients_parts.h"
#include "integration/mail/mail-stored/store/counters.h"
#include "lib/common/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

static const char context[] = "mail-stored";

/* Requests that one client is read at a time; then it is the others' turn. */
#define READ_MAX 16
/* When the system lacks descriptors for clients. */
#define PAUSE_MS 1000

static const struct counts_label labels[] = { STORED_COUNTER_MAP(COUNTS_LABEL) };

void clients_report(const struct clients *clients, const struct counts_label *gauges,
		    const uint64_t *values, size_t count, struct report *ret_report)
{
	*ret_report = (struct report){
		.gauge = { "clients", "Clients that are connected." },
		.gauge_value = clients->count,
		.gauges = gauges,
		.gauge_values = values,
		.gauge_count = count,
		.labels = labels,
		.values = clients->start.counters,
		.count = STORED_COUNTER_COUNT,
	};
}

struct clients_work clients_measure(const struct clients *clients)
{
	return (struct clients_work){ .clients = clients->count,
				      .running = clients->jobs.running,
				      .waiting = clients->jobs.waiting };
}

void clients_fail(struct clients *clients, int status)
{
	clients->start.fail(clients->start.owner, status);
}

/* ---- an end ---- */

static void watch(struct client *client);

static void tell_if_drained(struct clients *clients)
{
	if (clients->is_closed && clients->count == 0 && clients->start.drained != NULL)
		clients->start.drained(clients->start.owner);
}

static void free_if_done(struct client *client)
{
	struct clients *clients = client->clients;
	if (!client->is_gone || !client->is_ended)
		return;
	clients->count--;
	free(client);
	tell_if_drained(clients);
}

static void client_on_close(uv_handle_t *handle)
{
	struct client *client = handle->data;
	close(client->fd);
	client->is_gone = true;
	free_if_done(client);
}

void client_is_ended(struct client *client)
{
	client->is_ended = true;
	free_if_done(client);
}

static void end_if_done(struct client *client)
{
	if (client->open_count > 0 || client->is_ending)
		return;
	client->is_ending = true;
	client->clients->start.way->end(client);
}

void client_cut_off(struct client *client)
{
	if (client->is_closed)
		return;
	client->is_closed = true;
	LIST_REMOVE(client, link);
	uv_close((uv_handle_t *)&client->poll, client_on_close);
	/* Its memory goes in a later round of the loop. */
	if (client->clients->start.way->cancel != NULL)
		client->clients->start.way->cancel(client);
	end_if_done(client);
}

void client_settle(struct client *client)
{
	if (client->is_closed)
		end_if_done(client);
	else if (client->clients->is_closed && client->open_count == 0)
		client_cut_off(client);
	else if (!client->clients->is_closed && !client->is_read)
		watch(client);
}

/* ---- replies ---- */

void client_say(struct client *client, const struct storewire_reply *reply, int fd)
{
	if (client->is_closed || storelink_answer(client->fd, reply, fd) == 0)
		return;
	client->clients->start.counters[STORED_CONNECTIONS_CUT]++;
	client_cut_off(client);
}

void client_refuse(struct client *client, const struct storewire_request *request, int status)
{
	const struct storewire_reply reply = { .type = request->type,
					       .serial = request->serial,
					       .status = status };
	client_say(client, &reply, -1);
}

/* ---- requests ---- */

static void client_on_login(void *owner, const struct storewire_reply *reply)
{
	struct client *client = owner;
	client->open_count--;
	client_say(client, reply, -1);
	client_settle(client);
}

/* Of any way: a process of its own has the answer. */
static void take_login(struct client *client, const struct storewire_request *request,
		       struct packet *packet)
{
	struct clients *clients = client->clients;
	clients->start.counters[STORED_REQUESTS]++;
	client->open_count++;
	logins_ask(clients->logins, request, client_on_login, client);
	explicit_bzero(clients->bytes, packet->size);
	packet_close(packet);
}

static void take_packet(struct client *client, struct packet *packet)
{
	struct clients *clients = client->clients;
	struct storewire_request request;
	if (packet->fd_count > 1 ||
	    storewire_decode_request(clients->bytes, packet->size, &request) != 0) {
		clients->start.counters[STORED_CONNECTIONS_CUT]++;
		client_cut_off(client);
		packet_close(packet);
		return;
	}
	if (request.type == STOREWIRE_LOGIN)
		take_login(client, &request, packet);
	else
		clients->start.way->take(client, &request, packet);
}

static void client_on_readable(uv_poll_t *poll, int status, int events)
{
	struct client *client = poll->data;
	struct clients *clients = client->clients;
	(void)events;
	if (status < 0)
		client_cut_off(client);
	for (unsigned i = 0; i < READ_MAX && !client->is_closed; i++) {
		struct packet packet;
		if (client->open_count >= CLIENTS_OPEN_MAX || client->is_held) {
			uv_poll_stop(&client->poll);
			client->is_read = false;
			return;
		}
		int ret =
			packet_receive(client->fd, clients->bytes, sizeof(clients->bytes), &packet);
		if (ret == -EAGAIN || ret == -EINTR)
			return;
		if (ret <= 0)
			client_cut_off(client);
		else
			take_packet(client, &packet);
	}
}

static void watch(struct client *client)
{
	client->is_read = uv_poll_start(&client->poll, UV_READABLE, client_on_readable) == 0;
	if (!client->is_read)
		client_cut_off(client);
}

/* ---- clients ---- */

static void greet(struct client *client)
{
	const struct clients_start *start = &client->clients->start;
	const struct storewire_reply hello = { .type = STOREWIRE_HELLO,
					       .number = start->has_quotas ? STOREWIRE_HAS_QUOTAS
									   : 0 };
	client_say(client, &hello, -1);
}

static void take_client(void *owner, unsigned door, int fd, const struct sockaddr *peer)
{
	struct clients *clients = owner;
	struct client *client = clients->count < clients->start.clients_max
					? calloc(1, clients->start.way->client_size)
					: NULL;
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
	client->is_own = storelink_is_own(fd);
	jobs_init_owner(&client->owner);
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

/* ---- begin and end ---- */

int clients_open(uv_loop_t *loop, const struct clients_start *start, struct clients **ret_clients)
{
	struct clients *clients = calloc(1, sizeof(*clients));
	if (clients == NULL) {
		for (unsigned i = 0; start->syncer_fds != NULL && i < COMMIT_SYNCS; i++)
			close(start->syncer_fds[i]);
		return -ENOMEM;
	}
	clients->start = *start;
	clients->loop = loop;
	LIST_INIT(&clients->list);
	*ret_clients = clients;
	int ret = start->way->open != NULL ? start->way->open(clients) : 0;
	if (ret == 0 && start->login_fd != NULL)
		ret = logins_open(loop, *start->login_fd, &clients->logins);
	if (ret == 0)
		ret = doors_open(loop, &clients->start.listen_fd, 1, &door_rules, clients,
				 &clients->doors);
	return ret == 0 ? doors_watch(clients->doors) : ret;
}

/* Those with something under way are cut off behind it. */
void clients_close(struct clients *clients)
{
	struct client *client;
	struct client *next;
	if (clients == NULL || clients->is_closed)
		return;
	const struct clients_way *way = clients->start.way;
	clients->is_closed = true;
	doors_close(clients->doors);
	logins_close(clients->logins);
	clients->logins = NULL;
	if (way->finish != NULL)
		way->finish(clients);
	for (client = LIST_FIRST(&clients->list); client != NULL; client = next) {
		next = LIST_NEXT(client, link);
		uv_poll_stop(&client->poll);
		client->is_read = false;
		client_settle(client);
	}
	if (way->close != NULL)
		way->close(clients);
	tell_if_drained(clients);
}

void clients_free(struct clients *clients)
{
	if (clients == NULL)
		return;
	if (clients->start.way->free != NULL)
		clients->start.way->free(clients);
	free(clients);
}
