/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * landlock.h - files that this process can still reach, by Linux's Landlock.
 *
 * Flow: confine.c names the directories of the stores -> landlock_restrict() ->
 *       open() of anything else is EACCES, here and in every child, for good.
 *
 * What is open already stays usable: sockets, pipes, standard error. stat() and
 * chmod() are none of Landlock's business. Beside files it takes what the
 * kernel lets it take:
 *
 *     VERSION  LINUX  MORE THAN BEFORE
 *        1      5.13  open, make, remove and execute files
 *        2      5.19  move files between directories
 *        3      6.2   truncate files
 *        4      6.7   bind and connect over TCP
 *        5      6.10  ioctl() of devices
 *        6      6.12  signals and abstract UNIX sockets, to others than children
 *
 * No memory is kept, nothing is logged. Call it with PR_SET_NO_NEW_PRIVS set.
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What this kernel has; 0 for none. */
int landlock_find_version(void);

/*
 * From now on only regular files below directories can be opened, made and
 * written, as far as their permissions allow. A directory that is not there
 * now, or cannot be looked at, is left out. 0 or -errno; half of it never happens.
 */
int landlock_restrict(const char *const *directories, size_t count);
/*
 * The same, and below those directories others can be read and made, and files removed, moved and
 * linked: what keeps files of its own wants that.
 */
int landlock_restrict_trees(const char *const *directories, size_t count);
/* The same files; nothing is taken but files: for what connects to others. */
int landlock_restrict_files(const char *const *directories, size_t count);

#ifdef __cplusplus
}
#endif
