/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * edge_start.h - what an edge is given by the process that makes it.
 *
 * Flow: roles.c -> edge_run() -> all parts of an edge, which read it and change nothing.
 *
 * A plain value; everything in it is borrowed until edge_run() returns.
 */

#include "integration/mail/base/handover/scoreboard.h"
#include "integration/mail/smtp-front/recipients/hopstate.h"
#include "integration/mail/base/handover/passed.h"
#include "integration/mail/smtp-front/setup/setup.h"
#include "integration/mail/smtp-front/facts/tally.h"

#ifdef __cplusplus
extern "C" {
#endif

struct edge_start {
	const struct setup *setup; /* its library is started */
	const int *listeners;	   /* sockets that listen; closed when the edge drains */
	unsigned listener_count;
	int queue_fd;	       /* the end of the workers' queue to write to; is made not to block */
	int keyholder_fd;      /* -1 without certificates */
	struct tally *tally;   /* of the edge's own slot; may be NULL */
	struct passed *passed; /* of all processes; may be NULL */
	struct scoreboard *scoreboard; /* may be NULL, but an edge without one gives nothing away */
	size_t process;		       /* the edge's own, of the scoreboard */
	struct hopstate *hop;	       /* of all processes; may be NULL */
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
