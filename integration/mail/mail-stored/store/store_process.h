/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * store_process.h - the process that has the store open: the one writer there is.
 *
 * Flow: stored.c forks -> store_process_run(): the syncer, the layer, which recovery puts right,
 *       confinement, then one loop: clients.h, keeper.h, signals.
 *
 * Files are the store's directory, the users' database and that of the metrics; sockets are those
 * that its clients have. It is ready when the store is open; until then clients wait in the socket.
 */

#include "integration/mail/mail-stored/stored_setup.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct store_process_start {
	const struct stored_setup *setup;
	int listen_fd;
	uint64_t *counters;  /* STORED_COUNTER_COUNT of counters.h */
	const int *login_fd; /* of logins.h, borrowed; NULL: none */
	/* Shared memory. Written when a store of nodes is open: locate_find_since(); before, it is 0. */
	uint64_t *since_us;
};

/*
 * An exit status. EX_IOERR: the disk has failed, and only a person should say that the store may be
 * opened again.
 */
int store_process_run(const struct store_process_start *start);

#ifdef __cplusplus
}
#endif
