/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/unpack_name.h"

#include <stdbool.h>
#include <string.h>

#include "lib/content/unicode.h"

/* Of the bytes from 0x80 on. */
static const uint16_t cp437[128] = {
	0x00c7, 0x00fc, 0x00e9, 0x00e2, 0x00e4, 0x00e0, 0x00e5, 0x00e7, 0x00ea, 0x00eb, 0x00e8,
	0x00ef, 0x00ee, 0x00ec, 0x00c4, 0x00c5, 0x00c9, 0x00e6, 0x00c6, 0x00f4, 0x00f6, 0x00f2,
	0x00fb, 0x00f9, 0x00ff, 0x00d6, 0x00dc, 0x00a2, 0x00a3, 0x00a5, 0x20a7, 0x0192, 0x00e1,
	0x00ed, 0x00f3, 0x00fa, 0x00f1, 0x00d1, 0x00aa, 0x00ba, 0x00bf, 0x2310, 0x00ac, 0x00bd,
	0x00bc, 0x00a1, 0x00ab, 0x00bb, 0x2591, 0x2592, 0x2593, 0x2502, 0x2524, 0x2561, 0x2562,
	0x2556, 0x2555, 0x2563, 0x2551, 0x2557, 0x255d, 0x255c, 0x255b, 0x2510, 0x2514, 0x2534,
	0x252c, 0x251c, 0x2500, 0x253c, 0x255e, 0x255f, 0x255a, 0x2554, 0x2569, 0x2566, 0x2560,
	0x2550, 0x256c, 0x2567, 0x2568, 0x2564, 0x2565, 0x2559, 0x2558, 0x2552, 0x2553, 0x256b,
	0x256a, 0x2518, 0x250c, 0x2588, 0x2584, 0x258c, 0x2590, 0x2580, 0x03b1, 0x00df, 0x0393,
	0x03c0, 0x03a3, 0x03c3, 0x00b5, 0x03c4, 0x03a6, 0x0398, 0x03a9, 0x03b4, 0x221e, 0x03c6,
	0x03b5, 0x2229, 0x2261, 0x00b1, 0x2265, 0x2264, 0x2320, 0x2321, 0x00f7, 0x2248, 0x00b0,
	0x2219, 0x00b7, 0x221a, 0x207f, 0x00b2, 0x25a0, 0x00a0,
};

/* How many bytes the character at the beginning has, RFC 3629; 0: it is none. */
static size_t take_utf8(const uint8_t *bytes, size_t size, uint32_t *ret_character)
{
	const uint8_t lead = bytes[0];
	const size_t length = lead < 0x80   ? 1
			      : lead < 0xc2 ? 0
			      : lead < 0xe0 ? 2
			      : lead < 0xf0 ? 3
			      : lead < 0xf5 ? 4
					    : 0;
	if (length == 0 || length > size)
		return 0;
	uint32_t character = length == 1 ? lead : lead & (0x7fU >> length);
	for (size_t i = 1; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (bytes[i] & 0x3fU);
	}
	const bool is_long =
		(length == 3 && character < 0x800) || (length == 4 && character < 0x10000);
	const bool is_half = character >= 0xd800 && character < 0xe000;
	if (is_long || is_half || character > 0x10ffff)
		return 0;
	*ret_character = character;
	return length;
}

static bool is_utf8(const uint8_t *bytes, size_t size)
{
	/* A name that was cut may end within a character. */
	const bool is_cut = size >= UNPACK_NAME_SIZE;
	uint32_t character = 0;
	while (size > 0) {
		const size_t length = take_utf8(bytes, size, &character);
		if (length == 0)
			return is_cut && size < 4 && bytes[0] >= 0xc2;
		bytes += length;
		size -= length;
	}
	return true;
}

static bool is_shown(uint32_t character)
{
	const bool is_control = character < 0x20 || (character >= 0x7f && character < 0xa0);
	const bool is_turn = (character >= 0x202a && character <= 0x202e) ||
			     (character >= 0x2066 && character <= 0x2069) || character == 0x200e ||
			     character == 0x200f || character == 0x61c;
	const bool is_break = character == 0x2028 || character == 0x2029 || character == 0xfeff;
	return !is_control && !is_turn && !is_break;
}

void unpack_name(const uint8_t *bytes, size_t size, enum unpack_charset charset, char *ret_name)
{
	size = strnlen((const char *)bytes, size);
	const bool is_unicode = is_utf8(bytes, size);
	size_t used = 0;
	while (size > 0 && used + 5 <= UNPACK_NAME_SIZE) {
		uint32_t character = bytes[0];
		size_t length = 1;
		if (is_unicode)
			length = take_utf8(bytes, size, &character);
		else if (charset == UNPACK_NAME_CP437 && character >= 0x80)
			character = cp437[character - 0x80];
		if (length == 0)
			break;
		used += unicode_put(is_shown(character) ? character : '?',
				    (uint8_t *)ret_name + used);
		bytes += length;
		size -= length;
	}
	ret_name[used] = '\0';
}
