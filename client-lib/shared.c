/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/shared.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct shared {
	const struct config *config;
	char path[CONFIG_TEXT_MAX + sizeof(SHARED_FILE)];
	struct shared_table *current; /* atomic */
	struct shared_table *tables[SHARED_TABLES_MAX];
	unsigned table_count;
	int64_t check_ms; /* not before */
};

int shared_new(const struct config *config, struct shared **ret_shared)
{
	struct shared *shared = calloc(1, sizeof(*shared));
	if (shared == NULL)
		return -ENOMEM;
	shared->config = config;
	shared->check_ms = INT64_MIN;
	snprintf(shared->path, sizeof(shared->path), "%s/" SHARED_FILE, config->shared);
	*ret_shared = shared;
	return DNSBLV6_OK;
}

void shared_free(struct shared *shared)
{
	if (shared == NULL)
		return;
	for (unsigned i = 0; i < shared->table_count; i++) {
		cache_free(shared->tables[i]->cache);
		free(shared->tables[i]);
	}
	free(shared);
}

const struct shared_table *shared_get(const struct shared *shared)
{
	return __atomic_load_n(&shared->current, __ATOMIC_ACQUIRE);
}

static struct shared_table *map_table(struct shared *shared)
{
	struct shared_table *table;

	if (shared->table_count == SHARED_TABLES_MAX)
		return NULL;
	table = calloc(1, sizeof(*table));
	if (table == NULL)
		return NULL;
	if (cache_map_file(shared->path, &table->cache) != DNSBLV6_OK) {
		free(table);
		return NULL;
	}
	/* Of a daemon that has ended: nobody writes it. */
	if (!cache_is_current(table->cache, shared->path)) {
		cache_free(table->cache);
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
	shared->tables[shared->table_count++] = table;
	return table;
}

/* A daemon that was restarted goes on with its file, which is mapped already. */
static struct shared_table *find_table(const struct shared *shared)
{
	for (unsigned i = 0; i < shared->table_count; i++) {
		if (cache_is_current(shared->tables[i]->cache, shared->path))
			return shared->tables[i];
	}
	return NULL;
}

void shared_check(struct shared *shared, int64_t now_ms)
{
	const struct shared_table *current = shared->current;

	if (now_ms < shared->check_ms)
		return;
	shared->check_ms = now_ms + SHARED_CHECK_MS;
	if (current != NULL && cache_is_current(current->cache, shared->path))
		return;
	struct shared_table *table = find_table(shared);
	if (table == NULL)
		table = map_table(shared);
	__atomic_store_n(&shared->current, table, __ATOMIC_RELEASE);
}
