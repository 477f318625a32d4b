/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * unpack_streams.c - bzip2, xz, .lzma and lzip, by the libraries that libarchive has for them.
 *
 * libarchive would give nothing of the last 64 KiB before a place that is cut or damaged, which other
 * programs do give, and cannot be told how much memory a dictionary may take. Streams one after
 * another are one file; zeros may stand between and behind them.
 */

#include <string.h>

#include <bzlib.h>
#include <lzma.h>

#include "lib/content/little.h"
#include "lib/unpack/apart/unpack_feed.h"
#include "lib/unpack/apart/unpack_windows.h"

/* Of a decoder: its largest dictionary, and the rest of it. */
#define MEMORY_MAX (UNPACK_WINDOW_MAX + (1 << 20))

/* Of .lzma: how it is coded, 4 bytes of its dictionary's size, 8 of its own. */
#define LZMA_HEAD 13

enum step { STEP_ON, STEP_END, STEP_FOREIGN, STEP_DAMAGED, STEP_UNSUPPORTED, STEP_MEMORY };

struct stream_state {
	enum content_kind kind;
	bool is_open;	  /* a stream is */
	bool has_ended;	  /* one has been there */
	bool has_bytes;	  /* of the stream that is open */
	bool is_narrowed; /* its dictionary is smaller than its head says */
	const uint8_t *bytes;
	size_t left;
	size_t rest; /* of the block, behind a head in its place */
	const uint8_t *behind;
	uint8_t head[LZMA_HEAD];
	bz_stream bzip2;
	lzma_stream lzma;
	size_t made;
	uint8_t out[UNPACK_PIECE];
};

static bool open_stream(struct stream_state *state)
{
	lzma_ret result = LZMA_PROG_ERROR;
	switch (state->kind) {
	case CONTENT_BZIP2:
		memset(&state->bzip2, 0, sizeof(state->bzip2));
		state->is_open = BZ2_bzDecompressInit(&state->bzip2, 0, 0) == BZ_OK;
		return state->is_open;
	case CONTENT_XZ:
		result = lzma_stream_decoder(&state->lzma, MEMORY_MAX, 0);
		break;
	case CONTENT_LZIP:
		result = lzma_lzip_decoder(&state->lzma, MEMORY_MAX, 0);
		break;
	default:
		result = lzma_alone_decoder(&state->lzma, MEMORY_MAX);
		break;
	}
	state->is_open = result == LZMA_OK;
	return state->is_open;
}

static void close_stream(struct stream_state *state)
{
	if (state->kind == CONTENT_BZIP2 && state->is_open)
		BZ2_bzDecompressEnd(&state->bzip2);
	state->is_open = false;
}

static enum step bzip2_step(struct stream_state *state)
{
	bz_stream *stream = &state->bzip2;
	stream->next_in = (char *)(uintptr_t)state->bytes; /* it is only read */
	stream->avail_in = (unsigned)state->left;
	stream->next_out = (char *)state->out;
	stream->avail_out = sizeof(state->out);
	const int result = BZ2_bzDecompress(stream);
	state->bytes += state->left - stream->avail_in;
	state->left = stream->avail_in;
	state->made = sizeof(state->out) - stream->avail_out;
	switch (result) {
	case BZ_OK:
		return STEP_ON;
	case BZ_STREAM_END:
		return STEP_END;
	case BZ_DATA_ERROR_MAGIC:
		return STEP_FOREIGN;
	case BZ_MEM_ERROR:
		return STEP_MEMORY;
	default:
		return STEP_DAMAGED;
	}
}

static enum step lzma_step(struct stream_state *state)
{
	lzma_stream *stream = &state->lzma;
	stream->next_in = state->bytes;
	stream->avail_in = state->left;
	stream->next_out = state->out;
	stream->avail_out = sizeof(state->out);
	const lzma_ret result = lzma_code(stream, LZMA_RUN);
	state->bytes = stream->next_in;
	state->left = stream->avail_in;
	state->made = sizeof(state->out) - stream->avail_out;
	switch (result) {
	case LZMA_OK:
	case LZMA_BUF_ERROR:
		return STEP_ON;
	case LZMA_STREAM_END:
		return STEP_END;
	case LZMA_FORMAT_ERROR:
		return STEP_FOREIGN;
	case LZMA_OPTIONS_ERROR:
		return STEP_UNSUPPORTED;
	case LZMA_MEM_ERROR:
	case LZMA_MEMLIMIT_ERROR:
		return STEP_MEMORY;
	default:
		return STEP_DAMAGED;
	}
}

/* A step without bytes in and out would be followed by the same again. */
static enum step take_step(struct stream_state *state)
{
	const size_t left = state->left;
	const enum step step = state->kind == CONTENT_BZIP2 ? bzip2_step(state) : lzma_step(state);
	const bool is_stuck =
		step == STEP_ON && left > 0 && state->left == left && state->made == 0;
	return is_stuck ? STEP_DAMAGED : step;
}

/*
 * The sizes of dictionaries stand in the head of .lzma alone, which has no mark: there are other files
 * that begin so, and files that look back less far than they might. So a dictionary that is too large
 * is not refused but made smaller, and missed where it is.
 */
static void narrow_dictionary(struct stream_state *state)
{
	if (state->kind != CONTENT_LZMA || state->left < LZMA_HEAD ||
	    little_get32(state->bytes + 1) <= UNPACK_WINDOW_MAX)
		return;
	static const uint8_t most[4] = { 0, 0, 0, UNPACK_WINDOW_MAX >> 24 };
	memcpy(state->head, state->bytes, LZMA_HEAD);
	memcpy(state->head + 1, most, sizeof(most));
	state->behind = state->bytes + LZMA_HEAD;
	state->rest = state->left - LZMA_HEAD;
	state->bytes = state->head;
	state->left = LZMA_HEAD;
	state->is_narrowed = true;
}

static void next_block(struct unpack *unpack, struct stream_state *state)
{
	if (state->rest == 0) {
		state->left = unpack_feed_next(unpack, &state->bytes);
		return;
	}
	state->bytes = state->behind;
	state->left = state->rest;
	state->rest = 0;
}

/* The bytes between streams: false when there are none left of the block. */
static bool begin_stream(struct unpack *unpack, struct stream_state *state)
{
	while (state->has_ended && state->left > 0 && *state->bytes == 0) {
		state->bytes++;
		state->left--;
	}
	if (state->left == 0)
		return false;
	state->has_bytes = false;
	/* .lzma has one stream, and no mark that another would begin with. */
	if (state->has_ended && state->kind == CONTENT_LZMA)
		unpack_meet_garbage(unpack);
	else if (!open_stream(state))
		unpack_stop(unpack, UNPACK_MEMORY);
	else
		narrow_dictionary(state);
	return !unpack->is_over;
}

static void end_step(struct unpack *unpack, struct stream_state *state, enum step step)
{
	static const enum unpack_flaw flaws[] = {
		[STEP_FOREIGN] = UNPACK_DAMAGED,
		[STEP_DAMAGED] = UNPACK_DAMAGED,
		[STEP_UNSUPPORTED] = UNPACK_UNSUPPORTED,
		[STEP_MEMORY] = UNPACK_MEMORY,
	};
	if (step == STEP_ON)
		return;
	close_stream(state);
	if (step == STEP_END) {
		state->has_ended = true;
	} else if (step == STEP_FOREIGN && state->has_ended) {
		unpack_meet_garbage(unpack);
	} else if (step == STEP_DAMAGED && state->is_narrowed && unpack->out >= UNPACK_WINDOW_MAX) {
		unpack_stop(unpack, UNPACK_MEMORY);
	} else {
		unpack_stop(unpack, flaws[step]);
	}
}

static void run_streams(struct unpack *unpack, struct stream_state *state)
{
	while (!unpack->is_over) {
		/* What is left inside of a decoder comes first. */
		if (state->left == 0 && state->made < sizeof(state->out)) {
			next_block(unpack, state);
			if (state->left == 0)
				break;
		}
		state->made = 0;
		if (!state->is_open && !begin_stream(unpack, state))
			continue;
		const enum step step = take_step(state);
		state->has_bytes = state->has_bytes || state->made > 0;
		if (unpack_pour(unpack, state->out, state->made))
			end_step(unpack, state, step);
	}
	if (unpack->is_over)
		return;
	if (!state->has_ended || (state->is_open && state->has_bytes))
		unpack_stop(unpack, UNPACK_CUT);
	else if (state->is_open)
		unpack_meet_garbage(unpack); /* too short to be called so */
	unpack_close(unpack, true);
}

static void run(struct unpack *unpack)
{
	struct stream_state state;
	memset(&state, 0, offsetof(struct stream_state, out));
	state.kind = unpack->row->kind;
	if (unpack_open(unpack, ""))
		run_streams(unpack, &state);
	close_stream(&state);
	lzma_end(&state.lzma);
}

int unpack_streams_begin(struct unpack *unpack)
{
	return unpack_feed_begin(unpack, run);
}
