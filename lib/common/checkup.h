/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * checkup.h - a look at what a configuration names, before a daemon begins with it.
 *
 * Flow: main() of a daemon, for --check or before it starts -> here.
 */

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Is path, of the configuration's item, a directory? One that is not there is refused at the start alone: systemd
 * makes what is below /run for a service that starts, and takes it away when that stops. Before, it is a warning, as is
 * one that this user does not come to: a start may be of root.
 * EX_OK, also of "", or EX_CONFIG; a line of the log, under context, says why.
 */
int checkup_directory(const char *context, const char *item, const char *path, bool is_start);

#ifdef __cplusplus
}
#endif
