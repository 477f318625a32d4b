/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * verify.h - whether mailboxes have what fill.h has put there.
 *
 * Flow: main.c -> verify_mailboxes() -> sessions of imaprun.h: LIST, STATUS of each folder, and of a sample of mailboxes
 *       the headers and sizes of all mails -> held against boxplan.h.
 *
 * Prints a line of key=value: users, folders and mails that are there; missing_folders, more_mails, fewer_mails,
 * wrong_mails: of those sampled, with another Message-ID or size than planned; errors, of sessions. After a load numbers of
 * mails, and their order, may be others: then mails of the sample are wrong alone that the plan has not in that folder, and
 * neither a load.
 */

#include "bench/users-load/drive/setup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The exit status: EX_OK, 1 when something differs, EX_UNAVAILABLE after errors. */
int verify_mailboxes(const struct setup *setup);

#ifdef __cplusplus
}
#endif
