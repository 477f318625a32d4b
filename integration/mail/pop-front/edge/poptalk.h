/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * poptalk.h - commands of a client before its login was right, and their replies.
 *
 * Flow: base/edge/exchange.c has bytes -> poptalk_take() -> pop3_dialogue.h -> replies, the handshake of
 *       STLS, or poplogin.c.
 */

#include "integration/mail/pop-front/edge/pop_parts.h"

/* Of edge_protocol.h. */
void poptalk_greet(struct session *session);
bool poptalk_take(struct session *session);
void poptalk_on_tls(struct session *session);
size_t poptalk_refuse(struct edge *edge, struct session *session, enum edge_refusal refusal,
		      char *ret_text);

/* Says what the event has, and what is next. POP3_AUTHENTICATE is nothing: that is poplogin.c's. */
void poptalk_act(struct session *session, enum pop3_action action);
