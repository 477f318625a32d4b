/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * popedge.h - the process that has all POP3 sessions that have not logged in.
 *
 * Flow: nanny.c forks -> popedge_run(): base/edge/edge.h with the protocol of here -> poptalk.c,
 *       poplogin.c -> a capsule into the workers' queue.
 */

#include "integration/mail/base/nanny/nanny_program.h"
#include "integration/mail/pop-front/setup/popsetup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In a process of its own, with the edge's own block of counters. Returns an exit status. */
int popedge_run(const struct nanny_child *child, uint64_t *counters);

#ifdef __cplusplus
}
#endif
