/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * progress.h - one line on the terminal while long work is under way.
 *
 * Flow: commands of dnsblv6-zone and of mail-store -> here -> standard error.
 *
 *     lines read 41943040, 43 %, 12 s left
 *
 * Nothing is shown when standard error is not a terminal, or in the first two
 * seconds. Takes NULL everywhere: then nothing is ever shown. What is left is
 * reckoned from what the work of that name has taken so far.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct progress {
	int is_shown; /* standard error is a terminal */
	uint64_t start_ms;
	uint64_t last_ms;
	int width;	  /* of the line on the screen now */
	const char *what; /* the work under way */
	uint64_t what_ms; /* when it began */
};

void progress_init(struct progress *progress);
/*
 * Cheap enough for every few hundred items; draws at most five times a second. what is one string for
 * all steps of a work; count is shown, done of total is the share. total 0: not known.
 */
void progress_step(struct progress *progress, const char *what, uint64_t count, uint64_t done,
		   uint64_t total);
/* The line, when the work has taken that long. Returns its length. */
#define PROGRESS_LINE_SIZE 160
size_t progress_format(const char *what, uint64_t count, uint64_t done, uint64_t total,
		       uint64_t elapsed_ms, char *ret_line);
/* Wipes the line. */
void progress_end(struct progress *progress);

#ifdef __cplusplus
}
#endif
