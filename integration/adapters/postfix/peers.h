/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * peers.h - the processes of mail servers that are connected, and what they ask.
 *
 * Flow: bytes -> request.h or line.h -> a question -> exempt, or judge_submit() -> a reply.
 *       uvhandle.h calls dnsblv6_process() in each round of the loop.
 *
 * One question of a connection is open at a time, and replies go out in the order of the
 * questions: as long as one is open, or its reply has not been taken, the connection is read
 * no further. So what a connection can use is bounded, whatever it sends; one that does not
 * take its replies for PEERS_STUCK_S, or never ends a request, is cut off. One connection more
 * than "clients", and of those without an open question or reply the one that has been silent
 * longest goes; without such a one the new one goes. Postfix connects again by itself.
 *
 * A handle with memory of its own. peers_stop() ends it: no new connections, those without
 * an open question are closed at once and the others when they have their reply, or at the
 * deadline. Then done is called, out of the loop, which has to run once more before
 * peers_free().
 */

#include <stdint.h>
#include <uv.h>

#include "integration/adapters/postfix/policy_setup.h"
#include "integration/adapters/postfix/sockets.h"
#include "lib/common/counts.h"

struct peers; /* opaque */

#define PEERS_STUCK_S 5

#define PEERS_COUNTER_MAP(X)                                                                       \
	X(PEERS_CONNECTIONS, "connections", "Processes that have connected.")                      \
	X(PEERS_REFUSED, "connections-refused", "Processes too many.")                             \
	X(PEERS_REPLACED, "connections-replaced", "Idle connections that made room for others.")   \
	X(PEERS_CUT, "connections-cut",                                                            \
	  "Connections that did not take replies, or never ended a request.")                      \
	X(PEERS_REQUESTS, "requests", "Questions of mail servers.")                                \
	X(PEERS_MALFORMED, "requests-malformed", "Questions that could not be read whole.")        \
	X(PEERS_ADDRESSLESS, "requests-addressless", "Questions without a client's address.")      \
	X(PEERS_AUTHENTICATED, "requests-authenticated", "Questions about clients that log in.")   \
	X(PEERS_EXEMPT, "requests-exempt", "Questions about own networks and the allow list.")     \
	X(PEERS_LISTED, "replies-listed", "Questions whose address is listed.")                    \
	X(PEERS_CLEAR, "replies-clear", "Questions whose address is not.")                         \
	X(PEERS_UNKNOWN, "replies-unknown", "Questions without an answer of every zone in time.")  \
	X(PEERS_DEFERRED, "replies-deferred", "The same, when a zone's outage means defer.")       \
	X(PEERS_BUSY, "replies-busy", "Questions when there were too many.")

enum peers_counter { PEERS_COUNTER_MAP(COUNTS_NUMBER) PEERS_COUNTER_COUNT };

/*
 * setup and sockets are borrowed. 0 or -errno: then the loop is of no use, and *ret_peers may be half
 * of one, for peers_free() behind uv_loop_close().
 */
int peers_open(uv_loop_t *loop, const struct policy_setup *setup, const struct sockets *sockets,
	       struct peers **ret_peers);

typedef void (*peers_fn)(void *context);
/* Once. */
void peers_stop(struct peers *peers, peers_fn done, void *context);
/* Takes NULL. */
void peers_free(struct peers *peers);

unsigned peers_count(const struct peers *peers);
const uint64_t *peers_counters(const struct peers *peers);
