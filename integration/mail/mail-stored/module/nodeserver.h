/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nodeserver.h - the process of a node that other nodes' modules come to: their requests for its store.
 *
 * Flow: stored.c forks -> nodeserver_run() -> doors.h: a connection -> nodelink.h: TLS, and the key of a
 *       peer -> a request -> nodelink.h to the local store -> its reply.
 *
 * A mail for a mailbox that is not of this node, as its own database of users says, is refused for now.
 * It asks the local store alone and passes nothing on to other nodes, so that there are no circles. Each
 * link of another node has a link of its own to the store, and both end together: a lock ends with
 * the module that has it, or with its node, and when that hangs, after twice "silence" and a second. A mail is
 * read here (nodewire.h), and not by a segment.
 *
 * A connection without the key of a peer is closed behind its handshake, and nothing that it says is read
 * before. One loop, without threads; at SIGTERM what is under way ends, or in NODESERVER_DRAIN_MS.
 */

#include "integration/mail/mail-stored/stored_setup.h"

#define NODESERVER_DRAIN_MS 5000

struct nodeserver_start {
	const struct stored_setup *setup;
	const char *store_path;	  /* of the local store's own socket */
	int listen_fd;		  /* borrowed; it listens */
	const uint64_t *since_us; /* that of store_process.h */
	/* Called when all that is outside has been opened; may be NULL. An exit status. */
	int (*confine)(const struct stored_setup *setup);
};

/* In a process of its own, after fork(). An exit status; what is not EX_OK is logged. */
int nodeserver_run(const struct nodeserver_start *start);
