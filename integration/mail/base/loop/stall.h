/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * stall.h - whether a loop has stood still.
 *
 * Flow: a timer of a loop has come -> stall_waives_tick() or stall_waives_timer() -> what is due is
 *       timed out, or nothing is as yet.
 *
 * libuv looks at its timers before it looks at sockets. Behind a time in which a process stood still, as a
 * machine was asleep or busy, peers may have said in time what nothing has read: that comes first, once.
 *
 * Zero is a loop that has not stood still. No clock is read, and nothing here allocates or logs.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STALL_MS 500 /* later than it was due: a process that was stopped, or waited for another */

struct stall {
	uint64_t ticked_ms; /* when the tick came last */
	bool has_waived;    /* nothing was timed out then */
};

/* A tick begins, for the first time or again. */
static inline void stall_begin_ticks(struct stall *stall, uint64_t now_ms)
{
	stall->ticked_ms = now_ms;
	stall->has_waived = false;
}

/* A timer that was due then has come now: is something to be read first? Its owner sets it again, for soon. */
static inline bool stall_waives_timer(struct stall *stall, uint64_t due_ms, uint64_t now_ms)
{
	stall->has_waived = !stall->has_waived && now_ms > due_ms + STALL_MS;
	return stall->has_waived;
}

/* The same for a timer that comes several times in STALL_MS. */
static inline bool stall_waives_tick(struct stall *stall, uint64_t now_ms)
{
	const uint64_t last_ms = stall->ticked_ms;
	stall->ticked_ms = now_ms;
	return stall_waives_timer(stall, last_ms, now_ms);
}

#ifdef __cplusplus
}
#endif
