/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * timers.h - what is due first, of many things: a binary heap.
 *
 * Flow: stub.c, flight.c -> timers_set() -> timers_first() -> stub_process()
 *
 * A timer is a member of the thing it belongs to, and all zero at first. Setting and clearing
 * take logarithmic time, and no memory: timers_reserve() takes it.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct timer {
	int64_t when_ms;
	uint32_t place; /* in the heap, from 1; 0: not set */
	uint32_t kind;	/* the owner's: whose member it is */
};

struct timers {
	struct timer **heap;
	uint32_t count, capacity;
};

/* Room for so many to be set, which is never less than before; *timers is all zero at first.
 * -ENOMEM.
 */
int timers_reserve(struct timers *timers, uint32_t capacity);
void timers_deinit(struct timers *timers);

/* Sets it, or sets it anew. No more than capacity may be set at once. */
void timers_set(struct timers *timers, struct timer *timer, int64_t when_ms);
/* Nothing when it is not set. */
void timers_clear(struct timers *timers, struct timer *timer);
/* The one that is due first, or NULL. */
struct timer *timers_first(const struct timers *timers);

#ifdef __cplusplus
}
#endif
