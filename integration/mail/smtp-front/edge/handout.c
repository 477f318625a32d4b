/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/edge/handout.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "integration/mail/smtp-front/edge/channel.h"
#include "integration/mail/smtp-front/edge/session.h"
#include "lib/common/log.h"
#include "lib/process/clock.h"

static const char context[] = "smtp-front";

/* What the kernel takes for the shortest message: a capsule and its own book-keeping. */
#define MESSAGE_LEAST 1280

/* ---- the capsule ---- */

static void fill_verdict(const struct session *session, struct capsule *capsule)
{
	const struct judgement *judgement = &session_far(session)->kept.judgement;
	capsule->zones[0] = '\0';
	capsule->header[0] = '\0';
	if (!session->has_judgement)
		return;
	memcpy(capsule->zones, judgement->zones, sizeof(capsule->zones));
	if (session->facts.action == JUDGE_PREPEND)
		memcpy(capsule->header, judgement->header, sizeof(capsule->header));
}

static void fill_tls(const struct session *session, struct capsule *capsule)
{
	struct tls_facts facts = { .protocol = "", .cipher = "", .sni = "" };
	if (session->tls != NULL)
		tls_facts(session->tls, &facts);
	snprintf(capsule->tls_protocol, sizeof(capsule->tls_protocol), "%s", facts.protocol);
	snprintf(capsule->tls_cipher, sizeof(capsule->tls_cipher), "%s", facts.cipher);
	snprintf(capsule->tls_sni, sizeof(capsule->tls_sni), "%s", facts.sni);
}

static void fill(struct session *session, struct capsule *capsule)
{
	const struct session_kept *kept = &session_far(session)->kept;
	session_take_time(session->edge, session);
	capsule->kind = session->banner_ms > 0 ? CAPSULE_TRUSTED : CAPSULE_CONNECTED;
	session_reckon(session, session->trusted_ms);
	capsule->facts = session->facts;
	capsule->facts.bytes_in -= session->in_size;
	/* One that waits in our own list is not made young by another try. */
	capsule->queued_at_us =
		session->phase == SESSION_QUEUED ? session->trusted_ms * 1000 : clock_now_us();
	capsule->dialogue = session->dialogue;
	if (session->banner_ms > 0)
		capsule->recipient = kept->recipient;
	else
		memset(&capsule->recipient, 0, sizeof(capsule->recipient));
	capsule->unread_size = session->in_size;
	memcpy(capsule->unread, kept->in, session->in_size);
	fill_verdict(session, capsule);
	fill_tls(session, capsule);
}

/* ---- sending ---- */

/* The relay tells when its worker has ended. */
static int send_tls(struct session *session)
{
	int ends[2] = { -1, -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
		return -errno;
	const struct handover_fds fds = { .connection = ends[1], .hold = -1 };
	int ret = capsule_send(session->edge->start->queue_fd, &session->edge->capsule, &fds);
	close(ends[1]);
	if (ret != 0) {
		close(ends[0]);
		return ret;
	}
	tally_add(session_tally(session), TALLY_HANDED_OVER, 1);
	session_relay(session, ends[0]);
	return 0;
}

static int send_clear(struct session *session)
{
	int ends[2] = { -1, -1 };
	if (session->is_held && pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return -errno;
	const struct handover_fds fds = { .connection = session->fd, .hold = ends[1] };
	int ret = capsule_send(session->edge->start->queue_fd, &session->edge->capsule, &fds);
	if (ends[1] >= 0)
		close(ends[1]);
	if (ret != 0) {
		if (ends[0] >= 0)
			close(ends[0]);
		return ret;
	}
	tally_add(session_tally(session), TALLY_HANDED_OVER, 1);
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
	const size_t used = handover_used(edge->start->queue_fd);
	return used <
	       (size_t)scoreboard_count(edge->start->scoreboard, SCOREBOARD_IDLE) * MESSAGE_LEAST;
}

/* Before a worker has it, which says whether there was a mail. */
static void propose(const struct session *session)
{
	const bool is_listed =
		session->facts.has_verdict && session->facts.verdict == DNSBLV6_LISTED;
	if (session->has_paused && !is_listed)
		passed_propose(session->edge->start->passed, &session->facts.client_ip,
			       session_now(session));
}

/* True when the session is no longer ours to wait with. */
static bool try_to_part(struct session *session)
{
	struct edge *edge = session->edge;
	session->lacks_share = !take_share(session);
	if (session->lacks_share)
		return false;
	fill(session, &edge->capsule);
	propose(session);
	int ret = session->tls != NULL ? send_tls(session) : send_clear(session);
	if (ret == 0)
		return true;
	if (session->is_held)
		limits_release(edge->limits, &session->facts.client_ip);
	session->is_held = false;
	if (is_for_now(edge, ret))
		return false;
	log_error(context, "session not handed over, edge=%u (%s)", edge->start->index,
		  capsule_strerror(ret));
	session_refuse(session, DIALOGUE_BUSY, "error");
	return true;
}

/* The same, if there is a worker, in this edge's turn: another would see the same worker idle. */
static bool try_in_turn(struct session *session)
{
	const struct edge *edge = session->edge;
	struct scoreboard *scoreboard = edge->start->scoreboard;
	if (!scoreboard_take_turn(scoreboard, edge->start->process))
		return false;
	const bool is_gone = has_worker(edge) && try_to_part(session);
	scoreboard_end_turn(scoreboard, edge->start->process);
	return is_gone;
}

/* ---- sessions that wait ---- */

static void queue_on_event(uv_poll_t *poll, int status, int events)
{
	struct edge *edge = poll->data;
	(void)status;
	(void)events;
	session_take_time(edge, NULL);
	handover_hear(edge->start->queue_fd);
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
	struct scoreboard *scoreboard = edge->start->scoreboard;
	scoreboard_set(scoreboard, SCOREBOARD_WAITING, edge->start->process,
		       is_waiting && scoreboard_count(scoreboard, SCOREBOARD_IDLE) == 0);
}

void handout_leave(struct session *session)
{
	struct edge *edge = session->edge;
	TAILQ_REMOVE(&edge->waiting, session, waiting);
	tally_set(session_tally(session), TALLY_PARKED, --edge->waiting_count);
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
	tally_add(session_tally(session), is_share ? TALLY_SHARE_REFUSED : TALLY_QUEUE_REFUSED, 1);
	if (is_share)
		session_refuse(session, DIALOGUE_LIMITED, "limited");
	else
		session_refuse(session, DIALOGUE_BUSY, "busy");
}

/* There is a worker for it, which others on their way may have taken for theirs. */
static bool is_next(const struct session *session)
{
	const struct edge *edge = session->edge;
	return !session->lacks_share && !edge->is_blocked &&
	       scoreboard_count(edge->start->scoreboard, SCOREBOARD_IDLE) > 0;
}

static void wait_for_worker(struct session *session)
{
	struct edge *edge = session->edge;
	tally_add(session_tally(session),
		  session->lacks_share ? TALLY_SHARE_FULL : TALLY_QUEUE_FULL, 1);
	if (edge->setup->front.at_capacity == SETUP_REFUSE && !is_next(session)) {
		put_off(session);
		return;
	}
	session_enter(session, SESSION_QUEUED);
	channel_watch(session, 0);
	session_set_timer(session, edge->setup->front.queue_timeout_ms);
	TAILQ_INSERT_TAIL(&edge->waiting, session, waiting);
	tally_set(session_tally(session), TALLY_PARKED, ++edge->waiting_count);
	mark_waiting(edge, true);
	watch_queue(edge);
}

void handout_join(struct session *session)
{
	struct edge *edge = session->edge;
	/* Bytes that were read cannot be given to an unmodified smtpd. */
	if (session->banner_ms == 0 && session->in_size > 0) {
		session_refuse(session, DIALOGUE_EARLY_INPUT, "early");
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
