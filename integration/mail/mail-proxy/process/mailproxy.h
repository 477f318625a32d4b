/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mailproxy.h - mail-proxy as nanny.h runs it.
 *
 * Flow: main.c -> mailproxy_run() -> nanny_run(), which makes a process for each
 *       core (proxyworker.h), a template of decoder processes (template.h) for each where mails are
 *       scanned, and a keyholder where there are certificates.
 */

#include "integration/mail/mail-proxy/setup/proxysetup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* setup was read from config_path and is taken over. Returns an exit status. */
int mailproxy_run(struct proxysetup *setup, const char *config_path);

/* What the configuration names outside of itself. EX_OK, or EX_CONFIG; logged. */
int mailproxy_check(const struct proxysetup *setup);

#ifdef __cplusplus
}
#endif
