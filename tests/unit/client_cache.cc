// SPDX-License-Identifier: GPL-3.0-or-later
#include "client-lib/cache.h"
#include "client-lib/cache_table.h"

#include "tests/lib/child.hh"
#include "tests/lib/random.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#define RANDOM_SEED(count) GENERATE(take(count, random(0u, UINT_MAX)))

namespace
{
struct cache_end {
	void operator()(cache *table) const
	{
		cache_free(table);
	}
};
using cache_ptr = std::unique_ptr<cache, cache_end>;

cache_ptr new_cache(uint64_t size_bytes = CACHE_SIZE_MIN)
{
	cache *table = nullptr;
	REQUIRE(cache_new(size_bytes, &table) == DNSBLV6_OK);
	return cache_ptr(table);
}

const char *const zones[] = { "bl6.example", "second.example" };

int create(const std::string &path, cache_ptr &ret_cache, uint64_t size_bytes = 65536)
{
	cache *table = nullptr;
	const int ret = cache_create_file(path.c_str(), size_bytes, zones, 2, &table);
	if (ret == DNSBLV6_OK)
		ret_cache.reset(table);
	return ret;
}

int map(const std::string &path, cache_ptr &ret_cache)
{
	cache *table = nullptr;
	const int ret = cache_map_file(path.c_str(), &table);
	if (ret == DNSBLV6_OK)
		ret_cache.reset(table);
	return ret;
}

dnsblv6_addr ipv4(uint32_t number)
{
	return dnsblv6_addr_from_ipv4(number);
}

cache_entry entry_of(const cache *table, uint8_t byte, uint32_t ttl_s = 3600)
{
	cache_entry entry = {};
	entry.kind = CACHE_BITMAP;
	entry.expires_s = cache_now_s(table) + ttl_s;
	entry.ttl_s = ttl_s;
	memset(entry.payload.bytes, byte, sizeof(entry.payload.bytes));
	return entry;
}

// Byte 0 of what is there, or -1.
int get(const cache *table, cache_key key)
{
	cache_entry entry = {};
	return cache_get(table, key, &entry) == DNSBLV6_OK ? entry.payload.bytes[0] : -1;
}

// A payload that says whether it was put as it is, and under that key.
cache_entry sealed(const cache *table, cache_key key, uint64_t version)
{
	cache_entry entry = entry_of(table, 0);
	const uint64_t words[2] = { version, (version ^ key.word) * 0x2545f4914f6cdd1d };
	memcpy(entry.payload.bytes, words, sizeof(words));
	return entry;
}

bool is_sealed(cache_key key, const cache_entry &entry)
{
	uint64_t words[2];
	memcpy(words, entry.payload.bytes, sizeof(words));
	return entry.kind == CACHE_BITMAP && words[1] == (words[0] ^ key.word) * 0x2545f4914f6cdd1d;
}

uint64_t *slot_of(cache *table, cache_key key)
{
	for (uint64_t i = 0; i < table->set_count * CACHE_SET_SLOTS; i++) {
		if (table->slots[i * CACHE_SLOT_WORDS] == key.word)
			return table->slots + i * CACHE_SLOT_WORDS;
	}
	return nullptr;
}

// Keys of /25s that share a set.
std::vector<cache_key> neighbours(unsigned count, uint64_t seed_from)
{
	cache_ptr scratch = new_cache();
	cache_ptr table = new_cache();
	// The same seeds, so the same sets.
	scratch->seed[0] = table->seed[0] = seed_from;
	scratch->seed[1] = table->seed[1] = seed_from | 1;
	std::vector<cache_key> keys;
	long wanted = -1;
	for (uint32_t i = 0; keys.size() < count && i < 100000; i++) {
		const cache_key key = cache_key_block(0, ipv4(i << 7));
		const cache_entry entry = entry_of(scratch.get(), 1);
		cache_put(scratch.get(), key, &entry);
		const long set = (slot_of(scratch.get(), key) - scratch->slots) /
				 static_cast<long>(CACHE_SET_WORDS);
		memset(scratch->slots, 0, scratch->set_count * CACHE_SET_SIZE);
		if (wanted < 0)
			wanted = set;
		if (set == wanted)
			keys.push_back(key);
	}
	REQUIRE(keys.size() == count);
	return keys;
}

cache_ptr seeded_cache(uint64_t seed)
{
	cache_ptr table = new_cache();
	table->seed[0] = seed;
	table->seed[1] = seed | 1;
	return table;
}
} // namespace

// ---- slots ----

TEST_CASE("what was put is got, with all that it had", "[client][cache]")
{
	const auto kind =
		GENERATE(CACHE_BITMAP, CACHE_VALUES, CACHE_LOW, CACHE_FAILED, CACHE_RANGE);
	const bool is_secure = GENERATE(false, true);
	const bool is_stale = GENERATE(false, true);
	CAPTURE(kind, is_secure, is_stale);
	cache_ptr table = new_cache();
	cache_entry entry = entry_of(table.get(), 0xa5, 300);
	entry.kind = kind;
	entry.is_secure = is_secure;
	entry.is_stale = is_stale;
	entry.payload.bytes[15] = 7;
	const cache_key key = cache_key_block(63, ipv4(0xc0000242));

	cache_entry got = {};
	CHECK(cache_get(table.get(), key, &got) == DNSBLV6_ENOTFOUND);
	cache_put(table.get(), key, &entry);
	cache_mark(table.get(), key);
	cache_prefetch(table.get(), key);
	REQUIRE(cache_get(table.get(), key, &got) == DNSBLV6_OK);
	CHECK(got.kind == kind);
	CHECK(got.is_secure == is_secure);
	CHECK(got.is_stale == is_stale);
	CHECK(got.expires_s == entry.expires_s);
	CHECK(got.ttl_s == 300);
	CHECK(memcmp(&got.payload, &entry.payload, sizeof(got.payload)) == 0);
}

TEST_CASE("the second answer about a key takes the place of the first", "[client][cache]")
{
	cache_ptr table = new_cache();
	const cache_key key = cache_key_block(0, ipv4(0xc0000242));
	for (uint8_t byte : { 1, 2, 3 }) {
		const cache_entry entry = entry_of(table.get(), byte);
		cache_put(table.get(), key, &entry);
		CHECK(get(table.get(), key) == byte);
	}
	cache_stats stats = {};
	cache_get_stats(table.get(), &stats);
	CHECK(stats.puts == 3);
	CHECK(stats.evicted == 0);
}

TEST_CASE("what has expired is still got, and says when it did", "[client][cache]")
{
	cache_ptr table = new_cache();
	const cache_key key = cache_key_block(0, ipv4(0));
	cache_entry entry = entry_of(table.get(), 9);
	entry.expires_s = 0;
	cache_put(table.get(), key, &entry);
	REQUIRE(cache_get(table.get(), key, &entry) == DNSBLV6_OK);
	CHECK(entry.expires_s == 0);
	CHECK(cache_now_s(table.get()) > 0);
}

TEST_CASE("a TTL is kept as a class that is not above it, an expiry as far as it goes",
	  "[client][cache]")
{
	const auto [ttl_s, kept_s] = GENERATE(table<uint32_t, uint32_t>(
		{ { 0, 0 }, { 4, 0 }, { 5, 5 }, { 2100, 1800 }, { UINT32_MAX, 604800 } }));
	cache_ptr table = new_cache();
	const cache_key key = cache_key_block(0, ipv4(0));
	cache_entry entry = entry_of(table.get(), 9);
	entry.ttl_s = ttl_s;
	entry.expires_s = UINT32_MAX;
	cache_put(table.get(), key, &entry);
	REQUIRE(cache_get(table.get(), key, &entry) == DNSBLV6_OK);
	CHECK(entry.ttl_s == kept_s);
	CHECK(entry.expires_s == (1u << 28) - 1);
}

TEST_CASE("a slot of which any bit is turned over is a miss", "[client][cache]")
{
	cache_ptr table = new_cache();
	const cache_key key = cache_key_block(5, ipv4(0xc0000242));
	const cache_entry entry = entry_of(table.get(), 0x5a);
	cache_put(table.get(), key, &entry);
	uint64_t *words = slot_of(table.get(), key);
	REQUIRE(words != nullptr);
	for (unsigned bit = 0; bit < 256; bit++) {
		CAPTURE(bit);
		words[bit / 64] ^= 1ull << bit % 64;
		const cache_key damaged = { words[0] };
		CHECK(get(table.get(), key) == -1);
		CHECK(get(table.get(), damaged) == -1);
		words[bit / 64] ^= 1ull << bit % 64;
	}
	CHECK(get(table.get(), key) == 0x5a);
}

TEST_CASE("words of two puts make no third answer", "[client][cache]")
{
	cache_ptr table = new_cache();
	const cache_key key = cache_key_block(5, ipv4(0xc0000242));
	uint64_t old[CACHE_SLOT_WORDS];
	uint64_t young[CACHE_SLOT_WORDS];
	cache_entry entry = entry_of(table.get(), 0);
	cache_put(table.get(), key, &entry);
	uint64_t *words = slot_of(table.get(), key);
	memcpy(old, words, sizeof(old));
	entry.payload.bytes[7] = 0x80; // the last bit of either word
	entry.payload.bytes[15] = 0x80;
	entry.kind = CACHE_LOW;
	cache_put(table.get(), key, &entry);
	memcpy(young, words, sizeof(young));
	for (unsigned taken = 1; taken < 7; taken++) {
		CAPTURE(taken);
		for (unsigned i = 1; i < CACHE_SLOT_WORDS; i++)
			words[i] = (taken & 1u << (i - 1)) != 0 ? young[i] : old[i];
		CHECK(get(table.get(), key) == -1);
	}
}

TEST_CASE("a slot of another table is no slot of this one", "[client][cache]")
{
	cache_ptr one = new_cache();
	cache_ptr other = new_cache();
	const cache_key key = cache_key_block(0, ipv4(0));
	const cache_entry entry = entry_of(one.get(), 1);
	cache_put(one.get(), key, &entry);
	cache_put(other.get(), key, &entry);
	memcpy(slot_of(other.get(), key), slot_of(one.get(), key), CACHE_SLOT_SIZE);
	CHECK(get(other.get(), key) == -1);
}

// ---- keys ----

TEST_CASE("addresses have one key when they share a block", "[client][cache]")
{
	const auto seed = RANDOM_SEED(2000);
	CAPTURE(seed);
	randomness rnd(seed);
	const dnsblv6_addr a = rnd.addr();
	dnsblv6_addr b = rnd.one_in(4) ? rnd.addr() : a;
	(rnd.one_in(2) ? b.hi : b.lo) ^= 1ull << rnd.below(64);
	const dnsblv6_prefix a_block = dnsblv6_block_of(a);
	const dnsblv6_prefix b_block = dnsblv6_block_of(b);
	const bool is_same = a_block.prefix_len == b_block.prefix_len &&
			     dnsblv6_addr_compare(a_block.first, b_block.first) == 0;
	CHECK((cache_key_block(1, a).word == cache_key_block(1, b).word) == is_same);
	CHECK(cache_key_block(1, a).word != cache_key_block(2, a).word);
}

TEST_CASE("keys of blocks, addresses and ranges are never the same", "[client][cache]")
{
	cache_ptr table = new_cache();
	const dnsblv6_addr addrs[] = {
		ipv4(0), ipv4(1), ipv4(UINT32_MAX), { 0, 0 }, { UINT64_MAX, UINT64_MAX }, { 1, 0 }
	};
	std::set<uint64_t> words;
	unsigned count = 0;
	for (unsigned zone : { 0u, 63u }) {
		for (const dnsblv6_addr &addr : addrs) {
			words.insert(cache_key_address(table.get(), zone, addr).word);
			count++;
		}
		for (unsigned i : { 1u, 2u, 3u, 4u }) { // 0 and 1 share a block, as do 3 and 5
			words.insert(cache_key_block(zone, addrs[i]).word);
			count++;
		}
		for (unsigned level = 1; level <= 9; level++) {
			for (uint64_t index : { uint64_t{ 0 }, (uint64_t{ 1 } << 50) - 1 }) {
				words.insert(cache_key_range(zone, true, level, index).word);
				words.insert(cache_key_range(zone, false, level, index).word);
				count += 2;
			}
		}
	}
	CHECK(words.size() == count);
}

TEST_CASE("IPv6 addresses have other keys in another table", "[client][cache]")
{
	cache_ptr one = new_cache();
	cache_ptr other = new_cache();
	CHECK(cache_key_address(one.get(), 0, { 1, 1 }).word !=
	      cache_key_address(other.get(), 0, { 1, 1 }).word);
	CHECK(cache_key_address(one.get(), 0, { 1, 1 }).word ==
	      cache_key_address(one.get(), 0, { 1, 1 }).word);
}

// ---- who goes ----

TEST_CASE("a set that is full of live answers gives up one that was not used", "[client][cache]")
{
	const auto keys = neighbours(6, 12345);
	cache_ptr table = seeded_cache(12345);
	for (uint8_t i = 0; i < 4; i++) {
		const cache_entry entry = entry_of(table.get(), i);
		cache_put(table.get(), keys[i], &entry);
	}
	for (unsigned i : { 0u, 1u, 3u })
		cache_mark(table.get(), keys[i]);
	const cache_entry entry = entry_of(table.get(), 4);
	cache_put(table.get(), keys[4], &entry);
	CHECK(get(table.get(), keys[2]) == -1);
	for (uint8_t i : { 0, 1, 3, 4 })
		CHECK(get(table.get(), keys[i]) == i);
	cache_stats stats = {};
	cache_get_stats(table.get(), &stats);
	CHECK(stats.evicted == 1);

	// The hand went over 0 and 1, whose marks are gone; 3 still has its own.
	for (unsigned i : { 4u, 5u }) {
		const cache_entry next = entry_of(table.get(), static_cast<uint8_t>(i));
		cache_put(table.get(), keys[i], &next);
	}
	CHECK(get(table.get(), keys[3]) == -1 + 4);
	CHECK(get(table.get(), keys[5]) == 5);
}

TEST_CASE("four that are all in use make room nevertheless", "[client][cache]")
{
	const auto keys = neighbours(5, 999);
	cache_ptr table = seeded_cache(999);
	for (uint8_t i = 0; i < 5; i++) {
		const cache_entry entry = entry_of(table.get(), i);
		cache_put(table.get(), keys[i], &entry);
		cache_mark(table.get(), keys[i]);
	}
	CHECK(get(table.get(), keys[4]) == 4);
	unsigned left = 0;
	for (unsigned i = 0; i < 4; i++)
		left += get(table.get(), keys[i]) >= 0;
	CHECK(left == 3);
}

TEST_CASE("what expired goes before what lives, the useless first", "[client][cache]")
{
	const auto keys = neighbours(8, 7);
	cache_ptr table = seeded_cache(7);
	table->epoch_s -= 1000; // it is late in the life of this table
	const uint32_t now_s = cache_now_s(table.get());
	cache_entry entry = entry_of(table.get(), 0);
	const auto put = [&](unsigned i, cache_kind kind, uint32_t expires_s) {
		entry.kind = kind;
		entry.expires_s = expires_s;
		memset(entry.payload.bytes, static_cast<int>(i), sizeof(entry.payload.bytes));
		cache_put(table.get(), keys[i], &entry);
	};
	put(0, CACHE_BITMAP, now_s - 900); // the oldest, but in use
	cache_mark(table.get(), keys[0]);
	put(1, CACHE_BITMAP, now_s - 10);
	put(2, CACHE_FAILED, now_s - 1);
	put(3, CACHE_BITMAP, now_s + 1000);
	const unsigned order[] = { 2, 1, 0 };
	for (unsigned i = 0; i < 3; i++) {
		CAPTURE(i);
		REQUIRE(get(table.get(), keys[order[i]]) == static_cast<int>(order[i]));
		put(4 + i, CACHE_BITMAP, now_s + 1000);
		CHECK(get(table.get(), keys[order[i]]) == -1);
	}
	CHECK(get(table.get(), keys[3]) == 3);
	cache_stats stats = {};
	cache_get_stats(table.get(), &stats);
	CHECK(stats.evicted == 0);
}

TEST_CASE("a damaged slot is the first to be used again", "[client][cache]")
{
	const auto keys = neighbours(5, 77);
	cache_ptr table = seeded_cache(77);
	for (uint8_t i = 0; i < 4; i++) {
		const cache_entry entry = entry_of(table.get(), i);
		cache_put(table.get(), keys[i], &entry);
	}
	slot_of(table.get(), keys[1])[2] ^= 4;
	const cache_entry entry = entry_of(table.get(), 4);
	cache_put(table.get(), keys[4], &entry);
	for (uint8_t i : { 0, 2, 3, 4 })
		CHECK(get(table.get(), keys[i]) == i);
}

TEST_CASE("a key that two writers put at once is there once after the next put", "[client][cache]")
{
	const auto keys = neighbours(2, 78);
	cache_ptr table = seeded_cache(78);
	for (uint8_t i = 0; i < 2; i++) {
		const cache_entry entry = entry_of(table.get(), i);
		cache_put(table.get(), keys[i], &entry);
	}
	// As if the other writer had not seen ours.
	memcpy(slot_of(table.get(), keys[1]), slot_of(table.get(), keys[0]), CACHE_SLOT_SIZE);
	const cache_entry entry = entry_of(table.get(), 9);
	cache_put(table.get(), keys[0], &entry);
	*slot_of(table.get(), keys[0]) = 0;
	CHECK(get(table.get(), keys[0]) == -1);
}

// ---- tables ----

TEST_CASE("a table takes what it may and has a slot for every 33 bytes of it", "[client][cache]")
{
	const uint64_t size = GENERATE(CACHE_SIZE_MIN, 12288, 65536, 4u << 20);
	CAPTURE(size);
	cache_ptr table = new_cache(size + 4095);
	cache_stats stats = {};
	cache_get_stats(table.get(), &stats);
	CHECK(stats.size_bytes == size);
	CHECK(stats.slots * CACHE_SLOT_SIZE <= size - CACHE_NAMES_OFFSET);
	CHECK(stats.slots >= (size - CACHE_NAMES_OFFSET) / 33 * 4 / 4 - 8);
	// The last slot, the last mark: a write beyond would crash.
	table->slots[stats.slots * CACHE_SLOT_WORDS - 1] = 1;
	table->marks[table->set_count - 1] = 1;
	CHECK(reinterpret_cast<char *>(table->marks + table->set_count) <=
	      reinterpret_cast<char *>(table->header) + size);
}

TEST_CASE("a table that is too small or too large to be one is refused", "[client][cache]")
{
	const uint64_t size = GENERATE(uint64_t{ 0 }, uint64_t{ CACHE_SIZE_MIN - 1 },
				       uint64_t{ 1 } << 62, UINT64_MAX);
	cache *table = nullptr;
	CHECK(cache_new(size, &table) == -EINVAL);
	CHECK(table == nullptr);
	cache_free(nullptr);
}

TEST_CASE("every zone has a word of its own", "[client][cache]")
{
	cache_ptr table = new_cache();
	for (unsigned zone = 0; zone < CACHE_ZONES_MAX; zone++) {
		CHECK(cache_zone_word(table.get(), zone) == 0);
		cache_set_zone_word(table.get(), zone, UINT64_MAX - zone);
	}
	for (unsigned zone = 0; zone < CACHE_ZONES_MAX; zone++)
		CHECK(cache_zone_word(table.get(), zone) == UINT64_MAX - zone);
}

TEST_CASE("a table is shared with children", "[client][cache]")
{
	cache_ptr table = new_cache();
	const cache_key key = cache_key_block(0, ipv4(1));
	child other([&] {
		const cache_entry entry = entry_of(table.get(), 8);
		cache_put(table.get(), key, &entry);
		cache_set_zone_word(table.get(), 1, 2);
		return 0;
	});
	REQUIRE(other.wait() == 0);
	CHECK(get(table.get(), key) == 8);
	CHECK(cache_zone_word(table.get(), 1) == 2);
}

// ---- files ----

TEST_CASE("who maps the file sees what its writer puts, and changes nothing", "[client][cache]")
{
	tmpdir dir;
	const std::string path = dir.file("cache");
	cache_ptr writer;
	cache_ptr reader;
	REQUIRE(map(path, reader) == -ENOENT);
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	REQUIRE(map(path, reader) == DNSBLV6_OK);
	const cache_key key = cache_key_block(1, ipv4(7));
	const cache_entry entry = entry_of(writer.get(), 3);
	cache_put(writer.get(), key, &entry);
	cache_set_zone_word(writer.get(), 1, 5);
	CHECK(get(reader.get(), key) == 3);
	CHECK(cache_zone_word(reader.get(), 1) == 5);
	CHECK(cache_now_s(reader.get()) >= 1);
	CHECK(cache_key_address(reader.get(), 0, { 1, 1 }).word ==
	      cache_key_address(writer.get(), 0, { 1, 1 }).word);

	const cache_entry no = entry_of(reader.get(), 4);
	cache_put(reader.get(), key, &no);
	cache_mark(reader.get(), key);
	cache_set_zone_word(reader.get(), 1, 6);
	CHECK(get(writer.get(), key) == 3);
	CHECK(cache_zone_word(writer.get(), 1) == 5);

	struct stat status = {};
	REQUIRE(stat(path.c_str(), &status) == 0);
	CHECK((status.st_mode & 07777) == 0644);
	CHECK(status.st_size == 65536);
	CHECK(status.st_blocks * 512 >= 65536);
}

TEST_CASE("zones of a file are found by name, in any case", "[client][cache]")
{
	tmpdir dir;
	cache_ptr writer;
	cache_ptr reader;
	REQUIRE(create(dir.file("cache"), writer) == DNSBLV6_OK);
	REQUIRE(map(dir.file("cache"), reader) == DNSBLV6_OK);
	CHECK(cache_zone_index(reader.get(), "bl6.example") == 0);
	CHECK(cache_zone_index(reader.get(), "Second.EXAMPLE.") == 1);
	CHECK(cache_zone_index(reader.get(), "second.exampl") == -ENOENT);
	CHECK(cache_zone_index(reader.get(), "") == -ENOENT);
	CHECK(cache_zone_index(new_cache().get(), "bl6.example") == -ENOENT);
}

TEST_CASE("a file has one writer at a time", "[client][cache]")
{
	tmpdir dir;
	cache_ptr writer;
	cache_ptr second;
	REQUIRE(create(dir.file("cache"), writer) == DNSBLV6_OK);
	CHECK(create(dir.file("cache"), second) == -EBUSY);
	child other([&] { return create(dir.file("cache"), second) == -EBUSY ? 0 : 1; });
	CHECK(other.wait() == 0);
	writer.reset();
	CHECK(create(dir.file("cache"), second) == DNSBLV6_OK);
}

TEST_CASE("the next writer finds what the last one knew, killed or not", "[client][cache]")
{
	const bool is_killed = GENERATE(false, true);
	CAPTURE(is_killed);
	tmpdir dir;
	const std::string path = dir.file("cache");
	const cache_key key = cache_key_block(1, ipv4(7));
	signal_pipe has_put;
	child first([&] {
		cache_ptr writer;
		if (create(path, writer) != DNSBLV6_OK)
			return 1;
		const cache_entry entry = entry_of(writer.get(), 3);
		cache_put(writer.get(), key, &entry);
		has_put.give();
		while (is_killed)
			pause();
		return 0; // writer ends here
	});
	has_put.take();
	cache_ptr reader;
	if (is_killed) {
		REQUIRE(map(path, reader) == DNSBLV6_OK);
		first.kill(SIGKILL);
		CHECK(first.wait() == 1000 + SIGKILL);
		CHECK(cache_is_current(reader.get(), path.c_str()));
	} else {
		CHECK(first.wait() == 0);
		REQUIRE(map(path, reader) == DNSBLV6_OK);
		CHECK_FALSE(cache_is_current(reader.get(), path.c_str()));
	}
	cache_ptr writer;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	CHECK(get(writer.get(), key) == 3);
	CHECK(cache_is_current(reader.get(), path.c_str()));
	writer.reset();
	CHECK_FALSE(cache_is_current(reader.get(), path.c_str()));
}

TEST_CASE("a file of another size or of other zones is replaced, and its readers go on",
	  "[client][cache]")
{
	const bool has_other_zones = GENERATE(false, true);
	tmpdir dir;
	const std::string path = dir.file("cache");
	const cache_key key = cache_key_block(1, ipv4(7));
	cache_ptr writer;
	cache_ptr reader;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	const cache_entry entry = entry_of(writer.get(), 3);
	cache_put(writer.get(), key, &entry);
	REQUIRE(map(path, reader) == DNSBLV6_OK);
	writer.reset();
	cache *table = nullptr;
	const char *const others[] = { "second.example", "bl6.example" };
	REQUIRE(cache_create_file(path.c_str(), has_other_zones ? 65536 : 131072,
				  has_other_zones ? others : zones, 2, &table) == DNSBLV6_OK);
	writer.reset(table);
	CHECK(get(writer.get(), key) == -1);
	CHECK(get(reader.get(), key) == 3);
	CHECK_FALSE(cache_is_current(reader.get(), path.c_str()));
	REQUIRE(map(path, reader) == DNSBLV6_OK);
	CHECK(cache_is_current(reader.get(), path.c_str()));
}

TEST_CASE("what was put before the machine started is not believed", "[client][cache]")
{
	const unsigned word = GENERATE(unsigned{ CACHE_WORD_EPOCH }, unsigned{ CACHE_WORD_BOOT });
	CAPTURE(word);
	tmpdir dir;
	const std::string path = dir.file("cache");
	cache_ptr writer;
	cache_ptr reader;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	const cache_key key = cache_key_block(1, ipv4(7));
	const cache_entry entry = entry_of(writer.get(), 3);
	cache_put(writer.get(), key, &entry);
	writer->header[word] += 1000000;
	writer.reset();
	CHECK(map(path, reader) == -EPROTO);
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	CHECK(get(writer.get(), key) == -1);
	CHECK(map(path, reader) == DNSBLV6_OK);
}

TEST_CASE("a file that is no table is refused, and replaced by a writer", "[client][cache]")
{
	const std::string what =
		GENERATE(as<std::string>{}, "empty", "cut", "longer", "version", "magic", "random",
			 "zeros", "sets", "names", "zones", "writable", "fifo", "directory");
	CAPTURE(what);
	tmpdir dir;
	const std::string path = dir.file("cache");
	cache_ptr writer;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	writer.reset();
	std::string bytes = read_file(path);
	const auto change = [&](cache_word word, char add) {
		bytes[static_cast<unsigned>(word) * 8] =
			static_cast<char>(bytes[static_cast<unsigned>(word) * 8] + add);
	};
	if (what == "empty" || what == "fifo" || what == "directory")
		bytes.clear();
	else if (what == "cut")
		bytes.resize(bytes.size() - 4096);
	else if (what == "longer")
		bytes.resize(bytes.size() + 4096);
	else if (what == "version")
		change(CACHE_WORD_VERSION, 1);
	else if (what == "magic")
		change(CACHE_WORD_MAGIC, 1);
	else if (what == "sets")
		change(CACHE_WORD_SETS, 1);
	else if (what == "names")
		change(CACHE_WORD_NAMES_SIZE, -1);
	else if (what == "zones")
		change(CACHE_WORD_ZONES, 1);
	else if (what == "zeros")
		bytes.assign(bytes.size(), '\0');
	else if (what == "random")
		for (char &byte : bytes)
			byte = static_cast<char>(rand());
	write_file(path, bytes);
	if (what == "writable")
		REQUIRE(chmod(path.c_str(), 0664) == 0);
	if (what == "fifo")
		REQUIRE((unlink(path.c_str()) == 0 && mkfifo(path.c_str(), 0644) == 0));
	if (what == "directory")
		REQUIRE((unlink(path.c_str()) == 0 && mkdir(path.c_str(), 0755) == 0));

	cache_ptr reader;
	CHECK(map(path, reader) == -EPROTO);
	CHECK(create(path, writer) == (what == "directory" ? -EISDIR : DNSBLV6_OK));
	CHECK((map(path, reader) == DNSBLV6_OK) == (what != "directory"));
}

TEST_CASE("a file of another user is believed only in a directory of that user's",
	  "[client][cache]")
{
	if (geteuid() != 0) {
		WARN("skipped: it takes root to give files away");
		return;
	}
	enum { OTHER = 12345, THIRD = 12346 };
	tmpdir dir;
	const std::string path = dir.file("cache");
	cache_ptr writer;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	REQUIRE(chmod(dir.path().c_str(), 0755) == 0);
	const auto map_as = [&](uid_t user) {
		child reader([&] {
			cache_ptr mapped;
			if (setuid(user) != 0)
				return 2;
			const int ret = map(path, mapped);
			return ret == DNSBLV6_OK ? 0 : ret == -EPROTO ? 1 : 3;
		});
		return reader.wait();
	};
	CHECK(map_as(THIRD) == 0); // root's
	REQUIRE(chown(path.c_str(), OTHER, OTHER) == 0);
	CHECK(map_as(OTHER) == 0);
	CHECK(map_as(THIRD) == 1);
	REQUIRE(chown(dir.path().c_str(), OTHER, OTHER) == 0);
	CHECK(map_as(THIRD) == 0);
	REQUIRE(chmod(path.c_str(), 0600) == 0);
	CHECK(map_as(THIRD) == 3); // -EACCES
}

TEST_CASE("a full disk is told when the file is made, and leaves nothing", "[client][cache]")
{
	tmpdir dir;
	child other([&] {
		if (unshare(CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0 ||
		    mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
		    mount("none", dir.path().c_str(), "tmpfs", 0, "size=64k") != 0)
			return 77;
		cache_ptr writer;
		const std::string path = dir.file("cache");
		if (create(path, writer, 1u << 20) != -ENOSPC)
			return 1;
		if (access((path + ".new").c_str(), F_OK) == 0 || access(path.c_str(), F_OK) == 0)
			return 2;
		return create(path, writer, 32768) == DNSBLV6_OK ? 0 : 3;
	});
	const int status = other.wait();
	if (status == 77)
		WARN("skipped: no file system of its own for this test");
	else
		CHECK(status == 0);
}

TEST_CASE("a directory that is not there is told", "[client][cache]")
{
	cache_ptr table;
	CHECK(create("/nonexistent/cache", table) == -ENOENT);
	CHECK(map("/nonexistent/cache", table) == -ENOENT);
	cache *none = nullptr;
	CHECK(cache_create_file("/nonexistent/cache", 100, zones, 2, &none) == -EINVAL);
	CHECK(cache_create_file("/nonexistent/cache", 65536, zones, CACHE_ZONES_MAX + 1, &none) ==
	      -EINVAL);
}

// ---- kill -9 ----

// Puts sealed answers about keys of a small range until it is killed.
static int write_on(const std::string &path, uint64_t version)
{
	cache_ptr writer;
	if (create(path, writer, CACHE_SIZE_MIN) != DNSBLV6_OK)
		return 1;
	for (;; version++) {
		const cache_key key = cache_key_block(
			0, ipv4(static_cast<uint32_t>(version * 0x9e3779b97f4a7c15 >> 55) << 7));
		const cache_entry entry = sealed(writer.get(), key, version);
		cache_put(writer.get(), key, &entry);
	}
}

TEST_CASE("readers see whole answers whenever the writer is killed", "[client][cache]")
{
	const char *text = getenv("DNSBLV6_KILLS"); // tests/campaign-cache
	const unsigned rounds = text != nullptr ? static_cast<unsigned>(atoi(text)) : 1000;
	tmpdir dir;
	const std::string path = dir.file("cache");
	cache_ptr reader;
	uint64_t hits = 0;
	uint64_t wrong = 0;
	uint64_t version = 1;
	unsigned started = 0;
	for (unsigned round = 0; round < rounds; round++) {
		child writer([&] { return write_on(path, version); });
		// Up to 20,000 look-ups, then the writer dies wherever it is.
		unsigned left = static_cast<unsigned>(rand()) % 20000;
		while (reader == nullptr)
			if (map(path, reader) != DNSBLV6_OK)
				sched_yield();
		for (; left > 0; left--) {
			const cache_key key =
				cache_key_block(0, ipv4(static_cast<uint32_t>(rand() & 511) << 7));
			cache_entry entry = {};
			if (cache_get(reader.get(), key, &entry) != DNSBLV6_OK)
				continue;
			hits++;
			wrong += !is_sealed(key, entry);
		}
		writer.kill(SIGKILL);
		REQUIRE(writer.wait() == 1000 + SIGKILL);
		version += 1u << 24;
		started += cache_is_current(reader.get(), path.c_str());
	}
	CAPTURE(rounds, hits);
	CHECK(wrong == 0);
	CHECK(hits > rounds);
	CHECK(started == rounds); // each took over what it found
	cache_ptr last;
	REQUIRE(create(path, last, CACHE_SIZE_MIN) == DNSBLV6_OK);
}
