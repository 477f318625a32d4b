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
	if (at == 0 && (byte == 0xfe || byte == 0xff)) {
		script->is_wide = true;
		script->first = byte;
		return;
	}
	if (at == 1 && script->is_wide) {
		script->is_wide = (byte ^ script->first) == (0xfe ^ 0xff);
		if (script->is_wide)
			return;
		script->bytes[script->size++] = script->first;
	}
	const bool is_high = at % 2 == (script->first == 0xff);
	if (!script->is_wide || !is_high || byte != 0)
		script->bytes[script->size++] = byte;
}

static void take_string(struct pdf_script *script, uint8_t byte)
{
	uint8_t bytes[PDF_STRING_ADDED];
	const size_t count = pdf_string_take(&script->string, byte, bytes);
	for (size_t i = 0; i < count; i++)
		put(script, bytes[i]);
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
	script->is_wanted = is_name || (is_object && script->string.mode == PDF_STRING_NONE);
	script->is_comment = false;
	script->is_angle = false;
	script->word_size = 0;
	script->name_digits = 0;
}

/* Between a name and its string: of which kind is the one that begins with the byte, or before it? */
static enum pdf_string_mode take_between(struct pdf_script *script, uint8_t byte)
{
	if (script->is_comment) {
		script->is_comment = byte != '\r' && byte != '\n';
		return PDF_STRING_NONE;
	}
	if (script->is_angle && byte != '<')
		return PDF_STRING_HEX;
	if (byte == '(')
		return PDF_STRING_LITERAL;
	script->is_comment = byte == '%';
	script->is_wanted = pdf_is_space(byte) || byte == '%' || (byte == '<' && !script->is_angle);
	script->is_angle = byte == '<';
	return PDF_STRING_NONE;
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
	enum pdf_string_mode mode = PDF_STRING_NONE;
	if (!script->is_wanted && (pdf_is_space(byte) || pdf_is_delimiter(byte)))
		end_word(script);
	if (script->is_wanted)
		mode = take_between(script, byte);
	if (!script->is_wanted && !pdf_is_space(byte) && (byte == '/' || !pdf_is_delimiter(byte)))
		take_letter(script, byte);
	if (mode != PDF_STRING_NONE) {
		pdf_script_end(script, unpack);
		script->string.mode = mode;
		open_member(script, unpack, ++*count);
	}
	/* The parenthesis that begins it is none of its own. */
	if (mode != PDF_STRING_LITERAL && script->string.mode != PDF_STRING_NONE)
		take_string(script, byte);
	if (script->is_open && script->string.mode == PDF_STRING_NONE)
		pdf_script_end(script, unpack);
	else if (script->size > sizeof(script->bytes) - ADDED)
		flush(script, unpack);
}
