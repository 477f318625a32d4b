/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * partname.h - the name of a part, in UTF-8, from what a parameter has for it.
 *
 * Flow: a parameter's value, or one section of it (RFC 2231, 3) -> partname_add() ...
 *       -> partname_finish() -> struct mstream_part.
 *
 *     partname_begin(&name);
 *     partname_add(&name, PARTNAME_LATIN_1, bytes, size);
 *     partname_finish(&name);
 *
 * Charsets are UTF-8, US-ASCII, ISO-8859-1 and -15, and windows-1252; of others the ASCII is kept
 * and each other byte is a "?". So is what is no UTF-8, and control characters are left out.
 *
 * A plain value. No function here keeps a pointer, allocates or logs.
 */

#include <stddef.h>
#include <stdint.h>

#include "lib/mstream/mstream.h"

enum partname_charset {
	PARTNAME_UTF_8, /* and ASCII */
	PARTNAME_LATIN_1,
	PARTNAME_LATIN_9,
	PARTNAME_WINDOWS_1252,
	PARTNAME_OTHER,
};

struct partname {
	uint16_t size; /* without the NUL, which only partname_finish() writes */
	char text[MSTREAM_NAME_SIZE];
};

void partname_begin(struct partname *name);
void partname_add(struct partname *name, enum partname_charset charset, const uint8_t *bytes,
		  size_t size);
/* The same with "%41" undone (RFC 2231, 4). */
void partname_add_percent(struct partname *name, enum partname_charset charset,
			  const uint8_t *bytes, size_t size);
/* The same with encoded words undone (RFC 2047), wherever they stand, as readers of mail do. */
void partname_add_words(struct partname *name, const uint8_t *bytes, size_t size);
/* Makes UTF-8 of it, without controls and with a NUL. */
void partname_finish(struct partname *name);

/* Of a charset's name in any case. */
enum partname_charset partname_charset(const uint8_t *text, size_t size);
