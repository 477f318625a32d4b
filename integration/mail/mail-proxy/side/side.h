/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * side.h - one end of a proxied connection: a socket, TLS or not, and a buffer each way.
 *
 * Flow: pair.c opens two of them -> side_fill() reads what there is room for -> a protocol looks at
 *       side_bytes(), takes with side_take(), writes into side_room() and says side_put() ->
 *       side_flush() -> side_watch() for what could not go on.
 *
 *     size_t size = 0;
 *     const uint8_t *bytes = side_bytes(pair->client, &size);
 *     size_t room = 0;
 *     uint8_t *out = side_room(pair->server, &room);
 *     if (out != NULL && room >= size) {
 *             memcpy(out, bytes, size);
 *             side_put(pair->server, size);
 *             side_take(pair->client, size);
 *     }
 *
 * A buffer is a block of proxyloop.h, which is taken when something comes and given back when
 * nothing is left: a connection that waits has none. A side that does not take what it is sent is
 * not written to beyond that block, and so the other is not read.
 *
 * side_open() makes it, side_close() ends it: it is freed by the loop then, and the pointer is of
 * no use any more.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "integration/mail/mail-proxy/side/proxyloop.h"

#define SIDE_BUFFER_SIZE PROXYLOOP_BLOCK_SIZE

enum side_state {
	SIDE_CONNECTING, /* only the next hop */
	SIDE_SHAKING,	 /* the handshake of TLS */
	SIDE_OPEN,
	SIDE_FAILED, /* nothing comes and nothing goes any more; side->error */
};

struct side_buffer {
	uint8_t *block; /* NULL: empty */
	size_t begin;
	size_t end;
};

struct side {
	struct proxyloop *loop;
	struct pair *pair;
	uv_poll_t poll;
	int fd;
	int watched;
	enum side_state state;
	bool is_ended; /* nothing more comes, behind what side_bytes() has */
	bool is_shut;  /* told that nothing more comes of us */
	/* A protocol's: nothing is read, as there is no use for it yet, and so no block is needed. */
	bool is_paused;
	bool is_header; /* a PROXY header comes, and a handshake behind it, which reads the socket itself */
	int error; /* with SIDE_FAILED: -errno, or a status of tls.h */
	struct tls *tls;
	int read_want;	/* TLS_WANT_... of the last read and write, 0: none */
	int write_want; /* the same */
	struct side_buffer in;
	struct side_buffer out;
	uint64_t bytes_in;
	uint64_t bytes_out;
};

/*
 * fd is handed over, also when it fails, and does not block. is_connecting: connect() has begun.
 * NULL: no memory.
 */
struct side *side_open(struct proxyloop *loop, struct pair *pair, int fd, bool is_connecting);
/* Takes NULL. What was not written is lost. */
void side_close(struct side *side);

/* What has come; borrowed until side_take() or the next turn. Never NULL. */
const uint8_t *side_bytes(const struct side *side, size_t *ret_size);
void side_take(struct side *side, size_t size);
/* Where to write what is to be sent; NULL and 0 when there is no room, or no memory. */
uint8_t *side_room(struct side *side, size_t *ret_room);
void side_put(struct side *side, size_t size);
/* All of it or nothing. */
bool side_say(struct side *side, const void *bytes, size_t size);
static inline size_t side_waiting(const struct side *side)
{
	return side->out.end - side->out.begin;
}

/* The handshake, of a client that is to begin it; what it has sent before must have been looked at. */
int side_begin_tls(struct side *side);

/* ---- pair.c's ---- */

/* Goes on with connecting, or the handshake. True: something has changed. */
bool side_advance(struct side *side);
/* Reads once, as much as there is room for. True: something has come, or the end. */
bool side_fill(struct side *side);
/* Writes what it can. True: something has gone. */
bool side_flush(struct side *side);
/* Tells the peer that nothing more comes, once all is written. */
void side_shut(struct side *side);
/* Waits for bytes to read, and for what it could not do. */
void side_watch(struct side *side);
