/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * base64.h - the base64 of SASL messages, with one spelling for each.
 *
 * Flow: pop3_dialogue.c has a line of an exchange -> base64_decode(); what the server says ->
 *       base64_encode() -> a reply. scram.c does the same within messages.
 *
 * RFC 4648, part 4, and nothing beyond: no blanks, no line ends, padding where it is due and zero
 * bits before it. OpenSSL's decoder takes more than that, so that it is of no use here.
 *
 * No function here keeps a pointer, allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Characters for that many bytes, without the NUL. */
#define BASE64_SIZE(size) (((size) + 2) / 3 * 4)

/* False: it is none, or more than room bytes. An empty text is no bytes. */
bool base64_decode(const char *text, size_t text_size, size_t room, uint8_t *ret_bytes,
		   size_t *ret_size);
/* ret_text has BASE64_SIZE(size) + 1 bytes. Returns its size without the NUL. */
size_t base64_encode(const uint8_t *bytes, size_t size, char *ret_text);

#ifdef __cplusplus
}
#endif
