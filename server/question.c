/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/question.h"

#include "server/cookie.h"

#include <string.h>

enum {
	HEADER_SIZE = 12,
	TYPE_CLASS_SIZE = 4,
	LABEL_MAX = 63,
	OPT_SIZE = 11,	 /* root, type, payload, extended rcode, version, flags, size of its data */
	OPTION_SIZE = 4, /* code, size of its data */
	OPTION_COOKIE = 10,
	CLASS_IN = 1,
	TYPE_OPT = 41,
	FIRST_META_TYPE = 128, /* RFC 6895 section 3.1 */
	DO_BIT = 0x80,
};

static unsigned read16(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

static uint8_t to_lower(uint8_t byte)
{
	return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte | 0x20) : byte;
}

/* QR and opcode are clear; one question, no answers, at most one additional record. */
static bool has_common_header(const uint8_t *wire, size_t size)
{
	static const uint8_t counts[] = { 0, 1, 0, 0, 0, 0, 0 };
	return size >= HEADER_SIZE && (wire[2] & 0xf8) == 0 &&
	       memcmp(wire + 4, counts, sizeof(counts)) == 0 && wire[11] <= 1;
}

/* The name at wire, of at most size bytes. False for one that is cut, too long or compressed. */
static bool take_name(const uint8_t *wire, size_t size, struct question_common *question)
{
	size_t offset = 0;
	unsigned count = 0;
	if (size > QUESTION_NAME_MAX)
		size = QUESTION_NAME_MAX;
	for (;;) {
		if (offset >= size || wire[offset] > LABEL_MAX || count == QUESTION_LABELS_MAX)
			return false;
		size_t label_size = wire[offset];
		question->offsets[count++] = (uint8_t)offset;
		question->name[offset++] = (uint8_t)label_size;
		if (label_size == 0)
			break;
		if (label_size > size - offset)
			return false;
		for (size_t end = offset + label_size; offset < end; offset++)
			question->name[offset] = to_lower(wire[offset]);
	}
	question->name_size = (uint8_t)offset;
	question->label_count = (uint8_t)count;
	return true;
}

/* size bytes that must be a COOKIE, whole, and nothing else. */
static bool take_cookie(const uint8_t *wire, size_t size, struct question_common *question)
{
	size_t cookie_size = size - OPTION_SIZE;
	if (size < OPTION_SIZE + COOKIE_CLIENT_SIZE || size > OPTION_SIZE + COOKIE_OPTION_MAX ||
	    (cookie_size != COOKIE_CLIENT_SIZE && cookie_size < COOKIE_OPTION_MIN) ||
	    read16(wire) != OPTION_COOKIE || read16(wire + 2) != cookie_size)
		return false;
	question->cookie_size = (uint8_t)cookie_size;
	return true;
}

/* size bytes that must be an OPT, whole, and nothing else. */
static bool take_opt(const uint8_t *wire, size_t size, struct question_common *question)
{
	if (size < OPT_SIZE || wire[0] != 0 || read16(wire + 1) != TYPE_OPT || wire[6] != 0 ||
	    read16(wire + 9) != size - OPT_SIZE)
		return false;
	if (size != OPT_SIZE && !take_cookie(wire + OPT_SIZE, size - OPT_SIZE, question))
		return false;
	/* To libknot that payload is class IN, in which an empty RDATA is malformed. */
	if (read16(wire + 3) == CLASS_IN)
		return false;
	question->has_edns = true;
	question->payload = (uint16_t)read16(wire + 3);
	question->has_do = (wire[7] & DO_BIT) != 0;
	return true;
}

bool question_parse(const uint8_t *wire, size_t size, struct question_common *ret_question)
{
	if (!has_common_header(wire, size) ||
	    !take_name(wire + HEADER_SIZE, size - HEADER_SIZE, ret_question))
		return false;
	size_t end = question_end(ret_question);
	if (end > size || read16(wire + end - 2) != CLASS_IN)
		return false;
	ret_question->qtype = (uint16_t)read16(wire + end - TYPE_CLASS_SIZE);
	if (ret_question->qtype == TYPE_OPT || ret_question->qtype >= FIRST_META_TYPE)
		return false;
	ret_question->has_edns = false;
	ret_question->has_do = false;
	ret_question->payload = 0;
	ret_question->cookie_size = 0;
	return wire[11] == 0 ? end == size : take_opt(wire + end, size - end, ret_question);
}

size_t question_end(const struct question_common *question)
{
	return HEADER_SIZE + question->name_size + (size_t)TYPE_CLASS_SIZE;
}
