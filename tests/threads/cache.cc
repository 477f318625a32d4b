// SPDX-License-Identifier: GPL-3.0-or-later
//
// cache.cc - readers, markers and two writers of one cache at the same time.
//
//     threads-cache [PUTS]
//
// Each payload says under which key it was put, and that it was put whole. Whoever gets another one
// ends the program with exit status 1; the thread sanitizer, with which it is
// built as well, ends it when a word is not read and written atomically.

#include "client-lib/cache/cache.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

static const unsigned KEYS = 512; // for 232 slots: something always has to go
static std::atomic<uint64_t> hits, wrong;
static std::atomic<unsigned> writers_left;

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static cache_key key_of(uint64_t number)
{
	return cache_key_block(0,
			       dnsblv6_addr_from_ipv4(static_cast<uint32_t>(number % KEYS) << 7));
}

static uint64_t seal(cache_key key, uint64_t version)
{
	return (version ^ key.word) * 0x2545f4914f6cdd1d;
}

static void write_keys(cache *table, uint64_t puts, uint64_t state)
{
	for (; puts > 0; puts--) {
		const cache_key key = key_of(next(&state));
		cache_entry entry = {};
		const uint64_t words[2] = { puts, seal(key, puts) };
		memcpy(entry.payload.bytes, words, sizeof(words));
		entry.kind = CACHE_BITMAP;
		entry.expires_s = cache_now_s(table) + static_cast<uint32_t>(puts % 3);
		cache_put(table, key, &entry);
		cache_zone_set(table, 0, CACHE_ZONE_WORD, puts);
	}
	writers_left--;
}

static void read_keys(const cache *table, uint64_t state)
{
	while (writers_left > 0) {
		const cache_key key = key_of(next(&state));
		cache_entry entry = {};
		if (cache_get(table, key, &entry) != DNSBLV6_OK)
			continue;
		uint64_t words[2];
		memcpy(words, entry.payload.bytes, sizeof(words));
		hits++;
		wrong += entry.kind != CACHE_BITMAP || words[1] != seal(key, words[0]);
		cache_mark(table, key);
		cache_zone_get(table, 0, CACHE_ZONE_WORD);
	}
}

int main(int argc, char **argv)
{
	const uint64_t puts = argc > 1 ? strtoull(argv[1], nullptr, 10) : 200000;
	cache *table = nullptr;
	if (cache_new(CACHE_SIZE_MIN, &table) != DNSBLV6_OK)
		return 71;
	std::vector<std::thread> threads;
	writers_left = 2;
	for (unsigned i = 0; i < 2; i++)
		threads.emplace_back(write_keys, table, puts, i);
	for (unsigned i = 0; i < 4; i++)
		threads.emplace_back(read_keys, table, 100 + i);
	for (std::thread &thread : threads)
		thread.join();
	cache_free(table);
	printf("%llu hits, %llu wrong\n", static_cast<unsigned long long>(hits),
	       static_cast<unsigned long long>(wrong));
	return wrong == 0 && hits > 0 ? 0 : 1;
}
