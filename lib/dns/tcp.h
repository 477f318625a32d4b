/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * tcp.h - questions over TCP (RFC 7766).
 *
 * Flow: listening socket -> client -> whole messages -> answer() of the program
 *       (responder.h) -> end() -> written in the order of the answers.
 *
 * What one client can cost is bounded: a buffer for one query, and while a
 * response waits to be made or to be written nothing more is read. A client must begin a
 * message within the idle timeout, and complete it within the query timeout, so
 * a byte a second does not hold a place for ever. When all places are taken, or
 * all that its network (peer.h) may have, the client that has been silent
 * longest gives up its own. A length that no query has, and what answer() meets
 * with silence, closes the connection.
 *
 * As many questions of a client as later_max may wait for answers that come later; one more
 * holds up those behind it, so with 1 all answers have the order of the questions. The
 * program has the idle timeout for them; then a client that says nothing else is closed.
 * One that has ended its half of the connection, or sends nonsense, is closed behind them.
 *
 * A connection may be lent, for a zone transfer: the program writes the answer, and what the client
 * has said behind that question is taken when it gives the connection back. Until then the client
 * has its place, which no other gets, and no time limit but the program's.
 *
 * SIGPIPE must be ignored. A client is freed in its close callback. One for which there is no
 * memory, or no descriptor, waits with the kernel for a second.
 */

#include "lib/dns/responder.h"

#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tcp;

struct tcp_limits {
	unsigned client_max;  /* at least 1 */
	unsigned network_max; /* 0: client_max */
	unsigned idle_timeout_s;
	unsigned query_timeout_s;
	unsigned later_max; /* 0: 1 */
};

/* A question of a client that may have gone since. A plain value. */
struct tcp_asker {
	uint64_t number; /* no two questions have the same; 0 is none */
	uint32_t place;
};

/* fds are listening sockets, duplicated: they stay open when this is closed. 0 or a negative
 * error; then *ret_tcp may be half of one, for tcp_free() behind uv_loop_close(). */
int tcp_new(uv_loop_t *loop, const int *fds, size_t fd_count, const struct tcp_limits *limits,
	    const struct responder *responder, struct tcp **ret_tcp);
int tcp_start(struct tcp *tcp);

/* Inside answer(), which then returns 0: the query in hand is answered by tcp_send(). */
void tcp_defer(struct tcp *tcp, struct tcp_asker *ret_asker);
/*
 * The answer to a deferred question, once, between tcp_defer()'s answer() and tcp_free(), and
 * never inside an answer() or end(). wire is copied; size 0 closes the connection. Does nothing
 * when the client has gone.
 */
void tcp_send(struct tcp *tcp, const struct tcp_asker *asker, const uint8_t *wire, size_t size);
/*
 * Inside answer(), which then returns 0: the connection goes to take_connection(). When there
 * are responses to write before, the query is given to answer() once more behind them.
 */
void tcp_hand_over(struct tcp *tcp);
/*
 * The end of that, as tcp_send(), also inside take_connection(). The next question follows when the
 * whole answer was written; else the connection is closed.
 */
void tcp_give_back(struct tcp *tcp, const struct tcp_asker *asker, bool is_answered);

/*
 * Takes no more clients, and closes each that has no query under way; one that is new has the time of a
 * query for its first.
 */
void tcp_drain(struct tcp *tcp);
/* Closes every client. Run the loop, then tcp_free(). */
void tcp_stop(struct tcp *tcp);
void tcp_free(struct tcp *tcp);

#ifdef __cplusplus
}
#endif
