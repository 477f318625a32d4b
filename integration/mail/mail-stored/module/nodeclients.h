/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nodeclients.h - the programs that are connected to the module of a node, as if it were the store.
 *
 * Flow: clients.h -> take() of this way -> nodework.h -> a reply -> client_say() of clients.c.
 *
 * The store's own socket is another one, for this process alone; clients see storewire.h as before. Each
 * has a pin, which keeps its lock. While its LOCK or UNLOCK is under way it has no request beside it. A client
 * whose lock has gone with its node is cut off: it may not go on as if it had it. An id of another store is
 * taken from root and the daemon's user alone.
 */

#include "integration/mail/mail-stored/store/clients_start.h"

extern const struct clients_way clients_nodes;
