/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * message.h - the bytes of a message of any size, any part of them.
 *
 * Flow: session.c sends a message piece by piece and keeps none of it.
 *
 *     Subject: smtp-load 0000004711
 *     [an empty line]
 *     lines of 62 letters, the last one as long as makes the size
 *     .
 *
 * The size is that of header and text, all lines ending in CRLF; "." comes on top of it. There is
 * no line that begins with a dot but the last.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MESSAGE_SIZE_MIN 64 /* header, and a line of text */

/* With the dot: what goes over the wire. */
size_t message_wire_size(size_t size_bytes);

/* The first room bytes from offset on, or less when it ends before. Returns how many. */
size_t message_copy(uint64_t number, size_t size_bytes, size_t offset, char *ret_bytes,
		    size_t room);

#ifdef __cplusplus
}
#endif
