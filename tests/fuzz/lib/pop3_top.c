/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any stream for the body of a mail, in one piece and in pieces: TOP ends where a search for its
 * lines ends.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   lines of the body
 *        1      1   bytes in a piece, less one
 *        2      .   the stream
 */

#include "lib/pop3/pop3_top.h"

#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Behind the next CR LF from at on; size when there is none. */
static size_t line_end(const uint8_t *bytes, size_t size, size_t at)
{
	while (at + 1 < size && !(bytes[at] == '\r' && bytes[at + 1] == '\n'))
		at++;
	return at + 2 <= size ? at + 2 : size;
}

static size_t find_end(const uint8_t *bytes, size_t size, unsigned line_count)
{
	size_t at = 0;
	bool is_empty = false;
	while (at < size && !is_empty) {
		const size_t end = line_end(bytes, size, at);
		is_empty = end == at + 2 && bytes[at] == '\r' && bytes[at + 1] == '\n';
		at = end;
	}
	for (; line_count > 0; line_count--)
		at = line_end(bytes, size, at);
	return at;
}

static size_t take(const uint8_t *bytes, size_t size, unsigned line_count, size_t piece)
{
	struct pop3_top top;
	size_t taken = 0;
	pop3_top_init(&top, line_count);
	for (size_t at = 0; at < size && !top.is_done; at += piece) {
		const size_t part = size - at < piece ? size - at : piece;
		const size_t some = pop3_top_take(&top, bytes + at, part);
		require(some == part || (top.is_done && some < part), "all is taken to its end");
		taken += some;
	}
	return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	const uint8_t *bytes = data + 2;
	const size_t whole = take(bytes, size - 2, data[0], SIZE_MAX / 2);
	require(whole == take(bytes, size - 2, data[0], data[1] + 1U), "pieces do not matter");
	require(whole == find_end(bytes, size - 2, data[0]), "the end is where a search finds it");
	return 0;
}
