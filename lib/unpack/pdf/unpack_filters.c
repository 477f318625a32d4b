/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/pdf/unpack_filters.h"

#include "lib/format/hex.h"
#include "lib/unpack/pdf/unpack_pdfstate.h"

/*
 * Of an image as much as this comes out, or as it takes to see that it is dense; nothing does that
 * would leave too little for what else is there.
 */
#define IMAGE_MIN    (16 * 1024)
#define IMAGE_MAX    (1024 * 1024)
#define IMAGE_DENSE  50
#define IMAGE_LEAVES (64u << 20)
#define IMAGE_SLICE  16 /* goes in at a time, so that not much more comes out */

/* ---- what comes out of a stream's filters ---- */

static bool give_out(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct pdf_state *state = unpack->state;
	unpack_give(unpack, bytes, size);
	for (size_t i = 0; i < size && state->has_objects && !unpack->is_over; i++)
		pdf_script_take(&state->inside, unpack, &state->script_count, bytes[i]);
	return !unpack->is_over;
}

static bool is_enough(const struct unpack *unpack, uint64_t out, uint64_t in)
{
	const struct pdf_state *state = unpack->state;
	return state->is_image && out >= IMAGE_MIN &&
	       (out >= IMAGE_MAX || out / IMAGE_DENSE > in ||
		unpack->budget->total_left < IMAGE_LEAVES);
}

static bool is_inflated_enough(const struct unpack *unpack)
{
	const struct unpack_inflate *inflate = &((const struct pdf_state *)unpack->state)->inflate;
	return is_enough(unpack, inflate->out, inflate->stream.total_in);
}

static void end_behind(struct unpack *unpack);

static void inflate_piece(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct pdf_state *state = unpack->state;
	enum inflate_step step = INFLATE_MORE;
	size_t at = 0;
	while (at < size && step == INFLATE_MORE && !is_inflated_enough(unpack)) {
		const bool is_probed = state->is_image && state->inflate.out < IMAGE_MIN;
		const size_t most = is_probed	      ? IMAGE_SLICE
				    : state->is_image ? 4 * IMAGE_SLICE
						      : PDF_PIECE_SIZE;
		size_t used = 0;
		step = unpack_inflate(unpack, &state->inflate, bytes + at,
				      size - at < most ? size - at : most, &used);
		at += used;
	}
	state->inflated = step;
	if (step == INFLATE_MORE && !is_inflated_enough(unpack))
		return;
	state->body = PDF_PASSED;
	unpack->in += size - at;
	end_behind(unpack);
	unpack_close(unpack, true);
}

static void give_piece(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct pdf_state *state = unpack->state;
	if (state->body == PDF_INFLATE) {
		inflate_piece(unpack, bytes, size);
		return;
	}
	unpack->in += size;
	if (state->body == PDF_RAW)
		give_out(unpack, bytes, size);
}

/* RFC 1950 2.2, as far as two bytes go. Where it is said to be that, readers do not mind the size of a window. */
static bool is_zlib(const uint8_t *head, bool is_said)
{
	return (head[0] & 0xf) == Z_DEFLATED && (head[0] >> 4 <= 7 || is_said) &&
	       (head[1] & 0x20) == 0 && (head[0] << 8 | head[1]) % 31 == 0;
}

static bool give_behind(struct unpack *unpack, const uint8_t *bytes, size_t size);

static void take_head(struct unpack *unpack)
{
	struct pdf_state *state = unpack->state;
	const bool is_deflate = state->head_size == 2 && is_zlib(state->head, state->is_flate);
	state->body = is_deflate ? PDF_INFLATE : PDF_RAW;
	if (is_deflate) {
		unpack_inflate_reset(&state->inflate);
		state->inflate.give =
			state->stages.behind[0].filter != PDF_INFLATED ? give_behind : give_out;
		unpack->in += 2;
	} else if (state->head_size > 0) {
		give_piece(unpack, state->head, state->head_size);
	}
}

/* Pieces are cut where the stream says, not where the input is. */
void pdf_filters_flush(struct unpack *unpack)
{
	struct pdf_state *state = unpack->state;
	const unsigned size = state->piece_size;
	state->piece_size = 0;
	if (size > 0)
		give_piece(unpack, state->piece, size);
}

static void put(struct unpack *unpack, uint8_t byte)
{
	struct pdf_state *state = unpack->state;
	if (state->body == PDF_HEAD) {
		/* Lenient readers pass empty lines before what is compressed. */
		if (state->is_flate && state->head_size == 0 && (byte == '\r' || byte == '\n'))
			return;
		state->head[state->head_size++] = byte;
		if (state->head_size == 2)
			take_head(unpack);
		return;
	}
	state->piece[state->piece_size++] = byte;
	if (state->piece_size == PDF_PIECE_SIZE)
		pdf_filters_flush(unpack);
}

static void flush_given(struct unpack *unpack)
{
	struct pdf_state *state = unpack->state;
	const unsigned size = state->given_size;
	state->given_size = 0;
	give_out(unpack, state->given, size);
}

static void put_given(struct unpack *unpack, uint8_t byte)
{
	struct pdf_state *state = unpack->state;
	state->given[state->given_size++] = byte;
	if (state->given_size == PDF_PIECE_SIZE)
		flush_given(unpack);
}

/* ---- filters other than FlateDecode (7.4.2 to 7.4.5), one behind the other ---- */

static void take_data(struct unpack *unpack, struct pdf_stage *stage, uint8_t byte);

static void put_group(struct unpack *unpack, struct pdf_stage *stage, unsigned bytes)
{
	const uint32_t group = stage->group;
	stage->group = 0;
	stage->group_size = 0;
	for (unsigned i = 0; i < bytes; i++)
		take_data(unpack, stage + 1, (uint8_t)(group >> (24 - 8 * i)));
}

/* What is left of ASCII85: of n digits, n - 1 bytes. */
static void end_filter(struct unpack *unpack, struct pdf_stage *stage)
{
	const unsigned size = stage->group_size;
	stage->is_over = true;
	if (stage->filter == PDF_HEX && stage->has_nibble)
		take_data(unpack, stage + 1, (uint8_t)(stage->nibble << 4));
	stage->has_nibble = false;
	if (stage->filter != PDF_ASCII85 || size < 2)
		return;
	for (unsigned i = size; i < 5; i++)
		stage->group = stage->group * 85 + 84;
	put_group(unpack, stage, size - 1);
}

static void take_ascii85(struct unpack *unpack, struct pdf_stage *stage, uint8_t byte)
{
	if (byte == 'z' && stage->group_size == 0) {
		put_group(unpack, stage, 4);
	} else if (byte >= '!' && byte <= 'u') {
		stage->group = stage->group * 85 + (byte - '!');
		if (++stage->group_size == 5)
			put_group(unpack, stage, 4);
	}
}

static void take_hex(struct unpack *unpack, struct pdf_stage *stage, uint8_t byte)
{
	const int digit = hex_value((char)byte);
	const uint8_t nibble = stage->nibble;
	if (digit < 0)
		return;
	stage->nibble = (uint8_t)digit;
	stage->has_nibble = !stage->has_nibble;
	if (!stage->has_nibble)
		take_data(unpack, stage + 1, (uint8_t)(nibble << 4 | digit));
}

/* What a filter behind it drops is counted, too. */
static bool is_affordable(struct unpack *unpack, size_t size)
{
	if (size > 1 && unpack_spend(unpack, size) && unpack_is_dense(unpack, 0))
		unpack_stop(unpack, UNPACK_RATIO);
	return !unpack->is_over;
}

/* group is 0 before a length, then how many bytes follow, or what the length of a run is taken from. */
static void take_runs(struct unpack *unpack, struct pdf_stage *stage, uint8_t byte)
{
	const uint32_t group = stage->group;
	if (group == 0) {
		stage->is_over = byte == 128;
		stage->group = byte < 128 ? byte + 1U : byte;
		return;
	}
	stage->group = group <= 128 ? group - 1 : 0;
	const unsigned count = group <= 128 ? 1 : 257 - group;
	if (is_affordable(unpack, count)) {
		for (unsigned i = 0; i < count; i++)
			take_data(unpack, stage + 1, byte);
	}
}

/* There is one table: LZW within LZW makes nothing smaller, and is passed. */
static void take_lzw(struct unpack *unpack, struct pdf_stage *stage, uint8_t byte)
{
	struct pdf_state *state = unpack->state;
	const uint8_t *bytes = NULL;
	if (state->lzw_stage == NULL) {
		state->lzw_stage = stage;
		state->lzw_out = 0;
		unpack_lzw_begin(&state->lzw, !state->is_late);
	} else if (state->lzw_stage != stage) {
		unpack_tell(unpack, UNPACK_UNSUPPORTED);
		stage->is_over = true;
		return;
	}
	const size_t size = unpack_lzw_take(&state->lzw, byte, &bytes);
	state->lzw_out += size;
	stage->is_over = state->lzw.is_over || is_enough(unpack, state->lzw_out, state->taken);
	if (is_affordable(unpack, size)) {
		for (size_t i = 0; i < size; i++)
			take_data(unpack, stage + 1, bytes[i]);
	}
}

static void take_rows(struct unpack *unpack, struct pdf_stage *stage, uint8_t byte)
{
	struct pdf_state *state = unpack->state;
	if (pdf_predictor_take(&state->predictor, &byte))
		take_data(unpack, stage + 1, byte);
}

/* Bounded by PDF_STAGES_MAX. */
static void take_data(struct unpack *unpack, struct pdf_stage *stage, uint8_t byte)
{
	if (stage->filter == PDF_PLAIN)
		put(unpack, byte);
	else if (stage->filter == PDF_INFLATED)
		put_given(unpack, byte);
	else if (stage->is_over)
		return;
	else if (stage->filter == PDF_RUNS)
		take_runs(unpack, stage, byte);
	else if (stage->filter == PDF_LZW)
		take_lzw(unpack, stage, byte);
	else if (stage->filter == PDF_ROWS)
		take_rows(unpack, stage, byte);
	else if (byte == (stage->filter == PDF_HEX ? '>' : '~'))
		end_filter(unpack, stage);
	else if (stage->filter == PDF_HEX)
		take_hex(unpack, stage, byte);
	else
		take_ascii85(unpack, stage, byte);
}

static void end_stages(struct unpack *unpack, struct pdf_stage *stages)
{
	for (size_t i = 0; stages[i].filter >= PDF_HEX && stages[i].filter <= PDF_ROWS; i++)
		end_filter(unpack, &stages[i]);
}

/* What filters leave of what was compressed may be little: that is counted, too. */
static bool give_behind(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct pdf_state *state = unpack->state;
	if (!unpack_spend(unpack, size))
		return false;
	for (size_t i = 0; i < size; i++)
		take_data(unpack, state->stages.behind, bytes[i]);
	return !unpack->is_over;
}

static void end_behind(struct unpack *unpack)
{
	struct pdf_state *state = unpack->state;
	end_stages(unpack, state->stages.behind);
	flush_given(unpack);
}

void pdf_filters_take(struct unpack *unpack, uint8_t byte)
{
	take_data(unpack, ((struct pdf_state *)unpack->state)->stages.before, byte);
}

void pdf_filters_end(struct unpack *unpack)
{
	struct pdf_state *state = unpack->state;
	end_stages(unpack, state->stages.before);
	if (state->body == PDF_HEAD)
		take_head(unpack);
	pdf_filters_flush(unpack);
	end_behind(unpack);
}
