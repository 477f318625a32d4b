/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * upkeep.h - what the loop of an adapter does beside its work: its handle of libdnsblv6, signals, and
 *            a file of metrics.
 *
 * Flow: main.c of a daemon -> upkeep_open() -> upkeep_run(): uvhandle.h; SIGUSR1 and every
 *       15 seconds: measure() of the program -> report.h, for the log or for the file. SIGHUP: reload().
 *       SIGTERM and SIGINT: stop(), which has to call upkeep_close() sooner or later.
 *
 * Lies in the memory of its owner. Between upkeep_close() and its end the loop has to run once.
 */

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "integration/common/report.h"
#include "integration/common/uvhandle.h"

#ifdef __cplusplus
extern "C" {
#endif

#define UPKEEP_SIGNALS 4

/* Of a program; service is what upkeep_open() was given. */
struct upkeep_work {
	/* All of *ret_report but program and started_s; what it borrows holds until the next event.
	 */
	void (*measure)(void *service, struct report *ret_report);
	/* NULL: another process does what SIGHUP asks for. */
	void (*reload)(void *service);
	/* Once at most. */
	void (*stop)(void *service, int signal_number);
};

struct upkeep {
	const struct upkeep_work *work;
	void *service;
	const char *program;
	const char *metrics_path;
	uint64_t started_s;
	struct uvhandle uvhandle;
	uv_timer_t interval; /* of the metrics */
	uv_signal_t signals[UPKEEP_SIGNALS];
	bool has_failed; /* the file was not written, and that was said */
	bool is_stopping;
};

/*
 * client is started, or NULL: the loop has nothing to do with it. program is "dnsblv6-policy";
 * metrics_path is "" for none. All is borrowed until upkeep_close(). 0, or a status of libuv: the
 * loop is of no use then.
 */
int upkeep_open(struct upkeep *ret_upkeep, uv_loop_t *loop, struct dnsblv6 *client,
		const char *program, const char *metrics_path, const struct upkeep_work *work,
		void *service);
/* Until nothing is open, or uv_stop(). */
void upkeep_run(struct upkeep *upkeep);
/* No callback of the library comes after this. */
void upkeep_close(struct upkeep *upkeep);

/* Adds those that come here, for threads that must not have them. */
void upkeep_add_signals(sigset_t *set);

/* Now. That it fails is said once. */
void upkeep_write_metrics(struct upkeep *upkeep);

/* The exit status for a status of libuv, which is logged. */
int upkeep_refuse_loop(const char *program, int ret);

#ifdef __cplusplus
}
#endif
