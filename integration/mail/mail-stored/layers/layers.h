/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * layers.h - the other layers of mail-stored: what takes mail in place of the log.
 *
 * Flow: the process of mail-stored that has the store -> maillayer.h -> layer_sort.c or layer_null.c.
 *
 * Both only take mail: what maillayer.h lets be missing is -EOPNOTSUPP. So there are no ids to be
 * made, and one that is given is MAILSTORE_EFOREIGN; the id of a mail is one that no other has had since
 * the layer was opened. What is delivered is the mail as it came, for both as for the log: a Return-Path in it is
 * the work of the program that delivers.
 */

#include "lib/mailstore/maillayer.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A maildir for each mailbox, below a directory that is made when it is not there. Mails of several
 * deliveries are committed together by maillayer_sync(): all are in new/ of all their mailboxes then,
 * and the disk knows, or, when it fails, none is in any; the layer goes on. A mail for several
 * mailboxes is one file with several links. Lines end in LF. 0 or -errno.
 */
int layer_sort_open(const char *directory, struct maillayer **ret_layer);

/* Takes every mail and keeps none, for measurements. 0 or -errno. */
int layer_null_open(struct maillayer **ret_layer);

#ifdef __cplusplus
}
#endif
