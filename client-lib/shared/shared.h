/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * shared.h - the table of dnsblv6-cached, mapped as long as there is one.
 *
 * Flow: remote.c gets a descriptor with each connection -> shared_take() -> cache_map_shared()
 *       shared_get() <- look.c
 *
 * Any thread may read a table at any time and tells no other thread. So one that was
 * replaced stays where it is until shared_free(), but has given its memory back: a thread
 * that still reads it finds nothing there. Each start of a daemon is another table; after
 * SHARED_TABLES_MAX of them the process does without.
 */

#include "client-lib/cache/cache.h"
#include "client-lib/config/config.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SHARED_TABLES_MAX   1024
#define SHARED_UNATTENDED_S 60u

struct shared; /* opaque */

/* Does not change once it can be seen. */
struct shared_table {
	struct cache *cache;
	int zones[CONFIG_ZONES_MAX]; /* index there of each of our zones; negative: not there */
	struct shared_table *older;
};

/* config is borrowed until shared_free(). -ENOMEM. */
int shared_new(const struct config *config, struct shared **ret_shared);
void shared_free(struct shared *shared);

/*
 * The table now, or NULL. Any thread. Borrowed until shared_free(). What a daemon has put that was
 * stopped or killed is used for SHARED_UNATTENDED_S: until the next one is there, and no longer, as
 * nothing makes it void when a zone falls ill.
 */
const struct shared_table *shared_get(const struct shared *shared);

/*
 * fd is what the daemon hands out, borrowed. It is the table now, unless it is none; the same one
 * again changes nothing. One thread at a time, as shared_check().
 */
void shared_take(struct shared *shared, int fd);

/*
 * Leaves the table of a daemon that has ended, and of one that was killed, when it is not used any
 * more or for the next one's.
 */
void shared_check(struct shared *shared, bool is_connected);

#ifdef __cplusplus
}
#endif
