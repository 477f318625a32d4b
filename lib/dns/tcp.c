/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/dns/tcp.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#include "lib/dns/framing.h"
#include "lib/dns/peer.h"

#define BACKLOG		  511
#define SWEEP_INTERVAL_MS 1000
/* Room for one response of any size behind those already collected. */
#define OUT_SIZE ((size_t)2 * (FRAMING_LENGTH_SIZE + RESPONDER_RESPONSE_MAX))

/* A client that is closed when it has its answers: as one that has left, or one that is refused. */
enum ending { ENDING_NOT, ENDING_CLOSE, ENDING_REFUSE };

struct tcp_client {
	struct tcp *tcp;
	uv_tcp_t handle;
	uint32_t place;
	TAILQ_ENTRY(tcp_client) link; /* the one that is silent longest is the first */
	uint64_t deadline_ms;	      /* for the next whole message, or for the writing */
	bool has_begun;		      /* a message, and the deadline is for the rest of it */
	bool is_new;		      /* no whole message has come yet */
	uint64_t network;
	unsigned rest_count; /* what the kernel had no room for; one more than later_max at most */
	enum ending ending;
	bool is_lent; /* the program writes: nothing is read, and no deadline ends it */
	struct sockaddr_storage address;
	struct framing in;
	unsigned awaited_count;
	uint64_t awaited[]; /* numbers of the questions that are answered later; later_max places */
};

/* A part of a response, until the kernel has room for it. */
struct tcp_rest {
	uv_write_t write;
	uint8_t bytes[];
};

struct tcp_listener {
	struct tcp *tcp;
	uv_tcp_t handle;
	int fd;		 /* what it has a duplicate of */
	bool is_waiting; /* for memory: libuv accepts none until its last client is taken */
	bool is_closed;	 /* for want of descriptors, until the next sweep */
};

/* What becomes of a client behind its responses. */
enum next { NEXT_READ, NEXT_REFUSE, NEXT_HAND_OVER };

struct tcp {
	uv_loop_t *loop;
	struct tcp_limits limits;
	struct responder responder;
	struct tcp_listener *listeners;
	size_t listener_count;
	TAILQ_HEAD(, tcp_client) clients;
	unsigned client_count;
	/* Of client_max and one more: which client has a place, and the places as a stack of
	 * which the first client_count are taken. */
	struct tcp_client **places;
	uint32_t *place_stack;
	uint64_t last_number;	  /* that a question was deferred with */
	struct tcp_client *asker; /* whose query answer() has in hand */
	bool is_deferred;	  /* that query */
	enum next next;		  /* when it has no response, and is not deferred */
	uv_timer_t sweep;
	bool is_draining;
	uint8_t out[OUT_SIZE]; /* of the client that is being served */
};

static void tell(const struct tcp *tcp, enum responder_event event)
{
	if (tcp->responder.count != NULL)
		tcp->responder.count(tcp->responder.context, event);
}

/* Nothing is being written for it, and it may ask more. */
static bool takes_more(const struct tcp_client *client)
{
	return client->rest_count == 0 && client->awaited_count < client->tcp->limits.later_max &&
	       client->ending == ENDING_NOT && !client->is_lent &&
	       !uv_is_closing((const uv_handle_t *)&client->handle);
}

/* Nothing is being made for it either. */
static bool is_idle(const struct tcp_client *client)
{
	return takes_more(client) && client->awaited_count == 0;
}

/* ---- closing ---- */

static void client_on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void close_client(struct tcp_client *client)
{
	struct tcp *tcp = client->tcp;
	if (uv_is_closing((uv_handle_t *)&client->handle))
		return;
	TAILQ_REMOVE(&tcp->clients, client, link);
	tcp->places[client->place] = NULL;
	tcp->place_stack[--tcp->client_count] = client->place;
	/* What waits to be written ends before the client does. */
	uv_close((uv_handle_t *)&client->handle, client_on_closed);
}

static void refuse_client(struct tcp_client *client)
{
	tell(client->tcp, RESPONDER_TCP_CLOSED);
	close_client(client);
}

/* True when it was closed, or is already. */
static bool end_client(struct tcp_client *client)
{
	if (uv_is_closing((uv_handle_t *)&client->handle))
		return true;
	if (client->ending == ENDING_NOT || client->awaited_count > 0 || client->rest_count > 0)
		return false;
	if (client->ending == ENDING_REFUSE)
		refuse_client(client);
	else
		close_client(client);
	return true;
}

/* At once, or behind what it is to have. */
static void end_later(struct tcp_client *client, enum ending ending)
{
	client->ending = ending;
	if (!end_client(client))
		uv_read_stop((uv_stream_t *)&client->handle);
}

/* A whole message came, or was written: the client is the one that was heard of last. */
static void renew(struct tcp_client *client)
{
	struct tcp *tcp = client->tcp;
	client->has_begun = false;
	client->is_new = false;
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

/* ---- writing ---- */

static void resume(struct tcp_client *client);

static void rest_on_written(uv_write_t *write, int status)
{
	struct tcp_client *client = write->handle->data;
	free(write->data);
	client->rest_count--;
	if (status != 0)
		close_client(client);
	/* It may have been closed since: libuv tells of what was written until then. */
	if (uv_is_closing((uv_handle_t *)&client->handle))
		return;
	renew(client);
	resume(client);
}

/* The kernel has no room: keep the rest, and read nothing until it is gone. */
static void write_later(struct tcp_client *client, const uint8_t *data, size_t size)
{
	struct tcp_rest *rest = malloc(sizeof(*rest) + size);
	if (rest == NULL) {
		close_client(client);
		return;
	}
	memcpy(rest->bytes, data, size);
	uv_buf_t all = uv_buf_init((char *)rest->bytes, (unsigned)size);
	rest->write.data = rest;
	uv_read_stop((uv_stream_t *)&client->handle);
	if (uv_write(&rest->write, (uv_stream_t *)&client->handle, &all, 1, rest_on_written) != 0) {
		free(rest);
		close_client(client);
		return;
	}
	client->rest_count++;
}

/* The first size bytes of what was collected, behind what waits to be written already. */
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

/* ---- answering ---- */

static void put_length(uint8_t *at, size_t size)
{
	at[0] = (uint8_t)(size >> 8);
	at[1] = (uint8_t)size;
}

/* RFC 7828, in units of 100 ms; 0 asks the client to close the connection. */
static uint16_t keepalive(const struct tcp *tcp)
{
	uint64_t units = tcp->limits.idle_timeout_s * (uint64_t)10;
	if (tcp->is_draining)
		return 0;
	return units < UINT16_MAX ? (uint16_t)units : UINT16_MAX;
}

/* With 0 tcp->next is what becomes of the client. */
static size_t ask(struct tcp_client *client, const struct framing_message *message,
		  uint8_t *ret_wire)
{
	struct tcp *tcp = client->tcp;
	struct responder_query query = { .wire = message->wire,
					 .size = message->size,
					 .client = (struct sockaddr *)&client->address,
					 .fd = -1,
					 .is_tcp = true,
					 .keepalive = keepalive(tcp),
					 .now_s = (uint64_t)time(NULL),
					 .now_ms = uv_now(tcp->loop) };
	uv_fileno((uv_handle_t *)&client->handle, &query.fd);
	tcp->next = NEXT_REFUSE;
	tcp->is_deferred = false;
	size_t size = tcp->responder.answer(tcp->responder.context, &query, ret_wire,
					    RESPONDER_RESPONSE_MAX);
	assert(size == 0 || (tcp->next == NEXT_REFUSE && !tcp->is_deferred));
	return size;
}

/*
 * Collects responses until there is no whole message, no room for another
 * response or one too many that comes later. Returns their size; *ret_taken is what was used of the
 * input. With NEXT_HAND_OVER that lacks the question that led to it.
 */
static size_t collect(struct tcp_client *client, size_t *ret_taken, enum next *ret_next)
{
	struct tcp *tcp = client->tcp;
	size_t out = 0;
	size_t end = 0;
	struct framing_message message;
	tcp->asker = client;
	while (out + FRAMING_LENGTH_SIZE + RESPONDER_RESPONSE_MAX <= OUT_SIZE &&
	       client->awaited_count < tcp->limits.later_max &&
	       framing_next(&client->in, &end, &message) == FRAMING_MESSAGE) {
		size_t response = ask(client, &message, tcp->out + out + FRAMING_LENGTH_SIZE);
		if (response == 0 && tcp->next == NEXT_HAND_OVER) {
			*ret_next = NEXT_HAND_OVER;
			break;
		}
		*ret_taken = end;
		if (tcp->is_deferred)
			continue;
		if (response == 0) {
			*ret_next = tcp->next;
			break;
		}
		put_length(tcp->out + out, response);
		out += FRAMING_LENGTH_SIZE + response;
	}
	if (tcp->responder.end != NULL)
		tcp->responder.end(tcp->responder.context);
	tcp->asker = NULL;
	return out;
}

/* Numbers what the client waits for. */
static struct tcp_asker await(struct tcp_client *client)
{
	struct tcp *tcp = client->tcp;
	assert(client->awaited_count < tcp->limits.later_max);
	client->awaited[client->awaited_count++] = ++tcp->last_number;
	return (struct tcp_asker){ tcp->last_number, client->place };
}

/*
 * The question is the first that is left. While something before it has to be written it stays, and is asked again
 * when that is done. What was read behind it stays until the connection is given back.
 */
static void hand_over(struct tcp_client *client)
{
	const struct responder *responder = &client->tcp->responder;
	struct framing_message question;
	size_t end = 0;
	uv_os_fd_t fd = -1;
	if (client->rest_count > 0 || client->awaited_count > 0 ||
	    uv_is_closing((uv_handle_t *)&client->handle))
		return;
	framing_next(&client->in, &end, &question);
	framing_drop(&client->in, end);
	renew(client);
	const struct tcp_asker asker = await(client);
	uv_fileno((uv_handle_t *)&client->handle, &fd);
	uv_read_stop((uv_stream_t *)&client->handle);
	client->is_lent = true;
	client->deadline_ms = UINT64_MAX;
	responder->take_connection(responder->context, fd, &asker);
}

/* One round. False when there was no whole message. */
static bool process_some(struct tcp_client *client)
{
	enum next next = NEXT_READ;
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
		end_later(client, ENDING_REFUSE);
	else if (!takes_more(client))
		uv_read_stop((uv_stream_t *)&client->handle);
	return taken > 0;
}

static void process(struct tcp_client *client)
{
	while (takes_more(client) && process_some(client))
		;
	if (!takes_more(client))
		return;
	if (framing_has_part(&client->in))
		hurry(client);
	else if (client->tcp->is_draining && is_idle(client))
		close_client(client);
}

static void client_on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf);
static void client_on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf);

/* What came meanwhile, then what comes. */
static void resume(struct tcp_client *client)
{
	if (end_client(client))
		return;
	process(client);
	if (!takes_more(client))
		return;
	int ret = uv_read_start((uv_stream_t *)&client->handle, client_on_alloc, client_on_read);
	if (ret != 0 && ret != UV_EALREADY)
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
	if (size == UV_EOF) {
		end_later(client, ENDING_CLOSE);
	} else if (size < 0) {
		close_client(client);
	} else {
		framing_add(&client->in, (size_t)size);
		process(client);
	}
}

/* ---- answers that come later, or elsewhere ---- */

void tcp_defer(struct tcp *tcp, struct tcp_asker *ret_asker)
{
	assert(tcp->asker != NULL);
	tcp->is_deferred = true;
	*ret_asker = await(tcp->asker);
}

/* Whose question it is, which is awaited no more. NULL when the client does not wait for it. */
static struct tcp_client *take_awaited(struct tcp *tcp, const struct tcp_asker *asker)
{
	struct tcp_client *client = tcp->places[asker->place];
	for (unsigned i = 0; client != NULL && i < client->awaited_count; i++) {
		if (client->awaited[i] != asker->number)
			continue;
		client->awaited[i] = client->awaited[--client->awaited_count];
		return client;
	}
	return NULL;
}

void tcp_send(struct tcp *tcp, const struct tcp_asker *asker, const uint8_t *wire, size_t size)
{
	struct tcp_client *client = take_awaited(tcp, asker);
	assert(tcp->asker == NULL && size <= RESPONDER_RESPONSE_MAX);
	if (client == NULL)
		return;
	if (size == 0) {
		refuse_client(client);
		return;
	}
	put_length(tcp->out, size);
	memcpy(tcp->out + FRAMING_LENGTH_SIZE, wire, size);
	renew(client);
	flush(client, FRAMING_LENGTH_SIZE + size);
	resume(client);
}

void tcp_hand_over(struct tcp *tcp)
{
	assert(tcp->asker != NULL);
	tcp->next = NEXT_HAND_OVER;
}

void tcp_give_back(struct tcp *tcp, const struct tcp_asker *asker, bool is_answered)
{
	struct tcp_client *client = take_awaited(tcp, asker);
	assert(tcp->asker == NULL);
	if (client == NULL)
		return;
	client->is_lent = false;
	if (!is_answered) {
		close_client(client);
		return;
	}
	renew(client);
	resume(client);
}

/* ---- clients ---- */

/* What ends one that is lent is the program's time for it. */
static struct tcp_client *find_silent(const struct tcp *tcp)
{
	struct tcp_client *client = TAILQ_FIRST(&tcp->clients);
	while (client->is_lent)
		client = TAILQ_NEXT(client, link);
	return client;
}

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
		if (client->network != network || client->is_lent)
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
		tell(tcp, RESPONDER_TCP_NETWORK);
		refuse_client(surplus);
	}
	if (tcp->client_count > tcp->limits.client_max)
		refuse_client(find_silent(tcp));
}

static void add_client(struct tcp *tcp, struct tcp_client *client)
{
	client->tcp = tcp;
	client->rest_count = 0;
	client->ending = ENDING_NOT;
	client->is_lent = false;
	client->awaited_count = 0;
	client->network = 0;
	framing_init(&client->in);
	uv_tcp_init(tcp->loop, &client->handle);
	client->handle.data = client;
	client->place = tcp->place_stack[tcp->client_count++];
	tcp->places[client->place] = client;
	TAILQ_INSERT_TAIL(&tcp->clients, client, link);
	renew(client);
	client->is_new = true;
}

static void accept_client(struct tcp_listener *listener)
{
	struct tcp *tcp = listener->tcp;
	size_t awaited_size = tcp->limits.later_max * sizeof(uint64_t);
	struct tcp_client *client = malloc(sizeof(*client) + awaited_size);
	listener->is_waiting = client == NULL;
	if (client == NULL)
		return;
	add_client(tcp, client);
	if (uv_accept((uv_stream_t *)&listener->handle, (uv_stream_t *)&client->handle) != 0) {
		close_client(client);
		return;
	}
	int address_size = sizeof(client->address);
	memset(&client->address, 0, sizeof(client->address));
	uv_tcp_getpeername(&client->handle, (struct sockaddr *)&client->address, &address_size);
	client->network = peer_network((struct sockaddr *)&client->address);
	tell(tcp, RESPONDER_TCP_CLIENT);
	uv_tcp_nodelay(&client->handle, 1);
	make_room(tcp, client);
	if (!uv_is_closing((uv_handle_t *)&client->handle) &&
	    uv_read_start((uv_stream_t *)&client->handle, client_on_alloc, client_on_read) != 0)
		close_client(client);
}

static void listener_on_closed(uv_handle_t *handle)
{
	struct tcp_listener *listener = handle->data;
	listener->is_closed = true;
}

static void listener_on_connection(uv_stream_t *stream, int status)
{
	/* libuv would try again for ever, and do nothing else. New clients stay with the kernel. */
	if (status == UV_EMFILE || status == UV_ENFILE)
		uv_close((uv_handle_t *)stream, listener_on_closed);
	else if (status == 0)
		accept_client(stream->data);
}

/* libuv closes what it was given to listen on; the parent's socket must outlive us. */
static int open_listener(struct tcp *tcp, struct tcp_listener *listener)
{
	int own = fcntl(listener->fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0)
		return -errno;
	uv_tcp_init(tcp->loop, &listener->handle); /* without a family it cannot fail */
	listener->handle.data = listener;
	listener->is_closed = false;
	int ret = uv_tcp_open(&listener->handle, own);
	if (ret != 0) {
		close(own);
		uv_close((uv_handle_t *)&listener->handle, listener_on_closed);
	}
	return ret;
}

static int start_listener(struct tcp_listener *listener)
{
	return uv_listen((uv_stream_t *)&listener->handle, BACKLOG, listener_on_connection);
}

static void tend_listener(struct tcp *tcp, struct tcp_listener *listener)
{
	if (listener->is_waiting)
		accept_client(listener);
	if (listener->is_closed && open_listener(tcp, listener) == 0 &&
	    start_listener(listener) != 0)
		uv_close((uv_handle_t *)&listener->handle, listener_on_closed);
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
	for (size_t i = 0; i < tcp->listener_count && !tcp->is_draining; i++)
		tend_listener(tcp, &tcp->listeners[i]);
}

/* ---- life ---- */

int tcp_new(uv_loop_t *loop, const int *fds, size_t fd_count, const struct tcp_limits *limits,
	    const struct responder *responder, struct tcp **ret_tcp)
{
	struct tcp *tcp = calloc(1, sizeof(*tcp));
	if (tcp == NULL)
		return -ENOMEM;
	tcp->loop = loop;
	tcp->limits = *limits;
	if (tcp->limits.later_max == 0)
		tcp->limits.later_max = 1;
	tcp->responder = *responder;
	TAILQ_INIT(&tcp->clients);
	uv_timer_init(loop, &tcp->sweep);
	tcp->sweep.data = tcp;
	*ret_tcp = tcp;
	size_t place_count = (size_t)limits->client_max + 1;
	tcp->listeners = calloc(fd_count + 1, sizeof(*tcp->listeners));
	tcp->places = calloc(place_count, sizeof(struct tcp_client *));
	tcp->place_stack = calloc(place_count, sizeof(*tcp->place_stack));
	if (tcp->listeners == NULL || tcp->places == NULL || tcp->place_stack == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < place_count; i++)
		tcp->place_stack[i] = i;
	for (size_t i = 0; i < fd_count; i++) {
		tcp->listeners[i] = (struct tcp_listener){ .tcp = tcp, .fd = fds[i] };
		int ret = open_listener(tcp, &tcp->listeners[i]);
		if (ret != 0)
			return ret;
		tcp->listener_count++;
	}
	return 0;
}

int tcp_start(struct tcp *tcp)
{
	for (size_t i = 0; i < tcp->listener_count; i++) {
		int ret = start_listener(&tcp->listeners[i]);
		if (ret != 0)
			return ret;
	}
	return uv_timer_start(&tcp->sweep, sweep_on_tick, SWEEP_INTERVAL_MS, SWEEP_INTERVAL_MS);
}

void tcp_drain(struct tcp *tcp)
{
	tcp->is_draining = true;
	for (size_t i = 0; i < tcp->listener_count; i++) {
		uv_handle_t *handle = (uv_handle_t *)&tcp->listeners[i].handle;
		if (!uv_is_closing(handle))
			uv_close(handle, NULL);
	}
	/* It still sweeps, but does not keep the loop alive. */
	uv_unref((uv_handle_t *)&tcp->sweep);
	struct tcp_client *next = NULL;
	for (struct tcp_client *client = TAILQ_FIRST(&tcp->clients); client != NULL;
	     client = next) {
		next = TAILQ_NEXT(client, link);
		if (!is_idle(client) || client->in.size > 0)
			continue;
		/* A question that is on its way already is not to meet a closed connection. */
		if (client->is_new)
			hurry(client);
		else
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
	free(tcp->places);
	free(tcp->place_stack);
	free(tcp);
}
