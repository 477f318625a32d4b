/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * layers.h - what takes mail in place of the log.
 *
 * Flow: store_process.c -> here -> maillayer.h.
 */

#include "lib/mailstore/maillayer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A maildir for each mailbox below the directory. 0 or -errno. */
int layer_sort_open(const char *directory, struct maillayer **ret_layer);
/* Takes every mail and keeps none: for measurements. 0 or -ENOMEM. */
int layer_null_open(struct maillayer **ret_layer);

#ifdef __cplusplus
}
#endif
