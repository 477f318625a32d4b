/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/edge/edge_log.h"

#include "integration/mail/smtp-front/facts/maillog.h"
#include "lib/common/log.h"

static const char context[] = "smtp-front";

/* In a second. */
#define FLOOD_LINES_MAX	  10
#define REFUSAL_LINES_MAX 50 /* behind the first of each session */

bool edge_log_takes_flood(struct edge *edge)
{
	return ration_take(&edge->flood, uv_now(&edge->loop), FLOOD_LINES_MAX);
}

static struct maillog_session session_of(const struct session *session)
{
	return (struct maillog_session){
		.facts = session->facts,
		.helo = session->dialogue.helo,
		.sender = session->dialogue.envelope.sender,
	};
}

static void log_refusal(struct session *session, const struct maillog_session *facts,
			const struct maillog_refusal *refusal)
{
	struct edge *edge = session->edge;
	if (session->has_refusal_line &&
	    !ration_take(&edge->refusals, uv_now(&edge->loop), REFUSAL_LINES_MAX))
		return;
	session->has_refusal_line = true;
	maillog_refusal(facts, refusal);
}

void edge_log_recipient(struct session *session, const char *recipient, const char *reason)
{
	const struct maillog_session facts = session_of(session);
	const bool is_listed =
		session->facts.action == JUDGE_REJECT || session->facts.action == JUDGE_DEFER;
	const struct maillog_refusal refusal = {
		.what = "recipient",
		.recipient = recipient,
		.zones = is_listed ? session_far(session)->kept.judgement.zones : NULL,
		.reply = session->edge->event.reply,
		.reason = reason,
	};
	log_refusal(session, &facts, &refusal);
}

void edge_log_command(struct session *session, const char *line, size_t line_size)
{
	const struct dialogue_event *event = &session->edge->event;
	struct maillog_session facts = session_of(session);
	const bool is_recipient = event->verb == COMMAND_RCPT;
	if (event->reply_code < 400 || (!is_recipient && event->verb != COMMAND_MAIL))
		return;
	/* Outside of a mail there is none. */
	if (!is_recipient || session->dialogue.state <= DIALOGUE_AT_HELO)
		facts.sender = NULL;
	const struct maillog_refusal refusal = {
		.what = is_recipient ? "recipient" : "sender",
		.command = line,
		.command_size = line_size,
		.reply = event->reply,
		.reason = "protocol",
	};
	log_refusal(session, &facts, &refusal);
}

bool edge_log_settle(struct edge *edge)
{
	const uint64_t now_ms = uv_now(&edge->loop);
	const unsigned sessions = ration_settle(&edge->flood, now_ms);
	const unsigned refusals = ration_settle(&edge->refusals, now_ms);
	if (sessions + refusals > 0)
		log_info(context, "lines left out, edge=%u sessions=%u refusals=%u",
			 edge->start->index, sessions, refusals);
	return edge->flood.left_out + edge->refusals.left_out > 0;
}
