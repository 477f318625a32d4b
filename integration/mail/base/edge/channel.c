/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/edge/channel.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static struct session_kept *kept(const struct session *session)
{
	return &session_far(session)->kept;
}

/* ---- in ---- */

void channel_load(struct session *session)
{
	struct edge *edge = session->edge;
	edge->in_start = 0;
	edge->in_end = session->in_size;
	edge->out_size = 0;
	if (session->in_size > 0)
		memcpy(edge->in, kept(session)->in, session->in_size);
}

void channel_store(struct session *session)
{
	const struct edge *edge = session->edge;
	session->in_size = (uint16_t)(edge->in_end - edge->in_start);
	if (session->in_size > 0)
		memcpy(kept(session)->in, edge->in + edge->in_start, session->in_size);
}

static enum channel_status read_tls(struct session *session, uint8_t *room, size_t size,
				    ssize_t *ret_got)
{
	ssize_t got = tls_read(session->tls, room, size);
	*ret_got = got;
	if (got > 0)
		return CHANNEL_SOME;
	if (got == TLS_WANT_READ || got == TLS_WANT_WRITE) {
		session->want = got == TLS_WANT_READ ? UV_READABLE : UV_WRITABLE;
		return CHANNEL_NOTHING;
	}
	return got == TLS_CLOSED ? CHANNEL_ENDED : CHANNEL_BROKEN;
}

static enum channel_status read_clear(struct session *session, uint8_t *room, size_t size,
				      ssize_t *ret_got)
{
	ssize_t got = recv(session->fd, room, size, MSG_DONTWAIT);
	*ret_got = got;
	if (got > 0)
		return CHANNEL_SOME;
	if (got == 0)
		return CHANNEL_ENDED;
	session->want = UV_READABLE;
	return errno == EAGAIN || errno == EINTR ? CHANNEL_NOTHING : CHANNEL_BROKEN;
}

enum channel_status channel_read_some(struct session *session, size_t size_max)
{
	struct edge *edge = session->edge;
	ssize_t got = 0;
	if (edge->in_start > 0) {
		memmove(edge->in, edge->in + edge->in_start, edge->in_end - edge->in_start);
		edge->in_end -= edge->in_start;
		edge->in_start = 0;
	}
	size_t room = EDGE_IN_SIZE - edge->in_end;
	if (room > size_max)
		room = size_max;
	session->want = UV_READABLE;
	if (room == 0)
		return CHANNEL_NOTHING;
	enum channel_status status =
		session->tls != NULL ? read_tls(session, edge->in + edge->in_end, room, &got)
				     : read_clear(session, edge->in + edge->in_end, room, &got);
	if (status == CHANNEL_SOME) {
		edge->in_end += (size_t)got;
		session->facts.bytes_in += (uint64_t)got;
	}
	return status;
}

enum channel_status channel_read(struct session *session)
{
	return channel_read_some(session, EDGE_IN_SIZE);
}

/* ---- out ---- */

bool channel_has_room(const struct session *session)
{
	return session->edge->out_size + EDGE_REPLY_MAX <= EDGE_OUT_SIZE;
}

void channel_say(struct session *session, const char *text, size_t size)
{
	struct edge *edge = session->edge;
	assert(size <= EDGE_OUT_SIZE - edge->out_size);
	memcpy(edge->out + edge->out_size, text, size);
	edge->out_size += size;
}

void channel_hold(struct session *session)
{
	struct edge *edge = session->edge;
	assert(session->out_size == 0);
	if (edge->out_size > 0)
		memcpy(kept(session)->out, edge->out, edge->out_size);
	session->out_start = 0;
	session->out_size = (uint16_t)edge->out_size;
	edge->out_size = 0;
}

static enum channel_status send_some(struct session *session, const char *bytes, size_t size,
				     size_t *ret_sent)
{
	bool is_blocked = false;
	ssize_t sent = 0;
	if (session->tls != NULL) {
		sent = tls_write(session->tls, bytes, size);
		is_blocked = sent == TLS_WANT_READ || sent == TLS_WANT_WRITE;
	} else {
		sent = send(session->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		is_blocked = sent < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOBUFS);
	}
	if (is_blocked) {
		bool is_reading = session->tls != NULL && sent == TLS_WANT_READ;
		session->want = is_reading ? UV_READABLE : UV_WRITABLE;
		return CHANNEL_NOTHING;
	}
	if (sent <= 0)
		return CHANNEL_BROKEN;
	*ret_sent = (size_t)sent;
	return CHANNEL_SOME;
}

/* *start is moved behind what was sent. */
static enum channel_status send_all(struct session *session, const char *bytes, size_t *start,
				    size_t end)
{
	enum channel_status status = CHANNEL_SOME;
	while (*start < end && status == CHANNEL_SOME) {
		size_t sent = 0;
		status = send_some(session, bytes + *start, end - *start, &sent);
		*start += sent;
		session->facts.bytes_out += sent;
	}
	return status;
}

static enum channel_status flush_kept(struct session *session)
{
	size_t start = session->out_start;
	enum channel_status status =
		send_all(session, kept(session)->out, &start, session->out_size);
	session->out_start = (uint16_t)start;
	if (status == CHANNEL_SOME) {
		session->out_start = 0;
		session->out_size = 0;
	}
	return status;
}

enum channel_status channel_flush(struct session *session)
{
	struct edge *edge = session->edge;
	if (session->out_size > 0) {
		assert(edge->out_size == 0);
		return flush_kept(session);
	}
	size_t start = 0;
	enum channel_status status = send_all(session, edge->out, &start, edge->out_size);
	if (status == CHANNEL_NOTHING) {
		memmove(edge->out, edge->out + start, edge->out_size - start);
		edge->out_size -= start;
		channel_hold(session);
	}
	edge->out_size = 0;
	return status;
}

/* ---- the loop ---- */

void channel_watch(struct session *session, int events)
{
	if (session->watched == events || session->phase == SESSION_CLOSED)
		return;
	session->watched = events;
	if (events == 0) {
		uv_poll_stop(&session->poll);
		return;
	}
	/* Fails only when the descriptor is another handle's. */
	int ret = uv_poll_start(&session->poll, events, session->edge->on_event);
	assert(ret == 0);
	(void)ret;
}
