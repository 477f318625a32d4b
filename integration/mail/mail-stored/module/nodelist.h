/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nodelist.h - the mails of a mailbox at all nodes, for LIST with flag 8.
 *
 * Flow: nodework.c has LIST -> nodelist_begin() -> nodeparts.h -> nodelist_end() when all have answered.
 *
 * What a node has of a mailbox stays there when the list of users names another node, or has lost the
 * mailbox. Without the node where the mailbox is now there is no list; others may be missing.
 */

#include "integration/mail/mail-stored/module/nodeparts.h"

/* 0: the parts are asked; DNSBLV6_ENOTFOUND: no node has numbers from there on; or -ENOMEM. */
int nodelist_begin(struct nodework *work);
/*
 * Rows of entries with the numbers that clients have, the caller's to be freed; nodes that these are without are
 * counted in reply->number. 0, or the status of the mailbox's own node.
 */
int nodelist_end(const struct nodework *work, struct storewire_reply *reply);
