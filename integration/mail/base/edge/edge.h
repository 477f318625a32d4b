/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * edge.h - one process that has all sessions that have not yet proved anything, whatever their
 * protocol.
 *
 * Flow: nanny.c forks -> the server's run_edge() -> edge_run(): accept -> a PROXY header, where one
 *       must be -> limits of the prefix -> the pause before the banner, and libdnsblv6 in parallel
 *       -> the handshake, where the client begins with it -> the dialogue of edge_protocol.h until
 *       the session has proved something -> the queue of the workers; or the end, without a worker.
 *
 * One loop, one thread, and all memory of sessions taken at the start. A session costs no
 * process, and a client that says nothing costs a slot of the arena and a socket.
 *
 *     FILE            WHAT IT KNOWS
 *     edge            begin and end of the process, listeners, accept
 *     session         a session's life, its slot, its times
 *     channel         bytes from and to a client, in the clear or by TLS
 *     greeting        what is before the banner: PROXY, limits, the pause, the verdict
 *     exchange        commands and replies in turn, whatever they say; the handshake
 *     handout         the hand-over, and the sessions that wait for it
 *     edge_log        how many lines there may be about strangers
 *     edge_protocol.h what the server adds: commands, texts, the capsule, the counters
 *     edge_rules.h    what its configuration says
 *     edge_parts.h    what they share
 *
 * SIGTERM drains: clients that have connected are accepted, and no others; a session may go on for
 * drain_ms. When the pause before the banner, with the time for a verdict, would take half of that
 * or more, a client that waits for its banner is refused at once, and one that has not been
 * accepted is cut. TLS sessions that a worker has go on as long as the worker wants.
 */

#include "integration/mail/base/edge/edge_protocol.h"
#include "integration/mail/base/edge/edge_rules.h"
#include "integration/mail/base/handover/nanny_child.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * In a process of its own, after fork(). Everything is borrowed until it returns: an exit status. own
 * is the server's.
 */
int edge_run(const struct nanny_child *child, const struct edge_protocol *protocol,
	     const struct edge_rules *rules, void *own);

#ifdef __cplusplus
}
#endif
