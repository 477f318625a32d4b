/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * replies.h - what a server has said, as RFC 5321 4.2 has it, for targets that play one.
 *
 * Slow, strict and apart from the clients that are tried: what these take for a reply has to be
 * one here too, with the same code.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

struct replies_limits {
	size_t line_max; /* bytes of a line without its LF */
	unsigned lines_max;
};

/* The code of a line without its LF; -1 when it is none. */
static inline int replies_line(const uint8_t *line, size_t size, int *ret_is_last)
{
	if (size > 0 && line[size - 1] == '\r')
		size--;
	if (size < 3 || line[0] < '2' || line[0] > '5')
		return -1;
	for (size_t i = 1; i < 3; i++) {
		if (line[i] < '0' || line[i] > '9')
			return -1;
	}
	if (size > 3 && line[3] != ' ' && line[3] != '-')
		return -1;
	*ret_is_last = size == 3 || line[3] == ' ';
	return 100 * (line[0] - '0') + 10 * (line[1] - '0') + line[2] - '0';
}

/*
 * The code of the reply that bytes begin with; 0 when its end is not there yet, -1 when it is
 * none. *ret_size, where it is positive, is how long it is.
 */
static inline int replies_parse(const uint8_t *bytes, size_t size,
				const struct replies_limits *limits, size_t *ret_size)
{
	int code = 0;
	size_t at = 0;
	for (unsigned count = 0; count < limits->lines_max; count++) {
		const uint8_t *end = at < size ? memchr(bytes + at, '\n', size - at) : NULL;
		size_t line_size = end != NULL ? (size_t)(end - bytes) - at : size - at;
		int is_last = 0;
		if (line_size > limits->line_max)
			return -1;
		if (end == NULL)
			return 0;
		int found = replies_line(bytes + at, line_size, &is_last);
		if (found < 0 || (count > 0 && found != code))
			return -1;
		code = found;
		at += line_size + 1;
		if (is_last) {
			*ret_size = at;
			return code;
		}
	}
	return -1;
}

/* Has a whole reply to EHLO a line of that keyword? The first line is a name. */
static inline int replies_offer(const uint8_t *bytes, size_t size, const char *word)
{
	const size_t needed = 4 + strlen(word);
	const uint8_t *line = memchr(bytes, '\n', size);
	while (line != NULL && ++line < bytes + size) {
		const uint8_t *next = memchr(line, '\n', (size_t)(bytes + size - line));
		size_t line_size = (size_t)(next - line);
		line_size -= line_size > 0 && next[-1] == '\r';
		if (line_size >= needed &&
		    strncasecmp((const char *)line + 4, word, needed - 4) == 0 &&
		    (line_size == needed || line[needed] == ' '))
			return 1;
		line = next;
	}
	return 0;
}
