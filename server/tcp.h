/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * tcp.h - questions over TCP (RFC 7766).
 *
 * Flow: listening socket -> client -> whole messages -> answer_make() ->
 *       catalog_end() -> written in the order of the questions.
 *
 * What one client can cost is bounded: a buffer for one query, and while a
 * response waits to be written nothing more is read. A client must begin a
 * message within the idle timeout, and complete it within the query timeout, so
 * a byte a second does not hold a place for ever. When all places are taken, or
 * all that its network (access.h) may have, the client that has been silent
 * longest gives up its own. A length that no query has, and what answer_make()
 * meets with silence, closes the connection.
 *
 * A client that is granted a zone transfer leaves with its connection: a child
 * process has it from then on (handover.h).
 *
 * A client is freed in its close callback.
 */

#include "server/answer.h"
#include "server/handover.h"
#include "server/tap.h"

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
};

/*
 * fds are listening sockets, duplicated: they stay open when this is closed. tap is
 * borrowed and may be NULL. 0 or a negative error.
 */
int tcp_new(uv_loop_t *loop, const int *fds, size_t fd_count, const struct tcp_limits *limits,
	    struct answer *answer, struct catalog *catalog, struct handover *handover,
	    const struct counters *counters, struct tap *tap, struct tcp **ret_tcp);
int tcp_start(struct tcp *tcp);
/* Takes no more clients, and closes each that has no query under way. */
void tcp_drain(struct tcp *tcp);
/* Closes every client. Run the loop, then tcp_free(). */
void tcp_stop(struct tcp *tcp);
void tcp_free(struct tcp *tcp);

#ifdef __cplusplus
}
#endif
