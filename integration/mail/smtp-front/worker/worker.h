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

#include "integration/mail/base/handover/scoreboard.h"
#include "integration/mail/smtp-front/sinks/delivered.h"
#include "integration/mail/smtp-front/recipients/hopstate.h"
#include "integration/mail/base/handover/passed.h"
#include "integration/mail/smtp-front/setup/setup.h"
#include "integration/mail/smtp-front/facts/tally.h"

#ifdef __cplusplus
extern "C" {
#endif

struct worker_start {
	const struct setup *setup;
	int queue_fd;		       /* the end of the queue to read from; stays the caller's */
	uint64_t *counters;	       /* of the worker's own slot; may be NULL */
	struct passed *passed;	       /* of all processes; may be NULL */
	struct scoreboard *scoreboard; /* may be NULL */
	size_t process;		       /* the worker's own, of the scoreboard */
	struct hopstate *hop;	       /* of all workers; may be NULL */
	struct delivered *delivered;   /* the same */
	int ask_fd;		       /* of the scanner's template; -1: mails are not scanned */
	unsigned index;		       /* of the worker: 0, 1, ... */
	/*
	 * Called when all that is outside has been opened: gives up root and system calls. 0, or an
	 * exit status, which is returned. May be NULL.
	 */
	int (*confine)(void *context);
	void *context;
};

/*
 * In a process of its own, after fork(). Returns an exit status: EX_OK when it is to be replaced,
 * or was told to end; EX_NOINPUT when the sink or the recipients cannot be opened, and EX_OSERR
 * without memory or when the queue cannot be read, which is logged.
 */
int worker_run(const struct worker_start *start);

#ifdef __cplusplus
}
#endif
