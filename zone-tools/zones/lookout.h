/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * lookout.h - has one of these files changed, or been replaced?
 *
 * Flow: watch.c gives the files of all lists -> the kernel says that something has happened in their
 *       directories (inotify) -> lookout_print() of each zone's files says whether it was theirs.
 *
 * Directories are watched and not files: most lists are written beside and renamed. Where the kernel
 * tells nothing, as of network file systems, looking now and then finds the same.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lookout {
	int fd;	       /* readable when something has happened; -1: looking is all there is */
	bool is_blind; /* some directory is not watched */
};

/* One that sees nothing is no failure. */
void lookout_open(struct lookout *lookout);
void lookout_close(struct lookout *lookout);
/* The directory of this file; several of one directory are one watch. */
void lookout_watch(struct lookout *lookout, const char *path);
/* Forgets what has happened. */
void lookout_drain(const struct lookout *lookout);

/* print and what the file at path is now: other bytes, another file or none is another number. */
uint64_t lookout_print(uint64_t print, const char *path);

#ifdef __cplusplus
}
#endif
