/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/engine/look.h"

#include <errno.h>

#include "client-lib/cache/cache_table.h"
#include "client-lib/cache/ranges.h"
#include "client-lib/config/scope.h"
#include "lib/format/wellknown.h"

#define FAILURE_LEVEL 15 /* of cache_key_range(); ranges have 1 to 9 */
#define FAILURE_BITS  50 /* of an index there */
#define SPREAD	      0x9e3779b97f4a7c15ull

#define UNLIKELY(what) __builtin_expect(what, 0)

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

/* One zone in one cache. */
struct look_place {
	const struct config *config;
	const struct cache *cache;
	unsigned zone; /* index in cache */
	uint64_t word;
	uint32_t now_s;
	bool takes_expired;
};

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
	       entry->kind == CACHE_VALUES || entry->kind == CACHE_PAIRS;
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
	uint32_t expires_s;

	if (!place->config->use_ranges || !ranges_has(place->cache, place->zone, health_style(mode),
						      addr, place->now_s, &expires_s))
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

static void look_into(const struct look_place *place, struct dnsblv6_addr addr,
		      struct look *ret_look)
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

/* ---- one zone: the daemon's cache first, then our own ---- */

/* The daemon may take answers that are not validated, where this handle may not. */
static bool is_safe(const struct zone *zone, const struct look *look)
{
	return zone->config->secure != CONFIG_SECURE_YES || look->kind != LOOK_ANSWER ||
	       look->entry.is_secure;
}

static const struct shared_table *get_table(const struct zones *all)
{
	return all->shared != NULL ? shared_get(all->shared) : NULL;
}

/* False: the daemon's cache does not have the zone. */
static bool find_place(const struct zone *zone, const struct shared_table *table,
		       bool takes_expired, struct look_place *ret_place)
{
	int index = table->zones[zone->index];
	if (index < 0)
		return false;
	*ret_place = (struct look_place){
		.config = zone->all->config,
		.cache = table->cache,
		.zone = (unsigned)index,
		.word = cache_zone_get(table->cache, (unsigned)index, CACHE_ZONE_WORD),
		.now_s = cache_now_s(table->cache),
		.takes_expired = takes_expired,
	};
	return true;
}

/* False: the daemon's cache has nothing to say about the zone. */
static bool look_in_table(const struct zone *zone, const struct shared_table *table,
			  struct dnsblv6_addr addr, bool takes_expired, struct look *ret_look)
{
	struct look_place place;

	if (!find_place(zone, table, takes_expired, &place))
		return false;
	/* The daemon probes when it is asked. It may also be none. */
	if (health_is_sick(health_unpack(place.word).state) &&
	    health_is_due(place.word, place.now_s))
		return false;
	look_into(&place, addr, ret_look);
	return ret_look->kind != LOOK_MISS && is_safe(zone, ret_look);
}

bool look_shared(const struct zone *zone, struct dnsblv6_addr addr, bool takes_expired,
		 struct look *ret_look)
{
	const struct shared_table *table = get_table(zone->all);
	struct look_place place;

	if (table == NULL || !find_place(zone, table, takes_expired, &place))
		return false;
	look_into(&place, addr, ret_look);
	return true;
}

static void look_own(const struct zone *zone, uint64_t word, uint32_t now_s,
		     struct dnsblv6_addr addr, bool takes_expired, struct look *ret_look)
{
	struct look_place place = {
		.config = zone->all->config,
		.cache = zone->all->cache,
		.zone = zone->index,
		.word = word,
		.now_s = now_s,
		.takes_expired = takes_expired,
	};
	look_into(&place, addr, ret_look);
}

void look_zone(const struct zone *zone, struct dnsblv6_addr addr, bool takes_expired,
	       struct look *ret_look)
{
	const struct shared_table *table = get_table(zone->all);

	if (table == NULL || !look_in_table(zone, table, addr, takes_expired, ret_look))
		look_own(zone, zone_word(zone), cache_now_s(zone->all->cache), addr, takes_expired,
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
	verdict_add_answer(zone->all->config, zone->entries, entries, &look->entry, addr,
			   look->ttl_s, result);
	result->zones_cached |= entries;
}

/* Adds these zones, and ends what others have begun. */
static int add_zones(const struct zones *all, const struct shared_table *table, uint64_t zones,
		     uint64_t hi, uint64_t lo, uint64_t entries, struct dnsblv6_result *result)
{
	struct dnsblv6_addr addr = { hi, lo };
	uint32_t now_s = cache_now_s(all->cache);
	struct look look;

	for (uint64_t left = zones; left != 0; left &= left - 1) {
		const struct zone *zone = all->zones + __builtin_ctzll(left);
		if (table == NULL || !look_in_table(zone, table, addr, false, &look)) {
			uint64_t word = zone_word(zone);
			look_own(zone, word, now_s, addr, false, &look);
			result->is_due |= health_is_due(word, now_s);
		}
		result->is_due |= look.is_old;
		add(zone, zone->entries->entries & entries, addr, &look, result);
	}
	verdict_finish(all->config, entries, result);
	return (entries & ~(result->zones_answered | result->zones_failed)) == 0 ? DNSBLV6_OK
										 : -EAGAIN;
}

int look_all_at_length(const struct zones *all, uint64_t hi, uint64_t lo, uint64_t entries,
		       struct dnsblv6_result *ret_result)
{
	uint64_t zones = 0;

	for (unsigned i = 0; i < all->config->zone_count; i++) {
		if ((all->zones[i].entries->entries & entries) != 0)
			zones |= 1ull << i;
	}
	verdict_init(ret_result);
	return add_zones(all, get_table(all), zones, hi, lo, entries, ret_result);
}

/* ---- the short way: a live bitmap, or a range, of a zone that is well ---- */

/* What is asked, and in which cache. Registers: all that has it is inlined into its user. */
struct glance {
	const struct zones *all;
	struct cache *cache; /* the daemon's, where it has one, or our own */
	const int *indices;  /* of our zones in it; NULL: the same */
	uint64_t word;	     /* cache_block_word() */
	uint64_t block;	     /* key in the zone with index 0 */
	uint64_t hash;	     /* of that */
	uint32_t now_s;
	bool is_ipv4;
};

/* What was found so far: registers too, so that what has it is inlined with -O2 as well. */
struct found {
	uint64_t answered, listed, secure; /* entries */
	int64_t score;
	uint32_t ttl_s;
	bool has_work;
};

/* A zone that the short way may be for. */
struct target {
	const struct verdict_zone *zone;
	const uint64_t *set; /* of its block; on its way */
	uint8_t *marks;	     /* of that */
	struct cache_key key;
	uint64_t *place; /* of the zone's word in the header */
	uint64_t word;
};

static inline __attribute__((always_inline)) void begin(const struct zones *all,
							const struct shared_table *table,
							bool is_ipv4, uint64_t word,
							struct glance *ret_glance)
{
	uint64_t block = cache_key_of_word(0, is_ipv4, word).word;
	struct cache *cache = table != NULL ? table->cache : all->cache;

	*ret_glance = (struct glance){
		.all = all,
		.cache = cache,
		.indices = table != NULL ? table->zones : NULL,
		.word = word,
		.block = block,
		.hash = cache_hash_word(cache, block),
		.is_ipv4 = is_ipv4,
	};
}

/* The sets of all zones' blocks are fetched at once, not one after the other. */
static inline __attribute__((always_inline)) bool
aim(const struct glance *glance, const struct verdict_zone *zone, struct target *ret_target)
{
	unsigned index = zone->index;

	if (glance->indices != NULL) {
		if (glance->indices[index] < 0)
			return false;
		index = (unsigned)glance->indices[index];
	}
	ret_target->zone = zone;
	ret_target->key = cache_move_key(glance->block, index);
	uint64_t set = cache_hash_index(glance->cache, cache_move_hash(glance->hash, index));
	ret_target->set = glance->cache->slots + set * CACHE_SET_WORDS;
	ret_target->marks = glance->cache->marks + set;
	cache_fetch_set(ret_target->set);
	ret_target->place = glance->cache->header + CACHE_WORD_ZONE + index;
	/* cache_zone_get() of CACHE_ZONE_WORD, without the call. */
	ret_target->word = __atomic_load_n(ret_target->place, __ATOMIC_ACQUIRE);
	return (glance->indices == NULL || !zone->wants_secure) &&
	       health_is_plain(ret_target->word, glance->is_ipv4);
}

/*
 * False for all that needs look_into(): values, what is stale, has expired, has little of its TTL left,
 * or was not whole when it was read. There is no branch for what the bitmap says, since whether it
 * lists cannot be foretold.
 */
static inline __attribute__((always_inline)) bool
take_slot(const struct glance *glance, const struct target *target, const uint64_t *set,
	  const uint64_t *words, uint8_t *marks, struct found *found, uint32_t *ret_left_s)
{
	const struct verdict_zone *zone = target->zone;
	struct cache_slot slot = cache_read_found(words, target->key);
	int64_t left_s = (int64_t)cache_slot_expiry(&slot) - glance->now_s;
	uint64_t era = cache_load(target->place + CACHE_WORD_ERA - CACHE_WORD_ZONE);

	if (!cache_slot_is_bitmap(&slot) || left_s < cache_slot_fresh_s(glance->cache, &slot) ||
	    !cache_slot_fits(glance->cache, &slot, era))
		return false;
	uint64_t is_listed = cache_slot_mask(&slot, (unsigned)glance->word & 127);
	uint64_t is_secure = -(uint64_t)(cache_slot_flags(&slot) & CACHE_FLAG_SECURE);
	found->listed |= zone->bitmap_entries & is_listed;
	found->score += zone->bitmap_weight & (int64_t)is_listed;
	found->secure |= zone->entries & is_secure;
	cache_mark_slot(glance->cache, marks, cache_place_of(set, words));
	*ret_left_s = (uint32_t)left_s;
	return true;
}

/* False: the zone is not proven to have nothing of the block. */
static inline __attribute__((always_inline)) bool take_range(const struct glance *glance,
							     const struct target *target,
							     struct found *found,
							     uint32_t *ret_left_s)
{
	enum dnsblv6_style style = health_style(health_unpack(target->word).mode);

	if (!glance->all->config->use_ranges)
		return false;
	uint32_t left_s = ranges_left_s(glance->cache, cache_key_zone(target->key), style,
					glance->is_ipv4, glance->word, glance->now_s);
	if (left_s == 0)
		return false;
	found->secure |= target->zone->entries;
	*ret_left_s = left_s;
	return true;
}

static inline __attribute__((always_inline)) bool
glance_zone(const struct glance *glance, const struct target *target, struct found *found)
{
	const uint64_t *set = target->set;
	const uint64_t *words = cache_find_words(set, target->key);
	uint8_t *marks = target->marks;
	uint32_t left_s = 0;

	if (words == NULL && cache_has_away(marks)) {
		set = cache_away_set(glance->cache, target->key);
		marks = cache_marks_of(glance->cache, set);
		words = cache_find_words(set, target->key);
	}
	if (words != NULL ? !take_slot(glance, target, set, words, marks, found, &left_s)
			  : !take_range(glance, target, found, &left_s))
		return false;
	found->answered |= target->zone->entries;
	found->ttl_s = left_s < found->ttl_s ? left_s : found->ttl_s;
	if (glance->indices == NULL)
		found->has_work |= health_is_due(target->word, glance->now_s);
	return true;
}

/* Returns the zones, as a set, that have to be looked at at length. */
static inline __attribute__((always_inline)) uint64_t
glance_zones(struct glance *glance, uint64_t entries, struct found *found)
{
	const struct verdict_zone *zone = glance->all->entries;
	const struct verdict_zone *end = zone + glance->all->config->zone_count;
	struct target targets[CONFIG_ZONES_MAX];
	struct target *last = targets;
	uint64_t left = 0;

	for (; zone < end; zone++) {
		uint64_t wanted = zone->entries & entries;
		if (wanted == zone->entries && aim(glance, zone, last))
			last++;
		else if (wanted != 0)
			left |= 1ull << zone->index;
	}
	glance->now_s = cache_recent_s(glance->cache);
	for (const struct target *target = targets; target < last; target++) {
		if (!glance_zone(glance, target, found))
			left |= 1ull << target->zone->index;
	}
	return left;
}

static inline void fill(const struct found *found, struct dnsblv6_result *ret_result)
{
	ret_result->zones_listed = found->listed;
	ret_result->zones_answered = found->answered;
	ret_result->zones_secure = found->secure;
	ret_result->zones_cached = found->answered;
	ret_result->ttl_s = found->ttl_s;
	ret_result->is_due = found->has_work;
}

/* Canaries are among these. */
static inline bool is_loopback(uint64_t hi, uint64_t lo)
{
	return cache_is_ipv4(hi, lo) && (uint32_t)lo >> 24 == 127;
}

int look_all(const struct zones *all, uint64_t hi, uint64_t lo, uint64_t entries,
	     struct dnsblv6_result *ret_result)
{
	if (is_loopback(hi, lo))
		return look_all_at_length(all, hi, lo, entries, ret_result);
	const struct shared_table *table = get_table(all);
	struct found found = { .ttl_s = UINT32_MAX };
	struct glance glance;

	begin(all, table, cache_is_ipv4(hi, lo), cache_block_word(hi, lo), &glance);
	uint64_t left = glance_zones(&glance, entries, &found);
	verdict_init(ret_result);
	fill(&found, ret_result);
	if (left != 0 || found.answered == 0)
		return add_zones(all, table, left, hi, lo, entries, ret_result);
	verdict_finish_whole(all->config, found.score, ret_result);
	return DNSBLV6_OK;
}

/* A function of its own, so that look_address() has the registers for itself. */
static __attribute__((noinline)) int look_any(const struct zones *all, struct dnsblv6_addr addr,
					      uint64_t zones, struct dnsblv6_result *ret_result)
{
	if (config_entries(all->config, CONFIG_ADDRESS, zones) == 0)
		return -EINVAL;
	return look_all(all, addr.hi, addr.lo,
			scope_entries(all->config, CONFIG_ADDRESS, addr, zones), ret_result);
}

/* scope_is_private() without a call. */
static inline bool is_private(struct dnsblv6_addr addr, bool is_ipv4)
{
	return is_ipv4 ? scope_is_private4((uint32_t)addr.lo) : scope_is_private(addr);
}

/*
 * The one zone of most handles, without a branch that is taken where the answer is in the cache.
 * Memory comes while all else is done that does not need it.
 */
static inline __attribute__((always_inline)) int look_single(const struct zones *all,
							     struct dnsblv6_addr addr, bool is_ipv4,
							     uint64_t zones,
							     struct dnsblv6_result *ret_result)
{
	struct found found = { .ttl_s = UINT32_MAX };
	struct glance glance;
	struct target target;

	begin(all, NULL, is_ipv4, is_ipv4 ? (uint32_t)addr.lo : addr.hi, &glance);
	bool is_plain = aim(&glance, all->single, &target);
	if (UNLIKELY(!is_plain) || UNLIKELY(zones != 0) ||
	    UNLIKELY(is_ipv4 && is_loopback(addr.hi, addr.lo)) ||
	    UNLIKELY(!all->config->asks_private && is_private(addr, is_ipv4)))
		return look_any(all, addr, zones, ret_result);
	verdict_init_whole(ret_result);
	glance.now_s = cache_recent_s(glance.cache);
	if (UNLIKELY(!glance_zone(&glance, &target, &found)))
		return look_any(all, addr, zones, ret_result);
	fill(&found, ret_result);
	verdict_finish_whole(all->config, found.score, ret_result);
	return DNSBLV6_OK;
}

static __attribute__((noinline)) int look_single6(const struct zones *all, struct dnsblv6_addr addr,
						  uint64_t zones, struct dnsblv6_result *ret_result)
{
	return look_single(all, addr, false, zones, ret_result);
}

int look_address(const struct zones *all, const struct dnsblv6_ip *ip, uint64_t zones,
		 struct dnsblv6_result *ret_result)
{
	struct dnsblv6_addr addr = dnsblv6_addr_from_bytes(ip->bytes);

	if (UNLIKELY(all->single == NULL))
		return look_any(all, addr, zones, ret_result);
	if (UNLIKELY(!cache_is_ipv4(addr.hi, addr.lo)))
		return look_single6(all, addr, zones, ret_result);
	return look_single(all, addr, true, zones, ret_result);
}
