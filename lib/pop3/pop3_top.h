/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * pop3_top.h - where the answer to TOP ends: behind the header and so many lines of the body.
 *
 * Flow: POP3_TOP of pop3_dialogue.h -> the body in its wire form, as the store has it
 *       (lib/mailstore/MAILSTORE.md, part 4: every line ends in CR LF, dots are doubled), in
 *       pieces cut anywhere -> pop3_top_take() -> as many bytes of each piece to the client.
 *
 *     pop3_top_init(&top, event.line_count);
 *     for each piece, while !top.is_done:
 *             send its first pop3_top_take(&top, piece, piece_size) bytes
 *     send ".\r\n"
 *
 * The body is given without the "." CR LF behind it: the caller says that in either case, whether
 * the mail was cut or has ended. The header ends with the first empty line, which is sent; without
 * one the mail is all header. A doubled dot is two bytes of a line and counts for nothing else.
 *
 * A plain value. No function here keeps a pointer, allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pop3_top {
	bool is_done; /* nothing more is to be sent */
	/* The rest is pop3_top.c's own. */
	bool is_body;
	bool has_text; /* in this line, but for a CR at its end */
	bool has_cr;
	uint64_t lines_left;
};

void pop3_top_init(struct pop3_top *ret_top, uint64_t line_count);
/* How many of these bytes belong to the answer: all of them until .is_done. */
size_t pop3_top_take(struct pop3_top *top, const uint8_t *bytes, size_t size);

#ifdef __cplusplus
}
#endif
