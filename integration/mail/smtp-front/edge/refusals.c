/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/edge/refusals.h"

#include "integration/mail/base/edge/edge_log.h"
#include "integration/mail/smtp-front/edge/smtp_parts.h"
#include "integration/mail/smtp-front/facts/maillog.h"

static struct maillog_session session_of(const struct session *session)
{
	const struct dialogue *dialogue = &smtp_session(session)->dialogue;
	return (struct maillog_session){
		.facts = session->facts,
		.helo = dialogue->helo,
		.sender = dialogue->envelope.sender,
	};
}

static void log_refusal(struct session *session, const struct maillog_session *facts,
			const struct maillog_refusal *refusal)
{
	if (edge_log_takes_refusal(session))
		maillog_refusal(facts, refusal);
}

void refusals_log_recipient(struct session *session, const char *recipient, const char *reason)
{
	const struct maillog_session facts = session_of(session);
	const bool is_listed =
		session->facts.action == JUDGE_REJECT || session->facts.action == JUDGE_DEFER;
	const struct maillog_refusal refusal = {
		.what = "recipient",
		.recipient = recipient,
		.zones = is_listed ? session_far(session)->kept.judgement.zones : NULL,
		.reply = smtp_edge_of(session)->event.reply,
		.reason = reason,
	};
	log_refusal(session, &facts, &refusal);
}

void refusals_log_command(struct session *session, const char *line, size_t line_size)
{
	struct maillog_session facts = session_of(session);
	struct maillog_refusal refusal;
	if (maillog_make_refusal(&smtp_edge_of(session)->event,
				 smtp_session(session)->dialogue.state, line, line_size, &facts,
				 &refusal))
		log_refusal(session, &facts, &refusal);
}
