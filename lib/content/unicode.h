/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unicode.h - characters of names in files, as they are shown.
 *
 * Flow: readers of lib/mstream and lib/unpack: a name in UTF-16 or of a code page -> UTF-8 -> lib/inspect: what is
 *       shown of it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNICODE_PUT_MAX 4

/* How many bytes the character at the beginning has in UTF-8 (RFC 3629); size > 0. 0: it is none. */
static inline size_t unicode_get(const uint8_t *bytes, size_t size, uint32_t *ret_character)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const uint8_t lead = bytes[0];
	const size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 || length > size)
		return 0;
	uint32_t character = length == 1 ? lead : lead & (0x7fU >> length);
	for (size_t i = 1; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (bytes[i] & 0x3fU);
	}
	if (character < smallest[length] || character > 0x10ffff ||
	    (character >= 0xd800 && character < 0xe000))
		return 0;
	*ret_character = character;
	return length;
}

/* Is it no control, and does it neither break a line nor change the direction of a text? */
static inline bool unicode_is_shown(uint32_t character)
{
	const bool is_control = character < 0x20 || (character >= 0x7f && character < 0xa0);
	const bool is_turn = (character >= 0x202a && character <= 0x202e) ||
			     (character >= 0x2066 && character <= 0x2069) || character == 0x200e ||
			     character == 0x200f || character == 0x61c;
	const bool is_break = character == 0x2028 || character == 0x2029 || character == 0xfeff;
	return !is_control && !is_turn && !is_break;
}

/* In UTF-8; how many bytes that is. ret_bytes has UNICODE_PUT_MAX. */
static inline size_t unicode_put(uint32_t character, uint8_t *ret_bytes)
{
	const size_t length = character < 0x80	    ? 1
			      : character < 0x800   ? 2
			      : character < 0x10000 ? 3
						    : 4;
	for (size_t i = length - 1; i > 0; i--) {
		ret_bytes[i] = (uint8_t)(0x80 | (character & 0x3f));
		character >>= 6;
	}
	const uint32_t mark = length == 1 ? 0 : 0xf00U >> length & 0xf0U;
	ret_bytes[0] = (uint8_t)(mark | character);
	return length;
}
