/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nodeerase.h - a deletion at the node of its mailbox, and of the copies behind it.
 *
 * Flow: nodework.c has ERASE -> nodeerase_begin() -> nodeparts.h -> nodeerase_next() for each step.
 *
 * Its node is the one that the mails' numbers have, and stays so through all steps. With one copy of each mail there is
 * one step. With two, numbers say nothing to the other node, ids do:
 * the mailbox is listed, its mails are deleted, and the client is answered; then the mailbox of the copies
 * is listed, a piece at a time, and what has these ids is deleted there. Where that fails, "mail-store
 * copies forget" does it.
 */

#include "integration/mail/mail-stored/module/nodeparts.h"

enum nodeerase_step {
	NODEERASE_MORE,	    /* ask the parts that were made */
	NODEERASE_ANSWERED, /* answer the client, then the same */
	NODEERASE_LAST,	    /* answer the client: that was all */
	NODEERASE_OVER,	    /* that was all behind the answer */
};

/* 0: the first parts are asked; or a status of the store. */
int nodeerase_begin(struct nodework *work);
/* All parts of a step were answered. *ret_status is written where the client is answered. */
enum nodeerase_step nodeerase_next(struct nodework *work, int *ret_status);

/* Has a part ask for it: mailbox and numbers as they are at its node. 0 or -ENOMEM. */
int nodeerase_fill(struct nodepart *part, struct mailname mailbox, const uint64_t *mails,
		   size_t count);
