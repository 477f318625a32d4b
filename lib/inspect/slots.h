/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * slots.h - pieces of memory of one size, made once, taken and given back.
 *
 * Flow: inspect_pool_new() -> slots_init() for objects, mails and decoders -> slots_take() when one
 *       begins, slots_give() when it ends.
 *
 *     ret = slots_init(&pool->arenas, UNPACK_HERE_MEMORY, 16);
 *     memory = slots_take(&pool->arenas);          // NULL: all are in use
 *     slots_give(&pool->arenas, memory);
 *
 * The memory is mapped and has no pages until a slot is written to; the slot that was given back
 * last is taken first, so that as many have pages as were in use at a time. What is in a slot that
 * is taken is what was in it before. For one thread.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct slots {
	uint8_t *memory; /* NULL: none */
	size_t slot_size;
	unsigned count;
	unsigned free_count;
	unsigned *free_list; /* their numbers, the next one last */
};

/* slot_size is rounded up to what any type is aligned to. 0 or -ENOMEM. All 0 may be deinited. */
int slots_init(struct slots *ret_slots, size_t slot_size, unsigned count);
void slots_deinit(struct slots *slots);

void *slots_take(struct slots *slots);
/* Takes NULL. */
void slots_give(struct slots *slots, void *slot);
unsigned slots_number(const struct slots *slots, const void *slot);
void *slots_at(const struct slots *slots, unsigned number);

#ifdef __cplusplus
}
#endif
