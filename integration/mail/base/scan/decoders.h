/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * decoders.h - the template with what every decoder process begins with: signatures, a pool, its
 *              filter, and no rights.
 *
 * Flow: scanner_open(): decoders_fork() -> the template process -> template.h -> decoder.h.
 *       scanner_run_template(), in a process that a nanny has made: decoders_run().
 *
 *     decoders_fork(&settings, "mail-scan", &template_pid, &ask_fd);
 *     ...
 *     close(ask_fd);                  // the template ends
 */

#include <sys/types.h>

#include "integration/mail/base/scan/scan_settings.h"

/* In a process of its own. confine: see scanner_run_template(). An exit status; logged. */
int decoders_run(const struct scan_settings *settings, const char *context, int ask_fd,
		 int (*confine)(void *context), void *confine_context);

/*
 * Makes that process, which keeps of this one's descriptors only standard error, and becomes the
 * user "nobody" when it is root's. 0 or -errno.
 */
int decoders_fork(const struct scan_settings *settings, const char *context, pid_t *ret_pid,
		  int *ret_ask_fd);
