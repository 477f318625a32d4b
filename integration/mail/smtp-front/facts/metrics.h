/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * metrics.h - what all processes of smtp-front have counted, for Prometheus and for the log.
 *
 * Flow: nanny.c, every 15 seconds -> metrics_write() -> integration/common/report.h -> a file.
 *       SIGUSR1 -> metrics_log().
 */

#include "integration/mail/smtp-front/facts/tally.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 0 or -errno; then what was there stays. */
int metrics_write(const char *path, const struct tally_bank *bank, uint64_t started_s);
/* One line. */
void metrics_log(const struct tally_bank *bank);

#ifdef __cplusplus
}
#endif
