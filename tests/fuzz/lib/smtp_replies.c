/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What a server says, in pieces: the replies are those that a strict and slow reader finds in the
 * whole, and the first thing that is none ends them at the same place.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   bytes in a piece, less one
 *        1      .   what is said
 */

#include "lib/smtp/replies.h"
#include "tests/fuzz/replies.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of the next reply from *at on, in pieces: its code, 0: it has no end yet, -1: it is none. */
static int read_reply(struct replies *replies, const uint8_t *said, size_t size, size_t piece,
		      size_t *at)
{
	enum replies_status status = REPLIES_MORE;
	while (*at < size && status != REPLIES_END && status != REPLIES_BROKEN) {
		size_t taken = 0;
		const size_t part = size - *at < piece ? size - *at : piece;
		status = replies_feed(replies, said + *at, part, &taken);
		require(taken > 0 && taken <= part, "it takes something, and not more than all");
		*at += taken;
		if (status == REPLIES_LINE || status == REPLIES_END)
			require(memchr(replies->text, '\0', sizeof(replies->text)) != NULL &&
					strchr(replies->text, '\n') == NULL,
				"a text is a line that ends");
	}
	if (status == REPLIES_BROKEN)
		return -1;
	return status == REPLIES_END ? replies->code : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct replies_limits limits = { REPLIES_LINE_MAX, REPLIES_LINES_MAX };
	struct replies replies;
	size_t at = 0;
	size_t strict_at = 0;
	int code = 0;
	if (size < 1)
		return 0;
	replies_begin(&replies);
	do {
		size_t used = 0;
		const int expected =
			replies_parse(data + 1 + strict_at, size - 1 - strict_at, &limits, &used);
		code = read_reply(&replies, data + 1, size - 1, data[0] + 1U, &at);
		require(code == expected, "it is the same reply");
		strict_at += used;
		require(code <= 0 || at == strict_at, "it ends at the same place");
	} while (code > 0);
	return 0;
}
