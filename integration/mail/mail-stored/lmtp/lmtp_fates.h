/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * lmtp_fates.h - which recipients have a mail that only some of its mailboxes have got.
 *
 * Flow: lmtp_session.c has the rows of DELIVER's reply (storewire.h), where mailboxes are on several nodes ->
 *       here -> a reply for each recipient (RFC 2033, 4.2).
 *
 * A recipient that is an alias has the mail when all of its mailboxes have it: its sender tries again
 * else, and some of them get it twice. Nothing is logged.
 */

#include "integration/mail/mail-stored/lmtp/lmtp_boxes.h"

#define LMTP_FATES_ROW 4 /* a status */

/*
 * rows has count of them, in the order of lmtp_boxes_list(). *ret_fates has a byte for each recipient, in
 * their order, 1 where it has not got the mail, and is the caller's, to be freed. 0, -ENOMEM, or -EPROTO
 * of rows that are not as many as the mailboxes.
 */
int lmtp_fates_make(const struct lmtp_boxes *boxes, const uint8_t *rows, uint32_t count,
		    uint8_t **ret_fates, size_t *ret_recipients);
