/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/loop/wheel.h"

#include <stddef.h>

void wheel_init(struct wheel *ret_wheel, uint64_t now_ms)
{
	for (unsigned i = 0; i < WHEEL_BUCKETS; i++)
		LIST_INIT(&ret_wheel->buckets[i]);
	LIST_INIT(&ret_wheel->due);
	ret_wheel->tick = now_ms / WHEEL_TICK_MS;
}

bool wheel_is_set(const struct wheel_entry *entry)
{
	return entry->due_ms != 0;
}

void wheel_clear(struct wheel_entry *entry)
{
	if (!wheel_is_set(entry))
		return;
	LIST_REMOVE(entry, link);
	entry->due_ms = 0;
}

void wheel_set(struct wheel *wheel, struct wheel_entry *entry, uint64_t due_ms)
{
	uint64_t tick = (due_ms + WHEEL_TICK_MS - 1) / WHEEL_TICK_MS;
	wheel_clear(entry);
	if (tick < wheel->tick)
		tick = wheel->tick;
	entry->due_ms = due_ms;
	LIST_INSERT_HEAD(&wheel->buckets[tick % WHEEL_BUCKETS], entry, link);
}

/* Apart first: the caller that takes one may clear or set any other. */
static void collect(struct wheel *wheel, uint64_t tick)
{
	struct wheel_list *bucket = &wheel->buckets[tick % WHEEL_BUCKETS];
	struct wheel_entry *next = NULL;
	for (struct wheel_entry *entry = LIST_FIRST(bucket); entry != NULL; entry = next) {
		next = LIST_NEXT(entry, link);
		if (entry->due_ms > tick * WHEEL_TICK_MS)
			continue;
		LIST_REMOVE(entry, link);
		LIST_INSERT_HEAD(&wheel->due, entry, link);
	}
}

struct wheel_entry *wheel_take(struct wheel *wheel, uint64_t now_ms)
{
	uint64_t last = now_ms / WHEEL_TICK_MS;
	/* After a long sleep of the machine: once round is enough. */
	if (last > wheel->tick + WHEEL_BUCKETS) {
		for (uint64_t i = 0; i < WHEEL_BUCKETS; i++)
			collect(wheel, last - i);
		wheel->tick = last + 1;
	}
	while (LIST_EMPTY(&wheel->due) && wheel->tick <= last)
		collect(wheel, wheel->tick++);
	struct wheel_entry *entry = LIST_FIRST(&wheel->due);
	if (entry != NULL)
		wheel_clear(entry);
	return entry;
}
