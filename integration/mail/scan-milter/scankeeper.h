/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * scankeeper.h - a process that has the template of decoder processes, and makes it again when it
 *                has ended.
 *
 * Flow: main.c, before the socket and before any thread -> scankeeper_begin() -> a process that
 *       forks another, scanner_run_template() -> scanner_open() with the descriptor that asks it.
 *
 * A process with threads cannot fork the template safely, and one that has accepted connections would
 * hand them down. The socket that mails ask by stays open in the keeper, so that what was asked
 * while there is no template is answered by the next one. Both end when the milter does.
 */

#include "integration/common/owner.h"
#include "integration/mail/base/scan/scan_settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * owner is whose process it becomes. All is borrowed until the process ends. An exit status; what is
 * not EX_OK is logged under context.
 */
int scankeeper_begin(const struct scan_settings *settings, const struct owner *owner,
		     const char *context, int *ret_ask_fd);

#ifdef __cplusplus
}
#endif
