/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cache.c - any bytes as a shared table: refused, or read without a
 * crash, and whatever is got from it stands there with the right checksum.
 *
 * An even first byte: the rest is the file. An odd one: a good file is changed,
 * from the offset in the next two bytes on, by exclusive or with the rest; with bit 1 set
 * it also ends there.
 */
#include "client-lib/cache/cache.h"
#include "client-lib/cache/cache_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { GOOD_SIZE = CACHE_SIZE_MIN, GOOD_KEYS = 100, SLOTS_TRIED = 64 };

static struct cache_key key_of(unsigned number)
{
	return cache_key_block(0, dnsblv6_addr_from_ipv4(number << 7));
}

static const uint8_t *good_file(void)
{
	static const char *const zones[] = { "bl6.example", "second.example" };
	static uint8_t bytes[GOOD_SIZE];
	static bool is_made;
	char directory[] = "/tmp/fuzz-cache-XXXXXX";
	char path[64];
	char lock[64];
	struct cache *cache = NULL;

	if (is_made)
		return bytes;
	expect(mkdtemp(directory) != NULL);
	snprintf(path, sizeof(path), "%s/cache", directory);
	snprintf(lock, sizeof(lock), "%s/cache.lock", directory);
	expect(cache_create_shared(path, GOOD_SIZE, zones, 2, &cache) == DNSBLV6_OK);
	for (unsigned i = 0; i < GOOD_KEYS; i++) {
		struct cache_entry entry = { .kind = CACHE_BITMAP, .expires_s = 1000 + i };
		memset(entry.payload.bytes, (int)i, sizeof(entry.payload.bytes));
		cache_put(cache, key_of(i), &entry);
	}
	memcpy(bytes, cache->header, sizeof(bytes));
	cache_free(cache);
	expect(unlink(path) == 0 && unlink(lock) == 0 && rmdir(directory) == 0);
	is_made = true;
	return bytes;
}

static uint64_t word_at(const uint8_t *file, size_t word)
{
	uint64_t value;
	memcpy(&value, file + word * sizeof(value), sizeof(value));
	return value;
}

static uint64_t mixed(uint64_t word)
{
	word = (word ^ word >> 32) * 0xd6e8feb86659fd93;
	word = (word ^ word >> 32) * 0x9e3779b97f4a7c15;
	return word ^ word >> 32;
}

/* The checksum once more, on what stands in the file. */
static bool is_right(const uint8_t *file, size_t slot)
{
	uint64_t key = word_at(file, slot);
	uint64_t tail = word_at(file, slot + 2);
	uint64_t last = word_at(file, slot + 3);
	uint64_t words[4] = { key, word_at(file, slot + 1), tail ^ tail >> 32, last >> 24 };
	uint64_t sum = 0;

	for (unsigned i = 0; i < 4; i++)
		sum += words[i] * (mixed(word_at(file, CACHE_WORD_SEED) +
					 i * word_at(file, CACHE_WORD_SEED + 1)) |
				   1);
	return (((sum >> 40) + word_at(file, CACHE_WORD_ERA + (key >> 58))) & 0xffffff) ==
	       (last & 0xffffff);
}

/* Is there a slot in the file that says just this? */
static void expect_slot(const uint8_t *file, size_t size, struct cache_key key,
			const struct cache_entry *entry)
{
	for (size_t slot = CACHE_NAMES_OFFSET / 8; (slot + 4) * 8 <= size; slot += 4) {
		if (word_at(file, slot) == key.word && is_right(file, slot) &&
		    memcmp(file + (slot + 1) * 8, entry->payload.bytes, 16) == 0 &&
		    word_at(file, slot + 3) >> 36 == entry->expires_s &&
		    (word_at(file, slot + 3) >> 32 & 15) == entry->kind)
			return;
	}
	abort();
}

static void try_key(struct cache *cache, const uint8_t *file, size_t size, struct cache_key key)
{
	struct cache_entry entry = { .kind = CACHE_BITMAP };
	cache_mark(cache, key);
	cache_put(cache, key, &entry); /* it is mapped read-only: nothing */
	if (cache_get(cache, key, &entry) != DNSBLV6_OK)
		return;
	expect(entry.kind >= CACHE_BITMAP && entry.kind <= CACHE_RANGE);
	expect_slot(file, size, key, &entry);
}

static void use(struct cache *cache, const uint8_t *file, size_t size)
{
	struct cache_stats stats;
	cache_get_stats(cache, &stats);
	expect(stats.size_bytes == size && stats.slots * CACHE_SLOT_SIZE < size);
	cache_is_retired(cache);
	expect(cache_zone_index(cache, "bl6.example") < CACHE_ZONES_MAX);
	expect(cache_zone_index(cache, "") < CACHE_ZONES_MAX);
	for (unsigned zone = 0; zone < CACHE_ZONES_MAX; zone++)
		expect(cache_zone_get(cache, zone, CACHE_ZONE_WORD) ==
		       word_at(file, CACHE_WORD_ZONE + zone));
	for (unsigned i = 0; i < GOOD_KEYS; i++)
		try_key(cache, file, size, key_of(i));
	for (size_t i = 0; i < SLOTS_TRIED && i < stats.slots; i++)
		try_key(cache, file, size,
			(struct cache_key){ word_at(file, CACHE_NAMES_OFFSET / 8 + i * 4) });
}

static void try_file(const uint8_t *file, size_t size)
{
	struct cache *cache = NULL;
	int fd = memfd_create("cache", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	expect(fd >= 0 && write(fd, file, size) == (ssize_t)size);
	expect(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
	int ret = cache_map_shared(fd, &cache);
	expect(ret == DNSBLV6_OK || ret == -EPROTO);
	if (ret == DNSBLV6_OK)
		use(cache, file, size);
	cache_free(cache);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t file[GOOD_SIZE];

	if (size < 3 || data[0] % 2 == 0) {
		try_file(data + (size > 0), size - (size > 0));
		return 0;
	}
	size_t offset = (data[1] | (size_t)data[2] << 8) % GOOD_SIZE;
	size_t end = offset;
	memcpy(file, good_file(), sizeof(file));
	for (size_t i = 3; i < size && end < GOOD_SIZE; i++)
		file[end++] ^= data[i];
	try_file(file, (data[0] & 2) != 0 ? end : GOOD_SIZE);
	return 0;
}
