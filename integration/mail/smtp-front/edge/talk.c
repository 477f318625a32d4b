/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/edge/talk.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "integration/mail/base/edge/channel.h"
#include "integration/mail/base/edge/exchange.h"
#include "integration/mail/base/edge/session.h"
#include "integration/mail/smtp-front/edge/refusals.h"
#include "integration/mail/smtp-front/edge/smtp_parts.h"

/* Of a line that is too long, or a chunk that is refused: with more the session ends. */
#define SKIP_MAX 65536

static const struct dialogue_limits *rules_of(const struct session *session)
{
	struct smtp_edge *edge = smtp_edge_of(session);
	struct dialogue_limits *rules = &edge->rules[session->facts.is_xclient ? 1 : 0];
	rules->withheld = hopstate_lacks(edge->hop);
	return rules;
}

static struct dialogue *dialogue_of(const struct session *session)
{
	return &smtp_session(session)->dialogue;
}

/* ---- replies ---- */

static void say_event(struct session *session)
{
	const struct dialogue_event *event = &smtp_edge_of(session)->event;
	channel_say(session, event->reply, event->reply_size);
	if (event->reply_code >= 400)
		exchange_delay(session);
}

static void end_behind(struct session *session, enum session_next next, const char *end)
{
	session->next = next;
	session->end = end;
}

/* ---- recipients ---- */

static void remember(char *ret_path, const char *address)
{
	size_t size = strnlen(address, SMTP_PATH_SIZE - 1);
	memcpy(ret_path, address, size);
	ret_path[size] = '\0';
}

static void note_refusal(struct session *session, const char *recipient, const char *reason)
{
	session->facts.refused_count++;
	refusals_log_recipient(session, recipient, reason);
}

static enum dialogue_action refuse_listed(struct session *session)
{
	struct smtp_edge *edge = smtp_edge_of(session);
	const struct judgement *judgement = &session_far(session)->kept.judgement;
	bool is_final = session->facts.action == JUDGE_REJECT;
	enum dialogue_action action = DIALOGUE_REPLY;
	char text[JUDGE_CODE_MAX + 1 + JUDGE_TEXT_MAX + 1];
	snprintf(text, sizeof(text), "%s %s", judgement->code, judgement->text);
	action = dialogue_answer(dialogue_of(session), rules_of(session), is_final ? 550 : 450,
				 text, &edge->event);
	note_refusal(session, edge->event.recipient.address, "verdict");
	return action;
}

static enum dialogue_action refuse(struct session *session, enum dialogue_refusal refusal,
				   enum tally_number number, const char *reason)
{
	struct dialogue_event *event = &smtp_edge_of(session)->event;
	enum dialogue_action action =
		dialogue_refuse(dialogue_of(session), rules_of(session), refusal, event);
	bank_add(smtp_counters(session), number, 1);
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
	struct smtp_edge *edge = smtp_edge_of(session);
	const char *address = edge->event.recipient.address;
	remember(smtp_session(session)->recipient, address);
	if (session->facts.action == JUDGE_REJECT || session->facts.action == JUDGE_DEFER)
		return refuse_listed(session);
	smtp_kept(session)->recipient = edge->event.recipient;
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
	struct smtp_edge *edge = smtp_edge_of(session);
	const struct dialogue_limits *rules = rules_of(session);
	/* What was said before the handshake must not count as said under TLS. */
	if (edge->edge.in_end > edge->edge.in_start)
		return dialogue_refuse(dialogue_of(session), rules, DIALOGUE_EARLY_INPUT,
				       &edge->event);
	if (edge->edge.tls_context == NULL)
		return dialogue_refuse(dialogue_of(session), rules, DIALOGUE_NO_TLS, &edge->event);
	session->next = NEXT_TLS;
	return DIALOGUE_REPLY;
}

static bool has(const struct xclient *xclient, enum xclient_attribute attribute)
{
	return (xclient->known >> attribute & 1) != 0;
}

static void take_xclient(struct session *session)
{
	const struct xclient *xclient = &smtp_edge_of(session)->event.xclient;
	/* A client that passes others on is not limited itself. */
	session_leave_limits(session);
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
	struct smtp_edge *edge = smtp_edge_of(session);
	const struct dialogue_limits *rules = rules_of(session);
	switch (action) {
	case DIALOGUE_MAIL:
		remember(smtp_session(session)->sender, edge->event.envelope->sender);
		return dialogue_accept(dialogue_of(session), rules, &edge->event);
	case DIALOGUE_RECIPIENT:
		return take_recipient(session);
	case DIALOGUE_STARTTLS:
		return begin_tls(session);
	case DIALOGUE_DATA:
	case DIALOGUE_BDAT:
		/* Not without a recipient, and with one it is a worker's. */
		return dialogue_answer(dialogue_of(session), rules, 421, "4.3.0 Internal error",
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
	const struct dialogue_event *event = &smtp_edge_of(session)->event;
	struct smtp_kept *kept = smtp_kept(session);
	if (event->chunk_size > SKIP_MAX)
		end_behind(session, NEXT_LINGER, "error");
	if (event->chunk_size == 0 || event->chunk_size > SKIP_MAX)
		return false;
	assert(event->reply_size <= sizeof(kept->late)); /* one line */
	memcpy(kept->late, event->reply, event->reply_size);
	kept->late_size = event->reply_size;
	smtp_session(session)->swallow_size = event->chunk_size;
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
		bank_add(smtp_counters(session), TALLY_ERRORS, 1);
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
	struct smtp_session *smtp = smtp_session(session);
	const struct smtp_kept *kept = smtp_kept(session);
	size_t size = edge->in_end - edge->in_start;
	if (size > smtp->swallow_size)
		size = (size_t)smtp->swallow_size;
	edge->in_start += size;
	smtp->swallow_size -= size;
	if (smtp->swallow_size > 0)
		return false;
	session->since_ms = session_now(session);
	channel_say(session, kept->late, kept->late_size);
	exchange_delay(session);
	return true;
}

static bool skip_line(struct session *session)
{
	struct smtp_edge *edge = smtp_edge_of(session);
	size_t used = 0;
	enum lines_status status = lines_skip(
		edge->edge.in + edge->edge.in_start, edge->edge.in_end - edge->edge.in_start,
		setup_takes_lf(edge->setup, &session->facts.client_ip), &used);
	edge->edge.in_start += used;
	session->skip_count += used;
	if (status != LINES_READY && session->skip_count <= SKIP_MAX)
		return false;
	session->is_skipping = false;
	session->since_ms = session_now(session);
	act(session, dialogue_malformed(dialogue_of(session), rules_of(session), LINES_TOO_LONG,
					&edge->event));
	if (status != LINES_READY)
		end_behind(session, NEXT_LINGER, "error");
	return true;
}

bool talk_take(struct session *session)
{
	struct smtp_edge *edge = smtp_edge_of(session);
	const uint8_t *bytes = edge->edge.in + edge->edge.in_start;
	size_t size = edge->edge.in_end - edge->edge.in_start;
	size_t line_size = 0;
	size_t end_size = LINES_END_SIZE;
	if (smtp_session(session)->swallow_size > 0)
		return swallow(session);
	if (session->is_skipping)
		return skip_line(session);
	enum lines_status status = lines_take(bytes, size, DIALOGUE_LINE_MAX, &line_size);
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
		act(session, dialogue_malformed(dialogue_of(session), rules_of(session), status,
						&edge->event));
		return true;
	}
	edge->edge.in_start += line_size + end_size;
	enum dialogue_action action = dialogue_step(dialogue_of(session), rules_of(session),
						    (const char *)bytes, line_size, &edge->event);
	refusals_log_command(session, (const char *)bytes, line_size);
	act(session, action);
	return true;
}

/* ---- the rest of the dialogue ---- */

void talk_greet(struct session *session)
{
	struct dialogue_event *event = &smtp_edge_of(session)->event;
	channel_say(session, event->reply, dialogue_greet(rules_of(session), event->reply));
}

void talk_on_tls(struct session *session)
{
	dialogue_tls(dialogue_of(session));
}

void talk_on_verdict(struct session *session)
{
	act(session, dialogue_accept(dialogue_of(session), rules_of(session),
				     &smtp_edge_of(session)->event));
}

size_t talk_refuse(struct edge *edge, struct session *session, enum edge_refusal refusal,
		   char *ret_text)
{
	struct dialogue_event *event = &smtp_edge(edge)->event;
	enum dialogue_refusal said = DIALOGUE_BUSY;
	switch (refusal) {
	case EDGE_FULL:
		return reply_make(421, "4.3.2 Too many sessions, try again later", ret_text);
	case EDGE_CONNECTIONS:
		return reply_make(421, "4.7.0 Too many connections from your network", ret_text);
	case EDGE_RATE:
		return reply_make(421,
				  "4.7.0 Too many new connections from your network, try again in a"
				  " minute",
				  ret_text);
	case EDGE_BUSY:
		break;
	case EDGE_LIMITED:
		said = DIALOGUE_LIMITED;
		break;
	case EDGE_TIMED_OUT:
		said = DIALOGUE_TIMED_OUT;
		break;
	case EDGE_SHUTTING_DOWN:
		said = DIALOGUE_SHUTTING_DOWN;
		break;
	case EDGE_EARLY_INPUT:
		said = DIALOGUE_EARLY_INPUT;
		break;
	}
	dialogue_refuse(dialogue_of(session), rules_of(session), said, event);
	memcpy(ret_text, event->reply, event->reply_size);
	return event->reply_size;
}

/* ---- the next hop's word ---- */

static void take_answer(struct session *session, const struct callforward_answer *answer)
{
	struct smtp_edge *edge = smtp_edge_of(session);
	exchange_take_up(session);
	if (answer->code / 100 == 2) {
		perform(session, trust(session));
	} else {
		enum dialogue_action action =
			dialogue_answer(dialogue_of(session), rules_of(session), answer->code,
					answer->text, &edge->event);
		bank_add(smtp_counters(session),
			 answer->code / 100 == 5 ? TALLY_RECIPIENTS_UNKNOWN
						 : TALLY_RECIPIENTS_FAILED,
			 1);
		note_refusal(session, smtp_kept(session)->recipient.address, "next hop");
		perform(session, action);
	}
	exchange_go_on(session);
}

static void forward_on_answer(void *session_data, const struct callforward_answer *answer)
{
	struct session *session = session_data;
	take_answer(session, answer);
	session_take_event_time(session);
}

void talk_ask(struct session *session)
{
	const struct smtp_edge *edge = smtp_edge_of(session);
	const struct recipient *recipient = &smtp_kept(session)->recipient;
	struct callforward_answer answer;
	smtp_session(session)->wait.callback = forward_on_answer;
	smtp_session(session)->wait.context = session;
	if (callforward_ask(edge->forward, recipient->address, strlen(recipient->address),
			    dialogue_of(session)->envelope.is_utf8, &smtp_session(session)->wait,
			    &answer) == 0) {
		take_answer(session, &answer);
		return;
	}
	/* Its own time is shorter: this is for the time of the whole session. */
	exchange_wait(session, edge->setup->trust.forward_timeout_ms * (uint64_t)2);
}

void talk_cancel(struct session *session)
{
	callforward_cancel(&smtp_session(session)->wait);
}
