/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * parent.h - the process that keeps the workers going and answers nothing.
 *
 * Flow: main.c -> parent_run() -> fork() -> worker_serve(), filler_serve().
 *
 *     SIGHUP           a new generation of workers with the configuration as it
 *                      is now; when all of it serves, the old one drains
 *     SIGTERM, SIGINT  every worker drains, then exit 0
 *     SIGUSR1          counters into the log
 *     SIGCHLD          a worker that died is replaced, later and later when it
 *                      dies at once
 *
 * The same, and questions about how all of this is, come through the control
 * socket (control.h), whose answers are made here out of shared memory.
 *
 * It holds the sockets, the counters and the tables of the network driver, and nothing else that
 * could break: no store, no event loop (a forked child would share libuv's signal pipe).
 */

#include "lib/process/callfilter.h"
#include "server/control/control.h"
#include "server/process/driver.h"
#include "server/settings/settings.h"

/*
 * settings is handed over; listener, worker_filter, which is confine.h's, driver and
 * control, which may be NULL, are borrowed. Returns the exit status.
 * configured is settings before ports were chosen.
 */
int parent_run(const char *config_path, struct settings *settings,
	       const struct settings *configured, const struct listener *listener,
	       const struct callfilter *worker_filter, struct control *control,
	       struct driver *driver);
