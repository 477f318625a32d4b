/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/worker/stream.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/process/clock.h"

/* How long and how much a peer is listened to that did not know that we hang up. */
#define LINGER_MS   1000
#define LINGER_SIZE (256 * 1024)

void stream_init(struct stream *ret_stream, int fd)
{
	/* Not the buffers: pages that are never written to stay the system's. */
	ret_stream->fd = fd;
	ret_stream->in_begin = ret_stream->in_end = 0;
	ret_stream->out_size = 0;
	ret_stream->bytes_in = ret_stream->bytes_out = 0;
}

int stream_seed(struct stream *stream, const uint8_t *bytes, size_t size)
{
	if (size > sizeof(stream->in) - stream->in_end)
		return -ENOSPC;
	if (size > 0)
		memcpy(stream->in + stream->in_end, bytes, size);
	stream->in_end += size;
	return 0;
}

int64_t stream_deadline(int64_t timeout_ms)
{
	return (int64_t)clock_now_ms() + timeout_ms;
}

const uint8_t *stream_bytes(const struct stream *stream, size_t *ret_size)
{
	*ret_size = stream->in_end - stream->in_begin;
	return stream->in + stream->in_begin;
}

void stream_take(struct stream *stream, size_t size)
{
	assert(size <= stream->in_end - stream->in_begin);
	stream->in_begin += size;
	if (stream->in_begin == stream->in_end)
		stream->in_begin = stream->in_end = 0;
}

int stream_wait(int fd, short events, int64_t deadline_ms)
{
	for (;;) {
		const int64_t left_ms = deadline_ms - (int64_t)clock_now_ms();
		struct pollfd poller = { .fd = fd, .events = events };
		const int ready = poll(&poller, 1,
				       left_ms <= 0	   ? 0
				       : left_ms > INT_MAX ? INT_MAX
							   : (int)left_ms);
		if (ready > 0)
			return 0;
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready == 0 && left_ms <= INT_MAX)
			return -ETIMEDOUT;
	}
}

static int write_all(struct stream *stream, const uint8_t *bytes, size_t size, int64_t deadline_ms)
{
	while (size > 0) {
		const ssize_t sent = send(stream->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent >= 0) {
			bytes += sent;
			size -= (size_t)sent;
			stream->bytes_out += (uint64_t)sent;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return -errno;
		const int ret = stream_wait(stream->fd, POLLOUT, deadline_ms);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int stream_flush(struct stream *stream, int64_t deadline_ms)
{
	const size_t size = stream->out_size;
	stream->out_size = 0; /* also when it fails: nothing may be sent twice */
	return write_all(stream, stream->out, size, deadline_ms);
}

void stream_drop(struct stream *stream)
{
	stream->out_size = 0;
}

int stream_put(struct stream *stream, const void *bytes, size_t size, int64_t deadline_ms)
{
	if (size > sizeof(stream->out) - stream->out_size) {
		const int ret = stream_flush(stream, deadline_ms);
		if (ret < 0)
			return ret;
	}
	if (size > sizeof(stream->out))
		return write_all(stream, bytes, size, deadline_ms);
	if (size > 0)
		memcpy(stream->out + stream->out_size, bytes, size);
	stream->out_size += size;
	return 0;
}

int stream_fill(struct stream *stream, int64_t deadline_ms)
{
	int ret = stream_flush(stream, deadline_ms);
	if (ret < 0)
		return ret;
	if (stream->in_begin > 0) {
		memmove(stream->in, stream->in + stream->in_begin,
			stream->in_end - stream->in_begin);
		stream->in_end -= stream->in_begin;
		stream->in_begin = 0;
	}
	const size_t room = sizeof(stream->in) - stream->in_end;
	if (room == 0)
		return -ENOBUFS;
	for (;;) {
		const ssize_t got =
			recv(stream->fd, stream->in + stream->in_end, room, MSG_DONTWAIT);
		if (got >= 0) {
			stream->in_end += (size_t)got;
			stream->bytes_in += (uint64_t)got;
			return (int)got;
		}
		if (errno == EAGAIN)
			ret = stream_wait(stream->fd, POLLIN, deadline_ms);
		else if (errno != EINTR)
			ret = -errno;
		if (ret < 0)
			return ret;
	}
}

void stream_linger(struct stream *stream)
{
	const int64_t deadline_ms = stream_deadline(LINGER_MS);
	size_t taken = 0;
	size_t size = 0;

	(void)shutdown(stream->fd, SHUT_WR);
	do {
		(void)stream_bytes(stream, &size);
		stream_take(stream, size);
		taken += size;
	} while (taken < LINGER_SIZE && stream_fill(stream, deadline_ms) > 0);
}
