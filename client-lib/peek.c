/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/peek.h"

#include <errno.h>

/* False: the daemon's cache has nothing to say about the zone. */
static bool peek_shared(const struct zone *zone, const struct shared_table *table,
			struct dnsblv6_addr addr, bool takes_expired, struct look *ret_look)
{
	int index = table->zones[zone->index];
	if (index < 0)
		return false;
	struct look_place place = {
		.config = zone->asking->config,
		.cache = table->cache,
		.zone = (unsigned)index,
		.word = cache_zone_word(table->cache, (unsigned)index),
		.now_s = cache_now_s(table->cache),
		.takes_expired = takes_expired,
	};
	struct health_word parts = health_unpack(place.word);
	if (health_is_sick(parts.state) && place.now_s > parts.due_s &&
	    place.now_s - parts.due_s > PEEK_OVERDUE_S)
		return false;
	look_zone(&place, addr, ret_look);
	return ret_look->kind != LOOK_MISS;
}

static void peek_own(const struct zone *zone, uint64_t word, uint32_t now_s,
		     struct dnsblv6_addr addr, bool takes_expired, struct look *ret_look)
{
	struct look_place place = {
		.config = zone->asking->config,
		.cache = zone->asking->cache,
		.zone = zone->index,
		.word = word,
		.now_s = now_s,
		.takes_expired = takes_expired,
	};
	look_zone(&place, addr, ret_look);
}

void peek_zone(const struct zone *zone, struct dnsblv6_addr addr, bool takes_expired,
	       struct look *ret_look)
{
	const struct asking *asking = zone->asking;
	const struct shared_table *table =
		asking->shared != NULL ? shared_get(asking->shared) : NULL;

	if (table != NULL && peek_shared(zone, table, addr, takes_expired, ret_look))
		return;
	peek_own(zone, asking_word(zone), cache_now_s(asking->cache), addr, takes_expired,
		 ret_look);
}

/* The sets of all zones' slots are fetched at once, not one after the other. */
static void warm(const struct asking *asking, const struct cache *cache, struct dnsblv6_addr addr)
{
	for (unsigned i = 0; i < asking->config->zone_count; i++)
		cache_prefetch(cache, cache_key_block(i, addr));
}

static void add(const struct zone *zone, uint64_t entries, struct dnsblv6_addr addr,
		const struct look *look, struct dnsblv6_result *result)
{
	if (look->kind == LOOK_FAILED)
		verdict_add_failure(entries, result);
	if (look->kind != LOOK_ANSWER)
		return;
	verdict_add_answer(zone->asking->config, &zone->entries, entries, &look->entry, addr,
			   look->ttl_s, result);
	result->zones_cached |= entries;
}

int peek_all(const struct asking *asking, struct dnsblv6_addr addr, uint64_t entries,
	     bool *ret_has_work, struct dnsblv6_result *ret_result)
{
	const struct config *config = asking->config;
	const struct shared_table *table =
		asking->shared != NULL ? shared_get(asking->shared) : NULL;
	uint32_t now_s = cache_now_s(asking->cache);
	bool has_work = false;
	struct look look;

	verdict_init(ret_result);
	if (config->zone_count > 1 && table == NULL)
		warm(asking, asking->cache, addr);
	for (unsigned i = 0; i < config->zone_count; i++) {
		const struct zone *zone = asking->zones + i;
		uint64_t wanted = zone->entries.entries & entries;
		if (wanted == 0)
			continue;
		if (table == NULL || !peek_shared(zone, table, addr, false, &look)) {
			uint64_t word = asking_word(zone);
			peek_own(zone, word, now_s, addr, false, &look);
			has_work |= health_unpack(word).due_s <= now_s;
		}
		has_work |= look.is_old;
		add(zone, wanted, addr, &look, ret_result);
	}
	verdict_finish(config, entries, ret_result);
	*ret_has_work = has_work;
	return (entries & ~(ret_result->zones_answered | ret_result->zones_failed)) == 0
		       ? DNSBLV6_OK
		       : -EAGAIN;
}
