/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/base/timers.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* Places count from 1, so that the parent of a place is its half. */

static void put(struct timers *timers, struct timer *timer, uint32_t place)
{
	timers->heap[place - 1] = timer;
	timer->place = place;
}

static struct timer *at(const struct timers *timers, uint32_t place)
{
	return timers->heap[place - 1];
}

static void move_up(struct timers *timers, struct timer *timer)
{
	uint32_t place = timer->place;

	while (place > 1 && at(timers, place / 2)->when_ms > timer->when_ms) {
		put(timers, at(timers, place / 2), place);
		place /= 2;
	}
	put(timers, timer, place);
}

static void move_down(struct timers *timers, struct timer *timer)
{
	uint32_t place = timer->place;

	for (;;) {
		uint32_t child = place * 2;

		if (child < timers->count &&
		    at(timers, child + 1)->when_ms < at(timers, child)->when_ms)
			child++;
		if (child > timers->count || at(timers, child)->when_ms >= timer->when_ms)
			break;
		put(timers, at(timers, child), place);
		place = child;
	}
	put(timers, timer, place);
}

int timers_reserve(struct timers *timers, uint32_t capacity)
{
	if (capacity <= timers->capacity)
		return 0;
	struct timer **heap = reallocarray(timers->heap, capacity, sizeof(void *));

	if (heap == NULL)
		return -ENOMEM;
	timers->heap = heap;
	timers->capacity = capacity;
	return 0;
}

void timers_deinit(struct timers *timers)
{
	free(timers->heap);
	timers->heap = NULL;
	timers->count = timers->capacity = 0;
}

void timers_set(struct timers *timers, struct timer *timer, int64_t when_ms)
{
	if (timer->place == 0) {
		assert(timers->count < timers->capacity);
		put(timers, timer, ++timers->count);
	}
	timer->when_ms = when_ms;
	move_up(timers, timer);
	move_down(timers, timer);
}

void timers_clear(struct timers *timers, struct timer *timer)
{
	uint32_t place = timer->place;

	if (place == 0)
		return;
	struct timer *last = at(timers, timers->count--);

	timer->place = 0;
	if (last == timer)
		return;
	put(timers, last, place);
	move_up(timers, last);
	move_down(timers, last);
}

struct timer *timers_first(const struct timers *timers)
{
	return timers->count > 0 ? timers->heap[0] : NULL;
}
