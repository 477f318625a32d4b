/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * clockdoubt.h - is the clock right by which mails are too old?
 *
 * Flow: keeper.c -> clockdoubt_look() before each look at old mails; clockdoubt_load() and clockdoubt_save() of a
 *       file in the store's directory, so that a start goes on where the one before was.
 *
 * What is deleted by a wrong clock is gone when it is set right. One that is more than a day away from where it was
 * trusted last, and has gone on since as steadily as the time of the system, is doubted for a day, and trusted
 * then. The day is of the daemon's own running, however many starts it has: one that ends each day has it, too.
 *
 *     OFFSET  SIZE  DESCRIPTION of the file, numbers big-endian
 *        0      4   "Dck1"
 *        4      8   trusted_us
 *       12      8   left_us
 *       20      4   CRC-32C of these
 *
 * A file that is lost, or is none, says nothing.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CLOCKDOUBT_DAY_US (24LL * 3600 * 1000000) /* clocks are not set by that much */

struct clockdoubt {
	int64_t trusted_us; /* what a right clock shows */
	int64_t left_us;    /* of the day that it is doubted; 0: it is trusted */
	int64_t steady_us;  /* of the last look, by the clock that is never set */
};

/* Returns how far it has leapt when a doubt begins with this look, else 0. */
int64_t clockdoubt_look(struct clockdoubt *doubt, int64_t wall_us, int64_t steady_us);

/* trusted_us and left_us of the file; false: it says nothing, and both stay. */
bool clockdoubt_load(const char *directory, struct clockdoubt *doubt);
/* 0 or -errno. Not synced: what is lost with the power is doubted once more. */
int clockdoubt_save(const char *directory, const struct clockdoubt *doubt);

#ifdef __cplusplus
}
#endif
