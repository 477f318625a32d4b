/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * refusals.h - the lines that an edge has about refused commands.
 *
 * Flow: talk.c -> edge_log.h of base: may it have its line? -> maillog.h.
 */

#include "integration/mail/base/edge/edge_parts.h"

/* The answer to RCPT, which is the edge's event, is none that accepts. reason is a word or two. */
void refusals_log_recipient(struct session *session, const char *recipient, const char *reason);
/* The same for a line that the dialogue has refused by itself, if it is MAIL or RCPT. */
void refusals_log_command(struct session *session, const char *line, size_t line_size);
