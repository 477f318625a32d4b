/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * lines.h - bytes as they come, lines as they are complete.
 *
 * Flow: read(2) into lines_room() -> lines_filled() -> lines_next() until it has no more ->
 *       line.c.
 *
 * A line longer than LINES_MAX is cut, since its beginning says which session waits for an answer;
 * what is behind the cut is read and forgotten.
 *
 * Lies in the memory of its owner, and is empty when it is zero.
 */

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LINES_MAX 16384 /* a path of SMTP and its parameters, several times over */

struct lines {
	char bytes[LINES_MAX];
	size_t begin;
	size_t end;
	bool is_skipping; /* to the end of a line that was cut */
};

/* Where to read to: at least one byte, if lines_next() has had its say. */
char *lines_room(struct lines *lines, size_t *ret_size);
void lines_filled(struct lines *lines, size_t size);

/* The text has no end of line, and is borrowed until the next lines_room(). */
bool lines_next(struct lines *lines, const char **ret_text, size_t *ret_size, bool *ret_is_cut);
/* Something has come behind the last end of line. */
bool lines_has_half(const struct lines *lines);

#ifdef __cplusplus
}
#endif
