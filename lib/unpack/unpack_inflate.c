/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/unpack_inflate.h"

#include <errno.h>

static voidpf take_arena(voidpf opaque, uInt count, uInt size)
{
	struct unpack_inflate *state = opaque;
	const size_t wanted = ((size_t)count * size + 15) / 16 * 16;
	if (wanted > sizeof(state->arena) - state->arena_used)
		return Z_NULL;
	uint8_t *at = state->arena + state->arena_used;
	state->arena_used += wanted;
	return at;
}

static void leave_arena(voidpf opaque, voidpf address)
{
	(void)opaque;
	(void)address;
}

int unpack_inflate_init(struct unpack_inflate *state)
{
	state->stream.zalloc = take_arena;
	state->stream.zfree = leave_arena;
	state->stream.opaque = state;
	if (inflateInit2(&state->stream, -MAX_WBITS) != Z_OK)
		return -ENOMEM;
	unpack_inflate_reset(state);
	return 0;
}

void unpack_inflate_reset(struct unpack_inflate *state)
{
	inflateReset(&state->stream);
	state->check = state->is_adler ? 1 : 0;
	state->out = 0;
	state->fill = 0;
}

static bool flush(struct unpack *unpack, struct unpack_inflate *state)
{
	const uInt size = (uInt)state->fill;
	const uLong check = state->check;
	state->check = (uint32_t)(state->is_adler ? adler32(check, state->out_bytes, size)
						  : crc32(check, state->out_bytes, size));
	state->out += size;
	state->fill = 0;
	return state->give != NULL ? state->give(unpack, state->out_bytes, size)
				   : unpack_give(unpack, state->out_bytes, size);
}

/* All of a slice, and all that comes out of it. */
static enum inflate_step take_slice(struct unpack *unpack, struct unpack_inflate *state,
				    const uint8_t *bytes, size_t size, size_t *ret_used)
{
	z_stream *stream = &state->stream;
	stream->next_in = (z_const Bytef *)bytes;
	stream->avail_in = (uInt)size;
	int result = Z_OK;
	bool is_full = false;
	do {
		stream->next_out = state->out_bytes + state->fill;
		stream->avail_out = (uInt)(sizeof(state->out_bytes) - state->fill);
		result = inflate(stream, Z_NO_FLUSH);
		state->fill = sizeof(state->out_bytes) - stream->avail_out;
		is_full = stream->avail_out == 0;
		if (is_full && !flush(unpack, state))
			break;
	} while (is_full && result == Z_OK);
	*ret_used = size - stream->avail_in;
	unpack->in += *ret_used;
	if (unpack->is_over)
		return INFLATE_OVER;
	if (result == Z_STREAM_END)
		return INFLATE_ENDED;
	return result == Z_OK || result == Z_BUF_ERROR ? INFLATE_MORE : INFLATE_BAD;
}

enum inflate_step unpack_inflate(struct unpack *unpack, struct unpack_inflate *state,
				 const uint8_t *bytes, size_t size, size_t *ret_used)
{
	enum inflate_step step = INFLATE_MORE;
	*ret_used = 0;
	while (step == INFLATE_MORE && *ret_used < size) {
		size_t part = UNPACK_SLICE - (size_t)(unpack->in % UNPACK_SLICE);
		if (part > size - *ret_used)
			part = size - *ret_used;
		size_t used = 0;
		step = take_slice(unpack, state, bytes + *ret_used, part, &used);
		*ret_used += used;
		const bool is_mark = step == INFLATE_ENDED || unpack->in % UNPACK_SLICE == 0;
		if (step == INFLATE_OVER || !is_mark || !unpack_is_dense(unpack, state->fill))
			continue;
		if (flush(unpack, state))
			unpack_stop(unpack, UNPACK_RATIO);
		step = INFLATE_OVER;
	}
	if (step != INFLATE_OVER && !flush(unpack, state))
		step = INFLATE_OVER;
	return step;
}
