/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/clients_parts.h"

#include "integration/mail/mail-stored/store/counters.h"
#include "lib/process/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Of packets that wait for a thread. */
#define WAITING_SIZE_MAX (64U << 20)
/* A descriptor counts as so many: there are fewer of them than of bytes. */
#define DESCRIPTOR_SIZE (64U << 10)
/* A client that waits for longer has said so to its own by then. */
#define WAITING_MS 20000

/* A request with a copy of its packet. The counters are its own until the loop adds them to all. */
struct request_job {
	struct job job; /* first */
	struct client *client;
	struct storewire_request request;
	int fd; /* -1: none */
	struct requests requests;
	struct requests_answer answer;
	uint64_t counters[STORED_COUNTER_COUNT];
	uint8_t packet[];
};

/* ---- kinds of requests ---- */

static bool is_change(const struct storewire_request *request)
{
	return request->type == STOREWIRE_DELIVER || request->type == STOREWIRE_ERASE;
}

/* Of a layer these may be called many at a time; of the rest each is behind the one before. */
static bool is_ordered(const struct client *client, const struct storewire_request *request)
{
	switch ((enum storewire_type)request->type) {
	case STOREWIRE_DELIVER:
	case STOREWIRE_MAKE_ID:
	case STOREWIRE_CHECK:
	case STOREWIRE_CLUSTER:
	case STOREWIRE_LOCATE:
		return false;
	case STOREWIRE_ERASE:
		return client->has_lock || client->locks_asked > 0;
	case STOREWIRE_HELLO:
	case STOREWIRE_LIST:
	case STOREWIRE_BOXES:
	case STOREWIRE_FIND_ID:
	case STOREWIRE_ROW:
	case STOREWIRE_SEGMENT:
	case STOREWIRE_STAT:
	case STOREWIRE_COLLECT:
	case STOREWIRE_LOCK:
	case STOREWIRE_UNLOCK:
	case STOREWIRE_LOGIN: /* of clients.c */
	case STOREWIRE_TYPES:
		break;
	}
	return true;
}

/* ---- in the loop, before ---- */

/* Questions about a cluster that cannot be reached have answers. */
static bool needs_layer(uint8_t type)
{
	return type != STOREWIRE_CLUSTER && type != STOREWIRE_LOCATE;
}

/* Here, since what the client has read by now matters, and no other thread makes its layer. */
static int request_begin(struct job *job)
{
	struct request_job *own = (struct request_job *)job;
	struct client *client = own->client;
	const struct clients_layers *layers = client->clients->start.layers;
	const uint8_t type = own->request.type;
	int ret = client->layer == NULL && needs_layer(type)
			  ? layers->make(layers->owner, &client->layer)
			  : 0;
	own->requests.layer = client->layer;
	bool has_unread = storelink_has_unread(client->fd);
	own->requests.is_brief = has_unread;
	/* It may be a whole mail in memory, of which one for each client is enough. */
	return ret == 0 && type == STOREWIRE_SEGMENT && has_unread ? -EAGAIN : ret;
}

/* ---- in a thread ---- */

static int take_lock(struct request_job *own)
{
	struct maillayer *layer = own->requests.layer;
	own->counters[STORED_REQUESTS]++;
	if (own->request.type == STOREWIRE_UNLOCK)
		return maillayer_unlock(layer);
	int ret = mailname_is_valid(own->request.mailbox)
			  ? maillayer_lock(layer, own->request.mailbox)
			  : MAILSTORE_EBOX;
	own->counters[STORED_LOCKS] += ret == 0;
	own->counters[STORED_LOCKS_REFUSED] += ret == -EBUSY;
	return ret;
}

static void request_run(struct job *job)
{
	struct request_job *own = (struct request_job *)job;
	if (own->request.type == STOREWIRE_LOCK || own->request.type == STOREWIRE_UNLOCK)
		own->answer.reply.status = take_lock(own);
	else
		requests_take(&own->requests, &own->request, own->fd, clock_wall_us(),
			      &own->answer);
}

/* ---- in the loop, behind ---- */

static void request_free(struct request_job *own)
{
	if (own->fd >= 0)
		close(own->fd);
	if (own->answer.fd >= 0)
		close(own->answer.fd);
	requests_deinit(&own->requests);
	free(own);
}

static void note_lock(struct client *client, const struct storewire_request *request, int status)
{
	client->locks_asked -= request->type == STOREWIRE_LOCK;
	if (status == 0 && request->type == STOREWIRE_LOCK)
		client->has_lock = true;
	if (status == 0 && request->type == STOREWIRE_UNLOCK)
		client->has_lock = false;
}

static void request_done(struct job *job, int status)
{
	struct request_job *own = (struct request_job *)job;
	struct client *client = own->client;
	struct clients *clients = client->clients;
	struct storewire_reply *reply = &own->answer.reply;
	if (status != 0)
		*reply = (struct storewire_reply){ .type = own->request.type,
						   .serial = own->request.serial,
						   .status = status };
	/* Others are those of other threads. */
	for (size_t i = 0; i < STORED_COUNTER_COUNT; i++)
		if (own->counters[i] > 0)
			clients->start.counters[i] += own->counters[i];
	clients->start.counters[STORED_TIMEOUTS] += reply->status == -ETIMEDOUT;
	note_lock(client, &own->request, reply->status);
	client->open_count--;
	client->change_count -= is_change(&own->request);
	client_say(client, reply, own->answer.fd);
	int result = reply->status;
	request_free(own);
	client_settle(client);
	if (result == MAILSTORE_EFAILED)
		clients_fail(clients, result);
}

/* ---- requests ---- */

static struct request_job *make_job(struct client *client, const struct storewire_request *request,
				    const struct packet *packet)
{
	const struct clients *clients = client->clients;
	struct request_job *own = malloc(sizeof(*own) + packet->size);
	if (own == NULL)
		return NULL;
	memset(own, 0, sizeof(*own));
	memcpy(own->packet, clients->bytes, packet->size);
	/* It was decoded before; this time its name and its memory are those of the copy. */
	(void)storewire_decode_request(own->packet, packet->size, &own->request);
	own->client = client;
	own->fd = own->answer.fd = -1;
	own->answer.reply =
		(struct storewire_reply){ .type = request->type, .serial = request->serial };
	requests_copy(clients->start.requests, own->counters, &own->requests);
	own->requests.is_own = client->is_own;
	own->job = (struct job){ .is_ordered = is_ordered(client, request),
				 .size = sizeof(*own) + packet->size +
					 (packet->fd_count > 0 ? DESCRIPTOR_SIZE : 0),
				 .begin = request_begin,
				 .run = request_run,
				 .done = request_done };
	return own;
}

static void take(struct client *client, const struct storewire_request *request,
		 struct packet *packet)
{
	bool is_early = request->type == STOREWIRE_UNLOCK && client->change_count > 0;
	struct request_job *own = is_early ? NULL : make_job(client, request, packet);
	if (own == NULL) {
		client_refuse(client, request, is_early ? -EINPROGRESS : -ENOMEM);
		packet_close(packet);
		return;
	}
	if (packet->fd_count > 0)
		own->fd = packet->fds[0]; /* clients.c lets no second one through */
	client->open_count++;
	client->change_count += is_change(request);
	client->locks_asked += request->type == STOREWIRE_LOCK;
	int ret = jobs_add(&client->clients->jobs, &client->owner, &own->job);
	if (ret == 0)
		return;
	client->clients->start.counters[STORED_REQUESTS_REFUSED]++;
	request_done(&own->job, ret);
}

static void cancel(struct client *client)
{
	jobs_cancel(&client->clients->jobs, &client->owner);
}

/* ---- the end of a client ---- */

/* Its layer has a lock to give back, over the network. */
struct end_job {
	struct job job; /* first */
	struct client *client;
};

static void end_run(struct job *job)
{
	maillayer_close(((struct end_job *)job)->client->layer);
}

static void end_done(struct job *job, int status)
{
	struct client *client = ((struct end_job *)job)->client;
	(void)status;
	free(job);
	client_is_ended(client);
}

/* Without memory for that it is closed here, which may take as long as the network does. */
static void end(struct client *client)
{
	struct end_job *own = client->layer != NULL ? calloc(1, sizeof(*own)) : NULL;
	if (own == NULL) {
		maillayer_close(client->layer);
		client_is_ended(client);
		return;
	}
	own->client = client;
	own->job = (struct job){
		.is_ordered = true, .is_kept = true, .run = end_run, .done = end_done
	};
	(void)jobs_add(&client->clients->jobs, &client->owner, &own->job);
}

/* ---- begin and end of all ---- */

static int open_jobs(struct clients *clients)
{
	const struct jobs_limits limits = { .threads = clients->start.layers->threads,
					    .size_max = WAITING_SIZE_MAX,
					    .wait_ms = WAITING_MS };
	return jobs_open(clients->loop, &limits, &clients->jobs);
}

/* Its own clients are in the loop's hands until their jobs have ended. */
static void finish(struct clients *clients)
{
	struct client *client;
	struct client *next;
	for (client = LIST_FIRST(&clients->list); client != NULL; client = next) {
		next = LIST_NEXT(client, link);
		cancel(client);
	}
}

static void close_jobs(struct clients *clients)
{
	jobs_close(&clients->jobs);
}

const struct clients_way clients_jobs = {
	.client_size = sizeof(struct client),
	.open = open_jobs,
	.take = take,
	.cancel = cancel,
	.end = end,
	.finish = finish,
	.close = close_jobs,
};
