/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * metrics.h - what dnsblv6-policy has counted, for Prometheus and for the log.
 *
 * Flow: service.c -> metrics_write() -> report.h -> a file. SIGUSR1 -> metrics_log().
 */

#include "integration/postfix/peers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The file is replaced when it is complete, and left as it is otherwise. 0 or -errno. */
int metrics_write(const struct setup *setup, const struct peers *peers, uint64_t started_s);

/* A line for the daemon, one for the library, and one for each zone. */
void metrics_log(const struct setup *setup, const struct peers *peers);

#ifdef __cplusplus
}
#endif
