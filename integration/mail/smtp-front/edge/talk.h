/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * talk.h - commands of a client that has not yet named a valid recipient.
 *
 * Flow: exchange.c of base -> talk_greet(), talk_take() -> lines.h, dialogue.h -> users.h for each
 *       recipient -> a reply; for the first one that is valid none, but handout.h: the worker says
 *       it.
 *
 * These are functions of edge_protocol.h, which says what each is called for.
 */

#include "integration/mail/base/edge/edge_parts.h"

/* Says the banner. */
void talk_greet(struct session *session);
bool talk_take(struct session *session);
void talk_on_tls(struct session *session);
/* The client that XCLIENT has named was judged. */
void talk_on_verdict(struct session *session);
size_t talk_refuse(struct edge *edge, struct session *session, enum edge_refusal refusal,
		   char *ret_text);

/* Asks the next hop about the recipient that was kept. */
void talk_ask(struct session *session);
void talk_cancel(struct session *session);
