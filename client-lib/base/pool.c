/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/base/pool.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 8 /* of items: they have pointers and 64 bit numbers */

/* In front of each item. */
struct pool_place {
	_Alignas(ALIGNMENT) uint32_t number;
	uint32_t generation; /* 0: free */
	struct pool_place *next_free;
};

static size_t place_size(const struct pool *pool)
{
	return sizeof(struct pool_place) +
	       (pool->item_size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static struct pool_place *at(const struct pool *pool, uint32_t number)
{
	char *step = pool->steps[number / POOL_STEP];

	return (void *)(step + number % POOL_STEP * place_size(pool));
}

static void *item_of(struct pool_place *place)
{
	return place + 1;
}

static bool add_step(struct pool *pool)
{
	char *step = calloc(POOL_STEP, place_size(pool));

	if (step == NULL)
		return false;
	pool->steps[pool->room / POOL_STEP] = step;
	pool->room += POOL_STEP;
	return true;
}

/* All but so many steps; nothing is taken of what goes. */
static void free_steps(struct pool *pool, uint32_t kept)
{
	while (pool->room > kept * POOL_STEP) {
		pool->room -= POOL_STEP;
		free(pool->steps[pool->room / POOL_STEP]);
	}
}

int pool_init(struct pool *pool, size_t item_size, uint32_t max)
{
	*pool = (struct pool){ .item_size = item_size, .max = max };
	pool->steps = calloc(max / POOL_STEP + 1, sizeof(*pool->steps));
	if (pool->steps != NULL && add_step(pool))
		return 0;
	pool_deinit(pool);
	return -ENOMEM;
}

void pool_deinit(struct pool *pool)
{
	if (pool->steps != NULL)
		free_steps(pool, 0);
	free(pool->steps);
	*pool = (struct pool){ 0 };
}

static struct pool_place *find_free(struct pool *pool)
{
	struct pool_place *place = pool->free;

	if (place != NULL) {
		pool->free = place->next_free;
		return place;
	}
	if (pool->open == pool->max || (pool->used == pool->room && !add_step(pool)))
		return NULL;
	place = at(pool, pool->used);
	place->number = pool->used++;
	return place;
}

void *pool_take(struct pool *pool)
{
	struct pool_place *place = find_free(pool);

	if (place == NULL)
		return NULL;
	pool->open++;
	if (++pool->generation == 0)
		pool->generation = 1;
	place->generation = pool->generation;
	return item_of(place);
}

/* As it was at the start. */
void pool_clear(struct pool *pool)
{
	if (pool->room == 0)
		return;
	free_steps(pool, 1);
	memset(pool->steps[0], 0, POOL_STEP * place_size(pool));
	pool->free = NULL;
	pool->used = pool->open = 0;
}

void pool_give(struct pool *pool, void *item)
{
	struct pool_place *place = (struct pool_place *)item - 1;

	place->generation = 0;
	place->next_free = pool->free;
	pool->free = place;
	if (--pool->open == 0 && pool->room > POOL_STEP)
		pool_clear(pool);
}

uint64_t pool_id(const void *item)
{
	const struct pool_place *place = (const struct pool_place *)item - 1;

	return (uint64_t)place->generation << 32 | place->number;
}

void *pool_find(const struct pool *pool, uint64_t id)
{
	const uint64_t number = id & UINT32_MAX;

	if (number >= pool->used || id >> 32 == 0)
		return NULL;
	struct pool_place *place = at(pool, (uint32_t)number);

	return place->generation == id >> 32 ? item_of(place) : NULL;
}
