/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * stored.h - the process of mail-stored that binds its sockets and looks after the others.
 *
 * Flow: main.c -> stored_run(): sockets, shared counters, fork() -> store_process_run(), lmtp_run();
 *       then it waits for signals.
 *
 * The sockets are the parent's: while the store process is replaced, clients wait in them.
 *
 *     SIGTERM, SIGINT  the process of LMTP ends its mails, then the store ends
 *     SIGHUP           says that a restart is needed
 *     SIGUSR1          the store logs its counters
 *     SIGCHLD          makes another process, see crew.h; behind a disk that has failed it ends itself
 */

#include "integration/mail/mail-stored/stored_setup.h"

/* An exit status. */
int stored_run(const struct stored_setup *setup);
