/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * visit_log.c - what the log has about the mails and the refused recipients of a visit.
 */
#include "integration/mail/smtp-front/worker/transact.h"

#include "lib/common/log.h"

/* In a second, about refused commands, behind the first of a session. */
#define REFUSAL_LINES_MAX 10

void visit_log_begin(struct visit *visit)
{
	visit->has_refusal_line = false;
	maillog_list_clear(&visit->recipients);
}

static struct maillog_session session_of(const struct visit *visit)
{
	return (struct maillog_session){
		.facts = visit->capsule->facts,
		.helo = visit->dialogue->helo,
		.sender = visit->sender,
	};
}

void visit_log_mail(struct visit *visit, const char *what, const char *reason)
{
	const struct maillog_session session = session_of(visit);
	const struct parcel *parcel = &visit->parcel;
	const bool is_whole = parcel->body.refusal == BODY_FINE;
	const struct maillog_mail mail = {
		.what = what,
		.number = visit->mail_count,
		.recipients = &visit->recipients,
		/* Of one that is spoilt nothing more comes out. */
		.size_bytes = is_whole ? parcel->body.size : parcel->taken,
		.message_id = parcel->messageid.text,
		.reply = visit->event.reply_code > 0 ? visit->event.reply : NULL,
		.reason = reason,
	};
	maillog_mail(&session, &mail);
}

/* A client may be refused as often as it likes, and the disk is not to be full of it. */
static void log_refusal(struct visit *visit, const struct maillog_session *session,
			const struct maillog_refusal *refusal)
{
	if (visit->has_refusal_line &&
	    !ration_take(&visit->ration, (uint64_t)stream_deadline(0), REFUSAL_LINES_MAX))
		return;
	visit->has_refusal_line = true;
	maillog_refusal(session, refusal);
}

void visit_log_refusal(struct visit *visit, const char *recipient, const char *reason)
{
	const struct maillog_session session = session_of(visit);
	const struct maillog_refusal refusal = {
		.what = recipient != NULL ? "recipient" : "sender",
		.recipient = recipient,
		.reply = visit->event.reply,
		.reason = reason,
	};
	log_refusal(visit, &session, &refusal);
}

void visit_log_command(struct visit *visit, const char *line, size_t line_size)
{
	struct maillog_session session = session_of(visit);
	struct maillog_refusal refusal;
	if (maillog_make_refusal(&visit->event, visit->dialogue->state, line, line_size, &session,
				 &refusal))
		log_refusal(visit, &session, &refusal);
}

void visit_log_end(struct visit *visit)
{
	if (visit->ration.left_out > 0)
		log_info(visit->id, "lines left out, refusals=%u", visit->ration.left_out);
	visit->ration.left_out = 0;
}
