/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/plan/sets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/format/array.h"

static size_t start_of(const struct set_pool *pool, uint32_t set)
{
	return set == 0 ? 0 : pool->ends[set - 1];
}

const uint32_t *set_pool_members(const struct set_pool *pool, uint32_t set, size_t *ret_count)
{
	size_t start = start_of(pool, set);
	*ret_count = pool->ends[set] - start;
	return pool->members + start;
}

int set_pool_init(struct set_pool *pool)
{
	*pool = (struct set_pool){ 0 };
	if (!array_reserve(pool->ends, 1, &pool->capacity) ||
	    !array_reserve(pool->members, 1, &pool->member_capacity))
		return -ENOMEM;
	pool->ends[pool->count++] = 0;
	return DNSBLV6_OK;
}

void set_pool_deinit(struct set_pool *pool)
{
	free(pool->members);
	free(pool->ends);
	free(pool->slots);
	*pool = (struct set_pool){ 0 };
}

static size_t hash(const uint32_t *members, size_t count)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (size_t i = 0; i < count; i++)
		h = (h ^ members[i]) * 0x9e3779b97f4a7c15u;
	return (size_t)(h ^ h >> 31);
}

/* The slot of an equal set, or the free slot where it belongs. */
static uint32_t *find_slot(struct set_pool *pool, const uint32_t *members, size_t count)
{
	size_t i = hash(members, count) & (pool->slot_count - 1);
	while (pool->slots[i] != 0) {
		size_t other_count;
		const uint32_t *other = set_pool_members(pool, pool->slots[i] - 1, &other_count);
		if (other_count == count && memcmp(other, members, count * sizeof(*members)) == 0)
			break;
		i = (i + 1) & (pool->slot_count - 1);
	}
	return &pool->slots[i];
}

/* Keeps the table at most half full. */
static int grow_slots(struct set_pool *pool)
{
	if (pool->count * 2 < pool->slot_count)
		return DNSBLV6_OK;
	size_t slot_count = pool->slot_count == 0 ? 64 : pool->slot_count * 2;
	uint32_t *slots = calloc(slot_count, sizeof(*slots));
	if (slots == NULL)
		return -ENOMEM;
	free(pool->slots);
	pool->slots = slots;
	pool->slot_count = slot_count;
	for (uint32_t set = 1; set < pool->count; set++) {
		size_t count;
		const uint32_t *members = set_pool_members(pool, set, &count);
		*find_slot(pool, members, count) = set + 1;
	}
	return DNSBLV6_OK;
}

static int find_or_add(struct set_pool *pool, const uint32_t *members, size_t count,
		       uint32_t *ret_set)
{
	int ret = grow_slots(pool);
	if (ret != DNSBLV6_OK)
		return ret;
	uint32_t *slot = find_slot(pool, members, count);
	if (*slot != 0) {
		*ret_set = *slot - 1;
		return DNSBLV6_OK;
	}
	if (!array_reserve(pool->ends, pool->count + 1, &pool->capacity) ||
	    !array_reserve(pool->members, pool->member_count + count, &pool->member_capacity))
		return -ENOMEM;
	memcpy(pool->members + pool->member_count, members, count * sizeof(*members));
	pool->member_count += count;
	pool->ends[pool->count] = pool->member_count;
	*ret_set = (uint32_t)pool->count++;
	*slot = *ret_set + 1;
	return DNSBLV6_OK;
}

int set_pool_add_value(struct set_pool *pool, uint32_t value, uint32_t *ret_set)
{
	return find_or_add(pool, &value, 1, ret_set);
}

int set_pool_unite(struct set_pool *pool, uint32_t a, uint32_t b, uint32_t *ret_set)
{
	if (a == b || b == DNSBLV6_SET_NONE || a == DNSBLV6_SET_NONE) {
		*ret_set = a == DNSBLV6_SET_NONE ? b : a;
		return DNSBLV6_OK;
	}
	size_t a_count;
	size_t b_count;
	const uint32_t *a_members = set_pool_members(pool, a, &a_count);
	const uint32_t *b_members = set_pool_members(pool, b, &b_count);
	uint32_t *both = calloc(a_count + b_count, sizeof(*both));
	if (both == NULL)
		return -ENOMEM;

	size_t count = 0;
	size_t i = 0;
	size_t j = 0;
	while (i < a_count || j < b_count) {
		bool takes_a = j == b_count || (i < a_count && a_members[i] <= b_members[j]);
		uint32_t value = takes_a ? a_members[i++] : b_members[j++];
		if (count == 0 || both[count - 1] != value)
			both[count++] = value;
	}
	int ret = find_or_add(pool, both, count, ret_set);
	free(both);
	return ret;
}
