/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * cached_service.h - the loop of dnsblv6-cached: clients, the library's descriptor, signals.
 *
 * Flow: main.c, with everything that root is for behind it -> cached_service_run().
 *
 * The order of a round: what clients ask is given to the library, the library processes,
 * and what it calls back is said to clients. SIGTERM and SIGINT end it, SIGUSR1 logs counters.
 */

#include "integration/adapters/cached/cached_setup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Starts the handle of setup and serves until a signal. Returns an exit status. */
int cached_service_run(const struct cached_setup *setup);

#ifdef __cplusplus
}
#endif
