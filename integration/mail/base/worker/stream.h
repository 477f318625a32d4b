/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * stream.h - a connection that a worker waits for: reads, writes, and an end to waiting.
 *
 * Flow: handover.h or remote_smtp.c brings a descriptor -> stream_init(), stream_seed() with
 *       what was read of it before -> worker.c and remote_smtp.c take bytes and put bytes.
 *
 *     struct stream stream;
 *     stream_init(&stream, fd);
 *     int64_t deadline_ms = stream_deadline(5000);
 *     ret = stream_put(&stream, "NOOP\r\n", 6, deadline_ms);
 *     while (ret >= 0 && !is_complete(stream_bytes(&stream, &size), size))
 *             ret = stream_fill(&stream, deadline_ms);
 *
 * Deadlines are times of the monotonic clock in ms, so that a peer that sends a byte a minute
 * does not begin a new wait with each. Whether the descriptor blocks does not matter, and its
 * flags stay as they are: an edge may have it as well.
 *
 * What is put waits in a buffer until it is full, or until stream_fill() is about to wait: the
 * replies to pipelined commands leave together (RFC 2920 3.2), and we never wait for a peer that
 * waits for us. Nothing is read from a peer that does not take what it is sent.
 *
 * Lies in the memory of its owner; the descriptor is borrowed. Nothing here allocates or logs.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STREAM_IN_MAX  16384 /* a command's line is at most some kilobytes; mail comes in blocks */
#define STREAM_OUT_MAX 16384

struct stream {
	int fd; /* borrowed; a stream socket */
	size_t in_begin;
	size_t in_end;
	size_t out_size;
	uint64_t bytes_in; /* read from fd; what it was seeded with is not counted again */
	uint64_t bytes_out;
	uint8_t in[STREAM_IN_MAX];
	uint8_t out[STREAM_OUT_MAX];
};

void stream_init(struct stream *ret_stream, int fd);
/* Bytes that were read before, behind those that wait here. 0, or -ENOSPC. */
int stream_seed(struct stream *stream, const uint8_t *bytes, size_t size);

/* That many ms from now on the monotonic clock. */
int64_t stream_deadline(int64_t timeout_ms);

/* Of poll(2). 0 when fd is ready, or has failed: the next call says how. -ETIMEDOUT, or another -errno. */
int stream_wait(int fd, short events, int64_t deadline_ms);

/* What has come and was not taken; borrowed until the next call that changes the stream. */
const uint8_t *stream_bytes(const struct stream *stream, size_t *ret_size);
/* size is at most what stream_bytes() has said. */
void stream_take(struct stream *stream, size_t size);

/*
 * Writes what was put, then waits for more bytes than there are. Their number, 0 when the peer
 * has ended, -ETIMEDOUT, -ENOBUFS when the buffer is full, or another -errno.
 */
int stream_fill(struct stream *stream, int64_t deadline_ms);

/* Copied. 0, -ETIMEDOUT, or another -errno: then what the peer has got is unknown. */
int stream_put(struct stream *stream, const void *bytes, size_t size, int64_t deadline_ms);
/* The same for all that was put. */
int stream_flush(struct stream *stream, int64_t deadline_ms);
/* What was put and is not written yet will not be. */
void stream_drop(struct stream *stream);
/*
 * Ends our side, and takes what comes for a second until the peer has ended, too: closing over bytes that were
 * not read would take our last words from it. One that never stops sending is not waited for.
 */
void stream_linger(struct stream *stream);

#ifdef __cplusplus
}
#endif
