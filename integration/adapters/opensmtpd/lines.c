/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/opensmtpd/lines.h"

#include <string.h>

char *lines_room(struct lines *lines, size_t *ret_size)
{
	memmove(lines->bytes, lines->bytes + lines->begin, lines->end - lines->begin);
	lines->end -= lines->begin;
	lines->begin = 0;
	*ret_size = LINES_MAX - lines->end;
	return lines->bytes + lines->end;
}

void lines_filled(struct lines *lines, size_t size)
{
	lines->end += size;
}

/* Returns whether the end of the line has come. */
static bool skip(struct lines *lines)
{
	const char *text = lines->bytes + lines->begin;
	const char *end = memchr(text, '\n', lines->end - lines->begin);
	lines->begin = end != NULL ? lines->begin + (size_t)(end - text) + 1 : lines->end;
	lines->is_skipping = end == NULL;
	return end != NULL;
}

bool lines_next(struct lines *lines, const char **ret_text, size_t *ret_size, bool *ret_is_cut)
{
	if (lines->is_skipping && !skip(lines))
		return false;
	const char *text = lines->bytes + lines->begin;
	size_t size = lines->end - lines->begin;
	const char *end = memchr(text, '\n', size);
	if (end == NULL && size < LINES_MAX)
		return false;
	*ret_text = text;
	*ret_size = end != NULL ? (size_t)(end - text) : size;
	*ret_is_cut = end == NULL;
	lines->is_skipping = end == NULL;
	lines->begin += end != NULL ? *ret_size + 1 : size;
	return true;
}

bool lines_has_half(const struct lines *lines)
{
	return lines->is_skipping || lines->begin < lines->end;
}
