/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * text.h - a line of the log in the making, with texts of strangers in it.
 *
 * Flow: a session's line, and others with texts of clients -> text_put(), text_put_foreign() -> lib/common/log.h.
 *
 * What comes from outside stands between double quotes: printable ASCII and well-formed UTF-8 as
 * it is, so that an address can be read and searched for, and all else escaped: quotes,
 * backslashes, controls, bytes that are no UTF-8, and the characters that turn the direction of
 * what stands around them or begin a line.
 *
 * The memory is the caller's, and what does not fit is left out. Nothing here allocates or logs.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct text {
	char *bytes; /* borrowed; always with a NUL */
	size_t room; /* with the NUL */
	size_t size;
};

enum text_escape {
	TEXT_JSON, /* \" \\ \u00ff; what is too long is cut (RFC 8259) */
	TEXT_LOG,  /* \xff for all of them; "..." stands for the rest, as log_quote() does */
};

/* bytes has room bytes, one at least. */
struct text text_make(char *bytes, size_t room);

void text_put(struct text *text, const char *plain);
void text_put_number(struct text *text, uint64_t number);
/*
 * value between quotes, of which not more than room bytes are written, cut between two characters.
 * A NULL is an empty one.
 */
void text_put_foreign(struct text *text, const char *value, size_t value_size, size_t room,
		      enum text_escape escape);

/* Of a line of the log, " helo=" and a value after it; a foreign one has TEXT_WORD_MAX bytes at most. */
#define TEXT_WORD_MAX 300
void text_put_word(struct text *text, const char *name, const char *value);
void text_put_count(struct text *text, const char *name, uint64_t number);

#ifdef __cplusplus
}
#endif
