/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/wire/lines.h"

#include <string.h>

enum lines_status lines_take(const uint8_t *bytes, size_t size, size_t limit, size_t *ret_line_size)
{
	size_t seen = size < limit ? size : limit;
	size_t end = 0;
	while (end < seen && bytes[end] != '\r' && bytes[end] != '\n' && bytes[end] != '\0')
		end++;
	if (end == seen)
		return size >= limit ? LINES_TOO_LONG : LINES_MORE;
	if (bytes[end] == '\0')
		return LINES_NUL;
	if (bytes[end] == '\n') {
		*ret_line_size = end;
		return LINES_LONE_LF;
	}
	if (end + LINES_END_SIZE > limit)
		return LINES_TOO_LONG;
	if (end + 1 == size)
		return LINES_MORE;
	if (bytes[end + 1] != '\n')
		return LINES_LONE_CR;
	*ret_line_size = end;
	return LINES_READY;
}

static enum lines_status skip_to_lf(const uint8_t *bytes, size_t size, size_t *ret_used)
{
	const uint8_t *lf = memchr(bytes, '\n', size);
	*ret_used = lf != NULL ? (size_t)(lf - bytes) + 1 : size;
	return lf != NULL ? LINES_READY : LINES_MORE;
}

enum lines_status lines_skip(const uint8_t *bytes, size_t size, bool takes_lf, size_t *ret_used)
{
	if (takes_lf)
		return skip_to_lf(bytes, size, ret_used);
	for (size_t used = 0; used < size;) {
		const uint8_t *cr = memchr(bytes + used, '\r', size - used);
		if (cr == NULL)
			break;
		used = (size_t)(cr - bytes) + 1;
		if (used == size) {
			*ret_used = size - 1;
			return LINES_MORE;
		}
		if (bytes[used] == '\n') {
			*ret_used = used + 1;
			return LINES_READY;
		}
	}
	*ret_used = size;
	return LINES_MORE;
}

const char *lines_status_text(enum lines_status status)
{
	switch (status) {
	case LINES_LONE_CR:
		return "lone CR";
	case LINES_LONE_LF:
		return "lone LF";
	case LINES_TOO_LONG:
		return "line too long";
	case LINES_NUL:
		return "NUL";
	case LINES_MORE:
		return "unfinished line";
	default:
		return "line";
	}
}
