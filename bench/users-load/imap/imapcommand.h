/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * imapcommand.h - the bytes of a command of IMAP, any part of them.
 *
 * Flow: imaptalk_start() has put the command into a struct imaptalk -> imapcommand_copy() as often as the
 *       socket takes some.
 *
 * A command is one part, or several when the server's "+" is waited for between them: behind the size of a
 * literal (not with LITERAL+), and before DONE.
 *
 *     A7 APPEND "Sent" (\Seen) {4711}CRLF        part 0
 *     the bytes of the mail, CRLF                part 1
 *
 * Header fields are those that two clients ask for, as imaptest's profiles have them.
 * Nothing here allocates or keeps a pointer.
 */

#include "bench/users-load/imap/imaptalk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many parts it has; 0: a name is too long, or has a control character. */
unsigned imapcommand_parts(const struct imaptalk *talk);
/* Bytes of talk->part. */
size_t imapcommand_size(const struct imaptalk *talk);
/* room bytes of talk->part, or less, from offset on. */
size_t imapcommand_copy(const struct imaptalk *talk, size_t offset, char *ret_bytes, size_t room);

#ifdef __cplusplus
}
#endif
