/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any text on its way into the log of a mail store and back: what the log has is what POP3 sends, of
 * the size that was measured, whatever room there is for each piece, and what comes back is the text.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   bytes in a piece, less one; the way back takes them, too
 *        1      .   the text
 */

#include "lib/mailstore/mailbody.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In memory of exactly that size, for the sanitizer. */
static uint8_t *room_of(size_t size)
{
	uint8_t *bytes = malloc(size > 0 ? size : 1);
	require(bytes != NULL, "memory");
	return bytes;
}

/* In pieces: each has its own memory. */
static uint8_t *make_wire(struct mailbody *body, size_t piece)
{
	uint8_t *wire = room_of(body->wire_size);
	size_t done = 0;
	mailbody_rewind(body);
	for (;;) {
		uint8_t *room = room_of(piece);
		size_t size = mailbody_fill(body, room, piece);
		require(size <= piece && size <= body->wire_size - done,
			"at most what was measured");
		memcpy(wire + done, room, size);
		free(room);
		if (size == 0)
			break;
		done += size;
	}
	require(done == body->wire_size, "the size that was measured");
	return wire;
}

/* Lines that end in CRLF, with a second dot behind each that begins with one; and no end of a mail. */
static void check_wire(const uint8_t *wire, size_t size, uint64_t octets)
{
	size_t dots = 0;
	size_t line = 0;
	require(size == 0 || wire[size - 1] == '\n', "a line end at the end");
	for (size_t i = 0; i < size; i++) {
		if (i == line && wire[i] == '.') {
			require(i + 1 < size && wire[i + 1] == '.', "dots are doubled");
			dots++;
		}
		if (wire[i] != '\n')
			continue;
		require(i > 0 && wire[i - 1] == '\r', "no lone LF");
		line = i + 1;
	}
	require(octets + dots == size, "octets are without the dots that were added");
}

static void undo(const struct mailbody *body, const uint8_t *wire, size_t piece)
{
	struct mailbody_undo undo;
	size_t done = 0;
	mailbody_undo_init(&undo, body->lines, body->exceptions, body->exceptions_size,
			   body->wire_size);
	for (size_t at = 0; at < body->wire_size;) {
		size_t size = body->wire_size - at < piece ? (size_t)body->wire_size - at : piece;
		uint8_t *in = room_of(size);
		uint8_t *out = room_of(size + 1);
		memcpy(in, wire + at, size);
		size_t got = mailbody_undo_take(&undo, in, size, out);
		require(got <= size + 1 && got <= body->size - done, "at most the text");
		require(memcmp(out, body->text + done, got) == 0, "the same text");
		free(out);
		free(in);
		done += got;
		at += size;
	}
	require(done == body->size, "all of the text");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mailbody body;
	if (size == 0)
		return 0;
	size_t piece = (size_t)data[0] + 1;
	uint8_t *text = room_of(size - 1);
	memcpy(text, data + 1, size - 1);
	int ret = mailbody_measure(text, size - 1, &body);
	require(ret == 0 || ret == -E2BIG, "measured, or too many line ends of two kinds");
	if (ret == 0) {
		uint8_t *wire = make_wire(&body, piece);
		check_wire(wire, body.wire_size, body.octets);
		require(!body.is_wire || memcmp(wire, text, size - 1) == 0, "the text itself");
		undo(&body, wire, piece);
		undo(&body, wire, body.wire_size + 1);
		free(wire);
	}
	mailbody_free(&body);
	free(text);
	return 0;
}
