/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any answer of several lines, in one piece and in pieces, with much room and little: the same mail
 * comes out, ends where a search for CR LF . CR LF finds the end, and is the same again behind
 * another server. For a reader that takes a lone LF for the end of a line it ends there, too.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   bytes in a piece, less one
 *        1      1   bytes of room, less POP3_MULTI_ROOM_MIN
 *        2      .   the answer
 */

#include "lib/pop3/pop3_multi.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct text {
	uint8_t *bytes;
	size_t size;
	size_t used; /* of the input */
	bool is_end;
};

static struct text take(const uint8_t *in, size_t size, size_t piece, size_t room)
{
	struct text text = { malloc(2 * size + POP3_MULTI_ROOM_MIN), 0, 0, false };
	struct pop3_multi multi;
	require(text.bytes != NULL, "memory");
	pop3_multi_init(&multi);
	while (text.used < size && !text.is_end) {
		const size_t part = size - text.used < piece ? size - text.used : piece;
		uint8_t *out = malloc(room);
		size_t used = 0;
		size_t out_size = 0;
		require(out != NULL, "memory");
		text.is_end = pop3_multi_take(&multi, in + text.used, part, &used, out, room,
					      &out_size) == POP3_MULTI_END;
		require(used > 0 || out_size > 0, "there is progress");
		require(used <= part && out_size <= room, "within bounds");
		require(text.size + out_size <= 2 * size + POP3_MULTI_ROOM_MIN,
			"an LF at most doubles");
		memcpy(text.bytes + text.size, out, out_size);
		text.size += out_size;
		text.used += used;
		free(out);
	}
	return text;
}

static struct text put(const struct text *mail, size_t piece, size_t room)
{
	struct text text = { malloc(2 * mail->size + POP3_MULTI_END_MAX), 0, 0, true };
	struct pop3_multi_put state;
	require(text.bytes != NULL, "memory");
	pop3_multi_put_init(&state);
	while (text.used < mail->size) {
		const size_t left = mail->size - text.used;
		const size_t space = 2 * mail->size - text.size;
		size_t used = 0;
		text.size +=
			pop3_multi_put(&state, mail->bytes + text.used, left < piece ? left : piece,
				       &used, text.bytes + text.size, room < space ? room : space);
		require(used > 0, "there is progress out");
		text.used += used;
	}
	text.size += pop3_multi_close(&state, text.bytes + text.size);
	return text;
}

static bool is_same(const struct text *one, const struct text *other)
{
	return one->size == other->size && one->is_end == other->is_end &&
	       memcmp(one->bytes, other->bytes, one->size) == 0;
}

/* Behind the first line that is a dot, for a reader of any line ends; 0: there is none. */
static size_t find_end(const uint8_t *bytes, size_t size, bool takes_lf)
{
	bool is_start = true;
	for (size_t i = 0; i < size; i++) {
		const bool has_crlf = i + 2 < size && bytes[i + 1] == '\r' && bytes[i + 2] == '\n';
		if (is_start && bytes[i] == '.' && has_crlf)
			return i + 3;
		if (is_start && bytes[i] == '.' && takes_lf && i + 1 < size && bytes[i + 1] == '\n')
			return i + 2;
		is_start = bytes[i] == '\n' && (takes_lf || (i > 0 && bytes[i - 1] == '\r'));
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	const uint8_t *in = data + 2;
	const size_t piece = data[0] + 1U;
	const size_t room = data[1] + (size_t)POP3_MULTI_ROOM_MIN;
	struct text whole = take(in, size - 2, SIZE_MAX / 4, 2 * size + POP3_MULTI_ROOM_MIN);
	struct text pieces = take(in, size - 2, piece, room);
	require(is_same(&whole, &pieces) && whole.used == pieces.used, "pieces do not matter");
	require(whole.is_end ? whole.used == find_end(in, size - 2, false)
			     : find_end(in, size - 2, false) == 0,
		"the end is where a search finds it");
	struct text answer = put(&whole, SIZE_MAX / 4, SIZE_MAX / 4);
	struct text answer_pieces = put(&whole, piece, room);
	require(is_same(&answer, &answer_pieces), "pieces do not matter on the way out");
	require(find_end(answer.bytes, answer.size, true) == answer.size, "it has one end for all");
	struct text again = take(answer.bytes, answer.size, piece, room);
	require(again.is_end && again.used == answer.size, "it ends behind another server");
	require(!whole.is_end || is_same(&whole, &again), "it is the same behind another server");
	free(whole.bytes);
	free(pieces.bytes);
	free(answer.bytes);
	free(answer_pieces.bytes);
	free(again.bytes);
	return 0;
}
