/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * progress.h - one line on the terminal while long work is under way.
 *
 * Nothing is shown when standard error is not a terminal, or in the first two
 * seconds. Takes NULL everywhere: then nothing is ever shown.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct progress {
	int is_shown; /* standard error is a terminal */
	uint64_t start_ms;
	uint64_t last_ms;
	int width; /* of the line on the screen now */
};

void progress_init(struct progress *progress);
/* Cheap enough for every few hundred items; draws at most five times a second. */
void progress_step(struct progress *progress, const char *what, uint64_t done);
/* Wipes the line. */
void progress_end(struct progress *progress);

#ifdef __cplusplus
}
#endif
