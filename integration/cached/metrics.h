/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * metrics.h - what dnsblv6-cached has counted, for Prometheus and for the log.
 *
 * Flow: service.c -> metrics_write() -> a file -> the textfile collector of the node
 *       exporter. SIGUSR1 -> metrics_log().
 *
 * There is no listener: see dnsblv6ctl(8), whose metrics are a file for the same reasons.
 */

#include <stdio.h>

#include "integration/cached/callers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The file is replaced when it is complete, and left as it is otherwise. 0 or -errno. */
int metrics_write(const struct setup *setup, const struct callers *callers, uint64_t started_s);
/* The text alone; 0 or -errno. */
int metrics_format(const struct setup *setup, const struct callers *callers, uint64_t started_s,
		   FILE *out);

/* A line for the daemon, one for the library, and one for each zone. */
void metrics_log(const struct setup *setup, const struct callers *callers);

#ifdef __cplusplus
}
#endif
