/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * exchange.h - commands of a client and their replies, in turn, whatever they say.
 *
 * Flow: greeting.c -> exchange_begin(): the handshake, where the client begins with it, then the
 *       banner -> bytes of channel.h -> take() of the server for each command, as far as replies
 *       have room -> session_settle(), which does what is next.
 *
 * A server that waits for another's answer does so between two commands:
 *
 *     take():    session->next = NEXT_ASK;           // all replies before it go out first
 *     ask():     checker_ask(checker, session, ...);
 *                exchange_wait(session, timeout_ms);
 *     cancel():  checker_cancel(checker, session);
 *     event:     exchange_take_up(session);          // in SESSION_TALK, NEXT_TALK again
 *                channel_say(session, ...);          // or session->next = NEXT_QUEUE
 *                exchange_go_on(session);
 *                session_take_event_time(session);   // not when ask() had the answer at once
 */

#include "integration/mail/base/edge/edge_parts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Nothing was said yet. */
void exchange_begin(struct session *session);
/* In SESSION_TALK. */
void exchange_on_event(struct session *session);
/* Looks at what has come already, then for more. */
void exchange_resume(struct session *session);

/* In ask(): the answer will come. ms is for one that does not; then the session ends. */
void exchange_wait(struct session *session, uint64_t ms);
/*
 * The answer is there: loads what was kept, for take() to go on behind a reply. The client's time for its
 * next command begins here.
 */
void exchange_take_up(struct session *session);
/* The client that was named in place of the first is judged. */
void exchange_on_verdict(struct session *session);
/* With edge->in loaded; to the end of the event, also of what TLS alone knows to have come. */
void exchange_go_on(struct session *session);

/* What is to be said now is a refusal: the tarpit is for it, if there is one and no stress. */
void exchange_delay(struct session *session);

/* In SESSION_TLS. */
void exchange_begin_handshake(struct session *session);
void exchange_on_handshake(struct session *session);

#ifdef __cplusplus
}
#endif
