/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include <zlib.h>

#include "lib/content/little.h"
#include "lib/unpack/unpack_rows.h"

/*
 * The body of a mail of Outlook, RTF compressed (MS-OXRTFCP), as TNEF has it:
 *
 *     4 size of the rest, 4 size of the RTF, 4 "LZFu", or "MELA" for what is not compressed, 4 CRC
 *     of what follows; bytes of eight flags and eight tokens, each a byte, or 12 bits of a place in
 *     the dictionary and 4 of a length less 2
 *
 * The dictionary is a ring of 4096 bytes that begins with what RTF mostly has. A token that names
 * the place where it would be put is the end.
 */
enum lzfu_step { LZFU_HEAD, LZFU_FLAGS, LZFU_TOKENS, LZFU_RAW, LZFU_END };

#define HEAD_SIZE	16
#define DICTIONARY_SIZE 4096u
#define LZFU_MARK	0x75465a4c
#define MELA_MARK	0x414c454d

static const char beginning[] =
	"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern "
	"\\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0"
	"\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx";

struct lzfu_state {
	enum lzfu_step step;
	unsigned fill;
	unsigned token_count; /* of eight */
	uint8_t flags;
	bool has_half; /* of a token of two bytes */
	uint8_t half;
	uint32_t crc;
	uint64_t left; /* of the RTF */
	unsigned place;
	unsigned out_size;
	uint8_t head[HEAD_SIZE];
	uint8_t dictionary[DICTIONARY_SIZE];
	uint8_t out[UNPACK_PIECE];
};

_Static_assert(sizeof(struct lzfu_state) <= UNPACK_HERE_STATE, "the row has room for it");

static void flush(struct unpack *unpack)
{
	struct lzfu_state *state = unpack->state;
	const unsigned size = state->out_size;
	state->out_size = 0;
	unpack_give(unpack, state->out, size);
}

static void put(struct unpack *unpack, uint8_t byte)
{
	struct lzfu_state *state = unpack->state;
	state->dictionary[state->place] = byte;
	state->place = (state->place + 1) % DICTIONARY_SIZE;
	if (state->left == 0)
		return;
	state->left--;
	state->out[state->out_size++] = byte;
	if (state->out_size == sizeof(state->out))
		flush(unpack);
}

static void take_head(struct unpack *unpack)
{
	struct lzfu_state *state = unpack->state;
	const uint32_t mark = little_get32(state->head + 8);
	if (mark != LZFU_MARK && mark != MELA_MARK) {
		unpack_stop(unpack, UNPACK_DAMAGED);
		return;
	}
	state->left = little_get32(state->head + 4);
	state->step = mark == LZFU_MARK ? LZFU_FLAGS : LZFU_RAW;
	memset(state->dictionary, 0, sizeof(state->dictionary));
	memcpy(state->dictionary, beginning, sizeof(beginning) - 1);
	state->place = sizeof(beginning) - 1;
	unpack_open(unpack, "");
}

/* The checksum begins with 0 and is not turned at its end, other than zlib's. */
static void end_body(struct unpack *unpack)
{
	struct lzfu_state *state = unpack->state;
	flush(unpack);
	if ((state->crc ^ UINT32_MAX) != little_get32(state->head + 12))
		unpack_tell(unpack, UNPACK_DAMAGED);
	unpack_close(unpack, true);
	state->step = LZFU_END;
}

static void take_reference(struct unpack *unpack, unsigned token)
{
	struct lzfu_state *state = unpack->state;
	const unsigned from = token >> 4;
	const unsigned size = (token & 15) + 2;
	if (from == state->place) {
		end_body(unpack);
		return;
	}
	for (unsigned i = 0; i < size && !unpack->is_over; i++)
		put(unpack, state->dictionary[(from + i) % DICTIONARY_SIZE]);
}

static void take_token_byte(struct unpack *unpack, uint8_t byte)
{
	struct lzfu_state *state = unpack->state;
	const bool is_reference = (state->flags >> state->token_count & 1) != 0;
	if (is_reference && !state->has_half) {
		state->has_half = true;
		state->half = byte;
		return;
	}
	state->has_half = false;
	state->token_count++;
	if (state->token_count == 8)
		state->step = LZFU_FLAGS;
	if (is_reference)
		take_reference(unpack, (unsigned)state->half << 8 | byte);
	else
		put(unpack, byte);
}

static void take_byte(struct unpack *unpack, uint8_t byte)
{
	struct lzfu_state *state = unpack->state;
	if (state->step == LZFU_HEAD) {
		state->head[state->fill++] = byte;
		if (state->fill == HEAD_SIZE)
			take_head(unpack);
		return;
	}
	if (state->step == LZFU_END)
		return;
	if (state->step != LZFU_RAW)
		state->crc = (uint32_t)crc32(state->crc, &byte, 1);
	if (state->step == LZFU_RAW) {
		put(unpack, byte);
	} else if (state->step == LZFU_FLAGS) {
		state->flags = byte;
		state->token_count = 0;
		state->step = LZFU_TOKENS;
	} else {
		take_token_byte(unpack, byte);
	}
}

int unpack_lzfu_begin(struct unpack *unpack)
{
	struct lzfu_state *state = unpack->state;
	memset(state, 0, offsetof(struct lzfu_state, dictionary));
	state->crc = UINT32_MAX;
	return 0;
}

void unpack_lzfu_push(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size && !unpack->is_over; i++) {
		unpack->in++;
		take_byte(unpack, bytes[i]);
	}
}

void unpack_lzfu_end(struct unpack *unpack)
{
	struct lzfu_state *state = unpack->state;
	if (unpack->is_over || state->step == LZFU_END)
		return;
	if (state->step == LZFU_HEAD) {
		unpack_stop(unpack, UNPACK_CUT);
		return;
	}
	flush(unpack);
	if (state->left > 0)
		unpack_tell(unpack, UNPACK_CUT);
	unpack_close(unpack, true);
}
