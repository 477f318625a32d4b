/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/drive/link.h"

#include "lib/common/values.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

/* Reads of one connection before others have their turn. */
#define READS_MAX 16

enum state { CONNECTING, SHAKING, OPEN, LOST, CLOSED };

/* ---- the end ---- */

static void handle_on_close(uv_handle_t *handle)
{
	struct link *link = handle->data;
	if (--link->open_handles > 0)
		return;
	link->links->open_count--;
	link->handler->ended(link->owner);
}

void link_close(struct link *link)
{
	if (link->state == CLOSED)
		return;
	link->state = CLOSED;
	links_tls_free(link->tls);
	link->tls = NULL;
	uv_close((uv_handle_t *)&link->poll, handle_on_close);
	uv_close((uv_handle_t *)&link->timer, handle_on_close);
	close(link->fd);
}

static bool is_open(const struct link *link)
{
	return link->state < LOST;
}

static void lose(struct link *link, enum link_loss loss)
{
	if (!is_open(link))
		return;
	if (link->state == CONNECTING && loss == LINK_LOST_CLOSED)
		loss = LINK_LOST_CONNECT;
	link->state = LOST;
	uv_poll_stop(&link->poll);
	uv_timer_stop(&link->timer);
	link->handler->lost(link->owner, loss);
}

/* ---- time ---- */

static void timer_on_end(uv_timer_t *timer)
{
	struct link *link = timer->data;
	if (link->is_sleeping) {
		link->is_sleeping = false;
		link->handler->woken(link->owner);
		return;
	}
	/* It runs on while there is progress, which would else set it with each read. */
	const uint64_t quiet_ms = uv_now(link->links->loop) - link->progress_ms;
	if (quiet_ms >= link->links->timeout_ms)
		lose(link, LINK_LOST_TIMEOUT);
	else
		uv_timer_start(timer, timer_on_end, link->links->timeout_ms - quiet_ms, 0);
}

static void note_progress(struct link *link)
{
	link->progress_ms = uv_now(link->links->loop);
}

void link_expect(struct link *link)
{
	if (!is_open(link))
		return;
	link->is_sleeping = false;
	note_progress(link);
	uv_timer_start(&link->timer, timer_on_end, link->links->timeout_ms, 0);
}

void link_sleep(struct link *link, uint64_t sleep_ms)
{
	if (!is_open(link))
		return;
	link->is_sleeping = true;
	uv_timer_start(&link->timer, timer_on_end, sleep_ms, 0);
}

/* ---- events ---- */

static void poll_on_event(uv_poll_t *poll, int status, int events);

static void watch(struct link *link, int events)
{
	if (!is_open(link) || link->events == events)
		return;
	link->events = events;
	if (uv_poll_start(&link->poll, events, poll_on_event) != 0)
		lose(link, LINK_LOST_CLOSED);
}

/* How many bytes were taken, 0 when none can be now, or negative. */
static ssize_t put(struct link *link, const char *bytes, size_t size)
{
	ssize_t sent = 0;
	if (link->tls != NULL) {
		sent = links_tls_write(link->tls, bytes, size);
		return sent == TLS_WANT_READ || sent == TLS_WANT_WRITE ? 0 : sent;
	}
	do {
		sent = send(link->fd, bytes, size, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return errno == EAGAIN ? 0 : -errno;
	return sent;
}

void link_flush(struct link *link)
{
	char *buffer = link->links->output;
	while (link->state == OPEN && !link->is_mute) {
		const size_t size = link->handler->output(link->owner, buffer);
		if (size == 0) {
			watch(link, UV_READABLE);
			return;
		}
		const ssize_t sent = put(link, buffer, size);
		if (sent == 0) {
			watch(link, UV_READABLE | UV_WRITABLE);
			return;
		}
		if (sent < 0) {
			/* What the server said before it hung up says more than the error. */
			link->is_mute = true;
			watch(link, UV_READABLE);
			return;
		}
		note_progress(link);
		link->handler->sent(link->owner, (size_t)sent);
	}
}

static void shake(struct link *link)
{
	if (link->tls == NULL && links_tls_new(link->links->tls, link->fd, &link->tls) != 0) {
		lose(link, LINK_LOST_TLS);
		return;
	}
	const int ret = links_tls_handshake(link->tls);
	if (ret == TLS_WANT_READ || ret == TLS_WANT_WRITE) {
		watch(link, ret == TLS_WANT_READ ? UV_READABLE : UV_WRITABLE);
		return;
	}
	if (ret != 0) {
		lose(link, LINK_LOST_TLS);
		return;
	}
	note_progress(link);
	link->state = OPEN;
	if (link->links->security == LINK_STARTTLS)
		link->handler->secured(link->owner);
	link_flush(link);
}

void link_secure(struct link *link)
{
	if (link->state != OPEN || link->tls != NULL)
		return;
	link->state = SHAKING;
	watch(link, UV_WRITABLE);
}

/* Negative: it is no more, or not what it should be; 0: there is nothing now. */
static ssize_t take(struct link *link)
{
	ssize_t size = 0;
	if (link->tls != NULL) {
		size = links_tls_read(link->tls, link->links->input, LINK_BUFFER_SIZE);
		return size == TLS_WANT_READ || size == TLS_WANT_WRITE ? 0 : size;
	}
	do {
		size = recv(link->fd, link->links->input, LINK_BUFFER_SIZE, 0);
	} while (size < 0 && errno == EINTR);
	if (size < 0)
		return errno == EAGAIN ? 0 : -errno;
	return size > 0 ? size : -ECONNRESET;
}

static void read_some(struct link *link)
{
	for (unsigned i = 0; i < READS_MAX && link->state == OPEN; i++) {
		const ssize_t size = take(link);
		if (size == 0)
			return;
		if (size < 0) {
			lose(link, size == TLS_EPEER ? LINK_LOST_TLS : LINK_LOST_CLOSED);
			return;
		}
		note_progress(link);
		link->handler->input(link->owner, link->links->input, (size_t)size);
		/* OpenSSL gives a record at a time. */
		if (link->tls == NULL && (size_t)size < LINK_BUFFER_SIZE)
			return;
	}
}

static void finish_connecting(struct link *link)
{
	int error = 0;
	socklen_t size = sizeof(error);
	if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
		lose(link, LINK_LOST_CONNECT);
		return;
	}
	note_progress(link);
	if (link->links->security == LINK_TLS) {
		link->state = SHAKING;
		shake(link);
	} else {
		link->state = OPEN;
		link_flush(link);
	}
}

/* With an error there are no events, and libuv looks at the socket no more: it is read to its end. */
static void poll_on_event(uv_poll_t *poll, int status, int events)
{
	struct link *link = poll->data;
	switch (link->state) {
	case CONNECTING:
		finish_connecting(link);
		break;
	case SHAKING:
		shake(link);
		break;
	case OPEN:
		if ((events & UV_WRITABLE) != 0)
			link_flush(link);
		if ((events & UV_READABLE) != 0 || status != 0)
			read_some(link);
		break;
	default:
		return;
	}
	if (status != 0)
		lose(link, LINK_LOST_CLOSED);
}

/* ---- beginning ---- */

static int connect_to(const struct sockaddr_storage *address)
{
	int on = 1;
	const int fd = socket(address->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (const struct sockaddr *)address, values_address_size(address)) != 0 &&
	    errno != EINPROGRESS) {
		const int ret = -errno;
		close(fd);
		return ret;
	}
	return fd;
}

int link_open(struct link *ret_link, struct links *links, const struct sockaddr_storage *address,
	      const struct link_handler *handler, void *owner)
{
	const int fd = connect_to(address);
	if (fd < 0)
		return fd;
	memset(ret_link, 0, sizeof(*ret_link));
	int ret = uv_poll_init(links->loop, &ret_link->poll, fd);
	if (ret != 0) {
		close(fd);
		return ret;
	}
	uv_timer_init(links->loop, &ret_link->timer);
	ret_link->poll.data = ret_link->timer.data = ret_link;
	ret_link->links = links;
	ret_link->handler = handler;
	ret_link->owner = owner;
	ret_link->fd = fd;
	ret_link->open_handles = 2;
	ret_link->state = CONNECTING;
	links->open_count++;
	link_expect(ret_link);
	ret_link->events = UV_WRITABLE;
	uv_poll_start(&ret_link->poll, UV_WRITABLE, poll_on_event);
	return 0;
}
