/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/worker/popvisit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "integration/mail/base/worker/intake.h"
#include "integration/mail/base/worker/stream.h"
#include "integration/mail/pop-front/facts/popaccount.h"
#include "integration/mail/pop-front/facts/popcount.h"
#include "integration/mail/pop-front/facts/poplimits.h"
#include "integration/mail/pop-front/worker/maildrop.h"
#include "integration/mail/pop-front/worker/popretrieve.h"
#include "lib/common/log.h"
#include "lib/mailstore/status.h"
#include "lib/process/clock.h"

/* Of a line that is too long: with more the session ends. */
#define SKIP_MAX 65536
/* A look at whether the worker is to end, while a client is waited for. */
#define LOOK_MS 500

static const char end_of_mail[] = ".\r\n";

struct popvisit {
	struct popvisit_parts parts;
	struct maildrop maildrop;
	struct pop3_limits limits;
	/* Of the session in hand. */
	struct stream stream;
	struct pop3_dialogue dialogue;
	struct pop3_event event;
	struct popaccount account;
	char id[SESSION_ID_SIZE];
	int64_t end_ms; /* by stream_deadline(), when all of it is over */
	size_t skip_count;
	bool is_skipping;
	bool is_over;
	uint8_t room[POPRETRIEVE_SMALL_MAX];
};

int popvisit_new(const struct popvisit_parts *parts, struct popvisit **ret_visit)
{
	struct popvisit *visit = calloc(1, sizeof(*visit));
	if (visit == NULL)
		return -ENOMEM;
	visit->parts = *parts;
	poplimits_make(parts->setup, &visit->limits);
	maildrop_init(parts->setup->store.text, &visit->maildrop);
	visit->maildrop.timeout_ms = (int)parts->setup->store_timeout_ms;
	*ret_visit = visit;
	return 0;
}

void popvisit_free(struct popvisit *visit)
{
	if (visit == NULL)
		return;
	maildrop_deinit(&visit->maildrop);
	free(visit);
}

static void count(struct popvisit *visit, enum popcount_number number, uint64_t value)
{
	bank_add(visit->parts.counters, number, value);
}

/* ---- words ---- */

static void end(struct popvisit *visit, const char *how)
{
	const volatile sig_atomic_t *is_told = visit->parts.is_told;
	/* What the client is said to have done is our own doing then. */
	const bool is_cut = is_told != NULL && *is_told == INTAKE_CUT;
	if (!visit->is_over)
		visit->account.session.end = is_cut ? "drained" : how;
	visit->is_over = true;
}

static int64_t send_deadline(const struct popvisit *visit)
{
	const int64_t due_ms = stream_deadline(visit->parts.setup->limits.send_timeout_ms);
	return due_ms < visit->end_ms ? due_ms : visit->end_ms;
}

/* Of what is sent to the client. */
static bool has_sent(struct popvisit *visit, int status)
{
	if (status != 0)
		end(visit, status == -ETIMEDOUT ? "stuck" : "reset");
	return status == 0;
}

static bool put(struct popvisit *visit, const void *bytes, size_t size)
{
	return has_sent(visit, stream_put(&visit->stream, bytes, size, send_deadline(visit)));
}

static bool flush(struct popvisit *visit)
{
	return has_sent(visit, stream_flush(&visit->stream, send_deadline(visit)));
}

static bool say(struct popvisit *visit)
{
	return put(visit, visit->event.reply, visit->event.reply_size);
}

static enum pop3_action accept_it(struct popvisit *visit)
{
	return pop3_dialogue_accept(&visit->dialogue, &visit->limits, &visit->maildrop.drop,
				    &visit->event);
}

static enum pop3_action refuse(struct popvisit *visit, enum pop3_refusal refusal)
{
	return pop3_dialogue_refuse(&visit->dialogue, &visit->limits, refusal, &visit->event);
}

static void log_store(const struct popvisit *visit, const char *what, int status)
{
	log_error(visit->id, "%s, mailbox=%s socket=%s (%s)", what, visit->maildrop.mailbox,
		  visit->parts.setup->store.text, mailstore_strerror(status));
}

/* ---- the maildrop ---- */

/* The answer to the login that the edge has left open. */
static enum pop3_action open_maildrop(struct popvisit *visit, const char *mailbox)
{
	const int ret =
		maildrop_open(&visit->maildrop, mailbox, visit->parts.setup->limits.messages_max);
	if (ret == 0) {
		visit->account.message_count = visit->maildrop.drop.message_count;
		count(visit, POP_LOGINS, 1);
		return accept_it(visit);
	}
	if (ret == -EBUSY) {
		count(visit, POP_IN_USE, 1);
		end(visit, "in-use");
		return refuse(visit, POP3_IN_USE);
	}
	count(visit, POP_STORE_FAILURES, 1);
	log_store(visit, "maildrop not opened", ret);
	end(visit, "store");
	return refuse(visit, POP3_TRY_LATER);
}

static void update(struct popvisit *visit)
{
	const struct pop3_maildrop *drop = &visit->maildrop.drop;
	const uint64_t deleted = drop->message_count - drop->left_count;
	const int ret = maildrop_update(&visit->maildrop);
	if (ret == 0) {
		count(visit, POP_DELETED, deleted);
		visit->account.deleted_count = deleted;
		(void)accept_it(visit);
	} else {
		count(visit, POP_NOT_DELETED, 1);
		log_store(visit, "mails not deleted", ret);
		(void)refuse(visit, POP3_NOT_REMOVED);
	}
	/* The next session of this user may come as soon as the client has read the answer. */
	maildrop_close(&visit->maildrop);
	say(visit);
	end(visit, ret == 0 ? "quit" : "not-removed");
}

/* ---- mails ---- */

static void log_damage(struct popvisit *visit, const char *uid)
{
	count(visit, POP_DAMAGED, 1);
	log_error(visit->id, "mail is damaged, id=%s mailbox=%s (run mail-store fsck)", uid,
		  visit->maildrop.mailbox);
}

/* The client hears of it, and the session goes on: another mail may be fine. */
static void refuse_mail(struct popvisit *visit, int status)
{
	const char *uid = visit->maildrop.drop.messages[visit->event.index].uid;
	enum pop3_action action = POP3_REPLY;
	if (status == DNSBLV6_ENOTFOUND) {
		(void)pop3_dialogue_answer(&visit->dialogue, &visit->limits, false,
					   "this message has been removed by another program",
					   &visit->event);
	} else if (status == MAILSTORE_EDAMAGED) {
		log_damage(visit, uid);
		(void)refuse(visit, POP3_DAMAGED);
	} else {
		count(visit, POP_STORE_FAILURES, 1);
		log_store(visit, "mail not read", status);
		/* Of a disk that does not give one mail, others may be fine; a store that is away gives none. */
		action = refuse(visit, status == -EIO ? POP3_DAMAGED : POP3_TRY_LATER);
	}
	say(visit);
	if (action == POP3_CLOSE)
		end(visit, "error");
}

static void fail_amid(struct popvisit *visit, const char *uid, int status)
{
	/* The disk's; what else comes here is the connection's. */
	const bool is_disk = status == -EIO;
	if (status == MAILSTORE_EDAMAGED)
		log_damage(visit, uid);
	if (is_disk) {
		count(visit, POP_STORE_FAILURES, 1);
		log_store(visit, "mail not read", status);
	}
	end(visit, status == MAILSTORE_EDAMAGED ? "damaged"
		   : status == -ETIMEDOUT	? "stuck"
		   : is_disk			? "store"
						: "reset");
	stream_drop(&visit->stream);
}

/* Small: what is wrong with it is seen before anything is said. */
static void send_small(struct popvisit *visit, const struct popretrieve *mail)
{
	const int ret = popretrieve_read(mail, visit->room);
	if (ret != 0) {
		refuse_mail(visit, ret);
		return;
	}
	(void)accept_it(visit);
	if (say(visit) && put(visit, visit->room, (size_t)mail->size))
		put(visit, end_of_mail, sizeof(end_of_mail) - 1);
}

static void send_large(struct popvisit *visit, const struct popretrieve *mail, const char *uid)
{
	(void)accept_it(visit);
	if (!say(visit))
		return;
	const int ret = popretrieve_send(mail, &visit->stream, visit->room);
	if (ret != 0)
		fail_amid(visit, uid, ret);
	else
		put(visit, end_of_mail, sizeof(end_of_mail) - 1);
}

static void send_top(struct popvisit *visit, const struct popretrieve *mail, const char *uid)
{
	const uint64_t line_count = visit->event.line_count;
	(void)accept_it(visit);
	if (!say(visit))
		return;
	const int ret = popretrieve_top(mail, line_count, &visit->stream, visit->room);
	if (ret != 0)
		fail_amid(visit, uid, ret);
	else
		put(visit, end_of_mail, sizeof(end_of_mail) - 1);
}

static void retrieve(struct popvisit *visit, bool is_top)
{
	struct mailrecord record;
	struct popretrieve mail = {
		.send_timeout_ms = visit->parts.setup->limits.send_timeout_ms,
		.end_ms = visit->end_ms,
	};
	const char *uid = visit->maildrop.drop.messages[visit->event.index].uid;
	const int ret =
		maildrop_find(&visit->maildrop, visit->event.index, &record, &mail.at, &mail.fd);
	if (ret != 0) {
		refuse_mail(visit, ret);
		return;
	}
	mail.size = record.wire_size;
	mail.crc = record.body_crc;
	if (is_top)
		send_top(visit, &mail, uid);
	else if (mail.size <= POPRETRIEVE_SMALL_MAX)
		send_small(visit, &mail);
	else
		send_large(visit, &mail, uid);
	if (visit->is_over)
		return;
	count(visit, is_top ? POP_TOPS : POP_RETRIEVED, 1);
	if (is_top)
		visit->account.top_count++;
	else
		visit->account.retrieved_count++;
	count(visit, POP_BYTES, is_top ? 0 : mail.size);
}

static void say_list(struct popvisit *visit)
{
	struct pop3_list list = visit->event.list;
	size_t size = 0;
	bool is_fine = say(visit);
	while (is_fine && (size = pop3_list_fill(&list, &visit->maildrop.drop, (char *)visit->room,
						 sizeof(visit->room))) > 0)
		is_fine = put(visit, visit->room, size);
}

/* ---- commands ---- */

static void act(struct popvisit *visit, enum pop3_action action)
{
	switch (action) {
	case POP3_LIST:
		say_list(visit);
		return;
	case POP3_RETR:
	case POP3_TOP:
		retrieve(visit, action == POP3_TOP);
		return;
	case POP3_UPDATE:
		update(visit);
		return;
	case POP3_AUTHENTICATE:
	case POP3_STLS:
		/* An edge's alone: nothing leads back there. */
		(void)refuse(visit, POP3_TRY_LATER);
		say(visit);
		return;
	case POP3_QUIT:
		say(visit);
		end(visit, "quit");
		return;
	case POP3_CLOSE:
		say(visit);
		count(visit, POP_ERRORS, 1);
		end(visit, "error");
		return;
	case POP3_REPLY:
		say(visit);
		return;
	}
}

/* The end of a line that is too long. False: it has not come. */
static bool skip_line(struct popvisit *visit, const uint8_t *bytes, size_t size)
{
	size_t used = 0;
	const enum lines_status status = lines_skip(bytes, size, false, &used);
	stream_take(&visit->stream, used);
	visit->skip_count += used;
	if (status != LINES_READY && visit->skip_count <= SKIP_MAX)
		return false;
	visit->is_skipping = false;
	act(visit, pop3_dialogue_malformed(&visit->dialogue, &visit->limits, LINES_TOO_LONG,
					   &visit->event));
	if (status != LINES_READY)
		end(visit, "error");
	return true;
}

/* One command. False when there is no whole one. */
static bool take_command(struct popvisit *visit)
{
	size_t size = 0;
	size_t line_size = 0;
	const uint8_t *bytes = stream_bytes(&visit->stream, &size);
	if (visit->is_skipping)
		return skip_line(visit, bytes, size);
	const enum lines_status status =
		lines_take(bytes, size, pop3_dialogue_line_max(&visit->dialogue), &line_size);
	if (status == LINES_MORE)
		return false;
	if (status == LINES_TOO_LONG) {
		visit->is_skipping = true;
		visit->skip_count = 0;
		return true;
	}
	if (status != LINES_READY) {
		act(visit, pop3_dialogue_malformed(&visit->dialogue, &visit->limits, status,
						   &visit->event));
		return true;
	}
	const enum pop3_action action =
		pop3_dialogue_step(&visit->dialogue, &visit->limits, &visit->maildrop.drop,
				   (const char *)bytes, line_size, &visit->event);
	stream_take(&visit->stream, line_size + LINES_END_SIZE);
	act(visit, action);
	return true;
}

/* ---- waiting ---- */

static bool is_told(const struct popvisit *visit)
{
	return visit->parts.is_told != NULL && *visit->parts.is_told != 0;
}

/* When the client has said nothing by then: of the whole session, or of the worker's own end. */
static int64_t idle_deadline(const struct popvisit *visit, int64_t since_ms)
{
	const struct popsetup *setup = visit->parts.setup;
	const unsigned idle_ms =
		is_told(visit) ? setup->edge.drain_ms : setup->limits.idle_timeout_ms;
	const int64_t due_ms = since_ms + idle_ms;
	return due_ms < visit->end_ms ? due_ms : visit->end_ms;
}

static void time_out(struct popvisit *visit)
{
	if (!is_told(visit)) {
		end(visit, "timeout"); /* without a word: RFC 1939, part 3 */
		return;
	}
	(void)refuse(visit, POP3_SHUTTING_DOWN);
	say(visit);
	end(visit, "drained");
}

static void wait_for_bytes(struct popvisit *visit)
{
	/* With all of the time for it: what is not taken at the end of a look would be lost. */
	if (!flush(visit))
		return;
	const int64_t since_ms = stream_deadline(0);
	int ret = -ETIMEDOUT;
	/* In pieces, as the worker may be told to end meanwhile. */
	while (ret == -ETIMEDOUT && stream_deadline(0) < idle_deadline(visit, since_ms)) {
		const int64_t idle_ms = idle_deadline(visit, since_ms);
		const int64_t look_ms = stream_deadline(LOOK_MS);
		ret = stream_fill(&visit->stream, look_ms < idle_ms ? look_ms : idle_ms);
	}
	if (ret == -ETIMEDOUT)
		time_out(visit);
	else if (ret == 0)
		end(visit, "hangup");
	else if (ret < 0)
		end(visit, "reset");
}

static void talk(struct popvisit *visit)
{
	while (!visit->is_over) {
		while (!visit->is_over && take_command(visit))
			continue;
		if (!visit->is_over)
			wait_for_bytes(visit);
	}
}

/* ---- begin and end ---- */

static void close_client(struct popvisit *visit, int fd)
{
	(void)stream_flush(&visit->stream, send_deadline(visit));
	stream_linger(&visit->stream);
	intake_close(fd);
}

static void begin(struct popvisit *visit, const struct popcapsule *capsule, int fd)
{
	const int flags = fcntl(fd, F_GETFL);
	/* sendfile() has no flag of its own. */
	if (flags >= 0)
		(void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	stream_init(&visit->stream, fd);
	(void)stream_seed(&visit->stream, capsule->unread, capsule->unread_size);
	visit->dialogue = capsule->dialogue;
	visit->is_over = visit->is_skipping = false;
	visit->end_ms = stream_deadline(visit->parts.setup->limits.worker_timeout_ms);
	visit->account = (struct popaccount){
		.session.facts = capsule->facts,
		.session.by = "worker",
		.session.zones = capsule->zones,
		.session.tls = capsule->tls,
		.session.queue_us = clock_now_us() - capsule->queued_at_us,
		.way = popaccount_way(capsule->dialogue.way),
		.user = capsule->mailbox,
	};
	visit->account.session.facts.bytes_in += capsule->unread_size;
	(void)session_facts_format_id(capsule->facts.id, visit->id);
}

static void log_end(struct popvisit *visit, uint64_t began_us, uint64_t cpu_began_us)
{
	struct object_session *account = &visit->account.session;
	account->command_count = visit->dialogue.command_count;
	account->facts.bytes_in += visit->stream.bytes_in;
	account->facts.bytes_out += visit->stream.bytes_out;
	account->worker_ms = (clock_now_us() - began_us) / 1000;
	account->worker_cpu_us = clock_spent_us() - cpu_began_us;
	popaccount_log(&visit->account);
	count(visit, strcmp(account->end, "quit") == 0 ? POP_FINISHED : POP_CUT, 1);
}

static void visit_client(struct popvisit *visit, struct popcapsule *capsule, int fd, bool is_late)
{
	const uint64_t began_us = clock_now_us();
	const uint64_t cpu_began_us = clock_spent_us();
	begin(visit, capsule, fd);
	if (is_late) {
		end(visit, "busy");
		(void)refuse(visit, POP3_BUSY);
		say(visit);
	} else {
		(void)open_maildrop(visit, capsule->mailbox);
		say(visit);
		talk(visit);
	}
	/* Before the client is waited for: its next session may come. */
	maildrop_close(&visit->maildrop);
	close_client(visit, fd);
	log_end(visit, began_us, cpu_began_us);
}

void popvisit_finish(struct popvisit *visit, struct popcapsule *capsule, int fd)
{
	visit_client(visit, capsule, fd, false);
}

void popvisit_put_off(struct popvisit *visit, struct popcapsule *capsule, int fd)
{
	visit_client(visit, capsule, fd, true);
}
