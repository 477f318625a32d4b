/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * handover.h - connections given away: a child process for each zone transfer.
 *
 * Flow: serving.c has a connection whose client was granted a transfer ->
 *       handover_start() forks -> the child runs transfer_run() and ends ->
 *       its end is counted here.
 *
 * A transfer takes as long as its client likes and holds a version of the
 * store meanwhile, which a worker must not. The child has no descriptor but
 * the connection and standard error, touches nothing of the worker's stores,
 * gives way to processes that answer, and dies with the worker.
 *
 *     handover_open() -> handover_start()... -> the loop, as long as children
 *     run or until handover_stop() -> the loop -> handover_free()
 */

#include "server/counts/counters.h"
#include "server/transfer/transfer.h"

#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

struct handover_child {
	pid_t pid;
	size_t face;
};

struct handover {
	uv_loop_t *loop;
	struct transfer_limits limits;
	struct counters counters;
	struct handover_child *children; /* child_max places, the first child_count taken */
	size_t child_max;
	size_t child_count;
	uv_signal_t sigchld; /* keeps the loop alive while there are children */
};

/* 0 or a negative error. */
int handover_open(struct handover *handover, uv_loop_t *loop, const struct settings *settings,
		  const struct counters *counters);
static inline bool handover_is_full(const struct handover *handover)
{
	return handover->child_count == handover->child_max;
}
/*
 * Not when full. fd stays the caller's, which closes it without a shutdown: the
 * child has its own. 0 or -errno.
 */
int handover_start(struct handover *handover, const struct transfer *transfer, int fd);
/* Ends the children that are left and closes the handle: run the loop, then free. */
void handover_stop(struct handover *handover);
void handover_free(struct handover *handover);

#ifdef __cplusplus
}
#endif
