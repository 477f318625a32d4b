/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/edge/poptalk.h"

#include <string.h>

#include "integration/mail/base/edge/channel.h"
#include "integration/mail/pop-front/edge/poplogin.h"

_Static_assert(POP3_REPLY_MAX <= EDGE_REPLY_MAX, "a reply has room");
_Static_assert(POP3_AUTH_LINE_MAX <= EDGE_IN_SIZE, "the longest line has room");

/* Of a line that is too long: with more the session ends. */
#define SKIP_MAX 65536

/* ---- words ---- */

static void say(struct session *session)
{
	const struct pop3_event *event = &pop_edge(session)->event;
	channel_say(session, event->reply, event->reply_size);
}

static void end_behind(struct session *session, enum session_next next, const char *end)
{
	session->next = next;
	session->end = end;
}

void poptalk_greet(struct session *session)
{
	struct pop_edge *edge = pop_edge(session);
	channel_say(session, edge->event.reply,
		    pop3_dialogue_greet(&edge->limits, edge->event.reply));
}

size_t poptalk_refuse(struct edge *edge, struct session *session, enum edge_refusal refusal,
		      char *ret_text)
{
	static const enum pop3_refusal refusals[] = {
		[EDGE_BUSY] = POP3_BUSY,
		[EDGE_LIMITED] = POP3_LIMITED,
		[EDGE_CONNECTIONS] = POP3_LIMITED,
		[EDGE_RATE] = POP3_LIMITED,
		[EDGE_FULL] = POP3_BUSY,
		[EDGE_TIMED_OUT] = POP3_BUSY,
		[EDGE_SHUTTING_DOWN] = POP3_SHUTTING_DOWN,
		[EDGE_EARLY_INPUT] = POP3_EARLY_INPUT,
	};
	struct pop_edge *pop = (struct pop_edge *)edge;
	struct pop3_dialogue fresh;
	/* RFC 1939, part 3: it closes without a word. */
	if (refusal == EDGE_TIMED_OUT)
		return 0;
	if (session == NULL)
		pop3_dialogue_init(&fresh);
	(void)pop3_dialogue_refuse(session == NULL ? &fresh : &pop_session(session)->dialogue,
				   &pop->limits, refusals[refusal], &pop->event);
	memcpy(ret_text, pop->event.reply, pop->event.reply_size);
	return pop->event.reply_size;
}

/* ---- commands ---- */

static enum pop3_action begin_tls(struct session *session)
{
	struct pop_edge *edge = pop_edge(session);
	struct pop3_dialogue *dialogue = &pop_session(session)->dialogue;
	/* What was said before the handshake must not count as said under TLS. */
	if (edge->edge.in_end > edge->edge.in_start)
		return pop3_dialogue_refuse(dialogue, &edge->limits, POP3_EARLY_INPUT,
					    &edge->event);
	if (edge->edge.tls_context == NULL)
		return pop3_dialogue_refuse(dialogue, &edge->limits, POP3_NO_TLS, &edge->event);
	session->next = NEXT_TLS;
	return POP3_REPLY;
}

void poptalk_on_tls(struct session *session)
{
	pop3_dialogue_tls(&pop_session(session)->dialogue);
}

void poptalk_act(struct session *session, enum pop3_action action)
{
	if (action == POP3_STLS)
		action = begin_tls(session);
	if (action == POP3_AUTHENTICATE)
		return;
	if (action == POP3_QUIT) {
		end_behind(session, NEXT_CLOSE, "quit");
	} else if (action == POP3_CLOSE) {
		pop_count(session, POP_ERRORS);
		end_behind(session, NEXT_LINGER, "error");
	}
	say(session);
}

/*
 * A line that may have a password, also where it was refused or malformed: the buffer is that of all
 * sessions, and what came of it before is still in the session's own.
 */
static void forget(struct session *session, char *line, size_t line_size)
{
	const enum pop3_verb verb = pop_edge(session)->event.verb;
	if (verb != POP3_VERB_PASS && verb != POP3_VERB_AUTH && verb != POP3_VERB_SASL)
		return;
	explicit_bzero(line, line_size);
	if (session->in_size > 0)
		explicit_bzero(pop_kept(session)->kept.in, session->in_size);
}

static void step(struct session *session, char *line, size_t line_size)
{
	struct pop_edge *edge = pop_edge(session);
	enum pop3_action action = pop3_dialogue_step(&pop_session(session)->dialogue, &edge->limits,
						     NULL, line, line_size, &edge->event);
	forget(session, line, line_size);
	if (action == POP3_AUTHENTICATE)
		action = poplogin_begin(session);
	poptalk_act(session, action);
}

static void take_malformed(struct session *session, enum lines_status status)
{
	struct pop_edge *edge = pop_edge(session);
	poptalk_act(session, pop3_dialogue_malformed(&pop_session(session)->dialogue, &edge->limits,
						     status, &edge->event));
}

static bool skip_line(struct session *session)
{
	struct edge *edge = session->edge;
	size_t used = 0;
	const enum lines_status status =
		lines_skip(edge->in + edge->in_start, edge->in_end - edge->in_start, false, &used);
	edge->in_start += used;
	session->skip_count += used;
	if (status != LINES_READY && session->skip_count <= SKIP_MAX)
		return false;
	session->is_skipping = false;
	session->since_ms = session_now(session);
	take_malformed(session, LINES_TOO_LONG);
	if (status != LINES_READY)
		end_behind(session, NEXT_LINGER, "error");
	return true;
}

bool poptalk_take(struct session *session)
{
	struct edge *edge = session->edge;
	struct pop_session *pop = pop_session(session);
	uint8_t *bytes = edge->in + edge->in_start;
	size_t line_size = 0;
	if (session->is_skipping)
		return skip_line(session);
	const enum lines_status status =
		lines_take(bytes, edge->in_end - edge->in_start,
			   pop3_dialogue_line_max(&pop->dialogue), &line_size);
	if (status == LINES_MORE)
		return false;
	if (status == LINES_TOO_LONG) {
		session->is_skipping = true;
		session->skip_count = 0;
		return true;
	}
	session->since_ms = session_now(session);
	if (status != LINES_READY) {
		take_malformed(session, status);
		return true;
	}
	edge->in_start += line_size + LINES_END_SIZE;
	step(session, (char *)bytes, line_size);
	return true;
}
