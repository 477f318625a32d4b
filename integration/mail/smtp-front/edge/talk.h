/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * talk.h - commands of a client that has not yet named a valid recipient.
 *
 * Flow: greeting.c -> talk_begin() -> lines.h, dialogue.h -> users.h for each recipient -> a
 *       reply; for the first one that is valid none, but handout.h: the worker says it.
 */

#include "integration/mail/smtp-front/edge/edge_parts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Says the banner. */
void talk_begin(struct session *session);
/* In SESSION_TALK. */
void talk_on_event(struct session *session);
/* In SESSION_TLS. */
void talk_on_handshake(struct session *session);
void talk_begin_handshake(struct session *session);
/* Looks at what has come already, then for more. */
void talk_resume(struct session *session);
/* Asks the next hop about the recipient that was kept. */
void talk_ask(struct session *session);
/* The client that XCLIENT has named was judged. */
void talk_on_verdict(struct session *session);

#ifdef __cplusplus
}
#endif
