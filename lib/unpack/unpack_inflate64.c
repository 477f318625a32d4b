/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/unpack_inflate64.h"

#include <string.h>

enum block_step {
	BLOCK_HEAD,
	BLOCK_SIZE,
	BLOCK_STORED,
	BLOCK_COUNTS,
	BLOCK_CODES,
	BLOCK_WIDTHS,
	BLOCK_SYMBOLS,
	BLOCK_DISTANCE,
};

/* What one step makes of the bits that are there. */
enum outcome { TAKEN, WANTING, WRONG, ENDED, STOPPED };

/* Bits that are looked at, and are taken when there are enough for a step. */
struct peek {
	uint64_t bits;
	unsigned count;
	bool is_short;
	bool is_wrong;
};

static unsigned peek_bits(struct peek *peek, unsigned count)
{
	if (peek->count < count) {
		peek->is_short = true;
		return 0;
	}
	const unsigned value = (unsigned)(peek->bits & ((1ULL << count) - 1));
	peek->bits >>= count;
	peek->count -= count;
	return value;
}

static unsigned peek_symbol(struct peek *peek, const struct unpack_code64 *code)
{
	unsigned value = 0;
	unsigned first = 0;
	unsigned index = 0;
	for (unsigned width = 1; width < 16; width++) {
		value |= peek_bits(peek, 1);
		if (peek->is_short)
			return 0;
		const unsigned count = code->counts[width];
		if (value < first + count)
			return code->symbols[index + value - first];
		index += count;
		first = (first + count) << 1;
		value <<= 1;
	}
	peek->is_wrong = true;
	return 0;
}

static enum outcome commit(struct unpack_inflate64 *state, const struct peek *peek)
{
	if (peek->is_short)
		return WANTING;
	if (peek->is_wrong)
		return WRONG;
	state->bits = peek->bits;
	state->bit_count = peek->count;
	return TAKEN;
}

/* false: more codes than there can be. Fewer are found when one is met that is not there. */
static bool make_code(struct unpack_code64 *ret_code, const uint8_t *widths, unsigned count)
{
	uint16_t starts[17] = { 0 };
	unsigned used = 0;
	memset(ret_code->counts, 0, sizeof(ret_code->counts));
	for (unsigned i = 0; i < count; i++)
		ret_code->counts[widths[i]]++;
	for (unsigned width = 1; width < 16; width++) {
		starts[width + 1] = (uint16_t)(starts[width] + ret_code->counts[width]);
		used += (unsigned)ret_code->counts[width] << (15 - width);
	}
	for (unsigned i = 0; i < count; i++)
		if (widths[i] > 0)
			ret_code->symbols[starts[widths[i]]++] = (uint16_t)i;
	return used <= 1U << 15;
}

void unpack_inflate64_reset(struct unpack_inflate64 *ret_state)
{
	memset(ret_state, 0, offsetof(struct unpack_inflate64, window));
}

/* ---- output ---- */

static bool flush(struct unpack *unpack, struct unpack_inflate64 *state)
{
	const unsigned size = state->at - state->given;
	const uint8_t *bytes = state->window + state->given;
	state->check = (uint32_t)crc32(state->check, bytes, size);
	state->out += size;
	state->at %= UNPACK_INFLATE64_WINDOW;
	state->given = state->at;
	return unpack_give(unpack, bytes, size);
}

static bool put(struct unpack *unpack, struct unpack_inflate64 *state, uint8_t byte)
{
	state->window[state->at++] = byte;
	if (state->at < UNPACK_INFLATE64_WINDOW)
		return true;
	if (flush(unpack, state) && unpack_is_dense(unpack, 0))
		unpack_stop(unpack, UNPACK_RATIO);
	return !unpack->is_over;
}

static enum outcome copy(struct unpack *unpack, struct unpack_inflate64 *state, unsigned distance,
			 unsigned length)
{
	if (distance > state->out + state->at - state->given)
		return WRONG;
	for (; length > 0; length--) {
		const unsigned from =
			(state->at + UNPACK_INFLATE64_WINDOW - distance) % UNPACK_INFLATE64_WINDOW;
		if (!put(unpack, state, state->window[from]))
			return STOPPED;
	}
	return TAKEN;
}

/* ---- blocks ---- */

static enum outcome end_block(struct unpack_inflate64 *state)
{
	state->step = BLOCK_HEAD;
	return state->is_last ? ENDED : TAKEN;
}

static void make_fixed(struct unpack_inflate64 *state)
{
	uint8_t *widths = state->widths;
	memset(widths, 8, 144);
	memset(widths + 144, 9, 112);
	memset(widths + 256, 7, 24);
	memset(widths + 280, 8, 8);
	make_code(&state->lengths, widths, 288);
	memset(widths, 5, 32);
	make_code(&state->distances, widths, 32);
}

static enum outcome take_head(struct unpack_inflate64 *state)
{
	struct peek peek = { state->bits, state->bit_count, false, false };
	const bool is_last = peek_bits(&peek, 1) != 0;
	const unsigned type = peek_bits(&peek, 2);
	peek.is_wrong = type == 3;
	const enum outcome outcome = commit(state, &peek);
	if (outcome != TAKEN)
		return outcome;
	state->is_last = is_last;
	state->step = type == 0 ? BLOCK_SIZE : type == 1 ? BLOCK_SYMBOLS : BLOCK_COUNTS;
	if (type == 0) { /* the rest of this byte is nothing */
		state->bits = 0;
		state->bit_count = 0;
	} else if (type == 1) {
		make_fixed(state);
	}
	return TAKEN;
}

static enum outcome take_size(struct unpack_inflate64 *state)
{
	struct peek peek = { state->bits, state->bit_count, false, false };
	const unsigned size = peek_bits(&peek, 16);
	peek.is_wrong = peek_bits(&peek, 16) != (size ^ 0xffff);
	const enum outcome outcome = commit(state, &peek);
	if (outcome != TAKEN)
		return outcome;
	state->left = size;
	state->step = BLOCK_STORED;
	return size > 0 ? TAKEN : end_block(state);
}

static enum outcome take_counts(struct unpack_inflate64 *state)
{
	struct peek peek = { state->bits, state->bit_count, false, false };
	const unsigned lengths = peek_bits(&peek, 5) + 257;
	const unsigned distances = peek_bits(&peek, 5) + 1;
	const unsigned widths = peek_bits(&peek, 4) + 4;
	peek.is_wrong = lengths > 286;
	const enum outcome outcome = commit(state, &peek);
	if (outcome != TAKEN)
		return outcome;
	state->length_count = lengths;
	state->distance_count = distances;
	state->width_count = widths;
	state->index = 0;
	state->step = BLOCK_CODES;
	memset(state->widths, 0, sizeof(state->widths));
	return TAKEN;
}

static enum outcome take_codes(struct unpack_inflate64 *state)
{
	static const uint8_t order[19] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
					   11, 4,  12, 3, 13, 2, 14, 1, 15 };
	struct peek peek = { state->bits, state->bit_count, false, false };
	const unsigned width = peek_bits(&peek, 3);
	const enum outcome outcome = commit(state, &peek);
	if (outcome != TAKEN)
		return outcome;
	state->widths[order[state->index++]] = (uint8_t)width;
	if (state->index < state->width_count)
		return TAKEN;
	/* The code of the widths is in the place of that of the lengths until these are known. */
	const bool is_code = make_code(&state->lengths, state->widths, 19);
	memset(state->widths, 0, sizeof(state->widths));
	state->index = 0;
	state->step = BLOCK_WIDTHS;
	return is_code ? TAKEN : WRONG;
}

static enum outcome take_widths(struct unpack_inflate64 *state)
{
	struct peek peek = { state->bits, state->bit_count, false, false };
	const unsigned all = state->length_count + state->distance_count;
	const unsigned symbol = peek_symbol(&peek, &state->lengths);
	unsigned count = 1;
	if (symbol == 16)
		count = peek_bits(&peek, 2) + 3;
	else if (symbol == 17)
		count = peek_bits(&peek, 3) + 3;
	else if (symbol == 18)
		count = peek_bits(&peek, 7) + 11;
	peek.is_wrong =
		peek.is_wrong || count > all - state->index || (symbol == 16 && state->index == 0);
	const enum outcome outcome = commit(state, &peek);
	if (outcome != TAKEN)
		return outcome;
	const uint8_t width = symbol < 16    ? (uint8_t)symbol
			      : symbol == 16 ? state->widths[state->index - 1]
					     : 0;
	memset(state->widths + state->index, width, count);
	state->index += count;
	if (state->index < all)
		return TAKEN;
	state->step = BLOCK_SYMBOLS;
	const bool is_code = make_code(&state->lengths, state->widths, state->length_count) &&
			     make_code(&state->distances, state->widths + state->length_count,
				       state->distance_count);
	return is_code ? TAKEN : WRONG;
}

/* Of a symbol from 257 on. */
static unsigned peek_length(struct peek *peek, unsigned symbol)
{
	if (symbol == 285)
		return 3 + peek_bits(peek, 16);
	const unsigned index = symbol - 257;
	if (index < 8)
		return 3 + index;
	const unsigned extra = index / 4 - 1;
	return 3 + ((4 + index % 4) << extra) + peek_bits(peek, extra);
}

static unsigned peek_distance(struct peek *peek, const struct unpack_code64 *code)
{
	const unsigned symbol = peek_symbol(peek, code);
	if (symbol < 4)
		return 1 + symbol;
	const unsigned extra = symbol / 2 - 1;
	return 1 + ((2 + symbol % 2) << extra) + peek_bits(peek, extra);
}

static enum outcome take_symbol(struct unpack *unpack, struct unpack_inflate64 *state)
{
	struct peek peek = { state->bits, state->bit_count, false, false };
	const unsigned symbol = peek_symbol(&peek, &state->lengths);
	const bool is_match = symbol > 256 && symbol <= 285;
	peek.is_wrong = peek.is_wrong || symbol > 285;
	const unsigned length = is_match ? peek_length(&peek, symbol) : 0;
	const enum outcome outcome = commit(state, &peek);
	if (outcome != TAKEN)
		return outcome;
	if (symbol == 256)
		return end_block(state);
	if (!is_match)
		return put(unpack, state, (uint8_t)symbol) ? TAKEN : STOPPED;
	state->left = length;
	state->step = BLOCK_DISTANCE;
	return TAKEN;
}

/* A step of its own: a length and its distance have 60 bits, and a byte more would be lost. */
static enum outcome take_distance(struct unpack *unpack, struct unpack_inflate64 *state)
{
	struct peek peek = { state->bits, state->bit_count, false, false };
	const unsigned distance = peek_distance(&peek, &state->distances);
	const enum outcome outcome = commit(state, &peek);
	if (outcome != TAKEN)
		return outcome;
	state->step = BLOCK_SYMBOLS;
	return copy(unpack, state, distance, state->left);
}

static enum outcome take_stored(struct unpack *unpack, struct unpack_inflate64 *state)
{
	struct peek peek = { state->bits, state->bit_count, false, false };
	const unsigned byte = peek_bits(&peek, 8);
	const enum outcome outcome = commit(state, &peek);
	if (outcome != TAKEN)
		return outcome;
	if (!put(unpack, state, (uint8_t)byte))
		return STOPPED;
	return --state->left > 0 ? TAKEN : end_block(state);
}

static enum outcome take_step(struct unpack *unpack, struct unpack_inflate64 *state)
{
	switch (state->step) {
	case BLOCK_HEAD:
		return take_head(state);
	case BLOCK_SIZE:
		return take_size(state);
	case BLOCK_STORED:
		return take_stored(unpack, state);
	case BLOCK_COUNTS:
		return take_counts(state);
	case BLOCK_CODES:
		return take_codes(state);
	case BLOCK_WIDTHS:
		return take_widths(state);
	case BLOCK_DISTANCE:
		return take_distance(unpack, state);
	default:
		return take_symbol(unpack, state);
	}
}

enum inflate_step unpack_inflate64(struct unpack *unpack, struct unpack_inflate64 *state,
				   const uint8_t *bytes, size_t size, size_t *ret_used)
{
	enum outcome outcome = TAKEN;
	*ret_used = 0;
	for (;;) {
		outcome = take_step(unpack, state);
		if (outcome == TAKEN)
			continue;
		if (outcome != WANTING || *ret_used == size)
			break;
		state->bits |= (uint64_t)bytes[(*ret_used)++] << state->bit_count;
		state->bit_count += 8;
		unpack->in++;
	}
	if (outcome == STOPPED || !flush(unpack, state))
		return INFLATE_OVER;
	if (outcome == ENDED && unpack_is_dense(unpack, 0)) {
		unpack_stop(unpack, UNPACK_RATIO);
		return INFLATE_OVER;
	}
	return outcome == WANTING ? INFLATE_MORE : outcome == ENDED ? INFLATE_ENDED : INFLATE_BAD;
}
