/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * store_confine.h - what the processes of mail-stored give up.
 *
 * Flow: store_process.c and the process of LMTP -> here -> confine.h of integration/mail/base, Landlock.
 *
 * The parent of all: it and its children run no program, and no child makes a ring of io_uring.
 *
 * The store process of a cluster: its user, no capability, files below the directories of Ceph's
 * configuration, of the users' databases and of the metrics, threads, connections. That of lister.h: its
 * user, files below the directories of the users' databases. That of loginserver.h, which has opened its
 * database: its user, and nothing but its socket.
 *
 * The store process: its user, no capability, files below the store's directory, of the users'
 * database and of the metrics, no socket but those that are there. That of LMTP: its user, clients that
 * it accepts, UNIX sockets, since it connects to the store, memory for mails, and no file but what is
 * open.
 *
 * The module of nodes: its user, connections to other nodes and to the local store, files below the
 * directories of the users' database and of the metrics. What other nodes come to, "node": as LMTP. LMTP
 * that has links to other nodes of its own: connections to these, too.
 */

#include "integration/mail/mail-stored/stored_setup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An exit status; what is not EX_OK is logged. */
int store_confine_parent(void);
int store_confine(const struct stored_setup *setup);
int store_confine_cluster(const struct stored_setup *setup);
int store_confine_lister(const struct stored_setup *setup);
int store_confine_login(const struct stored_setup *setup);
int store_confine_lmtp(const struct stored_setup *setup);
int store_confine_linked_lmtp(const struct stored_setup *setup);
int store_confine_module(const struct stored_setup *setup);
int store_confine_node(const struct stored_setup *setup);

#ifdef __cplusplus
}
#endif
