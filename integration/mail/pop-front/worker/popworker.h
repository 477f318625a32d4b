/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * popworker.h - a process that has one session at a time, whose login was right.
 *
 * Flow: nanny.c forks -> popworker_run(): intake.h -> popcapsule.h -> popvisit.h, again and again.
 */

#include "integration/mail/base/handover/scoreboard.h"
#include "integration/mail/pop-front/setup/popsetup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A plain value; everything in it is borrowed until popworker_run() returns. */
struct popworker_start {
	const struct popsetup *setup;
	const uint8_t *ticket_key; /* of ticket.h; checkers have the same */
	int queue_fd;
	uint64_t *counters;	       /* of the worker's own block; may be NULL */
	struct scoreboard *scoreboard; /* may be NULL */
	size_t process;
	/* Called when all is open. 0, or an exit status, which is returned. May be NULL. */
	int (*confine)(void *context);
	void *context;
};

/* In a process of its own. Returns an exit status. */
int popworker_run(const struct popworker_start *start);

#ifdef __cplusplus
}
#endif
