/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/loop/arena.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define NEAR_ALIGNMENT 64 /* a line of the cache: no two sessions share one */

struct arena {
	size_t slot_count;
	size_t taken_count;
	size_t touched_count; /* slots that were ever taken are the first of all */
	size_t near_stride;
	size_t far_stride;
	size_t map_size;
	uint8_t *near;
	uint8_t *far;
	uint32_t *given_back; /* a stack of touched_count - taken_count places */
};

static size_t round_up(size_t size, size_t step)
{
	return (size + step - 1) / step * step;
}

/* The three parts in one map: each begins with a page of its own. */
static int map_parts(struct arena *arena, size_t page)
{
	size_t near_size = round_up(arena->slot_count * arena->near_stride, page);
	size_t far_size = arena->slot_count * arena->far_stride;
	size_t stack_size = round_up(arena->slot_count * sizeof(uint32_t), page);
	arena->map_size = near_size + far_size + stack_size;
	uint8_t *map = mmap(NULL, arena->map_size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return -ENOMEM;
	/*
	 * A huge page would make hundreds of sessions resident with the first one. Fails where the
	 * kernel has none.
	 */
	madvise(map, arena->map_size, MADV_NOHUGEPAGE);
	arena->near = map;
	arena->far = map + near_size;
	arena->given_back = (uint32_t *)(void *)(map + near_size + far_size);
	return 0;
}

int arena_new(size_t slot_count, size_t near_size, size_t far_size, struct arena **ret_arena)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	if (slot_count == 0 || slot_count > ARENA_SLOTS_MAX || near_size == 0 ||
	    near_size > UINT32_MAX || far_size > UINT32_MAX)
		return -EINVAL;
	struct arena *arena = calloc(1, sizeof(*arena));
	if (arena == NULL)
		return -ENOMEM;
	arena->slot_count = slot_count;
	arena->near_stride = round_up(near_size, NEAR_ALIGNMENT);
	arena->far_stride = round_up(far_size, page);
	int ret = map_parts(arena, page);
	if (ret == 0)
		*ret_arena = arena;
	else
		free(arena);
	return ret;
}

void arena_free(struct arena *arena)
{
	if (arena == NULL)
		return;
	munmap(arena->near, arena->map_size);
	free(arena);
}

static size_t index_of(const struct arena *arena, const void *slot)
{
	size_t offset = (size_t)((const uint8_t *)slot - arena->near);
	assert(offset % arena->near_stride == 0 &&
	       offset / arena->near_stride < arena->touched_count);
	return offset / arena->near_stride;
}

void *arena_take(struct arena *arena)
{
	size_t index = arena->touched_count;
	if (arena->taken_count == arena->slot_count)
		return NULL;
	size_t free_count = arena->touched_count - arena->taken_count;
	if (free_count > 0)
		index = arena->given_back[free_count - 1];
	else
		arena->touched_count++;
	arena->taken_count++;
	return arena->near + index * arena->near_stride;
}

void *arena_far(const struct arena *arena, const void *slot)
{
	return arena->far + index_of(arena, slot) * arena->far_stride;
}

void arena_give_back(struct arena *arena, void *slot)
{
	assert(arena->taken_count > 0);
	arena->given_back[arena->touched_count - arena->taken_count] =
		(uint32_t)index_of(arena, slot);
	arena->taken_count--;
}

size_t arena_count(const struct arena *arena)
{
	return arena->taken_count;
}

size_t arena_room(const struct arena *arena)
{
	return arena->slot_count;
}

size_t arena_stride(const struct arena *arena)
{
	return arena->near_stride;
}
