/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/inspect/slots.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ALIGNMENT 64

int slots_init(struct slots *ret_slots, size_t slot_size, unsigned count)
{
	*ret_slots = (struct slots){ 0 };
	slot_size = (slot_size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (count == 0 || slot_size == 0 || slot_size > SIZE_MAX / count)
		return count == 0 ? 0 : -ENOMEM;
	unsigned *free_list = calloc(count, sizeof(*free_list));
	if (free_list == NULL)
		return -ENOMEM;
	void *memory = mmap(NULL, slot_size * count, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		free(free_list);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < count; i++)
		free_list[i] = count - 1 - i;
	*ret_slots = (struct slots){ .memory = memory,
				     .slot_size = slot_size,
				     .count = count,
				     .free_count = count,
				     .free_list = free_list };
	return 0;
}

void slots_deinit(struct slots *slots)
{
	if (slots->memory != NULL)
		munmap(slots->memory, slots->slot_size * slots->count);
	free(slots->free_list);
	*slots = (struct slots){ 0 };
}

void *slots_at(const struct slots *slots, unsigned number)
{
	return slots->memory + slots->slot_size * number;
}

unsigned slots_number(const struct slots *slots, const void *slot)
{
	return (unsigned)((size_t)((const uint8_t *)slot - slots->memory) / slots->slot_size);
}

void *slots_take(struct slots *slots)
{
	if (slots->free_count == 0)
		return NULL;
	slots->free_count--;
	return slots_at(slots, slots->free_list[slots->free_count]);
}

void slots_give(struct slots *slots, void *slot)
{
	if (slot == NULL)
		return;
	slots->free_list[slots->free_count] = slots_number(slots, slot);
	slots->free_count++;
}
