/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * locate.h - the node of a mailbox.
 *
 * Flow: nodework.c, socketmap.c and the process of LMTP have a mailbox's name -> locate_find() -> a peer
 *       of nodesetup.h.
 *
 * The database of users says it (node=NUMBER), and is asked each time. A mailbox that it gives no node is
 * spread by its name over the nodes with "spread: yes": the node whose number gives the greatest hash
 * with the name, so that each has about as many, and a node that is taken out of them moves its own
 * mailboxes alone. That set must not change while mails lie where it has put them:
 * locate_check_spread() has it in a file beside the store, and compares.
 *
 * Second copies of a node's mailboxes (copyname.h) are on the node behind it.
 *
 * One thread's. Nothing here logs.
 */

#include "integration/mail/base/users/users.h"
#include "integration/mail/mail-stored/nodes/nodesetup.h"
#include "lib/mailstore/mailrecord.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locate {
	const struct nodesetup *setup; /* borrowed, as the next */
	struct users *users;	       /* NULL: none */
};

/*
 * Does the database say where the mailbox is, or that it may be spread? Not when it cannot be read, or
 * names a node that this one has not heard of: a mail that was spread then would be where its user never
 * looks.
 */
bool locate_is_known(const struct locate *locate, struct mailname mailbox);
/* The peer's place in setup->peers, of a mailbox that is known. */
unsigned locate_find(const struct locate *locate, struct mailname mailbox);
/* The one behind it in order of numbers, and behind the last the first: where second copies are. */
unsigned locate_next(const struct nodesetup *setup, unsigned peer);

/*
 * 0; -EINVAL when the store was begun with another set of nodes; or -errno. The first time the file
 * DIRECTORY/spread is made.
 */
int locate_check_spread(const struct nodesetup *setup, const char *directory);
/* Likewise of the node whose store it is, with DIRECTORY/node; DNSBLV6_ENOTFOUND: it was made now. */
int locate_check_node(const struct nodesetup *setup, const char *directory);
/*
 * Since when the store is there, Unix time: the file, its log and its index were made by then. 0 or -errno.
 * Of a store that is open: an index that was lost under a running daemon has been made anew by then.
 */
int locate_find_since(const char *directory, uint64_t *ret_since_us);

#ifdef __cplusplus
}
#endif
