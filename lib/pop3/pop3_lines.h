/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * pop3_lines.h - where a line of a client ends: at CR LF and nowhere else.
 *
 * Flow: the unread bytes of a session -> pop3_lines_take() -> pop3_dialogue_step() with the line,
 *       or pop3_dialogue_malformed() with what was wrong.
 *
 *     limit = pop3_dialogue_line_max(&dialogue);
 *     enum pop3_lines status = pop3_lines_take(unread, size, limit, &line_size);
 *     if (status == POP3_LINES_READY) {
 *             action = pop3_dialogue_step(&dialogue, ..., (const char *)unread, line_size, &event);
 *             drop line_size + POP3_LINES_END_SIZE bytes
 *     } else if (status != POP3_LINES_MORE) {
 *             action = pop3_dialogue_malformed(&dialogue, ..., status, &event);
 *     }
 *
 * As in SMTP, a CR without an LF, an LF without a CR and a NUL are refused where they stand: what
 * is behind them is perhaps no command of this client. The end of an overlong line is agreed upon,
 * and pop3_lines_skip() finds it.
 *
 * Without a state: the buffer begins where the line does, and is looked at anew. No function here
 * keeps a pointer, allocates or logs.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define POP3_LINES_END_SIZE 2

enum pop3_lines {
	POP3_LINES_MORE,  /* no end yet, and room for one */
	POP3_LINES_READY, /* *ret_line_size bytes, and CR LF */
	POP3_LINES_LONE_CR,
	POP3_LINES_LONE_LF,
	POP3_LINES_TOO_LONG, /* more than limit, CR LF included */
	POP3_LINES_NUL,
};

/* *ret_line_size, without its end, is written by POP3_LINES_READY only. */
enum pop3_lines pop3_lines_take(const uint8_t *bytes, size_t size, size_t limit,
				size_t *ret_line_size);
/*
 * Looks for the end of a line that was too long. *ret_used bytes are to be dropped; with
 * POP3_LINES_READY what follows is the next line, with POP3_LINES_MORE it goes on, and a CR at the
 * end is left to be seen again.
 */
enum pop3_lines pop3_lines_skip(const uint8_t *bytes, size_t size, size_t *ret_used);
/* "lone LF" and the like, for replies and the log. Never NULL. */
const char *pop3_lines_text(enum pop3_lines status);

#ifdef __cplusplus
}
#endif
