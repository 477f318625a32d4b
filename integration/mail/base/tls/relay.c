/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/tls/relay.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the end ---- */

static void on_closed(uv_handle_t *handle)
{
	struct relay *relay = handle->data;
	if (--relay->open_handles > 0)
		return;
	tls_free(relay->tls);
	close(relay->client_fd);
	close(relay->worker_fd);
	relay->done(relay, relay->status);
}

static void finish(struct relay *relay, int status)
{
	uv_handle_t *handles[] = { (uv_handle_t *)&relay->deadline, (uv_handle_t *)&relay->client,
				   (uv_handle_t *)&relay->worker };
	if (relay->is_closing)
		return;
	relay->is_closing = true;
	if (relay->status == 0)
		relay->status = status;
	/* In the order in which they were made; not all may have been. */
	for (unsigned i = 0, count = relay->open_handles; i < count; i++)
		uv_close(handles[i], on_closed);
}

static void on_deadline(uv_timer_t *timer)
{
	struct relay *relay = timer->data;
	uint64_t idle_ms = uv_now(timer->loop) - relay->moved_at_ms;
	if (relay->is_client_shut)
		finish(relay, 0); /* the client has had its time to read the end */
	else if (idle_ms >= relay->idle_ms)
		finish(relay, -ETIMEDOUT);
	else
		uv_timer_start(timer, on_deadline, relay->idle_ms - idle_ms, 0);
}

void relay_end(struct relay *relay)
{
	finish(relay, -ETIMEDOUT);
}

/* ---- from the client to the worker ---- */

static void count_moved(struct relay *relay, size_t size)
{
	relay->turn += size;
	relay->moved_at_ms = uv_now(relay->deadline.loop);
}

static void lose_client(struct relay *relay, int status)
{
	relay->is_client_ended = true;
	relay->is_client_dead = true;
	relay->to_client_at = relay->to_client_size = 0;
	/* Many close their end without the word when they have said QUIT. */
	if (relay->status == 0 && !relay->is_client_shut)
		relay->status = status;
}

static bool read_client(struct relay *relay)
{
	if (relay->is_client_ended || relay->to_worker_at < relay->to_worker_size)
		return false;
	ssize_t count = tls_read(relay->tls, relay->to_worker, sizeof(relay->to_worker));
	if (count > 0) {
		relay->read_want = 0;
		relay->to_worker_at = 0;
		relay->to_worker_size = relay->is_worker_gone ? 0 : (size_t)count;
		/* What is thrown away is no reason to wait longer for the client to take its replies. */
		if (relay->is_worker_gone)
			relay->turn += (size_t)count;
		else
			count_moved(relay, (size_t)count);
		return true;
	}
	if (count == TLS_WANT_READ || count == TLS_WANT_WRITE) {
		relay->read_want = (int)count;
		return false;
	}
	if (count == TLS_CLOSED)
		relay->is_client_ended = true;
	else
		lose_client(relay, (int)count);
	return true;
}

static bool write_worker(struct relay *relay)
{
	if (relay->to_worker_at == relay->to_worker_size)
		return false;
	ssize_t count =
		send(relay->worker_fd, relay->to_worker + relay->to_worker_at,
		     relay->to_worker_size - relay->to_worker_at, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (count < 0) {
		relay->is_worker_gone = true;
		relay->to_worker_at = relay->to_worker_size = 0;
		return true;
	}
	relay->to_worker_at += (size_t)count;
	count_moved(relay, (size_t)count);
	return true;
}

static bool move_to_worker(struct relay *relay)
{
	bool is_moved = read_client(relay);
	if (write_worker(relay))
		is_moved = true;
	if (relay->is_client_ended && !relay->is_worker_shut &&
	    relay->to_worker_at == relay->to_worker_size) {
		shutdown(relay->worker_fd, SHUT_WR);
		relay->is_worker_shut = true;
	}
	return is_moved;
}

/* ---- from the worker to the client ---- */

static bool read_worker(struct relay *relay)
{
	if (relay->is_worker_ended || relay->to_client_at < relay->to_client_size)
		return false;
	ssize_t count =
		recv(relay->worker_fd, relay->to_client, sizeof(relay->to_client), MSG_DONTWAIT);
	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (count > 0 && relay->is_client_dead) {
		/* Thrown away: a worker that cannot write takes none of what waits for it. */
		relay->turn += (size_t)count;
		return true;
	}
	if (count > 0) {
		relay->to_client_at = 0;
		relay->to_client_size = (size_t)count;
		count_moved(relay, (size_t)count);
		return true;
	}
	relay->is_worker_ended = true; /* killed, it may be: that is a reset here */
	return true;
}

static bool write_client(struct relay *relay)
{
	if (relay->to_client_at == relay->to_client_size)
		return false;
	ssize_t count = tls_write(relay->tls, relay->to_client + relay->to_client_at,
				  relay->to_client_size - relay->to_client_at);
	if (count == TLS_WANT_READ || count == TLS_WANT_WRITE) {
		relay->write_want = (int)count;
		return false;
	}
	relay->write_want = 0;
	if (count < 0) {
		lose_client(relay, (int)count);
		return true;
	}
	relay->to_client_at += (size_t)count;
	count_moved(relay, (size_t)count);
	return true;
}

/* True while the end is to be said to the client. */
static bool has_end_to_say(const struct relay *relay)
{
	return relay->is_worker_ended && !relay->is_client_shut && !relay->is_client_dead &&
	       relay->to_client_at == relay->to_client_size;
}

static void say_end(struct relay *relay)
{
	int ret = tls_close(relay->tls);
	relay->write_want = 0;
	if (ret == TLS_WANT_READ || ret == TLS_WANT_WRITE) {
		relay->write_want = ret;
		return;
	}
	relay->is_client_shut = true;
	if (ret != 0) {
		lose_client(relay, ret);
		return;
	}
	shutdown(relay->client_fd, SHUT_WR);
	uint64_t linger_ms = relay->idle_ms < RELAY_LINGER_MS ? relay->idle_ms : RELAY_LINGER_MS;
	uv_timer_start(&relay->deadline, on_deadline, linger_ms, 0);
}

static bool move_to_client(struct relay *relay)
{
	bool is_moved = read_worker(relay);
	if (write_client(relay))
		is_moved = true;
	if (has_end_to_say(relay))
		say_end(relay);
	return is_moved;
}

/* ---- both ---- */

static void on_ready(uv_poll_t *handle, int status, int events);

static bool is_over(const struct relay *relay)
{
	return relay->is_client_ended && relay->is_worker_shut &&
	       (relay->is_client_dead || relay->is_client_shut);
}

static int client_events(const struct relay *relay)
{
	int events = 0;
	if (relay->is_client_dead)
		return 0;
	if (!relay->is_client_ended && relay->to_worker_at == relay->to_worker_size) {
		events |= relay->read_want == TLS_WANT_WRITE ? UV_WRITABLE : UV_READABLE;
		/* What OpenSSL has decrypted the socket does not tell; that it can be written it
		 * does.
		 */
		if (tls_has_pending(relay->tls))
			events |= UV_WRITABLE;
	}
	if (relay->to_client_at < relay->to_client_size || has_end_to_say(relay))
		events |= relay->write_want == TLS_WANT_READ ? UV_READABLE : UV_WRITABLE;
	return events;
}

static int worker_events(const struct relay *relay)
{
	int events = 0;
	if (!relay->is_worker_ended && relay->to_client_at == relay->to_client_size)
		events |= UV_READABLE;
	if (relay->to_worker_at < relay->to_worker_size)
		events |= UV_WRITABLE;
	return events;
}

static void wait_for_more(struct relay *relay)
{
	/* Without any it stops. */
	int ret = uv_poll_start(&relay->client, client_events(relay), on_ready);
	if (ret == 0)
		ret = uv_poll_start(&relay->worker, worker_events(relay), on_ready);
	if (ret != 0)
		finish(relay, ret);
}

static void on_ready(uv_poll_t *handle, int status, int events)
{
	struct relay *relay = handle->data;
	/* What has happened to a socket, reading and writing it say. */
	(void)status;
	(void)events;
	relay->turn = 0;
	bool is_moved = true;
	while (is_moved && relay->turn < RELAY_TURN_MAX) {
		is_moved = move_to_worker(relay);
		if (move_to_client(relay))
			is_moved = true;
	}
	if (is_over(relay))
		finish(relay, 0);
	else
		wait_for_more(relay);
}

void relay_begin(struct relay *relay, const struct relay_start *start)
{
	memset(relay, 0, offsetof(struct relay, to_worker));
	relay->context = start->context;
	relay->tls = start->tls;
	relay->client_fd = start->client_fd;
	relay->worker_fd = start->worker_fd;
	relay->idle_ms = start->idle_ms;
	relay->done = start->done;
	relay->deadline.data = relay->client.data = relay->worker.data = relay;

	uv_timer_init(start->loop, &relay->deadline);
	relay->open_handles = 1;
	relay->moved_at_ms = uv_now(start->loop);
	uv_timer_start(&relay->deadline, on_deadline, start->idle_ms, 0);
	int ret = uv_poll_init(start->loop, &relay->client, start->client_fd);
	if (ret == 0) {
		relay->open_handles = 2;
		ret = uv_poll_init(start->loop, &relay->worker, start->worker_fd);
	}
	if (ret != 0) {
		finish(relay, ret);
		return;
	}
	relay->open_handles = 3;
	wait_for_more(relay);
}
