/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * forks.h - connections lent: a child process for each zone transfer.
 *
 * Flow: serving.c has a connection whose client was granted a transfer ->
 *       forks_start() forks -> the child runs transfer_run() and ends ->
 *       its end is counted here, and the connection given back to tcp.h.
 *
 * A transfer takes as long as its client likes and holds a version of the
 * store meanwhile, which a worker must not. The child has no descriptor but
 * the connection and standard error, touches nothing of the worker's stores,
 * gives way to processes that answer, and dies with the worker.
 *
 *     forks_open() -> forks_start()... -> the loop, as long as children
 *     run or until forks_stop() -> the loop -> forks_free()
 */

#include "lib/dns/tcp.h"
#include "server/counts/counters.h"
#include "server/transfer/transfer.h"

#include <uv.h>

struct forks_child {
	pid_t pid;
	const struct settings_name *name; /* of the zone, borrowed */
	struct sockaddr_storage client;
	size_t face;
	struct tcp_asker asker;
};

struct forks {
	struct transfer_limits limits;
	struct counters counters;
	struct tcp *tcp;	      /* borrowed; before the first child */
	struct forks_child *children; /* child_max places, the first child_count taken */
	size_t child_max;
	size_t child_count;
	uv_signal_t sigchld; /* keeps the loop alive while there are children */
};

/* 0 or a negative error. */
int forks_open(struct forks *forks, uv_loop_t *loop, const struct settings *settings,
	       const struct counters *counters);
/*
 * Is there a place for one more transfer of this client? For the first of an address as long as one is
 * free, for others while more are free than it has: what is slow in all of its own leaves some.
 */
bool forks_has_room(const struct forks *forks, const struct sockaddr *client);
/*
 * With room only. fd and asker are those of take_connection(); the child has a
 * descriptor of its own, and says how the transfer ended if that is_told. 0 or -errno.
 */
int forks_start(struct forks *forks, const struct transfer *transfer, int fd,
		const struct tcp_asker *asker, bool is_told);
/* Behind tcp_stop(): ends the children that are left, and closes the handle. Run the loop, then free. */
void forks_stop(struct forks *forks);
void forks_free(struct forks *forks);
