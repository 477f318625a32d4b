/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/dns/framing.h"

#include "lib/format/bytes.h"

#include <string.h>

#define HEADER_SIZE 12 /* of DNS: what is shorter is no query */

void framing_init(struct framing *framing)
{
	framing->size = 0;
	framing->skip = 0;
}

uint8_t *framing_room(struct framing *framing, size_t *ret_size)
{
	*ret_size = sizeof(framing->bytes) - framing->size;
	return framing->bytes + framing->size;
}

void framing_add(struct framing *framing, size_t size)
{
	size_t skipped = size < framing->skip ? size : framing->skip;
	framing->size += size;
	framing->skip -= skipped;
	if (skipped > 0)
		framing_drop(framing, skipped);
}

enum framing_state framing_next(const struct framing *framing, size_t *offset,
				struct framing_message *ret_message)
{
	/* Behind a query that was too long it is further than what there is. */
	if (*offset + FRAMING_LENGTH_SIZE > framing->size)
		return FRAMING_MORE;
	const uint8_t *at = framing->bytes + *offset;
	size_t have = framing->size - *offset - FRAMING_LENGTH_SIZE;
	size_t size = bytes_get16(at);
	size_t given = size < RESPONDER_QUERY_MAX ? size : RESPONDER_QUERY_MAX;
	if (size < HEADER_SIZE)
		return FRAMING_BAD;
	if (given > have)
		return FRAMING_MORE;
	*ret_message = (struct framing_message){ at + FRAMING_LENGTH_SIZE, given };
	*offset += FRAMING_LENGTH_SIZE + size;
	return FRAMING_MESSAGE;
}

void framing_drop(struct framing *framing, size_t offset)
{
	if (offset > framing->size) {
		framing->skip = offset - framing->size;
		offset = framing->size;
	}
	framing->size -= offset;
	memmove(framing->bytes, framing->bytes + offset, framing->size);
}

bool framing_has_part(const struct framing *framing)
{
	return framing->size > 0 || framing->skip > 0;
}

bool framing_is_bad(const struct framing *framing)
{
	struct framing_message message;
	size_t offset = 0;
	return framing_next(framing, &offset, &message) == FRAMING_BAD;
}
