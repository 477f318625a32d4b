/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/engine/look.h"

#include "client-lib/cache/cache_table.h"
#include "client-lib/cache/ranges.h"
#include "lib/format/wellknown.h"

#define FAILURE_LEVEL 15 /* of cache_key_range(); ranges have 1 to 9 */
#define FAILURE_BITS  50 /* of an index there */
#define SPREAD	      0x9e3779b97f4a7c15ull

struct cache_key look_key(const struct cache *cache, unsigned zone, bool is_block,
			  struct dnsblv6_addr addr)
{
	return is_block ? cache_key_block(zone, addr) : cache_key_address(cache, zone, addr);
}

struct cache_key look_failure_key(unsigned zone, struct cache_key key)
{
	/* Two keys that meet here share a failure for some seconds, once in 2^50. */
	return cache_key_range(zone, true, FAILURE_LEVEL,
			       (key.word * SPREAD) >> (64 - FAILURE_BITS));
}

/* ---- what needs no question in any state of the cache ---- */

/* FORMAT.md part 7: the bits of a canary are never listings. */
static bool is_canary(struct dnsblv6_addr addr)
{
	if (!dnsblv6_addr_is_ipv4(addr) || dnsblv6_addr_ipv4(addr) >> 24 != 127)
		return false;
	struct dnsblv6_addr block = dnsblv6_block_of(addr).first;
	for (unsigned i = 0; i < DNSBLV6_CANARY_COUNT; i++) {
		if (dnsblv6_addr_compare(dnsblv6_canary_get(i)->block, block) == 0)
			return true;
	}
	return false;
}

static void answer_nothing(struct look *look, uint32_t ttl_s)
{
	look->kind = LOOK_ANSWER;
	look->entry = (struct cache_entry){ .kind = CACHE_BITMAP };
	look->ttl_s = ttl_s;
}

/* ---- slots ---- */

static bool is_stale_enough(const struct look_place *place, const struct cache_entry *entry)
{
	return place->config->max_stale_s > 0 &&
	       place->now_s - entry->expires_s <= place->config->max_stale_s;
}

/* Has a question failed so lately that another one is not worth it? */
static bool has_failed(const struct look_place *place, struct cache_key key,
		       enum answer_failure *ret_failure)
{
	struct cache_entry entry;

	if (cache_get(place->cache, look_failure_key(place->zone, key), &entry) != DNSBLV6_OK ||
	    entry.kind != CACHE_FAILED || entry.expires_s <= place->now_s)
		return false;
	*ret_failure = (enum answer_failure)entry.payload.bytes[0];
	return true;
}

static void take_entry(const struct look_place *place, struct cache_key key, struct look *look)
{
	enum answer_failure failure;
	uint64_t left_s = look->entry.expires_s - place->now_s;

	look->kind = LOOK_ANSWER;
	look->ttl_s = (uint32_t)left_s;
	look->is_old =
		left_s * 100 < (uint64_t)look->entry.ttl_s * place->config->prefetch_percent &&
		!has_failed(place, key, &failure);
	cache_mark(place->cache, key);
}

static void take_stale(const struct look_place *place, struct look *look)
{
	look->kind = LOOK_ANSWER;
	look->entry.is_stale = true;
	look->ttl_s = place->config->failure_ttl_s;
}

static bool is_usable(const struct cache_entry *entry)
{
	return entry->kind == CACHE_BITMAP || entry->kind == CACHE_LOW ||
	       entry->kind == CACHE_VALUES;
}

/*
 * The answer for one key, live or as stale as it may be. When there is none: LOOK_FAILED and
 * why, or LOOK_MISS.
 */
static void look_slot(const struct look_place *place, struct cache_key key, bool is_sick,
		      struct look *look, enum answer_failure *ret_failure)
{
	bool has_entry =
		cache_get(place->cache, key, &look->entry) == DNSBLV6_OK && is_usable(&look->entry);

	if (has_entry && look->entry.expires_s > place->now_s) {
		take_entry(place, key, look);
		return;
	}
	*ret_failure = ANSWER_SILENT;
	bool is_failed = has_failed(place, key, ret_failure) || is_sick;
	if (has_entry && (is_failed || place->takes_expired) &&
	    is_stale_enough(place, &look->entry)) {
		take_stale(place, look);
		return;
	}
	look->kind = is_failed ? LOOK_FAILED : LOOK_MISS;
}

static bool look_range(const struct look_place *place, enum health_mode mode,
		       struct dnsblv6_addr addr, struct look *look)
{
	enum dnsblv6_style style = mode == HEALTH_FLAT ? DNSBLV6_STYLE_FLAT : DNSBLV6_STYLE_DOTTED;
	uint32_t expires_s;

	if (!place->config->use_ranges ||
	    !ranges_has(place->cache, place->zone, style, addr, place->now_s, &expires_s))
		return false;
	answer_nothing(look, expires_s - place->now_s);
	look->entry.is_secure = true;
	return true;
}

static void look_block(const struct look_place *place, const struct health_word *parts,
		       struct dnsblv6_addr addr, struct look *look)
{
	bool is_sick = health_is_sick(parts->state);
	enum answer_failure failure = ANSWER_GOOD;

	look_slot(place, cache_key_block(place->zone, addr), is_sick, look, &failure);
	if (look->kind == LOOK_ANSWER && !look->entry.is_stale)
		return;
	if (look_range(place, parts->mode, addr, look))
		return;
	/* This block's address was dropped on the way: the classic zone knows too. */
	look->is_block =
		look->kind != LOOK_FAILED || failure != ANSWER_FILTERED || !parts->has_classic;
	if (!look->is_block)
		look_slot(place, cache_key_address(place->cache, place->zone, addr), is_sick, look,
			  &failure);
}

/* Is addr asked for in the classic way, at the zone itself or the one beside it? */
static bool is_classic(const struct health_word *parts)
{
	return parts->mode == HEALTH_CLASSIC ||
	       (parts->state == DNSBLV6_ZONE_FILTERED && parts->has_classic);
}

/* Blocks, or a family, that a bitmap zone answers for by its very format. */
static bool is_settled(const struct health_word *parts, struct dnsblv6_addr addr)
{
	if (parts->mode == HEALTH_CLASSIC)
		return false;
	return !(dnsblv6_addr_is_ipv4(addr) ? parts->has_ipv4 : parts->has_ipv6) || is_canary(addr);
}

void look_zone(const struct look_place *place, struct dnsblv6_addr addr, struct look *ret_look)
{
	struct health_word parts = health_unpack(place->word);
	bool is_sick = health_is_sick(parts.state);
	enum answer_failure failure;

	ret_look->kind = is_sick ? LOOK_FAILED : LOOK_MISS;
	ret_look->is_old = false;
	ret_look->is_block = false;
	if (health_is_distrusted(parts.state) || parts.mode == HEALTH_UNKNOWN)
		return;
	/* Lists without IPv6 are many, so its test points are asked for when they are needed. */
	if (parts.mode == HEALTH_CLASSIC && !parts.has_ipv6 && !dnsblv6_addr_is_ipv4(addr))
		return;
	if (is_settled(&parts, addr))
		answer_nothing(ret_look, UINT32_MAX);
	else if (is_classic(&parts))
		look_slot(place, cache_key_address(place->cache, place->zone, addr), is_sick,
			  ret_look, &failure);
	else
		look_block(place, &parts, addr, ret_look);
}
