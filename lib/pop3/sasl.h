/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sasl.h - what a client says to log in: names, passwords, and the message of PLAIN.
 *
 * Flow: a line of an exchange -> base64.h -> sasl_parse_plain() -> the caller's users. USER and PASS
 *       of pop3_dialogue.c -> sasl_is_text(). SCRAM is in scram.h.
 *
 * PLAIN is RFC 4616: an identity to act for or nothing, NUL, a name, NUL, a password; each of 1 to
 * 255 octets of UTF-8. Acting for another is not offered: the first is empty or the second.
 *
 * Normalisation: a name and a password are used as they came. SASLprep (RFC 4013) and its
 * successors are not done, beyond refusing control characters (U+0000 to U+001F, U+007F to U+009F)
 * and what is no UTF-8. A user that may type one name in two ways has to be known by both.
 *
 * No function here keeps a pointer, allocates or logs; outputs are written on success only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SASL_TEXT_MAX 255 /* octets of a name or password (RFC 4616, part 2) */
/* Bytes of a message of a client: as base64 it is a line that fits into the buffer of an edge. */
#define SASL_MESSAGE_MAX 1440

enum sasl_status {
	SASL_FINE,
	SASL_MALFORMED,
	SASL_FOREIGN, /* wants to act for another user */
	SASL_BINDING, /* SCRAM: insists on a channel binding */
	SASL_WRONG,   /* SCRAM: the password is not that */
	SASL_FAILED,  /* SCRAM: libcrypto had no memory */
};

/* 1 to SASL_TEXT_MAX octets of UTF-8 (RFC 3629) without control characters. */
bool sasl_is_text(const char *text, size_t text_size);

struct sasl_plain {
	char user[SASL_TEXT_MAX + 1];
	char password[SASL_TEXT_MAX + 1]; /* to be wiped by the caller */
};

/* SASL_FINE, SASL_MALFORMED or SASL_FOREIGN. */
enum sasl_status sasl_parse_plain(const uint8_t *message, size_t size,
				  struct sasl_plain *ret_plain);

#ifdef __cplusplus
}
#endif
