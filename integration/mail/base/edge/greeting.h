/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * greeting.h - what happens to a client before it is greeted.
 *
 * Flow: session_open() -> greeting_begin() -> a PROXY header where one must be -> limits of its
 *       prefix -> the pause, and in parallel libdnsblv6 -> exchange_begin(), or handout_join()
 *       when connections are passed on as they are.
 *
 * A client that speaks before the banner breaks the protocol: it is refused, or at least noted. With
 * TLS from the start it has to speak first: nothing is read in the pause, and none is early. One that
 * is listed is greeted all the same: the server refuses it where its log has something to say of it,
 * and it never costs a worker. Own networks wait for nothing.
 */

#include "integration/mail/base/edge/edge_parts.h"

void greeting_begin(struct session *session);
/* In SESSION_PROXY and SESSION_PAUSE. */
void greeting_on_event(struct session *session);
void greeting_on_timer(struct session *session);

/* It has named another client: the verdict about that is asked for, then on_verdict(). */
void greeting_judge_again(struct session *session);
/* Before the end. */
void greeting_cancel(struct session *session);
