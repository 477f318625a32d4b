/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/edge/exchange.h"

#include "integration/mail/base/edge/channel.h"
#include "integration/mail/base/edge/session.h"
#include "lib/common/log.h"

/* Between lines about a keyholder that does not sign. */
#define KEY_LOG_PAUSE_MS     10000
#define HANDSHAKE_TIMEOUT_MS 30000

/* ---- commands and replies ---- */

void exchange_delay(struct session *session)
{
	const struct edge *edge = session->edge;
	if (edge->rules->tarpit_ms > 0 && !edge->is_stressed)
		session->is_delayed = true;
}

/* All that have come whole, as far as replies have room. False when there is no more to do. */
static bool take_group(struct session *session)
{
	while (session->next == NEXT_TALK && !session->is_delayed) {
		if (!channel_has_room(session))
			return true;
		if (!session->edge->protocol->take(session))
			return false;
	}
	return false;
}

/* The client gets what it is to be told when it has waited for it. */
static void delay(struct session *session)
{
	channel_hold(session);
	session_enter(session, SESSION_TARPIT);
	channel_watch(session, 0);
	session_set_timer(session, session->edge->rules->tarpit_ms);
}

/* With edge->in loaded; to the end of what has come with it. */
static void go_on(struct session *session)
{
	enum channel_status status = CHANNEL_SOME;
	while (status == CHANNEL_SOME && take_group(session))
		status = channel_flush(session);
	if (status == CHANNEL_BROKEN) {
		session_end(session, "reset");
		return;
	}
	channel_store(session);
	if (session->is_delayed)
		delay(session);
	else
		session_settle(session);
}

/* ---- events ---- */

/* Under TLS more may have come than the socket knows of. */
static bool has_more(const struct session *session)
{
	return session->phase == SESSION_TALK && session->next == NEXT_TALK &&
	       session->out_size == 0 && session->tls != NULL && tls_has_pending(session->tls);
}

void exchange_on_event(struct session *session)
{
	enum channel_status status = CHANNEL_SOME;
	do {
		channel_load(session);
		status = channel_read(session);
		if (status == CHANNEL_BROKEN) {
			session_end(session, "reset");
			return;
		}
		session->is_ended = status == CHANNEL_ENDED;
		go_on(session);
	} while (status == CHANNEL_SOME && has_more(session));
}

void exchange_go_on(struct session *session)
{
	go_on(session);
	if (has_more(session))
		exchange_on_event(session);
}

void exchange_resume(struct session *session)
{
	session_enter(session, SESSION_TALK);
	channel_load(session);
	exchange_go_on(session);
}

static void greet(struct session *session)
{
	session_enter(session, SESSION_TALK);
	session->banner_ms = session_now(session);
	session->since_ms = session->banner_ms;
	channel_load(session);
	session->edge->protocol->greet(session);
	exchange_go_on(session);
}

void exchange_begin(struct session *session)
{
	if (session->begins_with_tls)
		exchange_begin_handshake(session);
	else
		greet(session);
}

/* ---- another's word ---- */

void exchange_wait(struct session *session, uint64_t ms)
{
	session_enter(session, SESSION_ASKED);
	channel_watch(session, 0);
	session_set_timer(session, ms);
}

void exchange_take_up(struct session *session)
{
	session_enter(session, SESSION_TALK);
	session->next = NEXT_TALK;
	session->since_ms = session_now(session);
	channel_load(session);
}

void exchange_on_verdict(struct session *session)
{
	exchange_take_up(session);
	session->edge->protocol->on_verdict(session);
	exchange_go_on(session);
}

/* ---- TLS ---- */

void exchange_begin_handshake(struct session *session)
{
	if (tls_new(session->edge->tls_context, session->fd, &session->tls) != 0) {
		session_end(session, "resources");
		return;
	}
	session_enter(session, SESSION_TLS);
	session_set_short_timer(session, HANDSHAKE_TIMEOUT_MS);
	channel_watch(session, UV_READABLE);
}

/* The same happens to all that come meanwhile: one line tells of them. */
static void log_keyholder(const struct session *session, const char *id)
{
	struct edge *edge = session->edge;
	if (edge->key_logged_ms > 0 &&
	    session_now(session) < edge->key_logged_ms + KEY_LOG_PAUSE_MS)
		return;
	edge->key_logged_ms = session_now(session);
	log_error(id, "handshake not signed, edge=%u count=%llu (%s)", edge->child->index,
		  (unsigned long long)tls_count_failed(edge->tls_context),
		  tls_reason(session->tls, TLS_EKEY));
}

/* A client fails at will: only a debug line says why. A failure of our keys is our matter. */
static void fail_handshake(struct session *session, int status)
{
	char id[SESSION_ID_SIZE];
	session_count(session, EDGE_TLS_FAILED);
	session_facts_format_id(session->facts.id, id);
	if (status == TLS_EKEY)
		log_keyholder(session, id);
	else
		log_debug(id, "handshake failed (%s)", tls_reason(session->tls, status));
	session_end(session, "tls-failed");
}

void exchange_on_handshake(struct session *session)
{
	const struct edge_protocol *protocol = session->edge->protocol;
	int ret = tls_handshake(session->tls);
	if (ret == TLS_WANT_READ || ret == TLS_WANT_WRITE) {
		channel_watch(session, ret == TLS_WANT_READ ? UV_READABLE : UV_WRITABLE);
		return;
	}
	if (ret != 0) {
		fail_handshake(session, ret);
		return;
	}
	session_count(session, EDGE_TLS_BEGUN);
	if (protocol->on_tls != NULL)
		protocol->on_tls(session);
	if (session->banner_ms == 0) {
		greet(session);
		return;
	}
	session->next = NEXT_TALK;
	session->since_ms = session_now(session);
	exchange_resume(session);
}
