/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * unpack_arj.c - ARJ, which libarchive does not have.
 *
 *     60 EA, size of the header, header, CRC-32; headers of extensions; data; ...; 60 EA, 0
 *
 * The first header is the archive's, each other one a member's (ARJ's TECHNOTE.TXT). Methods 1 to 3
 * are LZ77 with Huffman codes of blocks, as in LHA's -lh6- with another window; 4 has fixed codes. It
 * pulls single bits from a feed: archives of this kind are small.
 */

#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "lib/content/little.h"
#include "lib/unpack/apart/unpack_feed.h"
#include "lib/unpack/unpack_name.h"

#define HEADER_MAX  2600
#define HEADER_MIN  30
#define WINDOW_SIZE 26624
#define MATCH_MIN   3
#define CODE_BITS   16
#define CHARS	    510 /* bytes, and lengths of matches from 3 to 256 */
#define WIDTHS	    19	/* of what the lengths of codes are coded with */
#define OFFSETS	    17
#define GARBLED	    1

enum arj_type { ARJ_BINARY, ARJ_TEXT, ARJ_COMMENT, ARJ_FOLDER, ARJ_LABEL };

/* A canonical Huffman code; symbols are in the order of their codes. */
struct arj_code {
	int only; /* the one symbol that there is, in no bits; or -1 */
	uint16_t counts[CODE_BITS + 1];
	uint16_t symbols[CHARS];
};

struct arj_state {
	struct unpack *unpack;
	const uint8_t *bytes; /* of the feed */
	size_t left;
	bool is_drained;
	uint64_t data_left; /* of the member; behind it there are zeros */
	bool is_bad;
	bool is_out; /* more bits were wanted than there are */
	unsigned bit_count;
	uint8_t bits;

	unsigned block_left;
	struct arj_code chars;
	struct arj_code offsets;
	struct arj_code widths;

	uint64_t size_left;
	uint32_t check;
	unsigned at; /* in the window */
	unsigned given;
	uint8_t window[WINDOW_SIZE];
	uint8_t header[HEADER_MAX];
};

/* ---- input ---- */

static int next_byte(struct arj_state *arj)
{
	if (arj->left == 0)
		arj->left = unpack_feed_next(arj->unpack, &arj->bytes);
	arj->is_drained = arj->left == 0;
	if (arj->is_drained)
		return -1;
	arj->left--;
	return *arj->bytes++;
}

static bool next_bytes(struct arj_state *arj, uint8_t *ret_bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		const int byte = next_byte(arj);
		if (byte < 0)
			return false;
		ret_bytes[i] = (uint8_t)byte;
	}
	return true;
}

static unsigned next_bit(struct arj_state *arj)
{
	if (arj->bit_count == 0) {
		int byte = -1;
		if (arj->data_left > 0) {
			byte = next_byte(arj);
			arj->data_left--;
		}
		arj->is_out = arj->is_out || byte < 0;
		arj->bits = byte < 0 ? 0 : (uint8_t)byte;
		arj->bit_count = 8;
	}
	arj->bit_count--;
	return (unsigned)arj->bits >> arj->bit_count & 1U;
}

static unsigned next_bits(struct arj_state *arj, unsigned count)
{
	unsigned value = 0;
	for (; count > 0; count--)
		value = value << 1 | next_bit(arj);
	return value;
}

/* ---- codes ---- */

/* The code must be complete. */
static void make_code(struct arj_state *arj, struct arj_code *ret_code, const uint8_t *widths,
		      unsigned count)
{
	uint16_t starts[CODE_BITS + 2] = { 0 };
	unsigned used = 0;
	memset(ret_code->counts, 0, sizeof(ret_code->counts));
	ret_code->only = -1;
	for (unsigned i = 0; i < count; i++)
		ret_code->counts[widths[i]]++;
	for (unsigned width = 1; width <= CODE_BITS; width++) {
		starts[width + 1] = (uint16_t)(starts[width] + ret_code->counts[width]);
		used += (unsigned)ret_code->counts[width] << (CODE_BITS - width);
	}
	arj->is_bad = arj->is_bad || used != 1U << CODE_BITS;
	for (unsigned i = 0; i < count; i++)
		if (widths[i] > 0)
			ret_code->symbols[starts[widths[i]]++] = (uint16_t)i;
}

static unsigned next_symbol(struct arj_state *arj, const struct arj_code *code)
{
	if (code->only >= 0)
		return (unsigned)code->only;
	unsigned value = 0;
	unsigned first = 0;
	unsigned index = 0;
	for (unsigned width = 1; width <= CODE_BITS; width++) {
		value |= next_bit(arj);
		const unsigned count = code->counts[width];
		if (value < first + count)
			return code->symbols[index + value - first];
		index += count;
		first = (first + count) << 1;
		value <<= 1;
	}
	arj->is_bad = true;
	return 0;
}

/* One symbol for all: in as many bits as the count of widths had. */
static void take_only(struct arj_state *arj, struct arj_code *ret_code, unsigned bits,
		      unsigned count)
{
	const unsigned symbol = next_bits(arj, bits);
	arj->is_bad = arj->is_bad || symbol >= count;
	ret_code->only = arj->is_bad ? 0 : (int)symbol;
}

/* special: behind so many widths, two bits say how many are left out. */
static void read_widths(struct arj_state *arj, struct arj_code *ret_code, unsigned count,
			unsigned special)
{
	uint8_t widths[WIDTHS] = { 0 };
	const unsigned given = next_bits(arj, 5);
	if (given == 0) {
		take_only(arj, ret_code, 5, count);
		return;
	}
	for (unsigned i = 0; i < given && i < count;) {
		unsigned width = next_bits(arj, 3);
		while (width >= 7 && width <= CODE_BITS && next_bit(arj) != 0)
			width++;
		if (width > CODE_BITS) {
			arj->is_bad = true;
			return;
		}
		widths[i++] = (uint8_t)width;
		if (i == special)
			i += next_bits(arj, 2);
	}
	make_code(arj, ret_code, widths, count);
}

static void read_chars(struct arj_state *arj)
{
	uint8_t widths[CHARS] = { 0 };
	const unsigned given = next_bits(arj, 9);
	if (given == 0) {
		take_only(arj, &arj->chars, 9, CHARS);
		return;
	}
	for (unsigned i = 0; i < given && i < CHARS && !arj->is_bad;) {
		const unsigned symbol = next_symbol(arj, &arj->widths);
		if (symbol == 0)
			i++;
		else if (symbol == 1)
			i += next_bits(arj, 4) + 3;
		else if (symbol == 2)
			i += next_bits(arj, 9) + 20;
		else
			widths[i++] = (uint8_t)(symbol - 2);
	}
	make_code(arj, &arj->chars, widths, CHARS);
}

/* ---- output ---- */

static void flush(struct arj_state *arj)
{
	const unsigned size = arj->at - arj->given;
	arj->check = (uint32_t)crc32(arj->check, arj->window + arj->given, size);
	unpack_pour(arj->unpack, arj->window + arj->given, size);
	arj->at = arj->at == WINDOW_SIZE ? 0 : arj->at;
	arj->given = arj->at;
}

static void put(struct arj_state *arj, uint8_t byte)
{
	if (arj->size_left == 0)
		return;
	arj->size_left--;
	arj->window[arj->at++] = byte;
	if (arj->at == WINDOW_SIZE)
		flush(arj);
}

static void copy(struct arj_state *arj, unsigned offset, unsigned length)
{
	if (offset >= WINDOW_SIZE) {
		arj->is_bad = true;
		return;
	}
	for (; length > 0; length--)
		put(arj, arj->window[(arj->at + WINDOW_SIZE - 1 - offset) % WINDOW_SIZE]);
}

static bool may_go_on(const struct arj_state *arj)
{
	return arj->size_left > 0 && !arj->is_bad && !arj->is_out && !arj->unpack->is_over;
}

static void expand(struct arj_state *arj)
{
	arj->block_left = 0;
	while (may_go_on(arj)) {
		if (arj->block_left == 0) {
			arj->block_left = next_bits(arj, 16);
			read_widths(arj, &arj->widths, WIDTHS, 3);
			read_chars(arj);
			read_widths(arj, &arj->offsets, OFFSETS, 0);
			arj->is_bad = arj->is_bad || arj->block_left == 0;
			continue;
		}
		arj->block_left--;
		const unsigned symbol = next_symbol(arj, &arj->chars);
		if (symbol < 256) {
			put(arj, (uint8_t)symbol);
			continue;
		}
		unsigned offset = next_symbol(arj, &arj->offsets);
		if (offset > 0)
			offset = (1U << (offset - 1)) + next_bits(arj, offset - 1);
		copy(arj, offset, symbol - 256 + MATCH_MIN);
	}
}

/* Ones say how many bits follow. */
static unsigned next_number(struct arj_state *arj, unsigned width, unsigned last)
{
	unsigned base = 0;
	for (; width < last && next_bit(arj) != 0; width++)
		base += 1U << width;
	return base + next_bits(arj, width);
}

static void expand_fast(struct arj_state *arj)
{
	while (may_go_on(arj)) {
		const unsigned length = next_number(arj, 0, 7);
		if (length == 0)
			put(arj, (uint8_t)next_bits(arj, 8));
		else
			copy(arj, next_number(arj, 9, 13), length - 1 + MATCH_MIN);
	}
}

static void take_stored(struct arj_state *arj)
{
	while (may_go_on(arj))
		put(arj, (uint8_t)next_bits(arj, 8));
}

/* ---- headers ---- */

static bool skip(struct arj_state *arj, uint64_t size)
{
	for (; size > 0; size--)
		if (next_byte(arj) < 0)
			return false;
	return true;
}

static bool take_data(struct arj_state *arj)
{
	struct unpack *unpack = arj->unpack;
	const uint8_t *header = arj->header;
	const unsigned method = header[5];
	const uint32_t check = little_get32(header + 20);
	arj->size_left = little_get32(header + 16);
	arj->is_bad = arj->is_out = false;
	arj->bit_count = 0;
	arj->check = 0;
	arj->at = arj->given = 0;
	memset(arj->window, 0, sizeof(arj->window));
	if (!unpack_open(unpack, unpack->name))
		return false;
	if (method == 0)
		take_stored(arj);
	else if (method == 4)
		expand_fast(arj);
	else
		expand(arj);
	flush(arj);
	if (unpack->is_over)
		return false;
	const bool is_whole = arj->size_left == 0;
	if (!is_whole && arj->is_drained)
		unpack_stop(unpack, UNPACK_CUT);
	else if (!is_whole || arj->check != check)
		unpack_tell(unpack, UNPACK_DAMAGED);
	unpack_close(unpack, is_whole);
	return !unpack->is_over;
}

/* Behind its header. */
static bool take_member(struct arj_state *arj, size_t size)
{
	struct unpack *unpack = arj->unpack;
	const uint8_t *header = arj->header;
	const unsigned type = header[6];
	arj->data_left = type == ARJ_COMMENT ? 0 : little_get32(header + 12);
	if (type == ARJ_COMMENT)
		return true;
	unpack_name(header + header[0], size - header[0], UNPACK_NAME_CP437, unpack->name);
	bool is_read = true;
	if ((header[4] & GARBLED) != 0 || header[5] > 4 || type > ARJ_TEXT) {
		if (type <= ARJ_TEXT)
			unpack_tell_of(unpack,
				       (header[4] & GARBLED) != 0 ? UNPACK_ENCRYPTED
								  : UNPACK_UNSUPPORTED,
				       unpack->name);
		is_read = unpack_count(unpack);
	} else {
		is_read = take_data(arj);
	}
	if (is_read && !skip(arj, arj->data_left)) {
		unpack_stop(unpack, UNPACK_CUT);
		return false;
	}
	return is_read;
}

/* false: the archive is at its end, or what is there is none. */
static bool take_header(struct arj_state *arj)
{
	struct unpack *unpack = arj->unpack;
	uint8_t fixed[4];
	enum unpack_flaw flaw = UNPACK_CUT;
	if (!next_bytes(arj, fixed, 4))
		goto bad;
	const size_t size = little_get16(fixed + 2);
	flaw = UNPACK_DAMAGED;
	if (fixed[0] != 0x60 || fixed[1] != 0xea || size > HEADER_MAX)
		goto bad;
	if (size == 0)
		return false;
	if (size < HEADER_MIN)
		goto bad;
	flaw = UNPACK_CUT;
	if (!next_bytes(arj, arj->header, size) || !next_bytes(arj, fixed, 4))
		goto bad;
	flaw = UNPACK_DAMAGED;
	if (little_get32(fixed) != crc32(0, arj->header, (uInt)size) ||
	    arj->header[0] < HEADER_MIN || arj->header[0] > size)
		goto bad;
	flaw = UNPACK_CUT;
	do {
		if (!next_bytes(arj, fixed, 2))
			goto bad;
	} while (little_get16(fixed) > 0 && skip(arj, little_get16(fixed) + 4U));
	return take_member(arj, size);
bad:
	unpack_stop(unpack, flaw);
	return false;
}

static void run(struct unpack *unpack)
{
	struct arj_state *arj = calloc(1, sizeof(*arj));
	if (arj == NULL) {
		unpack_stop(unpack, UNPACK_MEMORY);
		return;
	}
	arj->unpack = unpack;
	while (take_header(arj))
		;
	free(arj);
}

int unpack_arj_begin(struct unpack *unpack)
{
	return unpack_feed_begin(unpack, run);
}
