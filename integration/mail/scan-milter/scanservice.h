/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * scanservice.h - the loop of mail-scan-milter: signals, metrics, and libmilter's thread.
 *
 * Flow: main.c, with everything that root is for behind it -> scanservice_run().
 *
 * libmilter keeps the thread that calls it until the end, and would take SIGHUP for the end, so
 * it has a thread, and signals are this loop's. SIGTERM and SIGINT end it: the socket is taken
 * away at once, and sessions that are open have some seconds. SIGHUP looks whether there are other
 * signatures, as the loop does every minute by itself; SIGUSR1 logs counters.
 */

#include "integration/mail/scan-milter/scansession.h"
#include "integration/mail/scan-milter/scansetup.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Serves until a signal. Returns an exit status. Threads of libmilter may be left, so that setup and
 * sessions have to stay until the process ends.
 */
int scanservice_run(const struct scansetup *setup, struct scansession_shared *sessions);

#ifdef __cplusplus
}
#endif
