/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * driver.h - sessions over connections: as many at a time, or as many a second.
 *
 * Flow: setup.c has the settings -> driver_run() -> figures.h for main.c to print.
 *
 * The two clients of the paper (trace.h): the closed loop has a number of sessions open and
 * begins another when one ends; the open loop begins them at a rate, whether or not the server
 * has answered those before. In the open loop latencies count from when a session was due.
 *
 * One thread and one epoll set. A connection is its session and some 100 bytes more beside what
 * the kernel has of it; buffers for what is sent and read are there once. All time limits are
 * of two lengths, so that those that wait stand in two queues, oldest first.
 */

#include "bench/smtp-load/figures.h"

#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

struct driver_settings {
	struct sockaddr_storage server;
	socklen_t server_size;
	struct trace_options trace;
	struct session_rules rules;

	unsigned connections; /* closed loop: at a time; 0: open loop */
	double rate;	      /* open loop: a second */
	bool is_poisson;      /* the gaps of it are not all the same */
	unsigned open_max;    /* open loop: what is due above it is skipped */
	uint64_t sessions;    /* the end after so many; 0: none */
	uint64_t warmup_ns;
	uint64_t window_ns;  /* the end of it behind the warm-up; 0: none */
	uint64_t drain_ns;   /* how long open sessions are waited for at the end */
	uint64_t timeout_ns; /* for a connection, or any progress */
	uint64_t hold_ns;    /* how long an unfinished session stays before it is left */
};

/*
 * Runs until the end, or until *stop is set by a signal. 0 with *ret_figures, to be ended with
 * figures_deinit(), or -errno. *ret_error is the last error of a connection, or 0, and
 * *ret_call the call that had it; static text.
 */
int driver_run(const struct driver_settings *settings, const volatile int *stop,
	       struct figures *ret_figures, int *ret_error, const char **ret_call);

#ifdef __cplusplus
}
#endif
