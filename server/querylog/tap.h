/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * tap.h - a worker's side of the query log: samples of what it answers.
 *
 * Flow: serving.c: tap_is_due() -> answer_make() -> tap_put() -> a datagram
 *       through a socket pair -> querylog.c, a process of its own, writes it.
 *
 * A worker never waits for the log: a sample that the socket has no room for is
 * lost, and counted. One answer in "every" is taken, with gaps by chance, so
 * that no client is in step with it. What is not taken costs one look at a
 * number, and without a query log one at a pointer.
 *
 *     SAMPLE   struct tap_sample, then the query, then the response
 *
 * Both ends are one program on one machine: a sample is plain memory.
 */

#include "server/counts/counters.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TAP_SAMPLE_MAX (sizeof(struct tap_sample) + (size_t)2 * 65535)

struct tap_sample {
	uint64_t asked_ns; /* Unix time */
	uint64_t answered_ns;
	struct sockaddr_storage client;
	struct sockaddr_storage server; /* as the socket is bound */
	uint32_t query_size;
	uint32_t response_size; /* 0: not answered */
	bool is_tcp;
};

/* Plain; one of each worker. */
struct tap {
	int fd;
	uint32_t every;
	uint32_t left; /* answers up to the next sample, that one counted */
	uint64_t random;
	struct counters counters;
};

/* every is at least 1. fd is borrowed. seed is any number. */
void tap_init(struct tap *tap, int fd, uint32_t every, uint64_t seed,
	      const struct counters *counters);

/* Once for each query. tap may be NULL. */
static inline bool tap_is_due(struct tap *tap)
{
	return tap != NULL && --tap->left == 0;
}

/* Unix time in nanoseconds. */
uint64_t tap_now_ns(void);

/* A message as it came in, or went out. */
struct tap_bytes {
	const uint8_t *data;
	size_t size; /* at most 65535 */
};

/*
 * After tap_is_due(), with the time before the answer. fd is the socket that the
 * query came from; response is of size 0 when there was none.
 */
void tap_put(struct tap *tap, uint64_t asked_ns, int fd, bool is_tcp, const struct sockaddr *client,
	     struct tap_bytes query, struct tap_bytes response);

#ifdef __cplusplus
}
#endif
