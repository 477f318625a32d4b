/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * lines.h - where a command line ends: at CR LF and nowhere else.
 *
 * Flow: the unread bytes of a session -> lines_take() -> a dialogue of SMTP or POP3 with the line, or
 *       with what was wrong.
 *
 *     enum lines_status status = lines_take(unread, size, DIALOGUE_LINE_MAX, &line_size);
 *     if (status == LINES_READY) {
 *             action = dialogue_step(dialogue, limits, (const char *)unread, line_size, &event);
 *             drop line_size + LINES_END_SIZE bytes
 *     } else if (status != LINES_MORE) {
 *             action = dialogue_malformed(dialogue, limits, status, &event);
 *     }
 *
 * A CR without an LF, an LF without a CR and a NUL are refused where they stand, before the line
 * has ended: a client that sends them may mean another end of line than we do, and what is behind
 * it is then not its command (SMTP smuggling). The end of an overlong line is agreed upon, and
 * lines_skip() finds it. Where lone LFs are taken, LINES_LONE_LF is a line, too, whose end has
 * LINES_LF_SIZE.
 *
 * Without a state: the buffer begins where the line does, and is looked at anew. No function here
 * keeps a pointer, allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LINES_END_SIZE 2
#define LINES_LF_SIZE  1

enum lines_status {
	LINES_MORE,  /* no end yet, and room for one */
	LINES_READY, /* *ret_line_size bytes, and CRLF */
	LINES_LONE_CR,
	LINES_LONE_LF,	/* behind *ret_line_size bytes */
	LINES_TOO_LONG, /* more than limit, CRLF included */
	LINES_NUL,
};

/* *ret_line_size, without its end, is written by LINES_READY and LINES_LONE_LF only. */
enum lines_status lines_take(const uint8_t *bytes, size_t size, size_t limit,
			     size_t *ret_line_size);

/*
 * Looks for the end of a line that was too long, with takes_lf for any LF. *ret_used bytes are to
 * be dropped; with LINES_READY what follows is the next line, with LINES_MORE it goes on, and a CR
 * at the end is left to be seen again.
 */
enum lines_status lines_skip(const uint8_t *bytes, size_t size, bool takes_lf, size_t *ret_used);

/* "lone LF" and the like, for replies and the log. Never NULL. */
const char *lines_status_text(enum lines_status status);

#ifdef __cplusplus
}
#endif
