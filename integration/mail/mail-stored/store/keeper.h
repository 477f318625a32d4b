/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * keeper.h - what a store does by itself, in time: its index, its space, what is too old.
 *
 * Flow: timers of the loop -> maillayer_flush(), maillayer_collect(), maillayer_erase().
 *
 *     every "index-delay"       the index is made that of the log
 *     every "collect-interval"  when nothing was delivered since the last look, or the log is more than
 *                               twice what lives, or the disk is nearly full: one segment is emptied;
 *                               and a look at whether there is room for mails
 *     every "keep-interval"     mails that are older than their mailbox keeps them are deleted, some
 *                               mails in each turn of the loop
 *
 * One thread's. After keeper_close() the loop has to run once more.
 */

#include "integration/mail/mail-stored/boxes/clockdoubt.h"
#include "integration/mail/mail-stored/boxes/expiry.h"

#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

struct keeper {
	struct maillayer *layer; /* all borrowed */
	const struct stored_setup *setup;
	const struct quota *quota;
	uint64_t *counters;
	void (*fail)(void *owner, int status); /* the store has stopped */
	void *owner;
	uv_timer_t index;
	uv_timer_t collect;
	uv_timer_t expire;
	unsigned open_handles;
	bool is_closed;
	bool is_behind;	    /* the index could not be written, and that was said */
	bool is_full;	    /* there is less room than mails leave free, and that was said */
	bool is_short;	    /* no segment could be emptied for want of space, and that was said */
	uint64_t delivered; /* at the last look */
	struct expiry expiry;
	struct clockdoubt doubt; /* while there is one no mail is too old */
};

/* Memory is the caller's; layer to owner have been set. 0 or a status of libuv. */
int keeper_open(struct keeper *keeper, uv_loop_t *loop);
void keeper_close(struct keeper *keeper);

#ifdef __cplusplus
}
#endif
