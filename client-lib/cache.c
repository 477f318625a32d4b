/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "client-lib/cache_table.h"

enum { PAGE_BYTES = 4096 };

/* ---- slots ---- */

const uint32_t cache_ttl_classes[16] = { 0,   5,    10,	  30,	60,    120,   300,   600,
					 900, 1800, 3600, 7200, 21600, 43200, 86400, 604800 };

#define EXPIRY_MAX ((1u << 28) - 1) /* eight years after the epoch */

static unsigned class_of(uint32_t ttl_s)
{
	unsigned found = 15;
	while (cache_ttl_classes[found] > ttl_s)
		found--;
	return found;
}

static struct cache_slot encode(const struct cache *cache, struct cache_key key,
				const struct cache_entry *entry)
{
	struct cache_slot slot = { .key = key.word };
	uint64_t expires_s = entry->expires_s < EXPIRY_MAX ? entry->expires_s : EXPIRY_MAX;
	uint64_t flags = (entry->is_secure ? CACHE_FLAG_SECURE : 0) |
			 (entry->is_stale ? CACHE_FLAG_STALE : 0);

	memcpy(&slot.head, entry->payload.bytes, sizeof(slot.head));
	memcpy(&slot.tail, entry->payload.bytes + sizeof(slot.head), sizeof(slot.tail));
	slot.meta = expires_s << CACHE_EXPIRY_SHIFT |
		    (uint64_t)(entry->kind & 15) << CACHE_KIND_SHIFT | flags << CACHE_FLAGS_SHIFT |
		    (uint64_t)class_of(entry->ttl_s) << CACHE_CLASS_SHIFT;
	slot.meta |= cache_slot_sum(cache, &slot);
	return slot;
}

static inline void decode(const struct cache_slot *slot, struct cache_entry *ret_entry)
{
	ret_entry->kind = (enum cache_kind)(slot->meta >> CACHE_KIND_SHIFT & 15);
	ret_entry->is_secure = (slot->meta >> CACHE_FLAGS_SHIFT & CACHE_FLAG_SECURE) != 0;
	ret_entry->is_stale = (slot->meta >> CACHE_FLAGS_SHIFT & CACHE_FLAG_STALE) != 0;
	ret_entry->expires_s = cache_slot_expiry(slot);
	ret_entry->ttl_s = cache_ttl_classes[slot->meta >> CACHE_CLASS_SHIFT & 15];
	memcpy(ret_entry->payload.bytes, &slot->head, sizeof(slot->head));
	memcpy(ret_entry->payload.bytes + sizeof(slot->head), &slot->tail, sizeof(slot->tail));
}

/* ---- keys ---- */

struct cache_key cache_key_block(unsigned zone, struct dnsblv6_addr addr)
{
	return cache_key_of_word(zone, cache_is_ipv4(addr.hi, addr.lo),
				 cache_block_word(addr.hi, addr.lo));
}

/* Every bit of the result depends on every bit of word, and no two words give the same. */
static uint64_t mix(uint64_t word)
{
	word ^= word >> 32;
	word *= CACHE_SPREAD_C;
	word ^= word >> 32;
	word *= CACHE_SPREAD_A;
	return word ^ word >> 32;
}

struct cache_key cache_key_address(const struct cache *cache, unsigned zone,
				   struct dnsblv6_addr addr)
{
	if (dnsblv6_addr_is_ipv4(addr))
		return cache_make_other(zone, (uint64_t)CACHE_TAG_ADDRESS << CACHE_TAG_SHIFT |
						      dnsblv6_addr_ipv4(addr));
	uint64_t hash = mix(mix(addr.hi ^ cache->seed[0]) ^ addr.lo ^ cache->seed[1]);
	return cache_make_other(zone, 1ull << CACHE_HASH_SHIFT | hash >> (64 - CACHE_HASH_SHIFT));
}

struct cache_key cache_key_range(unsigned zone, bool is_ipv4, unsigned level, uint64_t index)
{
	return cache_make_range(zone, is_ipv4, level, index);
}

/* ---- tables ---- */

uint64_t cache_table_size(uint64_t size_bytes)
{
	if (size_bytes < CACHE_SIZE_MIN || size_bytes / CACHE_SET_SIZE > CACHE_SETS_MAX)
		return 0;
	return size_bytes / PAGE_BYTES * PAGE_BYTES;
}

uint64_t cache_table_offset(uint64_t names_size)
{
	return (CACHE_NAMES_OFFSET + names_size + CACHE_SET_SIZE - 1) / CACHE_SET_SIZE *
	       CACHE_SET_SIZE;
}

uint64_t cache_table_sets(uint64_t size_bytes, uint64_t names_size)
{
	uint64_t offset = cache_table_offset(names_size);
	return size_bytes > offset ? (size_bytes - offset) / (CACHE_SET_SIZE + 1) : 0;
}

void cache_table_fill(uint64_t *header, uint64_t size_bytes, uint64_t names_size)
{
	uint64_t seed[2];

	/* A kernel whose generator is not ready yet: then nobody has sent us mail either. */
	if (getrandom(seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed)) {
		seed[0] = mix(cache_clock_s() ^ (uint64_t)getpid() << 32);
		seed[1] = mix(seed[0]);
	}
	header[CACHE_WORD_MAGIC] = CACHE_MAGIC;
	header[CACHE_WORD_VERSION] = CACHE_VERSION;
	header[CACHE_WORD_SIZE] = size_bytes;
	header[CACHE_WORD_SETS] = cache_table_sets(size_bytes, names_size);
	header[CACHE_WORD_EPOCH] = cache_clock_s() - 1; /* it is never 0 o'clock */
	header[CACHE_WORD_SEED] = seed[0];
	header[CACHE_WORD_SEED + 1] = seed[1] | 1; /* it multiplies */
	header[CACHE_WORD_NAMES_SIZE] = names_size;
}

void cache_table_use(struct cache *cache, void *memory, const uint64_t *header, bool is_writable)
{
	uint64_t offset = cache_table_offset(header[CACHE_WORD_NAMES_SIZE]);

	cache->header = memory;
	cache->size_bytes = header[CACHE_WORD_SIZE];
	cache->set_count = header[CACHE_WORD_SETS];
	cache->epoch_s = header[CACHE_WORD_EPOCH];
	cache->seed[0] = header[CACHE_WORD_SEED];
	cache->seed[1] = header[CACHE_WORD_SEED + 1];
	cache->slots = cache->header + offset / sizeof(*header);
	cache_set_prefetch(cache, 0);
	if (is_writable)
		cache->marks = (uint8_t *)(cache->slots + cache->set_count * CACHE_SET_WORDS);
}

void cache_set_prefetch(struct cache *cache, unsigned percent)
{
	for (unsigned i = 0; i < sizeof(cache->fresh_s) / sizeof(cache->fresh_s[0]); i++) {
		uint64_t wanted = ((uint64_t)cache_ttl_classes[i] * percent + 99) / 100;
		cache->fresh_s[i] = wanted > 0 ? (uint32_t)wanted : 1;
	}
}

int cache_new(uint64_t size_bytes, struct cache **ret_cache)
{
	uint64_t size = cache_table_size(size_bytes);
	if (size == 0)
		return -EINVAL;
	struct cache *cache = calloc(1, sizeof(*cache));
	if (cache == NULL)
		return -ENOMEM;
	cache->lock_fd = -1;

	/* All of it now: a look-up later takes no memory, and no time for page faults. */
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED) {
		free(cache);
		return -ENOMEM;
	}
	cache_table_fill(memory, size, 0);
	cache_table_use(cache, memory, memory, true);
	*ret_cache = cache;
	return DNSBLV6_OK;
}

void cache_free(struct cache *cache)
{
	if (cache == NULL)
		return;
	if (cache->header != NULL) {
		if (cache->lock_fd >= 0)
			cache_store(cache->header + CACHE_WORD_RETIRED, 1);
		munmap(cache->header, cache->size_bytes);
	}
	if (cache->lock_fd >= 0)
		close(cache->lock_fd);
	free(cache->names);
	free(cache);
}

static uint64_t *word_of(const struct cache *cache, enum cache_word first, unsigned zone)
{
	return cache->header + first + zone % CACHE_ZONES_MAX;
}

static bool swap_word(const struct cache *cache, uint64_t *word, uint64_t old_value, uint64_t value)
{
	return cache->marks != NULL &&
	       __atomic_compare_exchange_n(word, &old_value, value, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

uint64_t cache_zone_word(const struct cache *cache, unsigned zone)
{
	return cache_load_zone_word(cache, zone % CACHE_ZONES_MAX);
}

void cache_set_zone_word(struct cache *cache, unsigned zone, uint64_t word)
{
	if (cache->marks != NULL)
		__atomic_store_n(word_of(cache, CACHE_WORD_ZONE, zone), word, __ATOMIC_RELEASE);
}

bool cache_swap_zone_word(struct cache *cache, unsigned zone, uint64_t old_word, uint64_t word)
{
	return swap_word(cache, word_of(cache, CACHE_WORD_ZONE, zone), old_word, word);
}

uint64_t cache_zone_evidence(const struct cache *cache, unsigned zone)
{
	return cache_load(word_of(cache, CACHE_WORD_EVIDENCE, zone));
}

void cache_set_zone_evidence(struct cache *cache, unsigned zone, uint64_t evidence)
{
	if (cache->marks != NULL)
		cache_store(word_of(cache, CACHE_WORD_EVIDENCE, zone), evidence);
}

bool cache_swap_zone_evidence(struct cache *cache, unsigned zone, uint64_t old_evidence,
			      uint64_t evidence)
{
	return swap_word(cache, word_of(cache, CACHE_WORD_EVIDENCE, zone), old_evidence, evidence);
}

uint64_t cache_zone_trust(const struct cache *cache, unsigned zone)
{
	return cache_load(word_of(cache, CACHE_WORD_TRUST, zone));
}

bool cache_swap_zone_trust(struct cache *cache, unsigned zone, uint64_t old_trust, uint64_t trust)
{
	return swap_word(cache, word_of(cache, CACHE_WORD_TRUST, zone), old_trust, trust);
}

uint64_t cache_zone_era(const struct cache *cache, unsigned zone)
{
	return cache_load(word_of(cache, CACHE_WORD_ERA, zone));
}

void cache_begin_era(struct cache *cache, unsigned zone)
{
	if (cache->marks == NULL)
		return;
	__atomic_fetch_add(word_of(cache, CACHE_WORD_ERA, zone), 1, __ATOMIC_RELAXED);
}

uint32_t cache_now_s(const struct cache *cache)
{
	return cache_clock_now_s(cache);
}

/* ---- getting ---- */

void cache_prefetch(const struct cache *cache, struct cache_key key)
{
	cache_fetch_set(cache_set_of(cache, key));
}

int cache_get(const struct cache *cache, struct cache_key key, struct cache_entry *ret_entry)
{
	struct cache_slot slot;
	unsigned place;

	if (!cache_find(cache, cache_set_of(cache, key), key, &slot, &place))
		return DNSBLV6_ENOTFOUND;
	decode(&slot, ret_entry);
	return DNSBLV6_OK;
}

/* ---- marks, and who goes ---- */

enum { HAND_SHIFT = 4 };
#define MARKS_MASK 15u

void cache_mark(const struct cache *cache, struct cache_key key)
{
	if (cache->marks == NULL)
		return;
	const uint64_t *set = cache_set_of(cache, key);

	for (unsigned i = 0; i < CACHE_SET_SLOTS; i++) {
		if (cache_load(set + i * CACHE_SLOT_WORDS) == key.word) {
			cache_mark_slot(cache, set, i);
			return;
		}
	}
}

/*
 * How good a slot is to put something else in, least first; UINT64_MAX: it is live. An
 * expired answer may be served once more when DNS fails, most likely one in use.
 */
static uint64_t rank(const struct cache *cache, const struct cache_slot *slot, bool is_marked,
		     uint32_t now_s)
{
	if (!cache_slot_is_whole(cache, slot))
		return 0;
	if (cache_slot_expiry(slot) > now_s)
		return UINT64_MAX;
	bool is_useless =
		cache_slot_kind(slot) == CACHE_FAILED || cache_slot_kind(slot) == CACHE_RANGE;
	uint64_t worth = is_useless ? 1 : is_marked ? 3 : 2;
	return worth << 32 | cache_slot_expiry(slot);
}

/* The first slot from the hand on that has not been used since the hand was there. */
static unsigned turn_clock(unsigned *marks)
{
	unsigned hand = *marks >> HAND_SHIFT & (CACHE_SET_SLOTS - 1);
	unsigned used = *marks & MARKS_MASK;

	while ((used & 1u << hand) != 0) {
		used &= ~(1u << hand);
		hand = (hand + 1) % CACHE_SET_SLOTS;
	}
	*marks = used | (hand + 1) % CACHE_SET_SLOTS << HAND_SHIFT;
	return hand;
}

/* Which slot of the set the key goes into; the marks are then right for it. */
static unsigned choose(struct cache *cache, uint64_t *set, uint8_t *ret_marks, struct cache_key key)
{
	unsigned marks = __atomic_load_n(ret_marks, __ATOMIC_RELAXED);
	uint32_t now_s = cache_now_s(cache);
	uint64_t best = UINT64_MAX;
	unsigned choice = CACHE_SET_SLOTS;
	unsigned same = CACHE_SET_SLOTS;

	for (unsigned i = 0; i < CACHE_SET_SLOTS; i++) {
		uint64_t *words = set + i * CACHE_SLOT_WORDS;
		struct cache_slot slot = cache_read_slot(words);
		if (slot.key == key.word && cache_slot_kind(&slot) != 0) {
			/* Two writers can have put it twice: one of them would come back one day.
			 */
			if (same < CACHE_SET_SLOTS)
				cache_store(words + 3, 0);
			else
				same = i;
		}
		uint64_t value = rank(cache, &slot, (marks & 1u << i) != 0, now_s);
		if (value < best) {
			best = value;
			choice = i;
		}
	}
	if (same < CACHE_SET_SLOTS)
		return same;
	if (choice == CACHE_SET_SLOTS) {
		choice = turn_clock(&marks);
		__atomic_fetch_add(&cache->evicted, 1, __ATOMIC_RELAXED);
	}
	__atomic_store_n(ret_marks, (uint8_t)(marks & ~(1u << choice)), __ATOMIC_RELAXED);
	return choice;
}

void cache_put(struct cache *cache, struct cache_key key, const struct cache_entry *entry)
{
	if (cache->marks == NULL)
		return;
	uint64_t index = cache_set_index(cache, key);
	uint64_t *set = cache->slots + index * CACHE_SET_WORDS;
	unsigned choice = choose(cache, set, cache->marks + index, key);
	struct cache_slot slot = encode(cache, key, entry);

	uint64_t *words = set + choice * CACHE_SLOT_WORDS;
	cache_store(words, slot.key);
	cache_store(words + 1, slot.head);
	cache_store(words + 2, slot.tail);
	cache_store(words + 3, slot.meta);
	__atomic_fetch_add(&cache->puts, 1, __ATOMIC_RELAXED);
}

void cache_get_stats(const struct cache *cache, struct cache_stats *ret_stats)
{
	ret_stats->slots = cache->set_count * CACHE_SET_SLOTS;
	ret_stats->size_bytes = cache->size_bytes;
	ret_stats->puts = cache_load(&cache->puts);
	ret_stats->evicted = cache_load(&cache->evicted);
}

static bool is_denial(const struct cache_slot *slot)
{
	unsigned kind = cache_slot_kind(slot);
	return kind == CACHE_RANGE || (kind == CACHE_BITMAP && slot->head == 0 && slot->tail == 0);
}

void cache_forget_denials(struct cache *cache, unsigned zone)
{
	if (cache->marks == NULL)
		return;
	for (uint64_t i = 0; i < cache->set_count * CACHE_SET_SLOTS; i++) {
		uint64_t *words = cache->slots + i * CACHE_SLOT_WORDS;
		struct cache_slot slot = cache_read_slot(words);
		if (is_denial(&slot) && slot.key >> CACHE_ZONE_SHIFT == zone)
			cache_store(words + 3, 0);
	}
}
