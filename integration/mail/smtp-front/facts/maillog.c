/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/facts/maillog.h"

#include "lib/format/ascii.h"

#include <stdbool.h>
#include <string.h>

#include "integration/mail/base/facts/text.h"

/*
 * Bytes that a text may have, escapes included. With all numbers at their longest they fit into a
 * line; a test has them all.
 */
#define HELO_ROOM      64
#define ADDRESS_ROOM   128
#define MESSAGEID_ROOM 128
#define REPLY_ROOM     192
#define QUEUE_ROOM     40
#define COMMAND_ROOM   320
#define ZONES_ROOM     96
/* Of recipients together, in the line of the mail and in one that goes on. */
#define LIST_ROOM 144
#define MORE_ROOM 800

#define REPLY_PREFIX_SIZE 4 /* "250-" */

/* ---- recipients ---- */

void maillog_list_clear(struct maillog_list *list)
{
	list->count = 0;
	list->size = 0;
}

void maillog_list_add(struct maillog_list *list, const char *address)
{
	size_t size = strlen(address) + 1;
	list->count++;
	if (size > sizeof(list->bytes) - list->size)
		return;
	memcpy(list->bytes + list->size, address, size);
	list->size += size;
}

/* ---- parts of a line ---- */

static void put_part(struct text *text, const char *name, const char *value, size_t value_size,
		     size_t room)
{
	text_put(text, " ");
	text_put(text, name);
	text_put(text, "=");
	text_put_foreign(text, value, value_size, room, TEXT_LOG);
}

static void put_text(struct text *text, const char *name, const char *value, size_t room)
{
	if (value != NULL)
		put_part(text, name, value, strlen(value), room);
}

static void put_number(struct text *text, const char *name, uint64_t number)
{
	text_put(text, " ");
	text_put(text, name);
	text_put(text, "=");
	text_put_number(text, number);
}

static void put_reason(struct text *text, const char *reason)
{
	if (reason == NULL)
		return;
	text_put(text, " (");
	text_put(text, reason);
	text_put(text, ")");
}

static void put_session(struct text *text, const struct maillog_session *session)
{
	char address[DNSBLV6_IP_TEXT_SIZE];
	dnsblv6_ip_format(&session->facts.client_ip, address);
	text_put(text, " client=");
	text_put(text, address);
	put_text(text, "helo", session->helo, HELO_ROOM);
}

/* ---- replies ---- */

/*
 * The lines of a reply as one: "250-2.0.0 a", "250 2.0.0 b" is "250 2.0.0 a 2.0.0 b". What stands
 * behind it with another code is the end of the session.
 */
static size_t join_lines(const char *reply, char *ret_line, size_t room)
{
	const char *code = reply;
	size_t size = 0;
	while (strlen(reply) > REPLY_PREFIX_SIZE && memcmp(reply, code, 3) == 0) {
		size_t from = size == 0 ? 0 : REPLY_PREFIX_SIZE - 1;
		size_t line_size = strcspn(reply, "\r\n");
		for (size_t i = from; i < line_size && size < room; i++)
			ret_line[size++] = i == REPLY_PREFIX_SIZE - 1 ? ' ' : reply[i];
		reply += line_size;
		reply += strspn(reply, "\r\n");
	}
	return size;
}

static bool is_id(char byte)
{
	return ascii_is_alnum(byte) || (byte != '\0' && strchr("-_.+=/", byte) != NULL);
}

static size_t id_size(const char *at, const char *end)
{
	size_t size = 0;
	while (at + size < end && is_id(at[size]))
		size++;
	return size;
}

/* The word that ends before at; Dovecot puts ":T2" behind its name for the second mail of a session. */
static const char *word_before(const char *line, const char *at, size_t *ret_size)
{
	const char *begin = at;
	while (begin > line && (is_id(begin[-1]) || begin[-1] == ':'))
		begin--;
	*ret_size = (size_t)(at - begin);
	return begin;
}

/*
 * Under which name the next hop has the mail: Postfix says "Ok: queued as ID", Exim "OK id=ID",
 * sendmail and OpenSMTPD "ID Message accepted for delivery", Dovecot's LMTP "ID Saved". A size of
 * 0: it does not say.
 */
static const char *find_queue_id(const char *line, size_t line_size, size_t *ret_size)
{
	static const char *const before[] = { "queued as ", " id=" };
	static const char *const behind[] = { " Message accepted", " Saved" };
	*ret_size = 0;
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		size_t size = strlen(before[i]);
		const char *at = memmem(line, line_size, before[i], size);
		if (at == NULL)
			continue;
		*ret_size = id_size(at + size, line + line_size);
		return at + size;
	}
	for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
		const char *at = memmem(line, line_size, behind[i], strlen(behind[i]));
		if (at != NULL)
			return word_before(line, at, ret_size);
	}
	return NULL;
}

static void put_reply(struct text *text, const char *reply, bool has_id)
{
	char line[LOG_LINE_MAX];
	size_t id_bytes = 0;
	if (reply == NULL)
		return;
	size_t size = join_lines(reply, line, sizeof(line));
	put_part(text, "reply", line, size, REPLY_ROOM);
	const char *id = has_id && line[0] == '2' ? find_queue_id(line, size, &id_bytes) : NULL;
	if (id_bytes > 0)
		put_part(text, "queue_id", id, id_bytes, QUEUE_ROOM);
}

/* ---- lines ---- */

/* As many recipients from offset on as room bytes have, one at least. Returns the next offset. */
static size_t put_recipients(struct text *text, const struct maillog_list *list, size_t offset,
			     size_t room)
{
	size_t begin = text->size;
	while (offset < list->size) {
		const char *address = list->bytes + offset;
		struct text before = *text;
		put_text(text, "to", address, ADDRESS_ROOM);
		if (text->size - begin > room && before.size > begin) {
			before.bytes[before.size] = '\0';
			*text = before;
			break;
		}
		offset += strlen(address) + 1;
	}
	return offset;
}

size_t maillog_format_mail(const struct maillog_session *session, const struct maillog_mail *mail,
			   char *ret_text)
{
	struct text text = text_make(ret_text, LOG_LINE_MAX);
	text_put(&text, "mail ");
	text_put(&text, mail->what);
	text_put(&text, ",");
	put_number(&text, "number", mail->number);
	put_session(&text, session);
	put_text(&text, "from", session->sender, ADDRESS_ROOM);
	size_t offset = put_recipients(&text, mail->recipients, 0, LIST_ROOM);
	put_number(&text, "recipients", mail->recipients->count);
	put_number(&text, "size", mail->size_bytes);
	put_text(&text, "message_id", mail->message_id, MESSAGEID_ROOM);
	put_reply(&text, mail->reply, true);
	put_reason(&text, mail->reason);
	return offset;
}

size_t maillog_format_refusal(const struct maillog_session *session,
			      const struct maillog_refusal *refusal, char *ret_text)
{
	struct text text = text_make(ret_text, LOG_LINE_MAX);
	text_put(&text, refusal->what);
	text_put(&text, " refused,");
	put_session(&text, session);
	put_text(&text, "from", session->sender, ADDRESS_ROOM);
	put_text(&text, "to", refusal->recipient, ADDRESS_ROOM);
	if (refusal->command != NULL)
		put_part(&text, "command", refusal->command, refusal->command_size, COMMAND_ROOM);
	if (refusal->zones != NULL && refusal->zones[0] != '\0')
		put_text(&text, "zones", refusal->zones, ZONES_ROOM);
	put_reply(&text, refusal->reply, false);
	put_reason(&text, refusal->reason);
	return text.size;
}

bool maillog_make_refusal(const struct dialogue_event *event, enum dialogue_state state,
			  const char *line, size_t line_size, struct maillog_session *session,
			  struct maillog_refusal *ret_refusal)
{
	const bool is_recipient = event->verb == COMMAND_RCPT;
	if (event->reply_code < 400 || (!is_recipient && event->verb != COMMAND_MAIL))
		return false;
	/* Outside of a mail there is none, but that of the mail before may still be known. */
	if (!is_recipient || state <= DIALOGUE_AT_HELO)
		session->sender = NULL;
	*ret_refusal = (struct maillog_refusal){
		.what = is_recipient ? "recipient" : "sender",
		.command = line,
		.command_size = line_size,
		.reply = event->reply,
		.reason = "protocol",
	};
	return true;
}

void maillog_mail(const struct maillog_session *session, const struct maillog_mail *mail)
{
	char id[SESSION_ID_SIZE];
	char line[LOG_LINE_MAX];
	size_t offset = maillog_format_mail(session, mail, line);
	log_info(session_facts_format_id(session->facts.id, id), "%s", line);
	while (offset < mail->recipients->size) {
		struct text text = text_make(line, sizeof(line));
		text_put(&text, "mail recipients,");
		put_number(&text, "number", mail->number);
		offset = put_recipients(&text, mail->recipients, offset, MORE_ROOM);
		log_info(id, "%s", line);
	}
}

void maillog_refusal(const struct maillog_session *session, const struct maillog_refusal *refusal)
{
	char id[SESSION_ID_SIZE];
	char line[LOG_LINE_MAX];
	maillog_format_refusal(session, refusal, line);
	log_info(session_facts_format_id(session->facts.id, id), "%s", line);
}
