/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * callforward.h - is this a recipient of ours? Asked of the next hop, in the edge's loop.
 *
 * Flow: talk.c at RCPT, where there is no users.h -> callforward_ask() -> answers.h may know ->
 *       else hop.h says MAIL FROM:<>, RCPT TO:<x>, RSET to the next hop -> the callback.
 *
 *     static void on_answer(void *context, const struct callforward_answer *answer)
 *     {
 *             struct session *session = context;
 *             action = dialogue_answer(&session->dialogue, rules, answer->code, answer->text, ...);
 *     }
 *     ...
 *     if (callforward_ask(forward, address, size, is_utf8, &session->wait, &answer) == 0)
 *             ...                             // known: answer is written, no callback
 *     else
 *             session->phase = SESSION_ASKED; // on_answer() comes, or callforward_cancel()
 *
 * An answer is what the next hop has said: code is 250 for a recipient that is valid, 550 and the
 * like with its own words, or 450 and the like. When it has not said anything in time, cannot be
 * reached or is asked too much at once, it is 451 with an enhanced code of 4.4.x or 4.3.2: no
 * recipient is refused for good because the next hop is down. What it says for good is remembered
 * in a table of fixed size, what it puts off is not.
 *
 * All sessions that wait for one address wait for one question. Few connections are used again and
 * again, each for a limited number of questions (a server becomes slow after some errors of one
 * client), and are closed when there is nothing to ask. Nothing is allocated after
 * callforward_new().
 *
 * A callback comes out of the loop, never before callforward_ask() has returned, once; it may ask
 * and cancel, and must not close. Closing: callforward_close() calls no callbacks, forgets what
 * waits, and frees the object in the loop when its handles are closed: let the loop run.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>
#include <uv.h>

#include "integration/mail/smtp-front/recipients/answers.h"
#include "lib/common/values.h"

#ifdef __cplusplus
extern "C" {
#endif

struct callforward_setup {
	const struct place *hop; /* copied */
	bool is_lmtp;		 /* RFC 2033 */
	unsigned proxy_version;	 /* of the PROXY header that it wants; 0: none */
	const char *hostname;	 /* for EHLO; copied, 255 bytes at most */
	unsigned timeout_ms;	 /* from the question to the answer */
	unsigned valid_ms;	 /* how long a valid recipient is remembered; 3600000 */
	unsigned refused_ms;	 /* and one that is refused; 300000 */
};

typedef void (*callforward_fn)(void *context, const struct callforward_answer *answer);

/* Part of what waits; callback and context are set before callforward_ask(). All else zero. */
struct callforward_wait {
	callforward_fn callback;
	void *context;
	bool is_waiting; /* not yet called, nor cancelled */
	LIST_ENTRY(callforward_wait) link;
};

struct callforward;

/* 0, -ENOMEM or a status of libuv. After fork(). */
int callforward_new(uv_loop_t *loop, const struct callforward_setup *setup,
		    struct callforward **ret_forward);
/* Takes NULL. */
void callforward_close(struct callforward *forward);

/*
 * 0 with *ret_answer: known, or it cannot be asked now. -EINPROGRESS: wait is in use until its
 * callback or callforward_cancel(). address is as in RCPT, without brackets, and copied; it has
 * neither CR nor LF (dialogue.h).
 */
int callforward_ask(struct callforward *forward, const char *address, size_t size, bool is_utf8,
		    struct callforward_wait *wait, struct callforward_answer *ret_answer);
/* No callback comes after this. Takes one that does not wait. */
void callforward_cancel(struct callforward_wait *wait);

#ifdef __cplusplus
}
#endif
