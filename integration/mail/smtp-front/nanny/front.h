/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * front.h - smtp-front as the nanny has it: its configuration, its processes and its counters.
 *
 * Flow: main.c -> front_run() -> nanny.h, whose table is here -> smtp_edge_run(), worker_run() in the
 *       processes that it makes.
 */

#include "integration/mail/base/nanny/nanny_program.h"
#include "integration/mail/smtp-front/setup/setup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What main() returns. */
int front_run(const struct daemon_command *command);

/*
 * What a process of that role keeps; borrowed from setup.
 *
 *     edge       user         chroot, unless "forward" is a path or the sink is postfix
 *     worker     worker-user  chroot, unless the sink or "forward" is a path; writes files with the
 *                             sink "maildir"
 *     keyholder  key-user     chroot; no network
 *     decoders   worker-user  opens files to read, makes processes; no network
 */
struct confine_rights front_rights(const void *setup, unsigned role);

#ifdef __cplusplus
}
#endif
