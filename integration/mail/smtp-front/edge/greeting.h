/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * greeting.h - what happens to a client before it is greeted.
 *
 * Flow: session_open() -> greeting_begin() -> a PROXY header where one must be -> limits of its
 *       prefix -> the pause, and in parallel libdnsblv6 -> talk_begin(), or handout_join()
 *       when connections are passed on as they are.
 *
 * A client that speaks before the banner is no mail server: it is refused, or at least noted. One
 * that is listed is greeted and heard up to its recipients, so that the log has them, and refused
 * there; it never costs a worker. Own networks wait for nothing.
 */

#include "integration/mail/smtp-front/edge/edge_parts.h"

#ifdef __cplusplus
extern "C" {
#endif

void greeting_begin(struct session *session);
/* In SESSION_PROXY and SESSION_PAUSE. */
void greeting_on_event(struct session *session);
void greeting_on_timer(struct session *session);

/* XCLIENT has named another client: its verdict is asked for, then talk_on_verdict(). */
void greeting_judge_again(struct session *session);
/* Before the end. */
void greeting_cancel(struct session *session);

#ifdef __cplusplus
}
#endif
