/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sets.h - distinct sets of values, numbered as the store numbers them.
 *
 * Flow: resolve.c makes a set for every piece of address space; builder.c
 *       writes the sets that are in use. Set 0 (DNSBLV6_SET_NONE) is empty.
 *
 * A set is value numbers (listing.h) in ascending order, none twice: DNS
 * answers have no order. Functions return DNSBLV6_OK or -ENOMEM.
 */

#include "lib/format/record.h"

#ifdef __cplusplus
extern "C" {
#endif

struct set_pool {
	uint32_t *members; /* of all sets, one behind the other */
	size_t member_count;
	size_t member_capacity;
	size_t *ends; /* ends[s]: where set s stops in members; it starts at ends[s - 1] */
	size_t count; /* sets, with set 0 */
	size_t capacity;
	uint32_t *slots; /* hash table of set numbers + 1 */
	size_t slot_count;
};

int set_pool_init(struct set_pool *pool);
/* Takes a zeroed pool. */
void set_pool_deinit(struct set_pool *pool);

/* The set that has just one value. */
int set_pool_add_value(struct set_pool *pool, uint32_t value, uint32_t *ret_set);
/* The set of all values of a and b. */
int set_pool_unite(struct set_pool *pool, uint32_t a, uint32_t b, uint32_t *ret_set);
/* Borrowed until the next call that adds. */
const uint32_t *set_pool_members(const struct set_pool *pool, uint32_t set, size_t *ret_count);

#ifdef __cplusplus
}
#endif
