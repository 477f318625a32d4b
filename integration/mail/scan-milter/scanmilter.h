/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * scanmilter.h - libmilter, and what it calls to have mails scanned.
 *
 * Flow: main.c -> scanmilter_open() while it may be root -> scanservice.c, in a thread of its own ->
 *       scanmilter_run() -> libmilter, in threads of its own -> scansession.c for each event.
 *
 * This file alone knows libmilter. That has one filter in a process and hands nothing to the first
 * callback of a connection, so what sessions share is kept here, in a variable. It writes to
 * syslog what it has to say.
 *
 * The mail server need not wait for replies to a mail's fields and body, where it can do without: so
 * it hands over the next piece while this one is scanned. The reply is that to the end.
 */

#include "integration/mail/scan-milter/scansession.h"
#include "integration/mail/scan-milter/scansetup.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Binds the socket and gives it to its owner. sessions is borrowed until the process ends, and used
 * from scanmilter_run() on. 0 or -errno; -EADDRINUSE also when another daemon answers at its path.
 */
int scanmilter_open(const struct scansetup *setup, struct scansession_shared *sessions);
/* Serves until libmilter gives up. For a thread in which the loop's signals are blocked. */
void scanmilter_run(void);
/* Removes a socket that has a path; connections that are open go on. For any thread. */
void scanmilter_hide(const struct scansetup *setup);

#ifdef __cplusplus
}
#endif
