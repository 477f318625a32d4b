/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * popedge.h - the process that has all POP3 sessions that have not logged in.
 *
 * Flow: nanny.c forks -> popedge_run(): base/edge/edge.h with the protocol of here -> poptalk.c,
 *       poplogin.c -> a capsule into the workers' queue.
 */

#include "integration/mail/base/handover/nanny_child.h"

/* In a process of its own. Returns an exit status. */
int popedge_run(const struct nanny_child *child);
