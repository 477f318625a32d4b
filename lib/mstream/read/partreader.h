/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * partreader.h - the lines of a mail or of a part: header fields, delimiters, and the body between them.
 *
 * Flow: mstream_feed() -> partreader_push() -> mimehead.c, readings.c at the end of a header, leaf.c
 *       for bytes of a body; levels.c says which lines are delimiters.
 *
 *     entity_init(entity, view);
 *     entity_begin_header(entity, false);
 *     used = partreader_push(mail, entity, bytes, size);
 *     partreader_end(mail, entity, true);
 *
 * The end of line before a delimiter is the delimiter's (RFC 2046, 5.1.1), so that each end of line
 * waits for the line behind it. A line that begins with dashes waits for its end: in .head.text, and
 * no more of it than ENTITY_LINE_MAX.
 *
 * All of it is the mail's. No function here allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/mstream/read/mstream_state.h"

/*
 * Returns how many bytes were used: all, or less when the entity was copied: its copies go on where
 * it does.
 */
size_t partreader_push(struct mstream *mail, struct entity *entity, const uint8_t *bytes,
		       size_t size);
void partreader_end(struct mstream *mail, struct entity *entity, bool is_whole);

/* How many bytes, at most size, stand before a CR or LF. */
size_t partreader_line_size(const uint8_t *bytes, size_t size);
/* The end of line that a body holds back. Returns how many bytes it is. */
size_t partreader_eol(const struct entity *entity, uint8_t *ret_bytes);
#define PARTREADER_EOL_SIZE 2
/* A line that begins with a dash: is it there to its end, and a delimiter to none of set? */
bool partreader_is_plain(const struct mstream *mail, uint32_t set, const uint8_t *line,
			 size_t size);
/* Where, behind bytes[0] of size bytes, a line begins with a dash that may be another; some: not before some. */
size_t partreader_text_size(const struct mstream *mail, uint32_t set, const uint8_t *bytes,
			    size_t some, size_t size);
