/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/smtp-load/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HEADER_SIZE 33 /* "Subject: smtp-load 0000004711", CRLF twice */
#define LINE_SIZE   64

static const char dot[] = { '.', '\r', '\n' };
static const char line[LINE_SIZE + 1] =
	"The quick brown fox jumps over the lazy dog, and over the next\r\n";

size_t message_wire_size(size_t size_bytes)
{
	return size_bytes + sizeof(dot);
}

/* The bytes of source that lie in the wanted part; source itself begins at start. */
struct part {
	char *bytes;
	size_t from;
	size_t to;
};

static void put(const struct part *part, size_t start, const char *source, size_t size)
{
	size_t from = part->from > start ? part->from : start;
	size_t to = part->to < start + size ? part->to : start + size;
	if (from < to)
		memcpy(part->bytes + (from - part->from), source + (from - start), to - from);
}

/* Where the whole lines end: the last line has two to 65 bytes behind that. */
static size_t end_of_lines(size_t size_bytes)
{
	size_t text = size_bytes - HEADER_SIZE;
	size_t lines = text / LINE_SIZE;
	if (lines > 0 && text % LINE_SIZE < 2)
		lines--;
	return HEADER_SIZE + lines * LINE_SIZE;
}

static void put_text(const struct part *part, size_t size_bytes)
{
	size_t end = end_of_lines(size_bytes);
	size_t first = part->from > HEADER_SIZE ? (part->from - HEADER_SIZE) / LINE_SIZE : 0;
	for (size_t at = HEADER_SIZE + first * LINE_SIZE; at < end && at < part->to;
	     at += LINE_SIZE)
		put(part, at, line, LINE_SIZE);

	char last[LINE_SIZE + 2];
	size_t size = size_bytes - end;
	memset(last, 'x', sizeof(last));
	memcpy(last + size - 2, dot + 1, 2);
	put(part, end, last, size);
}

size_t message_copy(uint64_t number, size_t size_bytes, size_t offset, char *ret_bytes, size_t room)
{
	size_t end = message_wire_size(size_bytes);
	if (offset >= end)
		return 0;
	struct part part = { ret_bytes, offset, end - offset < room ? end : offset + room };
	if (offset < HEADER_SIZE) {
		char header[HEADER_SIZE + 1];
		snprintf(header, sizeof(header), "Subject: smtp-load %010" PRIu64 "\r\n\r\n",
			 number % 10000000000u);
		put(&part, 0, header, HEADER_SIZE);
	}
	put_text(&part, size_bytes);
	put(&part, size_bytes, dot, sizeof(dot));
	return part.to - part.from;
}
