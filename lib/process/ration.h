/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * ration.h - so many lines of the log in a second, and how many more there would have been.
 *
 * Flow: ration_take() before a line that strangers can cause at will; ration_settle() now and then ->
 *       "lines left out".
 *
 * A plain value, which begins as zero. Nothing here reads a clock, allocates or logs.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ration {
	uint64_t second; /* that used is about */
	unsigned used;
	unsigned left_out; /* since this was last told */
};

/* May a line be written? Not more than max in a second of now_ms' clock. */
bool ration_take(struct ration *ration, uint64_t now_ms, unsigned max);
/*
 * How many lines were left out, when the second is over in which the last one was; then it begins
 * anew. 0: none, or it is too early to tell.
 */
unsigned ration_settle(struct ration *ration, uint64_t now_ms);

#ifdef __cplusplus
}
#endif
