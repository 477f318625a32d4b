/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * framing.h - queries in a stream, with two bytes of length before each
 *             (RFC 1035 section 4.2.2).
 *
 * Flow: tcp.c reads into framing_room() -> framing_add() -> framing_next() for
 *       each whole query -> framing_drop() when they are answered.
 *
 *     size_t end = 0;
 *     while (framing_next(&framing, &end, &message) == FRAMING_MESSAGE)
 *             answer(message.wire, message.size);
 *     framing_drop(&framing, end);
 *
 * A reader that holds nothing but a part of one query has room for the rest of it. Of a query
 * longer than RESPONDER_QUERY_MAX, which no question is, the beginning of that size is given, so
 * that it can be refused; the rest goes by unread. A length of less than a header is bad as soon
 * as it is there.
 *
 * No function here allocates, logs or reads a socket.
 */

#include "lib/dns/responder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRAMING_LENGTH_SIZE 2

struct framing {
	size_t size;
	size_t skip; /* bytes that are still to come of a query already given; then size is 0 */
	uint8_t bytes[FRAMING_LENGTH_SIZE + RESPONDER_QUERY_MAX];
};

/* Borrowed until framing_drop(). */
struct framing_message {
	const uint8_t *wire;
	size_t size;
};

enum framing_state { FRAMING_MESSAGE, FRAMING_MORE, FRAMING_BAD };

/* Leaves bytes[] untouched: pages that no query fills cost nothing. */
void framing_init(struct framing *framing);

/* Where the next bytes of the stream go, and how many at most. */
uint8_t *framing_room(struct framing *framing, size_t *ret_size);
/* size bytes have been put there. */
void framing_add(struct framing *framing, size_t size);

/* What is at *offset. It moves behind a whole query, and then *ret_message is that. */
enum framing_state framing_next(const struct framing *framing, size_t *offset,
				struct framing_message *ret_message);
/* Forgets what is before offset. */
void framing_drop(struct framing *framing, size_t offset);
/* Is there a part of a query, or does the rest of one go by? */
bool framing_has_part(const struct framing *framing);
/* Does the first length belong to no query? */
bool framing_is_bad(const struct framing *framing);

#ifdef __cplusplus
}
#endif
