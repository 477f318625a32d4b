/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sigplace.h - where a signature's bytes are to begin: the offsets of ndb and ldb.
 *
 * Flow: sigline.c: a field of a line -> sigplace_parse() -> tables.c, which writes it into the database.
 *
 *     why = sigplace_parse("EP+5,10", &place);
 *
 *     *            anywhere
 *     7            7 bytes behind the beginning
 *     EOF-7        7 bytes before the end
 *     EP+7, EP-7   from the entry point of a program
 *     S2+7, SL+7   from the beginning of its third, its last section
 *     SE2          within its third section
 *     VI           at its version information: left to clamd
 *
 * A comma and a number behind any but * make it that place or one of so many bytes behind it. Pure.
 */

#include <stdint.h>

enum sigplace_kind {
	SIGPLACE_ANY,
	SIGPLACE_ABSOLUTE,
	SIGPLACE_END, /* value bytes before it */
	SIGPLACE_ENTRY_PLUS,
	SIGPLACE_ENTRY_MINUS,
	SIGPLACE_SECTION, /* value bytes behind its beginning */
	SIGPLACE_SECTION_LAST,
	SIGPLACE_SECTION_WITHIN,
	SIGPLACE_VERSION_INFO,
	SIGPLACE_KIND_COUNT,
};

struct sigplace {
	uint32_t kind;
	uint32_t section;
	uint32_t value;
	uint32_t shift;
};

/* NULL, or why it is none. */
const char *sigplace_parse(const char *text, struct sigplace *ret_place);
