/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * session.h - the life of a session in an edge: its slot, its events, its times, its end.
 *
 * Flow: edge.c has accepted -> session_open() -> greeting.c, exchange.c, handout.c by phase ->
 *       session_end(), or session_part() when a worker has it.
 *
 *     PROXY -> PAUSE -> TALK <-> TLS, ASKED, TARPIT, PAUSE (after XCLIENT)
 *                \ \      \-> QUEUED -> RELAYED, HELD
 *                 \ \-> QUEUED \-> LINGER
 *                  \-> TLS -> TALK, where the client begins with it
 *     and from each of them -> CLOSED
 *
 * session.c has the table of these moves, and what ends with a phase: the question about the
 * client, the one that the server has asked, the place among those that wait for a worker.
 *
 * Closing: session_end() closes the descriptor and everything that could call back, but the slot
 * is in use until the loop has let go of all handles; the last to close gives it back. Between
 * them nothing touches the session: its phase is SESSION_CLOSED, and code that might do so checks
 * it.
 */

#include "integration/mail/base/edge/edge_parts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Another phase, one that may follow; what belongs to the last one alone ends with it. */
void session_enter(struct session *session, enum session_phase phase);

/* fd, which does not block, is handed over. There is a free slot. */
void session_open(struct edge *edge, int fd, const struct sockaddr *peer, bool begins_with_tls);

/* For good, at once; end is a word for the log. What was not sent is lost. */
void session_end(struct session *session, const char *end);
/* A worker has it: the descriptor is closed here, and no line is written. */
void session_part(struct session *session);
/* The same for a TLS session, whose worker has the other end of worker_fd, which is handed over. */
void session_relay(struct session *session, int worker_fd);
/*
 * As session_part(), but it is counted for its network until the pipe ends that hold_fd reads,
 * which is handed over. Its slot is in use as long.
 */
void session_hold(struct session *session, int hold_fd);
/* Lets go of all that are held: whichever worker has them, none is counted any more. */
void session_forget_held(struct edge *edge);
/* Of workers that have ended, whose clients do not take the rest. */
void session_end_relays(struct edge *edge);

/* Is counted for no network any more: it names other clients, before facts.client_ip is theirs. */
void session_leave_limits(struct session *session);

/* Sends what is to be said, and does what is next; to the end of every event. */
void session_settle(struct session *session);
/* Says refusal and ends the session when that is sent; at once where nothing can be said. */
void session_refuse(struct session *session, enum edge_refusal refusal, const char *end);

/* ms from now on, but not beyond the time of the whole session. */
void session_set_timer(struct session *session, uint64_t ms);
/* The same, or less when there is stress. */
void session_set_short_timer(struct session *session, uint64_t ms);

/* edge->on_event: of a session's socket. */
void session_on_event(uv_poll_t *poll, int status, int events);
/* All whose time has come. */
void session_run_timers(struct edge *edge);
/* Times and cpu of session->facts, as they are at end_ms of the loop's clock. */
void session_reckon(struct session *session, uint64_t end_ms);
/* The processor's time since the last event was not for a session, or was for this one. */
void session_take_time(struct edge *edge, struct session *session);
/* The same at the end of an event that a server has of its own: the session may have ended. */
void session_take_event_time(struct session *session);

#ifdef __cplusplus
}
#endif
