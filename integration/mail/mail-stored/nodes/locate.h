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
 * Second copies of a node's mailboxes (copyname.h) are on the node behind it, and what was brought into one where
 * that is.
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
/* The number of that node; 0: it is one that is known, none is named, or the database cannot be read. */
unsigned locate_find_stranger(const struct locate *locate, struct mailname mailbox);
/* The peer's place in setup->peers, of a mailbox that is known. */
unsigned locate_find(const struct locate *locate, struct mailname mailbox);
/* The one behind it in order of numbers, and behind the last the first: where second copies are. */
unsigned locate_next(const struct nodesetup *setup, unsigned peer);

/*
 * What nodes have to agree about, or mailboxes are split: numbers, the set of spread nodes, copies. In 8 bytes, which
 * nodes of other versions compare, too:
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   1: the format; a node that says nothing has 0
 *        1      1   its number
 *        2      1   "copies"
 *        3      5   20 bits of all numbers, and 20 of those with "spread: yes"
 */
uint64_t locate_sum(const struct nodesetup *setup);
#define LOCATE_WORDS_MAX 32
/*
 * What a peer that has said sum has otherwise: words as in "number,peer", in LOCATE_WORDS_MAX bytes; "":
 * nothing, as far as is known.
 */
void locate_compare(const struct nodesetup *setup, unsigned peer, uint64_t sum, char *ret_words);

/*
 * 0; -EINVAL when the store was begun with another set of nodes; or -errno. The first time the file
 * DIRECTORY/spread is made.
 */
int locate_check_spread(const struct nodesetup *setup, const char *directory);
/* Likewise of the node whose store it is, with DIRECTORY/node; DNSBLV6_ENOTFOUND: it was made now. */
int locate_check_node(const struct nodesetup *setup, const char *directory);
/*
 * Since when the store is there, Unix time: the file, its log and its index were made by then, or put into this place.
 * 0 or -errno. Of a store that is open: an index that was lost under a running daemon has been made anew by then.
 * Writes DIRECTORY/place, which knows the log's first file: a copy of a store that is put back has another one, or one
 * that was written since then.
 */
int locate_find_since(const char *directory, uint64_t *ret_since_us);

#ifdef __cplusplus
}
#endif
