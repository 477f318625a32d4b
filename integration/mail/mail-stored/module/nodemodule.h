/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nodemodule.h - the interface module of a node: the process that has the public socket, and knows where
 *                each mailbox is.
 *
 * Flow: stored.c forks -> nodemodule_run() -> nodeclients.h: clients -> nodework.h -> noderouter.h: the local
 *       store, other nodes; socketmap.h: mail servers that ask where a mailbox is.
 *
 * The idea is that of Jeun et al., "Cluster-based E-mail System" (PaCT 2003): mail server and delivery agent
 * of each node stay as they are, and what they deliver to is this. It is their version 1: a mail for another
 * node goes through the local module.
 *
 * One loop, without threads. At SIGTERM no client is taken any more, and requests under way end, or in
 * NODEMODULE_DRAIN_MS.
 */

#include "integration/mail/mail-stored/stored_setup.h"

#define NODEMODULE_DRAIN_MS 5000

struct nodemodule_start {
	const struct stored_setup *setup;
	const char *store_path;	  /* of the local store's own socket */
	int listen_fd;		  /* of clients, borrowed as the next; it listens */
	int location_fd;	  /* of the socketmap; -1: none */
	const int *login_fd;	  /* of logins.h, borrowed; NULL: none */
	const uint64_t *since_us; /* that of store_process.h */
	/* Called when all that is outside has been opened; may be NULL. An exit status. */
	int (*confine)(const struct stored_setup *setup);
};

/* In a process of its own, after fork(). An exit status; what is not EX_OK is logged. */
int nodemodule_run(const struct nodemodule_start *start);
