/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * frames.h - Frame Streams into a file or to a collector's socket.
 *
 * Flow: querylog.c -> frames_put() -> a buffer -> frames_flush() -> write().
 *
 *     file     START, data ..., STOP
 *     socket   READY, the collector's ACCEPT, START, data ..., STOP, its FINISH
 *
 * Blocks, for FRAMES_PATIENCE_S at most at a socket: for a process of its own. A file is
 * never written over: when there is one of that name, the time is put behind
 * the name. After a failure a file ends behind the last frame that fitted, so
 * that it stays readable; a socket is connected again, after a second at the
 * earliest. What was not written is counted and forgotten. Control frames are
 * libfstrm's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FRAMES_BUFFER_SIZE ((size_t)256 * 1024) /* the longest frame and more */
#define FRAMES_PATIENCE_S  5

struct frames {
	const char *path; /* borrowed */
	bool is_socket;
	int fd;		/* -1: not open */
	off_t good;	/* of a file: where its last whole frame ends */
	size_t used;	/* of the buffer */
	uint64_t count; /* frames in it */
	uint8_t *buffer;
	uint64_t lost;	   /* frames so far */
	uint64_t retry_ms; /* no connection is tried before, on the monotonic clock */
};

/* 0 or -ENOMEM. Opens nothing yet. */
int frames_init(struct frames *frames, const char *path, bool is_socket);
/* Without an end of the stream. */
void frames_deinit(struct frames *frames);

/*
 * A frame of size bytes, less than the buffer has; or, with a buffer that has no
 * room for it, the end of frames_flush().
 */
int frames_put(struct frames *frames, const void *data, size_t size);
/* Opens what is not open and writes the buffer out. 0, or -errno and its frames are lost. */
int frames_flush(struct frames *frames);
/* The same, and the end of the stream, as a reader wants it. */
void frames_close(struct frames *frames);
