/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/pdf/unpack_string.h"

#include <string.h>

#include "lib/format/hex.h"

static size_t take_escaped(struct pdf_string *string, uint8_t byte, uint8_t *ret_byte)
{
	static const char letters[] = "nrtbf";
	static const char meant[] = "\n\r\t\b\f";
	const char *letter = byte != '\0' ? strchr(letters, byte) : NULL;
	string->is_escaped = false;
	if (byte >= '0' && byte <= '7') {
		string->octal_digits = 1;
		string->byte = byte - '0';
		return 0;
	}
	*ret_byte = letter != NULL ? (uint8_t)meant[letter - letters] : byte;
	return byte != '\r' && byte != '\n';
}

/* Has the byte been a digit of \nnn? */
static bool take_octal(struct pdf_string *string, uint8_t byte, uint8_t *ret_byte,
		       size_t *ret_count)
{
	const bool is_digit = byte >= '0' && byte <= '7';
	if (is_digit)
		string->byte = (uint8_t)(string->byte << 3 | (byte - '0'));
	if (is_digit && ++string->octal_digits < 3)
		return true;
	string->octal_digits = 0;
	*ret_byte = string->byte;
	*ret_count = 1;
	return is_digit;
}

static size_t take_literal(struct pdf_string *string, uint8_t byte, uint8_t *ret_bytes)
{
	size_t count = 0;
	if (string->octal_digits > 0 && take_octal(string, byte, ret_bytes, &count))
		return count;
	if (string->is_escaped)
		return take_escaped(string, byte, ret_bytes);
	string->is_escaped = byte == '\\';
	if (string->is_escaped)
		return count;
	if (byte == ')' && string->parentheses == 0) {
		string->mode = PDF_STRING_NONE;
		return count;
	}
	string->parentheses += byte == '(';
	string->parentheses -= byte == ')';
	ret_bytes[count] = byte;
	return count + 1;
}

static size_t take_hex(struct pdf_string *string, uint8_t byte, uint8_t *ret_byte)
{
	const int digit = hex_value((char)byte);
	if (digit >= 0) {
		string->byte = (uint8_t)(string->byte << 4 | digit);
		string->has_nibble = !string->has_nibble;
		*ret_byte = string->byte;
		return !string->has_nibble;
	}
	if (byte != '>')
		return 0;
	string->mode = PDF_STRING_NONE;
	*ret_byte = (uint8_t)(string->byte << 4);
	return string->has_nibble;
}

size_t pdf_string_take(struct pdf_string *string, uint8_t byte, uint8_t *ret_bytes)
{
	switch (string->mode) {
	case PDF_STRING_LITERAL:
		return take_literal(string, byte, ret_bytes);
	case PDF_STRING_HEX:
		return take_hex(string, byte, ret_bytes);
	default:
		return 0;
	}
}
