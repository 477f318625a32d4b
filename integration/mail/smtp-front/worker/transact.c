/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/worker/transact.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/common/log.h"
#include "lib/process/clock.h"

void transact_count(const struct visit *visit, enum tally_number number, uint64_t value)
{
	bank_add(visit->parts.counters, number, value);
}

/* What all workers have in common. */
static void log_news(struct visit *visit, struct sink *sink, const char *trouble)
{
	static const char program[] = "smtp-front";
	uint64_t down_ms = 0;

	switch (sink_news(sink, &down_ms)) {
	case SINK_NEWS_NONE:
		return;
	case SINK_NEWS_DOWN:
		transact_count(visit, TALLY_HOP_FAILURES, 1);
		log_warning(program, "next hop is down, to=%s (%s)", sink->setup->to.text, trouble);
		return;
	case SINK_NEWS_UP:
		log_info(program, "next hop is there again, to=%s down_ms=%llu",
			 sink->setup->to.text, (unsigned long long)down_ms);
		return;
	}
}

/* What a client must not hear about a sink that fails. */
void transact_look(struct visit *visit, struct sink *sink)
{
	char trouble[SINK_TROUBLE_MAX];
	const char *remark = sink_remark(sink);
	const bool has_failed = sink_trouble(sink, trouble);

	for (char *at = trouble; *at != '\0'; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
	log_news(visit, sink, trouble);
	if (remark != NULL)
		log_warning(visit->id, "next hop is not as wanted, to=%s (%s)",
			    sink->setup->to.text, remark);
	if (!has_failed)
		return;
	transact_count(visit, TALLY_SINK_FAILURES, 1);
	log_warning(visit->id, "mail not delivered, to=%s (%s)", sink->setup->to.text, trouble);
}

void transact_let_by(const struct visit *visit)
{
	const uint64_t keep_ms = visit->parts.setup->edge.greet_cache_ms;
	if (passed_confirm(visit->parts.passed, &visit->capsule->facts.client_ip,
			   (uint64_t)stream_deadline(0), keep_ms))
		transact_count(visit, TALLY_PASSED, 1);
}

/* ---- MAIL and RCPT ---- */

static void drop_parcel(struct visit *visit)
{
	parcel_abort(&visit->parcel);
	visit->has_parcel = false;
}

/* A mail whose last chunk has not come. */
static void cut_parcel(struct visit *visit)
{
	const bool is_refused = visit->event.verb == COMMAND_BDAT && visit->event.reply_code >= 400;
	visit_log_mail(visit, is_refused ? "refused" : "cut", is_refused ? "protocol" : "aborted");
	drop_parcel(visit);
}

void transact_forget(struct visit *visit)
{
	if (visit->has_parcel)
		cut_parcel(visit);
	if (visit->is_in_sink)
		sink_abort(visit->parts.sink);
	visit->is_in_sink = visit->is_refused = false;
}

/* Why the sink refuses its reply says. */
static const char *sink_name(const struct visit *visit)
{
	const enum setup_sink_kind kind = visit->parts.setup->sink.kind;
	return kind == SETUP_SINK_SMTP || kind == SETUP_SINK_LMTP ? "next hop" : "sink";
}

static bool begin_mail(struct visit *visit, struct sink_reply *reply)
{
	const struct envelope *envelope = &visit->dialogue->envelope;

	transact_forget(visit);
	maillog_list_clear(&visit->recipients);
	(void)snprintf(visit->sender, sizeof(visit->sender), "%s", envelope->sender);
	visit->is_in_sink = sink_mail(visit->parts.sink, envelope, reply);
	transact_look(visit, visit->parts.sink);
	return visit->is_in_sink;
}

void transact_mail(struct visit *visit)
{
	struct sink_reply reply;
	const bool is_fine = begin_mail(visit, &reply);
	visit_answer(visit, &reply);
	if (!is_fine)
		visit_log_refusal(visit, NULL, sink_name(visit));
}

/* A next hop that is not the sink is asked as by a client that sends it a mail, from <>. */
static bool ask_asker(struct visit *visit, const struct recipient *recipient,
		      struct sink_reply *reply)
{
	struct sink *asker = visit->parts.asker;
	const struct envelope no_sender = { .is_utf8 = visit->dialogue->envelope.is_utf8 };
	bool is_fine = sink_mail(asker, &no_sender, reply);
	/* A 5xx to MAIL is not about the recipient, unless it may be about SMTPUTF8. */
	if (!is_fine && reply->code >= 500 && !no_sender.is_utf8)
		sink_say(reply, 451, "4.3.0 Recipients cannot be verified now, try again later");
	is_fine = is_fine && sink_recipient(asker, recipient, NULL, reply);
	sink_abort(asker);
	transact_look(visit, asker);
	return is_fine;
}

/*
 * Asks the next hop, but only once in a while about a recipient that it knows: mails are for few
 * recipients, and each question is a connection. A recipient that it refuses is asked about each
 * time; it may be there by now.
 */
static bool is_known(struct visit *visit, const struct recipient *recipient,
		     struct sink_reply *reply)
{
	static const struct callforward_answer yes = { 250, "" };
	const uint64_t keep_ms = visit->parts.setup->trust.forward_cache_ms;
	const bool is_utf8 = visit->dialogue->envelope.is_utf8;
	const size_t size = strlen(recipient->address);
	struct callforward_answer answer;

	if (answers_find(visit->parts.known, recipient->address, size, is_utf8, clock_now_ms(),
			 &answer))
		return true;
	if (!ask_asker(visit, recipient, reply))
		return false;
	answers_put(visit->parts.known, recipient->address, size, is_utf8, &yes, clock_now_ms(),
		    clock_now_ms() + keep_ms);
	return true;
}

/* Where no list names it: the address, as it is when it is not quoted. */
static void make_mailbox(struct visit *visit, const struct recipient *recipient)
{
	const size_t size = strlen(recipient->address);
	char *name = visit->mailboxes.names[0];
	if (!users_make_entry(recipient->address, size, name))
		(void)snprintf(name, USERS_ENTRY_SIZE, "%s", recipient->address);
	visit->mailboxes.count = 1;
}

/* false: it is refused, and that was said. */
static bool is_ours(struct visit *visit, const struct recipient *recipient)
{
	static const struct {
		enum dialogue_refusal refusal;
		enum tally_number number;
		const char *reason;
	} rules[] = {
		[USERS_UNKNOWN] = { DIALOGUE_NO_SUCH_USER, TALLY_RECIPIENTS_UNKNOWN, "unknown" },
		[USERS_NOT_OURS] = { DIALOGUE_NOT_OURS, TALLY_RECIPIENTS_RELAY, "not ours" },
	};
	struct users *users = visit->parts.users;

	if (users == NULL) {
		make_mailbox(visit, recipient);
		return true;
	}
	const int found = users_find_mailboxes(users, recipient->address,
					       strlen(recipient->address), &visit->mailboxes);
	if (found == USERS_VALID)
		return true;
	if (found < 0) {
		log_error(visit->id, "recipient not looked up (%s)", users_strerror(found));
		transact_count(visit, TALLY_RECIPIENTS_FAILED, 1);
		visit_refuse(visit, DIALOGUE_TRY_LATER);
		visit_log_refusal(visit, recipient->address, "not looked up");
		return false;
	}
	transact_count(visit, rules[found].number, 1);
	visit_refuse(visit, rules[found].refusal);
	visit_log_refusal(visit, recipient->address, rules[found].reason);
	return false;
}

/* The sink has the last word about a recipient that was found. */
static void add_recipient(struct visit *visit, const struct recipient *recipient)
{
	struct sink_reply reply = visit->refusal;
	bool is_fine = !visit->is_refused;

	if (is_fine) {
		is_fine = sink_recipient(visit->parts.sink, recipient, &visit->mailboxes, &reply);
		transact_look(visit, visit->parts.sink);
	}
	visit_answer(visit, &reply);
	if (is_fine) {
		visit->latest = *recipient;
		maillog_list_add(&visit->recipients, recipient->address);
		return;
	}
	visit->capsule->facts.refused_count++;
	visit_log_refusal(visit, recipient->address, sink_name(visit));
}

void transact_recipient(struct visit *visit)
{
	const struct recipient *recipient = &visit->event.recipient;
	struct sink_reply reply;

	if (!is_ours(visit, recipient)) {
		visit->capsule->facts.refused_count++;
		return;
	}
	/* Where the sink has refused the mail it has refused them all. */
	if (visit->parts.asker != NULL && !visit->is_refused &&
	    !is_known(visit, recipient, &reply)) {
		visit->capsule->facts.refused_count++;
		visit_answer(visit, &reply);
		visit_log_refusal(visit, recipient->address, "next hop");
		return;
	}
	add_recipient(visit, recipient);
}

/*
 * The edge has said 250 to MAIL, so what the sink says to it is the answer to each RCPT. The list,
 * or the next hop, is asked again, for an edge speaks with strangers: one that they have taken over
 * shall not make a relay of us.
 */
void transact_first(struct visit *visit)
{
	visit->is_refused = !begin_mail(visit, &visit->refusal);
	visit->event.recipient = visit->capsule->recipient;
	visit->dialogue->recipient_count = 0; /* whatever the edge says */
	transact_recipient(visit);
}

/* ---- the mail ---- */

static void make_header(struct visit *visit)
{
	const struct capsule *capsule = visit->capsule;
	const struct dialogue *dialogue = visit->dialogue;
	const struct trace trace = {
		.helo = dialogue->helo,
		.facts = capsule->facts,
		.hostname = visit->parts.setup->front.hostname,
		.tls_protocol = capsule->tls_protocol,
		.tls_cipher = capsule->tls_cipher,
		.is_esmtp = dialogue->is_esmtp,
		.is_utf8 = dialogue->envelope.is_utf8,
		.mail_number = visit->mail_count,
		.recipient = dialogue->recipient_count == 1 ? visit->latest.address : NULL,
		.now_s = (int64_t)time(NULL),
	};
	const size_t size = trace_make(&trace, visit->header);
	if (capsule->header[0] != '\0')
		(void)snprintf(visit->header + size, TRANSACT_HEADER_MAX - size, "%s: %s\r\n",
			       JUDGE_HEADER_NAME, capsule->header);
}

/* What other scanners are told. */
static void make_scan_facts(struct visit *visit)
{
	const struct maillog_list *list = &visit->recipients;
	size_t count = 0;

	for (size_t at = 0; at < list->size && count < TRANSACT_SCAN_RECIPIENTS;
	     at += strlen(list->bytes + at) + 1)
		visit->scan_recipients[count++] = list->bytes + at;
	(void)dnsblv6_ip_format(&visit->capsule->facts.client_ip, visit->client_text);
	visit->scan_facts = (struct scan_envelope){
		.client = visit->client_text,
		.helo = visit->dialogue->helo,
		.sender = visit->sender,
		.recipients = visit->scan_recipients,
		.recipient_count = count,
		.id = visit->id,
	};
}

/* false: the sink has refused, or failed; the parcel has the reply. */
static bool begin_parcel(struct visit *visit)
{
	const struct setup_limits *limits = &visit->parts.setup->limits;
	const struct pace_rules rules = {
		.scoreboard = visit->parts.scoreboard,
		.timeout_ms = limits->data_timeout_ms,
		.stress_timeout_ms = visit->parts.setup->edge.stress_timeout_ms,
		.rate = limits->data_rate,
		.stress_rate = limits->stress_data_rate,
		.end_ms = visit_last_end(visit),
	};
	const struct screen_mail mail = {
		.envelope = &visit->dialogue->envelope,
		.facts = &visit->scan_facts,
		.header = visit->header,
	};

	visit->mail_count++;
	visit->has_parcel = true;
	make_header(visit);
	make_scan_facts(visit);
	const bool is_fine = parcel_begin(&visit->parcel, &visit->screen, &mail, &visit->stream,
					  visit->limits.size_max, &rules);
	visit->parcel.body.takes_lf = visit->takes_lf;
	transact_look(visit, visit->parts.sink);
	return is_fine;
}

/* The client is no longer there, or as good as. Nothing of the mail is committed. */
static void lose_mail(struct visit *visit, int status)
{
	static const struct sink_reply too_much = { 521, "5.3.4 Mail larger than we take" };
	const bool is_refused = status == -EMSGSIZE;
	const char *reason = "client gone";

	transact_look(visit, visit->parts.sink);
	transact_count(visit, is_refused ? TALLY_MAILS_REFUSED : TALLY_MAILS_CUT, 1);
	drop_parcel(visit);
	transact_forget(visit);
	visit->event.reply_code = 0;
	if (status == -ETIMEDOUT) {
		visit_time_out(visit);
		reason = "timed out";
	} else if (is_refused) {
		visit_answer(visit, &too_much);
		reason = body_refusal_name(BODY_TOO_LARGE);
	}
	visit_log_mail(visit, is_refused ? "refused" : "cut", reason);
	visit_end(visit, "reset", false);
}

/* Has the scanner, and not the sink, decided about the mail? */
static bool is_by_scanner(const struct visit *visit)
{
	return visit->screen.has_verdict && visit->screen.action >= SCAN_DEFER;
}

static void note_verdict(struct visit *visit)
{
	static const enum tally_number numbers[] = {
		[SCAN_ACCEPT] = TALLY_SCANNED_CLEAN,
		[SCAN_MARK] = TALLY_SCANNED_MARKED,
		[SCAN_QUARANTINE] = TALLY_SCANNED_QUARANTINED,
		[SCAN_DEFER] = TALLY_SCANNED_DEFERRED,
		[SCAN_REJECT] = TALLY_SCANNED_REFUSED,
	};
	const struct screen *screen = &visit->screen;

	if (!screen->has_verdict)
		return;
	transact_count(visit, numbers[screen->action], 1);
	log_info(visit->id, "mail scanned, number=%u %s", visit->mail_count, screen->log);
}

/* Of a mail that has ended, in the words of the counters. */
static void log_end(struct visit *visit)
{
	const struct parcel *parcel = &visit->parcel;
	const char *reason = parcel->reason;
	if (reason == NULL)
		reason = is_by_scanner(visit) ? "scanner" : sink_name(visit);
	note_verdict(visit);
	if (parcel->reply.code < 300)
		visit_log_mail(visit, "accepted", NULL);
	else
		visit_log_mail(visit, parcel->reply.code >= 500 ? "refused" : "deferred", reason);
}

static void count_mail(struct visit *visit)
{
	const int code = visit->parcel.reply.code;
	const unsigned recipient_count = visit->dialogue->recipient_count;

	if (code >= 300) {
		transact_count(visit, code >= 500 ? TALLY_MAILS_REFUSED : TALLY_MAILS_DEFERRED, 1);
		return;
	}
	transact_count(visit, TALLY_MAILS_COMMITTED, 1);
	transact_let_by(visit);
	if (visit->parcel.body.has_lf)
		transact_count(visit, TALLY_MAILS_NORMALIZED, 1);
	transact_count(visit, TALLY_RECIPIENTS, recipient_count);
	transact_count(visit, TALLY_BYTES, visit->parcel.body.size);
	visit->committed_count++;
	visit->recipient_count += recipient_count;
}

/* Commits, and says how that went. From here on the transaction is over in any case. */
static void end_mail(struct visit *visit, bool is_chunked)
{
	const bool is_committed = parcel_end(&visit->parcel, is_chunked);
	transact_look(visit, visit->parts.sink);
	count_mail(visit);
	if (is_committed)
		visit->is_in_sink = false;
	visit_answer(visit, &visit->parcel.reply);
	log_end(visit);
	drop_parcel(visit);
	transact_forget(visit);
	visit->waited_ms = 0;
	const int ret = stream_flush(&visit->stream, visit_deadline(visit));
	if (ret == 0)
		return;
	visit_end(visit, ret == -ETIMEDOUT ? "timeout" : "reset", false);
	if (is_committed)
		log_info(visit->id, "mail committed whose client was gone, number=%u (%s)",
			 visit->mail_count, strerror(-ret));
}

void transact_data(struct visit *visit)
{
	if (!begin_parcel(visit)) {
		end_mail(visit, false); /* in place of 354 */
		return;
	}
	visit_say(visit);
	if (visit->end != NULL)
		return;
	const int ret = parcel_take_data(&visit->parcel);
	if (ret < 0)
		lose_mail(visit, ret);
	else
		end_mail(visit, false);
}

void transact_chunk(struct visit *visit)
{
	const bool is_last = visit->event.is_last;

	if (!visit->has_parcel)
		(void)begin_parcel(visit);
	const int ret = parcel_take_chunk(&visit->parcel, visit->event.chunk_size);
	if (ret < 0) {
		lose_mail(visit, ret);
		return;
	}
	if (is_last || visit->parcel.is_failed) {
		end_mail(visit, true);
		return;
	}
	visit_finish_action(visit, dialogue_accept(visit->dialogue, &visit->limits, &visit->event));
}
