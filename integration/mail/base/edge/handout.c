/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/edge/handout.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <unistd.h>

#include "integration/mail/base/edge/channel.h"
#include "integration/mail/base/edge/session.h"
#include "integration/mail/base/handover/seal.h"
#include "lib/common/log.h"
#include "lib/process/clock.h"

/* ---- for the capsule ---- */

struct session_facts handout_facts(struct session *session)
{
	session_take_time(session->edge, session);
	session_reckon(session, session->trusted_ms);
	struct session_facts facts = session->facts;
	facts.bytes_in -= session->in_size;
	return facts;
}

uint64_t handout_queued_at_us(const struct session *session)
{
	return session->phase == SESSION_QUEUED ? session->trusted_ms * 1000 : clock_now_us();
}

/* ---- sending ---- */

/* The relay tells when its worker has ended. */
static int send_tls(struct session *session)
{
	int ends[2] = { -1, -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
		return -errno;
	const struct handover_fds fds = { .connection = ends[1], .hold = -1 };
	int ret = session->edge->protocol->hand_over(session, &fds);
	close(ends[1]);
	if (ret != 0) {
		close(ends[0]);
		return ret;
	}
	session_count(session, EDGE_HANDED_OVER);
	session_relay(session, ends[0]);
	return 0;
}

static int send_clear(struct session *session)
{
	int ends[2] = { -1, -1 };
	if (session->is_held && pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return -errno;
	const struct handover_fds fds = { .connection = session->fd, .hold = ends[1] };
	int ret = session->edge->protocol->hand_over(session, &fds);
	if (ends[1] >= 0)
		close(ends[1]);
	if (ret != 0) {
		if (ends[0] >= 0)
			close(ends[0]);
		return ret;
	}
	session_count(session, EDGE_HANDED_OVER);
	if (ends[0] >= 0)
		session_hold(session, ends[0]);
	else
		session_part(session);
	return 0;
}

/* The queue says when it has room; what the system lacks is tried again with the next tick. */
static bool is_for_now(struct edge *edge, int ret)
{
	edge->is_queue_full = ret == -EAGAIN;
	edge->is_blocked = ret == -EAGAIN || ret == -ETOOMANYREFS || ret == -ENOBUFS ||
			   ret == -ENOMEM || ret == -EMFILE || ret == -ENFILE;
	return edge->is_blocked;
}

/* Is it one of those that its network may have so many of? While an edge drains none is. */
static bool has_limit(const struct session *session)
{
	const struct edge *edge = session->edge;
	return session->is_counted && edge->counts_held && !edge->is_draining;
}

/* False: its network has as many workers as it may have. */
static bool take_share(struct session *session)
{
	if (!has_limit(session))
		return true;
	session->is_held = limits_hold(session->edge->limits, &session->facts.client_ip);
	return session->is_held;
}

static bool has_share(const struct session *session)
{
	return !has_limit(session) ||
	       limits_may_hold(session->edge->limits, &session->facts.client_ip);
}

/*
 * A session goes into the queue when there is a worker for it: only here can it be told that it
 * has waited too long. Those on their way are reckoned with, as more than they are.
 */
static bool has_worker(const struct edge *edge)
{
	/* In this order: a worker takes its mark away before it takes what is in the queue. */
	const size_t used = handover_used(edge->child->queue_fd);
	const size_t idle_count = scoreboard_count(edge->child->scoreboard, SCOREBOARD_IDLE);
	return used < idle_count * edge->protocol->message_least;
}

/* Before a worker has it, which says whether there was a mail. */
static void propose(const struct session *session)
{
	const bool is_listed =
		session->facts.has_verdict && session->facts.verdict == DNSBLV6_LISTED;
	if (session->has_paused && !is_listed)
		passed_propose(session->edge->child->passed, &session->facts.client_ip,
			       session_now(session));
}

/* True when the session is no longer ours to wait with. */
static bool try_to_part(struct session *session)
{
	struct edge *edge = session->edge;
	session->lacks_share = !take_share(session);
	if (session->lacks_share)
		return false;
	propose(session);
	int ret = session->tls != NULL ? send_tls(session) : send_clear(session);
	if (ret == 0)
		return true;
	if (session->is_held)
		limits_release(edge->limits, &session->facts.client_ip);
	session->is_held = false;
	if (is_for_now(edge, ret))
		return false;
	log_error(edge->protocol->context, "session not handed over, edge=%u (%s)",
		  edge->child->index, seal_strerror(ret));
	session_refuse(session, EDGE_BUSY, "error");
	return true;
}

/* The same, if there is a worker, in this edge's turn: another would see the same worker idle. */
static bool try_in_turn(struct session *session)
{
	const struct edge *edge = session->edge;
	struct scoreboard *scoreboard = edge->child->scoreboard;
	if (!scoreboard_take_turn(scoreboard, edge->child->process))
		return false;
	const bool is_gone = has_worker(edge) && try_to_part(session);
	scoreboard_end_turn(scoreboard, edge->child->process);
	return is_gone;
}

/* ---- sessions that wait ---- */

static void queue_on_event(uv_poll_t *poll, int status, int events)
{
	struct edge *edge = poll->data;
	(void)status;
	(void)events;
	session_take_time(edge, NULL);
	handover_hear(edge->child->queue_fd);
	handout_drain(edge);
}

/* For the call of a worker, and for room where that is what is lacking. */
static void watch_queue(struct edge *edge)
{
	int events = TAILQ_EMPTY(&edge->waiting) ? 0 : UV_READABLE;
	if (events != 0 && edge->is_queue_full)
		events |= UV_WRITABLE;
	if (events == edge->queue_watched)
		return;
	edge->queue_watched = events;
	if (events != 0)
		uv_poll_start(&edge->queue, events, queue_on_event);
	else
		uv_poll_stop(&edge->queue);
}

/* With an idle worker it is something else that a session waits for, and no matter of workers. */
static void mark_waiting(struct edge *edge, bool is_waiting)
{
	struct scoreboard *scoreboard = edge->child->scoreboard;
	scoreboard_set(scoreboard, SCOREBOARD_WAITING, edge->child->process,
		       is_waiting && scoreboard_count(scoreboard, SCOREBOARD_IDLE) == 0);
}

void handout_leave(struct session *session)
{
	struct edge *edge = session->edge;
	TAILQ_REMOVE(&edge->waiting, session, waiting);
	edge->protocol->set(edge, EDGE_PARKED, --edge->waiting_count);
	if (edge->waiting_count == 0)
		mark_waiting(edge, false);
	watch_queue(edge);
}

/*
 * Of those whose network may have another worker one of the network that has fewest, and among
 * these the one that has waited longest: a network with many sessions does not keep others waiting
 * behind all of them. NULL: there is none.
 */
static struct session *choose(struct edge *edge)
{
	struct session *session = NULL;
	struct session *best = NULL;
	unsigned least = UINT_MAX;
	TAILQ_FOREACH(session, &edge->waiting, waiting)
	{
		session->lacks_share = !has_share(session);
		const unsigned held_count =
			has_limit(session) ? limits_held(edge->limits, &session->facts.client_ip)
					   : 0;
		if (session->lacks_share || held_count >= least)
			continue;
		best = session;
		least = held_count;
		if (least == 0)
			break;
	}
	return best;
}

void handout_drain(struct edge *edge)
{
	struct session *session = NULL;
	/* What was lacking before may be there by now. */
	edge->is_queue_full = edge->is_blocked = false;
	/* Each that is sent leaves the list with its end. */
	do
		session = choose(edge);
	while (session != NULL && try_in_turn(session));
	mark_waiting(edge, session != NULL);
	watch_queue(edge);
}

static void put_off(struct session *session)
{
	bool is_share = session->lacks_share;
	session_count(session, is_share ? EDGE_SHARE_REFUSED : EDGE_QUEUE_REFUSED);
	if (is_share)
		session_refuse(session, EDGE_LIMITED, "limited");
	else
		session_refuse(session, EDGE_BUSY, "busy");
}

/* There is a worker for it, which others on their way may have taken for theirs. */
static bool is_next(const struct session *session)
{
	const struct edge *edge = session->edge;
	return !session->lacks_share && !edge->is_blocked &&
	       scoreboard_count(edge->child->scoreboard, SCOREBOARD_IDLE) > 0;
}

static void wait_for_worker(struct session *session)
{
	struct edge *edge = session->edge;
	session_count(session, session->lacks_share ? EDGE_SHARE_FULL : EDGE_QUEUE_FULL);
	if (edge->rules->refuses_at_capacity && !is_next(session)) {
		put_off(session);
		return;
	}
	session_enter(session, SESSION_QUEUED);
	channel_watch(session, 0);
	session_set_timer(session, edge->rules->queue_timeout_ms);
	TAILQ_INSERT_TAIL(&edge->waiting, session, waiting);
	edge->protocol->set(edge, EDGE_PARKED, ++edge->waiting_count);
	mark_waiting(edge, true);
	watch_queue(edge);
}

void handout_join(struct session *session)
{
	struct edge *edge = session->edge;
	/* Bytes that were read cannot be given to an unmodified smtpd. */
	if (session->banner_ms == 0 && session->in_size > 0) {
		session_refuse(session, EDGE_EARLY_INPUT, "early");
		return;
	}
	if (session->trusted_ms == 0)
		session->trusted_ms = session_now(session);
	session->lacks_share = !has_share(session);
	/* None overtakes another that waits for the same. */
	bool is_first = TAILQ_EMPTY(&edge->waiting) || choose(edge) == NULL;
	if (!is_first || session->lacks_share || !try_in_turn(session))
		wait_for_worker(session);
}

void handout_on_timer(struct session *session)
{
	put_off(session);
}
