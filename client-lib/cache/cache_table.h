/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * cache_table.h - the memory of a cache, for cache*.c, and for look.c and ranges.c
 *                 which look at several sets at once.
 *
 *     OFFSET  SIZE  DESCRIPTION of a table
 *        0    128   header: 16 words, enum cache_word
 *      128    512   the zones' words, CACHE_ZONES_MAX
 *      640    512   the zones' evidence, one word each too
 *     1152    512   the zones' eras, the same
 *     1664    512   the zones' trust, the same
 *     2176     n    in one that is shared: names of the zones, each with a NUL
 *        s   128*m  m sets of four slots; s is 2176 + n up to a multiple of 128
 *              m    marks: for each set a bit for each slot in use, a hand (two bits), and how
 *                   many of its keys are away, in another set (two bits)
 *
 * m is as large as fits: 129 bytes a set. A table has a whole number of pages.
 * All words are in the machine's order and are read and written with relaxed atomics. What a reader
 * needs of the header it has copied into struct cache, and checked: a header that is written to
 * later does not lead it astray.
 */

#include "client-lib/cache/cache.h"

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Linux alone takes all pages at once; elsewhere they come when they are needed. */
#ifndef MAP_POPULATE
#define MAP_POPULATE 0
#endif

#define CACHE_MAGIC   0x4453424c76366331ull /* "DSBLv6c1" */
#define CACHE_VERSION 6u

enum cache_word {
	CACHE_WORD_MAGIC,
	CACHE_WORD_VERSION,
	CACHE_WORD_SIZE,       /* bytes of the whole table */
	CACHE_WORD_SETS,       /* m */
	CACHE_WORD_EPOCH,      /* CLOCK_MONOTONIC in seconds when the table's clock was 0 */
	CACHE_WORD_BOOT,       /* a hash of the kernel's boot_id; 0: unknown */
	CACHE_WORD_SEED,       /* two words */
	CACHE_WORD_ZONES = 8,  /* how many names */
	CACHE_WORD_NAMES_SIZE, /* n */
	CACHE_WORD_RETIRED,    /* 1: its writer has ended */
	CACHE_WORD_BEAT,       /* CLOCK_MONOTONIC in milliseconds when its writer last said so */
	CACHE_WORD_ZONE = 16,  /* the first of the zones' words */
	CACHE_WORD_EVIDENCE = CACHE_WORD_ZONE + CACHE_ZONES_MAX,
	CACHE_WORD_ERA = CACHE_WORD_EVIDENCE + CACHE_ZONES_MAX,
	CACHE_WORD_TRUST = CACHE_WORD_ERA + CACHE_ZONES_MAX,
};

#define CACHE_HELD_MAX 64 /* more are written at once */

#define CACHE_SLOT_WORDS   (CACHE_SLOT_SIZE / sizeof(uint64_t))
#define CACHE_SET_SLOTS	   4u
#define CACHE_SET_WORDS	   (CACHE_SET_SLOTS * CACHE_SLOT_WORDS)
#define CACHE_SET_SIZE	   (CACHE_SET_SLOTS * (uint64_t)CACHE_SLOT_SIZE)
#define CACHE_NAMES_OFFSET ((CACHE_WORD_TRUST + CACHE_ZONES_MAX) * sizeof(uint64_t))
#define CACHE_SETS_MAX	   UINT32_MAX
/* Text of 254 octets, each as four characters, and the NUL: DNSBLV6_NAME_TEXT_SIZE. */
#define CACHE_NAMES_MAX (CACHE_ZONES_MAX * 1024u)

struct cache {
	uint64_t *slots;
	uint64_t set_count;
	uint64_t seed[2];
	uint64_t factors[4]; /* of cache_slot_sum(); odd, and random as the seed is */
	uint64_t epoch_s;
	uint64_t recent; /* atomic; of cache_recent_s() */
	uint8_t *marks;
	bool is_writable;
	uint64_t *header;
	size_t size_bytes;
	uint64_t puts, evicted; /* atomic */
	uint32_t fresh_s[16];	/* what a live slot of each TTL class has left at least */
	/* of a table that processes share; the descriptors are its writer's, and -1 elsewhere */
	char *names; /* a copy */
	unsigned zone_count;
	int lock_fd;
	int table_fd; /* what readers map */
	int copy_fd;  /* the file */
	ino_t inode;  /* of table_fd */
	bool is_holding;
	unsigned held_count; /* slots whose copies are still to be written */
	const uint64_t *held[CACHE_HELD_MAX];
};

static inline uint64_t cache_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void cache_store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
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
enum {
	CACHE_ZONE_SHIFT = 58,
	CACHE_OTHER_SHIFT = 57,
	CACHE_HASH_SHIFT = 56,
	CACHE_TAG_SHIFT = 54,
	CACHE_LEVEL_SHIFT = 50
};
enum { CACHE_TAG_BLOCK, CACHE_TAG_ADDRESS, CACHE_TAG_RANGE4, CACHE_TAG_RANGE6 };

static inline struct cache_key cache_make_other(unsigned zone, uint64_t bits)
{
	struct cache_key key;
	key.word = (uint64_t)zone << CACHE_ZONE_SHIFT | 1ull << CACHE_OTHER_SHIFT | bits;
	return key;
}

/* A key's word for zone 0 as that of another one. */
static inline struct cache_key cache_move_key(uint64_t word, unsigned zone)
{
	struct cache_key key;
	key.word = (uint64_t)zone << CACHE_ZONE_SHIFT | word;
	return key;
}

/* A node of ranges.c: level 1 to 9 above blocks, index within it. */
static inline struct cache_key cache_key_range(unsigned zone, bool is_ipv4, unsigned level,
					       uint64_t index)
{
	uint64_t tag = is_ipv4 ? CACHE_TAG_RANGE4 : CACHE_TAG_RANGE6;
	return cache_make_other(zone, tag << CACHE_TAG_SHIFT |
					      (uint64_t)level << CACHE_LEVEL_SHIFT | index);
}

static inline unsigned cache_key_zone(struct cache_key key)
{
	return (unsigned)(key.word >> CACHE_ZONE_SHIFT);
}

/*
 * dnsblv6_addr_is_ipv4() and dnsblv6_block_of() without the calls; a test compares. They take an
 * address as its two words: a struct that is written as two and read as one
 * makes the processor wait until all that it has begun is done.
 */
static inline bool cache_is_ipv4(uint64_t hi, uint64_t lo)
{
	return hi == 0 && lo >> 32 == 0xffff;
}

/* What of an address its block and host are in: an IPv4 address, or the first half of another. */
static inline uint64_t cache_block_word(uint64_t hi, uint64_t lo)
{
	return cache_is_ipv4(hi, lo) ? lo & UINT32_MAX : hi;
}

static inline struct cache_key cache_key_of_word(unsigned zone, bool is_ipv4, uint64_t word)
{
	struct cache_key key;
	key.word = (uint64_t)zone << CACHE_ZONE_SHIFT | (uint64_t)is_ipv4 << CACHE_OTHER_SHIFT |
		   (uint64_t)CACHE_TAG_BLOCK << CACHE_TAG_SHIFT | word >> 7;
	return key;
}

/* ---- a slot ---- */

/* Odd numbers with many ones in no order: multiplying by them spreads every bit upwards. */
#define CACHE_SPREAD_A 0x9e3779b97f4a7c15ull
#define CACHE_SPREAD_B 0xd6e8feb86659fd93ull

/* word 3: expiry, kind, flags, TTL class, checksum */
enum cache_meta {
	CACHE_SUM_BITS = 24,
	CACHE_CLASS_SHIFT = 24,
	CACHE_FLAGS_SHIFT = 28,
	CACHE_KIND_SHIFT = 32,
	CACHE_EXPIRY_SHIFT = 36,
};
#define CACHE_FLAG_SECURE 1u
#define CACHE_FLAG_STALE  2u
#define CACHE_SUM_MAX	  ((1ull << CACHE_SUM_BITS) - 1)

enum { CACHE_READ_TRIES = 3 }; /* one that is being written is whole after some nanoseconds */

/* A copy. Members, not an array: these are registers, never memory. */
struct cache_slot {
	uint64_t key;
	uint64_t head, tail; /* payload */
	uint64_t meta;
};

static inline unsigned cache_slot_kind(const struct cache_slot *slot)
{
	return (unsigned)(slot->meta >> CACHE_KIND_SHIFT) & 15;
}

static inline uint32_t cache_slot_expiry(const struct cache_slot *slot)
{
	return (uint32_t)(slot->meta >> CACHE_EXPIRY_SHIFT);
}

static inline unsigned cache_slot_flags(const struct cache_slot *slot)
{
	return (unsigned)(slot->meta >> CACHE_FLAGS_SHIFT) & 15;
}

/* One that has less left has expired, or is to be asked for again: cache_set_prefetch(). */
static inline uint32_t cache_slot_fresh_s(const struct cache *cache, const struct cache_slot *slot)
{
	return cache->fresh_s[slot->meta >> CACHE_CLASS_SHIFT & 15];
}

/* A bitmap that is not stale, by one comparison. */
static inline bool cache_slot_is_bitmap(const struct cache_slot *slot)
{
	const uint32_t wanted = CACHE_BITMAP << (CACHE_KIND_SHIFT - CACHE_SUM_BITS);
	const uint32_t mask = 15u << (CACHE_KIND_SHIFT - CACHE_SUM_BITS) |
			      CACHE_FLAG_STALE << (CACHE_FLAGS_SHIFT - CACHE_SUM_BITS);
	return ((uint32_t)(slot->meta >> CACHE_SUM_BITS) & mask) == wanted;
}

/* dnsblv6_bitmap_get() of the payload, without memory between: all ones, or 0. */
static inline uint64_t cache_slot_mask(const struct cache_slot *slot, unsigned host_index)
{
	uint64_t half = host_index < 64 ? slot->head : slot->tail;
	return -(be64toh(half) << host_index % 64 >> 63);
}

/*
 * Over everything but itself, and the era of the slot's zone, cache_era(): each word times a random odd number of
 * its own, of which the upper bits count, so that any other word makes another sum but in one of
 * 2^24 tables. The last bit of a word changes the last bit of its product alone: tail is mixed, so
 * that its own and that of head do not cancel out. Two eras next to each other never have the same
 * sum. Bits above CACHE_SUM_BITS mean nothing.
 */
static inline uint64_t cache_slot_sum(const struct cache *cache, const struct cache_slot *slot,
				      uint64_t era)
{
	const uint64_t *factors = cache->factors;
	uint64_t sum = slot->key * factors[0] + slot->head * factors[1] +
		       (slot->tail ^ slot->tail >> 32) * factors[2] +
		       (slot->meta >> CACHE_SUM_BITS) * factors[3];
	return (sum >> (64 - CACHE_SUM_BITS)) + era;
}

static inline struct cache_slot cache_read_slot(const uint64_t *words)
{
	struct cache_slot slot;
	slot.key = cache_load(words);
	slot.head = cache_load(words + 1);
	slot.tail = cache_load(words + 2);
	slot.meta = cache_load(words + 3);
	return slot;
}

static inline uint64_t cache_era(const struct cache *cache, uint64_t key_word)
{
	return cache_load(cache->header + CACHE_WORD_ERA + (key_word >> CACHE_ZONE_SHIFT));
}

/* Was all of it put at one time and in this era? Of a slot that was used. */
static inline bool cache_slot_fits(const struct cache *cache, const struct cache_slot *slot,
				   uint64_t era)
{
	return (cache_slot_sum(cache, slot, era) - slot->meta) << (64 - CACHE_SUM_BITS) == 0;
}

static inline bool cache_slot_is_whole(const struct cache *cache, const struct cache_slot *slot)
{
	unsigned kind = cache_slot_kind(slot);
	return kind >= CACHE_BITMAP && kind <= CACHE_PAIRS &&
	       cache_slot_fits(cache, slot, cache_era(cache, slot->key));
}

/* ---- a set ---- */

/* Of a key's word for zone 0; the keys of other zones are at a distance from it. */
static inline uint64_t cache_hash_word(const struct cache *cache, uint64_t word)
{
	uint64_t hash = (word ^ cache->seed[0]) * CACHE_SPREAD_A;
	hash ^= hash >> 32;
	return hash * cache->seed[1];
}

static inline uint64_t cache_move_hash(uint64_t hash, unsigned zone)
{
	return hash + zone * CACHE_SPREAD_B;
}

static inline uint64_t cache_hash(const struct cache *cache, struct cache_key key)
{
	uint64_t word = key.word & ((1ull << CACHE_ZONE_SHIFT) - 1);
	return cache_move_hash(cache_hash_word(cache, word), cache_key_zone(key));
}

static inline uint64_t cache_hash_index(const struct cache *cache, uint64_t hash)
{
	return (hash >> 32) * cache->set_count >> 32;
}

static inline uint64_t cache_set_index(const struct cache *cache, struct cache_key key)
{
	return cache_hash_index(cache, cache_hash(cache, key));
}

/* Where a key goes when all slots of its own set are live. May be the same set. */
static inline uint64_t cache_away_index(const struct cache *cache, struct cache_key key)
{
	return (cache_hash(cache, key) & UINT32_MAX) * cache->set_count >> 32;
}

static inline uint64_t *cache_set_at(const struct cache *cache, uint64_t hash)
{
	return cache->slots + cache_hash_index(cache, hash) * CACHE_SET_WORDS;
}

static inline uint64_t *cache_set_of(const struct cache *cache, struct cache_key key)
{
	return cache_set_at(cache, cache_hash(cache, key));
}

static inline uint64_t *cache_away_set(const struct cache *cache, struct cache_key key)
{
	return cache->slots + cache_away_index(cache, key) * CACHE_SET_WORDS;
}

/* The byte of marks of a set, and what is in it. */
enum { CACHE_HAND_SHIFT = 4, CACHE_AWAY_SHIFT = 6, CACHE_AWAY_MAX = 3 };
#define CACHE_MARKS_MASK 15u

static inline uint8_t *cache_marks_of(const struct cache *cache, const uint64_t *set)
{
	return cache->marks + (uint64_t)(set - cache->slots) / CACHE_SET_WORDS;
}

/*
 * Are keys of the set away? Most sets have none, and what is in no cache is then known by one set.
 * A writer that is killed may leave a wrong number: too high, and another set is looked at; too
 * low, and there is a miss.
 */
static inline bool cache_has_away(const uint8_t *marks)
{
	return __atomic_load_n(marks, __ATOMIC_RELAXED) >> CACHE_AWAY_SHIFT != 0;
}

/* Its memory, ahead of cache_find(). */
static inline void cache_fetch_set(const uint64_t *set)
{
	__builtin_prefetch(set);
	__builtin_prefetch(set + CACHE_SET_WORDS / 2);
}

/*
 * The words of a slot that has the key; NULL: none has it. No branch: none of the slots is
 * likelier. Of two slots that have it one is found, and it may not be whole.
 */
static inline const uint64_t *cache_find_words(const uint64_t *set, struct cache_key key)
{
	const uint64_t *words = set;
	words = cache_load(set + CACHE_SLOT_WORDS) == key.word ? set + CACHE_SLOT_WORDS : words;
	words = cache_load(set + 2 * CACHE_SLOT_WORDS) == key.word ? set + 2 * CACHE_SLOT_WORDS
								   : words;
	words = cache_load(set + 3 * CACHE_SLOT_WORDS) == key.word ? set + 3 * CACHE_SLOT_WORDS
								   : words;
	/* Where gcc sees what the last comparison is for it makes a branch of it. */
	__asm__("" : "+r"(words));
	return cache_load(words) == key.word ? words : NULL;
}

/* Its place in the set. */
static inline unsigned cache_place_of(const uint64_t *set, const uint64_t *words)
{
	return (unsigned)(((uintptr_t)words - (uintptr_t)set) / CACHE_SLOT_SIZE);
}

/* A copy of what was found. A key that has changed meanwhile makes another sum. */
static inline struct cache_slot cache_read_found(const uint64_t *words, struct cache_key key)
{
	struct cache_slot slot;
	slot.key = key.word;
	slot.head = cache_load(words + 1);
	slot.tail = cache_load(words + 2);
	slot.meta = cache_load(words + 3);
	return slot;
}

/* For one that was not whole, or may be away. */
bool cache_find_at_length(const struct cache *cache, struct cache_key key,
			  struct cache_slot *ret_slot);

/* The slot of a key whose own set is that one, wherever it is. */
static inline bool cache_find(const struct cache *cache, const uint64_t *set, struct cache_key key,
			      struct cache_slot *ret_slot)
{
	const uint64_t *words = cache_find_words(set, key);

	if (words == NULL)
		return cache_has_away(cache_marks_of(cache, set)) &&
		       cache_find_at_length(cache, key, ret_slot);
	*ret_slot = cache_read_found(words, key);
	return cache_slot_is_whole(cache, ret_slot) || cache_find_at_length(cache, key, ret_slot);
}

static inline void cache_mark_slot(const struct cache *cache, uint8_t *marks, unsigned place)
{
	/* Most marks are there already, and reading them takes no cache line from others. */
	if ((__atomic_load_n(marks, __ATOMIC_RELAXED) & 1u << place) == 0 && cache->is_writable)
		__atomic_fetch_or(marks, (uint8_t)(1u << place), __ATOMIC_RELAXED);
}

/* ---- a table ---- */

/* size_bytes as a whole number of pages, or 0 when a table of that size cannot be. */
size_t cache_table_size(uint64_t size_bytes);
/* Where the sets begin, and how many there are; 0: not one. */
uint64_t cache_table_offset(uint64_t names_size);
uint64_t cache_table_sets(uint64_t size_bytes, uint64_t names_size);

/* A handle without a table, for cache_free(); NULL. */
struct cache *cache_make_handle(void);

/* A table of zero bytes becomes an empty one: everything in the header but names and boot. */
void cache_table_fill(uint64_t *header, uint64_t size_bytes, uint64_t names_size);
/* memory is the table, mapped; header is the first CACHE_WORD_ZONE words of it, or a copy that
 * was checked. */
void cache_table_use(struct cache *cache, void *memory, const uint64_t *header, bool is_writable);

/* Before others see it: marks, which no copy has, are made anew of what is in the slots. */
void cache_count_away(struct cache *cache);

/* A word of the header, in the copy too; nothing when read-only. */
void cache_set_header(struct cache *cache, enum cache_word word, uint64_t value);

/* CLOCK_MONOTONIC_COARSE, seconds. */
static inline uint64_t cache_clock_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec;
}

/* cache_now_s() without the call. */
static inline uint32_t cache_clock_now_s(const struct cache *cache)
{
	uint64_t now_s = cache_clock_s();
	return now_s > cache->epoch_s ? (uint32_t)(now_s - cache->epoch_s) : 0;
}

/* cache_now_s() for cache_recent_s(): once in each second of the wall's clock. */
uint32_t cache_read_clock(struct cache *cache, uint32_t second);

/*
 * cache_now_s(), or what it was up to a second ago. The C library's time() is where clock_gettime()
 * has a loop and two calls, so that it tells whether another second has begun; not more, as it is
 * the wall's clock, which is set: one that is set back into the second that it showed at the last
 * look keeps an old time for the rest of that second. Other C libraries have no such time().
 */
static inline uint32_t cache_recent_s(struct cache *cache)
{
#ifdef __GLIBC__
	uint32_t second = (uint32_t)time(NULL);
	uint64_t recent = cache_load(&cache->recent);

	if (__builtin_expect(recent >> 32 != second, 0))
		return cache_read_clock(cache, second);
	return (uint32_t)recent;
#else
	return cache_clock_now_s(cache);
#endif
}

#ifdef __cplusplus
}
#endif
