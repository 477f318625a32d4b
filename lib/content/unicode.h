/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unicode.h - characters of names in files, as they are shown.
 *
 * Flow: readers of lib/mstream and lib/unpack: a name in UTF-16 or of a code page -> UTF-8.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UNICODE_PUT_MAX 4

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

#ifdef __cplusplus
}
#endif
