/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * parting.h - the hand-over of a session to the workers, and who waits for it.
 *
 * Flow: talk.c has the first valid recipient, all replies before it are sent -> parting_join() ->
 *       a capsule with what was said, and what was read and not yet looked at -> handover.h.
 *
 * Under TLS the worker gets one end of a pair of sockets, and relay.h has the other.
 *
 * The queue has room for as many as its buffer holds. Whoever finds it full waits behind those who
 * wait already, up to front.queue-timeout, and is told 421 then; or at once, where the
 * configuration says so.
 *
 * So does who finds his network with its share of the workers, but that nobody else is behind him.
 * It is a share of the queue and the workers together: a network that came first when all were
 * busy would have all that become free.
 */

#include "integration/smtp-front/edge_parts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Into the queue, or behind those who wait for it. */
void parting_join(struct session *session);
/* As many as the queue takes. */
void parting_drain(struct edge *edge);
/* Before the end, in SESSION_QUEUED. */
void parting_leave(struct session *session);
/* It has waited long enough. */
void parting_on_timer(struct session *session);

#ifdef __cplusplus
}
#endif
