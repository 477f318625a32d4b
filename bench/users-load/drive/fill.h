/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * fill.h - mailboxes as they are before a load: folders, and mails of any age in them.
 *
 * Flow: main.c -> fill_mailboxes() -> boxplan.h says what there is -> LMTP for what is in INBOX, and IMAP for all other
 *       folders: CREATE, APPEND.
 *
 * Some connections at a time, each with a user after the other; what a mailbox gets comes in its order. A mailbox that
 * has something already gets it once more. Prints a line of key=value: users, folders, mails, bytes, errors, seconds.
 */

#include "bench/users-load/drive/setup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The newest mail that is put there is as old as that: 2026-01-01. */
#define FILL_NOW_S 1767225600

/* The exit status; errors are told on standard error, the first few. */
int fill_mailboxes(const struct setup *setup);

#ifdef __cplusplus
}
#endif
