/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/lmtp/lmtp_session.h"

#include "integration/mail/mail-stored/lmtp/lmtp_fates.h"
#include "integration/mail/mail-stored/lmtp/lmtp_log.h"
#include "integration/mail/mail-stored/lmtp/lmtp_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Twelve digits. */
#define ID_MASK UINT64_C(0xffffffffffff)

/* A mail that is refused for its size is read on for as much again, and this, as smtp-front does. */
#define OVERRUN_MAX (1024 * 1024)

/* Of a mailbox whose node is down. */
#define EAWAY_TEXT "4.4.1 Mailbox cannot be reached now, try again later"

/* ---- memory ---- */

/* From now on taken is to be wanted bytes of the world's. */
static bool take_memory(struct lmtp_world *world, uint64_t *taken, uint64_t wanted)
{
	uint64_t others = world->memory_used - *taken;
	if (wanted > *taken && (others > world->memory_max || wanted > world->memory_max - others))
		return false;
	world->memory_used = others + wanted;
	*taken = wanted;
	return true;
}

static void drop_mail(struct lmtp_session *session)
{
	storemail_deinit(&session->mail);
	take_memory(session->world, &session->mail_taken, 0);
}

/* The transaction has ended. */
static void forget(struct lmtp_session *session)
{
	drop_mail(session);
	lmtp_boxes_clear(&session->boxes);
	take_memory(session->world, &session->boxes_taken, 0);
	session->others_count = session->others_size = session->asked_at = 0;
	session->recipient[0] = '\0';
	session->failure = 0;
	session->mailbox_count = 0;
}

/* ---- replies ---- */

static void say(struct lmtp_session *session, unsigned times)
{
	session->replies_left = session->event.reply_size > 0 ? times : 0;
}

static void drop_fates(struct lmtp_session *session)
{
	free(session->fates);
	session->fates = NULL;
	session->fate_count = 0;
}

/* What the next recipient hears. */
static const char *next_reply(const struct lmtp_session *session, size_t *ret_size)
{
	const size_t left = session->replies_left;
	const bool is_refused =
		left <= session->fate_count && session->fates[session->fate_count - left] != 0;
	*ret_size = is_refused ? strlen(session->refusal) : session->event.reply_size;
	return is_refused ? session->refusal : session->event.reply;
}

/* True: all that was to be said is in out. */
static bool put_replies(struct lmtp_session *session)
{
	if (session->out_start == session->out_end)
		session->out_start = session->out_end = 0;
	while (session->replies_left > 0) {
		size_t size;
		const char *reply = next_reply(session, &size);
		if (LMTP_OUT_SIZE - session->out_end < size)
			return false;
		memcpy(session->out + session->out_end, reply, size);
		session->out_end += size;
		session->replies_left--;
	}
	drop_fates(session);
	return true;
}

/* What the store's word is for a client; text has room bytes. The code. */
static int translate(int status, const struct mailid *id, char *text, size_t room)
{
	static const struct {
		int status;
		int code;
		const char *text;
	} words[] = {
		{ -ENOSPC, 452, "4.3.1 Not enough room, try again later" },
		{ -EDQUOT, 452, "4.3.1 Not enough room, try again later" },
		{ MAILSTORE_EQUOTA, 452, "4.2.2 Mailbox full" },
		{ -EFBIG, 552, "5.3.4 Mail larger than we take" },
		{ MAILSTORE_EAWAY, 451, EAWAY_TEXT },
	};
	char id_text[MAILID_TEXT_SIZE];
	if (status == 0) {
		mailid_format(id, id_text);
		snprintf(text, room, "2.0.0 Ok: %s", id_text);
		return 250;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (words[i].status != status)
			continue;
		snprintf(text, room, "%s", words[i].text);
		return words[i].code;
	}
	snprintf(text, room, "4.3.0 Try again later");
	return 451;
}

/* ---- the end of a mail ---- */

static void act(struct lmtp_session *session, enum dialogue_action action);

static unsigned count_refused(const struct lmtp_session *session)
{
	unsigned count = 0;
	for (size_t i = 0; i < session->fate_count; i++)
		count += session->fates[i];
	return count;
}

/* id is NULL unless the store has it. */
static void answer_mail(struct lmtp_session *session, int code, const char *text,
			const struct mailid *id)
{
	const struct lmtp_log mail = {
		.session_id = session->id,
		.number = session->mail_number,
		.sender = session->dialogue.envelope.sender,
		.recipient = session->recipient,
		.recipient_count = session->dialogue.recipient_count,
		.refused_count = count_refused(session),
		.mailbox_count = session->mailbox_count,
		.size = session->body.size,
		.id = id,
		.code = code,
		.text = text,
	};
	lmtp_log_mail(&mail);
	session->state = LMTP_TALK;
	enum dialogue_action action = dialogue_answer(&session->dialogue, &session->world->limits,
						      code, text, &session->event);
	/* A chunk that was refused and is not the last leaves its recipients. */
	drop_mail(session);
	if (session->dialogue.state != DIALOGUE_AT_SPOILT)
		forget(session);
	act(session, action);
}

static void answer_status(struct lmtp_session *session, int status, const struct mailid *id)
{
	char text[80];
	int code = translate(status, id, text, sizeof(text));
	answer_mail(session, code, text, status == 0 ? id : NULL);
}

/* All of it has come. */
static void finish_mail(struct lmtp_session *session)
{
	int ret = session->failure;
	if (session->body.refusal != BODY_FINE) {
		answer_mail(session, body_code(session->body.refusal),
			    body_text(session->body.refusal), NULL);
		return;
	}
	if (ret == 0 && !session->world->has_store)
		ret = -ENOTCONN;
	if (ret == 0)
		ret = storemail_finish(&session->mail, &session->request, &session->memory);
	if (ret == 0)
		session->state = LMTP_STORE;
	else
		answer_status(session, ret, NULL);
}

/* ---- the bytes of a mail ---- */

static void fail(struct lmtp_session *session, int status)
{
	session->failure = status;
	drop_mail(session);
}

static void append(struct lmtp_session *session, const void *bytes, size_t size)
{
	const uint64_t total = session->mail.total_size + size;
	if (session->failure != 0 || session->body.refusal != BODY_FINE || size == 0)
		return;
	if (total > STOREWIRE_INLINE_MAX &&
	    !take_memory(session->world, &session->mail_taken, total)) {
		fail(session, -ENOSPC);
		return;
	}
	int ret = storemail_append(&session->mail, bytes, size);
	if (ret != 0)
		fail(session, ret);
}

/* What has come out of the body. */
static void keep_text(struct lmtp_session *session, const uint8_t *bytes, size_t size)
{
	append(session, bytes, size);
	if (session->body.refusal != BODY_FINE)
		drop_mail(session);
}

static void append_trace(struct lmtp_session *session)
{
	char text[LMTP_TRACE_MAX];
	const struct dialogue *dialogue = &session->dialogue;
	const struct lmtp_trace trace = {
		.sender = dialogue->envelope.sender,
		.helo = dialogue->helo,
		.client = session->client,
		.hostname = session->world->limits.hostname,
		.session_id = session->id,
		.mail_number = session->mail_number,
		.is_utf8 = dialogue->envelope.is_utf8,
		.recipient = dialogue->recipient_count == 1 ? session->recipient : "",
		.now_s = session->world->now_s,
	};
	append(session, text, lmtp_trace_make(&trace, text));
}

static int open_mail(struct lmtp_session *session)
{
	const char *sender = session->dialogue.envelope.sender;
	const struct mailname sender_name = { (const uint8_t *)sender, strlen(sender) };
	struct mailname *names = NULL;
	size_t count = 0;
	int ret = lmtp_boxes_list(&session->boxes, &names, &count);
	if (ret != 0)
		return ret;
	uint64_t meta_size = mailmeta_size(sender_name, names, count, 0);
	if (meta_size > STOREWIRE_INLINE_MAX &&
	    !take_memory(session->world, &session->mail_taken, meta_size))
		ret = -ENOSPC;
	if (ret == 0)
		ret = storemail_init(&session->mail);
	if (ret == 0)
		ret = storemail_begin(&session->mail, sender_name, names, count);
	free(names);
	session->mailbox_count = count;
	return ret;
}

/* What comes of it is in session->failure. */
static void begin_mail(struct lmtp_session *session)
{
	session->mail_number++;
	body_init(&session->body, session->world->limits.size_max);
	session->failure = 0;
	int ret = session->world->has_store ? open_mail(session) : -ENOTCONN;
	if (ret == 0)
		append_trace(session);
	else
		fail(session, ret);
}

static void consume(struct lmtp_session *session, size_t size)
{
	session->in_start += size;
	if (session->in_start == session->in_end)
		session->in_start = session->in_end = 0;
}

static bool is_endless(const struct lmtp_session *session, uint64_t size)
{
	return size > 2 * session->world->limits.size_max + OVERRUN_MAX;
}

static bool take_data(struct lmtp_session *session)
{
	uint8_t *in = session->in + session->in_start;
	size_t used = 0;
	size_t out_size = 0;
	if (session->in_start == session->in_end)
		return false;
	enum body_status status = body_take(&session->body, in, session->in_end - session->in_start,
					    &used, in, &out_size);
	keep_text(session, in, out_size);
	consume(session, used);
	session->data_size += used;
	if (status == BODY_MORE && !is_endless(session, session->data_size))
		return false;
	if (status == BODY_MORE)
		answer_mail(session, 521, body_text(BODY_TOO_LARGE), NULL);
	else
		finish_mail(session);
	return true;
}

/* Bytes of the chunk at hand that are there. */
static size_t chunk_size(const struct lmtp_session *session)
{
	size_t size = session->in_end - session->in_start;
	return size < session->chunk_left ? size : (size_t)session->chunk_left;
}

static void finish_chunk(struct lmtp_session *session)
{
	uint8_t end[BODY_END_MAX];
	size_t end_size = 0;
	if (session->dialogue.is_last) {
		body_end(&session->body, end, &end_size);
		append(session, end, end_size);
		finish_mail(session);
	} else if (session->body.refusal != BODY_FINE || session->failure != 0) {
		finish_mail(session);
	} else {
		session->state = LMTP_TALK;
		act(session,
		    dialogue_accept(&session->dialogue, &session->world->limits, &session->event));
	}
}

static bool take_chunk(struct lmtp_session *session)
{
	uint8_t *in = session->in + session->in_start;
	size_t out_size = 0;
	size_t size = chunk_size(session);
	if (size == 0 && session->chunk_left > 0)
		return false;
	body_take_chunk(&session->body, in, size, in, &out_size);
	keep_text(session, in, out_size);
	consume(session, size);
	session->chunk_left -= size;
	if (session->chunk_left > 0)
		return false;
	finish_chunk(session);
	return true;
}

static bool swallow(struct lmtp_session *session)
{
	size_t size = chunk_size(session);
	consume(session, size);
	session->chunk_left -= size;
	if (session->chunk_left > 0)
		return false;
	session->state = LMTP_TALK;
	say(session, session->event.reply_count);
	return true;
}

/* ---- recipients ---- */

static enum dialogue_action refuse(struct lmtp_session *session, enum dialogue_refusal refusal)
{
	return dialogue_refuse(&session->dialogue, &session->world->limits, refusal,
			       &session->event);
}

static enum dialogue_action answer(struct lmtp_session *session, int code, const char *text)
{
	return dialogue_answer(&session->dialogue, &session->world->limits, code, text,
			       &session->event);
}

/* Its mailboxes have the mail. */
static enum dialogue_action keep_recipient(struct lmtp_session *session)
{
	if (session->others_count == 0)
		snprintf(session->recipient, sizeof(session->recipient), "%s",
			 session->event.recipient.address);
	session->others_count = session->boxes.count;
	session->others_size = session->boxes.size;
	return dialogue_accept(&session->dialogue, &session->world->limits, &session->event);
}

/* Its mailboxes are as if it had not come. */
static void drop_recipient(struct lmtp_session *session)
{
	lmtp_boxes_cut(&session->boxes, session->others_count, session->others_size);
}

static int find_mailboxes(struct lmtp_session *session)
{
	const char *address = session->event.recipient.address;
	struct users_mailboxes *found = &session->world->found;
	if (session->world->users != NULL)
		return users_find_mailboxes(session->world->users, address, strlen(address), found);
	/* With quotes undone nothing, or too much, may be left. */
	found->count = users_make_entry(address, strlen(address), found->names[0]) ? 1 : 0;
	return USERS_VALID;
}

/* false: one of them has no name, or there are none. */
static bool are_named(const struct users_mailboxes *found)
{
	for (size_t i = 0; i < found->count; i++) {
		const size_t size = strlen(found->names[i]);
		if (size == 0 || size > MAILBOX_NAME_MAX)
			return false;
	}
	return found->count > 0;
}

static int add_mailbox(struct lmtp_session *session, const char *name)
{
	const size_t size = strlen(name);
	const size_t growth = lmtp_boxes_growth(&session->boxes, size);
	if (!take_memory(session->world, &session->boxes_taken, session->boxes_taken + growth))
		return -ENOSPC;
	return lmtp_boxes_add(&session->boxes, name, size,
			      session->boxes.count == session->others_count);
}

static int add_mailboxes(struct lmtp_session *session, const struct users_mailboxes *found)
{
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < found->count; i++)
		ret = add_mailbox(session, found->names[i]);
	if (ret != 0)
		drop_recipient(session);
	return ret;
}

/* The store is asked about the next of its mailboxes; when there is none it is kept. */
static enum dialogue_action check_mailbox(struct lmtp_session *session)
{
	struct mailname mailbox;
	bool is_first;
	if (!lmtp_boxes_next(&session->boxes, &session->asked_at, &mailbox, &is_first))
		return keep_recipient(session);
	session->request = (struct storewire_request){
		.type = STOREWIRE_CHECK,
		.size = session->dialogue.envelope.size_bytes,
		.mailbox = mailbox,
	};
	session->memory = (struct storelink_memory){ .fd = -1 };
	session->state = LMTP_CHECK;
	return DIALOGUE_RECIPIENT;
}

static enum dialogue_action take_mailboxes(struct lmtp_session *session,
					   const struct users_mailboxes *found)
{
	if (!are_named(found))
		return answer(session, 550, "5.1.3 No name for a mailbox");
	if (session->boxes.count + found->count > MAIL_RECIPIENTS_MAX)
		return answer(session, 452, "4.5.3 Too many recipients");
	session->asked_at = session->others_size;
	if (add_mailboxes(session, found) != 0)
		return answer(session, 452, "4.3.1 Not enough room, try again later");
	return session->world->has_quotas ? check_mailbox(session) : keep_recipient(session);
}

static enum dialogue_action take_recipient(struct lmtp_session *session)
{
	if (!session->world->has_store)
		return refuse(session, DIALOGUE_TRY_LATER);
	int found = find_mailboxes(session);
	if (found == USERS_UNKNOWN)
		return refuse(session, DIALOGUE_NO_SUCH_USER);
	if (found == USERS_NOT_OURS)
		return refuse(session, DIALOGUE_NOT_OURS);
	if (found != USERS_VALID)
		return refuse(session, DIALOGUE_TRY_LATER);
	return take_mailboxes(session, &session->world->found);
}

/* ---- commands ---- */

static void begin_data(struct lmtp_session *session)
{
	begin_mail(session);
	if (session->failure == 0) {
		session->state = LMTP_DATA;
		session->data_size = 0;
		say(session, 1);
		return;
	}
	/* RFC 2033, 4.2: at DATA itself there is one reply for all. */
	answer_status(session, session->failure, NULL);
	session->replies_left = 1;
}

static void begin_chunk(struct lmtp_session *session)
{
	if (session->event.is_first)
		begin_mail(session);
	session->chunk_left = session->event.chunk_size;
	session->state = LMTP_CHUNK;
}

/* What is done and said, when no question is left. */
static void perform(struct lmtp_session *session, enum dialogue_action action)
{
	switch (action) {
	case DIALOGUE_DATA:
		begin_data(session);
		return;
	case DIALOGUE_BDAT:
		begin_chunk(session);
		return;
	case DIALOGUE_SWALLOW:
		drop_mail(session);
		session->chunk_left = session->event.chunk_size;
		session->state = LMTP_SWALLOW;
		if (!is_endless(session, session->chunk_left))
			return;
		forget(session);
		session->state = LMTP_OVER;
		break;
	case DIALOGUE_RESET:
		forget(session);
		break;
	case DIALOGUE_QUIT:
	case DIALOGUE_CLOSE:
		forget(session);
		session->state = LMTP_OVER;
		break;
	default:
		break;
	}
	say(session, session->event.reply_count);
}

static void act(struct lmtp_session *session, enum dialogue_action action)
{
	if (action == DIALOGUE_MAIL) {
		forget(session);
		action = dialogue_accept(&session->dialogue, &session->world->limits,
					 &session->event);
	}
	if (action == DIALOGUE_RECIPIENT)
		action = take_recipient(session);
	if (action != DIALOGUE_RECIPIENT)
		perform(session, action);
}

static bool skip_line(struct lmtp_session *session)
{
	size_t used = 0;
	enum lines_status status = lines_skip(session->in + session->in_start,
					      session->in_end - session->in_start, false, &used);
	consume(session, used);
	if (status != LINES_READY)
		return false;
	session->state = LMTP_TALK;
	act(session, dialogue_malformed(&session->dialogue, &session->world->limits, LINES_TOO_LONG,
					&session->event));
	return true;
}

static bool take_command(struct lmtp_session *session)
{
	const uint8_t *bytes = session->in + session->in_start;
	size_t line_size = 0;
	enum lines_status status = lines_take(bytes, session->in_end - session->in_start,
					      DIALOGUE_LINE_MAX, &line_size);
	if (status == LINES_MORE)
		return false;
	if (status == LINES_TOO_LONG) {
		session->state = LMTP_SKIP;
		return true;
	}
	if (status != LINES_READY) {
		act(session, dialogue_malformed(&session->dialogue, &session->world->limits, status,
						&session->event));
		return true;
	}
	enum dialogue_action action =
		dialogue_step(&session->dialogue, &session->world->limits, (const char *)bytes,
			      line_size, &session->event);
	consume(session, line_size + LINES_END_SIZE);
	act(session, action);
	return true;
}

/* False: more bytes are needed. */
static bool take_some(struct lmtp_session *session)
{
	switch (session->state) {
	case LMTP_SKIP:
		return skip_line(session);
	case LMTP_SWALLOW:
		return swallow(session);
	case LMTP_DATA:
		return take_data(session);
	case LMTP_CHUNK:
		return take_chunk(session);
	default:
		return take_command(session);
	}
}

/* ---- for lmtp_client.c ---- */

static bool is_between_mails(const struct lmtp_session *session)
{
	return session->state == LMTP_TALK && (session->dialogue.state == DIALOGUE_AT_START ||
					       session->dialogue.state == DIALOGUE_AT_HELO);
}

enum lmtp_wish lmtp_session_run(struct lmtp_session *session)
{
	for (;;) {
		if (!put_replies(session))
			return LMTP_WRITE;
		if (session->state == LMTP_OVER)
			return LMTP_END;
		if (session->state == LMTP_CHECK || session->state == LMTP_STORE)
			return LMTP_ASK;
		if (session->world->is_ending && is_between_mails(session))
			lmtp_session_end(session, DIALOGUE_SHUTTING_DOWN);
		else if (!take_some(session))
			return LMTP_READ;
	}
}

uint8_t *lmtp_session_room(struct lmtp_session *session, size_t *ret_size)
{
	if (session->in_start > 0) {
		session->in_end -= session->in_start;
		memmove(session->in, session->in + session->in_start, session->in_end);
		session->in_start = 0;
	}
	*ret_size = LMTP_IN_SIZE - session->in_end;
	return session->in + session->in_end;
}

void lmtp_session_fed(struct lmtp_session *session, size_t size)
{
	session->in_end += size;
}

const char *lmtp_session_said(const struct lmtp_session *session, size_t *ret_size)
{
	*ret_size = session->out_end - session->out_start;
	return session->out + session->out_start;
}

void lmtp_session_sent(struct lmtp_session *session, size_t size)
{
	session->out_start += size;
}

/* Only some mailboxes have it: status says why the others have not. True: each recipient hears so. */
static bool take_fates(struct lmtp_session *session, int status, const uint8_t *rows,
		       uint32_t count)
{
	char text[80];
	if (count == 0 || status == 0 ||
	    lmtp_fates_make(&session->boxes, rows, count, &session->fates, &session->fate_count) !=
		    0)
		return false;
	if (session->fate_count != session->dialogue.recipient_count ||
	    count_refused(session) == session->fate_count) {
		drop_fates(session);
		return false;
	}
	int code = translate(status, NULL, text, sizeof(text));
	snprintf(session->refusal, sizeof(session->refusal), "%d %s\r\n", code, text);
	return true;
}

void lmtp_session_answer(struct lmtp_session *session, int status, const struct mailid *id,
			 const uint8_t *rows, uint32_t count)
{
	if (session->state == LMTP_STORE) {
		if (take_fates(session, status, rows, count))
			status = 0;
		answer_status(session, status, id);
		return;
	}
	session->state = LMTP_TALK;
	enum dialogue_action action;
	if (status == 0) {
		action = check_mailbox(session);
	} else {
		char text[80];
		const int code = translate(status, NULL, text, sizeof(text));
		drop_recipient(session);
		action = answer(session, code, text);
	}
	if (action != DIALOGUE_RECIPIENT)
		perform(session, action);
}

void lmtp_session_end(struct lmtp_session *session, enum dialogue_refusal refusal)
{
	/* Replies that are not said yet are not to be cut by another. */
	if (session->state != LMTP_OVER && session->replies_left == 0)
		act(session, refuse(session, refusal));
	forget(session);
	session->state = LMTP_OVER;
}

void lmtp_session_init(struct lmtp_session *ret_session, struct lmtp_world *world, uint64_t id,
		       const char *client)
{
	/* All but the buffers, which are large. */
	memset(ret_session, 0, offsetof(struct lmtp_session, in));
	ret_session->world = world;
	snprintf(ret_session->id, sizeof(ret_session->id), "%012" PRIx64, id & ID_MASK);
	snprintf(ret_session->client, sizeof(ret_session->client), "%s", client);
	dialogue_init(&ret_session->dialogue);
	ret_session->event.reply_size = dialogue_greet(&world->limits, ret_session->event.reply);
	say(ret_session, 1);
}

void lmtp_session_deinit(struct lmtp_session *session)
{
	forget(session);
	drop_fates(session);
}
