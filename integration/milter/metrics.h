/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * metrics.h - what dnsblv6-milter has counted, for Prometheus and for the log.
 *
 * Flow: service.c -> metrics_write() -> integration/report.h -> a file. SIGUSR1 -> metrics_log().
 */

#include "integration/milter/session.h"
#include "integration/milter/setup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The file of the configuration. 0 or -errno. */
int metrics_write(const struct setup *setup, const struct sessions *sessions, uint64_t started_s);
/* A line for the daemon, one for the library, and one for each zone. */
void metrics_log(const struct setup *setup, const struct sessions *sessions);

#ifdef __cplusplus
}
#endif
