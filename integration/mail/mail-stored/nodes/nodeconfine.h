/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nodeconfine.h - what the processes of nodes give up.
 *
 * Flow: nodemodule.c, nodeserver.c, when all that is outside is open -> here -> confine.h of
 *       integration/mail/base, Landlock.
 *
 * The module: its user, connections to other nodes and to the local store, the directories of the users'
 * database and of the metrics. What other nodes come to: its user, clients that it accepts, the socket
 * of the local store, and no file but what is open. Both have read the node's key before.
 */

#include "integration/mail/mail-stored/stored_setup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An exit status; what is not EX_OK is logged. */
int nodeconfine_module(const struct stored_setup *setup);
/* The process of LMTP in version 2, which connects to other nodes by itself. */
int nodeconfine_lmtp(const struct stored_setup *setup);
int nodeconfine_server(const struct stored_setup *setup);

#ifdef __cplusplus
}
#endif
