/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/imap/imapcommand.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A name and a password, each byte of them escaped, and the longest list of header fields. */
#define TEXT_MAX  2048
#define PARTS_MAX 4
/* RFC 7888: what LITERAL- has at once. */
#define MINUS_MAX 4096

struct text {
	char bytes[TEXT_MAX];
	size_t size;
	size_t starts[PARTS_MAX + 1]; /* of parts; the last one ends it */
	unsigned part_count;
	bool is_wrong;
};

static const char thunderbird_fields[] =
	"From To Cc Bcc Subject Date Message-ID Priority X-Priority References Newsgroups "
	"In-Reply-To Content-Type";
static const char apple_fields[] =
	"date subject from to cc message-id in-reply-to references x-priority "
	"x-uniform-type-identifier x-universally-unique-identifier";

/* ---- words ---- */

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *text, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	const size_t room = TEXT_MAX - text->size;
	const int size = vsnprintf(text->bytes + text->size, room, format, arguments);
	va_end(arguments);
	if (size < 0 || (size_t)size >= room)
		text->is_wrong = true;
	else
		text->size += (size_t)size;
}

static void put_byte(struct text *text, char byte)
{
	if (text->size < TEXT_MAX)
		text->bytes[text->size++] = byte;
	else
		text->is_wrong = true;
}

static void end_part(struct text *text)
{
	if (text->part_count < PARTS_MAX)
		text->starts[++text->part_count] = text->size;
	else
		text->is_wrong = true;
}

static void put_literal_size(struct text *text, const struct imaptalk *talk, size_t size_bytes)
{
	const bool has_plus = (talk->capabilities & IMAPREADER_CAN_LITERAL_PLUS) != 0;
	const bool has_minus = (talk->capabilities & IMAPREADER_CAN_LITERAL_MINUS) != 0;
	const bool is_at_once = !talk->rules->has_no_literal_plus &&
				(has_plus || (has_minus && size_bytes <= MINUS_MAX));
	put(text, "{%zu%s}\r\n", size_bytes, is_at_once ? "+" : "");
	if (!is_at_once)
		end_part(text);
}

/* What quotes cannot have goes as a literal. */
static void put_string(struct text *text, const struct imaptalk *talk, const char *string)
{
	bool is_quoted = true;
	for (const char *at = string; *at != '\0'; at++)
		is_quoted = is_quoted && *at >= ' ' && *at < '\x7f';
	if (!is_quoted) {
		put_literal_size(text, talk, strlen(string));
		put(text, "%s", string);
		return;
	}
	put_byte(text, '"');
	for (const char *at = string; *at != '\0'; at++) {
		if (*at == '"' || *at == '\\')
			put_byte(text, '\\');
		put_byte(text, *at);
	}
	put_byte(text, '"');
}

/* With the server's own delimiter. */
static void put_folder(struct text *text, const struct imaptalk *talk)
{
	char name[2 * IMAPTALK_NAME_MAX];
	const bool is_below = strcasecmp(talk->name, "INBOX") != 0 && talk->rules->prefix != NULL;
	const int size = snprintf(name, sizeof(name), "%s%s", is_below ? talk->rules->prefix : "",
				  talk->name);
	text->is_wrong |= size < 0 || (size_t)size >= sizeof(name);
	for (char *at = name; *at != '\0'; at++) {
		text->is_wrong |= *at > '\0' && *at < ' ';
		if (*at == '/' && talk->delimiter != '\0')
			*at = talk->delimiter;
	}
	put_string(text, talk, name);
}

static void put_set(struct text *text, const struct imaptalk *talk)
{
	put(text, "%" PRIu32, talk->first);
	if (talk->last == UINT32_MAX)
		put(text, ":*");
	else if (talk->last != talk->first)
		put(text, ":%" PRIu32, talk->last);
}

/* ---- commands ---- */

/* Clients of even numbers ask as Thunderbird does, of odd ones as Apple's Mail. */
static bool is_apple(const struct imaptalk *talk)
{
	return talk->client % 2 == 1;
}

static void put_fetch(struct text *text, const struct imaptalk *talk)
{
	const bool has_modseq = (talk->capabilities & IMAPREADER_CAN_CONDSTORE) != 0;
	put(text, talk->is_by_sequence ? "FETCH " : "UID FETCH ");
	put_set(text, talk);
	if (talk->command == TRANSACTION_FETCH_FLAGS)
		put(text, " (UID FLAGS)");
	else if (talk->command == TRANSACTION_FETCH_STRUCTURE)
		put(text, " (UID BODYSTRUCTURE)");
	else if (talk->command == TRANSACTION_FETCH_BODY)
		put(text, is_apple(talk) ? " (UID BODYSTRUCTURE BODY.PEEK[])"
					 : " (UID RFC822.SIZE BODY[])");
	else
		put(text, " (INTERNALDATE UID RFC822.SIZE FLAGS BODY.PEEK[HEADER.FIELDS (%s)]%s)",
		    is_apple(talk) ? apple_fields : thunderbird_fields,
		    is_apple(talk) && has_modseq ? " MODSEQ" : "");
}

static void put_flags(struct text *text, uint8_t flags)
{
	static const struct {
		uint8_t flag;
		const char *name;
	} names[] = { { BEHAVIOUR_SEEN, "\\Seen" },
		      { BEHAVIOUR_DELETED, "\\Deleted" },
		      { BEHAVIOUR_ANSWERED, "\\Answered" } };
	const char *blank = "";
	put(text, "(");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if ((flags & names[i].flag) == 0)
			continue;
		put(text, "%s%s", blank, names[i].name);
		blank = " ";
	}
	put(text, ")");
}

static void put_store(struct text *text, const struct imaptalk *talk)
{
	put(text, talk->is_by_sequence ? "STORE " : "UID STORE ");
	put_set(text, talk);
	put(text, " +FLAGS ");
	put_flags(text, talk->flags);
}

static void put_copy(struct text *text, const struct imaptalk *talk)
{
	put(text, talk->is_by_sequence ? "" : "UID ");
	put(text, talk->command == IMAPTALK_MOVE ? "MOVE " : "COPY ");
	put_set(text, talk);
	put(text, " ");
	put_folder(text, talk);
}

static void put_expunge(struct text *text, const struct imaptalk *talk)
{
	if (talk->first == 0) {
		put(text, "EXPUNGE");
		return;
	}
	put(text, "UID EXPUNGE ");
	put_set(text, talk);
}

static void put_login(struct text *text, const struct imaptalk *talk)
{
	put(text, "LOGIN ");
	put_string(text, talk, talk->name);
	put(text, " ");
	put_string(text, talk, talk->rules->password);
}

static void put_status(struct text *text, const struct imaptalk *talk)
{
	put(text, "STATUS ");
	put_folder(text, talk);
	put(text, " (MESSAGES UNSEEN UIDNEXT UIDVALIDITY)");
}

static void put_append(struct text *text, const struct imaptalk *talk)
{
	put(text, "APPEND ");
	put_folder(text, talk);
	if (talk->flags != 0) {
		put(text, " ");
		put_flags(text, talk->flags);
	}
	put(text, " ");
	put_literal_size(text, talk, talk->mail->size_bytes);
}

static void put_idle(struct text *text, const struct imaptalk *talk)
{
	(void)talk;
	put(text, "IDLE\r\n");
	end_part(text);
	put(text, "DONE");
}

/* What has nothing but a verb, or a folder behind it. */
static void put_verb(struct text *text, const struct imaptalk *talk)
{
	static const struct {
		uint8_t command;
		const char *verb;
		bool has_folder;
	} verbs[] = {
		{ TRANSACTION_LIST, "LIST \"\" \"*\"", false },
		{ TRANSACTION_SELECT, "SELECT ", true },
		{ TRANSACTION_SEARCH, "UID SEARCH UNDELETED OR SUBJECT \"report\" FROM \"report\"",
		  false },
		{ IMAPTALK_NOOP, "NOOP", false },
		{ BEHAVIOUR_LOGOUT, "LOGOUT", false },
		{ IMAPTALK_CAPABILITY, "CAPABILITY", false },
		{ IMAPTALK_STARTTLS, "STARTTLS", false },
		{ IMAPTALK_CREATE, "CREATE ", true },
		{ IMAPTALK_DELETE, "DELETE ", true },
		{ IMAPTALK_EXAMINE, "EXAMINE ", true },
		{ IMAPTALK_CLOSE, "CLOSE", false },
	};
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (verbs[i].command != talk->command)
			continue;
		put(text, "%s", verbs[i].verb);
		if (verbs[i].has_folder)
			put_folder(text, talk);
	}
}

static void put_command(struct text *text, const struct imaptalk *talk)
{
	switch (talk->command) {
	case TRANSACTION_LOGIN:
		put_login(text, talk);
		break;
	case TRANSACTION_STATUS:
		put_status(text, talk);
		break;
	case TRANSACTION_FETCH_HEADERS:
	case TRANSACTION_FETCH_FLAGS:
	case TRANSACTION_FETCH_STRUCTURE:
	case TRANSACTION_FETCH_BODY:
		put_fetch(text, talk);
		break;
	case TRANSACTION_STORE:
		put_store(text, talk);
		break;
	case TRANSACTION_COPY:
	case IMAPTALK_MOVE:
		put_copy(text, talk);
		break;
	case TRANSACTION_APPEND:
		put_append(text, talk);
		break;
	case TRANSACTION_EXPUNGE:
		put_expunge(text, talk);
		break;
	case BEHAVIOUR_IDLE:
		put_idle(text, talk);
		break;
	default:
		put_verb(text, talk);
		break;
	}
}

/* The end of a line behind a mail is not in it. */
static void make(const struct imaptalk *talk, struct text *ret_text)
{
	ret_text->size = 0;
	ret_text->part_count = 0;
	ret_text->starts[0] = 0;
	ret_text->is_wrong = false;
	put(ret_text, "A%" PRIu32 " ", talk->tag);
	put_command(ret_text, talk);
	if (talk->mail == NULL)
		put(ret_text, "\r\n");
	end_part(ret_text);
}

unsigned imapcommand_parts(const struct imaptalk *talk)
{
	struct text text;
	make(talk, &text);
	return text.is_wrong ? 0 : text.part_count;
}

/* The mail is in the last part, with the end of its line. */
static bool has_mail(const struct imaptalk *talk, const struct text *text)
{
	return talk->mail != NULL && talk->part + 1U == text->part_count;
}

size_t imapcommand_size(const struct imaptalk *talk)
{
	struct text text;
	make(talk, &text);
	const size_t size = text.starts[talk->part + 1] - text.starts[talk->part];
	return has_mail(talk, &text) ? size + talk->mail->size_bytes + 2 : size;
}

/* Copies what of a piece, that begins at *offset, is due; *offset becomes that of the next piece. */
static size_t copy_piece(const char *piece, size_t size, size_t *offset, char *ret_bytes,
			 size_t room)
{
	if (*offset >= size) {
		*offset -= size;
		return 0;
	}
	const size_t left = size - *offset;
	const size_t part = left < room ? left : room;
	memcpy(ret_bytes, piece + *offset, part);
	*offset = 0;
	return part;
}

/* The same for a mail, whose bytes are made. */
static size_t copy_mail(const struct mailplan *mail, size_t *offset, char *ret_bytes, size_t room)
{
	if (*offset >= mail->size_bytes) {
		*offset -= mail->size_bytes;
		return 0;
	}
	const size_t left = mail->size_bytes - *offset;
	const size_t from = *offset;
	*offset = 0;
	return mailplan_copy(mail, from, ret_bytes, left < room ? left : room);
}

size_t imapcommand_copy(const struct imaptalk *talk, size_t offset, char *ret_bytes, size_t room)
{
	struct text text;
	make(talk, &text);
	const size_t start = text.starts[talk->part];
	size_t at = copy_piece(text.bytes + start, text.starts[talk->part + 1] - start, &offset,
			       ret_bytes, room);
	if (!has_mail(talk, &text))
		return at;
	at += copy_mail(talk->mail, &offset, ret_bytes + at, room - at);
	return at + copy_piece("\r\n", 2, &offset, ret_bytes + at, room - at);
}
