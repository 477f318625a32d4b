/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nodeclients.h - the programs that are connected to the module of a node, as if it were the store.
 *
 * Flow: storelink.h of a client -> a packet -> nodework.h -> a reply -> packet.h.
 *
 * The store's own socket is another one, for this process alone; clients see storewire.h as before. Each
 * has a pin, which keeps its lock. One that has NODECLIENTS_OPEN_MAX requests without a reply is read no
 * further, and while its LOCK or UNLOCK is under way it has none beside it. One that does not take its
 * replies, or says what cannot be read, is cut off, and so is one whose lock has gone with its node: it
 * may not go on as if it had it. An id of another store is taken from root and the daemon's user alone.
 *
 * A handle with memory of its own. After nodeclients_close() the loop has to run until nothing is left.
 */

#include "integration/mail/mail-stored/module/nodework.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NODECLIENTS_OPEN_MAX 256

struct nodeclients;

struct nodeclients_start {
	uv_loop_t *loop;
	int listen_fd;	     /* the caller's; it listens */
	const int *login_fd; /* of logins.h, borrowed; NULL: none */
	unsigned clients_max;
	const struct nodework_parts *parts; /* borrowed */
	/* The last request has been answered behind nodeclients_drain(). */
	void (*drained)(void *owner);
	void *owner;
};

/* 0 or a negative error. */
int nodeclients_open(const struct nodeclients_start *start, struct nodeclients **ret_clients);
unsigned nodeclients_count(const struct nodeclients *clients);
/* Those that were too many, and closed. */
uint64_t nodeclients_refused(const struct nodeclients *clients);
/* No new clients, and none is read any more; those without a request under way are cut off. */
void nodeclients_drain(struct nodeclients *clients);
/* All are cut off. Takes NULL. */
void nodeclients_close(struct nodeclients *clients);
/* Takes NULL. */
void nodeclients_free(struct nodeclients *clients);

#ifdef __cplusplus
}
#endif
