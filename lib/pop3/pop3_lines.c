/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/pop3/pop3_lines.h"

#include <string.h>

enum pop3_lines pop3_lines_take(const uint8_t *bytes, size_t size, size_t limit,
				size_t *ret_line_size)
{
	const size_t seen = size < limit ? size : limit;
	size_t end = 0;
	while (end < seen && bytes[end] != '\r' && bytes[end] != '\n' && bytes[end] != '\0')
		end++;
	if (end == seen)
		return size >= limit ? POP3_LINES_TOO_LONG : POP3_LINES_MORE;
	if (bytes[end] == '\0')
		return POP3_LINES_NUL;
	if (bytes[end] == '\n')
		return POP3_LINES_LONE_LF;
	if (end + POP3_LINES_END_SIZE > limit)
		return POP3_LINES_TOO_LONG;
	if (end + 1 == size)
		return POP3_LINES_MORE;
	if (bytes[end + 1] != '\n')
		return POP3_LINES_LONE_CR;
	*ret_line_size = end;
	return POP3_LINES_READY;
}

enum pop3_lines pop3_lines_skip(const uint8_t *bytes, size_t size, size_t *ret_used)
{
	for (size_t used = 0; used < size;) {
		const uint8_t *cr = memchr(bytes + used, '\r', size - used);
		if (cr == NULL)
			break;
		used = (size_t)(cr - bytes) + 1;
		if (used == size) {
			*ret_used = size - 1;
			return POP3_LINES_MORE;
		}
		if (bytes[used] == '\n') {
			*ret_used = used + 1;
			return POP3_LINES_READY;
		}
	}
	*ret_used = size;
	return POP3_LINES_MORE;
}

const char *pop3_lines_text(enum pop3_lines status)
{
	switch (status) {
	case POP3_LINES_LONE_CR:
		return "lone CR";
	case POP3_LINES_LONE_LF:
		return "lone LF";
	case POP3_LINES_TOO_LONG:
		return "line too long";
	case POP3_LINES_NUL:
		return "NUL";
	case POP3_LINES_MORE:
		return "unfinished line";
	default:
		return "line";
	}
}
