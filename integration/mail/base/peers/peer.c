/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/peers/peer.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "integration/mail/base/peers/peer_parts.h"
#include "lib/common/values.h"
#include "lib/process/clock.h"

#define READS_MAX 8 /* in a turn */

static const struct peer_kind *const kinds[SCAN_PEER_COUNT] = {
	[SCAN_CLAMD] = &peer_clamd,
	[SCAN_RSPAMD] = &peer_rspamd,
	[SCAN_MILTER] = &peer_milter,
};

/* ---- the end ---- */

static void end(struct peer *peer, enum peer_state how)
{
	peer->end = how;
	peer->deadline_ms = UINT64_MAX;
	peer->out_size = 0;
	if (peer->fd >= 0)
		close(peer->fd);
	peer->fd = -1;
}

static void leave(struct peer *peer)
{
	if (peer->is_connected && peer->send_error == 0 && peer->out_size == 0 &&
	    peer->kind->leave != NULL)
		peer->kind->leave(peer);
}

void peer_finish(struct peer *peer, enum scan_action action, bool is_found, const char *name)
{
	if (peer->end != PEER_OPEN)
		return;
	peer->verdict.action = action;
	peer->verdict.is_found = is_found;
	snprintf(peer->verdict.name, sizeof(peer->verdict.name), "%s", name);
	leave(peer);
	end(peer, PEER_DONE);
}

void peer_fail(struct peer *peer, const char *format, ...)
{
	va_list arguments;
	if (peer->end != PEER_OPEN)
		return;
	va_start(arguments, format);
	vsnprintf(peer->reason, sizeof(peer->reason), format, arguments);
	va_end(arguments);
	end(peer, PEER_FAILED);
}

/* ---- what goes out ---- */

static bool is_live(const struct peer *peer)
{
	return peer->end == PEER_OPEN;
}

/*
 * An error does not end it: a peer that has closed its side may have said its verdict before, which
 * is then there to be read.
 */
static size_t send_some(struct peer *peer, struct iovec *parts, size_t count)
{
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = count };
	ssize_t sent;
	if (!peer->is_connected || peer->send_error != 0)
		return 0;
	do
		sent = sendmsg(peer->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	if (sent < 0 && errno != EAGAIN)
		peer->send_error = errno;
	return sent < 0 ? 0 : (size_t)sent;
}

static void keep(struct peer *peer, const void *bytes, size_t size, size_t *sent)
{
	const size_t skipped = *sent < size ? *sent : size;
	*sent -= skipped;
	if (skipped == size)
		return;
	uint8_t *room = peer_make(peer, size - skipped);
	if (room == NULL) {
		peer_fail(peer, "more was sent than is kept");
		return;
	}
	memcpy(room, (const uint8_t *)bytes + skipped, size - skipped);
	peer->out_size += size - skipped;
}

void peer_send(struct peer *peer, const void *head, size_t head_size, const uint8_t *bytes,
	       size_t size, const void *tail, size_t tail_size)
{
	struct iovec parts[] = {
		{ .iov_base = (void *)(uintptr_t)head, .iov_len = head_size },
		{ .iov_base = (void *)(uintptr_t)bytes, .iov_len = size },
		{ .iov_base = (void *)(uintptr_t)tail, .iov_len = tail_size },
	};
	size_t sent = peer->out_size == 0 ? send_some(peer, parts, 3) : 0;
	keep(peer, head, head_size, &sent);
	keep(peer, bytes, size, &sent);
	keep(peer, tail, tail_size, &sent);
}

uint8_t *peer_make(struct peer *peer, size_t size)
{
	if (peer->out_size == 0)
		peer->out_from = 0;
	if (peer->out_from > 0 && peer->out_from + peer->out_size + size > PEER_KEPT_MAX) {
		memmove(peer->out, peer->out + peer->out_from, peer->out_size);
		peer->out_from = 0;
	}
	const size_t at = peer->out_from + peer->out_size;
	return is_live(peer) && size <= PEER_KEPT_MAX - at ? peer->out + at : NULL;
}

void peer_made(struct peer *peer, size_t size)
{
	peer->out_size += size;
}

/* All that is kept, and what a kind makes then. */
static void flush(struct peer *peer)
{
	bool has_more = true;
	while (has_more && is_live(peer) && peer->is_connected && peer->send_error == 0) {
		struct iovec part = { .iov_base = peer->out + peer->out_from,
				      .iov_len = peer->out_size };
		const size_t sent = peer->out_size > 0 ? send_some(peer, &part, 1) : 0;
		peer->out_from += sent;
		peer->out_size -= sent;
		has_more = peer->out_size == 0 && peer->kind->produce != NULL &&
			   peer->kind->produce(peer);
	}
}

/* ---- what comes in ---- */

/* One that goes on and on has its next turn when all others have had theirs, and a deadline. */
static void take(struct peer *peer)
{
	uint8_t bytes[4096];
	ssize_t got = 1;
	for (unsigned i = 0; i < READS_MAX && is_live(peer) && peer->is_connected && got > 0; i++) {
		got = recv(peer->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			peer->kind->take(peer, bytes, (size_t)got);
		else if (got == 0 && peer->send_error == 0)
			peer->kind->take(peer, bytes, 0);
		else if (got < 0 && errno != EAGAIN)
			peer_fail(peer, "read: %s", strerror(errno));
	}
	if (is_live(peer) && peer->send_error != 0 && got <= 0)
		peer_fail(peer, "write: %s", strerror(peer->send_error));
}

/* ---- the connection ---- */

static void finish_connect(struct peer *peer)
{
	struct pollfd ready = { .fd = peer->fd, .events = POLLOUT };
	int error = 0;
	socklen_t size = sizeof(error);
	if (poll(&ready, 1, 0) <= 0)
		return;
	if (getsockopt(peer->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		error = errno;
	if (error != 0)
		peer_fail(peer, "connect: %s", strerror(error));
	else
		peer->is_connected = true;
}

static void begin_connect(struct peer *peer, const struct place *place)
{
	const int on = 1;
	const int family = place->address.ss_family;
	peer->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (peer->fd < 0) {
		peer_fail(peer, "socket: %s", strerror(errno));
		return;
	}
	if (family != AF_UNIX)
		setsockopt(peer->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(peer->fd, (const struct sockaddr *)&place->address, place->address_size) == 0)
		peer->is_connected = true;
	else if (errno != EINPROGRESS)
		peer_fail(peer, "connect: %s", strerror(errno));
}

/* ---- time ---- */

static bool is_busy(const struct peer *peer)
{
	return peer->out_size > 0 || !peer->is_connected ||
	       (peer->kind->has_kept != NULL && peer->kind->has_kept(peer));
}

/* A limit runs from when it becomes busy, and once more from the mail's end. */
static void set_deadline(struct peer *peer)
{
	if (!is_live(peer) || peer->is_ended)
		return;
	if (!is_busy(peer))
		peer->deadline_ms = UINT64_MAX;
	else if (peer->deadline_ms == UINT64_MAX)
		peer->deadline_ms = clock_now_ms() + peer->timeout_ms;
}

static void settle(struct peer *peer)
{
	flush(peer);
	if (is_live(peer) && peer->send_error != 0)
		take(peer);
	set_deadline(peer);
}

/* ---- what scanner.c calls ---- */

int peer_open(enum scan_peer kind, const char *address, const struct scan_envelope *envelope,
	      unsigned timeout_ms, struct peer **ret_peer)
{
	struct peer *peer = malloc(sizeof(*peer)); /* out is not touched */
	struct place place;
	if (peer == NULL)
		return -ENOMEM;
	memset(peer, 0, offsetof(struct peer, out));
	peer->kind = kinds[kind];
	peer->fd = -1;
	peer->timeout_ms = timeout_ms;
	peer->deadline_ms = UINT64_MAX;
	peer->state = calloc(1, peer->kind->state_size);
	if (peer->state == NULL) {
		free(peer);
		return -ENOMEM;
	}
	if (envelope != NULL)
		peer->envelope = *envelope;
	*ret_peer = peer;
	if (values_parse_place(address, &place) != NULL || place.address.ss_family == AF_UNSPEC) {
		peer_fail(peer, "address is none");
		return 0;
	}
	begin_connect(peer, &place);
	if (is_live(peer) && peer->kind->open != NULL)
		peer->kind->open(peer);
	settle(peer);
	return 0;
}

void peer_close(struct peer *peer)
{
	if (peer == NULL)
		return;
	if (is_live(peer)) {
		leave(peer);
		end(peer, PEER_FAILED);
	}
	free(peer->state);
	free(peer);
}

void peer_push(struct peer *peer, const uint8_t *bytes, size_t size)
{
	if (!is_live(peer) || peer->is_ended || size == 0)
		return;
	if (is_busy(peer) || size > SCAN_PIECE_MAX) {
		peer_fail(peer, "bytes came while it was busy");
		return;
	}
	peer->kind->push(peer, bytes, size);
	settle(peer);
}

void peer_end(struct peer *peer)
{
	if (!is_live(peer) || peer->is_ended)
		return;
	if (peer->kind->end != NULL)
		peer->kind->end(peer);
	peer->is_ended = true;
	peer->deadline_ms = clock_now_ms() + peer->timeout_ms;
	settle(peer);
}

void peer_turn(struct peer *peer)
{
	if (is_live(peer) && !peer->is_connected)
		finish_connect(peer);
	if (is_live(peer) && peer->is_connected) {
		flush(peer);
		take(peer);
		flush(peer);
	}
	if (is_live(peer) && clock_now_ms() >= peer->deadline_ms)
		peer_fail(peer, "%s",
			  !peer->is_connected ? "connect: time is over"
			  : peer->is_ended    ? "verdict: time is over"
					      : "write: time is over");
	settle(peer);
}

enum peer_state peer_state(const struct peer *peer)
{
	if (!is_live(peer))
		return peer->end;
	return peer->is_ended || is_busy(peer) ? PEER_BUSY : PEER_OPEN;
}

int peer_fd(const struct peer *peer, short *ret_events)
{
	*ret_events = 0;
	if (!is_live(peer))
		return -1;
	*ret_events = peer->is_connected ? POLLIN : 0;
	if (peer->out_size > 0 || !peer->is_connected)
		*ret_events |= POLLOUT;
	return peer->fd;
}

uint64_t peer_deadline_ms(const struct peer *peer)
{
	return peer->deadline_ms;
}

const struct peer_verdict *peer_verdict(const struct peer *peer)
{
	return &peer->verdict;
}

const char *peer_reason(const struct peer *peer)
{
	return peer->reason;
}
