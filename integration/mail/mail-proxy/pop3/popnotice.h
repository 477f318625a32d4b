/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * popnotice.h - the mail that a client gets in place of one that is withheld.
 *
 * Flow: popproxy_mail.c has a verdict -> popnotice_look() at what is held of the mail ->
 *       popnotice_write() -> the client, in place of the mail.
 *
 * It is a complete mail of RFC 5322 in US-ASCII, with lines that end in CR LF and begin with no dot.
 * It says what was found and where, which mail it is, and that the mail is still on the server,
 * where DELE removes it as any other. It has nothing of the mail but three fields of its header,
 * without any sign that addresses and words do not need: what was found may stand in the header, and
 * is not to be in the notice.
 *
 * No function here reads a clock, allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define POPNOTICE_FIELD_MAX 160 /* with its NUL; more is left away */
#define POPNOTICE_ROOM	    3072

/* Of the header of a mail; "" what was not there. */
struct popnotice_fields {
	char from[POPNOTICE_FIELD_MAX];
	char subject[POPNOTICE_FIELD_MAX];
	char date[POPNOTICE_FIELD_MAX];
};

struct popnotice {
	const char *hostname;
	const char *name;   /* "Eicar-Signature in part 2 / a.zip" */
	const char *header; /* a field with its CR LF, or "" */
	uint64_t number;
	uint64_t now;  /* seconds since 1970 */
	bool is_known; /* found at an earlier try */
	struct popnotice_fields fields;
};

/* The first line of each field, of the first bytes of a mail. */
void popnotice_look(const uint8_t *bytes, size_t size, struct popnotice_fields *ret_fields);
/* ret_text has POPNOTICE_ROOM bytes. Its size, without the NUL. */
size_t popnotice_write(const struct popnotice *notice, char *ret_text);

#ifdef __cplusplus
}
#endif
