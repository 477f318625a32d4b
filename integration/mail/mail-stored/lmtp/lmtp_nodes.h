/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * lmtp_nodes.h - requests of LMTP straight to the nodes of their mailboxes: version 2 of nodesetup.h.
 *
 * Flow: lmtp_store.c has a request -> lmtp_nodes_ask() -> nodework.h -> the local store, other nodes ->
 *       answer() of the request.
 *
 * Without it a mail for another node goes to the module of this one, which reads all of it and sends it on.
 * Here this process has the links to other nodes by itself, and the node's key.
 *
 * One thread's. After lmtp_nodes_close() the loop has to run until nothing is left.
 */

#include "integration/mail/base/users/users.h"
#include "integration/mail/mail-stored/lmtp/lmtp_store.h"
#include "integration/mail/mail-stored/stored_setup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads certificate and key. users may be NULL; all is borrowed. An exit status, what is not EX_OK logged. */
int lmtp_nodes_open(const struct stored_setup *setup, const char *store_path, struct users *users,
		    struct lmtp_nodes **ret_nodes);
/* 0 or a negative error. */
int lmtp_nodes_start(struct lmtp_nodes *nodes, uv_loop_t *loop);
/* answer() comes from the loop. */
void lmtp_nodes_ask(struct lmtp_nodes *nodes, struct lmtp_ask *ask);
/* Requests under way are forgotten. Takes NULL, as the next. */
void lmtp_nodes_close(struct lmtp_nodes *nodes);
void lmtp_nodes_free(struct lmtp_nodes *nodes);

#ifdef __cplusplus
}
#endif
