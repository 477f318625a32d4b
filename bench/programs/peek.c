/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * peek - what a look into the client's cache costs, in nanoseconds.
 *
 *     peek look SLOTS              hits in a table of so many slots, and floors beside them
 *     peek ranges SLOTS            addresses that NSEC records prove not to be listed
 *     peek threads READERS TENTHS  readers with and without a writer, in turns of that time
 *     peek memory LOOKUPS          what is resident before and after so many look-ups
 *
 * Prints lines "name<TAB>number"; bench/client runs it and makes the table.
 *
 * Times are medians over batches of 512. Addresses are in random order in a row that is
 * read from its beginning to its end. A name that ends in _alone: which address comes
 * next depends on what the one before gave, so that the processor cannot begin with one before
 * it has ended the other. Without it, it may.
 */

#include "client-lib/handle/client_parts.h"
#include "client-lib/engine/engine.h"
#include "client-lib/cache/cache_table.h"
#include "client-lib/cache/ranges.h"
#include "lib/format/key.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

enum {
	BATCH = 512,
	BATCHES = 2001,
	ROW = 1 << 16, /* addresses that are asked about */
	ZONES = 8,
	LISTED = 20000,	 /* blocks of the zone whose gaps are learned */
	PUTS_S = 100000, /* of the writer */
	PUTS_AT_ONCE = 100,
	READERS_MAX = 256,
	TURNS = 10,
};

static uint64_t state = 1;
static uint8_t row[ROW + 2][16]; /* addresses as a socket has them; the end is the beginning */

static uint32_t draw(uint64_t *number)
{
	*number = *number * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*number >> 32);
}

static void *need(void *memory)
{
	if (memory == NULL) {
		fprintf(stderr, "peek: no memory\n");
		exit(EX_OSERR);
	}
	return memory;
}

static double clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ---- tables ---- */

static struct cache *make_cache(uint64_t slots)
{
	struct cache *cache = NULL;
	cache_new(slots / 4 * 129 + 4096, &cache); /* four slots and a mark, and the header */
	return need(cache);
}

static void put(struct cache *cache, unsigned zone, uint32_t ipv4, uint64_t *number)
{
	struct cache_entry entry = { .kind = CACHE_BITMAP,
				     .expires_s = cache_now_s(cache) + 3600,
				     .ttl_s = 3600 };
	for (unsigned i = 0; i < sizeof(entry.payload.bytes); i++)
		entry.payload.bytes[i] = (uint8_t)draw(number);
	cache_put(cache, cache_key_block(zone, dnsblv6_addr_from_ipv4(ipv4)), &entry);
}

static bool has(const struct cache *cache, unsigned zones, uint32_t ipv4)
{
	struct cache_entry entry;
	for (unsigned zone = 0; zone < zones; zone++) {
		struct cache_key key = cache_key_block(zone, dnsblv6_addr_from_ipv4(ipv4));
		if (cache_get(cache, key, &entry) != DNSBLV6_OK)
			return false;
	}
	return true;
}

static void set_row(unsigned index, uint32_t ipv4)
{
	dnsblv6_addr_to_bytes(dnsblv6_addr_from_ipv4(ipv4), row[index]);
	if (index < 2)
		memcpy(row[ROW + index], row[index], sizeof(row[index]));
}

/* Random blocks in three quarters of the slots; the row has such as are still there. */
static void fill_cache(struct cache *cache, unsigned zones)
{
	struct cache_stats stats;
	cache_get_stats(cache, &stats);
	uint32_t count = (uint32_t)(stats.slots * 3 / 4 / zones);
	uint32_t *blocks = need(malloc(count * sizeof(*blocks)));

	for (uint32_t i = 0; i < count; i++) {
		blocks[i] = draw(&state);
		for (unsigned zone = 0; zone < zones; zone++)
			put(cache, zone, blocks[i], &state);
	}
	for (unsigned used = 0; used < ROW;) {
		uint32_t ipv4 = blocks[draw(&state) % count];
		if (has(cache, zones, ipv4))
			set_row(used++, ipv4);
	}
	free(blocks);
}

/* ---- looking ---- */

/* What a mail server has to do, from the address of its client on: 1 listed, 0 not, -1 unknown. */
static inline int look(const struct cache *cache, const uint8_t *bytes)
{
	struct dnsblv6_addr addr = dnsblv6_addr_from_bytes(bytes);
	struct cache_entry entry;
	if (cache_get(cache, cache_key_block(0, addr), &entry) != DNSBLV6_OK ||
	    entry.expires_s <= cache_now_s(cache))
		return -1;
	return dnsblv6_bitmap_get(&entry.payload, dnsblv6_host_index(addr));
}

static inline int look_eight(const struct cache *cache, const uint8_t *bytes)
{
	struct dnsblv6_addr addr = dnsblv6_addr_from_bytes(bytes);
	uint32_t now_s = cache_now_s(cache);
	unsigned host = dnsblv6_host_index(addr);
	int listed = 0;

	for (unsigned zone = 0; zone < ZONES; zone++)
		cache_fetch_set(cache_set_of(cache, cache_key_block(zone, addr)));
	for (unsigned zone = 0; zone < ZONES; zone++) {
		struct cache_entry entry;
		if (cache_get(cache, cache_key_block(zone, addr), &entry) != DNSBLV6_OK ||
		    entry.expires_s <= now_s)
			return -1;
		listed += dnsblv6_bitmap_get(&entry.payload, host);
	}
	return listed;
}

static inline int look_ranges(const struct cache *cache, const uint8_t *bytes)
{
	uint32_t expires_s;
	return ranges_has(cache, 0, DNSBLV6_STYLE_DOTTED, dnsblv6_addr_from_bytes(bytes),
			  cache_now_s(cache), &expires_s)
		       ? 0
		       : -1;
}

static inline int look_clock(const struct cache *cache, const uint8_t *bytes)
{
	return (int)(cache_now_s(cache) + bytes[15]);
}

/* 32 bytes out of memory of the same size, at a place that the address says. */
static const uint8_t *copied;
static uint64_t copied_slots;

static inline int look_copy(const struct cache *cache, const uint8_t *bytes)
{
	uint32_t number;
	uint8_t slot[CACHE_SLOT_SIZE];
	(void)cache;
	memcpy(&number, bytes + 12, sizeof(number));
	uint64_t place = (uint64_t)number * 2654435769u >> 8 & (copied_slots - 1);
	memcpy(slot, copied + place * CACHE_SLOT_SIZE, sizeof(slot));
	__asm__ volatile("" : : "m"(slot));
	return slot[number & 15];
}

static struct dnsblv6 *handle;
static uint64_t all_zones;

/* The whole of it, as a mail server calls it. */
static inline int look_handle(const struct cache *cache, const uint8_t *bytes)
{
	struct dnsblv6_result result;
	(void)cache;
	/* Bytes alone: it may stand anywhere. */
	if (dnsblv6_peek(handle, (const struct dnsblv6_ip *)bytes, &result) != 0 ||
	    result.zones_answered != all_zones)
		return -1;
	return result.verdict == DNSBLV6_LISTED;
}

/* One whose zones were found to be good, dotted ones of IPv4. Returns its cache. */
static struct cache *make_handle(uint64_t slots, unsigned zones)
{
	char list[ZONES * 16] = "";
	char size[32];
	const struct health_word good = { .state = DNSBLV6_ZONE_OK,
					  .mode = HEALTH_DOTTED,
					  .has_ipv4 = true,
					  .due_s = HEALTH_NEVER_S };

	for (unsigned i = 0; i < zones; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "z%u.example ", i);
	snprintf(size, sizeof(size), "%" PRIu64, slots / 4 * 129 + 4096);
	if (dnsblv6_new(&handle) != 0 || dnsblv6_set(handle, "zones", list) != 0 ||
	    dnsblv6_set(handle, "scope", "all") != 0 || /* addresses are random */
	    dnsblv6_set(handle, "cache-size", size) != 0 || dnsblv6_start(handle) != 0)
		need(NULL);
	struct cache *cache = handle->engine->all.cache;
	for (unsigned i = 0; i < zones; i++)
		cache_zone_set(cache, i, CACHE_ZONE_WORD, health_pack(&good));
	all_zones = (1ull << zones) - 1;
	return cache;
}

static int compare_times(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;
	return (left > right) - (left < right);
}

static void fail_unknown(const char *name, unsigned count)
{
	fprintf(stderr, "peek: %s: %u addresses without an answer\n", name, count);
	exit(EX_SOFTWARE);
}

typedef int (*look_fn)(const struct cache *cache, const uint8_t *bytes);

/* Inlined for each way to look, so that it is compiled into the loop as into a caller. */
static inline __attribute__((always_inline)) void
measure_one(const char *name, const struct cache *cache, look_fn way, bool is_alone)
{
	static double times[BATCHES];
	unsigned at = 0;
	unsigned unknown = 0;

	for (unsigned batch = 0; batch < BATCHES; batch++) {
		double begin = clock_ns(CLOCK_MONOTONIC);
		for (unsigned i = 0; i < BATCH; i++) {
			int said = way(cache, row[at]);
			unknown += said < 0;
			at = (at + 1 + (is_alone ? (unsigned)said & 1 : 0)) % ROW;
		}
		times[batch] = (clock_ns(CLOCK_MONOTONIC) - begin) / BATCH;
	}
	if (unknown > 0)
		fail_unknown(name, unknown);
	qsort(times, BATCHES, sizeof(times[0]), compare_times);
	printf("%s%s\t%.2f\n", name, is_alone ? "_alone" : "", times[BATCHES / 2]);
}

static inline __attribute__((always_inline)) void measure(const char *name,
							  const struct cache *cache, look_fn way)
{
	measure_one(name, cache, way, false);
	measure_one(name, cache, way, true);
}

static void run_look(uint64_t slots)
{
	struct cache *cache = make_cache(slots);
	uint8_t *memory = mmap(NULL, slots * CACHE_SLOT_SIZE, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED)
		need(NULL);
	for (uint64_t i = 0; i < slots * CACHE_SLOT_SIZE; i++)
		memory[i] = (uint8_t)draw(&state);
	copied = memory;
	copied_slots = slots;

	fill_cache(cache, 1);
	measure("clock", cache, look_clock);
	measure("copy", cache, look_copy);
	measure("hit", cache, look);
	cache_free(cache);
	cache = make_cache(slots);
	fill_cache(cache, ZONES);
	measure("eight", cache, look_eight);
	cache_free(cache);
	munmap(memory, slots * CACHE_SLOT_SIZE);

	fill_cache(make_handle(slots, 1), 1);
	measure("peek", NULL, look_handle);
	dnsblv6_free(handle);
	fill_cache(make_handle(slots, ZONES), ZONES);
	measure("peek_eight", NULL, look_handle);
	dnsblv6_free(handle);
}

/* ---- ranges ---- */

struct listed {
	struct dnsblv6_labels name;
	struct dnsblv6_key key;
};

static int compare_listed(const void *a, const void *b)
{
	const struct listed *left = a;
	const struct listed *right = b;
	return dnsblv6_key_compare(left->key.bytes, left->key.size, right->key.bytes,
				   right->key.size);
}

static void learn_zone(struct cache *cache)
{
	struct listed *names = need(calloc(LISTED, sizeof(*names)));
	struct dnsblv6_labels origin = { 0 };

	dnsblv6_name_from_text("bl6.example", &origin);
	for (unsigned i = 0; i < LISTED; i++) {
		struct dnsblv6_labels block = { 0 };
		struct dnsblv6_addr addr = dnsblv6_addr_from_ipv4(draw(&state));
		dnsblv6_name_make(DNSBLV6_STYLE_DOTTED, dnsblv6_block_of(addr), &block);
		dnsblv6_name_join(block.wire, block.size, origin.wire, origin.size, &names[i].name);
		dnsblv6_key_from_labels(names[i].name.wire, names[i].name.size, &names[i].key);
	}
	qsort(names, LISTED, sizeof(*names), compare_listed);
	double begin = clock_ns(CLOCK_MONOTONIC);
	for (unsigned i = 0; i + 1 < LISTED; i++) {
		struct message_nsec nsec = { .owner = names[i].name, .next = names[i + 1].name };
		ranges_learn(cache, 0, DNSBLV6_STYLE_DOTTED, &origin, &nsec, 3600);
	}
	printf("learn\t%.0f\n", (clock_ns(CLOCK_MONOTONIC) - begin) / LISTED);
	free(names);
}

static void run_ranges(uint64_t slots)
{
	struct cache *cache = make_handle(slots, 1);
	uint32_t asked = 0;
	uint32_t expires_s;

	learn_zone(cache);
	for (unsigned used = 0; used < ROW; asked++) {
		uint32_t ipv4 = draw(&state);
		if (ranges_has(cache, 0, DNSBLV6_STYLE_DOTTED, dnsblv6_addr_from_ipv4(ipv4),
			       cache_now_s(cache), &expires_s))
			set_row(used++, ipv4);
	}
	printf("proven\t%.4f\n", (double)ROW / asked);
	measure("range", cache, look_ranges);
	measure("peek_range", NULL, look_handle);
	dnsblv6_free(handle);
}

/* ---- threads ---- */

static struct cache *shared;
static bool has_ended, has_writer;

struct reader {
	pthread_t thread;
	uint64_t looked;
	double cpu_ns;
};

static bool is_over(void)
{
	return __atomic_load_n(&has_ended, __ATOMIC_RELAXED);
}

static void *read_on(void *context)
{
	struct reader *reader = context;
	unsigned at = (unsigned)((uintptr_t)context / sizeof(*reader)) * 4001 % ROW;
	uint64_t looked = 0;

	while (!is_over()) {
		for (unsigned i = 0; i < BATCH; i++)
			at = (at + 1 + (look(shared, row[at]) & 1)) % ROW;
		looked += BATCH;
	}
	reader->looked = looked;
	reader->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

/* Addresses of the row, so that nothing of it goes; a thousand times a second some. */
static void *write_on(void *context)
{
	uint64_t *puts = context;
	uint64_t number = 7;
	double begin = clock_ns(CLOCK_MONOTONIC);

	while (!is_over()) {
		double due = (clock_ns(CLOCK_MONOTONIC) - begin) / 1e9 * PUTS_S;
		for (; (double)*puts < due; ++*puts) {
			const uint8_t *bytes = row[draw(&number) % ROW];
			put(shared, 0, dnsblv6_addr_ipv4(dnsblv6_addr_from_bytes(bytes)), &number);
		}
		const struct timespec pause = { 0, 1000000000 / PUTS_S * PUTS_AT_ONCE };
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void run_turn(unsigned readers, unsigned tenths, const char *suffix)
{
	struct reader all[READERS_MAX] = { 0 };
	pthread_t writer;
	uint64_t puts = 0;
	uint64_t looked = 0;
	double cpu_ns = 0;
	const struct timespec pause = { tenths / 10, tenths % 10 * 100000000L };

	has_ended = false;
	double begin = clock_ns(CLOCK_MONOTONIC);
	if (has_writer && pthread_create(&writer, NULL, write_on, &puts) != 0)
		need(NULL);
	for (unsigned i = 0; i < readers; i++) {
		if (pthread_create(&all[i].thread, NULL, read_on, &all[i]) != 0)
			need(NULL);
	}
	nanosleep(&pause, NULL);
	__atomic_store_n(&has_ended, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < readers; i++) {
		pthread_join(all[i].thread, NULL);
		looked += all[i].looked;
		cpu_ns += all[i].cpu_ns;
	}
	if (has_writer)
		pthread_join(writer, NULL);
	double wall_ns = clock_ns(CLOCK_MONOTONIC) - begin;
	printf("looks_%s\t%.0f\n", suffix, (double)looked / wall_ns * 1e9);
	printf("looks_cpu_%s\t%.0f\n", suffix, (double)looked / cpu_ns * 1e9);
	if (has_writer)
		printf("puts\t%.0f\n", (double)puts / wall_ns * 1e9);
}

static void run_threads(unsigned readers, unsigned tenths)
{
	shared = make_cache(65536);
	fill_cache(shared, 1);
	for (unsigned turn = 0; turn < TURNS; turn++) {
		/* In turns: what else the machine does is not counted against the same one twice. */
		for (unsigned i = 0; i < 2; i++) {
			has_writer = (turn + i) % 2 == 1;
			run_turn(readers, tenths, has_writer ? "with" : "without");
		}
	}
	cache_free(shared);
}

/* ---- memory ---- */

static uint64_t resident_kb(void)
{
	unsigned long total = 0;
	unsigned long resident = 0;
	FILE *file = need(fopen("/proc/self/statm", "r"));
	if (fscanf(file, "%lu %lu", &total, &resident) != 2)
		need(NULL);
	fclose(file);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

static void run_memory(uint64_t lookups)
{
	struct cache_stats stats;
	uint64_t listed = 0;

	printf("resident_none\t%" PRIu64 "\n", resident_kb());
	shared = make_cache(1u << 20);
	cache_get_stats(shared, &stats);
	printf("table\t%" PRIu64 "\n", stats.size_bytes / 1024);
	printf("resident_made\t%" PRIu64 "\n", resident_kb());
	fill_cache(shared, 1);
	printf("resident_before\t%" PRIu64 "\n", resident_kb());
	for (uint64_t i = 0; i < lookups; i++) {
		uint8_t bytes[16];
		/* Half of them are anywhere: hits, misses, every page. */
		dnsblv6_addr_to_bytes(dnsblv6_addr_from_ipv4(draw(&state)), bytes);
		listed += look(shared, i % 2 == 0 ? bytes : row[i % ROW]) == 1;
	}
	printf("resident_after\t%" PRIu64 "\n", resident_kb());
	printf("listed\t%" PRIu64 "\n", listed);
	cache_free(shared);
}

int main(int argc, char **argv)
{
	uint64_t number = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	const char *what = argc > 1 ? argv[1] : "";

	if (number > 0 && strcmp(what, "look") == 0 && (number & (number - 1)) == 0)
		run_look(number);
	else if (number > 0 && strcmp(what, "ranges") == 0)
		run_ranges(number);
	else if (number > 0 && number <= READERS_MAX && argc > 3 && strcmp(what, "threads") == 0)
		run_threads((unsigned)number, (unsigned)strtoul(argv[3], NULL, 10));
	else if (number > 0 && strcmp(what, "memory") == 0)
		run_memory(number);
	else {
		fprintf(stderr, "peek: see the head of bench/programs/peek.c for its words\n");
		return EX_USAGE;
	}
	return 0;
}
