/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/pdf/unpack_lzw.h"

#define CODE_CLEAR 256
#define CODE_END   257
#define WIDTH_MIN  9
#define WIDTH_MAX  12

static void clear(struct unpack_lzw *lzw)
{
	lzw->width = WIDTH_MIN;
	lzw->count = CODE_END + 1;
	lzw->before = UNPACK_LZW_CODES;
}

void unpack_lzw_begin(struct unpack_lzw *ret_lzw, bool is_early)
{
	ret_lzw->is_over = false;
	ret_lzw->is_early = is_early;
	ret_lzw->bit_count = 0;
	ret_lzw->bits = 0;
	clear(ret_lzw);
}

static void add(struct unpack_lzw *lzw)
{
	if (lzw->before == UNPACK_LZW_CODES || lzw->count == UNPACK_LZW_CODES)
		return;
	lzw->prefix[lzw->count] = (uint16_t)lzw->before;
	lzw->last[lzw->count] = lzw->first;
	lzw->count++;
	if (lzw->count + lzw->is_early >= 1U << lzw->width && lzw->width < WIDTH_MAX)
		lzw->width++;
}

/* From the end of .out, as a code has its bytes from the last to the first. */
static size_t take_code(struct unpack_lzw *lzw, unsigned code, const uint8_t **ret_bytes)
{
	const bool is_next = code == lzw->count && lzw->before != UNPACK_LZW_CODES;
	size_t at = UNPACK_LZW_CODES;
	if (code >= lzw->count && !is_next) {
		lzw->is_over = true;
		return 0;
	}
	unsigned rest = is_next ? lzw->before : code;
	/* What it ends with is what it begins with. */
	if (is_next)
		lzw->out[--at] = lzw->first;
	for (; rest > CODE_END; rest = lzw->prefix[rest])
		lzw->out[--at] = lzw->last[rest];
	lzw->out[--at] = (uint8_t)rest;
	lzw->first = (uint8_t)rest;
	add(lzw);
	lzw->before = code;
	*ret_bytes = lzw->out + at;
	return UNPACK_LZW_CODES - at;
}

size_t unpack_lzw_take(struct unpack_lzw *lzw, uint8_t byte, const uint8_t **ret_bytes)
{
	lzw->bits = lzw->bits << 8 | byte;
	lzw->bit_count += 8;
	if (lzw->is_over || lzw->bit_count < lzw->width)
		return 0;
	lzw->bit_count -= lzw->width;
	const unsigned code = lzw->bits >> lzw->bit_count & ((1U << lzw->width) - 1);
	if (code == CODE_CLEAR)
		clear(lzw);
	else if (code == CODE_END)
		lzw->is_over = true;
	else
		return take_code(lzw, code, ret_bytes);
	return 0;
}
