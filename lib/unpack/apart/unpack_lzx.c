/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/apart/unpack_lzx.h"

#include <string.h>

#include "lib/content/little.h"

#define CODE_BITS   16
#define BYTES	    256
#define WIDTHS	    20 /* of what the widths of codes are coded with */
#define ALIGNED	    8
#define WINDOW_MIN  (32 * 1024)
#define LENGTH_MIN  2
#define LENGTH_MORE 7 /* behind it another symbol says how much more */

enum block_type { BLOCK_VERBATIM = 1, BLOCK_ALIGNED = 2, BLOCK_STORED = 3 };

/* ---- input ---- */

/* A word is taken when it is needed, so that it is known where the next begins. Behind the end there are zeros. */
static unsigned peek_bits(struct unpack_lzx *lzx, unsigned count)
{
	while (lzx->bit_count < count) {
		unsigned word = 0;
		if (lzx->end - lzx->bytes >= 2) {
			word = little_get16(lzx->bytes);
			lzx->bytes += 2;
		} else {
			lzx->past++;
		}
		lzx->bits = lzx->bits << 16 | word;
		lzx->bit_count += 16;
	}
	return (unsigned)(lzx->bits >> (lzx->bit_count - count)) & ((1U << count) - 1);
}

static void pass_bits(struct unpack_lzx *lzx, unsigned count)
{
	lzx->bit_count -= count;
	if (lzx->bit_count < 16 * lzx->past)
		lzx->is_bad = true;
}

static unsigned next_bits(struct unpack_lzx *lzx, unsigned count)
{
	const unsigned value = peek_bits(lzx, count);
	pass_bits(lzx, count);
	return value;
}

static unsigned next_symbol(struct unpack_lzx *lzx, const struct unpack_lzx_code *code)
{
	const unsigned bits = peek_bits(lzx, CODE_BITS);
	unsigned first = 0;
	unsigned index = 0;
	for (unsigned width = 1; width <= CODE_BITS; width++) {
		const unsigned value = bits >> (CODE_BITS - width);
		const unsigned count = code->counts[width];
		if (value < first + count) {
			pass_bits(lzx, width);
			return code->symbols[index + value - first];
		}
		index += count;
		first = (first + count) << 1;
	}
	lzx->is_bad = true;
	return 0;
}

/* ---- codes ---- */

/* A code that has too few symbols is bad when one is met that is not there. */
static void make_code(struct unpack_lzx *lzx, struct unpack_lzx_code *ret_code,
		      const uint8_t *widths, unsigned count)
{
	uint16_t starts[CODE_BITS + 2] = { 0 };
	unsigned used = 0;
	memset(ret_code->counts, 0, sizeof(ret_code->counts));
	for (unsigned i = 0; i < count; i++)
		ret_code->counts[widths[i]]++;
	for (unsigned width = 1; width <= CODE_BITS; width++) {
		starts[width + 1] = (uint16_t)(starts[width] + ret_code->counts[width]);
		used += (unsigned)ret_code->counts[width] << (CODE_BITS - width);
	}
	lzx->is_bad = lzx->is_bad || used > 1U << CODE_BITS;
	for (unsigned i = 0; i < count; i++)
		if (widths[i] > 0)
			ret_code->symbols[starts[widths[i]]++] = (uint16_t)i;
}

/* Each is written as what it is less than that of the block before, modulo 17. */
static void read_widths(struct unpack_lzx *lzx, uint8_t *widths, unsigned count)
{
	uint8_t own[WIDTHS];
	for (unsigned i = 0; i < WIDTHS; i++)
		own[i] = (uint8_t)next_bits(lzx, 4);
	make_code(lzx, &lzx->widths, own, WIDTHS);
	for (unsigned i = 0; i < count && !lzx->is_bad;) {
		unsigned symbol = next_symbol(lzx, &lzx->widths);
		unsigned run = 1;
		const bool is_zero = symbol == 17 || symbol == 18;
		if (symbol == 17)
			run = next_bits(lzx, 4) + 4;
		else if (symbol == 18)
			run = next_bits(lzx, 5) + 20;
		else if (symbol == 19)
			run = next_bits(lzx, 1) + 4;
		if (symbol == 19)
			symbol = next_symbol(lzx, &lzx->widths);
		if (run > count - i || (!is_zero && symbol > CODE_BITS)) {
			lzx->is_bad = true;
			return;
		}
		const unsigned width = is_zero ? 0 : (widths[i] + 17 - symbol) % 17;
		memset(widths + i, (int)width, run);
		i += run;
	}
}

/* ---- blocks ---- */

static void read_aligned(struct unpack_lzx *lzx)
{
	uint8_t widths[ALIGNED];
	for (unsigned i = 0; i < ALIGNED; i++)
		widths[i] = (uint8_t)next_bits(lzx, 3);
	make_code(lzx, &lzx->aligned, widths, ALIGNED);
}

static void read_codes(struct unpack_lzx *lzx)
{
	if (lzx->type == BLOCK_ALIGNED)
		read_aligned(lzx);
	read_widths(lzx, lzx->char_widths, BYTES);
	read_widths(lzx, lzx->char_widths + BYTES, lzx->char_count - BYTES);
	read_widths(lzx, lzx->length_widths, UNPACK_LZX_LENGTHS);
	make_code(lzx, &lzx->chars, lzx->char_widths, lzx->char_count);
	make_code(lzx, &lzx->lengths, lzx->length_widths, UNPACK_LZX_LENGTHS);
}

/* Its bytes begin with a word, behind one bit at least. */
static void begin_stored(struct unpack_lzx *lzx)
{
	next_bits(lzx, lzx->bit_count > 0 ? lzx->bit_count : 16);
	if (lzx->end - lzx->bytes < 12) {
		lzx->is_bad = true;
		return;
	}
	for (unsigned i = 0; i < 3; i++)
		lzx->offsets[i] = little_get32(lzx->bytes + (size_t)4 * i);
	lzx->bytes += 12;
}

static void begin_block(struct unpack_lzx *lzx)
{
	const bool is_odd = lzx->type == BLOCK_STORED && lzx->block_size % 2 != 0;
	if (is_odd && lzx->bytes < lzx->end)
		lzx->bytes++;
	lzx->type = next_bits(lzx, 3);
	lzx->block_size = next_bits(lzx, 24);
	lzx->block_left = lzx->block_size;
	/* One without bytes would cost time and bring nothing. */
	lzx->is_bad = lzx->is_bad || lzx->block_size == 0;
	if (lzx->type == BLOCK_VERBATIM || lzx->type == BLOCK_ALIGNED)
		read_codes(lzx);
	else if (lzx->type == BLOCK_STORED)
		begin_stored(lzx);
	else
		lzx->is_bad = true;
}

/* ---- output ---- */

static void put(struct unpack_lzx *lzx, uint8_t byte)
{
	lzx->window[lzx->at] = byte;
	lzx->at = (lzx->at + 1) & (lzx->window_size - 1);
	lzx->out++;
	lzx->block_left--;
}

/* Of distances from 4 on a slot says the first bits, two slots for each number of the others. */
static uint32_t next_distance(struct unpack_lzx *lzx, unsigned slot)
{
	const unsigned most = 17;
	const unsigned count = slot / 2 - 1 < most ? slot / 2 - 1 : most;
	/* 36 slots and more have as many bits as there can be. */
	const uint32_t base = slot < 36 ? (2U + (slot & 1)) << count : (slot - 34U) << most;
	uint32_t value = 0;
	if (lzx->type == BLOCK_ALIGNED && count >= 3) {
		value = next_bits(lzx, count - 3) << 3;
		value |= next_symbol(lzx, &lzx->aligned);
	} else {
		value = next_bits(lzx, count);
	}
	return base + value - 2;
}

/* The first three slots are the last distances; what is used comes first. */
static uint32_t take_distance(struct unpack_lzx *lzx, unsigned slot)
{
	uint32_t *offsets = lzx->offsets;
	if (slot < 3) {
		const uint32_t distance = offsets[slot];
		offsets[slot] = offsets[0];
		offsets[0] = distance;
		return distance;
	}
	const uint32_t distance = slot == 3 ? 1 : next_distance(lzx, slot);
	offsets[2] = offsets[1];
	offsets[1] = offsets[0];
	offsets[0] = distance;
	return distance;
}

static void copy(struct unpack_lzx *lzx, unsigned symbol, uint32_t room)
{
	unsigned length = symbol % 8;
	if (length == LENGTH_MORE)
		length += next_symbol(lzx, &lzx->lengths);
	length += LENGTH_MIN;
	const uint32_t distance = take_distance(lzx, symbol / 8);
	if (distance == 0 || distance > lzx->out || distance > lzx->window_size || length > room)
		lzx->is_bad = true;
	for (; length > 0 && !lzx->is_bad; length--)
		put(lzx, lzx->window[(lzx->at - distance) & (lzx->window_size - 1)]);
}

/* Something, but no more than there is room for. */
static void decode_some(struct unpack_lzx *lzx, uint32_t room)
{
	if (lzx->type == BLOCK_STORED) {
		if (lzx->bytes == lzx->end)
			lzx->is_bad = true;
		else
			put(lzx, *lzx->bytes++);
		return;
	}
	const unsigned symbol = next_symbol(lzx, &lzx->chars);
	if (lzx->is_bad)
		return;
	if (symbol < BYTES)
		put(lzx, (uint8_t)symbol);
	else
		copy(lzx, symbol - BYTES, room);
}

/* ---- all of it ---- */

size_t unpack_lzx_size(uint64_t window_size)
{
	const bool is_one = window_size >= WINDOW_MIN && window_size <= UNPACK_LZX_WINDOW_MAX &&
			    (window_size & (window_size - 1)) == 0;
	return is_one ? sizeof(struct unpack_lzx) + (size_t)window_size : 0;
}

void unpack_lzx_init(struct unpack_lzx *ret_lzx, uint32_t window_size)
{
	unsigned slots = 2 * (unsigned)__builtin_ctz(window_size);
	if (window_size > 1U << 19)
		slots = 34 + (window_size >> 17);
	memset(ret_lzx, 0, sizeof(*ret_lzx));
	ret_lzx->window_size = window_size;
	ret_lzx->window = (uint8_t *)(ret_lzx + 1);
	ret_lzx->char_count = BYTES + 8 * slots;
}

void unpack_lzx_begin(struct unpack_lzx *lzx, const uint8_t *bytes, size_t size)
{
	const uint32_t frame = UNPACK_LZX_FRAME;
	lzx->bytes = bytes;
	lzx->end = bytes + size;
	lzx->bit_count = 0;
	lzx->past = 0;
	lzx->is_bad = false;
	lzx->type = 0;
	lzx->block_left = 0;
	memset(lzx->char_widths, 0, sizeof(lzx->char_widths));
	memset(lzx->length_widths, 0, sizeof(lzx->length_widths));
	for (unsigned i = 0; i < 3; i++)
		lzx->offsets[i] = 1;
	/* Behind a frame that was bad, whose rest has never been written: nothing is copied from there. */
	if (lzx->at % frame != 0) {
		lzx->at = (lzx->at + frame - 1) / frame * frame & (lzx->window_size - 1);
		lzx->out = 0;
	}
	if (next_bits(lzx, 1) != 0) {
		lzx->has_calls = true;
		next_bits(lzx, 16);
		next_bits(lzx, 16);
	}
}

size_t unpack_lzx_frame(struct unpack_lzx *lzx, const uint8_t **ret_bytes)
{
	const uint64_t end = lzx->out + UNPACK_LZX_FRAME;
	*ret_bytes = lzx->window + lzx->at;
	while (lzx->out < end && !lzx->is_bad) {
		const uint64_t left = end - lzx->out;
		if (lzx->block_left == 0)
			begin_block(lzx);
		else
			decode_some(lzx, lzx->block_left < left ? lzx->block_left : (uint32_t)left);
	}
	/* The next one begins with a word. */
	lzx->bit_count -= lzx->bit_count % 16;
	return (size_t)(UNPACK_LZX_FRAME - (end - lzx->out));
}
