/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * poplogin.h - a login of a client: may it be looked at, what is asked, what is said.
 *
 * Flow: poptalk.c has POP3_AUTHENTICATE -> poplogin_begin(): refused at once, or session->next =
 *       NEXT_ASK -> poplogin_ask() -> asking.h -> poplogin_answer(): the hand-over, the next message of
 *       SCRAM, or a refusal, which waits for login.delay.
 *
 * Not looked at are logins of clients that the zones list, and of a network that had too many wrong
 * ones in the last minute: neither costs a hash.
 */

#include "integration/mail/pop-front/edge/pop_parts.h"

/* With the login in the event; returns what is to be done now, or POP3_AUTHENTICATE: nothing. */
enum pop3_action poplogin_begin(struct session *session);
/* Of edge_protocol.h. */
void poplogin_ask(struct session *session);
void poplogin_cancel(struct session *session);
/* Of asking.h. */
void poplogin_fill(struct asking_wait *wait, struct check_request *ret_request);
void poplogin_answer(struct asking_wait *wait, const struct check_reply *reply);
