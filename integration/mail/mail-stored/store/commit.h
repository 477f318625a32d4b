/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * commit.h - one sync for all that waits: when a delivery or a deletion may be answered.
 *
 * Flow: clients.c has appended something -> commit_add() -> behind the events of this round of the
 *       loop one sync begins, in the process of syncer.h -> done() of the owner for each that it
 *       covers. What comes meanwhile is covered by the next one.
 *
 * While the disk is slow the loop goes on taking mails, so that the next sync has more of them: with
 * many clients there are few syncs, and each of them is as long as the disk wants it to be. On a disk
 * that takes longer than COMMIT_LONG_MS for one, up to COMMIT_SYNCS are under way at a time, so that a
 * mail that comes behind a beginning waits for one sync and not for two. Replies keep the order of the
 * log: what is said to be on disk has nothing before it that is not.
 *
 * When a sync has failed the layer has stopped: done() and fail() have its status, and nothing else
 * is of use any more. The sync of a process that has ended counts as failed, with -ECONNRESET. Of what
 * some other sync has covered done() says MAILSTORE_EUNSURE then: it stays in the log.
 *
 * One thread's. After commit_close() the loop has to run once more before commit_free().
 */

#include "lib/mailstore/maillayer.h"

#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In the memory of the owner until done() is called. */
struct commit_waiter {
	TAILQ_ENTRY(commit_waiter) link;
	struct mailplace end; /* commit_add() writes it */
};

struct commit_rules {
	/* status is 0 or why it is not committed. */
	void (*done)(void *owner, struct commit_waiter *waiter, int status);
	/* Once, behind the done() of all. */
	void (*fail)(void *owner, int status);
};

struct commit;

#define COMMIT_SYNCS   3
#define COMMIT_LONG_MS 2

/* layer, rules, owner and counters are borrowed; syncer_fds, COMMIT_SYNCS of them, are the commit's. */
int commit_open(uv_loop_t *loop, struct maillayer *layer, const int *syncer_fds,
		const struct commit_rules *rules, void *owner, uint64_t *counters,
		struct commit **ret_commit);
void commit_add(struct commit *commit, struct commit_waiter *waiter);
/* Syncs what still waits, without the loop, and calls done() for it. */
void commit_finish(struct commit *commit);
/* Takes NULL, as the next. */
void commit_close(struct commit *commit);
void commit_free(struct commit *commit);

#ifdef __cplusplus
}
#endif
