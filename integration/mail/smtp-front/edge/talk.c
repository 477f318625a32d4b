/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/edge/talk.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "integration/mail/smtp-front/facts/account.h"
#include "integration/mail/smtp-front/edge/channel.h"
#include "integration/mail/smtp-front/edge/edge_log.h"
#include "integration/mail/smtp-front/edge/greeting.h"
#include "integration/mail/smtp-front/edge/handout.h"
#include "integration/mail/smtp-front/edge/session.h"
#include "lib/common/log.h"

/* Of a line that is too long, or a chunk that is refused: with more the session ends. */
#define SKIP_MAX 65536
/* Between lines about a keyholder that does not sign. */
#define KEY_LOG_PAUSE_MS     10000
#define HANDSHAKE_TIMEOUT_MS 30000

/* ---- replies ---- */

static void delay_refusal(struct session *session)
{
	const struct edge *edge = session->edge;
	if (edge->setup->limits.tarpit_ms > 0 && !edge->is_stressed)
		session->is_delayed = true;
}

static void say_event(struct session *session)
{
	const struct dialogue_event *event = &session->edge->event;
	channel_say(session, event->reply, event->reply_size);
	if (event->reply_code >= 400)
		delay_refusal(session);
}

static void end_behind(struct session *session, enum session_next next, const char *end)
{
	session->next = next;
	session->end = end;
}

/* ---- recipients ---- */

static void remember(char *ret_path, const char *address)
{
	size_t size = strnlen(address, EDGE_PATH_SIZE - 1);
	memcpy(ret_path, address, size);
	ret_path[size] = '\0';
}

static void note_refusal(struct session *session, const char *recipient, const char *reason)
{
	session->facts.refused_count++;
	edge_log_recipient(session, recipient, reason);
}

static enum dialogue_action refuse_listed(struct session *session)
{
	struct edge *edge = session->edge;
	const struct judgement *judgement = &session_far(session)->kept.judgement;
	bool is_final = session->facts.action == JUDGE_REJECT;
	enum dialogue_action action = DIALOGUE_REPLY;
	char text[JUDGE_CODE_MAX + 1 + JUDGE_TEXT_MAX + 1];
	snprintf(text, sizeof(text), "%s %s", judgement->code, judgement->text);
	action = dialogue_answer(&session->dialogue, session_rules(session), is_final ? 550 : 450,
				 text, &edge->event);
	note_refusal(session, edge->event.recipient.address, "verdict");
	return action;
}

static enum dialogue_action refuse(struct session *session, enum dialogue_refusal refusal,
				   enum tally_number number, const char *reason)
{
	struct dialogue_event *event = &session->edge->event;
	enum dialogue_action action =
		dialogue_refuse(&session->dialogue, session_rules(session), refusal, event);
	tally_add(session_tally(session), number, 1);
	note_refusal(session, event->recipient.address, reason);
	return action;
}

/* The worker says the reply, when it has the session. */
static enum dialogue_action trust(struct session *session)
{
	session->next = NEXT_QUEUE;
	session->trusted_ms = session_now(session);
	return DIALOGUE_RECIPIENT;
}

static enum dialogue_action take_recipient(struct session *session)
{
	struct edge *edge = session->edge;
	const char *address = edge->event.recipient.address;
	remember(session->recipient, address);
	if (session->facts.action == JUDGE_REJECT || session->facts.action == JUDGE_DEFER)
		return refuse_listed(session);
	session_far(session)->kept.recipient = edge->event.recipient;
	if (edge->users == NULL && edge->forward != NULL) {
		session->next = NEXT_ASK;
		return DIALOGUE_RECIPIENT;
	}
	/* With neither, others have it; one that XCLIENT has made pass is here nevertheless. */
	int answer = edge->users != NULL ? users_find(edge->users, address, strlen(address)) : -1;
	if (answer == USERS_VALID)
		return trust(session);
	if (answer == USERS_UNKNOWN)
		return refuse(session, DIALOGUE_NO_SUCH_USER, TALLY_RECIPIENTS_UNKNOWN, "unknown");
	if (answer == USERS_NOT_OURS)
		return refuse(session, DIALOGUE_NOT_OURS, TALLY_RECIPIENTS_RELAY, "not ours");
	return refuse(session, DIALOGUE_TRY_LATER, TALLY_RECIPIENTS_FAILED, "not looked up");
}

/* ---- STARTTLS and XCLIENT ---- */

static enum dialogue_action begin_tls(struct session *session)
{
	struct edge *edge = session->edge;
	const struct dialogue_limits *rules = session_rules(session);
	/* What was said before the handshake must not count as said under TLS. */
	if (edge->in_end > edge->in_start)
		return dialogue_refuse(&session->dialogue, rules, DIALOGUE_EARLY_INPUT,
				       &edge->event);
	if (edge->tls_context == NULL)
		return dialogue_refuse(&session->dialogue, rules, DIALOGUE_NO_TLS, &edge->event);
	session->next = NEXT_TLS;
	return DIALOGUE_REPLY;
}

static bool has(const struct xclient *xclient, enum xclient_attribute attribute)
{
	return (xclient->known >> attribute & 1) != 0;
}

static void take_xclient(struct session *session)
{
	const struct xclient *xclient = &session->edge->event.xclient;
	/* A client that passes others on is not limited itself. */
	if (session->is_counted)
		limits_leave(session->edge->limits, &session->facts.client_ip);
	session->is_counted = false;
	if (has(xclient, XCLIENT_ADDR)) {
		dnsblv6_addr_to_bytes(xclient->client_addr, session->facts.client_ip.bytes);
		session->has_paused = false;
	}
	if (has(xclient, XCLIENT_PORT))
		session->facts.client_port = xclient->client_port;
	if (has(xclient, XCLIENT_DESTADDR))
		dnsblv6_addr_to_bytes(xclient->local_addr, session->facts.local_ip.bytes);
	if (has(xclient, XCLIENT_DESTPORT))
		session->facts.local_port = xclient->local_port;
	session->next = NEXT_JUDGE;
}

/* ---- commands ---- */

/* Questions that are answered here and now. */
static enum dialogue_action answer(struct session *session, enum dialogue_action action)
{
	struct edge *edge = session->edge;
	const struct dialogue_limits *rules = session_rules(session);
	switch (action) {
	case DIALOGUE_MAIL:
		remember(session->sender, edge->event.envelope->sender);
		return dialogue_accept(&session->dialogue, rules, &edge->event);
	case DIALOGUE_RECIPIENT:
		return take_recipient(session);
	case DIALOGUE_STARTTLS:
		return begin_tls(session);
	case DIALOGUE_DATA:
	case DIALOGUE_BDAT:
		/* Not without a recipient, and with one it is a worker's. */
		return dialogue_answer(&session->dialogue, rules, 421, "4.3.0 Internal error",
				       &edge->event);
	default:
		return action;
	}
}

/*
 * RFC 3030, 2: octets of a chunk that is refused are read before that is said. False: it is said
 * now, as there are none, or too many.
 */
static bool begin_swallowing(struct session *session)
{
	const struct dialogue_event *event = &session->edge->event;
	struct session_kept *kept = &session_far(session)->kept;
	if (event->chunk_size > SKIP_MAX)
		end_behind(session, NEXT_LINGER, "error");
	if (event->chunk_size == 0 || event->chunk_size > SKIP_MAX)
		return false;
	assert(event->reply_size <= sizeof(kept->late)); /* one line */
	memcpy(kept->late, event->reply, event->reply_size);
	session->late_size = (uint16_t)event->reply_size;
	session->swallow_size = event->chunk_size;
	return true;
}

/* What there is to do now, when answer() has dealt with all questions. */
static void perform(struct session *session, enum dialogue_action action)
{
	switch (action) {
	case DIALOGUE_RECIPIENT:
		return;
	case DIALOGUE_XCLIENT:
		take_xclient(session);
		return;
	case DIALOGUE_SWALLOW:
		if (begin_swallowing(session))
			return;
		break;
	case DIALOGUE_QUIT:
		end_behind(session, NEXT_CLOSE, "quit");
		break;
	case DIALOGUE_CLOSE:
		tally_add(session_tally(session), TALLY_ERRORS, 1);
		end_behind(session, NEXT_LINGER, "error");
		break;
	default:
		break;
	}
	say_event(session);
}

static void act(struct session *session, enum dialogue_action action)
{
	perform(session, answer(session, action));
}

static bool swallow(struct session *session)
{
	struct edge *edge = session->edge;
	size_t size = edge->in_end - edge->in_start;
	if (size > session->swallow_size)
		size = (size_t)session->swallow_size;
	edge->in_start += size;
	session->swallow_size -= size;
	if (session->swallow_size > 0)
		return false;
	channel_say(session, session_far(session)->kept.late, session->late_size);
	delay_refusal(session);
	return true;
}

static bool skip_line(struct session *session)
{
	struct edge *edge = session->edge;
	size_t used = 0;
	enum lines_status status =
		lines_skip(edge->in + edge->in_start, edge->in_end - edge->in_start,
			   setup_takes_lf(edge->setup, &session->facts.client_ip), &used);
	edge->in_start += used;
	session->skip_count += used;
	if (status != LINES_READY && session->skip_count <= SKIP_MAX)
		return false;
	session->is_skipping = false;
	act(session, dialogue_malformed(&session->dialogue, session_rules(session), LINES_TOO_LONG,
					&edge->event));
	if (status != LINES_READY)
		end_behind(session, NEXT_LINGER, "error");
	return true;
}

/* One command. False when there is no whole one. */
static bool take_command(struct session *session)
{
	struct edge *edge = session->edge;
	const uint8_t *bytes = edge->in + edge->in_start;
	size_t size = edge->in_end - edge->in_start;
	size_t line_size = 0;
	size_t end_size = LINES_END_SIZE;
	if (session->swallow_size > 0)
		return swallow(session);
	if (session->is_skipping)
		return skip_line(session);
	enum lines_status status = lines_take(bytes, size, LINES_COMMAND_MAX, &line_size);
	if (status == LINES_MORE)
		return false;
	if (status == LINES_LONE_LF && setup_takes_lf(edge->setup, &session->facts.client_ip)) {
		status = LINES_READY;
		end_size = LINES_LF_SIZE;
	}
	if (status == LINES_TOO_LONG) {
		session->is_skipping = true;
		session->skip_count = 0;
		return true;
	}
	session->since_ms = session_now(session);
	if (status != LINES_READY) {
		act(session, dialogue_malformed(&session->dialogue, session_rules(session), status,
						&edge->event));
		return true;
	}
	edge->in_start += line_size + end_size;
	enum dialogue_action action = dialogue_step(&session->dialogue, session_rules(session),
						    (const char *)bytes, line_size, &edge->event);
	edge_log_command(session, (const char *)bytes, line_size);
	act(session, action);
	return true;
}

/* All that have come whole, as far as replies have room. False when there is no more to do. */
static bool take_group(struct session *session)
{
	while (session->next == NEXT_TALK && !session->is_delayed) {
		if (!channel_has_room(session))
			return true;
		if (!take_command(session))
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
	session_set_timer(session, session->edge->setup->limits.tarpit_ms);
}

/* With edge->in loaded; to the end of the event. */
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

void talk_on_event(struct session *session)
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

void talk_resume(struct session *session)
{
	session_enter(session, SESSION_TALK);
	channel_load(session);
	go_on(session);
	if (has_more(session))
		talk_on_event(session);
}

void talk_begin(struct session *session)
{
	struct edge *edge = session->edge;
	session_enter(session, SESSION_TALK);
	session->banner_ms = session_now(session);
	session->since_ms = session->banner_ms;
	channel_load(session);
	channel_say(session, edge->event.reply,
		    dialogue_greet(session_rules(session), edge->event.reply));
	go_on(session);
}

void talk_on_verdict(struct session *session)
{
	session_enter(session, SESSION_TALK);
	session->next = NEXT_TALK;
	session->since_ms = session_now(session);
	channel_load(session);
	act(session,
	    dialogue_accept(&session->dialogue, session_rules(session), &session->edge->event));
	go_on(session);
}

/* ---- the next hop's word ---- */

static void take_answer(struct session *session, const struct callforward_answer *answer)
{
	struct edge *edge = session->edge;
	session_enter(session, SESSION_TALK);
	session->next = NEXT_TALK;
	channel_load(session);
	if (answer->code / 100 == 2) {
		perform(session, trust(session));
	} else {
		enum dialogue_action action =
			dialogue_answer(&session->dialogue, session_rules(session), answer->code,
					answer->text, &edge->event);
		tally_add(session_tally(session),
			  answer->code / 100 == 5 ? TALLY_RECIPIENTS_UNKNOWN
						  : TALLY_RECIPIENTS_FAILED,
			  1);
		note_refusal(session, session_far(session)->kept.recipient.address, "next hop");
		perform(session, action);
	}
	go_on(session);
}

static void forward_on_answer(void *session_data, const struct callforward_answer *answer)
{
	struct session *session = session_data;
	struct edge *edge = session->edge;
	take_answer(session, answer);
	session_take_time(edge, session->phase == SESSION_CLOSED ? NULL : session);
}

void talk_ask(struct session *session)
{
	const struct edge *edge = session->edge;
	const struct recipient *recipient = &session_far(session)->kept.recipient;
	struct callforward_answer answer;
	session->wait.callback = forward_on_answer;
	session->wait.context = session;
	if (callforward_ask(edge->forward, recipient->address, strlen(recipient->address),
			    session->dialogue.envelope.is_utf8, &session->wait, &answer) == 0) {
		take_answer(session, &answer);
		return;
	}
	session_enter(session, SESSION_ASKED);
	channel_watch(session, 0);
	/* Its own time is shorter: this is for the time of the whole session. */
	session_set_timer(session, session->edge->setup->trust.forward_timeout_ms * (uint64_t)2);
}

/* ---- TLS ---- */

void talk_begin_handshake(struct session *session)
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
	struct tls_counters counters;
	if (edge->key_logged_ms > 0 &&
	    session_now(session) < edge->key_logged_ms + KEY_LOG_PAUSE_MS)
		return;
	edge->key_logged_ms = session_now(session);
	tls_count(edge->tls_context, &counters);
	log_error(id, "handshake not signed, edge=%u count=%llu (%s)", edge->start->index,
		  (unsigned long long)counters.signatures_failed,
		  tls_reason(session->tls, TLS_EKEY));
}

/* A client fails at will: only a debug line says why. A failure of our keys is our matter. */
static void fail_handshake(struct session *session, int status)
{
	char id[ACCOUNT_ID_SIZE];
	tally_add(session_tally(session), TALLY_TLS_FAILED, 1);
	account_format_id(session->facts.id, id);
	if (status == TLS_EKEY)
		log_keyholder(session, id);
	else
		log_debug(id, "handshake failed (%s)", tls_reason(session->tls, status));
	session_end(session, "tls-failed");
}

void talk_on_handshake(struct session *session)
{
	int ret = tls_handshake(session->tls);
	if (ret == TLS_WANT_READ || ret == TLS_WANT_WRITE) {
		channel_watch(session, ret == TLS_WANT_READ ? UV_READABLE : UV_WRITABLE);
		return;
	}
	if (ret != 0) {
		fail_handshake(session, ret);
		return;
	}
	tally_add(session_tally(session), TALLY_TLS, 1);
	dialogue_tls(&session->dialogue);
	session->next = NEXT_TALK;
	session->since_ms = session_now(session);
	talk_resume(session);
}
