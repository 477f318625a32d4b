/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nanny_child.h - what an edge, a checker or a worker is given by the process that makes it.
 *
 * Flow: the nanny, after fork() -> the functions of the server's struct nanny_program -> all parts of
 *       the process, which read it and change nothing.
 */

#include <stddef.h>
#include <stdint.h>

#include "integration/mail/base/handover/passed.h"
#include "integration/mail/base/handover/scoreboard.h"

/* A plain value; everything in it is borrowed until the process's function returns. */
struct nanny_child {
	const void *setup;		/* the server's */
	void *shared;			/* of nanny_program.share() */
	uint64_t *counters;		/* its own block; may be NULL */
	unsigned index;			/* of its role: 0, 1, ... */
	size_t process;			/* its place in the scoreboard */
	const int *listeners;		/* an edge's; closed when it drains */
	const uint8_t *listener_places; /* of which of its places each is, as values() has them */
	unsigned listener_count;
	int queue_fd;	  /* its end, which an edge makes not to block; -1: a checker's */
	int keyholder_fd; /* an edge's; -1 without certificates */
	/* To the checkers, an edge's one; to each edge, a checker's. */
	const int *check_fds;
	unsigned check_count;	       /* 0 without checkers */
	struct scoreboard *scoreboard; /* may be NULL, but an edge without one gives nothing away */
	struct passed *passed;	       /* of all processes; may be NULL */
	/*
	 * To be called when all that is outside has been opened: gives up root and system calls. 0, or
	 * an exit status to return. May be NULL.
	 */
	int (*confine)(void *context);
	void *context;
};
