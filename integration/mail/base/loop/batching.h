/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * batching.h - whether a busy edge rests a moment before it looks at its clients again.
 *
 * Flow: session.c and edge.c count events -> edge.c asks before each wait of the loop -> it sleeps
 *       so long, and finds the events of several clients at once.
 *
 * An edge that many clients talk to wakes up for each line of each of them, and what a wake-up
 * costs - two context switches, cold caches, system calls for one descriptor - is more than what
 * is done for the line. After a rest the same work is done for several at a time. It costs each
 * step of a session half a rest, a few milliseconds beside a client's tens, and nothing is gained
 * where clients are few: so an edge rests only as long as it finds BATCHING_WORTH events after each
 * rest, on the average of some, and tries again less and less often where it did not.
 *
 * Lies in the memory of its owner. No clock is read: time is a parameter that does not go back.
 * For one thread.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BATCHING_WORTH	   1.5	/* events to a rest: one is what a wait without it finds */
#define BATCHING_RESTS	   8	/* in which that is looked at */
#define BATCHING_TRY_RESTS 1024 /* that pass, at most, until it is tried again */

struct batching {
	uint64_t rest_ns;
	uint64_t since_ns; /* when the count was begun */
	uint64_t retry_ns; /* not to be tried before */
	uint64_t pause_ns; /* until then, when it fails again */
	unsigned events;
	bool is_resting;
};

/* rest_ns 0: never. */
void batching_init(struct batching *ret_gather, uint64_t rest_ns);

/* Something has come from a client. */
static inline void batching_count(struct batching *batching)
{
	batching->events++;
}

/* Before each wait: for how many nanoseconds to sleep first; 0: not at all. */
uint64_t batching_next(struct batching *batching, uint64_t now_ns);

#ifdef __cplusplus
}
#endif
