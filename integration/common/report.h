/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * report.h - what an adapter has counted, for Prometheus and for the log.
 *
 * Flow: upkeep.h with a program's own counters and its handle of libdnsblv6 -> report_write() ->
 *       a file -> the textfile collector of the node exporter. SIGUSR1 -> report_log().
 *
 * There is no listener: see dnsblv6ctl(8), whose metrics are a file for the same reasons.
 * Names are those of the program, "dnsblv6_policy" with '_' and the name of the counter,
 * whose hyphens become underscores.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "client-lib/dnsblv6.h"
#include "lib/common/counts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All that a program with one handle has to say. It borrows whatever it points to. */
struct report {
	const char *program; /* "dnsblv6-policy" */
	uint64_t started_s;
	struct counts_label gauge; /* without help it is for the log alone */
	uint64_t gauge_value;
	const struct counts_label *gauges; /* more of these, or NULL */
	const uint64_t *gauge_values;
	size_t gauge_count;
	const struct counts_label *labels; /* of values, which are counters */
	const uint64_t *values;
	size_t count;
	struct dnsblv6 *client; /* NULL: nothing about the library */
};

/* Into a file, as report_write_file(). */
int report_write(const struct report *report, const char *path);
/* A line for the program, one for the library, and one for each zone. */
void report_log(const struct report *report);

/* ---- Prometheus ---- */

typedef void (*report_fn)(const void *context, FILE *out);
/* The file is replaced when it is complete, and left as it is otherwise. 0 or -errno. */
int report_write_file(const char *path, report_fn fn, const void *context);

#ifdef __cplusplus
}
#endif
