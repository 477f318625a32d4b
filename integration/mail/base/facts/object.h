/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * object.h - the JSON object (RFC 8259) of a session's line in the log, member by member.
 *
 * Flow: a program's account of a session -> text_make() of text.h -> object_put_...(), the first of
 *       which begins the object -> text_put(&text, "}").
 *
 * Texts of strangers are escaped, and cut to their room, so that the object is whole in every case.
 * Nothing here allocates, keeps a pointer or logs.
 */

#include "integration/mail/base/edge/session_facts.h"
#include "integration/mail/base/facts/text.h"

#ifdef __cplusplus
extern "C" {
#endif

void object_put_number(struct text *text, const char *name, uint64_t number);
/* Microseconds, as milliseconds with three decimals. */
void object_put_time(struct text *text, const char *name, uint64_t time_us);
/* No more than room bytes between the quotes: what does not fit is left out. NULL is "". */
void object_put_text(struct text *text, const char *name, const char *value, size_t room);
/* One of our own words, of 16 bytes at most. */
void object_put_word(struct text *text, const char *name, const char *value);

/* "client", "port" and "local". */
void object_put_client(struct text *text, const struct session_facts *facts);
/* "verdict", "none" or "exempt" where no zone was asked, and "score". */
void object_put_verdict(struct text *text, const struct session_facts *facts);

#ifdef __cplusplus
}
#endif
