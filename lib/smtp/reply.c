/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/smtp/reply.h"

#include <stdbool.h>
#include <string.h>

#define PREFIX_SIZE 4 /* "250-" */
#define END_SIZE    2 /* CRLF */

/* At most room bytes of a line of text, made harmless. Returns how many they are. */
static size_t put_text(const char *text, size_t text_size, char *ret_line, size_t room)
{
	size_t size = 0;
	for (size_t i = 0; i < text_size && size < room; i++) {
		if (text[i] == '\r')
			continue;
		bool is_printable = text[i] >= ' ' && text[i] <= '~';
		ret_line[size++] = text[i];
		if (!is_printable)
			ret_line[size - 1] = '?';
	}
	return size;
}

static void put_code(int code, char *ret_digits)
{
	ret_digits[0] = (char)('0' + code / 100);
	ret_digits[1] = (char)('0' + code / 10 % 10);
	ret_digits[2] = (char)('0' + code % 10);
}

size_t reply_make(int code, const char *text, char *ret_reply)
{
	if (code < 200 || code > 599)
		code = 451;
	size_t size = 0;
	bool has_more = true;
	while (has_more) {
		size_t text_size = strcspn(text, "\n");
		size_t room = REPLY_MAX - 1 - size - PREFIX_SIZE - END_SIZE;
		if (room > REPLY_LINE_MAX - PREFIX_SIZE)
			room = REPLY_LINE_MAX - PREFIX_SIZE;
		char *line = ret_reply + size;
		size += PREFIX_SIZE + put_text(text, text_size, line + PREFIX_SIZE, room);
		memcpy(ret_reply + size, "\r\n", END_SIZE);
		size += END_SIZE;
		has_more = text[text_size] != '\0' && text[text_size + 1] != '\0' &&
			   size + PREFIX_SIZE + END_SIZE < REPLY_MAX;
		put_code(code, line);
		line[PREFIX_SIZE - 1] = has_more ? '-' : ' ';
		text += text_size + 1;
	}
	ret_reply[size] = '\0';
	return size;
}
