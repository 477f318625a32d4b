/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/pdf/unpack_script.h"

#include <stdio.h>
#include <string.h>

#include "lib/format/hex.h"
#include "lib/unpack/pdf/unpack_dictionary.h"

/* ---- what the string says ---- */

static void put(struct pdf_script *script, uint8_t byte)
{
	const uint8_t at = script->at;
	script->at = at < 3 ? at + 1 : 2;
	if (at == 0 && byte == 0xfe) {
		script->is_wide = true;
		return;
	}
	if (at == 1 && script->is_wide) {
		script->is_wide = byte == 0xff;
		if (script->is_wide)
			return;
		script->bytes[script->size++] = 0xfe;
	}
	if (!script->is_wide || at % 2 != 0 || byte != 0)
		script->bytes[script->size++] = byte;
}

static void take_escaped(struct pdf_script *script, uint8_t byte)
{
	static const char letters[] = "nrtbf";
	static const char meant[] = "\n\r\t\b\f";
	const char *letter = byte != '\0' ? strchr(letters, byte) : NULL;
	script->is_escaped = false;
	if (byte >= '0' && byte <= '7') {
		script->octal_digits = 1;
		script->byte = byte - '0';
	} else if (letter != NULL) {
		put(script, (uint8_t)meant[letter - letters]);
	} else if (byte != '\r' && byte != '\n') {
		put(script, byte);
	}
}

/* Has the byte been a digit of \nnn? */
static bool take_octal(struct pdf_script *script, uint8_t byte)
{
	const bool is_digit = byte >= '0' && byte <= '7';
	if (is_digit)
		script->byte = (uint8_t)(script->byte << 3 | (byte - '0'));
	if (is_digit && ++script->octal_digits < 3)
		return true;
	script->octal_digits = 0;
	put(script, script->byte);
	return is_digit;
}

static void take_literal(struct pdf_script *script, uint8_t byte)
{
	if (script->octal_digits > 0 && take_octal(script, byte))
		return;
	if (script->is_escaped) {
		take_escaped(script, byte);
		return;
	}
	script->is_escaped = byte == '\\';
	if (script->is_escaped)
		return;
	if (byte == ')' && script->parentheses == 0) {
		script->mode = PDF_SCRIPT_NONE;
		return;
	}
	script->parentheses += byte == '(';
	script->parentheses -= byte == ')';
	put(script, byte);
}

static void take_hex(struct pdf_script *script, uint8_t byte)
{
	const int digit = hex_value((char)byte);
	if (digit >= 0) {
		script->byte = (uint8_t)(script->byte << 4 | digit);
		script->has_nibble = !script->has_nibble;
		if (!script->has_nibble)
			put(script, script->byte);
	} else if (byte == '>') {
		script->mode = PDF_SCRIPT_NONE;
		if (script->has_nibble)
			put(script, (uint8_t)(script->byte << 4));
	}
}

/* ---- where one begins ---- */

static void add_letter(struct pdf_script *script, uint8_t byte)
{
	if (script->word_size < sizeof(script->word))
		script->word[script->word_size++] = byte;
}

/* Letters of names may be written as #53; what is no such is one that is not looked for. */
static void take_letter(struct pdf_script *script, uint8_t byte)
{
	if (script->name_digits == 0 && byte != '#') {
		add_letter(script, byte);
		return;
	}
	if (script->name_digits > 0)
		script->name_byte =
			(uint8_t)(script->name_byte << 4 | (hex_value((char)byte) & 15));
	script->name_digits = (uint8_t)((script->name_digits + 1) % 3);
	if (script->name_digits == 0)
		add_letter(script, script->name_byte);
}

/* The word ends, before a string it may be. */
static void end_word(struct pdf_script *script)
{
	const bool is_name = script->word_size == 3 && memcmp(script->word, "/JS", 3) == 0;
	const bool is_object = script->word_size == 3 && memcmp(script->word, "obj", 3) == 0;
	script->is_wanted = is_name || (is_object && script->mode == PDF_SCRIPT_NONE);
	script->is_comment = false;
	script->is_angle = false;
	script->word_size = 0;
	script->name_digits = 0;
}

/* Between a name and its string: of which kind is the one that begins with the byte, or before it? */
static enum pdf_script_mode take_between(struct pdf_script *script, uint8_t byte)
{
	if (script->is_comment) {
		script->is_comment = byte != '\r' && byte != '\n';
		return PDF_SCRIPT_NONE;
	}
	if (script->is_angle && byte != '<')
		return PDF_SCRIPT_HEX;
	if (byte == '(')
		return PDF_SCRIPT_LITERAL;
	script->is_comment = byte == '%';
	script->is_wanted = pdf_is_space(byte) || byte == '%' || (byte == '<' && !script->is_angle);
	script->is_angle = byte == '<';
	return PDF_SCRIPT_NONE;
}

/* ---- members ---- */

/* What one byte adds, with room for it. */
#define ADDED 4

static void flush(struct pdf_script *script, struct unpack *unpack)
{
	const unsigned size = script->size;
	script->size = 0;
	if (size > 0 && unpack_spend(unpack, size) && script->member != NULL)
		unpack->events->data(unpack->context, script->member, script->bytes, size);
}

static void open_member(struct pdf_script *script, struct unpack *unpack, unsigned number)
{
	char name[32];
	snprintf(name, sizeof(name), "script %u", number);
	script->is_open = unpack_count(unpack);
	if (script->is_open)
		script->member = unpack->events->begin(unpack->context, name);
}

void pdf_script_begin(struct pdf_script *ret_script)
{
	memset(ret_script, 0, offsetof(struct pdf_script, bytes));
}

void pdf_script_end(struct pdf_script *script, struct unpack *unpack)
{
	if (script->is_open && !unpack->is_over)
		flush(script, unpack);
	if (script->member != NULL)
		unpack->events->end(unpack->context, script->member, true);
	pdf_script_begin(script);
}

void pdf_script_take(struct pdf_script *script, struct unpack *unpack, unsigned *count,
		     uint8_t byte)
{
	enum pdf_script_mode mode = PDF_SCRIPT_NONE;
	if (!script->is_wanted && (pdf_is_space(byte) || pdf_is_delimiter(byte)))
		end_word(script);
	if (script->is_wanted)
		mode = take_between(script, byte);
	if (!script->is_wanted && !pdf_is_space(byte) && (byte == '/' || !pdf_is_delimiter(byte)))
		take_letter(script, byte);
	if (mode != PDF_SCRIPT_NONE) {
		pdf_script_end(script, unpack);
		script->mode = mode;
		open_member(script, unpack, ++*count);
	}
	if (script->mode == PDF_SCRIPT_LITERAL && mode != PDF_SCRIPT_LITERAL)
		take_literal(script, byte);
	else if (script->mode == PDF_SCRIPT_HEX)
		take_hex(script, byte);
	if (script->is_open && script->mode == PDF_SCRIPT_NONE)
		pdf_script_end(script, unpack);
	else if (script->size > sizeof(script->bytes) - ADDED)
		flush(script, unpack);
}
