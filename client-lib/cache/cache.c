/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/cache/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "client-lib/cache/cache_table.h"

enum { PAGE_BYTES = 4096 };

/* ---- slots ---- */

static const uint32_t ttl_classes[16] = { 0,   5,    10,   30,	 60,	120,   300,   600,
					  900, 1800, 3600, 7200, 21600, 43200, 86400, 604800 };

#define EXPIRY_MAX ((1u << 28) - 1) /* eight years after the epoch */

static unsigned class_of(uint32_t ttl_s)
{
	unsigned found = 15;
	while (ttl_classes[found] > ttl_s)
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
	slot.meta |= cache_slot_sum(cache, &slot, cache_era(cache, key.word)) & CACHE_SUM_MAX;
	return slot;
}

static inline void decode(const struct cache_slot *slot, struct cache_entry *ret_entry)
{
	ret_entry->kind = (enum cache_kind)(slot->meta >> CACHE_KIND_SHIFT & 15);
	ret_entry->is_secure = (slot->meta >> CACHE_FLAGS_SHIFT & CACHE_FLAG_SECURE) != 0;
	ret_entry->is_stale = (slot->meta >> CACHE_FLAGS_SHIFT & CACHE_FLAG_STALE) != 0;
	ret_entry->expires_s = cache_slot_expiry(slot);
	ret_entry->ttl_s = ttl_classes[slot->meta >> CACHE_CLASS_SHIFT & 15];
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
	word *= CACHE_SPREAD_B;
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

/* ---- tables ---- */

size_t cache_table_size(uint64_t size_bytes)
{
	/* A program of 32 bits has no place for what one of 64 may have made. */
	if (size_bytes < CACHE_SIZE_MIN || size_bytes / CACHE_SET_SIZE > CACHE_SETS_MAX ||
	    (size_t)size_bytes != size_bytes)
		return 0;
	return (size_t)(size_bytes / PAGE_BYTES * PAGE_BYTES);
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

	/* The kernel's generator is not ready yet: so early no mail has come either. */
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
	cache->size_bytes = (size_t)header[CACHE_WORD_SIZE];
	cache->set_count = header[CACHE_WORD_SETS];
	cache->epoch_s = header[CACHE_WORD_EPOCH];
	cache->seed[0] = header[CACHE_WORD_SEED];
	cache->seed[1] = header[CACHE_WORD_SEED + 1];
	for (unsigned i = 0; i < 4; i++)
		cache->factors[i] = mix(cache->seed[0] + i * cache->seed[1]) | 1;
	cache->slots = cache->header + offset / sizeof(*header);
	cache_set_prefetch(cache, 0);
	cache->marks = (uint8_t *)(cache->slots + cache->set_count * CACHE_SET_WORDS);
	cache->is_writable = is_writable;
}

void cache_set_prefetch(struct cache *cache, unsigned percent)
{
	for (unsigned i = 0; i < sizeof(cache->fresh_s) / sizeof(cache->fresh_s[0]); i++) {
		uint64_t wanted = ((uint64_t)ttl_classes[i] * percent + 99) / 100;
		cache->fresh_s[i] = wanted > 0 ? (uint32_t)wanted : 1;
	}
}

struct cache *cache_make_handle(void)
{
	struct cache *cache = calloc(1, sizeof(*cache));
	if (cache != NULL)
		cache->lock_fd = cache->table_fd = cache->copy_fd = -1;
	return cache;
}

int cache_new(uint64_t size_bytes, struct cache **ret_cache)
{
	size_t size = cache_table_size(size_bytes);
	if (size == 0)
		return -EINVAL;
	struct cache *cache = cache_make_handle();
	if (cache == NULL)
		return -ENOMEM;

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

/*
 * What is in the table is put into its copy, in the same order. One that cannot be written has an
 * answer less.
 */
static void copy_words(const struct cache *cache, const uint64_t *words, size_t size_bytes)
{
	if (cache->copy_fd < 0)
		return;
	off_t offset = (const char *)words - (const char *)cache->header;
	ssize_t written = pwrite(cache->copy_fd, words, size_bytes, offset);
	(void)written;
}

static void set_word(const struct cache *cache, uint64_t *word, uint64_t value)
{
	if (!cache->is_writable || cache_load(word) == value)
		return;
	__atomic_store_n(word, value, __ATOMIC_RELEASE); /* behind what was put, or an era */
	copy_words(cache, word, sizeof(*word));
}

static bool swap_word(const struct cache *cache, uint64_t *word, uint64_t old_value, uint64_t value)
{
	if (!cache->is_writable || !__atomic_compare_exchange_n(word, &old_value, value, false,
								__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return false;
	copy_words(cache, word, sizeof(*word));
	return true;
}

static void copy_slot(struct cache *cache, const uint64_t *words)
{
	if (cache->is_holding && cache->held_count < CACHE_HELD_MAX)
		cache->held[cache->held_count++] = words;
	else
		copy_words(cache, words, CACHE_SLOT_SIZE);
}

void cache_hold(struct cache *cache)
{
	cache->is_holding = cache->copy_fd >= 0;
}

/* As they are by now: a slot that was put into twice has the last in its copy. */
void cache_release(struct cache *cache)
{
	for (unsigned i = 0; i < cache->held_count; i++)
		copy_words(cache, cache->held[i], CACHE_SLOT_SIZE);
	cache_forget_held(cache);
}

void cache_forget_held(struct cache *cache)
{
	cache->is_holding = false;
	cache->held_count = 0;
}

void cache_set_header(struct cache *cache, enum cache_word word, uint64_t value)
{
	set_word(cache, cache->header + word, value);
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

void cache_free(struct cache *cache)
{
	if (cache == NULL)
		return;
	if (cache->header != NULL) {
		cache_release(cache);
		if (cache->lock_fd >= 0)
			cache_set_header(cache, CACHE_WORD_RETIRED, 1);
		munmap(cache->header, cache->size_bytes);
	}
	close_if_open(cache->table_fd);
	close_if_open(cache->copy_fd);
	close_if_open(cache->lock_fd);
	free(cache->names);
	free(cache);
}

void cache_shed(struct cache *cache)
{
	/* In the same place at once: there is no moment in which nothing is mapped there. */
	(void)mmap(cache->header, cache->size_bytes, PROT_READ,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

void cache_beat(struct cache *cache, int64_t now_ms)
{
	cache_set_header(cache, CACHE_WORD_BEAT, (uint64_t)now_ms);
}

bool cache_is_attended(const struct cache *cache, uint32_t seconds)
{
	int64_t beat_s = (int64_t)cache_load(cache->header + CACHE_WORD_BEAT) / 1000;

	return beat_s + seconds >= (int64_t)cache_clock_s();
}

static uint64_t *word_of(const struct cache *cache, unsigned zone, enum cache_zone_part part)
{
	return cache->header + CACHE_WORD_ZONE + part * CACHE_ZONES_MAX + zone % CACHE_ZONES_MAX;
}

/* Behind the word that says that a zone is well, its new era is seen. */
uint64_t cache_zone_get(const struct cache *cache, unsigned zone, enum cache_zone_part part)
{
	return __atomic_load_n(word_of(cache, zone, part), __ATOMIC_ACQUIRE);
}

void cache_zone_set(struct cache *cache, unsigned zone, enum cache_zone_part part, uint64_t value)
{
	set_word(cache, word_of(cache, zone, part), value);
}

bool cache_zone_swap(struct cache *cache, unsigned zone, enum cache_zone_part part,
		     uint64_t old_value, uint64_t value)
{
	return swap_word(cache, word_of(cache, zone, part), old_value, value);
}

void cache_begin_era(struct cache *cache, unsigned zone)
{
	if (!cache->is_writable)
		return;
	uint64_t *word = word_of(cache, zone, CACHE_ZONE_ERA);
	__atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
	copy_words(cache, word, sizeof(*word));
}

uint32_t cache_read_clock(struct cache *cache, uint32_t second)
{
	uint32_t now_s = cache_clock_now_s(cache);
	cache_store(&cache->recent, (uint64_t)second << 32 | now_s);
	return now_s;
}

uint32_t cache_now_s(const struct cache *cache)
{
	return cache_clock_now_s(cache);
}

/* ---- getting ---- */

/* Of the slots that have the key, as two writers may have put it twice, one that is whole. */
static bool find_in(const struct cache *cache, const uint64_t *set, struct cache_key key,
		    struct cache_slot *ret_slot)
{
	for (unsigned i = 0; i < CACHE_SET_SLOTS; i++) {
		for (unsigned tries = 0; tries < CACHE_READ_TRIES; tries++) {
			*ret_slot = cache_read_slot(set + i * CACHE_SLOT_WORDS);
			if (ret_slot->key != key.word)
				break;
			if (cache_slot_is_whole(cache, ret_slot))
				return true;
		}
	}
	return false;
}

bool cache_find_at_length(const struct cache *cache, struct cache_key key,
			  struct cache_slot *ret_slot)
{
	const uint64_t *set = cache_set_of(cache, key);

	return find_in(cache, set, key, ret_slot) ||
	       (cache_has_away(cache_marks_of(cache, set)) &&
		find_in(cache, cache_away_set(cache, key), key, ret_slot));
}

int cache_get(const struct cache *cache, struct cache_key key, struct cache_entry *ret_entry)
{
	struct cache_slot slot;

	if (!cache_find(cache, cache_set_of(cache, key), key, &slot))
		return DNSBLV6_ENOTFOUND;
	decode(&slot, ret_entry);
	return DNSBLV6_OK;
}

/* ---- marks, and which slot is given up ---- */

static bool mark_in(const struct cache *cache, const uint64_t *set, struct cache_key key)
{
	const uint64_t *words = cache_find_words(set, key);

	if (words != NULL)
		cache_mark_slot(cache, cache_marks_of(cache, set), cache_place_of(set, words));
	return words != NULL;
}

void cache_mark(const struct cache *cache, struct cache_key key)
{
	const uint64_t *set = cache_set_of(cache, key);

	if (!mark_in(cache, set, key) && cache_has_away(cache_marks_of(cache, set)))
		mark_in(cache, cache_away_set(cache, key), key);
}

/* One key more or less of a set is away. False: there are as many as can be told. */
static bool change_away(const struct cache *cache, uint64_t index, bool is_more)
{
	uint8_t *byte = cache->marks + index;
	uint8_t old = __atomic_load_n(byte, __ATOMIC_RELAXED);
	uint8_t changed;

	do {
		if (old >> CACHE_AWAY_SHIFT == (is_more ? CACHE_AWAY_MAX : 0))
			return false;
		changed = (uint8_t)(is_more ? old + (1u << CACHE_AWAY_SHIFT)
					    : old - (1u << CACHE_AWAY_SHIFT));
	} while (!__atomic_compare_exchange_n(byte, &old, changed, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return true;
}

static uint64_t *words_at(const struct cache *cache, uint64_t index, unsigned place)
{
	return cache->slots + index * CACHE_SET_WORDS + place * CACHE_SLOT_WORDS;
}

/* What is in a slot goes: it may have been away there. */
static void leave(const struct cache *cache, uint64_t index, unsigned place)
{
	struct cache_slot slot = cache_read_slot(words_at(cache, index, place));
	struct cache_key key = { slot.key };
	uint64_t home = cache_set_index(cache, key);

	if (cache_slot_kind(&slot) != 0 && home != index)
		change_away(cache, home, false);
}

static void forget_slot(const struct cache *cache, uint64_t index, unsigned place)
{
	leave(cache, index, place);
	set_word(cache, words_at(cache, index, place) + 3, 0);
}

void cache_count_away(struct cache *cache)
{
	memset(cache->marks, 0, (size_t)cache->set_count);
	for (uint64_t i = 0; i < cache->set_count * CACHE_SET_SLOTS; i++) {
		uint64_t *words = cache->slots + i * CACHE_SLOT_WORDS;
		struct cache_slot slot = cache_read_slot(words);
		uint64_t home = cache_set_index(cache, (struct cache_key){ slot.key });
		if (cache_slot_kind(&slot) != 0 && home != i / CACHE_SET_SLOTS &&
		    !change_away(cache, home, true))
			set_word(cache, words + 3, 0);
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
static unsigned turn_clock(uint8_t *marks)
{
	unsigned hand = *marks >> CACHE_HAND_SHIFT & (CACHE_SET_SLOTS - 1);
	unsigned used = *marks & CACHE_MARKS_MASK;
	unsigned away = (unsigned)*marks >> CACHE_AWAY_SHIFT;

	while ((used & 1u << hand) != 0) {
		used &= ~(1u << hand);
		hand = (hand + 1) % CACHE_SET_SLOTS;
	}
	*marks = (uint8_t)(used | (hand + 1) % CACHE_SET_SLOTS << CACHE_HAND_SHIFT |
			   away << CACHE_AWAY_SHIFT);
	return hand;
}

/* A live slot of the set, by the clock. */
static unsigned evict(struct cache *cache, uint64_t index)
{
	uint8_t *marks = cache->marks + index;
	uint8_t old = __atomic_load_n(marks, __ATOMIC_RELAXED);
	uint8_t turned;
	unsigned place;

	do {
		turned = old;
		place = turn_clock(&turned);
	} while (!__atomic_compare_exchange_n(marks, &old, turned, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	__atomic_fetch_add(&cache->evicted, 1, __ATOMIC_RELAXED);
	return place;
}

/* Places in a set; CACHE_SET_SLOTS: there is none. */
struct choice {
	unsigned same; /* has the key already */
	unsigned room; /* the best of those that are not live */
};

static struct choice scan(const struct cache *cache, uint64_t index, struct cache_key key)
{
	unsigned marks = __atomic_load_n(cache->marks + index, __ATOMIC_RELAXED);
	uint32_t now_s = cache_now_s(cache);
	uint64_t best = UINT64_MAX;
	struct choice found = { CACHE_SET_SLOTS, CACHE_SET_SLOTS };

	for (unsigned i = 0; i < CACHE_SET_SLOTS; i++) {
		struct cache_slot slot = cache_read_slot(words_at(cache, index, i));
		if (slot.key == key.word && cache_slot_kind(&slot) != 0) {
			/* Two writers can have put it twice: one of them would come back one day.
			 */
			if (found.same < CACHE_SET_SLOTS)
				forget_slot(cache, index, i);
			else
				found.same = i;
		}
		uint64_t value = rank(cache, &slot, (marks & 1u << i) != 0, now_s);
		if (value < best) {
			best = value;
			found.room = i;
		}
	}
	return found;
}

/* A place for a new key: what was there is not missed any more. */
static uint64_t *take(const struct cache *cache, uint64_t index, unsigned place)
{
	leave(cache, index, place);
	__atomic_fetch_and(cache->marks + index, (uint8_t) ~(1u << place), __ATOMIC_RELAXED);
	return words_at(cache, index, place);
}

/* Which slot the key goes into. */
static uint64_t *choose(struct cache *cache, struct cache_key key)
{
	uint64_t home = cache_set_index(cache, key);
	uint64_t away = cache_away_index(cache, key);
	struct choice at_home = scan(cache, home, key);
	struct choice elsewhere = { CACHE_SET_SLOTS, CACHE_SET_SLOTS };

	if (at_home.same < CACHE_SET_SLOTS)
		at_home.room = at_home.same;
	if (away != home &&
	    (at_home.room == CACHE_SET_SLOTS || cache_has_away(cache->marks + home)))
		elsewhere = scan(cache, away, key);
	/* Back home, where there is room again. */
	if (elsewhere.same < CACHE_SET_SLOTS && at_home.room < CACHE_SET_SLOTS)
		forget_slot(cache, away, elsewhere.same);
	if (at_home.same < CACHE_SET_SLOTS)
		return words_at(cache, home, at_home.same);
	if (at_home.room < CACHE_SET_SLOTS)
		return take(cache, home, at_home.room);
	if (elsewhere.same < CACHE_SET_SLOTS)
		return words_at(cache, away, elsewhere.same);
	if (elsewhere.room < CACHE_SET_SLOTS && change_away(cache, home, true))
		return take(cache, away, elsewhere.room);
	return take(cache, home, evict(cache, home));
}

void cache_put(struct cache *cache, struct cache_key key, const struct cache_entry *entry)
{
	if (!cache->is_writable)
		return;
	struct cache_slot slot = encode(cache, key, entry);
	uint64_t *words = choose(cache, key);

	cache_store(words, slot.key);
	cache_store(words + 1, slot.head);
	cache_store(words + 2, slot.tail);
	cache_store(words + 3, slot.meta);
	copy_slot(cache, words);
	__atomic_fetch_add(&cache->puts, 1, __ATOMIC_RELAXED);
}

void cache_get_stats(const struct cache *cache, struct cache_stats *ret_stats)
{
	ret_stats->slots = cache->set_count * CACHE_SET_SLOTS;
	ret_stats->size_bytes = cache->size_bytes;
	ret_stats->puts = cache_load(&cache->puts);
	ret_stats->evicted = cache_load(&cache->evicted);
}

static bool is_denial(const struct cache_slot *slot, uint32_t since_s)
{
	unsigned kind = cache_slot_kind(slot);

	(void)since_s;
	return kind == CACHE_RANGE || (kind == CACHE_BITMAP && slot->head == 0 && slot->tail == 0);
}

/* The class is not more than the TTL was, so that none is taken for older than it is. */
static bool is_listing(const struct cache_slot *slot, uint32_t since_s)
{
	unsigned kind = cache_slot_kind(slot);
	uint32_t ttl_s = ttl_classes[slot->meta >> CACHE_CLASS_SHIFT & 15];

	return kind != CACHE_RANGE && kind != CACHE_FAILED && (slot->head | slot->tail) != 0 &&
	       cache_slot_expiry(slot) >= (uint64_t)since_s + ttl_s;
}

static void forget(struct cache *cache, unsigned zone,
		   bool (*is_void)(const struct cache_slot *slot, uint32_t since_s),
		   uint32_t since_s)
{
	if (!cache->is_writable)
		return;
	for (uint64_t i = 0; i < cache->set_count * CACHE_SET_SLOTS; i++) {
		struct cache_slot slot = cache_read_slot(cache->slots + i * CACHE_SLOT_WORDS);
		if (is_void(&slot, since_s) && slot.key >> CACHE_ZONE_SHIFT == zone)
			forget_slot(cache, i / CACHE_SET_SLOTS, i % CACHE_SET_SLOTS);
	}
}

void cache_forget_denials(struct cache *cache, unsigned zone)
{
	forget(cache, zone, is_denial, 0);
}

void cache_forget_listings(struct cache *cache, unsigned zone, uint32_t since_s)
{
	forget(cache, zone, is_listing, since_s);
}
