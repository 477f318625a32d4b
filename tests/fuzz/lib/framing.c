/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any stream, cut anywhere, to a reader that takes some queries at a time as
 * tcp.c does: it gets what reading the stream as a whole gets, up to the first
 * length that no query has, and always has room for more.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   how many queries are taken before room is made, less one
 *        1      1   n, how many cuts there are, less one
 *        2      n   bytes between two cuts, less one; the last is for all others
 *       2+n         the stream
 */

#include "lib/dns/framing.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct stream {
	const uint8_t *bytes;
	size_t size;
	size_t fed;   /* how much the reader has got */
	size_t taken; /* how much of it were queries; of one that is too long also what comes */
};

static size_t given_size(size_t size)
{
	return size < RESPONDER_QUERY_MAX ? size : RESPONDER_QUERY_MAX;
}

/* What begins at what was taken, said without framing.c. */
static enum framing_state expect_next(const struct stream *stream, size_t end, size_t *ret_size)
{
	const uint8_t *at = stream->bytes + stream->taken;
	if (stream->taken + 2 > end)
		return FRAMING_MORE;
	size_t have = end - stream->taken;
	*ret_size = at[0] * 256U + at[1];
	if (*ret_size < 12)
		return FRAMING_BAD;
	return given_size(*ret_size) + 2 <= have ? FRAMING_MESSAGE : FRAMING_MORE;
}

/* At most max queries. */
static enum framing_state take(struct framing *framing, struct stream *stream, unsigned max)
{
	enum framing_state state = FRAMING_MESSAGE;
	size_t offset = 0;
	for (unsigned i = 0; i < max && state == FRAMING_MESSAGE; i++) {
		struct framing_message message = { NULL, 0 };
		size_t size = 0;
		size_t before = offset;
		state = framing_next(framing, &offset, &message);
		require(state == expect_next(stream, stream->fed, &size), "another state");
		if (state != FRAMING_MESSAGE) {
			require(offset == before, "it moved");
			break;
		}
		require(message.size == given_size(size) &&
				memcmp(message.wire, stream->bytes + stream->taken + 2,
				       message.size) == 0,
			"another query");
		stream->taken += 2 + size;
	}
	framing_drop(framing, offset);
	bool is_ahead = stream->taken > stream->fed;
	require(framing->size == (is_ahead ? 0 : stream->fed - stream->taken), "another rest");
	require(framing->skip == (is_ahead ? stream->taken - stream->fed : 0), "another skip");
	return state;
}

/* At most chunk bytes of the stream. */
static void feed(struct framing *framing, struct stream *stream, size_t chunk)
{
	size_t room_size = 0;
	uint8_t *room = framing_room(framing, &room_size);
	require(room_size > 0, "no room for the rest of a query");
	if (chunk > room_size)
		chunk = room_size;
	if (chunk > stream->size - stream->fed)
		chunk = stream->size - stream->fed;
	memcpy(room, stream->bytes + stream->fed, chunk);
	framing_add(framing, chunk);
	stream->fed += chunk;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3 || size < 3U + data[1])
		return 0;
	unsigned max = data[0] + 1U;
	unsigned cut_count = data[1] + 1U;
	const uint8_t *cuts = data + 2;
	struct stream stream = { .bytes = cuts + cut_count, .size = size - 2 - cut_count };
	enum framing_state state = FRAMING_MORE;
	/* Of exactly that size, for the sanitizer. */
	struct framing *framing = malloc(sizeof(*framing));
	require(framing != NULL, "no memory");
	framing_init(framing);
	for (unsigned i = 0; stream.fed < stream.size && state != FRAMING_BAD; i++) {
		feed(framing, &stream, cuts[i < cut_count ? i : cut_count - 1] + 1U);
		while ((state = take(framing, &stream, max)) == FRAMING_MESSAGE)
			;
		require(framing_is_bad(framing) == (state == FRAMING_BAD), "bad or not");
	}
	free(framing);
	return 0;
}
