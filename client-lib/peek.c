/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/peek.h"

#include <errno.h>
#include <string.h>

#include "client-lib/cache_table.h"
#include "client-lib/ranges.h"

/* The daemon may take answers that are not validated, where this handle may not. */
static bool is_safe(const struct zone *zone, const struct look *look)
{
	return zone->config->secure != CONFIG_SECURE_YES || look->kind != LOOK_ANSWER ||
	       look->entry.is_secure;
}

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
	/* The daemon probes when it is asked. It may also be none. */
	if (health_is_sick(parts.state) && place.now_s >= parts.due_s)
		return false;
	look_zone(&place, addr, ret_look);
	return ret_look->kind != LOOK_MISS && is_safe(zone, ret_look);
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

/* ---- all zones at length ---- */

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

/* Adds these zones, and ends what others have begun. */
static int add_zones(const struct asking *asking, const struct shared_table *table, uint64_t zones,
		     struct dnsblv6_addr addr, uint64_t entries, bool *has_work,
		     struct dnsblv6_result *result)
{
	uint32_t now_s = cache_now_s(asking->cache);
	struct look look;

	for (uint64_t left = zones; left != 0; left &= left - 1) {
		const struct zone *zone = asking->zones + __builtin_ctzll(left);
		if (table == NULL || !peek_shared(zone, table, addr, false, &look)) {
			uint64_t word = asking_word(zone);
			peek_own(zone, word, now_s, addr, false, &look);
			*has_work |= health_has_work(word, now_s);
		}
		*has_work |= look.is_old;
		add(zone, zone->entries.entries & entries, addr, &look, result);
	}
	verdict_finish(asking->config, entries, result);
	return (entries & ~(result->zones_answered | result->zones_failed)) == 0 ? DNSBLV6_OK
										 : -EAGAIN;
}

static const struct shared_table *get_table(const struct asking *asking)
{
	return asking->shared != NULL ? shared_get(asking->shared) : NULL;
}

int peek_all_at_length(const struct asking *asking, struct dnsblv6_addr addr, uint64_t entries,
		       bool *ret_has_work, struct dnsblv6_result *ret_result)
{
	uint64_t zones = 0;

	for (unsigned i = 0; i < asking->config->zone_count; i++) {
		if ((asking->zones[i].entries.entries & entries) != 0)
			zones |= 1ull << i;
	}
	verdict_init(ret_result);
	*ret_has_work = false;
	return add_zones(asking, get_table(asking), zones, addr, entries, ret_has_work, ret_result);
}

/* ---- the short way: a live bitmap, or a range, of a zone that is well ---- */

/* What is asked, and of whom. Why the address is not copied is said in cache_table.h. */
struct glance {
	const struct asking *asking;
	const struct cache *cache; /* the daemon's, where it has one, or our own */
	const int *indices;	   /* of our zones in it; NULL: the same */
	const struct dnsblv6_addr *addr;
	uint64_t block; /* key in the zone with index 0 */
	unsigned host;
	uint32_t now_s;
	bool is_ipv4;
};

/* What was found so far. Not in memory: all that has it is inlined into peek_all(). */
struct found {
	uint64_t answered, listed, secure; /* entries */
	int64_t score;
	uint32_t ttl_s;
	bool has_work;
};

/* A zone that the short way may be for. */
struct target {
	const struct zone *zone;
	const uint64_t *set; /* of its block; on its way */
	struct cache_key key;
	uint64_t word;
};

/* The sets of all zones' blocks are fetched at once, not one after the other. */
static inline bool aim(const struct glance *glance, unsigned number, uint64_t entries,
		       struct target *ret_target)
{
	const struct zone *zone = glance->asking->zones + number;
	int index = glance->indices == NULL ? (int)number : glance->indices[number];

	if (index < 0 || (zone->entries.entries & ~entries) != 0)
		return false;
	if (glance->indices != NULL && zone->config->secure == CONFIG_SECURE_YES)
		return false;
	ret_target->word = cache_load(glance->cache->header + CACHE_WORD_ZONE + index);
	if (!health_is_plain(ret_target->word, glance->is_ipv4))
		return false;
	ret_target->zone = zone;
	ret_target->key = cache_move_key(glance->block, (unsigned)index);
	ret_target->set = cache_set_of(glance->cache, ret_target->key);
	cache_fetch_set(ret_target->set);
	return true;
}

/* How long it is proven that the zone has nothing of the block, seconds; 0: it is not. */
static uint32_t range_left_s(const struct glance *glance, const struct target *target)
{
	enum dnsblv6_style style = health_unpack(target->word).mode == HEALTH_FLAT
					   ? DNSBLV6_STYLE_FLAT
					   : DNSBLV6_STYLE_DOTTED;
	uint32_t expires_s;

	if (!glance->asking->config->use_ranges ||
	    !ranges_has(glance->cache, cache_key_zone(target->key), style, *glance->addr,
			glance->now_s, &expires_s))
		return 0;
	return expires_s - glance->now_s;
}

static inline uint64_t all_or_none(bool is_all)
{
	return -(uint64_t)is_all;
}

/* Without a branch for what the bitmap says: whether it lists cannot be foretold. */
static inline void take_slot(const struct glance *glance, const struct verdict_zone *zone,
			     const struct cache_slot *slot, struct found *found)
{
	uint64_t is_listed = all_or_none(cache_slot_bit(slot, glance->host));

	found->listed |= zone->bitmap_entries & is_listed;
	found->score += zone->bitmap_weight & (int64_t)is_listed;
	found->secure |=
		zone->entries & all_or_none((cache_slot_flags(slot) & CACHE_FLAG_SECURE) != 0);
}

/* Anything else is for look.c: values, what is stale, and what has little of its TTL left. */
static inline bool is_fresh_bitmap(const struct glance *glance, const struct cache_slot *slot,
				   uint32_t left_s)
{
	uint64_t wanted = (uint64_t)cache_slot_ttl(slot) * glance->asking->config->prefetch_percent;

	return cache_slot_kind(slot) == CACHE_BITMAP &&
	       (cache_slot_flags(slot) & CACHE_FLAG_STALE) == 0 && (uint64_t)left_s * 100 >= wanted;
}

static inline __attribute__((always_inline)) bool
glance_zone(const struct glance *glance, const struct target *target, struct found *found)
{
	const struct verdict_zone *zone = &target->zone->entries;
	struct cache_slot slot;
	unsigned place;
	uint32_t left_s;

	if (cache_find(glance->cache, target->set, target->key, &slot, &place) &&
	    cache_slot_expiry(&slot) > glance->now_s) {
		left_s = cache_slot_expiry(&slot) - glance->now_s;
		if (!is_fresh_bitmap(glance, &slot, left_s))
			return false;
		take_slot(glance, zone, &slot, found);
		cache_mark_slot(glance->cache, target->set, place);
	} else {
		left_s = range_left_s(glance, target);
		if (left_s == 0)
			return false;
		found->secure |= zone->entries;
	}
	found->answered |= zone->entries;
	found->ttl_s = left_s < found->ttl_s ? left_s : found->ttl_s;
	if (glance->indices == NULL)
		found->has_work |= health_unpack(target->word).due_s <= glance->now_s;
	return true;
}

/* Returns the zones, as a set, that have to be looked at at length. */
static inline __attribute__((always_inline)) uint64_t
glance_zones(struct glance *glance, uint64_t entries, struct found *found)
{
	const struct asking *asking = glance->asking;
	struct target targets[CONFIG_ZONES_MAX];
	unsigned count = 0;
	uint64_t left = 0;

	for (unsigned i = 0; i < asking->config->zone_count; i++) {
		if ((asking->zones[i].entries.entries & entries) == 0)
			continue;
		if (aim(glance, i, entries, targets + count))
			count++;
		else
			left |= 1ull << i;
	}
	glance->now_s = cache_now_s(glance->cache);
	for (unsigned i = 0; i < count; i++) {
		if (!glance_zone(glance, targets + i, found))
			left |= 1ull << targets[i].zone->index;
	}
	return left;
}

/* As verdict_init(), with what was found. */
static inline void fill(const struct found *found, struct dnsblv6_result *ret_result)
{
	ret_result->zones_listed = found->listed;
	ret_result->zones_answered = found->answered;
	ret_result->zones_failed = 0;
	ret_result->zones_stale = 0;
	ret_result->zones_secure = found->secure;
	ret_result->zones_cached = found->answered;
	ret_result->ttl_s = found->ttl_s;
	ret_result->elapsed_us = 0;
	ret_result->queries = 0;
	ret_result->is_due = 0;
	memset(ret_result->reserved, 0, sizeof(ret_result->reserved));
	memset(ret_result->codes, 0, sizeof(ret_result->codes));
}

int peek_all(const struct asking *asking, struct dnsblv6_addr addr, uint64_t entries,
	     bool *ret_has_work, struct dnsblv6_result *ret_result)
{
	const struct shared_table *table = get_table(asking);
	struct found found = { .ttl_s = UINT32_MAX };
	struct glance glance = {
		.asking = asking,
		.cache = table != NULL ? table->cache : asking->cache,
		.indices = table != NULL ? table->zones : NULL,
		.addr = &addr,
		.block = cache_make_block(0, addr.hi, addr.lo).word,
		.host = (unsigned)(cache_is_ipv4(addr.hi, addr.lo) ? addr.lo : addr.hi) & 127,
		.is_ipv4 = cache_is_ipv4(addr.hi, addr.lo),
	};

	/* Canaries are among these. */
	if (glance.is_ipv4 && (uint32_t)addr.lo >> 24 == 127)
		return peek_all_at_length(asking, addr, entries, ret_has_work, ret_result);
	uint64_t left = glance_zones(&glance, entries, &found);
	fill(&found, ret_result);
	*ret_has_work = found.has_work;
	if (left != 0)
		return add_zones(asking, table, left, addr, entries, ret_has_work, ret_result);
	verdict_finish_whole(asking->config, found.score, ret_result);
	return DNSBLV6_OK;
}
