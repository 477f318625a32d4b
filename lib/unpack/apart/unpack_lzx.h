/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_lzx.h - LZX as compiled help has it: frames of 32 KiB, and a new beginning every few of them.
 *
 * Flow: unpack_chm.c finds where a run of frames begins -> unpack_lzx_begin() -> unpack_lzx_frame() for each
 *       of them -> its bytes, in the window.
 *
 *     unpack_lzx_begin(lzx, bytes, size);
 *     while ((size = unpack_lzx_frame(lzx, &bytes)) == UNPACK_LZX_FRAME)
 *
 * As in [MS-PATCH], without DELTA: blocks of LZ77 whose codes are Huffman's, in words of 16 bits that begin with
 * their least byte, or stored. Bytes of programs whose calls were rewritten are given as they are: has_calls.
 * Compressed bytes are borrowed; the caller has the window's memory. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UNPACK_LZX_FRAME      (32 * 1024)
#define UNPACK_LZX_WINDOW_MAX (2 << 20)
#define UNPACK_LZX_CHARS      656 /* bytes, and 8 lengths of matches at each of 50 distances */
#define UNPACK_LZX_LENGTHS    249

/* A canonical Huffman code; symbols are in the order of their codes. */
struct unpack_lzx_code {
	uint16_t counts[17];
	uint16_t symbols[UNPACK_LZX_CHARS];
};

struct unpack_lzx {
	const uint8_t *bytes;
	const uint8_t *end;
	uint64_t bits; /* the last bit_count of them */
	unsigned bit_count;
	unsigned past; /* words behind the end that are among them */
	bool is_bad;
	bool has_calls;

	unsigned type; /* of the block */
	uint32_t block_size;
	uint32_t block_left;
	uint32_t offsets[3]; /* of the last matches */
	uint8_t char_widths[UNPACK_LZX_CHARS];
	uint8_t length_widths[UNPACK_LZX_LENGTHS];
	struct unpack_lzx_code chars;
	struct unpack_lzx_code lengths;
	struct unpack_lzx_code aligned;
	struct unpack_lzx_code widths;

	unsigned char_count;
	uint32_t window_size; /* a power of 2 */
	uint32_t at;
	uint64_t out;	 /* bytes, from which may be copied */
	uint8_t *window; /* behind it */
};

/* Bytes of one with such a window; 0: there is no such window. */
size_t unpack_lzx_size(uint64_t window_size);
/* lzx has that many, of any content. */
void unpack_lzx_init(struct unpack_lzx *ret_lzx, uint32_t window_size);
/* What was there before stays in the window, but not behind a frame that was bad. */
void unpack_lzx_begin(struct unpack_lzx *lzx, const uint8_t *bytes, size_t size);
/* Of the next frame: how many bytes are right. They stay until the next call. */
size_t unpack_lzx_frame(struct unpack_lzx *lzx, const uint8_t **ret_bytes);

#ifdef __cplusplus
}
#endif
