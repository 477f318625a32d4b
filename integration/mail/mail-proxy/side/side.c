/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-proxy/side/side.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "integration/mail/base/loop/proxypeek.h"
#include "integration/mail/mail-proxy/side/pair.h"

/* ---- buffers ---- */

static bool has_block(struct proxyloop *loop, struct side_buffer *buffer)
{
	if (buffer->block == NULL) {
		buffer->block = proxyloop_take_block(loop);
		buffer->begin = 0;
		buffer->end = 0;
	}
	return buffer->block != NULL;
}

/* What is left is moved to the front, when there is no room behind it. */
static size_t room_of(struct side_buffer *buffer, size_t wanted)
{
	const size_t size = buffer->end - buffer->begin;
	if (SIDE_BUFFER_SIZE - buffer->end < wanted && buffer->begin > 0) {
		memmove(buffer->block, buffer->block + buffer->begin, size);
		buffer->begin = 0;
		buffer->end = size;
	}
	return SIDE_BUFFER_SIZE - buffer->end;
}

static void give_back_if_empty(struct proxyloop *loop, struct side_buffer *buffer)
{
	if (buffer->block == NULL || buffer->begin < buffer->end)
		return;
	proxyloop_give_block(loop, buffer->block);
	*buffer = (struct side_buffer){ .block = NULL };
}

static void drop_buffer(struct proxyloop *loop, struct side_buffer *buffer)
{
	buffer->begin = buffer->end;
	give_back_if_empty(loop, buffer);
}

const uint8_t *side_bytes(const struct side *side, size_t *ret_size)
{
	static const uint8_t none[1] = { 0 };
	const struct side_buffer *in = &side->in;
	*ret_size = in->end - in->begin;
	return in->block != NULL ? in->block + in->begin : none;
}

void side_take(struct side *side, size_t size)
{
	side->in.begin += size;
	give_back_if_empty(side->loop, &side->in);
}

uint8_t *side_room(struct side *side, size_t *ret_room)
{
	*ret_room = 0;
	if (side->state == SIDE_FAILED || side->is_shut || !has_block(side->loop, &side->out))
		return NULL;
	*ret_room = room_of(&side->out, SIDE_BUFFER_SIZE);
	uint8_t *room = side->out.block + side->out.end;
	return *ret_room > 0 ? room : NULL;
}

void side_put(struct side *side, size_t size)
{
	side->out.end += size;
	give_back_if_empty(side->loop, &side->out);
}

bool side_say(struct side *side, const void *bytes, size_t size)
{
	size_t room = 0;
	uint8_t *out = side_room(side, &room);
	const bool has_room = out != NULL && room >= size;
	if (has_room)
		memcpy(out, bytes, size);
	if (out != NULL)
		side_put(side, has_room ? size : 0);
	return has_room;
}

/* ---- begin and end ---- */

static void poll_on_event(uv_poll_t *poll, int status, int events)
{
	const struct side *side = poll->data;
	(void)status;
	(void)events;
	pair_turn(side->pair);
}

struct side *side_open(struct proxyloop *loop, struct pair *pair, int fd, bool is_connecting)
{
	static const int on = 1;
	struct side *side = calloc(1, sizeof(*side));
	if (side == NULL || uv_poll_init(&loop->loop, &side->poll, fd) != 0) {
		free(side);
		close(fd);
		return NULL;
	}
	/* Replies are small, and a whole one is always written at once. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	side->loop = loop;
	side->pair = pair;
	side->fd = fd;
	side->poll.data = side;
	side->state = is_connecting ? SIDE_CONNECTING : SIDE_OPEN;
	return side;
}

static void poll_on_close(uv_handle_t *handle)
{
	free(handle->data);
}

void side_close(struct side *side)
{
	if (side == NULL)
		return;
	drop_buffer(side->loop, &side->in);
	drop_buffer(side->loop, &side->out);
	tls_free(side->tls);
	side->pair = NULL;
	uv_poll_stop(&side->poll);
	close(side->fd);
	uv_close((uv_handle_t *)&side->poll, poll_on_close);
}

static bool fail(struct side *side, int error)
{
	side->state = SIDE_FAILED;
	side->error = error;
	side->is_ended = true;
	drop_buffer(side->loop, &side->out);
	return true;
}

int side_begin_tls(struct side *side)
{
	if (side->loop->tls == NULL)
		return -ENOENT;
	int ret = tls_new(side->loop->tls, side->fd, &side->tls);
	if (ret != 0)
		return ret;
	side->state = SIDE_SHAKING;
	side->read_want = TLS_WANT_READ;
	return 0;
}

static bool connect_further(struct side *side)
{
	int error = 0;
	socklen_t size = sizeof(error);
	struct sockaddr_storage peer;
	socklen_t peer_size = sizeof(peer);
	if (getsockopt(side->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		error = errno;
	if (error != 0)
		return fail(side, -error);
	if (getpeername(side->fd, (struct sockaddr *)&peer, &peer_size) != 0)
		return false;
	side->state = SIDE_OPEN;
	return true;
}

static bool shake_further(struct side *side)
{
	int ret = tls_handshake(side->tls);
	if (ret == TLS_WANT_READ || ret == TLS_WANT_WRITE) {
		side->read_want = ret;
		return false;
	}
	side->read_want = 0;
	if (ret != 0)
		return fail(side, ret);
	side->state = SIDE_OPEN;
	return true;
}

bool side_advance(struct side *side)
{
	if (side->state == SIDE_CONNECTING)
		return connect_further(side);
	if (side->state == SIDE_SHAKING)
		return shake_further(side);
	return false;
}

/* ---- bytes ---- */

static ssize_t read_some(struct side *side, uint8_t *ret_bytes, size_t room)
{
	if (side->tls != NULL)
		return tls_read(side->tls, ret_bytes, room);
	ssize_t size = recv(side->fd, ret_bytes, room, 0);
	if (size > 0)
		return size;
	if (size == 0)
		return TLS_CLOSED;
	return errno == EAGAIN || errno == EINTR ? TLS_WANT_READ : -errno;
}

static ssize_t write_some(struct side *side, const uint8_t *bytes, size_t size)
{
	if (side->tls != NULL)
		return tls_write(side->tls, bytes, size);
	ssize_t written = send(side->fd, bytes, size, MSG_NOSIGNAL);
	if (written >= 0)
		return written;
	return errno == EAGAIN || errno == EINTR ? TLS_WANT_WRITE : -errno;
}

bool side_fill(struct side *side)
{
	if (side->state != SIDE_OPEN || side->is_ended || side->is_paused ||
	    !has_block(side->loop, &side->in))
		return false;
	const size_t room = room_of(&side->in, SIDE_BUFFER_SIZE / 4);
	if (room == 0)
		return false;
	uint8_t *at = side->in.block + side->in.end;
	const size_t had = side->in.end - side->in.begin;
	const size_t most = side->is_header ? proxypeek(side->fd, at - had, had, room) : room;
	ssize_t size = read_some(side, at, most);
	side->read_want = 0;
	if (size > 0) {
		side->in.end += (size_t)size;
		side->bytes_in += (size_t)size;
		return true;
	}
	give_back_if_empty(side->loop, &side->in);
	if (size == TLS_WANT_READ || size == TLS_WANT_WRITE) {
		side->read_want = (int)size;
		return false;
	}
	if (size == TLS_CLOSED || size == TLS_ECUT) {
		side->is_ended = true;
		return true;
	}
	return fail(side, (int)size);
}

bool side_flush(struct side *side)
{
	bool has_gone = false;
	if (side->state != SIDE_OPEN)
		return false;
	side->write_want = 0;
	while (side->out.begin < side->out.end) {
		ssize_t size = write_some(side, side->out.block + side->out.begin,
					  side->out.end - side->out.begin);
		if (size == TLS_WANT_READ || size == TLS_WANT_WRITE) {
			side->write_want = (int)size;
			return has_gone;
		}
		if (size < 0)
			return fail(side, (int)size);
		side->out.begin += (size_t)size;
		side->bytes_out += (size_t)size;
		has_gone = true;
	}
	give_back_if_empty(side->loop, &side->out);
	return has_gone;
}

void side_shut(struct side *side)
{
	if (side->is_shut || side->state != SIDE_OPEN || side_waiting(side) > 0)
		return;
	side->is_shut = true;
	if (side->tls != NULL)
		(void)tls_close(side->tls);
	(void)shutdown(side->fd, SHUT_WR);
}

static int events_of(int want)
{
	if (want == TLS_WANT_READ)
		return UV_READABLE;
	return want == TLS_WANT_WRITE ? UV_WRITABLE : 0;
}

void side_watch(struct side *side)
{
	int events = 0;
	if (side->state == SIDE_CONNECTING)
		events = UV_WRITABLE;
	else if (side->state == SIDE_SHAKING)
		events = events_of(side->read_want);
	else if (side->state == SIDE_OPEN) {
		const size_t size = side->in.end - side->in.begin;
		if (!side->is_ended && !side->is_paused && size < SIDE_BUFFER_SIZE)
			events |= side->read_want != 0 ? events_of(side->read_want) : UV_READABLE;
		if (side_waiting(side) > 0)
			events |= side->write_want != 0 ? events_of(side->write_want) : UV_WRITABLE;
	}
	if (events == side->watched)
		return;
	side->watched = events;
	if (events == 0)
		uv_poll_stop(&side->poll);
	else
		uv_poll_start(&side->poll, events, poll_on_event);
}
