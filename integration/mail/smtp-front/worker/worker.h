/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * worker.h - one process that finishes sessions which have proved themselves, one at a time.
 *
 * Flow: nanny.c forks -> worker_run(): handover_receive() -> visit.h takes the session to its end,
 *       each mail into the sink before 250 is said -> account_log() -> the next one.
 *
 * It waits where it waits, with deadlines: other sessions are other workers' business. It ends by
 * itself after front.mails_per_worker mails, so that nothing it might have lost hold of piles up,
 * and at SIGTERM, in both cases with the session at hand finished; visit.h has what SIGTERM means
 * for clients that are silent.
 *
 * SIGTERM must not be blocked. SIGINT and SIGHUP are the nanny's and ignored.
 */

#include "integration/mail/base/handover/nanny_child.h"
#include "integration/mail/smtp-front/sinks/delivered.h"
#include "integration/mail/smtp-front/recipients/hopstate.h"
#include "integration/mail/smtp-front/setup/setup.h"
#include "integration/mail/smtp-front/facts/tally.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What all workers have. A plain value; borrowed. */
struct worker_shared {
	struct hopstate *hop;	     /* may be NULL */
	struct delivered *delivered; /* the same */
	int ask_fd;		     /* of the scanner's template; -1: mails are not scanned */
};

/*
 * In a process of its own, after fork(). Returns an exit status: EX_OK when it is to be replaced,
 * or was told to end; EX_NOINPUT when the sink or the recipients cannot be opened, and EX_OSERR
 * without memory or when the queue cannot be read, which is logged.
 */
int worker_run(const struct nanny_child *child, const struct worker_shared *shared);

#ifdef __cplusplus
}
#endif
