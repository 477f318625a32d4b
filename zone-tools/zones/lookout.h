/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * lookout.h - has one of these files changed, or been replaced?
 *
 * Flow: watch.c gives the files of all lists -> the kernel says that something has happened in their
 *       directories (inotify) -> lookout_print() of each zone's files says whether it was theirs.
 *
 * Directories are watched and not files: most lists are written beside and renamed. The directories
 * above tell of one that is itself replaced, by a rename or as a symbolic link: then what is at its
 * path is another, and has to be watched anew. Where the kernel tells nothing, as of network file
 * systems and of a link that another link leads to, looking now and then finds the same.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOOKOUT_NAMES 4096

struct lookout {
	int fd;	       /* readable when something has happened; -1: looking is all there is */
	int above_fd;  /* readable when lookout_is_replaced() is to be asked; as fd */
	bool is_blind; /* some directory is not watched */
	char directory[PATH_MAX];	  /* the one that was watched last; "": none */
	uint8_t names[LOOKOUT_NAMES / 8]; /* of directories, a bit for the hash of each */
};

/* One that sees nothing is no failure. */
void lookout_open(struct lookout *lookout);
void lookout_close(struct lookout *lookout);
/* The directory of this file, an absolute path; several of one directory are one watch. */
void lookout_watch(struct lookout *lookout, const char *path);
/* Is there another directory, or none, at a path of one of theirs? Else something was made beside it. */
bool lookout_is_replaced(const struct lookout *lookout);
/* Forgets what has happened, and all directories; then all files are to be watched again, and looked at. */
void lookout_renew(struct lookout *lookout);

/* print and what the file at path is now: other bytes, another file or none is another number. */
uint64_t lookout_print(uint64_t print, const char *path);

#ifdef __cplusplus
}
#endif
