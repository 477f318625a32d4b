/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * scanmilter.h - libmilter, and what it calls to have mails scanned.
 *
 * Flow: main.c -> scanmilter_open() while it may be root -> milterloop.h -> libmilter, in
 *       threads of its own -> scansession.c for each event.
 *
 * Beside milterloop.h this file alone knows libmilter. That has one filter in a process and hands nothing to the first
 * callback of a connection, so what sessions share is kept here, in a variable. It writes to
 * syslog what it has to say.
 *
 * The mail server need not wait for replies to a mail's fields and body, where it can do without: so
 * it hands over the next piece while this one is scanned. The reply is that to the end.
 */

#include "integration/mail/scan-milter/scansession.h"
#include "integration/mail/scan-milter/scansetup.h"

/*
 * Binds the socket and gives it to its owner. sessions is borrowed until the process ends, and used
 * from milterloop_run() on. An exit status, as milterloop_open() has it.
 */
int scanmilter_open(const struct scansetup *setup, struct scansession_shared *sessions);
