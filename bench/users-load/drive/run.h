/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * run.h - a run: users' sessions and mails as they are due, a window of them counted, and what is behind it.
 *
 * Flow: main.c -> run_load() -> users.h, mails.h say what is due -> visits.h, smtprun.h do it -> drain -> sweep.h -> report.h.
 *
 *     0                 warm-up             window                drain
 *     |- begin what is due -|- and count it ----|- answers, mails, sweeps -|
 *
 * In the drain nothing begins: sessions end with their command, mails are waited for until all have been seen, at
 * most so long as it is. Then mailboxes are looked at for a last time. What is not there is lost.
 *
 * One thread, one loop. A first SIGINT or SIGTERM ends the window, a second one all.
 */

#include "bench/users-load/counts/report.h"
#include "bench/users-load/drive/setup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 0, or -errno with *ret_place: what could not be done, static text. */
int run_load(const struct setup *setup, struct report *ret_report, const char **ret_place);

#ifdef __cplusplus
}
#endif
