/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/wire/utf8.h"

#include <stdbool.h>
#include <stdint.h>

static bool is_continuation(uint8_t byte)
{
	return (byte & 0xc0U) == 0x80;
}

size_t utf8_size(const char *text, size_t text_size)
{
	const uint8_t *bytes = (const uint8_t *)text;
	if (text_size < 2 || bytes[0] < 0xc2 || bytes[0] > 0xf4 || !is_continuation(bytes[1]))
		return 0;
	if (bytes[0] < 0xe0)
		return bytes[0] == 0xc2 && bytes[1] < 0xa0 ? 0 : 2;
	if (text_size < 3 || !is_continuation(bytes[2]))
		return 0;
	if (bytes[0] < 0xf0) {
		bool is_overlong = bytes[0] == 0xe0 && bytes[1] < 0xa0;
		bool is_surrogate = bytes[0] == 0xed && bytes[1] >= 0xa0;
		return is_overlong || is_surrogate ? 0 : 3;
	}
	if (text_size < 4 || !is_continuation(bytes[3]))
		return 0;
	bool is_overlong = bytes[0] == 0xf0 && bytes[1] < 0x90;
	bool is_beyond = bytes[0] == 0xf4 && bytes[1] >= 0x90;
	return is_overlong || is_beyond ? 0 : 4;
}
