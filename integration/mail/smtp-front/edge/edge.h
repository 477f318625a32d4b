/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * edge.h - one process that has all sessions that have not yet proved anything.
 *
 * Flow: nanny.c forks -> edge_run(): accept -> limits of the prefix -> a PROXY header, where one
 *       must be -> the pause before the banner, and libdnsblv6 in parallel -> the dialogue up to
 *       the first valid recipient -> the queue of the workers; or the end, without a worker.
 *
 * One loop, one thread, and all memory of sessions taken at the start. A session costs no
 * process, and a client that says nothing costs a slot of the arena and a socket.
 *
 *     FILE         WHAT IT KNOWS
 *     edge         begin and end of the process, listeners, accept
 *     session      a session's life, its slot, its times, its line in the log
 *     channel      bytes from and to a client, in the clear or by TLS
 *     greeting     what is before the banner: PROXY, the pause, the verdict
 *     talk         commands and replies; which recipients are valid
 *     handout      the hand-over, and the sessions that wait for it
 *     edge_parts.h what they share
 *
 * SIGTERM drains: clients that have connected are accepted, and no others; a session may go on for
 * front.drain_ms. When the pause before the banner, with the time for a verdict, would take half of
 * that or more, a client that waits for its banner is told 421 at once, and one that has not been
 * accepted is cut. TLS sessions that a worker has go on as long as the worker wants.
 */

#include "integration/mail/smtp-front/edge/edge_start.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In a process of its own, after fork(). Returns an exit status. */
int edge_run(const struct edge_start *start);

#ifdef __cplusplus
}
#endif
