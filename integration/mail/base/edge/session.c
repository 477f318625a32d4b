/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/edge/session.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "integration/mail/base/edge/channel.h"
#include "integration/mail/base/edge/edge_log.h"
#include "integration/mail/base/edge/exchange.h"
#include "integration/mail/base/edge/greeting.h"
#include "integration/mail/base/edge/handout.h"
#include "lib/process/clock.h"

/* For a client to take our last words, and to say its own. */
#define LINGER_MS	 1000
#define LINGER_BYTES_MAX 65536
/* For replies that a client does not take. */
#define STUCK_MS 30000
/* Beyond all timeouts of a worker: for one that is stopped, or a queue that no worker reads. */
#define RELAY_MORE_MS 60000
/* Twelve digits. */
#define ID_MASK UINT64_C(0xffffffffffff)
/* Stress is over when there are so many per cent of sessions less. */
#define STRESS_STEP 10

/* ---- phases ---- */

#define TO(phase) (1U << SESSION_##phase)

static const struct phase {
	unsigned next;	/* phases that may follow */
	bool has_timer; /* else none runs on into it */
} phases[SESSION_PHASE_COUNT] = {
	[SESSION_PROXY] = { TO(PAUSE) | TO(TALK) | TO(CLOSED), true },
	[SESSION_PAUSE] = { TO(TALK) | TO(TLS) | TO(QUEUED) | TO(HELD) | TO(CLOSED), true },
	[SESSION_TALK] = { TO(TALK) | TO(PAUSE) | TO(ASKED) | TO(TLS) | TO(TARPIT) | TO(QUEUED) |
				   TO(RELAYED) | TO(HELD) | TO(LINGER) | TO(CLOSED),
			   true },
	[SESSION_ASKED] = { TO(TALK) | TO(CLOSED), true },
	[SESSION_TLS] = { TO(TALK) | TO(CLOSED), true },
	[SESSION_TARPIT] = { TO(TALK) | TO(CLOSED), true },
	[SESSION_QUEUED] = { TO(TALK) | TO(RELAYED) | TO(HELD) | TO(CLOSED), true },
	[SESSION_RELAYED] = { TO(CLOSED), false },
	[SESSION_HELD] = { TO(CLOSED), false },
	[SESSION_LINGER] = { TO(CLOSED), true },
	[SESSION_CLOSED] = { 0, false },
};

/* What is open in this phase and in no other. */
static void leave_phase(struct session *session)
{
	switch (session->phase) {
	case SESSION_PAUSE:
		greeting_cancel(session);
		break;
	case SESSION_ASKED:
		session->edge->protocol->cancel(session);
		break;
	case SESSION_QUEUED:
		handout_leave(session);
		break;
	default:
		break;
	}
}

void session_enter(struct session *session, enum session_phase phase)
{
	assert((phases[session->phase].next >> phase & 1) != 0);
	leave_phase(session);
	session->phase = phase;
	if (!phases[phase].has_timer)
		wheel_clear(&session->timer);
}

/* ---- the processor's time ---- */

void session_take_time(struct edge *edge, struct session *session)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	uint64_t now_ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
	if (session != NULL)
		session->cpu_ns += now_ns - edge->cpu_ns;
	edge->cpu_ns = now_ns;
}

void session_take_event_time(struct session *session)
{
	session_take_time(session->edge, session->phase == SESSION_CLOSED ? NULL : session);
}

/* ---- times ---- */

void session_set_timer(struct session *session, uint64_t ms)
{
	const struct edge_rules *rules = session->edge->rules;
	uint64_t due_ms = session_now(session) + ms;
	uint64_t end_ms = session->accepted_ms + rules->session_timeout_ms;
	if (rules->session_timeout_ms > 0 && due_ms > end_ms)
		due_ms = end_ms;
	wheel_set(&session->edge->wheel, &session->timer, due_ms);
}

void session_set_short_timer(struct session *session, uint64_t ms)
{
	uint64_t stress_ms = session->edge->rules->stress_timeout_ms;
	session_set_timer(session, session->edge->is_stressed && stress_ms < ms ? stress_ms : ms);
}

/*
 * For the next command: from when the last was over, short when there is stress. Not from when the last
 * byte came: that would let a byte a minute wait for ever.
 */
static void set_command_timer(struct session *session)
{
	const struct edge_rules *rules = session->edge->rules;
	uint64_t timeout_ms =
		session->edge->is_stressed ? rules->stress_timeout_ms : rules->command_timeout_ms;
	uint64_t passed_ms = session_now(session) - session->since_ms;
	session_set_timer(session, passed_ms < timeout_ms ? timeout_ms - passed_ms : 1);
}

static void hurry(struct session *session)
{
	if (session->phase == SESSION_TALK && session->out_size == 0)
		set_command_timer(session);
	else if (session->phase == SESSION_TALK || session->phase == SESSION_TLS)
		session_set_short_timer(session, STUCK_MS);
}

/* A session that waits already is as short of time as one that comes. */
static void look_for_stress(struct edge *edge)
{
	unsigned share = edge->rules->stress_share;
	uint64_t used = (uint64_t)edge->session_count * 100;
	bool was_stressed = edge->is_stressed;
	unsigned border = was_stressed && share > STRESS_STEP ? share - STRESS_STEP : share;
	edge->is_stressed = share > 0 && used >= (uint64_t)border * edge->session_max;
	if (was_stressed || !edge->is_stressed)
		return;
	struct session *session = NULL;
	TAILQ_FOREACH(session, &edge->sessions, link)
	hurry(session);
}

/* ---- the line of the log ---- */

static uint64_t between(uint64_t from_ms, uint64_t to_ms)
{
	return from_ms > 0 && to_ms > from_ms ? to_ms - from_ms : 0;
}

void session_reckon(struct session *session, uint64_t end_ms)
{
	struct session_facts *facts = &session->facts;
	uint64_t banner_ms = session->banner_ms > 0 ? session->banner_ms : end_ms;
	facts->waited_ms = between(session->accepted_ms, banner_ms);
	facts->dns_ms = between(session->accepted_ms, session->verdict_ms);
	facts->dialogue_ms =
		between(session->banner_ms, session->trusted_ms > 0 ? session->trusted_ms : end_ms);
	facts->edge_cpu_us = session->cpu_ns / 1000;
}

static void log_end(struct session *session, const char *end)
{
	session_reckon(session, session_now(session));
	session->edge->protocol->log_end(session, end);
}

static void count_end(struct session *session)
{
	if (session->is_flood)
		return;
	/* One that has proved something has waited for a worker, and is counted there. */
	if (session->trusted_ms > 0)
		return;
	session_count(session, session->facts.refused_count > 0 ? EDGE_ENDED_BOUNCED
								: EDGE_ENDED_UNFINISHED);
}

/* ---- an end ---- */

/* The one place that gives slots back. */
static void release(struct session *session)
{
	assert(session->handle_count > 0);
	if (--session->handle_count > 0)
		return;
	assert(session->phase == SESSION_CLOSED);
	arena_give_back(session->edge->arena, session);
}

/* Of poll, and of a hold. */
static void poll_on_close(uv_handle_t *handle)
{
	release(handle->data);
}

void session_leave_limits(struct session *session)
{
	if (session->is_counted)
		limits_leave(session->edge->limits, &session->facts.client_ip);
	session->is_counted = false;
}

/* It is no session any more but for its slot. */
static void leave(struct session *session)
{
	struct edge *edge = session->edge;
	session_enter(session, SESSION_CLOSED);
	if (session->is_held)
		limits_release(edge->limits, &session->facts.client_ip);
	session_leave_limits(session);
	TAILQ_REMOVE(&edge->sessions, session, link);
	edge->session_count--;
	edge->protocol->set(edge, EDGE_SESSIONS, edge->session_count);
	look_for_stress(edge);
	if (edge->is_draining && edge->session_count == 0)
		uv_stop(&edge->loop);
}

void session_part(struct session *session)
{
	/* Also to one that has ended first; what the socket does not take at once stays unsaid. */
	if (session->tls != NULL)
		tls_close(session->tls);
	tls_free(session->tls);
	session->tls = NULL;
	/* libuv takes the descriptor out of its set at once: it may be closed behind this. */
	uv_close((uv_handle_t *)&session->poll, poll_on_close);
	close(session->fd);
	leave(session);
}

void session_end(struct session *session, const char *end)
{
	if (session->phase == SESSION_CLOSED)
		return;
	session_take_time(session->edge, session);
	count_end(session);
	if (!session->is_flood || edge_log_takes_flood(session->edge))
		log_end(session, end);
	session_part(session);
}

/* ---- under TLS, with a worker ---- */

static void relay_on_done(struct relay *relay, int status)
{
	struct session *session = relay->context;
	struct edge *edge = session->edge;
	(void)status; /* what has happened is in the worker's line */
	edge->protocol->set(edge, EDGE_RELAYED, --edge->relayed_count);
	leave(session);
	release(session);
	handout_drain(edge);
}

void session_relay(struct session *session, int worker_fd)
{
	struct edge *edge = session->edge;
	struct relay_start start = {
		.loop = &edge->loop,
		.tls = session->tls,
		.client_fd = session->fd,
		.worker_fd = worker_fd,
		.idle_ms = edge->rules->worker_silence_ms + RELAY_MORE_MS,
		.done = relay_on_done,
		.context = session,
	};
	/* The relay has a handle of its own for the same descriptor. */
	uv_close((uv_handle_t *)&session->poll, poll_on_close);
	session_enter(session, SESSION_RELAYED);
	session->handle_count++;
	relay_begin(&session_far(session)->relay, &start);
	session->tls = NULL;
	session->fd = -1;
	edge->protocol->set(edge, EDGE_RELAYED, ++edge->relayed_count);
}

void session_end_relays(struct edge *edge)
{
	struct session *session = NULL;
	TAILQ_FOREACH(session, &edge->sessions, link)
	{
		if (session->phase == SESSION_RELAYED)
			relay_end(&session_far(session)->relay);
	}
}

/* ---- in the clear, with a worker ---- */

static void let_go(struct session *session)
{
	struct edge *edge = session->edge;
	struct session_hold *hold = &session_far(session)->hold;
	uv_close((uv_handle_t *)&hold->poll, poll_on_close);
	close(hold->fd);
	edge->protocol->set(edge, EDGE_HELD, --edge->held_count);
	leave(session);
}

/* Nothing comes by that pipe but its end; whatever else did would mean nothing to us. */
static void hold_on_event(uv_poll_t *poll, int status, int events)
{
	struct session *session = poll->data;
	struct edge *edge = session->edge;
	(void)status;
	(void)events;
	session_take_time(edge, NULL);
	let_go(session);
	/* Another of its network may be waiting for that. */
	handout_drain(edge);
}

void session_hold(struct session *session, int hold_fd)
{
	struct edge *edge = session->edge;
	struct session_hold *hold = &session_far(session)->hold;
	/* What is not counted for once is no reason to keep a client waiting. */
	if (edge->is_draining || uv_poll_init(&edge->loop, &hold->poll, hold_fd) != 0) {
		close(hold_fd);
		session_part(session);
		return;
	}
	session_enter(session, SESSION_HELD);
	session->handle_count++;
	uv_close((uv_handle_t *)&session->poll, poll_on_close);
	close(session->fd);
	session->fd = -1;
	hold->fd = hold_fd;
	hold->poll.data = session;
	uv_poll_start(&hold->poll, UV_READABLE, hold_on_event);
	edge->protocol->set(edge, EDGE_HELD, ++edge->held_count);
}

void session_forget_held(struct edge *edge)
{
	struct session *next = NULL;
	for (struct session *session = TAILQ_FIRST(&edge->sessions); session != NULL;
	     session = next) {
		next = TAILQ_NEXT(session, link);
		if (session->phase == SESSION_HELD)
			let_go(session);
	}
}

/* ---- what is next ---- */

static void linger(struct session *session)
{
	if (session->is_ended || session->edge->is_stressed) {
		session_end(session, session->end);
		return;
	}
	if (session->tls != NULL)
		tls_close(session->tls);
	/* A close with bytes that were not read would take our last reply from the client. */
	shutdown(session->fd, SHUT_WR);
	session_enter(session, SESSION_LINGER);
	session->skip_count = 0;
	session_set_timer(session, LINGER_MS);
	channel_watch(session, UV_READABLE);
}

static void on_linger(struct session *session)
{
	uint8_t *bytes = session->edge->in;
	ssize_t got = recv(session->fd, bytes, EDGE_IN_SIZE, MSG_DONTWAIT);
	if (got > 0)
		session->skip_count += (uint64_t)got;
	if (got == 0 || session->skip_count > LINGER_BYTES_MAX)
		session_end(session, session->end);
}

static void do_next(struct session *session)
{
	switch (session->next) {
	case NEXT_TALK:
		if (session->is_ended) {
			session_end(session, "hangup");
			return;
		}
		set_command_timer(session);
		channel_watch(session, UV_READABLE | (session->tls != NULL ? session->want : 0));
		return;
	case NEXT_TLS:
		exchange_begin_handshake(session);
		return;
	case NEXT_ASK:
		session->edge->protocol->ask(session);
		return;
	case NEXT_JUDGE:
		greeting_judge_again(session);
		return;
	case NEXT_QUEUE:
		handout_join(session);
		return;
	case NEXT_LINGER:
		linger(session);
		return;
	case NEXT_CLOSE:
		session_end(session, session->end);
		return;
	}
}

void session_settle(struct session *session)
{
	if (session->phase == SESSION_CLOSED)
		return;
	enum channel_status status = channel_flush(session);
	if (status == CHANNEL_SOME) {
		do_next(session);
	} else if (status == CHANNEL_NOTHING) {
		session_enter(session, SESSION_TALK);
		session_set_short_timer(session, STUCK_MS);
		channel_watch(session, session->want);
	} else {
		session_end(session, "reset");
	}
}

/* A word in the clear would be none to a client that begins with the handshake. */
static bool can_hear(const struct session *session)
{
	/* Replies that it does not take are not to be cut by another. */
	return session->out_size == 0 && (!session->begins_with_tls || session->tls != NULL);
}

void session_refuse(struct session *session, enum edge_refusal refusal, const char *end)
{
	struct edge *edge = session->edge;
	char text[EDGE_REPLY_MAX];
	edge->out_size = 0;
	/* The tarpit ends here, and not with it the reply that waits there. */
	if (session->phase == SESSION_TARPIT)
		(void)channel_flush(session);
	if (!can_hear(session)) {
		session_end(session, end);
		return;
	}
	channel_say(session, text, edge->protocol->refuse(edge, session, refusal, text));
	session_enter(session, SESSION_TALK);
	session->end = end;
	session->next = NEXT_LINGER;
	session_settle(session);
}

/* ---- events ---- */

/* The client takes what it did not take before. */
static void on_writable(struct session *session)
{
	session->edge->out_size = 0;
	enum channel_status status = channel_flush(session);
	if (status == CHANNEL_NOTHING)
		channel_watch(session, session->want);
	else if (status == CHANNEL_BROKEN)
		session_end(session, "reset");
	else if (session->next == NEXT_TALK)
		exchange_resume(session);
	else
		do_next(session);
}

static void dispatch(struct session *session)
{
	switch (session->phase) {
	case SESSION_PROXY:
	case SESSION_PAUSE:
		greeting_on_event(session);
		return;
	case SESSION_TALK:
		if (session->out_size > 0)
			on_writable(session);
		else
			exchange_on_event(session);
		return;
	case SESSION_TLS:
		exchange_on_handshake(session);
		return;
	case SESSION_LINGER:
		on_linger(session);
		return;
	default: /* the others watch nothing */
		return;
	}
}

void session_on_event(uv_poll_t *poll, int status, int events)
{
	struct session *session = poll->data;
	struct edge *edge = session->edge;
	(void)events;
	batching_count(&edge->batching);
	if (status < 0)
		session_end(session, session->phase == SESSION_LINGER ? session->end : "reset");
	else
		dispatch(session);
	session_take_event_time(session);
}

static void on_timer(struct session *session)
{
	const bool is_tls = session->phase == SESSION_TLS;
	if (is_tls || session->phase == SESSION_TALK)
		session_count(session, EDGE_TIMEOUT);
	if (is_tls)
		session_count(session, EDGE_TLS_FAILED);
	switch (session->phase) {
	case SESSION_PROXY:
	case SESSION_PAUSE:
		greeting_on_timer(session);
		return;
	case SESSION_TALK:
		session_refuse(session, EDGE_TIMED_OUT, "timeout");
		return;
	case SESSION_ASKED:
		/* It was not the client that kept us waiting. */
		session_refuse(session, EDGE_BUSY, "unanswered");
		return;
	case SESSION_TARPIT:
		session_enter(session, SESSION_TALK);
		session->is_delayed = false;
		session->since_ms = session_now(session); /* the wait was not the client's */
		/* Or it would have none as long as the client takes nothing. */
		session_set_short_timer(session, STUCK_MS);
		on_writable(session);
		return;
	case SESSION_QUEUED:
		handout_on_timer(session);
		return;
	case SESSION_LINGER:
		session_end(session, session->end);
		return;
	default:
		session_end(session, "timeout");
		return;
	}
}

void session_run_timers(struct edge *edge)
{
	struct wheel_entry *entry = NULL;
	while ((entry = wheel_take(&edge->wheel, uv_now(&edge->loop))) != NULL) {
		struct session *session =
			(struct session *)(void *)((char *)entry - offsetof(struct session, timer));
		on_timer(session);
		session_take_event_time(session);
	}
}

/* ---- a beginning ---- */

static uint16_t port_of(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
	return ntohs(((const struct sockaddr_in6 *)(const void *)address)->sin6_port);
}

static void take_addresses(struct session *session, const struct sockaddr *peer)
{
	struct sockaddr_storage local = { .ss_family = AF_UNSPEC };
	socklen_t size = sizeof(local);
	if (dnsblv6_ip_from_sockaddr(peer, &session->facts.client_ip) == 0)
		session->facts.client_port = port_of(peer);
	if (getsockname(session->fd, (struct sockaddr *)&local, &size) == 0 &&
	    dnsblv6_ip_from_sockaddr((struct sockaddr *)&local, &session->facts.local_ip) == 0)
		session->facts.local_port = port_of((struct sockaddr *)&local);
}

void session_open(struct edge *edge, int fd, const struct sockaddr *peer, bool begins_with_tls)
{
	struct session *session = arena_take(edge->arena);
	int on = 1;
	memset(session, 0, edge->protocol->near_size);
	session->edge = edge;
	session->fd = fd;
	session->facts.id = edge->next_id++ & ID_MASK;
	session->facts.accepted_at_ms = (int64_t)(clock_wall_us() / 1000);
	session->accepted_ms = uv_now(&edge->loop);
	session->since_ms = session->accepted_ms;
	session->end = "";
	session->begins_with_tls = begins_with_tls;
	if (edge->protocol->open != NULL)
		edge->protocol->open(session);
	if (uv_poll_init(&edge->loop, &session->poll, fd) != 0) {
		arena_give_back(edge->arena, session);
		close(fd);
		return;
	}
	session->poll.data = session;
	session->handle_count = 1;
	/* Replies are as large as they get when they are sent. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	take_addresses(session, peer);
	TAILQ_INSERT_TAIL(&edge->sessions, session, link);
	edge->session_count++;
	edge->protocol->set(edge, EDGE_SESSIONS, edge->session_count);
	look_for_stress(edge);
	edge->out_size = 0;
	greeting_begin(session);
	session_take_event_time(session);
}
