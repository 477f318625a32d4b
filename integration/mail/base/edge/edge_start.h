/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * edge_start.h - what an edge is given by the process that makes it.
 *
 * Flow: the server's run_edge() -> edge_run() -> all parts of an edge, which read it and change
 *       nothing.
 */

#include "integration/mail/base/edge/edge_protocol.h"
#include "integration/mail/base/edge/edge_rules.h"
#include "integration/mail/base/handover/passed.h"
#include "integration/mail/base/handover/scoreboard.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A plain value; everything in it is borrowed until edge_run() returns. */
struct edge_start {
	const struct edge_protocol *protocol;
	const struct edge_rules *rules;
	void *own;			/* the server's: its setup, its counters */
	const int *listeners;		/* sockets that listen; closed when the edge drains */
	const uint8_t *listener_places; /* of which place each is, for rules->tls_places */
	unsigned listener_count;
	int queue_fd;	       /* the end of the workers' queue to write to; is made not to block */
	int keyholder_fd;      /* -1 without certificates */
	struct passed *passed; /* of all processes; may be NULL */
	struct scoreboard *scoreboard; /* may be NULL, but an edge without one gives nothing away */
	size_t process;		       /* the edge's own, of the scoreboard */
	unsigned index;		       /* of the edge: 0, 1, ... */
	/*
	 * Called when all that is outside has been opened: gives up root and system calls. 0, or an
	 * exit status, which is returned. May be NULL.
	 */
	int (*confine)(void *context);
	void *context;
};

#ifdef __cplusplus
}
#endif
