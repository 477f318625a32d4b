/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * shared.h - the cache of dnsblv6-cached, mapped as long as there is one.
 *
 * Flow: engine.c -> shared_check() -> cache_map_file() -> shared_get() <- engine_look()
 *
 * Any thread may read a table at any time without telling anybody, so a table that
 * was replaced stays mapped until shared_free(). A daemon replaces its file only when its
 * size or its zones are changed; after SHARED_TABLES_MAX times the process does without.
 */

#include "client-lib/cache.h"
#include "client-lib/config.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SHARED_CHECK_MS	  2000
#define SHARED_TABLES_MAX 16
#define SHARED_FILE	  "cache" /* below the daemon's directory */

struct shared; /* opaque */

/* Does not change once it can be seen. */
struct shared_table {
	struct cache *cache;
	int zones[CONFIG_ZONES_MAX]; /* index there of each of our zones; negative: not there */
};

/* config is borrowed until shared_free(). -ENOMEM. */
int shared_new(const struct config *config, struct shared **ret_shared);
void shared_free(struct shared *shared);

/* The table now, or NULL. Any thread. Borrowed until shared_free(). */
const struct shared_table *shared_get(const struct shared *shared);

/* Looks whether there is a table, or another one, every SHARED_CHECK_MS. One thread at a time. */
void shared_check(struct shared *shared, int64_t now_ms);

#ifdef __cplusplus
}
#endif
