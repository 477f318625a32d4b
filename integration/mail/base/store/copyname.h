/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * copyname.h - mailboxes of mail-stored's own, beside those of users: second copies, and what was brought.
 *
 * Flow: nodedeliver.c of mail-stored and mail-store gather make such names, locate.c says where they are, mail-store
 *       copies and gather compare.
 *
 *     \1 NUMBER / MAILBOX    second copies, on another node. NUMBER: of the node that has MAILBOX
 *     \1 g / MAILBOX         what a gather has brought into MAILBOX, on the same node, until it has come to its end
 *
 * Names that begin with this byte come before all others, and no address has it: the module of a node does
 * not show them to clients, unless they ask behind such a name.
 *
 * Plain values; no function here allocates or logs.
 */

#include "lib/mailstore/mailrecord.h"

#ifdef __cplusplus
extern "C" {
#endif

#define COPYNAME_MARK	    0x01
#define COPYNAME_NUMBER_MAX 255

/* ret_bytes has MAILBOX_NAME_MAX. The size, or 0: the name would be too long, and there are no copies. */
size_t copyname_make(unsigned number, struct mailname mailbox, uint8_t *ret_bytes);
/* Is it such a name? Then of which mailbox, borrowed. */
bool copyname_parse(struct mailname name, unsigned *ret_number, struct mailname *ret_mailbox);
/* The same of what was brought. */
size_t copyname_make_brought(struct mailname mailbox, uint8_t *ret_bytes);
bool copyname_parse_brought(struct mailname name, struct mailname *ret_mailbox);
/* Is it any of these? */
bool copyname_is_own(struct mailname name);

#ifdef __cplusplus
}
#endif
