/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * wheel.h - when each of very many sessions has waited long enough.
 *
 * Flow: session.c sets a time for whatever a session waits for -> one timer of the loop ->
 *       wheel_take() until it has no more.
 *
 * A timer of libuv for each session would be a heap of them and 152 bytes each. Here setting and
 * clearing is a list operation, and an entry costs 24 bytes. Times are rounded up to the next
 * WHEEL_TICK_MS; what is further away than a turn of the wheel is looked at once a turn.
 *
 * Lies in the memory of its owner, as entries do in the memory of theirs. No clock is read:
 * time is a parameter that does not go back. Nothing here allocates.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WHEEL_TICK_MS 50
#define WHEEL_BUCKETS 512 /* with the tick above: a turn in 25.6 seconds */

/* Zero is one that is not set. */
struct wheel_entry {
	LIST_ENTRY(wheel_entry) link;
	uint64_t due_ms; /* 0: not set */
};

LIST_HEAD(wheel_list, wheel_entry);

struct wheel {
	struct wheel_list buckets[WHEEL_BUCKETS];
	struct wheel_list due;
	uint64_t tick; /* all before were looked at */
};

void wheel_init(struct wheel *ret_wheel, uint64_t now_ms);

/* In place of what was set before. due_ms is not 0; a past one is due with the next tick. */
void wheel_set(struct wheel *wheel, struct wheel_entry *entry, uint64_t due_ms);
/* Takes one that is not set. */
void wheel_clear(struct wheel_entry *entry);
bool wheel_is_set(const struct wheel_entry *entry);

/*
 * One whose time has come, no longer set; NULL when there is no more. Between two calls any
 * entry may be set or cleared.
 */
struct wheel_entry *wheel_take(struct wheel *wheel, uint64_t now_ms);

#ifdef __cplusplus
}
#endif
