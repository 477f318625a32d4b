/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include <libknot/libknot.h>

#include "lib/common/log.h"
#include "server/access.h"
#include "server/framing.h"
#include "server/options.h"
#include "server/transfer.h"

#define BACKLOG		  511
#define SWEEP_INTERVAL_MS 1000
/* Room for one response of any size behind those already collected. */
#define OUT_SIZE ((size_t)2 * (FRAMING_LENGTH_SIZE + ANSWER_RESPONSE_MAX))

struct tcp_client {
	struct tcp *tcp;
	uv_tcp_t handle;
	uv_write_t write;
	TAILQ_ENTRY(tcp_client) link; /* who has been silent longest is the first */
	uint64_t deadline_ms;	      /* for the next whole message, or for the writing */
	bool has_begun;		      /* a message, and the deadline is for the rest of it */
	uint64_t network;
	uint8_t *unwritten; /* ours, while is_writing */
	bool is_writing;
	struct sockaddr_storage address;
	struct framing in;
};

struct tcp_listener {
	struct tcp *tcp;
	uv_tcp_t handle;
};

struct tcp {
	uv_loop_t *loop;
	struct tcp_limits limits;
	struct answer *answer;
	struct catalog *catalog;
	struct handover *handover;
	struct counters counters;
	struct tap *tap; /* NULL: no query log */
	struct tcp_listener *listeners;
	size_t listener_count;
	TAILQ_HEAD(, tcp_client) clients;
	unsigned client_count;
	uv_timer_t sweep;
	bool is_draining;
	uint8_t out[OUT_SIZE]; /* of the client that is being served */
};

/* ---- closing ---- */

static void client_on_closed(uv_handle_t *handle)
{
	struct tcp_client *client = handle->data;
	free(client->unwritten);
	free(client);
}

static void close_client(struct tcp_client *client)
{
	struct tcp *tcp = client->tcp;
	if (uv_is_closing((uv_handle_t *)&client->handle))
		return;
	TAILQ_REMOVE(&tcp->clients, client, link);
	tcp->client_count--;
	uv_close((uv_handle_t *)&client->handle, client_on_closed);
}

static void refuse_client(struct tcp_client *client)
{
	counters_count(&client->tcp->counters.server[COUNTERS_SERVER_TCP_CLOSED]);
	close_client(client);
}

/* A whole message came, or was written: the client is the one that was heard of last. */
static void renew(struct tcp_client *client)
{
	struct tcp *tcp = client->tcp;
	client->has_begun = false;
	client->deadline_ms = uv_now(tcp->loop) + tcp->limits.idle_timeout_s * (uint64_t)1000;
	TAILQ_REMOVE(&tcp->clients, client, link);
	TAILQ_INSERT_TAIL(&tcp->clients, client, link);
}

/* A part of a message came: from the first on there is less time, and no more for others. */
static void hurry(struct tcp_client *client)
{
	const struct tcp *tcp = client->tcp;
	uint64_t deadline_ms = uv_now(tcp->loop) + tcp->limits.query_timeout_s * (uint64_t)1000;
	if (client->has_begun)
		return;
	client->has_begun = true;
	if (deadline_ms < client->deadline_ms)
		client->deadline_ms = deadline_ms;
}

/* ---- transfers ---- */

/* Strangers are no news; who is configured and fails wants to know why. */
static void log_refused(const struct transfer *transfer)
{
	char client[SETTINGS_TEXT_MAX];
	settings_format_address(&transfer->client, client);
	bool is_stranger =
		transfer->verdict == TRANSFER_ADDRESS || transfer->verdict == TRANSFER_CLASSIC;
	log_line(is_stranger ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING, transfer->name->text,
		 "transfer refused, client=%s (%s)", client, transfer_explain(transfer));
}

/* The child has the connection from now on; closing ours does not end it. */
static void hand_over(struct tcp_client *client)
{
	struct tcp *tcp = client->tcp;
	const struct transfer *transfer = answer_transfer(tcp->answer);
	uv_os_fd_t fd = -1;
	int ret = uv_fileno((uv_handle_t *)&client->handle, &fd);
	if (ret == 0)
		ret = handover_start(tcp->handover, transfer, fd);
	if (ret != 0)
		log_warning(transfer->name->text, "transfer not begun (%s)", strerror(-ret));
	close_client(client);
}

/* ---- answering ---- */

static void process(struct tcp_client *client);
static void client_on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf);
static void client_on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf);

static void client_on_written(uv_write_t *write, int status)
{
	struct tcp_client *client = write->data;
	free(client->unwritten);
	client->unwritten = NULL;
	client->is_writing = false;
	if (status != 0) {
		close_client(client);
		return;
	}
	renew(client);
	process(client);
	if (!client->is_writing && !uv_is_closing((uv_handle_t *)&client->handle) &&
	    uv_read_start((uv_stream_t *)&client->handle, client_on_alloc, client_on_read) != 0)
		close_client(client);
}

/* The kernel has no room: keep the rest, and read nothing until it is gone. */
static void write_later(struct tcp_client *client, const uint8_t *data, size_t size)
{
	client->unwritten = malloc(size);
	if (client->unwritten == NULL) {
		close_client(client);
		return;
	}
	memcpy(client->unwritten, data, size);
	uv_buf_t rest = uv_buf_init((char *)client->unwritten, (unsigned)size);
	client->write.data = client;
	client->is_writing = true;
	uv_read_stop((uv_stream_t *)&client->handle);
	if (uv_write(&client->write, (uv_stream_t *)&client->handle, &rest, 1, client_on_written) !=
	    0)
		close_client(client);
}

static void flush(struct tcp_client *client, size_t size)
{
	uint8_t *data = client->tcp->out;
	uv_buf_t all = uv_buf_init((char *)data, (unsigned)size);
	int written = uv_try_write((uv_stream_t *)&client->handle, &all, 1);
	if (written < 0 && written != UV_EAGAIN) {
		close_client(client);
		return;
	}
	size_t done = written > 0 ? (size_t)written : 0;
	if (done < size)
		write_later(client, data + done, size - done);
}

/* RFC 7828, in units of 100 ms; 0 asks the client to close the connection. */
static uint16_t keepalive(const struct tcp *tcp)
{
	uint64_t units = tcp->limits.idle_timeout_s * (uint64_t)10;
	if (tcp->is_draining)
		return 0;
	return units < OPTIONS_KEEPALIVE_MAX ? (uint16_t)units : OPTIONS_KEEPALIVE_MAX;
}

/* What becomes of a client behind its responses. */
enum next { NEXT_READ, NEXT_REFUSE, NEXT_HAND_OVER };

/* The query was not answered: a transfer, or nothing that deserves an answer. */
static enum next decide_next(const struct tcp *tcp)
{
	const struct transfer *transfer = answer_transfer(tcp->answer);
	return transfer != NULL && transfer->verdict == TRANSFER_GRANTED ? NEXT_HAND_OVER
									 : NEXT_REFUSE;
}

static void put_sample(struct tcp_client *client, uint64_t asked_ns,
		       const struct answer_query *query, const uint8_t *response, size_t size)
{
	struct tap_bytes in = { query->wire, query->size };
	struct tap_bytes out = { response, size };
	uv_os_fd_t fd = -1;
	if (uv_fileno((uv_handle_t *)&client->handle, &fd) == 0)
		tap_put(client->tcp->tap, asked_ns, fd, true, query->client, in, out);
}

/*
 * Collects responses until there is no whole message or no room for another
 * response. Returns their size; *ret_taken is what was used of the input. A
 * transfer waits in the input until what is before it has been written.
 */
static size_t collect(struct tcp_client *client, size_t *ret_taken, enum next *ret_next)
{
	struct tcp *tcp = client->tcp;
	size_t out = 0;
	size_t taken = 0;
	size_t end = 0;
	struct framing_message message;
	while (out + FRAMING_LENGTH_SIZE + ANSWER_RESPONSE_MAX <= OUT_SIZE &&
	       framing_next(&client->in, &end, &message) == FRAMING_MESSAGE) {
		struct answer_query query = { .wire = message.wire,
					      .size = message.size,
					      .is_tcp = true,
					      .now_s = (uint64_t)time(NULL),
					      .client = (struct sockaddr *)&client->address,
					      .is_busy = handover_is_full(tcp->handover),
					      .keepalive = keepalive(tcp) };
		uint64_t asked_ns = tap_is_due(tcp->tap) ? tap_now_ns() : 0;
		uint8_t *wire = tcp->out + out + FRAMING_LENGTH_SIZE;
		size_t response = answer_make(tcp->answer, &query, wire, ANSWER_RESPONSE_MAX);
		if (asked_ns != 0)
			put_sample(client, asked_ns, &query, wire, response);
		const struct transfer *transfer = answer_transfer(tcp->answer);
		if (response == 0 && out > 0 && transfer != NULL)
			break;
		taken = end;
		if (response == 0) {
			*ret_next = decide_next(tcp);
			break;
		}
		if (transfer != NULL)
			log_refused(transfer);
		knot_wire_write_u16(tcp->out + out, (uint16_t)response);
		out += FRAMING_LENGTH_SIZE + response;
	}
	catalog_end(tcp->catalog);
	*ret_taken = taken;
	return out;
}

static void process(struct tcp_client *client)
{
	enum next next = NEXT_READ;
	while (!client->is_writing && !uv_is_closing((uv_handle_t *)&client->handle)) {
		size_t taken = 0;
		size_t out = collect(client, &taken, &next);
		framing_drop(&client->in, taken);
		if (taken > 0)
			renew(client);
		if (out > 0)
			flush(client, out);
		if (next == NEXT_HAND_OVER)
			hand_over(client);
		else if (next == NEXT_REFUSE || framing_is_bad(&client->in))
			refuse_client(client);
		if (taken == 0)
			break;
	}
	if (client->in.size > 0 && !client->is_writing)
		hurry(client);
	if (client->tcp->is_draining && !client->is_writing && client->in.size == 0)
		close_client(client);
}

static void client_on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
	(void)suggested;
	struct tcp_client *client = handle->data;
	size_t size = 0;
	uint8_t *room = framing_room(&client->in, &size);
	*ret_buf = uv_buf_init((char *)room, (unsigned)size);
}

static void client_on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
	(void)buf;
	struct tcp_client *client = stream->data;
	if (size < 0) {
		close_client(client);
		return;
	}
	framing_add(&client->in, (size_t)size);
	process(client);
}

/* ---- clients ---- */

/* The client of that network that has been silent longest, when there are too many of it. */
static struct tcp_client *find_surplus(const struct tcp *tcp, uint64_t network)
{
	struct tcp_client *client = NULL;
	struct tcp_client *first = NULL;
	unsigned count = 0;
	if (tcp->limits.network_max == 0)
		return NULL;
	TAILQ_FOREACH(client, &tcp->clients, link)
	{
		if (client->network != network)
			continue;
		if (first == NULL)
			first = client;
		count++;
	}
	return count > tcp->limits.network_max ? first : NULL;
}

/* client has just come; there are limits to how many there may be. */
static void make_room(struct tcp *tcp, const struct tcp_client *client)
{
	struct tcp_client *surplus = find_surplus(tcp, client->network);
	if (surplus != NULL) {
		counters_count(&tcp->counters.server[COUNTERS_SERVER_TCP_NETWORK]);
		refuse_client(surplus);
	}
	if (tcp->client_count > tcp->limits.client_max)
		refuse_client(TAILQ_FIRST(&tcp->clients));
}

static void listener_on_connection(uv_stream_t *stream, int status)
{
	struct tcp_listener *listener = stream->data;
	struct tcp *tcp = listener->tcp;
	if (status != 0)
		return;
	struct tcp_client *client = malloc(sizeof(*client));
	if (client == NULL) {
		/* libuv would never accept again; the parent starts a worker that does. */
		log_error("dnsblv6d", "worker ends, no memory for a client");
		_exit(EX_OSERR);
	}
	client->tcp = tcp;
	client->unwritten = NULL;
	client->is_writing = false;
	framing_init(&client->in);
	client->network = 0;
	uv_tcp_init(tcp->loop, &client->handle);
	client->handle.data = client;
	TAILQ_INSERT_TAIL(&tcp->clients, client, link);
	tcp->client_count++;
	renew(client);
	if (uv_accept(stream, (uv_stream_t *)&client->handle) != 0) {
		close_client(client);
		return;
	}
	int address_size = sizeof(client->address);
	memset(&client->address, 0, sizeof(client->address));
	uv_tcp_getpeername(&client->handle, (struct sockaddr *)&client->address, &address_size);
	client->network = access_network((struct sockaddr *)&client->address);
	counters_count(&tcp->counters.server[COUNTERS_SERVER_TCP_CLIENTS]);
	uv_tcp_nodelay(&client->handle, 1);
	make_room(tcp, client);
	if (!uv_is_closing((uv_handle_t *)&client->handle) &&
	    uv_read_start((uv_stream_t *)&client->handle, client_on_alloc, client_on_read) != 0)
		close_client(client);
}

static void sweep_on_tick(uv_timer_t *timer)
{
	struct tcp *tcp = timer->data;
	struct tcp_client *next = NULL;
	for (struct tcp_client *client = TAILQ_FIRST(&tcp->clients); client != NULL;
	     client = next) {
		next = TAILQ_NEXT(client, link);
		if (client->deadline_ms <= uv_now(tcp->loop))
			refuse_client(client);
	}
}

/* ---- life ---- */

/* libuv closes what it was given to listen on; the parent's socket must outlive us. */
static int open_listener(struct tcp *tcp, struct tcp_listener *listener, int fd)
{
	listener->tcp = tcp;
	int ret = uv_tcp_init(tcp->loop, &listener->handle);
	if (ret != 0)
		return ret;
	listener->handle.data = listener;
	tcp->listener_count++;
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0)
		return -errno;
	return uv_tcp_open(&listener->handle, own);
}

int tcp_new(uv_loop_t *loop, const int *fds, size_t fd_count, const struct tcp_limits *limits,
	    struct answer *answer, struct catalog *catalog, struct handover *handover,
	    const struct counters *counters, struct tap *tap, struct tcp **ret_tcp)
{
	struct tcp *tcp = calloc(1, sizeof(*tcp));
	if (tcp == NULL)
		return -ENOMEM;
	tcp->loop = loop;
	tcp->limits = *limits;
	tcp->answer = answer;
	tcp->catalog = catalog;
	tcp->handover = handover;
	tcp->counters = *counters;
	tcp->tap = tap;
	TAILQ_INIT(&tcp->clients);
	uv_timer_init(loop, &tcp->sweep);
	tcp->sweep.data = tcp;
	*ret_tcp = tcp;
	tcp->listeners = calloc(fd_count + 1, sizeof(*tcp->listeners));
	if (tcp->listeners == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < fd_count; i++) {
		int ret = open_listener(tcp, &tcp->listeners[i], fds[i]);
		if (ret != 0)
			return ret;
	}
	return 0;
}

int tcp_start(struct tcp *tcp)
{
	for (size_t i = 0; i < tcp->listener_count; i++) {
		int ret = uv_listen((uv_stream_t *)&tcp->listeners[i].handle, BACKLOG,
				    listener_on_connection);
		if (ret != 0)
			return ret;
	}
	return uv_timer_start(&tcp->sweep, sweep_on_tick, SWEEP_INTERVAL_MS, SWEEP_INTERVAL_MS);
}

void tcp_drain(struct tcp *tcp)
{
	tcp->is_draining = true;
	for (size_t i = 0; i < tcp->listener_count; i++)
		uv_close((uv_handle_t *)&tcp->listeners[i].handle, NULL);
	/* It still sweeps, but does not keep the loop alive. */
	uv_unref((uv_handle_t *)&tcp->sweep);
	struct tcp_client *next = NULL;
	for (struct tcp_client *client = TAILQ_FIRST(&tcp->clients); client != NULL;
	     client = next) {
		next = TAILQ_NEXT(client, link);
		if (!client->is_writing && client->in.size == 0)
			close_client(client);
	}
}

void tcp_stop(struct tcp *tcp)
{
	struct tcp_client *client = NULL;
	while ((client = TAILQ_FIRST(&tcp->clients)) != NULL)
		close_client(client);
	uv_close((uv_handle_t *)&tcp->sweep, NULL);
}

void tcp_free(struct tcp *tcp)
{
	if (tcp == NULL)
		return;
	free(tcp->listeners);
	free(tcp);
}
