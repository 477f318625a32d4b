/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * filter_service.h - the loop of dnsblv6-filter: OpenSMTPD, the library's descriptor, signals.
 *
 * Flow: guard.c, in a process of its own -> filter_service_run().
 *
 * The order of a round: lines are taken and what they ask is given to the library, the library
 * processes, and its verdicts are answered. When OpenSMTPD does not read what is said to it, it is
 * not listened to. SIGHUP reads the allow list again, SIGUSR1 logs counters.
 */

#include "integration/adapters/opensmtpd/filter_setup.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Starts the handle of a struct filter_setup and serves standard input and output until the end.
 * Returns an exit status.
 */
int filter_service_run(void *filter_setup);

#ifdef __cplusplus
}
#endif
