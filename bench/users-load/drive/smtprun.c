/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/drive/smtprun.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct smtprun {
	struct link link;
	const struct smtprun_rules *rules;
	struct session session;
	struct mail mail;
	struct mailplan plan;
	char sender[SESSION_TEXT_MAX];
	bool is_open; /* there is a connection */
	bool is_decided;
	LIST_ENTRY(smtprun) entry;
};

void smtprun_address(const struct session_template *pattern, uint32_t number, char *ret_address)
{
	/* session_parse_template() has left room for any number. */
	const int size = snprintf(ret_address, SESSION_TEXT_MAX, "%s%u%s", pattern->before, number,
				  pattern->behind);
	if (size < 0 || size >= SESSION_TEXT_MAX)
		ret_address[0] = '\0';
}

/* ---- the mail, for session.h ---- */

static size_t mail_size(const void *mail)
{
	return ((const struct smtprun *)mail)->plan.size_bytes;
}

static size_t mail_copy(const void *mail, size_t offset, char *ret_bytes, size_t room)
{
	return mailplan_copy(&((const struct smtprun *)mail)->plan, offset, ret_bytes, room);
}

static bool is_abroad(const struct smtprun *run)
{
	return run->mail.flow == WORKLOAD_LOCAL_REMOTE;
}

static void mail_recipient(const void *mail, unsigned index, char ret_address[SESSION_TEXT_MAX])
{
	const struct smtprun *run = mail;
	smtprun_address(is_abroad(run) ? &run->rules->remote : &run->rules->local,
			run->mail.recipients[index], ret_address);
}

static const char *mail_sender(const void *mail)
{
	return ((const struct smtprun *)mail)->sender;
}

static uint32_t tracked(const struct smtprun *run, unsigned index)
{
	const uint32_t recipient = run->mail.recipients[index];
	return is_abroad(run) ? TRACKING_REMOTE(recipient) : recipient;
}

static void mail_answered(void *mail, unsigned index, int code)
{
	struct smtprun *run = mail;
	if (code / 100 == 2)
		return;
	tracking_drop(run->rules->tracking, run->mail.number, tracked(run, index));
	tally_error(run->rules->tally, run->mail.due_ns, TALLY_SMTP);
}

/* ---- what becomes of it ---- */

static uint64_t now_ns(const struct smtprun *run)
{
	return uv_hrtime() - run->rules->start_ns;
}

static enum transaction transaction_of(const struct smtprun *run)
{
	return mails_is_submitted(&run->mail) ? TRANSACTION_SMTP_LOCAL : TRANSACTION_SMTP_REMOTE;
}

static void forget(struct smtprun *run)
{
	for (unsigned i = 0; i < run->mail.recipient_count; i++)
		tracking_drop(run->rules->tracking, run->mail.number, tracked(run, i));
}

static void fail(struct smtprun *run, enum tally_error error)
{
	if (run->is_decided)
		return;
	run->is_decided = true;
	tally_failed(run->rules->tally, transaction_of(run), run->mail.due_ns, error);
	forget(run);
}

static void decide(struct smtprun *run)
{
	const enum session_outcome outcome = run->session.outcome;
	if (run->is_decided || outcome == SESSION_OPEN)
		return;
	if (outcome != SESSION_DELIVERED) {
		fail(run, outcome == SESSION_BROKEN ? TALLY_PROTOCOL : TALLY_SMTP);
		return;
	}
	run->is_decided = true;
	const struct smtprun_rules *rules = run->rules;
	const uint64_t at_ns = now_ns(run);
	tally_done(rules->tally, transaction_of(run), run->mail.due_ns, at_ns);
	tracking_taken(rules->tracking, run->mail.number, at_ns,
		       tally_counts(rules->tally, run->mail.due_ns));
}

/* ---- the connection ---- */

static size_t link_on_output(void *owner, char *ret_bytes)
{
	struct smtprun *run = owner;
	return session_output(&run->session, &run->rules->session, ret_bytes);
}

static void link_on_sent(void *owner, size_t size)
{
	session_sent(&((struct smtprun *)owner)->session, size);
}

static void link_on_input(void *owner, const char *bytes, size_t size)
{
	struct smtprun *run = owner;
	const enum session_status status =
		session_input(&run->session, &run->rules->session, bytes, size);
	decide(run);
	if (status == SESSION_SECURE)
		link_secure(&run->link);
	else if (status == SESSION_GOES_ON)
		link_flush(&run->link);
	else
		link_close(&run->link);
}

static void link_on_secured(void *owner)
{
	struct smtprun *run = owner;
	session_secured(&run->session, &run->rules->session);
}

static void link_on_woken(void *owner)
{
	(void)owner;
}

static void link_on_lost(void *owner, enum link_loss loss)
{
	static const uint8_t errors[] = { [LINK_LOST_CONNECT] = TALLY_CONNECT,
					  [LINK_LOST_TIMEOUT] = TALLY_TIMEOUT,
					  [LINK_LOST_CLOSED] = TALLY_CLOSED,
					  [LINK_LOST_TLS] = TALLY_PROTOCOL };
	struct smtprun *run = owner;
	fail(run, errors[loss]);
	link_close(&run->link);
}

static void link_on_ended(void *owner)
{
	struct smtprun *run = owner;
	LIST_REMOVE(run, entry);
	free(run);
}

void smtprun_leave_all(struct smtprun_list *list)
{
	struct smtprun *run = NULL;
	LIST_FOREACH(run, list, entry)
	{
		if (!run->is_decided) {
			run->is_decided = true;
			tally_unanswered(run->rules->tally, transaction_of(run), run->mail.due_ns,
					 now_ns(run));
			forget(run);
		}
		link_close(&run->link);
	}
}

/* ---- beginning ---- */

void smtprun_prepare(struct smtprun_rules *rules)
{
	static const struct session_source source = { .size = mail_size,
						      .copy = mail_copy,
						      .recipient = mail_recipient,
						      .sender = mail_sender,
						      .answered = mail_answered };
	rules->session.source = &source;
	rules->session.has_pipelining = true;
	rules->session.has_starttls = rules->links->security == LINK_STARTTLS;
	snprintf(rules->session.helo, sizeof(rules->session.helo), "client.example.net");
}

static void plan_mail(struct smtprun *run)
{
	const struct smtprun_rules *rules = run->rules;
	char to[SESSION_TEXT_MAX];
	smtprun_address(mails_is_submitted(&run->mail) ? &rules->local : &rules->remote,
			run->mail.sender, run->sender);
	mail_recipient(run, 0, to);
	const struct mailplan_wish wish = {
		.seed = rules->seed,
		.run = rules->run,
		.number = run->mail.number,
		.time_s = rules->start_s + (int64_t)(run->mail.due_ns / FIGURES_NS_PER_S),
		.from = run->sender,
		.to = to,
	};
	mailplan_make(&run->plan, rules->workload, &wish);
}

int smtprun_begin(const struct smtprun_rules *rules, const struct mail *mail)
{
	static const struct link_handler handler = { .output = link_on_output,
						     .sent = link_on_sent,
						     .input = link_on_input,
						     .woken = link_on_woken,
						     .secured = link_on_secured,
						     .lost = link_on_lost,
						     .ended = link_on_ended };
	struct smtprun *run = calloc(1, sizeof(*run));
	if (run == NULL)
		return -ENOMEM;
	run->rules = rules;
	run->mail = *mail;
	plan_mail(run);
	for (unsigned i = 0; i < mail->recipient_count; i++)
		tracking_expect(rules->tracking, mail->number, tracked(run, i));
	const struct trace_session trace = { .recipients = mail->recipient_count,
					     .number = mail->number };
	session_begin(&run->session, &rules->session, &trace);
	session_give(&run->session, run);
	if (link_open(&run->link, rules->links, &rules->address, &handler, run) != 0) {
		fail(run, TALLY_CONNECT);
		free(run);
		return 0;
	}
	LIST_INSERT_HEAD(rules->list, run, entry);
	return 0;
}
