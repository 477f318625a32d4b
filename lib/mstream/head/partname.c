/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/head/partname.h"

#include "lib/content/unicode.h"
#include "lib/format/hex.h"
#include "lib/mstream/head/coding.h"
#include "lib/wire/utf8.h"
#include "lib/wire/word.h"

#include <string.h>

/* windows-1252 from 80 to 9f; 0 where it has none. */
static const uint16_t windows_1252[32] = {
	0x20ac, 0,	0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
	0x2039, 0x0152, 0,	0x017d, 0,	0,	0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
	0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,	0x017e, 0x0178,
};

/* Where ISO-8859-15 is not ISO-8859-1. */
static const struct {
	uint8_t byte;
	uint16_t character;
} latin_9[] = {
	{ 0xa4, 0x20ac }, { 0xa6, 0x0160 }, { 0xa8, 0x0161 }, { 0xb4, 0x017d },
	{ 0xb8, 0x017e }, { 0xbc, 0x0152 }, { 0xbd, 0x0153 }, { 0xbe, 0x0178 },
};

static const struct {
	const char *name;
	enum partname_charset charset;
} charsets[] = {
	{ "utf-8", PARTNAME_UTF_8 },	     { "utf8", PARTNAME_UTF_8 },
	{ "us-ascii", PARTNAME_UTF_8 },	     { "ascii", PARTNAME_UTF_8 },
	{ "iso-8859-1", PARTNAME_LATIN_1 },  { "iso8859-1", PARTNAME_LATIN_1 },
	{ "iso_8859-1", PARTNAME_LATIN_1 },  { "latin1", PARTNAME_LATIN_1 },
	{ "iso-8859-15", PARTNAME_LATIN_9 }, { "iso8859-15", PARTNAME_LATIN_9 },
	{ "latin9", PARTNAME_LATIN_9 },	     { "windows-1252", PARTNAME_WINDOWS_1252 },
	{ "cp1252", PARTNAME_WINDOWS_1252 },
};

enum partname_charset partname_charset(const uint8_t *text, size_t size)
{
	for (size_t i = 0; i < sizeof(charsets) / sizeof(charsets[0]); i++) {
		if (word_is((const char *)text, size, charsets[i].name))
			return charsets[i].charset;
	}
	/* Of none is of UTF-8: that is what stands there today. */
	return size == 0 ? PARTNAME_UTF_8 : PARTNAME_OTHER;
}

static uint16_t character_of(enum partname_charset charset, uint8_t byte)
{
	if (byte < 0x80)
		return byte;
	if (charset == PARTNAME_OTHER)
		return '?';
	if (charset == PARTNAME_WINDOWS_1252 && byte < 0xa0)
		return windows_1252[byte - 0x80] != 0 ? windows_1252[byte - 0x80] : '?';
	if (charset != PARTNAME_LATIN_9)
		return byte;
	for (size_t i = 0; i < sizeof(latin_9) / sizeof(latin_9[0]); i++) {
		if (latin_9[i].byte == byte)
			return latin_9[i].character;
	}
	return byte;
}

static void put(struct partname *name, unsigned byte)
{
	if (name->size < sizeof(name->text) - 1)
		name->text[name->size++] = (char)byte;
}

static void put_byte(struct partname *name, enum partname_charset charset, uint8_t byte)
{
	if (charset == PARTNAME_UTF_8) {
		put(name, byte);
		return;
	}
	uint8_t bytes[UNICODE_PUT_MAX];
	const size_t size = unicode_put(character_of(charset, byte), bytes);
	for (size_t i = 0; i < size; i++)
		put(name, bytes[i]);
}

void partname_begin(struct partname *name)
{
	name->size = 0;
	name->text[0] = '\0';
}

void partname_add(struct partname *name, enum partname_charset charset, const uint8_t *bytes,
		  size_t size)
{
	for (size_t i = 0; i < size; i++)
		put_byte(name, charset, bytes[i]);
}

/* Bytes of which some are written as a mark and two hexadecimal digits. */
static void add_escaped(struct partname *name, enum partname_charset charset, uint8_t mark,
			const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		const bool is_mark = bytes[i] == mark && i + 2 < size;
		const int byte = is_mark ? hex_pair(bytes + i + 1) : -1;
		if (byte >= 0) {
			put_byte(name, charset, (uint8_t)byte);
			i += 2;
		} else {
			put_byte(name, charset, mark == '=' && bytes[i] == '_' ? ' ' : bytes[i]);
		}
	}
}

void partname_add_percent(struct partname *name, enum partname_charset charset,
			  const uint8_t *bytes, size_t size)
{
	add_escaped(name, charset, '%', bytes, size);
}

/* What is longer makes more than there is room for. */
static void add_base64(struct partname *name, enum partname_charset charset, const uint8_t *bytes,
		       size_t size)
{
	uint8_t out[BASE64_ROOM(4 * MSTREAM_NAME_SIZE)];
	(void)base64_text(bytes, size < 4 * MSTREAM_NAME_SIZE ? size : 4 * MSTREAM_NAME_SIZE, out,
			  &size);
	partname_add(name, charset, out, size);
}

/* The next "?" of bytes from at on; size: there is none. */
static size_t question_mark(const uint8_t *bytes, size_t size, size_t at)
{
	while (at < size && bytes[at] != '?')
		at++;
	return at;
}

/* =?charset?B?text?= at the start of bytes; returns its size, 0: it is none. */
static size_t add_word(struct partname *name, const uint8_t *bytes, size_t size)
{
	if (size < 8 || bytes[0] != '=' || bytes[1] != '?')
		return 0;
	const size_t charset_end = question_mark(bytes, size, 2);
	if (charset_end + 3 >= size || bytes[charset_end + 2] != '?')
		return 0;
	const uint8_t coding = bytes[charset_end + 1] | 0x20;
	const size_t text = charset_end + 3;
	const size_t end = question_mark(bytes, size, text);
	if (end + 1 >= size || bytes[end + 1] != '=' || (coding != 'b' && coding != 'q'))
		return 0;
	/* "utf-8*en", RFC 2231, 5 */
	const uint8_t *star = memchr(bytes + 2, '*', charset_end - 2);
	const enum partname_charset charset = partname_charset(
		bytes + 2, star != NULL ? (size_t)(star - bytes) - 2 : charset_end - 2);
	if (coding == 'b')
		add_base64(name, charset, bytes + text, end - text);
	else
		add_escaped(name, charset, '=', bytes + text, end - text);
	return end + 2;
}

static size_t blank_size(const uint8_t *bytes, size_t size)
{
	size_t at = 0;
	while (at < size && (bytes[at] == ' ' || bytes[at] == '\t'))
		at++;
	return at;
}

void partname_add_words(struct partname *name, const uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at < size;) {
		const size_t some = add_word(name, bytes + at, size - at);
		if (some == 0) {
			/* A fold within quotes may be a tab. */
			put_byte(name, PARTNAME_UTF_8, bytes[at] == '\t' ? ' ' : bytes[at]);
			at++;
			continue;
		}
		at += some;
		/* Blanks between two words are none of the name (RFC 2047, 6.2). */
		const size_t blanks = blank_size(bytes + at, size - at);
		if (at + blanks + 1 < size && bytes[at + blanks] == '=' &&
		    bytes[at + blanks + 1] == '?')
			at += blanks;
	}
}

void partname_finish(struct partname *name)
{
	size_t put_at = 0;
	for (size_t at = 0; at < name->size;) {
		const uint8_t byte = (uint8_t)name->text[at];
		const size_t character_size =
			byte < 0x80 ? 1 : utf8_size(name->text + at, name->size - at);
		if (character_size == 0) {
			name->text[put_at++] = '?';
			at++;
			continue;
		}
		if (byte >= ' ' && byte != 0x7f) {
			memmove(name->text + put_at, name->text + at, character_size);
			put_at += character_size;
		}
		at += character_size;
	}
	name->size = (uint16_t)put_at;
	name->text[put_at] = '\0';
}
