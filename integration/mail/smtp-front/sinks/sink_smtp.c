/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sink_smtp.c - mail to the next hop, by SMTP or LMTP, while the client waits.
 *
 * MAIL and RCPT are replayed as they come, so that the next hop's refusals are said in the
 * session, in its words. One connection serves one client's session, as PROXY and XCLIENT tell of
 * one client; it is made at the first mail. When it has gone away between two mails, or before
 * DATA, which may be long after RCPT where a scanner has to see the mail first, it is made anew
 * once, and the mail is named again; 421 to DATA is the same. At any other time the mail is 451.
 *
 * What was asked for and the next hop does not offer: 8BITMIME and SMTPUTF8 refuse the mail (RFC
 * 6152 and 6531: there is no conversion here); SIZE and DSN are left away. Clients are offered what
 * the last EHLO reply had, so that this is for those that came before there was one.
 *
 * LMTP answers for each recipient, a client gets one answer, the worst: 4xx when any recipient may
 * get the mail later, else 5xx when any never will, else 2xx. With a 4xx delivered.h remembers the
 * recipients that have the mail: of a hop with more replies than recipients, those whose reply is good
 * whichever replies are too many. When one of them is named again, the mail waits in memory until
 * its hash tells whether it is the same; then the others alone get it.
 */
#include "integration/mail/smtp-front/sinks/delivered.h"
#include "integration/mail/smtp-front/sinks/remote_smtp.h"
#include "integration/mail/smtp-front/sinks/sink.h"
#include "lib/format/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A mail with LMTP, beside what SMTP has. */
struct lmtp {
	struct delivered_hash *hash; /* of the content */
	bool is_content;	     /* what is appended is the client's */
	bool is_kept;		     /* in content, until it is known whether it is the same mail */
	uint8_t *content;
	size_t content_size;
	size_t content_room;
	uint8_t mail[DELIVERED_MAIL_SIZE];
};

struct sink_smtp {
	struct sink sink;
	struct remote remote;
	bool is_used; /* the connection had a mail already */
	bool is_open; /* MAIL was accepted, and nothing has ended the transaction */
	bool is_data; /* between 354 and the dot: only closing takes the mail back */
	/* The transaction, as it is named again. */
	struct envelope envelope;
	struct recipient *recipients; /* accepted: recipient_count, room for recipients_room */
	unsigned recipient_count;
	size_t recipients_room;
	struct lmtp lmtp;
	char helo[ENVELOPE_HELO_MAX + 1]; /* of the client, when the connection was made */
};

static struct sink_smtp *smtp_of(struct sink *sink)
{
	return (struct sink_smtp *)sink;
}

static bool is_lmtp(const struct sink_smtp *smtp)
{
	return smtp->sink.setup->kind == SETUP_SINK_LMTP;
}

static void trouble(struct sink_smtp *smtp, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void trouble(struct sink_smtp *smtp, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	(void)vsnprintf(smtp->sink.trouble, sizeof(smtp->sink.trouble), format, arguments);
	va_end(arguments);
}

static void hang_up(struct sink_smtp *smtp)
{
	remote_close(&smtp->remote);
	smtp->is_used = smtp->is_open = smtp->is_data = false;
	smtp->lmtp.is_kept = false;
}

/* The connection is of no use any more, and the client comes again. */
static bool broken(struct sink_smtp *smtp, const char *step, int error, struct sink_reply *reply)
{
	trouble(smtp, "%s: %s", step, strerror(-error));
	hang_up(smtp);
	return sink_say(reply, 451, "4.4.2 Mail system went away; try again later");
}

/* Does text begin with "2.1.5" or the like, of the class of code? */
static bool has_status(int code, const char *text)
{
	size_t size = 0;
	unsigned dots = 0;

	if (text[0] != '0' + code / 100 || text[1] != '.')
		return false;
	for (; (text[size] >= '0' && text[size] <= '9') || text[size] == '.'; size++)
		dots += text[size] == '.';
	return dots == 2 && (text[size] == ' ' || text[size] == '\0');
}

/*
 * What a next hop has said, as our client may hear it: with an enhanced status code, and without
 * a code that means something else from us. 421 would announce that we hang up.
 */
static bool pass_on(struct sink_smtp *smtp, struct sink_reply *reply)
{
	const int class = reply->code / 100;

	if (reply->code == 421)
		hang_up(smtp);
	if (class == 3 || reply->code == 421)
		reply->code = 451;
	if (!has_status(reply->code, reply->text)) {
		char status[] = "5.0.0 ";
		const size_t size = strlen(status);
		status[0] = (char)('0' + reply->code / 100);
		memmove(reply->text + size, reply->text, sizeof(reply->text) - size);
		memcpy(reply->text, status, size);
		reply->text[SINK_TEXT_MAX] = '\0';
	}
	return class == 2;
}

/* A command whose reply is the client's, as far as the next hop lives. */
static bool replay(struct sink_smtp *smtp, const char *command, const char *step,
		   struct sink_reply *reply)
{
	const int ret = remote_command(&smtp->remote, command, reply);
	return ret < 0 ? broken(smtp, step, ret, reply) : pass_on(smtp, reply);
}

/* ---- MAIL ---- */

/* What the attempt says of the next hop, to all processes. */
static void note_reach(struct sink_smtp *smtp, int status)
{
	struct sink *sink = &smtp->sink;
	const enum remote_reach reach = smtp->remote.reach;
	const uint64_t now_ms = (uint64_t)stream_deadline(0);

	if (sink->hop == NULL)
		return;
	if (reach == REMOTE_GREETED) {
		if (hopstate_reached(sink->hop, now_ms, &sink->down_ms))
			sink->news = SINK_NEWS_UP;
	} else if ((reach == REMOTE_UNREACHED && !hopstate_is_no_news(status)) ||
		   status == -ETIMEDOUT) {
		const bool is_silent = status != -ECONNREFUSED && status != -ENOENT;
		if (hopstate_failed(sink->hop, now_ms, is_silent))
			sink->news = SINK_NEWS_DOWN;
		else
			sink->trouble[0] = '\0'; /* that is known, and was said */
	} else {
		hopstate_untold(sink->hop, now_ms);
	}
}

static void note_extensions(struct sink_smtp *smtp)
{
	const unsigned features = smtp->remote.features;

	hopstate_set_lacks(
		smtp->sink.hop,
		((features & REMOTE_8BITMIME) == 0 ? ENVELOPE_EXTENSION_8BITMIME : 0U) |
			((features & REMOTE_SMTPUTF8) == 0 ? ENVELOPE_EXTENSION_SMTPUTF8 : 0U) |
			((features & REMOTE_DSN) == 0 ? ENVELOPE_EXTENSION_DSN : 0U));
}

static bool open_remote(struct sink_smtp *smtp, struct sink_reply *reply)
{
	const char *step = NULL;
	struct sink_reply said;

	const int ret = remote_open(&smtp->remote, smtp->sink.setup, smtp->sink.hostname,
				    smtp->sink.session, &step, &said);
	if (ret == 0) {
		if (smtp->sink.setup->tell == SETUP_TELL_XCLIENT &&
		    (smtp->remote.features & REMOTE_XCLIENT) == 0)
			smtp->sink.remark = "XCLIENT: not offered, so the client is not told";
		note_reach(smtp, ret);
		note_extensions(smtp);
		(void)snprintf(smtp->helo, sizeof(smtp->helo), "%s", smtp->sink.session->helo);
		return true;
	}
	if (ret == -EACCES) {
		note_reach(smtp, ret);
		*reply = said;
		return pass_on(smtp, reply);
	}
	/* Also when it says 5xx: it means us, not the mail. */
	if (said.code != 0)
		trouble(smtp, "%s: %d %s", step, said.code, said.text);
	else
		trouble(smtp, "%s: %s", step, strerror(-ret));
	note_reach(smtp, ret);
	return sink_say(reply, 451, "4.4.1 Mail system is out of reach; try again later");
}

static bool get_connected(struct sink_smtp *smtp, struct sink_reply *reply)
{
	if (remote_is_open(&smtp->remote))
		return true;
	if (!hopstate_may_connect(smtp->sink.hop, (uint64_t)stream_deadline(0),
				  2 * (uint64_t)smtp->sink.setup->connect_timeout_ms))
		return sink_say(reply, 451, "4.4.1 Mail system is out of reach; try again later");
	return open_remote(smtp, reply);
}

/* What the next hop cannot take. */
static bool refuse_unoffered(const struct sink_smtp *smtp, const struct envelope *envelope,
			     struct sink_reply *reply)
{
	const unsigned features = smtp->remote.features;

	if (envelope->is_utf8 && (features & REMOTE_SMTPUTF8) == 0) {
		(void)sink_say(reply, 550, "5.6.7 The next hop does not take SMTPUTF8");
		return true;
	}
	if (envelope->body == ENVELOPE_8BITMIME && (features & REMOTE_8BITMIME) == 0) {
		(void)sink_say(reply, 554, "5.6.3 The next hop does not take 8BITMIME");
		return true;
	}
	return false;
}

struct hop_command {
	char text[REMOTE_COMMAND_MAX];
	size_t size;
};

static void add(struct hop_command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The sum of the maxima of envelope.h is below the room. */
static void add(struct hop_command *command, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	const int size = vsnprintf(command->text + command->size,
				   sizeof(command->text) - command->size, format, arguments);
	va_end(arguments);
	command->size += (size_t)size;
}

static void make_mail(const struct sink_smtp *smtp, const struct envelope *envelope,
		      struct hop_command *command)
{
	static const char *const rets[] = {
		[ENVELOPE_RET_FULL] = "FULL", [ENVELOPE_RET_HDRS] = "HDRS"
	};
	const unsigned features = smtp->remote.features;

	add(command, "MAIL FROM:<%s>", envelope->sender);
	if (envelope->size_bytes > 0 && (features & REMOTE_SIZE) != 0)
		add(command, " SIZE=%" PRIu64, envelope->size_bytes);
	if (envelope->body == ENVELOPE_8BITMIME)
		add(command, " BODY=8BITMIME");
	if (envelope->is_utf8)
		add(command, " SMTPUTF8");
	if ((features & REMOTE_DSN) != 0 && envelope->ret != ENVELOPE_RET_NONE)
		add(command, " RET=%s", rets[envelope->ret]);
	if ((features & REMOTE_DSN) != 0 && envelope->envid[0] != '\0')
		add(command, " ENVID=%s", envelope->envid);
	add(command, "\r\n");
}

static int end_transaction(struct sink_smtp *smtp)
{
	struct sink_reply reply;

	if (smtp->is_data)
		hang_up(smtp);
	if (!smtp->is_open)
		return 0;
	smtp->is_open = false;
	const int ret = remote_command(&smtp->remote, "RSET\r\n", &reply);
	return ret == 0 && reply.code / 100 != 2 ? -EPROTO : ret;
}

static void smtp_abort(struct sink *sink)
{
	struct sink_smtp *smtp = smtp_of(sink);
	/* No reply waits for it; after a failure the next mail makes another connection. */
	if (end_transaction(smtp) < 0)
		hang_up(smtp);
}

static bool try_mail(struct sink_smtp *smtp, const struct envelope *envelope,
		     struct sink_reply *reply)
{
	struct hop_command command = { .size = 0 };

	if (!get_connected(smtp, reply) || refuse_unoffered(smtp, envelope, reply))
		return false;
	make_mail(smtp, envelope, &command);
	smtp->recipient_count = 0;
	if (!replay(smtp, command.text, "MAIL", reply))
		return false;
	smtp->is_used = smtp->is_open = true;
	return true;
}

static void smtp_leave(struct sink *sink)
{
	struct sink_smtp *smtp = smtp_of(sink);

	/* Amid a mail the next hop must not hear a command: it would be a line of the mail. */
	if (remote_is_open(&smtp->remote) && !smtp->is_data)
		remote_quit(&smtp->remote);
	hang_up(smtp);
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* What it says of the next hop's state is left to the first mail, whose session can log it. */
static void smtp_probe(struct sink *sink)
{
	struct sink_smtp *smtp = smtp_of(sink);
	struct setup_sink setup = *sink->setup;
	struct sink_reply said;
	const char *step = NULL;

	setup.connect_timeout_ms = least(setup.connect_timeout_ms, SINK_PROBE_MS);
	setup.timeout_ms = least(setup.timeout_ms, SINK_PROBE_MS);
	if (remote_open(&smtp->remote, &setup, sink->hostname, NULL, &step, &said) != 0)
		return;
	note_extensions(smtp);
	smtp_leave(sink);
}

/* The next hop was told of a HELO that the client has replaced since. */
static bool is_outdated(const struct sink_smtp *smtp)
{
	return smtp->sink.setup->tell != SETUP_TELL_NONE && remote_is_open(&smtp->remote) &&
	       strcmp(smtp->helo, smtp->sink.session->helo) != 0;
}

static bool smtp_mail(struct sink *sink, const struct envelope *envelope, struct sink_reply *reply)
{
	struct sink_smtp *smtp = smtp_of(sink);

	smtp_abort(sink);
	smtp->envelope = *envelope;
	if (is_outdated(smtp))
		smtp_leave(sink);
	const bool was_used = smtp->is_used;
	if (try_mail(smtp, envelope, reply))
		return true;
	if (!was_used || remote_is_open(&smtp->remote))
		return false;
	smtp->sink.trouble[0] = '\0'; /* it had only closed an idle connection */
	return try_mail(smtp, envelope, reply);
}

/* ---- RCPT ---- */

static void make_recipient(const struct sink_smtp *smtp, const struct recipient *recipient,
			   struct hop_command *command)
{
	static const char *const words[] = { "NEVER", "SUCCESS", "FAILURE", "DELAY" };
	const char *separator = " NOTIFY=";

	add(command, "RCPT TO:<%s>", recipient->address);
	if ((smtp->remote.features & REMOTE_DSN) != 0) {
		for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			if ((recipient->notify & 1U << i) == 0)
				continue;
			add(command, "%s%s", separator, words[i]);
			separator = ",";
		}
		if (recipient->orcpt[0] != '\0')
			add(command, " ORCPT=%s", recipient->orcpt);
	}
	add(command, "\r\n");
}

static bool name_recipient(struct sink_smtp *smtp, const struct recipient *recipient,
			   struct sink_reply *reply)
{
	struct hop_command command = { .size = 0 };

	make_recipient(smtp, recipient, &command);
	if (!replay(smtp, command.text, "RCPT", reply))
		return false;
	smtp->recipients[smtp->recipient_count++] = *recipient;
	return true;
}

static bool smtp_recipient(struct sink *sink, const struct recipient *recipient,
			   const struct users_mailboxes *mailboxes, struct sink_reply *reply)
{
	struct sink_smtp *smtp = smtp_of(sink);

	(void)mailboxes;
	if (!smtp->is_open) /* the next hop went away at an earlier recipient */
		return sink_say(reply, 451, "4.4.2 Mail system went away; try again later");
	if (!array_reserve(smtp->recipients, smtp->recipient_count + 1, &smtp->recipients_room))
		return sink_say(reply, 452, "4.3.1 Insufficient system storage");
	if (name_recipient(smtp, recipient, reply))
		return true;
	if (reply->code < 500 || strcmp(recipient->address, "postmaster") != 0)
		return false;
	/* The recipient that every server has (RFC 5321 4.5.1), for one that wants a domain. */
	struct recipient postmaster = *recipient;
	(void)snprintf(postmaster.address, sizeof(postmaster.address), "postmaster@%s",
		       sink->hostname);
	return name_recipient(smtp, &postmaster, reply);
}

/* ---- the mail ---- */

static uint64_t key_of(const struct sink_smtp *smtp, unsigned i)
{
	return delivered_recipient(&smtp->sink.session->facts.client_ip, smtp->envelope.sender,
				   smtp->recipients[i].address);
}

/* Did one of the recipients get a mail of this sender that is to come again? */
static bool may_have_it(const struct sink_smtp *smtp)
{
	const int64_t now_s = (int64_t)time(NULL);

	for (unsigned i = 0; i < smtp->recipient_count; i++) {
		if (delivered_may_have(smtp->sink.delivered, key_of(smtp, i), now_s))
			return true;
	}
	return false;
}

/*
 * The transaction once more, with the first count recipients. The next hop has taken all of it
 * before: should it refuse a part for good now, the client hears so when it comes again.
 */
static bool name_again(struct sink_smtp *smtp, unsigned count, struct sink_reply *reply)
{
	bool is_named = try_mail(smtp, &smtp->envelope, reply);

	for (unsigned i = 0; is_named && i < count; i++) {
		const struct recipient recipient = smtp->recipients[i];
		is_named = name_recipient(smtp, &recipient, reply);
	}
	if (is_named)
		return true;
	smtp_abort(&smtp->sink);
	if (reply->code < 500)
		return false;
	trouble(smtp, "mail named again: %d %s", reply->code, reply->text);
	return sink_say(reply, 451, "4.4.2 Mail system went away; try again later");
}

static bool begin_data(struct sink_smtp *smtp, struct sink_reply *reply)
{
	int ret = remote_command(&smtp->remote, "DATA\r\n", reply);
	if (ret == -ECONNRESET || ret == -EPIPE || (ret == 0 && reply->code == 421)) {
		/*
		 * It had only closed an idle connection, and has nothing of the mail. Its 421 may
		 * have been on its way when DATA was, and looks like the reply then.
		 */
		hang_up(smtp);
		if (!name_again(smtp, smtp->recipient_count, reply))
			return false;
		ret = remote_command(&smtp->remote, "DATA\r\n", reply);
	}
	if (ret < 0)
		return broken(smtp, "DATA", ret, reply);
	if (reply->code == 354) {
		smtp->is_data = true;
		remote_begin(&smtp->remote);
		return true;
	}
	if (pass_on(smtp, reply))
		return broken(smtp, "DATA", -EPROTO, reply);
	smtp_abort(&smtp->sink);
	return false;
}

static bool smtp_begin(struct sink *sink, struct sink_reply *reply)
{
	struct sink_smtp *smtp = smtp_of(sink);

	if (!smtp->is_open)
		return sink_say(reply, 451, "4.4.2 Mail system went away; try again later");
	smtp->lmtp.is_content = false;
	smtp->lmtp.is_kept = is_lmtp(smtp) && may_have_it(smtp);
	smtp->lmtp.content_size = 0;
	return smtp->lmtp.is_kept || begin_data(smtp, reply);
}

static void smtp_mark(struct sink *sink)
{
	struct lmtp *lmtp = &smtp_of(sink)->lmtp;

	lmtp->is_content = lmtp->hash != NULL;
	if (lmtp->is_content)
		delivered_hash_begin(lmtp->hash);
}

/* A next hop that says 552 and closes has refused the mail; without a word it is broken. */
static bool broken_mail(struct sink_smtp *smtp, const char *step, int error,
			struct sink_reply *reply)
{
	if (!remote_has_refused(&smtp->remote, reply))
		return broken(smtp, step, error, reply);
	(void)pass_on(smtp, reply);
	hang_up(smtp);
	return false;
}

static bool keep(struct sink_smtp *smtp, const uint8_t *bytes, size_t size,
		 struct sink_reply *reply)
{
	struct lmtp *lmtp = &smtp->lmtp;

	if (!array_reserve(lmtp->content, lmtp->content_size + size, &lmtp->content_room)) {
		smtp_abort(&smtp->sink);
		return sink_say(reply, 452, "4.3.1 Insufficient system storage");
	}
	memcpy(lmtp->content + lmtp->content_size, bytes, size);
	lmtp->content_size += size;
	return true;
}

static bool smtp_append(struct sink *sink, const uint8_t *bytes, size_t size,
			struct sink_reply *reply)
{
	struct sink_smtp *smtp = smtp_of(sink);

	if (smtp->lmtp.is_content)
		delivered_hash_add(smtp->lmtp.hash, bytes, size);
	if (smtp->lmtp.is_kept)
		return keep(smtp, bytes, size, reply);
	const int ret = remote_append(&smtp->remote, bytes, size);
	return ret == 0 || broken_mail(smtp, "mail", ret, reply);
}

/* ---- the end: one reply out of many ---- */

#define EXCESS_MAX 16 /* replies behind the last that was due, of a server that counts wrong */

/* The replies to the end of a mail, as they come. */
struct replied {
	bool *is_good; /* due_count, and room for EXCESS_MAX */
	unsigned due_count;
	unsigned excess_count;
};

static bool is_worse(const struct sink_reply *reply, const struct sink_reply *than)
{
	/* 4xx is worse than 5xx: a recipient that may get it later must not be given up. */
	static const int ranks[] = { [2] = 0, [5] = 1, [4] = 2 };
	return ranks[reply->code / 100] > ranks[than->code / 100];
}

/* Those behind the first, which is in *reply; *reply becomes the worst. */
static void read_due(struct sink_smtp *smtp, struct replied *replied, struct sink_reply *reply)
{
	struct sink_reply other;
	int ret = 0;

	for (unsigned i = 1; i < replied->due_count && ret == 0; i++) {
		ret = remote_is_open(&smtp->remote) ? remote_read_end(&smtp->remote, &other)
						    : -ECONNRESET;
		if (ret < 0)
			(void)broken(smtp, "end of mail", ret, &other);
		replied->is_good[i] = ret == 0 && pass_on(smtp, &other);
		if (is_worse(&other, reply))
			*reply = other;
	}
}

/* A server that has said too much is left: which of its replies is the one too many is not known. */
static void read_excess(struct sink_smtp *smtp, struct replied *replied, struct sink_reply *reply)
{
	struct sink_reply other;
	int ret = remote_read_excess(&smtp->remote, &other);

	if (ret == -ENODATA)
		return;
	for (; ret == 0 && replied->excess_count < EXCESS_MAX;
	     ret = remote_read_excess(&smtp->remote, &other)) {
		const unsigned i = replied->due_count + replied->excess_count++;
		replied->is_good[i] = pass_on(smtp, &other);
		if (is_worse(&other, reply))
			*reply = other;
	}
	if (ret == -ENODATA) {
		hang_up(smtp);
		return;
	}
	/* Half of one, or no end of them: nothing is known of any recipient. */
	memset(replied->is_good, 0, replied->due_count * sizeof(*replied->is_good));
	(void)broken(smtp, "end of mail", ret < 0 ? ret : -EPROTO, &other);
	if (is_worse(&other, reply))
		*reply = other;
}

/* Whichever replies are too many, is the one to this recipient good? */
static bool has_it(const struct replied *replied, unsigned i)
{
	return memchr(replied->is_good + i, false, replied->excess_count + 1) == NULL;
}

/* Those that have it: the client is told to come again. */
static void remember(struct sink_smtp *smtp, const struct replied *replied)
{
	const int64_t now_s = (int64_t)time(NULL);

	for (unsigned i = 0; i < replied->due_count; i++) {
		if (has_it(replied, i))
			delivered_add(smtp->sink.delivered, key_of(smtp, i), smtp->lmtp.mail,
				      now_s);
	}
	const int ret = delivered_sync(smtp->sink.delivered);
	if (ret < 0)
		trouble(smtp, "memory of deliveries: %s", strerror(-ret));
}

/* What the replies mean to the client, the first of which is in *reply; *reply becomes the worst. */
static bool read_others(struct sink_smtp *smtp, struct sink_reply *reply)
{
	struct replied replied = { .due_count = is_lmtp(smtp) ? smtp->recipient_count : 1 };
	unsigned good_count = 0;

	replied.is_good = calloc(replied.due_count + EXCESS_MAX, sizeof(*replied.is_good));
	if (replied.is_good == NULL)
		return broken(smtp, "end of mail", -ENOMEM, reply);
	replied.is_good[0] = reply->code < 300;
	read_due(smtp, &replied, reply);
	read_excess(smtp, &replied, reply);
	for (unsigned i = 0; i < replied.due_count; i++)
		good_count += has_it(&replied, i);
	if (replied.excess_count > 0 && good_count < replied.due_count)
		trouble(smtp, "end of mail: %u replies instead of %u, the client hears %d",
			replied.due_count + replied.excess_count, replied.due_count, reply->code);
	else if (good_count > 0 && good_count < replied.due_count)
		trouble(smtp, "end of mail: %u of %u recipients have it, the client hears %d",
			good_count, replied.due_count, reply->code);
	if (good_count > 0 && is_lmtp(smtp) && reply->code / 100 == 4)
		remember(smtp, &replied);
	free(replied.is_good);
	return good_count == replied.due_count;
}

/*
 * Leaves out the recipients that have this mail. false: *reply is that of the mail, as all have
 * it, or none of the others can be named any more.
 */
static bool name_others(struct sink_smtp *smtp, struct sink_reply *reply)
{
	struct lmtp *lmtp = &smtp->lmtp;
	const int64_t now_s = (int64_t)time(NULL);
	const unsigned named_count = smtp->recipient_count;
	unsigned count = 0;

	for (unsigned i = 0; i < named_count; i++) {
		if (!delivered_has(smtp->sink.delivered, key_of(smtp, i), lmtp->mail, now_s))
			smtp->recipients[count++] = smtp->recipients[i];
	}
	if (count == named_count)
		return true;
	smtp_abort(&smtp->sink);
	smtp->recipient_count = 0;
	if (count == 0) {
		(void)sink_say(reply, 250, "2.0.0 Ok: all recipients have it already");
		return false;
	}
	return name_again(smtp, count, reply);
}

/* What was kept goes to the next hop. false: *reply is that of the mail, which may be 2xx. */
static bool send_kept(struct sink_smtp *smtp, struct sink_reply *reply)
{
	struct lmtp *lmtp = &smtp->lmtp;

	lmtp->is_kept = false;
	if (!name_others(smtp, reply) || !begin_data(smtp, reply))
		return false;
	const int ret = remote_append(&smtp->remote, lmtp->content, lmtp->content_size);
	return ret == 0 || broken_mail(smtp, "mail", ret, reply);
}

static bool smtp_commit(struct sink *sink, struct sink_reply *reply)
{
	struct sink_smtp *smtp = smtp_of(sink);
	const bool has_hash = smtp->lmtp.is_content;

	smtp->lmtp.is_content = false;
	if (has_hash)
		delivered_hash_end(smtp->lmtp.hash, smtp->lmtp.mail);
	if (smtp->lmtp.is_kept && !send_kept(smtp, reply))
		return reply->code < 300;
	const int ret = remote_end(&smtp->remote, reply);
	if (ret < 0)
		return broken_mail(smtp, "end of mail", ret, reply);
	smtp->is_open = smtp->is_data = false;
	const bool is_good = pass_on(smtp, reply);
	return remote_is_open(&smtp->remote) ? read_others(smtp, reply) : is_good;
}

static void smtp_close(struct sink *sink)
{
	struct sink_smtp *smtp = smtp_of(sink);

	smtp_leave(sink);
	delivered_hash_free(smtp->lmtp.hash);
	free(smtp->recipients);
	free(smtp->lmtp.content);
	free(smtp);
}

int sink_smtp_open(const struct setup_sink *setup, struct sink **ret_sink)
{
	static const struct sink_ops ops = {
		.probe = smtp_probe,
		.mail = smtp_mail,
		.recipient = smtp_recipient,
		.begin = smtp_begin,
		.append = smtp_append,
		.mark = smtp_mark,
		.commit = smtp_commit,
		.abort = smtp_abort,
		.leave = smtp_leave,
		.close = smtp_close,
	};
	struct sink_smtp *smtp = calloc(1, sizeof(*smtp));
	if (smtp == NULL)
		return -ENOMEM;
	if (setup->kind == SETUP_SINK_LMTP) {
		smtp->lmtp.hash = delivered_hash_new();
		if (smtp->lmtp.hash == NULL) {
			free(smtp);
			return -ENOMEM;
		}
	}
	smtp->sink.ops = &ops;
	remote_init(&smtp->remote);
	*ret_sink = &smtp->sink;
	return 0;
}
