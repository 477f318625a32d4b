/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mailproxy.h - mail-proxy as nanny.h runs it.
 *
 * Flow: main.c -> mailproxy_run() -> nanny_run(), which makes a process for each
 *       core (proxyworker.h), a template of decoder processes (template.h) for each where mails are
 *       scanned, and a keyholder where there are certificates.
 */

#include "lib/process/daemon.h"

/* What main() returns. */
int mailproxy_run(const struct daemon_command *command);
