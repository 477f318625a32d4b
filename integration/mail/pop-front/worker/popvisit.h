/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * popvisit.h - one session in a worker, from the login that was right to its end.
 *
 * Flow: popworker.c -> popvisit_finish() with a capsule and a descriptor: maildrop.h opens the mailbox,
 *       the login is answered -> commands by pop3_dialogue.h, mails by popretrieve.h -> QUIT:
 *       maildrop_update() -> one line of popaccount.h.
 *
 * The dialogue goes on in the state in which the edge has left it: the client cannot tell. +OK to QUIT
 * is said when the store has committed the deletions, and only then; a session that ends in any other
 * way deletes nothing (RFC 1939, part 6).
 *
 * A client that says nothing for limits.idle_timeout_ms is left without a word (part 3). When the
 * worker is told to end, one that is silent for edge.drain_ms is told so; one that goes on is served.
 *
 * A handle with memory of its own, which is used for all sessions of a worker.
 */

#include "integration/mail/pop-front/handover/popcapsule.h"
#include "integration/mail/pop-front/setup/popsetup.h"

#include <signal.h>

struct popvisit; /* opaque */

/* All borrowed until popvisit_free(). */
struct popvisit_parts {
	const struct popsetup *setup;
	uint64_t *counters;		      /* of the worker's own block; may be NULL */
	const volatile sig_atomic_t *is_told; /* the worker is to end; may be NULL */
};

/* 0 or -ENOMEM. */
int popvisit_new(const struct popvisit_parts *parts, struct popvisit **ret_visit);
/* Takes NULL. */
void popvisit_free(struct popvisit *visit);

/* To the end of the session, which is logged. capsule is used up; fd is closed here. */
void popvisit_finish(struct popvisit *visit, struct popcapsule *capsule, int fd);
/* The same for a session that has waited too long for a worker: it is put off. */
void popvisit_put_off(struct popvisit *visit, struct popcapsule *capsule, int fd);
