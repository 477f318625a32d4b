/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * boxlocks.h - which connection has the exclusive lock of which mailbox.
 *
 * Flow: clients.c has LOCK or UNLOCK of a client -> here.
 *
 * A lock is among those that ask for one (a POP3 session does: RFC 1939, part 4). It keeps nothing
 * from being delivered, and nothing that has no lock from erasing. A mailbox needs no mail to be
 * locked. Nothing waits here, nothing is on disk: the locks end with the process.
 *
 * A lock is a member of its owner, which stays where it is while it has one; the tree has a node of
 * memory for each, so that there are as many as connections at most.
 */

#include "lib/mailstore/mailstore.h"

#ifdef __cplusplus
extern "C" {
#endif

struct boxlock {
	uint8_t name[MAILBOX_NAME_MAX];
	size_t size; /* of the name; 0: no lock */
};

/* All zero is empty. */
struct boxlocks {
	void *tree; /* of struct boxlock, which are borrowed */
};

/*
 * 0, also for the mailbox that this lock has already; -EBUSY: another lock has it; MAILSTORE_ELOCK:
 * this one has another mailbox; MAILSTORE_EBOX or -ENOMEM.
 */
int boxlocks_take(struct boxlocks *locks, struct boxlock *lock, struct mailname mailbox);
/* Takes one that has no mailbox. */
void boxlocks_free(struct boxlocks *locks, struct boxlock *lock);

#ifdef __cplusplus
}
#endif
