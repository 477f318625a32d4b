/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * policy_service.h - the loop of dnsblv6-policy: connections, the library's descriptor, signals.
 *
 * Flow: main.c, with everything that root is for behind it -> policy_service_run().
 *
 * The order of a round: what mail servers ask is given to the library, the library processes,
 * and what it calls back is said to them. SIGTERM and SIGINT end it when all questions have
 * their replies, SIGHUP reads the allow list again, SIGUSR1 logs counters.
 */

#include "integration/adapters/postfix/policy_setup.h"
#include "integration/adapters/postfix/sockets.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Starts the handle of setup and serves until a signal. Returns an exit status. */
int policy_service_run(struct policy_setup *setup, struct sockets *sockets);

#ifdef __cplusplus
}
#endif
