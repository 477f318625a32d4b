/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * reply.h - the text of a reply, as RFC 5321, 4.2 has it.
 *
 * Flow: dialogue.c, and code that says something of its own (421 before a session begins) ->
 *       reply_make() -> the client.
 *
 *     250-mx.example.org
 *     250-PIPELINING
 *     250 ENHANCEDSTATUSCODES
 *
 * A text that came from elsewhere, such as the next hop or a blacklist, is made harmless here:
 * no byte of it but printable ASCII is said, and no line of it is longer than RFC 5321 allows.
 *
 * No function here keeps a pointer, allocates or logs.
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* With the NUL. Holds the longest reply to EHLO, whose first line has a name of 255 octets. */
#define REPLY_MAX 1024
/* RFC 5321, 4.5.3.1.5: 512 with CRLF. */
#define REPLY_LINE_MAX 510

/*
 * Code and text, complete with CRLF and NUL, to ret_reply, which has REPLY_MAX bytes. "\n" in
 * text begins another line of the reply; "\r" is passed over, other bytes that are not printable
 * become "?". Too much text is cut, the reply is a whole one. A code outside of 200 to 599 is 451.
 * Returns its size without the NUL.
 */
size_t reply_make(int code, const char *text, char *ret_reply);

#ifdef __cplusplus
}
#endif
