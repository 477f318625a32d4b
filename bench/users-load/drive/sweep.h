/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sweep.h - looks into mailboxes that still wait for mails of the run, when no session does any more.
 *
 * Flow: run.c at the end: sweep_begin() -> for each user that waits a session of imaprun.h: LOGIN, SELECT INBOX, FETCH of the newest
 *       headers -> tracking_seen() with INTERNALDATE -> done().
 *
 * Of a mailbox so many mails are looked at as it was sent in the run, twice, and some more. Some sessions are
 * open at a time. What one of them does is in no count.
 *
 * One sweep at a time; another may follow. Lies in the memory of its owner. Nothing here logs.
 */

#include "bench/users-load/drive/visits.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sweep {
	struct imaprun_rules rules; /* of the caller: links, address, talk, start_ns */
	struct session_template name;
	struct tracking *tracking;
	uint32_t user_count;
	uint64_t run;
	int64_t start_s;
	void (*done)(void *context); /* not within sweep_begin() when a mailbox waits */
	void *context;

	/* sweep.c's own. */
	uint32_t *waiting; /* of each user */
	uint32_t *sent;
	uint32_t next_user;
	unsigned open_count;
	bool is_stopped;
	bool is_filling;
	LIST_HEAD(, imaprun) open;
};

/* The members of the caller are set. 0 or -ENOMEM. */
int sweep_init(struct sweep *sweep);
void sweep_deinit(struct sweep *sweep);

void sweep_begin(struct sweep *sweep);
/* Closes what is open, and begins no more; done() follows. */
void sweep_stop(struct sweep *sweep);

#ifdef __cplusplus
}
#endif
