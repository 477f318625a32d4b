/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * relay.h - a session under TLS after its hand-over: TLS on one side, a worker on the other.
 *
 * Flow: session.c has sent one end of a socketpair to the workers' queue -> relay_begin() with
 *       the other end and the TLS session -> bytes both ways -> done().
 *
 *     client == TCP, TLS ==> tls_read()  -> to_worker -> write() -- AF_UNIX --> worker
 *            <============== tls_write() <- to_client <- read()  <-------------
 *
 * Each direction has one buffer, and is read only when that has room: a worker that
 * does not read stops the client, and the other way round. An end is passed on behind the last
 * byte before it: close_notify, or a cut, of the client becomes SHUT_WR to the worker, which may
 * still answer; the worker's end becomes close_notify and SHUT_WR to the client. Then what the
 * client still sends is read and thrown away for at most RELAY_LINGER_MS, because closing a socket
 * with unread bytes would take the last reply from the client.
 *
 * No byte in either direction for idle_ms ends it; one for a worker that has gone does not count.
 * Deadlines of SMTP are the worker's; this one is for a worker that never comes.
 *
 * Lies in the memory of its owner, of fixed size. Closing: done() is called once, from the loop,
 * when both handles are closed, both descriptors are closed and the TLS session is freed; the
 * relay's memory is its owner's again. Nothing here logs, or allocates but what OpenSSL does.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "integration/mail/base/tls/tls.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RELAY_TO_WORKER_SIZE                                                                       \
	16384			  /* a record of TLS at its largest: OpenSSL keeps nothing back    \
				   */
#define RELAY_TO_CLIENT_SIZE 4096 /* replies */
#define RELAY_LINGER_MS	     5000
#define RELAY_TURN_MAX	     65536 /* bytes one way before others have their turn */

struct relay;

/* status: 0 when both sides have ended by themselves; -ETIMEDOUT; or a failure. */
typedef void (*relay_fn)(struct relay *relay, int status);

struct relay_start {
	uv_loop_t *loop;
	struct tls *tls; /* handed over, after its handshake */
	int client_fd;	 /* handed over; no other handle of the loop may be started on it */
	int worker_fd;	 /* handed over; AF_UNIX SOCK_STREAM, does not block */
	unsigned idle_ms;
	relay_fn done;
	void *context; /* becomes relay->context */
};

struct relay {
	void *context;

	/* ---- relay.c's own ---- */
	uv_poll_t client;
	uv_poll_t worker;
	uv_timer_t deadline;
	struct tls *tls;
	int client_fd;
	int worker_fd;
	unsigned idle_ms;
	uint64_t moved_at_ms; /* when a byte was moved, by the loop's clock */
	relay_fn done;
	int status;
	unsigned open_handles;
	size_t turn; /* bytes that were moved since the loop has called */
	bool is_closing;
	bool is_client_ended;  /* nothing more comes from it */
	bool is_client_dead;   /* and nothing can be said to it */
	bool is_client_shut;   /* it knows that the worker has ended */
	bool is_worker_ended;  /* nothing more comes from it */
	bool is_worker_gone;   /* it does not read any more */
	bool is_worker_shut;   /* it knows that the client has ended */
	int read_want;	       /* TLS_WANT_... of the last tls_read(), 0: none */
	int write_want;	       /* of the last tls_write() or tls_close() */
	size_t to_worker_at;   /* first byte that is not yet written */
	size_t to_worker_size; /* end of the bytes */
	size_t to_client_at;
	size_t to_client_size;
	uint8_t to_worker[RELAY_TO_WORKER_SIZE];
	uint8_t to_client[RELAY_TO_CLIENT_SIZE];
};

/*
 * Takes all that start names; what goes wrong at once is said by done() too, and not before this
 * has returned. Bytes begin to move in the next turn of the loop, also those that TLS has
 * decrypted already.
 */
void relay_begin(struct relay *relay, const struct relay_start *start);
/* There is no time for the client to take what is left. done() is called as ever. */
void relay_end(struct relay *relay);

#ifdef __cplusplus
}
#endif
