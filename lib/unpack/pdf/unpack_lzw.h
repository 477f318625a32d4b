/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_lzw.h - LZW as PDF has it (ISO 32000-1, 7.4.4).
 *
 * Flow: unpack_filters.c: a stream with /LZWDecode, byte for byte -> unpack_lzw_take() -> what comes out.
 *
 *     unpack_lzw_begin(&lzw, true);
 *     size = unpack_lzw_take(&lzw, byte, &out);    // the bytes at out, until the next call
 *
 * Codes of 9 to 12 bits, the highest bit first; 256 empties the table, 257 is the end. A code that there is not
 * ends it, too. A plain value; pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UNPACK_LZW_CODES 4096

struct unpack_lzw {
	bool is_over;
	bool is_early; /* codes become longer a code before they have to */
	unsigned width;
	unsigned bit_count;
	uint32_t bits;
	unsigned count;	 /* of codes */
	unsigned before; /* the code; UNPACK_LZW_CODES: none */
	uint8_t first;	 /* of its bytes */
	uint16_t prefix[UNPACK_LZW_CODES];
	uint8_t last[UNPACK_LZW_CODES];
	uint8_t out[UNPACK_LZW_CODES];
};

void unpack_lzw_begin(struct unpack_lzw *ret_lzw, bool is_early);
/* How many bytes come out, at *ret_bytes. */
size_t unpack_lzw_take(struct unpack_lzw *lzw, uint8_t byte, const uint8_t **ret_bytes);

#ifdef __cplusplus
}
#endif
