/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/peers/rspamd_reply.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "lib/format/ascii.h"
#include "lib/format/hex.h"

/* ---- HTTP ---- */

/* "HTTP/1.1 200 OK" */
static enum reply_status read_status_line(struct rspamd_reply *reply)
{
	const char *line = reply->line;
	static const char http[] = "HTTP/1.";
	if (reply->line_size < 12 || memcmp(line, http, sizeof(http) - 1) != 0 || line[8] != ' ')
		return REPLY_BAD;
	const int64_t code = ascii_number(line + 9, 3, 999);
	if (code < 0)
		return REPLY_BAD;
	reply->code = (unsigned)code;
	reply->want = RSPAMD_FIELDS;
	return REPLY_MORE;
}

static enum reply_status read_length(struct rspamd_reply *reply, const char *digits)
{
	const int64_t size = ascii_number(digits, strlen(digits), INT64_MAX);
	if (reply->has_length || size < 0)
		return REPLY_BAD;
	reply->has_length = true;
	reply->left = (uint64_t)size;
	return REPLY_MORE;
}

/* Chunks and compression are not asked for, so that a reply with them is none. */
static enum reply_status read_field(struct rspamd_reply *reply)
{
	char *colon = strchr(reply->line, ':');
	if (colon == NULL)
		return REPLY_BAD;
	*colon = '\0';
	const char *value = colon + 1 + strspn(colon + 1, " \t");
	if (strcasecmp(reply->line, "Content-Length") == 0)
		return read_length(reply, value);
	const bool is_coded = strcasecmp(reply->line, "Transfer-Encoding") == 0 ||
			      strcasecmp(reply->line, "Content-Encoding") == 0;
	return is_coded ? REPLY_BAD : REPLY_MORE;
}

static enum reply_status read_line(struct rspamd_reply *reply)
{
	if (reply->line_size > 0 && reply->line[reply->line_size - 1] == '\r')
		reply->line_size--;
	reply->line[reply->line_size] = '\0';
	if (++reply->lines > RSPAMD_LINES_MAX)
		return REPLY_BAD;
	if (reply->want == RSPAMD_STATUS_LINE)
		return read_status_line(reply);
	if (reply->line_size > 0)
		return read_field(reply);
	if (reply->code != 200)
		return REPLY_BAD;
	reply->want = RSPAMD_BODY;
	return reply->has_length && reply->left == 0 ? REPLY_BAD : REPLY_MORE;
}

static enum reply_status push_head(struct rspamd_reply *reply, uint8_t byte)
{
	if (byte == '\n') {
		const enum reply_status status = read_line(reply);
		reply->line_size = 0;
		return status;
	}
	if (reply->line_size == RSPAMD_LINE_MAX - 1 || byte == '\0')
		return REPLY_BAD;
	reply->line[reply->line_size++] = (char)byte;
	return REPLY_MORE;
}

/* ---- JSON: texts ---- */

static bool is_in_object(const struct rspamd_reply *reply)
{
	return reply->depth > 0 && (reply->objects >> (reply->depth - 1) & 1) != 0;
}

static bool has_key(const struct rspamd_reply *reply, const char *key)
{
	return is_in_object(reply) && strcmp(reply->key, key) == 0;
}

static void add_char(struct rspamd_reply *reply, unsigned value)
{
	const char c = value >= ' ' && value <= '~' ? (char)value : '?';
	if (reply->is_key) {
		if (reply->key_size < RSPAMD_KEY_MAX)
			reply->key[reply->key_size] = c;
		reply->key_size++;
	} else if (reply->into != NULL && reply->into_size < REPLY_TEXT_MAX - 1) {
		reply->into[reply->into_size++] = c;
	}
}

/* Where the text goes that begins here. */
static enum reply_status begin_text(struct rspamd_reply *reply)
{
	bool *has = NULL;
	if (reply->depth == 1 && has_key(reply, "action")) {
		has = &reply->has_action;
		reply->into = reply->action;
	} else if (reply->depth == 2 && reply->is_in_messages && has_key(reply, "smtp_message")) {
		has = &reply->has_message;
		reply->into = reply->message;
	}
	if (has == NULL)
		return REPLY_MORE;
	if (*has)
		return REPLY_BAD;
	*has = true;
	return REPLY_MORE;
}

static enum reply_status begin_string(struct rspamd_reply *reply, bool is_key)
{
	reply->is_in_string = true;
	reply->is_key = is_key;
	reply->into = NULL;
	reply->into_size = 0;
	if (!is_key)
		return begin_text(reply);
	memset(reply->key, 0, sizeof(reply->key));
	reply->key_size = 0;
	return REPLY_MORE;
}

static void end_string(struct rspamd_reply *reply)
{
	reply->is_in_string = false;
	if (reply->into != NULL)
		reply->into[reply->into_size] = '\0';
	reply->into = NULL;
	if (reply->is_key && reply->key_size > RSPAMD_KEY_MAX)
		reply->key[0] = '\0';
	reply->json = reply->is_key ? RSPAMD_COLON : RSPAMD_COMMA;
}

#define DIGITS 4

static enum reply_status push_digit(struct rspamd_reply *reply, uint8_t byte)
{
	const int digit = hex_value((char)byte);
	if (digit < 0)
		return REPLY_BAD;
	reply->escape = reply->escape << 4 | (unsigned)digit;
	if (--reply->escaped > 1)
		return REPLY_MORE;
	add_char(reply, reply->escape);
	reply->escaped = 0;
	return REPLY_MORE;
}

static enum reply_status push_escaped(struct rspamd_reply *reply, uint8_t byte)
{
	if (reply->escaped > 1)
		return push_digit(reply, byte);
	reply->escaped = 0;
	if (byte == 'u') {
		reply->escape = 0;
		reply->escaped = DIGITS + 1;
	} else if (byte == '"' || byte == '\\' || byte == '/') {
		add_char(reply, byte);
	} else if (byte != '\0' && strchr("bfnrt", byte) != NULL) {
		add_char(reply, ' ');
	} else {
		return REPLY_BAD;
	}
	return REPLY_MORE;
}

static enum reply_status push_string(struct rspamd_reply *reply, uint8_t byte)
{
	if (reply->escaped > 0)
		return push_escaped(reply, byte);
	if (byte < ' ')
		return REPLY_BAD;
	if (byte == '"')
		end_string(reply);
	else if (byte == '\\')
		reply->escaped = 1;
	else
		add_char(reply, byte);
	return REPLY_MORE;
}

/* ---- JSON: structure ---- */

static enum reply_status begin_nested(struct rspamd_reply *reply, bool is_object)
{
	if (reply->depth == RSPAMD_DEPTH_MAX || (reply->depth == 0 && !is_object))
		return REPLY_BAD;
	/* An action that is no text is not one. */
	if (reply->depth == 1 && has_key(reply, "action"))
		return REPLY_BAD;
	if (reply->depth == 1)
		reply->is_in_messages = is_object && has_key(reply, "messages");
	const uint64_t bit = UINT64_C(1) << reply->depth++;
	reply->objects = is_object ? reply->objects | bit : reply->objects & ~bit;
	reply->json = is_object ? RSPAMD_FIRST_KEY : RSPAMD_FIRST_VALUE;
	return REPLY_MORE;
}

static enum reply_status end_nested(struct rspamd_reply *reply, bool is_object)
{
	if (reply->depth == 0 || is_in_object(reply) != is_object)
		return REPLY_BAD;
	reply->depth--;
	reply->json = reply->depth == 0 ? RSPAMD_NOTHING : RSPAMD_COMMA;
	return REPLY_MORE;
}

static bool is_of_word(uint8_t byte)
{
	return isalnum(byte) != 0 || byte == '-' || byte == '+' || byte == '.';
}

static enum reply_status push_value(struct rspamd_reply *reply, uint8_t byte)
{
	if (byte == '{' || byte == '[')
		return begin_nested(reply, byte == '{');
	if (reply->depth == 0)
		return REPLY_BAD;
	if (byte == '"')
		return begin_string(reply, false);
	if (!is_of_word(byte) || (reply->depth == 1 && has_key(reply, "action")))
		return REPLY_BAD;
	reply->is_in_word = true;
	return REPLY_MORE;
}

static enum reply_status push_comma(struct rspamd_reply *reply, uint8_t byte)
{
	if (byte == '}' || byte == ']')
		return end_nested(reply, byte == '}');
	if (byte != ',')
		return REPLY_BAD;
	reply->json = is_in_object(reply) ? RSPAMD_KEY : RSPAMD_VALUE;
	return REPLY_MORE;
}

static enum reply_status push_structure(struct rspamd_reply *reply, uint8_t byte)
{
	if (strchr(" \t\r\n", byte) != NULL && byte != '\0')
		return REPLY_MORE;
	switch (reply->json) {
	case RSPAMD_FIRST_VALUE:
		return byte == ']' ? end_nested(reply, false) : push_value(reply, byte);
	case RSPAMD_VALUE:
		return push_value(reply, byte);
	case RSPAMD_FIRST_KEY:
		if (byte == '}')
			return end_nested(reply, true);
		return byte == '"' ? begin_string(reply, true) : REPLY_BAD;
	case RSPAMD_KEY:
		return byte == '"' ? begin_string(reply, true) : REPLY_BAD;
	case RSPAMD_COLON:
		reply->json = RSPAMD_VALUE;
		return byte == ':' ? REPLY_MORE : REPLY_BAD;
	case RSPAMD_COMMA:
		return push_comma(reply, byte);
	case RSPAMD_NOTHING:
		break;
	}
	return REPLY_BAD;
}

static enum reply_status push_json(struct rspamd_reply *reply, uint8_t byte)
{
	if (reply->is_in_string)
		return push_string(reply, byte);
	if (reply->is_in_word && is_of_word(byte))
		return REPLY_MORE;
	if (reply->is_in_word) {
		reply->is_in_word = false;
		reply->json = RSPAMD_COMMA;
	}
	return push_structure(reply, byte);
}

/* ---- both ---- */

static bool is_whole(const struct rspamd_reply *reply)
{
	return reply->want == RSPAMD_BODY && reply->json == RSPAMD_NOTHING && reply->has_action &&
	       reply->action[0] != '\0';
}

static enum reply_status push_body(struct rspamd_reply *reply, uint8_t byte)
{
	const enum reply_status status = push_json(reply, byte);
	if (status != REPLY_MORE || !reply->has_length || --reply->left > 0)
		return status;
	return is_whole(reply) ? REPLY_WHOLE : REPLY_BAD;
}

enum reply_status rspamd_reply_push(struct rspamd_reply *reply, const uint8_t *bytes, size_t size)
{
	enum reply_status status = REPLY_MORE;
	for (size_t i = 0; status == REPLY_MORE && i < size; i++)
		status = reply->want == RSPAMD_BODY ? push_body(reply, bytes[i])
						    : push_head(reply, bytes[i]);
	return status;
}

enum reply_status rspamd_reply_close(const struct rspamd_reply *reply)
{
	return !reply->has_length && is_whole(reply) ? REPLY_WHOLE : REPLY_BAD;
}
