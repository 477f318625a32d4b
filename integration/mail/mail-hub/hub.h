/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * hub.h - the process that has begun all others of a mail server, and looks after them.
 *
 * Flow: main.c -> hub_run(): hub_files.c writes a configuration for each program; the store begins,
 *       and when it says that it is ready (hub_ready.c) those that put mails into it, or fetch them.
 *
 * It stays the user that it was started as, and reads not a byte of a client. Each program looks after
 * processes of its own, and does not know of the hub.
 *
 *     SIGHUP           reads hub.conf; when it is good, and each program finds its own good, these
 *                      are written and the programs told to read them; else all stays as it was
 *     SIGTERM, SIGINT  all but the store are told to end, and then the store
 *     SIGUSR1          is passed on: programs log their counters
 *     SIGCHLD          begins a program again that has ended, see crew.h; what it has left is killed
 *
 * A program that ends before all have been ready ends the hub, with its status: something is wrong
 * with the configuration, or a port is taken. Later it is begun again, but for a store whose disk has
 * failed or whose log is damaged: that ends the hub, so that a person looks.
 */

#include "integration/mail/mail-hub/hub_setup.h"

/* In the log, when that is so. */
void hub_warn_of_root(const struct hub_setup *setup);
/* setup has been read from config_path. Returns an exit status. */
int hub_run(const struct hub_setup *setup, const char *config_path);
