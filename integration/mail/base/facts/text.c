/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/facts/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/wire/utf8.h"

#define ESCAPE_SIZE 8 /* "\u00ff" and a NUL */

struct text text_make(char *bytes, size_t room)
{
	bytes[0] = '\0';
	return (struct text){ .bytes = bytes, .room = room };
}

static void put(struct text *text, const char *bytes, size_t size)
{
	size_t left = text->room - 1 - text->size;
	if (size > left)
		size = left;
	memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
	text->bytes[text->size] = '\0';
}

void text_put(struct text *text, const char *plain)
{
	put(text, plain, strlen(plain));
}

void text_put_number(struct text *text, uint64_t number)
{
	char digits[24];
	snprintf(digits, sizeof(digits), "%" PRIu64, number);
	text_put(text, digits);
}

/* U+200E, U+200F, U+2028 to U+202E and U+2066 to U+2069: other text would be shown elsewhere. */
static bool moves_others(const char *character, size_t size)
{
	const uint8_t *bytes = (const uint8_t *)character;
	if (size != 3 || bytes[0] != 0xe2)
		return false;
	if (bytes[1] == 0x80)
		return bytes[2] == 0x8e || bytes[2] == 0x8f ||
		       (bytes[2] >= 0xa8 && bytes[2] <= 0xae);
	return bytes[1] == 0x81 && bytes[2] >= 0xa6 && bytes[2] <= 0xa9;
}

/* Bytes of the character that value begins with and that may be shown as it is; 0: none. */
static size_t shown_size(const char *value, size_t size)
{
	if (*value >= ' ' && *value <= '~')
		return *value != '"' && *value != '\\';
	size_t character_size = utf8_size(value, size);
	return moves_others(value, character_size) ? 0 : character_size;
}

static size_t escape_byte(char byte, enum text_escape escape, char *ret_text)
{
	bool is_json = escape == TEXT_JSON;
	if (is_json && (byte == '"' || byte == '\\'))
		return (size_t)snprintf(ret_text, ESCAPE_SIZE, "\\%c", byte);
	return (size_t)snprintf(ret_text, ESCAPE_SIZE, is_json ? "\\u%04x" : "\\x%02x",
				(unsigned char)byte);
}

void text_put_foreign(struct text *text, const char *value, size_t value_size, size_t room,
		      enum text_escape escape)
{
	char escaped[ESCAPE_SIZE];
	size_t used = 0;
	size_t at = 0;
	value_size = value != NULL ? value_size : 0;
	text_put(text, "\"");
	while (at < value_size) {
		size_t shown = shown_size(value + at, value_size - at);
		size_t size = shown > 0 ? shown : escape_byte(value[at], escape, escaped);
		if (used + size > room)
			break;
		put(text, shown > 0 ? value + at : escaped, size);
		used += size;
		at += shown > 0 ? shown : 1;
	}
	if (at < value_size && escape == TEXT_LOG)
		text_put(text, "...");
	text_put(text, "\"");
}

void text_put_word(struct text *text, const char *name, const char *value)
{
	text_put(text, name);
	text_put_foreign(text, value, strlen(value), TEXT_WORD_MAX, TEXT_LOG);
}

void text_put_count(struct text *text, const char *name, uint64_t number)
{
	text_put(text, name);
	text_put_number(text, number);
}
