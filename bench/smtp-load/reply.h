/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * reply.h - SMTP replies out of bytes as they come.
 *
 * Flow: session.c has bytes of the server -> reply_feed() until a reply has ended -> its code.
 *
 *     250-mx.example.com
 *     250-PIPELINING
 *     250 SIZE 10240000
 *
 * Nothing of a reply is kept but its code and whether a line of it says PIPELINING. A line ends
 * in LF, with or without CR. Nothing here allocates, logs or keeps a pointer.
 */

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* RFC 5321 has 512 bytes; some say more. Who says even more does not speak SMTP. */
#define REPLY_LINE_MAX	4096
#define REPLY_LINES_MAX 256

enum {
	REPLY_MORE = 0,
	REPLY_BROKEN = -1, /* no reply: without a code, or without an end */
};

struct reply {
	char text[16]; /* the beginning of the line that goes on */
	unsigned short size;
	unsigned short lines;
	bool has_pipelining;
};

void reply_begin(struct reply *ret_reply);

/*
 * Takes bytes up to the end of a reply; *ret_taken says how many. The code when it has ended,
 * 200 to 599; then reply_begin() begins the next. Else REPLY_MORE or REPLY_BROKEN.
 */
int reply_feed(struct reply *reply, const char *bytes, size_t size, size_t *ret_taken);

#ifdef __cplusplus
}
#endif
