/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * proxyworker.h - one of the processes of mail-proxy that have sessions.
 *
 * Flow: nanny.h forks -> mailproxy.c -> proxyworker_run(): the scanner and certificates are opened, the
 *       process is confined, then one loop accepts clients, and pair.h has their sessions.
 *
 * Processes that decode archives are forked by templates, which are the nanny's: an edge has given up
 * what it would take to make one again that has died. All edges ask the same templates.
 *
 * SIGTERM drains: no client is accepted any more, and a mail that is on its way may come to its end
 * within "drain".
 */

#include "integration/mail/base/nanny/nanny_program.h"
#include "integration/mail/base/scan/template.h"
#include "integration/mail/mail-proxy/pop3/popfound.h"

/* Of the processes of a generation: nanny_child.shared. */
struct proxyworker_shared {
	struct popfound *found;
	int template_ends[TEMPLATE_ENDS]; /* -1: nothing is scanned */
};

/* In a process of its own, after fork(). Returns an exit status. */
int proxyworker_run(const struct nanny_child *child);
