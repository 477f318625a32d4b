/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * proxyworker.h - one of the processes of mail-proxy that have sessions.
 *
 * Flow: nanny.h forks -> proxy.c -> proxyworker_run(): the scanner and certificates are opened, the
 *       process is confined, then one loop accepts clients, and pair.h has their sessions.
 *
 * SIGTERM drains: no client is accepted any more, and a mail that is on its way may come to its end
 * within "drain".
 */

#include "integration/mail/base/nanny/nanny_program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In a process of its own, after fork(); counters is its block. Returns an exit status. */
int proxyworker_run(const struct nanny_child *child, uint64_t *counters);

#ifdef __cplusplus
}
#endif
