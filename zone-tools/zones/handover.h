/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * handover.h - what root has made belongs to the owner of its directory, whose jobs go on with it.
 *
 * Flow: a file is made -> commands_fence() gives a store away, keydir.c, keygen.c and migrate.c keys.
 *       Of a store's lock file lib/lmdb does that.
 *
 * Nothing is done where root does not run the command, or owns the directory. That a file is not given
 * away is one warning: all else is done.
 */

#include <stdbool.h>

/* The new file or directory at path comes to belong to the owner and group of the one that it is in. */
void handover_give(const char *path);

/* Is it to be made? Then it may be given away afterwards; a store that was there stays whose it is. */
bool handover_is_absent(const char *path);
