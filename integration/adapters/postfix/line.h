/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * line.h - the line service: one line with an address, one line with a verdict.
 *
 * Flow: peers.c has some bytes of a connection -> line_feed() until a line has ended -> the
 *       question in it -> line_format().
 *
 *     192.0.2.66       listed 3 Service unavailable; 192.0.2.66 is listed by bl6.example
 *     192.0.2.1        clear
 *     2001:db8::1      unknown
 *     192.0.2.2        defer Service unavailable, try again later; nothing is known about ...
 *
 *     REPLY    "listed" SCORE TEXT   the score has reached the threshold
 *              "clear"               it has not, or the address is not to be asked about
 *              "unknown"             no answer in time, or no address: let it pass
 *              "defer" TEXT          no answer of a zone whose on-failure is defer
 *
 * For Exim's ${readsocket}, which ends its half of the connection after the line and reads
 * until the end of ours, and for whatever can write to a socket. The end of the stream ends a
 * line too. What is done about a verdict is the asker's business: "action" does not matter.
 *
 * Lies in the memory of its owner. Nothing here allocates, logs or keeps a pointer.
 */

#include "integration/adapters/postfix/question.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LINE_ADDRESS_MAX 64
/* A line that is meant as one has an address and no more. */
#define LINE_SIZE_MAX 4096

struct line {
	struct question question;
	char text[LINE_ADDRESS_MAX + 1];
	size_t size; /* may be more than is kept */
};

void line_begin(struct line *ret_line);

/*
 * Takes bytes up to the end of the line; *ret_taken says how many. QUESTION_READY:
 * line->question is it, and line_begin() begins the next.
 */
enum question_status line_feed(struct line *line, const char *bytes, size_t size,
			       size_t *ret_taken);
/* The stream has ended: true when there was a line without an end. */
bool line_end(struct line *line);

/* ret_reply has QUESTION_REPLY_MAX + 1 bytes. Returns the length. */
size_t line_format(const struct judgement *judgement, char *ret_reply);

#ifdef __cplusplus
}
#endif
