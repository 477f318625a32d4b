/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * lmtp_boxes.h - the mailboxes of a mail while its recipients come.
 *
 * Flow: lmtp_session.c at RCPT -> lmtp_boxes_add() -> at DATA lmtp_boxes_list() -> storemail.h.
 *
 * Two recipients may have one mailbox: each has a reply of its own, and the mailbox has the mail
 * once. So all are kept as they come, and told apart when there are no more.
 *
 * Nothing is logged. Zero is none.
 */

#include "lib/mailstore/mailrecord.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lmtp_boxes {
	uint8_t *bytes; /* two before each name: is it the first of its recipient, its size */
	size_t size;
	size_t room;
	size_t count;
};

/* Bytes by which the memory of boxes would grow for another name. */
size_t lmtp_boxes_growth(const struct lmtp_boxes *boxes, size_t name_size);
/* Copied; is_first: another recipient begins. name_size is 1 to MAILBOX_NAME_MAX. 0 or -ENOMEM. */
int lmtp_boxes_add(struct lmtp_boxes *boxes, const char *name, size_t name_size, bool is_first);
/*
 * Each once, in ascending order, borrowed from boxes; the array is the caller's, to be freed.
 * 0 or -ENOMEM.
 */
int lmtp_boxes_list(const struct lmtp_boxes *boxes, struct mailname **ret_names, size_t *ret_count);
/* Those from the count-th on are dropped, of which the bytes begin at size: as it was before. */
void lmtp_boxes_cut(struct lmtp_boxes *boxes, size_t count, size_t size);
/* The one whose bytes begin at *at, which moves to the next; borrowed. false behind the last. */
bool lmtp_boxes_next(const struct lmtp_boxes *boxes, size_t *at, struct mailname *ret_name,
		     bool *ret_is_first);
/* With its memory; it is zero again. */
void lmtp_boxes_clear(struct lmtp_boxes *boxes);

#ifdef __cplusplus
}
#endif
