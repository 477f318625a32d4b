/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * handout.h - the hand-over of a session to the workers, and the sessions that wait for it.
 *
 * Flow: the session has proved something, all replies before it are sent -> handout_join() -> the
 *       server's hand_over(): a capsule with what was said, and what was read and not yet looked at
 *       -> handover.h.
 *
 * Under TLS the worker gets one end of a pair of sockets, and relay.h has the other.
 *
 * A session goes into the queue when there is an idle worker (scoreboard.h). One that finds none waits
 * here, up to rules->queue_timeout_ms, and is refused then; or at once, where the configuration
 * says so. When a worker is idle the next one is of the network that has fewest workers, and the one
 * that has waited longest of these.
 *
 * A session whose network has its share of the workers waits in the same way, and no other behind
 * it.
 */

#include "integration/mail/base/edge/edge_parts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Into the queue, or into the list of those that wait for a worker. */
void handout_join(struct session *session);
/* As many as there are workers for. */
void handout_drain(struct edge *edge);
/* Before the end, in SESSION_QUEUED. */
void handout_leave(struct session *session);
/* It has waited long enough. */
void handout_on_timer(struct session *session);

/* ---- for the capsule, in hand_over() ---- */

/* As they are now; of bytes_in what the far part has is no part, or it would be counted twice. */
struct session_facts handout_facts(struct session *session);
/* CLOCK_MONOTONIC: one that waits here is not made young by another try. */
uint64_t handout_queued_at_us(const struct session *session);

#ifdef __cplusplus
}
#endif
