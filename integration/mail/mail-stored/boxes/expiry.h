/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * expiry.h - a walk over all mailboxes that deletes what is too old, some mails at a time.
 *
 * Flow: keeper.c in turns of its loop, the thread of a cluster -> expiry_step() -> maillayer_list(),
 *       maillayer_erase().
 *
 * Lies in the memory of its owner, and is one thread's. Nothing is logged.
 */

#include "integration/mail/mail-stored/boxes/quota.h"

#ifdef __cplusplus
extern "C" {
#endif

struct expiry {
	struct maillayer *layer; /* borrowed, as the next two */
	const struct quota *quota;
	uint64_t *expired; /* counts mails; others may add to it */
	/* The mailbox that was looked at last. */
	uint8_t box[MAILBOX_NAME_MAX];
	size_t box_size;
	uint64_t mail; /* of that one, where the look goes on; 0: at the next mailbox */
	int skipped; /* why some mailbox was, as its entry of the users could not be read; 0: none */
};

/* 0; behind the last mailbox DNSBLV6_ENOTFOUND, or why some were skipped; or a failure. */
int expiry_step(struct expiry *expiry);
/* From the first mailbox again. */
void expiry_rewind(struct expiry *expiry);

#ifdef __cplusplus
}
#endif
