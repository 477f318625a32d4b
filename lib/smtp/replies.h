/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * replies.h - what a server has said, out of bytes as they come (RFC 5321, 4.2).
 *
 * Flow: a client has bytes of its server (hop.c, remote_smtp.c, bench/smtp-load) ->
 *       replies_feed() until a line or a reply has ended -> code and text. reply.h is the other
 *       direction.
 *
 *     struct replies replies;
 *     replies_begin(&replies);
 *     while (size > 0) {
 *             enum replies_status status = replies_feed(&replies, bytes, size, &taken);
 *             // REPLIES_LINE and REPLIES_END: replies.code, replies.text
 *             bytes += taken, size -= taken;
 *     }
 *
 * A line ends in LF, with or without CR; "250" without anything behind it is a last line. All
 * lines of a reply have one code: with two it is two replies, and nothing tells which of them is
 * true. A NUL becomes "?".
 *
 * A plain value. No function here keeps a pointer, allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a line in front of its LF: four times what RFC 5321, 4.5.3.1.5 allows. */
#define REPLIES_LINE_MAX 2048
/* Of a reply; that to EHLO has some twenty. */
#define REPLIES_LINES_MAX 100
/* Bytes of a text that are kept, with a NUL. */
#define REPLIES_TEXT_SIZE 512

enum replies_status {
	REPLIES_MORE,	/* no line has ended */
	REPLIES_LINE,	/* one has, and the reply goes on */
	REPLIES_END,	/* the last one has */
	REPLIES_BROKEN, /* it is no reply: without a code, with two, or without an end */
};

struct replies {
	int code;		      /* 200 to 599, of the line that has ended */
	unsigned line_count;	      /* with this one: 1 is the first of its reply */
	char text[REPLIES_TEXT_SIZE]; /* of the line, behind its code */
	bool is_full;		      /* the text: the line may have had more */

	/* replies.c's own. */
	enum replies_status status;
	size_t size; /* of the line that goes on */
	char head[4];
};

void replies_begin(struct replies *ret_replies);
/*
 * Takes bytes up to the end of a line; *ret_taken says how many. Behind REPLIES_END the next reply
 * begins, behind REPLIES_BROKEN nothing does.
 */
enum replies_status replies_feed(struct replies *replies, const void *bytes, size_t size,
				 size_t *ret_taken);

#ifdef __cplusplus
}
#endif
