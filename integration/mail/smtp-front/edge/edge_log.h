/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * edge_log.h - the lines that an edge has about strangers, and how many of them.
 *
 * Flow: session.c about connections beyond a limit, talk.c about refused commands -> the log; the
 *       tick of edge.c says how many lines were left out.
 *
 * A network beyond its limits, or one that tries addresses, is to be seen in the log and not to
 * fill the disk with it: of lines of each of the two kinds there are so many in a second. The
 * first refusal of a session has its line in any case, as the session has.
 */

#include "integration/mail/smtp-front/edge/edge_parts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* May a connection beyond a limit have its line? */
bool edge_log_takes_flood(struct edge *edge);

/* The answer to RCPT, which is edge->event, is none that accepts. reason is a word or two. */
void edge_log_recipient(struct session *session, const char *recipient, const char *reason);
/* The same for a line that the dialogue has refused by itself, if it is MAIL or RCPT. */
void edge_log_command(struct session *session, const char *line, size_t line_size);

/* True while there are lines of which nothing was said yet. */
bool edge_log_settle(struct edge *edge);

#ifdef __cplusplus
}
#endif
