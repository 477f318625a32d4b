/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * levels.h - the multiparts and messages that are open, and which of them a line is a delimiter of.
 *
 * Flow: partreader.c has a line that begins with "--" -> levels_match(); readings.c opens a multipart
 *       or a message -> levels_push().
 *
 *     match = levels_match(entity, line, line_size);
 *     if (match.level >= 0 && match.is_exact)
 *             it is a delimiter
 *
 * RFC 2046, 5.1.1, has a line be a delimiter that begins with one; most readers want that nothing but
 * blanks is behind it. So the longest boundary that is alone in the line is taken, of the innermost
 * level that has it, and one that is not alone is told of as that.
 *
 * All of it is the entity's. No function here keeps a pointer, allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/mstream/read/mstream_state.h"

struct level_match {
	int level; /* -1: none */
	bool is_close;
	bool is_exact; /* nothing but blanks behind it */
};

/* Without its end of line, with the dashes before it. */
struct level_match levels_match(const struct entity *entity, const uint8_t *line, size_t size);
/* The boundary of a multipart that has named none is that of this line. False: it cannot be. */
bool levels_guess(struct entity *entity, const uint8_t *line, size_t size);
/* Is one of both so? */
bool levels_may_match(const struct entity *entity, const uint8_t *line, size_t size);
/* boundary of NULL: of a message, or to be guessed. False: there is no room. */
bool levels_push(struct entity *entity, enum level_kind kind, const uint8_t *boundary, size_t size);
/* Down to so many. */
void levels_pop(struct entity *entity, unsigned depth);
/* Those of from, as the place where to stands in: their boundaries are none of its own. */
void levels_inherit(struct entity *to, const struct entity *from);
/* Are the same open, with the same boundaries? */
bool levels_equal(const struct entity *one, const struct entity *other);

#define LEVELS_POSITION_SIZE (MSTREAM_DEPTH * 11 + 3)
/* As of IMAP, "2.1"; 0 is what stands before the first part and behind the last. */
void levels_position(const struct entity *entity, char *ret_text);
