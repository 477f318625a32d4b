/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * visit.h - one session in a worker, from the recipient that proved it to its end.
 *
 * Flow: worker.c -> visit_finish() with a capsule and a descriptor: the sink and the client hear of
 *       the recipient -> commands by dialogue.h, recipients by users.h, mails by parcel.h -> one
 *       line of account.h.
 *
 * The dialogue goes on in the state in which the edge has left it: the client cannot tell. STARTTLS,
 * which only an edge can do, is no longer offered. XCLIENT is answered with 421, so that its relay
 * comes again with that client: the blacklists are not asked about it here.
 *
 * 250 behind a mail is said when the sink has committed it, and only then. When the client is gone
 * before the end of a mail, nothing is committed. When it is gone before it has got that 250, the
 * mail is committed, and the client may send it again: that is logged.
 *
 * When the worker is told to end meanwhile, a client that is silent is told 421, 4.3.2: at once,
 * but for a moment in which it may say QUIT, when it has no mail begun, else after edge.drain_ms.
 * A client that goes on is served.
 *
 * While other sessions wait for a worker (scoreboard.h) a silent client gives way: it is told 421 when
 * it says nothing for limits.give_way_ms, or has taken edge.stress_timeout_ms for all its
 * commands since its last mail. The time of the whole session is limits.worker_timeout_ms: behind
 * it no other mail is begun, and one that has begun must end in as long again.
 *
 * A handle with memory of its own, which is taken once and used for all sessions of a worker.
 */

#include "integration/mail/smtp-front/recipients/answers.h"
#include <signal.h>

#include "integration/mail/base/handover/scoreboard.h"
#include "integration/mail/smtp-front/handover/capsule.h"
#include "integration/mail/base/handover/passed.h"
#include "integration/mail/base/scan/scanner.h"
#include "integration/mail/smtp-front/setup/setup.h"
#include "integration/mail/smtp-front/sinks/sink.h"
#include "integration/mail/smtp-front/facts/tally.h"
#include "integration/mail/base/users/users.h"

#ifdef __cplusplus
extern "C" {
#endif

struct visit; /* opaque */

/* All borrowed until visit_free(). */
struct visit_parts {
	const struct setup *setup;
	struct sink *sink;
	struct sink *asker;	 /* asked about recipients in place of users; NULL: the sink is */
	struct answers *known;	 /* recipients that it has accepted; NULL without one */
	struct users *users;	 /* NULL: there is no such list */
	struct scanner *scanner; /* NULL: mails are not scanned */
	uint64_t *counters;	 /* may be NULL */
	struct passed *passed;	 /* may be NULL */
	struct scoreboard *scoreboard;	      /* may be NULL */
	const volatile sig_atomic_t *is_told; /* the worker is to end; may be NULL */
};

/* 0 or -ENOMEM. */
int visit_new(const struct visit_parts *parts, struct visit **ret_visit);
/* Takes NULL. */
void visit_free(struct visit *visit);

/*
 * To the end of the session, which is logged. capsule is used up; fd is closed here. Returns how
 * many mails the client has sent, whatever became of them.
 */
unsigned visit_finish(struct visit *visit, struct capsule *capsule, int fd);
/* The same for a session that has waited too long for a worker: it is told 421. */
void visit_put_off(struct visit *visit, struct capsule *capsule, int fd);

#ifdef __cplusplus
}
#endif
