/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * pool.h - places of one size, whose memory is taken in steps and never moves.
 *
 * Flow: stub.c takes a place for each question and each asker, and gives it back.
 *
 * The first step is taken at the start, and more when all places are in use; once all of them
 * are free again only the first step is kept. A place is found by its id, which is another
 * one each time it is taken, so that an old id finds nothing.
 *
 * One thread's at a time, as the stub.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define POOL_STEP 256 /* places */

struct pool_place;

struct pool {
	size_t item_size;
	uint32_t max;  /* places there may be */
	uint32_t room; /* places there is memory for */
	uint32_t used; /* of them: were taken once or more */
	uint32_t open; /* of them: are taken now */
	uint32_t generation;
	char **steps; /* max / POOL_STEP of them, rounded up */
	struct pool_place *free;
};

/* -ENOMEM, and then *pool is as good as after pool_deinit(), which may be called again. */
int pool_init(struct pool *pool, size_t item_size, uint32_t max);
void pool_deinit(struct pool *pool);

/*
 * An item, all zero or as it was given back. NULL when max are taken, or for want of memory:
 * pool->open tells which.
 */
void *pool_take(struct pool *pool);
void pool_give(struct pool *pool, void *item);

/* Never 0, and good until the item is given back. */
uint64_t pool_id(const void *item);
/* NULL when there is none with that id now; id may be any number. */
void *pool_find(const struct pool *pool, uint64_t id);

/* Gives back all at once, and forgets what they were; their ids find nothing any more. */
void pool_clear(struct pool *pool);

#ifdef __cplusplus
}
#endif
