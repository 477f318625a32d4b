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

/* Odd numbers with many ones in no order: multiplying by them spreads every bit upwards. */
#define SPREAD_A 0x9e3779b97f4a7c15ull
#define SPREAD_B 0xc2b2ae3d27d4eb4full
#define SPREAD_C 0xd6e8feb86659fd93ull

enum {
	PAGE_BYTES = 4096,
	READ_TRIES = 3, /* a slot that is being written is whole again after some nanoseconds */
};

/* ---- the words of a slot ---- */

/* word 3: expiry, kind, flags, TTL class, checksum */
enum {
	CHECKSUM_BITS = 24,
	CLASS_SHIFT = 24,
	FLAGS_SHIFT = 28,
	KIND_SHIFT = 32,
	EXPIRY_SHIFT = 36,
};
#define EXPIRY_MAX   ((1u << 28) - 1) /* eight years after the epoch */
#define FLAG_SECURE  1u
#define FLAG_STALE   2u
#define CHECKSUM_MAX ((1ull << CHECKSUM_BITS) - 1)

/* A copy. Members, not an array: these are registers, never memory. */
struct slot {
	uint64_t key;
	uint64_t head, tail; /* payload */
	uint64_t meta;
};

static const uint32_t ttl_classes[16] = { 0,   5,    10,   30,	 60,	120,   300,   600,
					  900, 1800, 3600, 7200, 21600, 43200, 86400, 604800 };

static inline uint64_t rotate(uint64_t word)
{
	return word << 32 | word >> 32;
}

/*
 * Over everything but itself. Words are turned before they are added, so that no two of
 * them can change alike and cancel out.
 */
static inline uint64_t checksum(const struct cache *cache, const struct slot *slot)
{
	uint64_t sum = (slot->key ^ cache->seed[0]) * SPREAD_A +
		       rotate((slot->head ^ cache->seed[1]) * SPREAD_B) +
		       (slot->tail ^ rotate(cache->seed[0])) * SPREAD_C +
		       rotate((slot->meta & ~CHECKSUM_MAX) * SPREAD_A);
	sum ^= sum >> 32;
	return sum * SPREAD_B >> (64 - CHECKSUM_BITS);
}

static inline unsigned kind_of(const struct slot *slot)
{
	return (unsigned)(slot->meta >> KIND_SHIFT) & 15;
}

static inline uint32_t expiry_of(const struct slot *slot)
{
	return (uint32_t)(slot->meta >> EXPIRY_SHIFT);
}

static inline struct slot read_slot(const uint64_t *words)
{
	return (struct slot){ cache_load(words), cache_load(words + 1), cache_load(words + 2),
			      cache_load(words + 3) };
}

/* Was it put, all of it, at one time? */
static inline bool is_whole(const struct cache *cache, const struct slot *slot)
{
	unsigned kind = kind_of(slot);
	return kind >= CACHE_BITMAP && kind <= CACHE_RANGE &&
	       checksum(cache, slot) == (slot->meta & CHECKSUM_MAX);
}

static unsigned class_of(uint32_t ttl_s)
{
	unsigned found = 15;
	while (ttl_classes[found] > ttl_s)
		found--;
	return found;
}

static struct slot encode(const struct cache *cache, struct cache_key key,
			  const struct cache_entry *entry)
{
	struct slot slot = { .key = key.word };
	uint64_t expires_s = entry->expires_s < EXPIRY_MAX ? entry->expires_s : EXPIRY_MAX;
	uint64_t flags = (entry->is_secure ? FLAG_SECURE : 0) | (entry->is_stale ? FLAG_STALE : 0);

	memcpy(&slot.head, entry->payload.bytes, sizeof(slot.head));
	memcpy(&slot.tail, entry->payload.bytes + sizeof(slot.head), sizeof(slot.tail));
	slot.meta = expires_s << EXPIRY_SHIFT | (uint64_t)(entry->kind & 15) << KIND_SHIFT |
		    flags << FLAGS_SHIFT | (uint64_t)class_of(entry->ttl_s) << CLASS_SHIFT;
	slot.meta |= checksum(cache, &slot);
	return slot;
}

static inline void decode(const struct slot *slot, struct cache_entry *ret_entry)
{
	ret_entry->kind = (enum cache_kind)(slot->meta >> KIND_SHIFT & 15);
	ret_entry->is_secure = (slot->meta >> FLAGS_SHIFT & FLAG_SECURE) != 0;
	ret_entry->is_stale = (slot->meta >> FLAGS_SHIFT & FLAG_STALE) != 0;
	ret_entry->expires_s = expiry_of(slot);
	ret_entry->ttl_s = ttl_classes[slot->meta >> CLASS_SHIFT & 15];
	memcpy(ret_entry->payload.bytes, &slot->head, sizeof(slot->head));
	memcpy(ret_entry->payload.bytes + sizeof(slot->head), &slot->tail, sizeof(slot->tail));
}

/* ---- keys ---- */

/*
 * 57 bits below the zone's six and the bit that tells a /57 from all else. What
 * is no /57 begins with bits that tell which it is:
 *
 *     1    56 bits of a hash: an IPv6 address
 *     011  level (4), index (50): a node of IPv6 ranges
 *     010  the same of IPv4
 *     001  an IPv4 address
 *     000  a /25
 */
enum { ZONE_SHIFT = 58, OTHER_SHIFT = 57, HASH_SHIFT = 56, TAG_SHIFT = 54, LEVEL_SHIFT = 50 };
enum { TAG_BLOCK, TAG_ADDRESS, TAG_RANGE4, TAG_RANGE6 };

static inline struct cache_key make_other(unsigned zone, uint64_t bits)
{
	return (struct cache_key){ (uint64_t)zone << ZONE_SHIFT | 1ull << OTHER_SHIFT | bits };
}

struct cache_key cache_key_block(unsigned zone, struct dnsblv6_addr addr)
{
	/* dnsblv6_addr_is_ipv4() and dnsblv6_block_of() without the calls; a test compares. */
	if (addr.hi == 0 && addr.lo >> 32 == 0xffff)
		return make_other(zone,
				  (uint64_t)TAG_BLOCK << TAG_SHIFT | (addr.lo & UINT32_MAX) >> 7);
	return (struct cache_key){ (uint64_t)zone << ZONE_SHIFT | addr.hi >> 7 };
}

/* Every bit of the result depends on every bit of word, and no two words give the same. */
static uint64_t mix(uint64_t word)
{
	word ^= word >> 32;
	word *= SPREAD_C;
	word ^= word >> 32;
	word *= SPREAD_A;
	return word ^ word >> 32;
}

struct cache_key cache_key_address(const struct cache *cache, unsigned zone,
				   struct dnsblv6_addr addr)
{
	if (dnsblv6_addr_is_ipv4(addr))
		return make_other(zone,
				  (uint64_t)TAG_ADDRESS << TAG_SHIFT | dnsblv6_addr_ipv4(addr));
	uint64_t hash = mix(mix(addr.hi ^ cache->seed[0]) ^ addr.lo ^ cache->seed[1]);
	return make_other(zone, 1ull << HASH_SHIFT | hash >> (64 - HASH_SHIFT));
}

struct cache_key cache_key_range(unsigned zone, bool is_ipv4, unsigned level, uint64_t index)
{
	uint64_t tag = is_ipv4 ? TAG_RANGE4 : TAG_RANGE6;
	return make_other(zone, tag << TAG_SHIFT | (uint64_t)level << LEVEL_SHIFT | index);
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

uint64_t cache_clock_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec;
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
	if (is_writable)
		cache->marks = (uint8_t *)(cache->slots + cache->set_count * CACHE_SET_WORDS);
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

uint64_t cache_zone_word(const struct cache *cache, unsigned zone)
{
	return cache_load(cache->header + CACHE_WORD_ZONE + zone % CACHE_ZONES_MAX);
}

void cache_set_zone_word(struct cache *cache, unsigned zone, uint64_t word)
{
	if (cache->marks != NULL)
		cache_store(cache->header + CACHE_WORD_ZONE + zone % CACHE_ZONES_MAX, word);
}

uint32_t cache_now_s(const struct cache *cache)
{
	uint64_t now_s = cache_clock_s();
	return now_s > cache->epoch_s ? (uint32_t)(now_s - cache->epoch_s) : 0;
}

/* ---- getting ---- */

static inline uint64_t set_index(const struct cache *cache, struct cache_key key)
{
	uint64_t hash = (key.word ^ cache->seed[0]) * SPREAD_A;
	hash ^= hash >> 32;
	hash *= cache->seed[1];
	return (hash >> 32) * cache->set_count >> 32;
}

static inline uint64_t *set_of(const struct cache *cache, struct cache_key key)
{
	return cache->slots + set_index(cache, key) * CACHE_SET_WORDS;
}

void cache_prefetch(const struct cache *cache, struct cache_key key)
{
	const uint64_t *set = set_of(cache, key);
	__builtin_prefetch(set);
	__builtin_prefetch(set + CACHE_SET_WORDS / 2);
}

/* Which slots of a set have the key, a bit for each. No branch: none of them is likelier. */
static inline unsigned find_key(const uint64_t *set, struct cache_key key)
{
	return (unsigned)(cache_load(set) == key.word) |
	       (unsigned)(cache_load(set + CACHE_SLOT_WORDS) == key.word) << 1 |
	       (unsigned)(cache_load(set + 2 * CACHE_SLOT_WORDS) == key.word) << 2 |
	       (unsigned)(cache_load(set + 3 * CACHE_SLOT_WORDS) == key.word) << 3;
}

int cache_get(const struct cache *cache, struct cache_key key, struct cache_entry *ret_entry)
{
	const uint64_t *set = set_of(cache, key);

	for (unsigned found = find_key(set, key); found != 0; found &= found - 1) {
		const uint64_t *words = set + (unsigned)__builtin_ctz(found) * CACHE_SLOT_WORDS;
		for (unsigned tries = 0; tries < READ_TRIES; tries++) {
			struct slot slot = read_slot(words);
			if (slot.key != key.word)
				break;
			if (is_whole(cache, &slot)) {
				decode(&slot, ret_entry);
				return DNSBLV6_OK;
			}
		}
	}
	return DNSBLV6_ENOTFOUND;
}

/* ---- marks, and who goes ---- */

/* A byte for each set: a bit for each slot that was used, and where the clock's hand is. */
enum { MARKS_MASK = 15, HAND_SHIFT = 4 };

void cache_mark(const struct cache *cache, struct cache_key key)
{
	if (cache->marks == NULL)
		return;
	uint64_t index = set_index(cache, key);
	const uint64_t *set = cache->slots + index * CACHE_SET_WORDS;
	uint8_t *marks = cache->marks + index;

	for (unsigned i = 0; i < CACHE_SET_SLOTS; i++) {
		if (cache_load(set + i * CACHE_SLOT_WORDS) != key.word)
			continue;
		/* Most marks are there already, and reading them takes no cache line from others.
		 */
		if ((__atomic_load_n(marks, __ATOMIC_RELAXED) & 1u << i) == 0)
			__atomic_fetch_or(marks, (uint8_t)(1u << i), __ATOMIC_RELAXED);
		return;
	}
}

/*
 * How good a slot is to put something else in, least first; UINT64_MAX: it is live. An
 * expired answer may be served once more when DNS fails, most likely one in use.
 */
static uint64_t rank(const struct cache *cache, const struct slot *slot, bool is_marked,
		     uint32_t now_s)
{
	if (!is_whole(cache, slot))
		return 0;
	if (expiry_of(slot) > now_s)
		return UINT64_MAX;
	bool is_useless = kind_of(slot) == CACHE_FAILED || kind_of(slot) == CACHE_RANGE;
	uint64_t worth = is_useless ? 1 : is_marked ? 3 : 2;
	return worth << 32 | expiry_of(slot);
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
		struct slot slot = read_slot(words);
		if (slot.key == key.word && kind_of(&slot) != 0) {
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
	uint64_t index = set_index(cache, key);
	uint64_t *set = cache->slots + index * CACHE_SET_WORDS;
	unsigned choice = choose(cache, set, cache->marks + index, key);
	struct slot slot = encode(cache, key, entry);

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
