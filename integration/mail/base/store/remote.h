/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * remote.h - a store that mail-stored has open, as a layer.
 *
 * Flow: mail-store --store SOCKET -> here -> storelink.h -> mail-stored.
 *
 * maillayer_deliver() and maillayer_erase() wait for their commit, so that maillayer_sync() has
 * nothing left to do. A mailbox that is locked is so until it is unlocked or the layer closed, also by
 * the end of this process. Mails are read from descriptors of segments, without the daemon. A reply that
 * does not come in time is -ETIMEDOUT. Behind that, and whatever else is no word of the daemon, all is
 * -ENOTCONN: the lock has gone with the connection. Of a daemon with nodes, maillayer_describe() and
 * maillayer_collect() are of its own store alone.
 */

#include "integration/mail/base/store/storewire.h"
#include "lib/mailstore/maillayer.h"

#define REMOTE_TIMEOUT_MS 60000 /* where nothing else is said */

/* Behind the number of the node in those of mails, where there are nodes. */
#define REMOTE_NODE_BITS 56

static inline unsigned remote_node_of(uint64_t mail)
{
	return (unsigned)(mail >> REMOTE_NODE_BITS);
}

/* timeout_ms is for the connection, and for each reply. 0 or -errno. */
int remote_store_open(const char *socket_path, int timeout_ms, struct maillayer **ret_layer);

/*
 * What no other layer has: lines of text as storewire.h has them, which are the caller's, to be freed.
 * layer is one of remote_store_open(). bytes are a list of users, or NULL. A check of all mails takes
 * long: timeout_ms has to be so.
 */
int remote_cluster(struct maillayer *layer, enum storewire_question question, const void *bytes,
		   size_t size, char **ret_text);
/* Of the node of that number, or with 0 of the one that has the mailbox. */
int remote_locate(struct maillayer *layer, struct mailname mailbox, unsigned number,
		  uint64_t *ret_node, char **ret_text);
/* maillayer_lock() at the node of that number, wherever the mailbox is by now. */
int remote_lock_at(struct maillayer *layer, struct mailname mailbox, unsigned number);
/*
 * From now on maillayer_list() is of all nodes, and not of the one where the mailbox is by now. That one has to answer
 * in any case.
 */
void remote_list_all(struct maillayer *layer);
/* Was a list without the mails of some node, which does not answer, since it was asked last? */
bool remote_lacked_mails(struct maillayer *layer);
/* Of all nodes that answer; *ret_away has the names of the others, with "," between, and is to be freed. */
int remote_describe_all(struct maillayer *layer, struct mailstore_info *ret_info, char **ret_away);
