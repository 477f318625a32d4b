/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/drive/fill_parts.h"
#include "bench/users-load/drive/smtprun.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A connection, and the user whose mails go over it now. */
struct feeder {
	struct link link;
	struct fill *fill;
	struct session_rules rules;
	struct session session;
	struct boxplan plan;
	struct mailplan mail;
	uint32_t user;
	uint32_t next; /* of the user's mails */
	char address[SESSION_TEXT_MAX];
	bool has_mail;
};

/* ---- the mail, for session.h ---- */

static size_t mail_size(const void *mail)
{
	return ((const struct feeder *)mail)->mail.size_bytes;
}

static size_t mail_copy(const void *mail, size_t offset, char *ret_bytes, size_t room)
{
	return mailplan_copy(&((const struct feeder *)mail)->mail, offset, ret_bytes, room);
}

static void mail_recipient(const void *mail, unsigned index, char ret_address[SESSION_TEXT_MAX])
{
	const struct feeder *feeder = mail;
	(void)index;
	snprintf(ret_address, SESSION_TEXT_MAX, "%s", feeder->address);
}

static const char *mail_sender(const void *mail)
{
	return ((const struct feeder *)mail)->mail.from;
}

static void mail_answered(void *mail, unsigned index, int code)
{
	(void)mail;
	(void)index;
	(void)code;
}

static const struct session_source source = { .size = mail_size,
					      .copy = mail_copy,
					      .recipient = mail_recipient,
					      .sender = mail_sender,
					      .answered = mail_answered };

/* ---- one after the other ---- */

/* The next mail of this user, or of the next. */
static bool take_mail(struct feeder *feeder)
{
	while (feeder->next >= feeder->plan.folders[BOXPLAN_INBOX].mails) {
		if (fill_take_user(feeder->fill, &feeder->user, &feeder->plan) < 0) {
			feeder->has_mail = false;
			return false;
		}
		feeder->next = 0;
		smtprun_address(&feeder->fill->setup->address, feeder->user, feeder->address);
	}
	fill_plan_mail(feeder->fill, &feeder->plan, feeder->user, BOXPLAN_INBOX, feeder->next++,
		       &feeder->mail);
	feeder->has_mail = true;
	return true;
}

static int open_feeder(struct feeder *feeder);

/* With the mail that failed all that was known of the connection is in doubt. */
static void fail(struct feeder *feeder, const char *reason)
{
	fill_tell(feeder->fill, feeder->user, "LMTP", reason);
	take_mail(feeder);
	link_close(&feeder->link);
}

static const struct trace_session trace = { .recipients = 1 };

static void go_on(struct feeder *feeder)
{
	feeder->fill->mails++;
	feeder->fill->bytes += feeder->mail.size_bytes;
	if (!take_mail(feeder)) {
		session_quit(&feeder->session, &feeder->rules);
		return;
	}
	session_again(&feeder->session, &feeder->rules, &trace);
	session_give(&feeder->session, feeder);
}

/* ---- the connection ---- */

static size_t link_on_output(void *owner, char *ret_bytes)
{
	struct feeder *feeder = owner;
	return session_output(&feeder->session, &feeder->rules, ret_bytes);
}

static void link_on_sent(void *owner, size_t size)
{
	session_sent(&((struct feeder *)owner)->session, size);
}

static void link_on_input(void *owner, const char *bytes, size_t size)
{
	struct feeder *feeder = owner;
	const enum session_status status =
		session_input(&feeder->session, &feeder->rules, bytes, size);
	const enum session_outcome outcome = feeder->session.outcome;
	if (outcome != SESSION_OPEN && outcome != SESSION_DELIVERED && feeder->has_mail) {
		fail(feeder, feeder->session.replies.text);
		return;
	}
	if (status == SESSION_DONE)
		go_on(feeder);
	if (status == SESSION_OVER)
		link_close(&feeder->link);
	else
		link_flush(&feeder->link);
}

static void link_on_other(void *owner)
{
	(void)owner;
}

static void link_on_lost(void *owner, enum link_loss loss)
{
	struct feeder *feeder = owner;
	if (feeder->has_mail)
		fail(feeder, loss == LINK_LOST_TIMEOUT ? "no answer" : "the connection has ended");
	else
		link_close(&feeder->link);
}

/* What is left goes over another one. */
static void link_on_ended(void *owner)
{
	struct feeder *feeder = owner;
	if (!feeder->has_mail || open_feeder(feeder) != 0)
		free(feeder);
}

static int open_feeder(struct feeder *feeder)
{
	static const struct link_handler handler = { .output = link_on_output,
						     .sent = link_on_sent,
						     .input = link_on_input,
						     .woken = link_on_other,
						     .secured = link_on_other,
						     .lost = link_on_lost,
						     .ended = link_on_ended };
	session_begin(&feeder->session, &feeder->rules, &trace);
	session_give(&feeder->session, feeder);
	const int ret = link_open(&feeder->link, &feeder->fill->links, &feeder->fill->setup->lmtp,
				  &handler, feeder);
	if (ret != 0)
		fill_tell(feeder->fill, feeder->user, "LMTP", uv_strerror(ret));
	return ret;
}

int fill_by_lmtp(struct fill *fill)
{
	for (unsigned i = 0; i < fill->setup->connections; i++) {
		struct feeder *feeder = calloc(1, sizeof(*feeder));
		if (feeder == NULL)
			return -ENOMEM;
		feeder->fill = fill;
		feeder->rules.is_lmtp = true;
		feeder->rules.has_pipelining = true;
		feeder->rules.reuse = UINT32_MAX - 1;
		feeder->rules.source = &source;
		snprintf(feeder->rules.helo, sizeof(feeder->rules.helo), "client.example.net");
		if (!take_mail(feeder) || open_feeder(feeder) != 0)
			free(feeder);
	}
	return 0;
}
