/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * pop.h - pop-front as a whole: its table for the nanny.
 *
 * Flow: main.c -> pop_run() -> base/nanny/nanny.h -> popedge.h, checker.h, popworker.h in processes of
 *       their own.
 *
 *     PROCESS    USER         WHAT IT HAS
 *     nanny      root         listeners, and nothing of clients
 *     keyholder  key-user     private keys
 *     checker    check-user   the users database, and sockets to edges
 *     edge       user         clients that have not logged in
 *     worker     worker-user  one client that has, and mail-stored's socket
 */

#include "integration/mail/base/nanny/nanny_program.h"
#include "integration/mail/pop-front/setup/popsetup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rights of a role (enum nanny_role), all borrowed from the setup. */
struct confine_rights pop_rights(const void *setup, unsigned role);

/* Looks at what a configuration names. EX_OK, or an exit status with a line of the log. */
int pop_check(const void *setup);

/* What main() returns. */
int pop_run(const struct daemon_command *command);

#ifdef __cplusplus
}
#endif
