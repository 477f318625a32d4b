/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * milter.h - libmilter, and what it calls.
 *
 * Flow: main.c -> milter_open() while it may be root -> milter_service.c, in a thread of its own ->
 *       milter_run() -> libmilter, in threads of its own -> session.c for each event.
 *
 * This file alone knows libmilter. That has one filter in a process and hands nothing to the first
 * callback of a connection, so what sessions share is kept here, in a variable. It writes to
 * syslog what it has to say.
 */

#include "integration/adapters/milter/session.h"
#include "integration/adapters/milter/milter_setup.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Binds the socket and gives it to its owner. sessions is borrowed until the process ends,
 * and finished. 0 or -errno; -EADDRINUSE also when another daemon answers at its path.
 */
int milter_open(const struct milter_setup *setup, struct session_shared *sessions);

/* Serves until libmilter gives up. For a thread in which the loop's signals are blocked. */
void milter_run(void);

/*
 * Removes the socket from the file system, where it has a path; connections that are open go
 * on. For any thread.
 */
void milter_hide(const struct milter_setup *setup);

#ifdef __cplusplus
}
#endif
