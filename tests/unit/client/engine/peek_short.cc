/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "client-lib/cache/cache_table.h"
#include "client-lib/config/scope.h"
#include "client-lib/engine/engine.h"
#include "client-lib/engine/look.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace
{
const char *const shared_zones[] = { "c.example", "x.example", "a.example" };

// An engine that asks nobody, and perhaps a daemon's table, filled by chance.
class chance
{
      public:
	std::mt19937 random;

	chance(unsigned seed, bool has_shared, bool is_single = false) : random(seed)
	{
		if (has_shared)
			make_shared_table();
		config_init(&config_);
		set("zones", is_single ? "b.example=127.0.0.2*3 b.example=127.0.0.[4..9]*-1"
				       : "a.example*2 b.example=127.0.0.2*3 "
					 "b.example=127.0.0.[4..9]*-1 c.example=127.0.0.4 "
					 "c.example*1 d.example e.example*-2");
		set("servers", "127.0.0.1@1");
		if (has_shared)
			set("shared", directory_.c_str());
		set("on-failure", pick({ "open", "closed", "defer" }));
		set("threshold", pick({ "1", "2", "4" }));
		set("prefetch", pick({ "0", "10", "90" }));
		set("max-stale", pick({ "0", "1m", "3h" }));
		set("secure", is_single ? pick({ "auto", "no" })
					: pick({ "auto", "no", "a.example=yes c.example=yes" }));
		set("scope", pick({ "global", "all" }));
		set("ranges", pick({ "yes", "yes", "no" }));
		set("cache-size", pick({ "8K", "64K" })); // in the smaller one sets are full
		char error[CONFIG_ERROR_MAX];
		REQUIRE(config_finish(&config_, error) == 0);
		REQUIRE(engine_new(&config_, nullptr, nullptr, &engine_) == 0);
		if (has_shared) {
			shared_take(engine_->all.shared, cache_shared_fd(table_));
			REQUIRE(shared_get(engine_->all.shared) != nullptr);
		}
		for (unsigned i = 0; i < 48; i++)
			addresses_.push_back(make_address());
	}
	~chance()
	{
		engine_free(engine_);
		cache_free(table_);
		if (!directory_.empty()) {
			for (const char *name : { "/cache", "/cache.lock", "" })
				remove((directory_ + name).c_str());
		}
	}
	chance(const chance &) = delete;
	chance &operator=(const chance &) = delete;

	const zones &parts() const
	{
		return engine_->all;
	}
	cache *table() const
	{
		return table_;
	}
	unsigned draw(unsigned count)
	{
		return static_cast<unsigned>(random() % count);
	}
	dnsblv6_addr address()
	{
		return addresses_[draw(static_cast<unsigned>(addresses_.size()))];
	}
	void fill()
	{
		for (unsigned i = 0; i < config_.zone_count; i++)
			fill_zone(engine_->all.cache, i);
		for (unsigned i = 0; table_ != nullptr && i < 3; i++)
			fill_zone(table_, i);
		tear(engine_->all.cache);
		if (table_ != nullptr)
			tear(table_);
	}

      private:
	struct config config_ = {};
	engine *engine_ = nullptr;
	cache *table_ = nullptr;
	std::string directory_;
	std::vector<dnsblv6_addr> addresses_;

	const char *pick(std::vector<const char *> words)
	{
		return words[draw(static_cast<unsigned>(words.size()))];
	}
	void set(const char *key, const char *value)
	{
		char error[CONFIG_ERROR_MAX];
		REQUIRE(config_set(&config_, key, value, error) == 0);
	}
	void make_shared_table()
	{
		char name[] = "/tmp/dnsblv6-peek-XXXXXX";
		REQUIRE(mkdtemp(name) != nullptr);
		directory_ = name;
		REQUIRE(cache_create_shared((directory_ + "/cache").c_str(), 8192, shared_zones, 3,
					    &table_) == 0);
	}
	// Of few blocks, so that what is put is found.
	dnsblv6_addr make_address()
	{
		static const uint32_t nets[] = { 0xc0000200, 0xc0000280, 0x7f000100, 0x7f000000,
						 0x0a000000 };
		if (draw(4) == 0)
			return { 0x20010db800000000ull | draw(300), random() };
		return dnsblv6_addr_from_ipv4(nets[draw(5)] + draw(128));
	}
	uint32_t some_time(const cache *table)
	{
		const uint32_t now_s = cache_now_s(table);
		const uint32_t past_s = draw(2) == 0 ? 1 : draw(100);
		return draw(3) == 0 ? (now_s > past_s ? now_s - past_s : 0) : now_s + draw(4000);
	}
	void put(cache *table, cache_key key, unsigned kind)
	{
		cache_entry entry = {};
		entry.kind = static_cast<cache_kind>(kind);
		entry.is_secure = draw(2) == 0;
		entry.is_stale = draw(4) == 0;
		entry.expires_s = some_time(table);
		entry.ttl_s = draw(4000);
		const bool is_sparse = draw(2) == 0;
		for (uint8_t &byte : entry.payload.bytes)
			byte = static_cast<uint8_t>(random() & (is_sparse ? random() & 17 : 255));
		if (kind == CACHE_VALUES && draw(2) == 0)
			memcpy(entry.payload.bytes, "\177\0\0\4", 4);
		if (kind == CACHE_FAILED)
			entry.payload.bytes[0] = static_cast<uint8_t>(draw(6));
		cache_put(table, key, &entry);
	}
	void fill_zone(cache *table, unsigned zone)
	{
		health_word parts = {};
		parts.state = static_cast<dnsblv6_zone_state>(draw(3) == 0 ? draw(8) : 1);
		parts.mode = static_cast<health_mode>(draw(3) == 0 ? draw(4) : 1 + draw(2));
		parts.has_ipv4 = draw(8) != 0;
		parts.has_ipv6 = draw(3) != 0;
		parts.has_classic = draw(2) == 0;
		parts.due_s = draw(2) == 0 ? HEALTH_NEVER_S : some_time(table);
		cache_zone_set(table, zone, CACHE_ZONE_WORD,
			       draw(16) == 0 ? 0 : health_pack(&parts));
		if (draw(32) == 0)
			cache_begin_era(table, zone);
		for (unsigned i = 0; i < 12; i++)
			put_something(table, zone, address());
	}
	// As a writer leaves it that was stopped, and two that wrote the same at once.
	void tear(cache *table)
	{
		for (unsigned i = 0; i < 2; i++)
			set_of_some(table)[draw(16)] ^= 1ull << draw(64);
		uint64_t *set = set_of_some(table);
		memmove(set + 4 * draw(4), set + 4 * draw(4), CACHE_SLOT_SIZE);
	}
	uint64_t *set_of_some(cache *table)
	{
		return cache_set_of(table, cache_key_block(draw(5), address()));
	}
	void put_something(cache *table, unsigned zone, dnsblv6_addr addr)
	{
		const cache_key block = cache_key_block(zone, addr);
		const cache_key single = cache_key_address(table, zone, addr);
		const bool is_ipv4 = dnsblv6_addr_is_ipv4(addr);
		const unsigned level = 1 + draw(4);
		const uint64_t number = is_ipv4 ? addr.lo << 32 >> 39 : addr.hi >> 7;

		switch (draw(6)) {
		case 0:
			return put(table, single, 1 + draw(6));
		case 1:
			return put(table, look_failure_key(zone, draw(2) == 0 ? block : single),
				   CACHE_FAILED);
		case 2:
			return put(table,
				   cache_key_range(zone, is_ipv4, level, number >> level * 7),
				   CACHE_RANGE);
		default:
			return put(table, block, draw(4) == 0 ? 1 + draw(5) : 1);
		}
	}
};

struct said {
	int status = 0;
	dnsblv6_result result;

	said()
	{
		memset(&result, 0xa5, sizeof(result));
	}
};

// The clock is read anew by both: look_address() may use what it was up to a second ago.
void forget_clock(const zones &parts)
{
	const shared_table *table = parts.shared != nullptr ? shared_get(parts.shared) : nullptr;
	parts.cache->recent = 0;
	if (table != nullptr)
		table->cache->recent = 0;
}

// Both ways within one second of all clocks.
void look_twice(chance &world, dnsblv6_addr addr, uint64_t wanted, said &at_length, said &quick)
{
	const zones &parts = world.parts();
	const uint64_t entries = scope_entries(parts.config, CONFIG_ADDRESS, addr, wanted);
	dnsblv6_ip ip = {};
	dnsblv6_addr_to_bytes(addr, ip.bytes);
	uint64_t before = 0;
	do {
		before = cache_clock_s();
		forget_clock(parts);
		at_length.status =
			look_all_at_length(&parts, addr.hi, addr.lo, entries, &at_length.result);
		quick.status = look_address(&parts, &ip, wanted, &quick.result);
	} while (before != cache_clock_s());
}
} // namespace

TEST_CASE("the table of a daemon that says nothing any more is not looked at", "[client][peek]")
{
	chance world(1, true);
	shared *mapped = world.parts().shared;
	const auto beat = [&](int64_t age_s) {
		const auto now_s = static_cast<int64_t>(cache_clock_s());
		cache_beat(world.table(), (now_s - age_s) * 1000);
	};
	for (int64_t age_s : { int64_t{ SHARED_UNATTENDED_S } + 1, int64_t{ 100000 } }) {
		beat(age_s);
		CHECK(shared_get(mapped) == nullptr);
		// It was stopped, and goes on.
		shared_check(mapped, true);
		beat(0);
		CHECK(shared_get(mapped) != nullptr);
		shared_check(mapped, false);
		CHECK(shared_get(mapped) != nullptr);
	}
	beat(SHARED_UNATTENDED_S + 1);
	shared_check(mapped, false);
	beat(0);
	CHECK(shared_get(mapped) == nullptr);
	shared_take(mapped, cache_shared_fd(world.table()));
	CHECK(shared_get(mapped) != nullptr);
}

TEST_CASE("the short way through the caches says what the long one says", "[client][peek]")
{
	unsigned looked = 0, whole = 0, listed = 0, stale = 0, secure = 0, due = 0;
	for (unsigned seed = 1; seed <= 32; seed++) {
		chance world(seed, seed % 2 == 0, seed % 4 == 3);
		for (unsigned turn = 0; turn < 100; turn++) {
			world.fill();
			for (unsigned i = 0; i < 80; i++) {
				said at_length, quick;
				const dnsblv6_addr addr = world.address();
				// Of the single zone both, or the first one alone.
				const uint64_t wanted =
					world.draw(2) == 0 ? 0 : 1 | world.draw(128);
				look_twice(world, addr, wanted, at_length, quick);
				CAPTURE(seed, turn, i, addr.hi, addr.lo, wanted);
				if (at_length.status != quick.status ||
				    memcmp(&at_length.result, &quick.result,
					   sizeof(quick.result)) != 0)
					FAIL("they differ");
				looked++;
				whole += quick.status == 0;
				listed += quick.result.zones_listed != 0;
				stale += quick.result.zones_stale != 0;
				secure += quick.result.zones_secure != 0;
				due += quick.result.is_due;
			}
		}
	}
	CHECK(looked >= 200000);
	CHECK(whole > 10000);
	CHECK(listed > 10000);
	CHECK(stale > 10000);
	CHECK(secure > 10000);
	CHECK(due > 10000);
}
