/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * handover.h - what root has made belongs to the owner of its directory, whose jobs go on with it.
 *
 * Flow: a file is made -> commands_fence() gives a store away, keydir.c, keygen.c and migrate.c keys.
 *
 * Nothing is done where root does not run the command, or owns the directory. That a file is not given
 * away is one warning: all else is done.
 */

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The new file or directory at path comes to belong to the owner and group of the one that it is in. */
void handover_give(const char *path);

/* A store and its lock file: those that were not there before. */
struct handover {
	char *store; /* NULL: there is nothing to do */
	char *lock;
	bool is_store_new;
	bool is_lock_new;
};

/* Before they may be made; handover_end() afterwards, in any case. */
void handover_begin(struct handover *handover, const char *store);
void handover_end(struct handover *handover);

#ifdef __cplusplus
}
#endif
