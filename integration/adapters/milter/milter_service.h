/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * milter_service.h - the loop of dnsblv6-milter: signals, metrics, and libmilter's thread.
 *
 * Flow: main.c, with everything that root is for behind it -> milter_service_run().
 *
 * libmilter keeps the thread that calls it until the end, and would take SIGHUP for the end, so
 * it has a thread, and signals are this loop's. SIGTERM and SIGINT end it: the socket is taken
 * away at once, and sessions that are open have some seconds. SIGHUP reads the allow list
 * again, SIGUSR1 logs counters.
 */

#include "integration/adapters/milter/session.h"
#include "integration/adapters/milter/milter_setup.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Starts the handle of setup and serves until a signal. Returns an exit status. Threads of
 * libmilter may be left, so that setup and sessions have to stay until the process ends.
 */
int milter_service_run(const struct milter_setup *setup, struct session_shared *sessions);

#ifdef __cplusplus
}
#endif
