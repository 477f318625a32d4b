/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * handout.h - the hand-over of a session to the workers, and the sessions that wait for it.
 *
 * Flow: talk.c has the first valid recipient, all replies before it are sent -> handout_join() ->
 *       a capsule with what was said, and what was read and not yet looked at -> handover.h.
 *
 * Under TLS the worker gets one end of a pair of sockets, and relay.h has the other.
 *
 * A session goes into the queue when there is an idle worker (scoreboard.h). One that finds none waits
 * here, up to front.queue-timeout, and is told 421 then; or at once, where the configuration says
 * so. When a worker is idle the next one is of the network that has fewest workers, and the one
 * that has waited longest of these.
 *
 * A session whose network has its share of the workers waits in the same way, and no other behind
 * it.
 */

#include "integration/mail/smtp-front/edge/edge_parts.h"

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

#ifdef __cplusplus
}
#endif
