/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * filler.h - the process that keeps the tables of the network driver like the stores.
 *
 * Flow: driver.c has the tables; parent.c forks and calls filler_serve() -> stores are opened, as
 *       worker.c does -> the generation serves -> the lock is free -> everything is taken away ->
 *       each version that watch.h knows: fill.c writes it, tables.c switches -> leases are renewed
 *       -> SIGTERM, or another generation serves.
 *
 * It has all that a worker has given up, given up too, and makes no system call for the tables: they
 * are memory that it has from the parent. Answers never wait for it. While it is not there, leases
 * run out and sockets answer.
 *
 * One filler writes at a time: the lock is free when the one before has ended, however it did. A
 * filler of a generation that does not serve yet, or not any more, gives no answers: owner in
 * struct filler_shared says which one does, and the parent writes it.
 *
 * A list that changes all the time is read all the time: reading it takes a tenth of a core at
 * most. Until then the driver answers with the version before, and never with parts of both.
 */

#include "lib/process/callfilter.h"
#include "server/counts/counters.h"
#include "server/counts/driverstatus.h"
#include "server/counts/zonestatus.h"
#include "server/settings/settings.h"
#include "server/xdp-kernel/layout.h"
#include "server/xdp-kernel/tables.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of all fillers and the parent. */
struct filler_shared {
	uint64_t owner;		/* number of the generation that serves; 0: none yet */
	uint64_t counted_owner; /* for which the next have been copied last */
	struct xdp_counts counted[XDP_ZONES_MAX + 1]; /* of the driver's, into counters */
};

/* More is left to the sockets, and said. */
#define FILLER_ADDRESSES_MAX 128

struct filler_start {
	const struct settings *settings;
	const struct callfilter *filter; /* of confine_make_filter() */
	const struct counters_bank *bank;
	const struct zonestatus *zonestatus; /* of the workers, for what they find */
	const struct driverstatus *driverstatus;
	const struct tables_arrays *arrays;
	struct filler_shared *shared;
	uint64_t generation;
	size_t part; /* of the bank */
	int lock_fd; /* of a file without content */
	struct xdp_link links[XDP_LINKS_MAX];
	size_t link_count;
	struct sockaddr_storage addresses[FILLER_ADDRESSES_MAX]; /* that may be asked */
	size_t address_count;
};

/* Returns the exit status of the process. */
int filler_serve(const struct filler_start *start);

/*
 * Why questions about a zone never are the driver's by these settings; DRIVERSTATUS_READING when
 * they may be.
 */
enum driverstatus_state filler_judge(const struct settings *settings, size_t zone);

#ifdef __cplusplus
}
#endif
