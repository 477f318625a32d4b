/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * check.h - whether a server does what clients of the load want of it, a line for each command.
 *
 * Flow: main.c -> check_server() -> a session of imaprun.h that does what imapcheck.h says.
 *
 *     ok      SELECT
 *     WRONG   FETCH_HEADERS as Thunderbird does: not each mail has its Message-ID
 *     34 commands, 1 wrong
 *
 * Nothing is left in the mailbox, unless the server ends the session.
 */

#include "bench/users-load/drive/setup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The exit status: EX_OK, 1 when a command was wrong, EX_UNAVAILABLE when the session ended before its last one. */
int check_server(const struct setup *setup);

#ifdef __cplusplus
}
#endif
