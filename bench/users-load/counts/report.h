/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * report.h - the result of a run, as JSON.
 *
 * Flow: run.c fills a struct report -> report_print() -> bench/mail-users reads it.
 *
 * One object. "transactions" has a member for each type, "deliveries" one for "local" and "remote", "errors" one for each kind.
 * "within" is how many took no longer than the workload's limit. Times are of those that were answered, and at the end of the
 * run had none; 0 where there are none. "faults" has what IMAP servers said that they may not, by its text.
 */

#include "bench/users-load/counts/tally.h"
#include "bench/users-load/counts/tracking.h"

#ifdef __cplusplus
extern "C" {
#endif

#define REPORT_FAULTS_MAX 32

struct report {
	uint64_t users;
	double rate;
	uint64_t seed;
	double scale;
	double window_s;
	struct tally tally;
	struct tracking_deliveries local;
	struct tracking_deliveries remote;
	struct {
		const char *text; /* static; NULL: the list has ended */
		uint64_t count;
	} faults[REPORT_FAULTS_MAX + 1];
	double cpu_user_s;
	double cpu_system_s;
	uint64_t rss_kib; /* the most */
};

/* Negative when it cannot be written. */
int report_print(const struct report *report, FILE *file);

#ifdef __cplusplus
}
#endif
