/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/shared/shared.h"

#include <errno.h>
#include <stdlib.h>

struct shared {
	const struct config *config;
	struct shared_table *current; /* atomic */
	struct shared_table *newest;  /* of all */
	unsigned table_count;
};

int shared_new(const struct config *config, struct shared **ret_shared)
{
	struct shared *shared = calloc(1, sizeof(*shared));
	if (shared == NULL)
		return -ENOMEM;
	shared->config = config;
	*ret_shared = shared;
	return DNSBLV6_OK;
}

void shared_free(struct shared *shared)
{
	if (shared == NULL)
		return;
	while (shared->newest != NULL) {
		struct shared_table *table = shared->newest;
		shared->newest = table->older;
		cache_free(table->cache);
		free(table);
	}
	free(shared);
}

const struct shared_table *shared_get(const struct shared *shared)
{
	const struct shared_table *table = __atomic_load_n(&shared->current, __ATOMIC_ACQUIRE);

	return table != NULL && cache_is_attended(table->cache, SHARED_UNATTENDED_S) ? table : NULL;
}

static struct shared_table *map_table(struct shared *shared, int fd)
{
	if (shared->table_count == SHARED_TABLES_MAX)
		return NULL;
	struct shared_table *table = calloc(1, sizeof(*table));
	if (table == NULL)
		return NULL;
	if (cache_map_shared(fd, &table->cache) != DNSBLV6_OK) {
		free(table);
		return NULL;
	}
	cache_set_prefetch(table->cache, shared->config->prefetch_percent);
	for (unsigned i = 0; i < shared->config->zone_count; i++) {
		const struct config_zone *zone = &shared->config->zones[i];

		/* The daemon is asked about addresses alone. */
		table->zones[i] = zone->kind == CONFIG_ADDRESSES
					  ? cache_zone_index(table->cache, zone->text)
					  : -ENOENT;
	}
	table->older = shared->newest;
	shared->newest = table;
	shared->table_count++;
	return table;
}

/* Readers come to the new one, or to none, before the old one has nothing to say. */
static void replace(struct shared *shared, struct shared_table *table)
{
	struct shared_table *old = shared->current;

	__atomic_store_n(&shared->current, table, __ATOMIC_RELEASE);
	if (old != NULL)
		cache_shed(old->cache);
}

void shared_take(struct shared *shared, int fd)
{
	if (shared->current != NULL && cache_is_same(shared->current->cache, fd))
		return;
	struct shared_table *table = map_table(shared, fd);
	if (table != NULL)
		replace(shared, table);
}

void shared_check(struct shared *shared, bool is_connected)
{
	if (shared->current == NULL)
		return;
	/* One that was merely stopped goes on with the table, and has not hung up. */
	if (cache_is_retired(shared->current->cache) ||
	    (!is_connected && shared_get(shared) == NULL))
		replace(shared, NULL);
}
