/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/worker/visit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/wire/lines.h"
#include "integration/mail/base/worker/intake.h"
#include "integration/mail/smtp-front/facts/account.h"
#include "integration/mail/smtp-front/worker/transact.h"
#include "lib/process/clock.h"

/* Of a line or chunk that is thrown away: more is a reason to hang up. As in the edge. */
#define SKIP_MAX (1024 * 1024)
/* For our last words to be taken. */
#define LAST_MS 1000
/* How long a client may be silent between mails, when the worker is to end. */
#define HANDOUT_MS 2000
/* Between looks at whether it is, or sessions wait: neither ends a wait. */
#define LOOK_MS 250

int64_t visit_deadline(const struct visit *visit)
{
	return stream_deadline(visit->parts.setup->edge.command_timeout_ms);
}

void visit_end(struct visit *visit, const char *word, bool lingers)
{
	if (visit->end != NULL)
		return;
	const volatile sig_atomic_t *is_told = visit->parts.is_told;
	/* What the client is said to have done is our own doing then. */
	visit->end = is_told != NULL && *is_told == INTAKE_CUT ? "drained" : word;
	visit->lingers = lingers;
}

/* ---- replies ---- */

void visit_say(struct visit *visit)
{
	const struct dialogue_event *event = &visit->event;
	const int ret =
		stream_put(&visit->stream, event->reply, event->reply_size, visit_deadline(visit));
	if (ret < 0)
		visit_end(visit, ret == -ETIMEDOUT ? "timeout" : "reset", false);
}

/* What follows any answer. */
void visit_finish_action(struct visit *visit, enum dialogue_action action)
{
	visit_say(visit);
	if (action == DIALOGUE_QUIT)
		visit_end(visit, "quit", false);
	else if (action == DIALOGUE_CLOSE)
		visit_end(visit, "error", true);
}

void visit_answer(struct visit *visit, const struct sink_reply *reply)
{
	visit_finish_action(visit, dialogue_answer(visit->dialogue, &visit->limits, reply->code,
						   reply->text, &visit->event));
}

void visit_refuse(struct visit *visit, enum dialogue_refusal refusal)
{
	visit_finish_action(
		visit, dialogue_refuse(visit->dialogue, &visit->limits, refusal, &visit->event));
}

void visit_time_out(struct visit *visit)
{
	visit_refuse(visit, DIALOGUE_TIMED_OUT);
	visit->end = "timeout";
}

/* ---- commands ---- */

static bool is_between_mails(const struct visit *visit)
{
	switch (visit->dialogue->state) {
	case DIALOGUE_AT_START:
	case DIALOGUE_AT_HELO:
	case DIALOGUE_AT_SPOILT:
	case DIALOGUE_AT_END:
		return true;
	default:
		return false;
	}
}

/* When a wait for a command ends, and what has happened then. */
struct patience {
	int64_t end_ms;
	int status;
};

static void shorten(struct patience *patience, int64_t end_ms, int status)
{
	if (end_ms < patience->end_ms)
		*patience = (struct patience){ end_ms, status };
}

/* The time of all of the session, or INT64_MAX. */
static int64_t whole_time_ms(const struct visit *visit)
{
	const unsigned timeout_ms = visit->parts.setup->limits.worker_timeout_ms;
	return timeout_ms > 0 ? (int64_t)timeout_ms : INT64_MAX / 4;
}

int64_t visit_last_end(const struct visit *visit)
{
	return visit->first_ms + 2 * whole_time_ms(visit);
}

/* The worker is to end: of a wait for a command that began at began_ms. */
static int64_t end_of_told(struct visit *visit, int64_t began_ms)
{
	const struct visit_parts *parts = &visit->parts;
	if (visit->told_ms == 0)
		visit->told_ms = stream_deadline(0);
	const int64_t late_ms =
		visit->told_ms + (is_between_mails(visit) ? 0 : parts->setup->edge.drain_ms);
	return (late_ms > began_ms ? late_ms : began_ms) + HANDOUT_MS;
}

/* Of a wait for the rest of a command that began at began_ms, with the wait itself at wait_ms. */
static struct patience patience_of(struct visit *visit, int64_t began_ms, int64_t wait_ms)
{
	const struct visit_parts *parts = &visit->parts;
	const struct edge_rules *edge = &parts->setup->edge;
	struct patience patience = { began_ms + edge->command_timeout_ms, -ETIMEDOUT };

	shorten(&patience,
		is_between_mails(visit) ? visit->first_ms + whole_time_ms(visit)
					: visit_last_end(visit),
		-ETIMEDOUT);
	if (parts->is_told != NULL && *parts->is_told != 0)
		shorten(&patience, end_of_told(visit, began_ms), -ESHUTDOWN);
	if (scoreboard_count(parts->scoreboard, SCOREBOARD_WAITING) > 0) {
		shorten(&patience, began_ms + parts->setup->limits.give_way_ms, -EBUSY);
		shorten(&patience, wait_ms + edge->stress_timeout_ms - visit->waited_ms, -EBUSY);
	}
	return patience;
}

static int wait_bytes(struct visit *visit, int64_t deadline_ms)
{
	const int64_t began_ms = deadline_ms - visit->parts.setup->edge.command_timeout_ms;
	const int64_t wait_ms = stream_deadline(0);
	struct patience patience = { 0, 0 };
	/* With all of the time: what is not taken at the end of a wait is lost. */
	int ret = stream_flush(&visit->stream, deadline_ms);
	if (ret < 0)
		return ret;
	do {
		const int64_t look_ms = stream_deadline(LOOK_MS);
		patience = patience_of(visit, began_ms, wait_ms);
		ret = stream_fill(&visit->stream,
				  look_ms < patience.end_ms ? look_ms : patience.end_ms);
	} while (ret == -ETIMEDOUT && stream_deadline(0) < patience.end_ms);
	visit->waited_ms += stream_deadline(0) - wait_ms;
	return ret == -ETIMEDOUT ? patience.status : ret;
}

static void wait_more(struct visit *visit, int64_t deadline_ms)
{
	const int ret = wait_bytes(visit, deadline_ms);
	if (ret > 0)
		return;
	if (ret == -ESHUTDOWN) {
		visit_refuse(visit, DIALOGUE_SHUTTING_DOWN);
		visit->end = "drained";
	} else if (ret == -EBUSY) {
		transact_count(visit, TALLY_GAVE_WAY, 1);
		visit_refuse(visit, DIALOGUE_BUSY);
		visit->end = "gave-way";
		/* It has sent nothing that our end could take its last reply from. */
		visit->lingers = false;
	} else if (ret == -ETIMEDOUT)
		visit_time_out(visit);
	else
		visit_end(visit, ret == 0 ? "hangup" : "reset", false);
}

/* Reads size bytes and forgets them. false: that was the end of the session, and was said. */
static bool swallow(struct visit *visit, uint64_t size)
{
	const int64_t deadline_ms = visit_deadline(visit);

	if (size > SKIP_MAX) {
		visit_say(visit);
		visit_end(visit, "error", true);
		return false;
	}
	while (size > 0) {
		size_t part = 0;
		(void)stream_bytes(&visit->stream, &part);
		if (part == 0) {
			wait_more(visit, deadline_ms);
			if (visit->end != NULL)
				return false;
			continue;
		}
		if (part > size)
			part = (size_t)size;
		stream_take(&visit->stream, part);
		size -= part;
	}
	return true;
}

/* A dialogue that is no longer in a transaction has none in the sink. */
static void settle(struct visit *visit)
{
	if (is_between_mails(visit))
		transact_forget(visit);
}

static void act(struct visit *visit, enum dialogue_action action)
{
	switch (action) {
	case DIALOGUE_MAIL:
		transact_mail(visit);
		break;
	case DIALOGUE_RECIPIENT:
		transact_recipient(visit);
		break;
	case DIALOGUE_DATA:
		transact_data(visit);
		break;
	case DIALOGUE_BDAT:
		transact_chunk(visit);
		break;
	case DIALOGUE_STARTTLS:
		visit_refuse(visit, DIALOGUE_NO_TLS);
		break;
	case DIALOGUE_XCLIENT:
		visit_refuse(visit, DIALOGUE_OTHER_CLIENT);
		break;
	case DIALOGUE_SWALLOW:
		if (swallow(visit, visit->event.chunk_size))
			visit_say(visit);
		break;
	case DIALOGUE_REPLY:
	case DIALOGUE_RESET:
	case DIALOGUE_QUIT:
	case DIALOGUE_CLOSE:
		visit_finish_action(visit, action);
		break;
	}
	settle(visit);
}

/* To the end of a line that is too long. */
static void skip_line(struct visit *visit, int64_t deadline_ms)
{
	enum lines_status status = LINES_MORE;
	size_t skipped = 0;

	while (status != LINES_READY && visit->end == NULL) {
		size_t size = 0;
		size_t used = 0;
		const uint8_t *bytes = stream_bytes(&visit->stream, &size);
		status = lines_skip(bytes, size, visit->takes_lf, &used);
		stream_take(&visit->stream, used);
		skipped += used;
		if (status == LINES_READY)
			break;
		wait_more(visit, deadline_ms);
		if (skipped > SKIP_MAX)
			visit_end(visit, "error", true);
	}
	act(visit,
	    dialogue_malformed(visit->dialogue, &visit->limits, LINES_TOO_LONG, &visit->event));
}

static void take_line(struct visit *visit, const uint8_t *bytes, size_t line_size, size_t end_size)
{
	char line[DIALOGUE_LINE_MAX];
	/* Copied: what is read of a mail goes to the same buffer. */
	memcpy(line, bytes, line_size);
	stream_take(&visit->stream, line_size + end_size);
	const enum dialogue_action action =
		dialogue_step(visit->dialogue, &visit->limits, line, line_size, &visit->event);
	visit_log_command(visit, line, line_size);
	act(visit, action);
}

/* One command, waiting for it. */
static void take_command(struct visit *visit)
{
	const int64_t deadline_ms = visit_deadline(visit);
	enum lines_status status = LINES_MORE;

	while (visit->end == NULL && status == LINES_MORE) {
		size_t size = 0;
		size_t line_size = 0;
		const uint8_t *bytes = stream_bytes(&visit->stream, &size);
		status = lines_take(bytes, size, DIALOGUE_LINE_MAX, &line_size);
		if (status == LINES_READY)
			take_line(visit, bytes, line_size, LINES_END_SIZE);
		else if (status == LINES_LONE_LF && visit->takes_lf)
			take_line(visit, bytes, line_size, LINES_LF_SIZE);
		else if (status == LINES_MORE)
			wait_more(visit, deadline_ms);
		else if (status == LINES_TOO_LONG)
			skip_line(visit, deadline_ms);
		else
			act(visit, dialogue_malformed(visit->dialogue, &visit->limits, status,
						      &visit->event));
	}
}

/* ---- a session ---- */

static void linger(struct visit *visit)
{
	if (stream_flush(&visit->stream, stream_deadline(LAST_MS)) == 0 && visit->lingers)
		stream_linger(&visit->stream);
}

static void begin_session(struct visit *visit, struct capsule *capsule, int fd)
{
	visit->capsule = capsule;
	visit->dialogue = &capsule->dialogue;
	(void)session_facts_format_id(capsule->facts.id, visit->id);
	visit->end = NULL;
	visit->lingers = false;
	visit->takes_lf = setup_takes_lf(visit->parts.setup, &capsule->facts.client_ip);
	visit->limits.withheld = sink_lacks(visit->parts.sink);
	visit->limits.offers_xclient = capsule->facts.is_xclient;
	visit->session = (struct sink_session){
		.facts = capsule->facts,
		.helo = capsule->dialogue.helo,
		.is_esmtp = capsule->dialogue.is_esmtp,
	};
	visit->mail_count = visit->committed_count = 0;
	visit->recipient_count = 0;
	visit->sender[0] = '\0';
	visit->told_ms = visit->waited_ms = 0;
	visit->first_ms = stream_deadline(0);
	memset(&visit->latest, 0, sizeof(visit->latest));
	visit_log_begin(visit);
	visit->began_us = clock_now_us();
	visit->cpu_began_us = clock_spent_us();
	stream_init(&visit->stream, fd);
	(void)stream_seed(&visit->stream, capsule->unread, capsule->unread_size);
}

static void write_account(const struct visit *visit)
{
	const struct capsule *capsule = visit->capsule;
	const uint64_t ended_us = clock_now_us();
	struct account account = {
		.session.facts = capsule->facts,
		.session.by = "worker",
		.session.end = visit->end,
		.session.zones = capsule->zones,
		.session.tls = capsule->tls_protocol,
		.session.command_count = visit->dialogue->command_count,
		.session.queue_us = visit->began_us > capsule->queued_at_us
					    ? visit->began_us - capsule->queued_at_us
					    : 0,
		.session.worker_ms = (ended_us - visit->began_us) / 1000,
		.session.worker_cpu_us = clock_spent_us() - visit->cpu_began_us,
		.helo = visit->dialogue->helo,
		.sender = visit->sender,
		.recipient = visit->latest.address,
		.mail_count = visit->committed_count,
		.recipient_count = visit->recipient_count,
	};
	account.session.facts.bytes_in += capsule->unread_size + visit->stream.bytes_in;
	account.session.facts.bytes_out += visit->stream.bytes_out;
	account_log(&account);
}

/* Nothing was said yet, and it is smtpd that will. */
static void pass(struct visit *visit, int fd)
{
	struct sink_reply reply;
	char text[REPLY_MAX];

	if (sink_pass(visit->parts.sink, fd, &reply)) {
		transact_let_by(visit);
		visit_end(visit, "passed", false);
	} else {
		const size_t size = reply_make(reply.code, reply.text, text);
		(void)stream_put(&visit->stream, text, size, visit_deadline(visit));
		visit_end(visit, "busy", true);
	}
	transact_look(visit, visit->parts.sink);
}

unsigned visit_finish(struct visit *visit, struct capsule *capsule, int fd)
{
	begin_session(visit, capsule, fd);
	sink_enter(visit->parts.sink, &visit->session);
	if (visit->parts.asker != NULL)
		sink_enter(visit->parts.asker, &visit->session);
	if (capsule->kind == CAPSULE_CONNECTED)
		pass(visit, fd);
	else
		transact_first(visit);
	while (visit->end == NULL)
		take_command(visit);
	transact_forget(visit);
	linger(visit);
	intake_close(fd);
	sink_leave(visit->parts.sink);
	if (visit->parts.asker != NULL)
		sink_leave(visit->parts.asker);
	transact_count(visit, TALLY_FINISHED, 1);
	visit_log_end(visit);
	write_account(visit);
	return visit->mail_count;
}

void visit_put_off(struct visit *visit, struct capsule *capsule, int fd)
{
	begin_session(visit, capsule, fd);
	visit_refuse(visit, DIALOGUE_BUSY);
	/* Without waiting for its client: there are others that have waited. */
	visit->end = "busy";
	visit->lingers = false;
	linger(visit);
	intake_close(fd);
	transact_count(visit, TALLY_QUEUE_LATE, 1);
	transact_count(visit, TALLY_FINISHED, 1);
	write_account(visit);
}

int visit_new(const struct visit_parts *parts, struct visit **ret_visit)
{
	struct visit *visit = calloc(1, sizeof(*visit));
	const struct setup *setup = parts->setup;
	if (visit == NULL)
		return -ENOMEM;
	const struct screen_parts screen_parts = { parts->sink, parts->scanner, &setup->scan };
	visit->parts = *parts;
	screen_init(&visit->screen, &screen_parts);
	/* Without TLS: the edge has seen to that, and in a worker it cannot begin any more. */
	visit->limits = setup->dialogue;
	visit->limits.hostname = setup->front.hostname;
	*ret_visit = visit;
	return 0;
}

void visit_free(struct visit *visit)
{
	free(visit);
}
