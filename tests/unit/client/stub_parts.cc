/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "client-lib/base/entropy.h"
#include "client-lib/base/pool.h"
#include "client-lib/base/timers.h"
#include "client-lib/resolver/upstream.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"

namespace
{
// The order of three servers, as digits.
std::string order(std::vector<upstream> &servers, int64_t now_ms)
{
	uint8_t numbers[8];
	std::string text;
	upstream_order(servers.data(), static_cast<unsigned>(servers.size()), now_ms, numbers);
	for (size_t i = 0; i < servers.size(); i++)
		text += static_cast<char>('0' + numbers[i]);
	return text;
}
} // namespace

TEST_CASE("timers come in the order they are due", "[client][timers]")
{
	constexpr unsigned COUNT = 200;
	const auto seed = RANDOM_SEED(20);
	CAPTURE(seed);
	randomness rnd(seed);
	std::vector<timer> all(COUNT);
	std::multiset<int64_t> expected;
	timers heap = {};
	REQUIRE(timers_reserve(&heap, COUNT) == 0);

	for (unsigned i = 0; i < 2000; i++) {
		timer &one = all[rnd.below(COUNT)];
		if (one.place != 0)
			expected.erase(expected.find(one.when_ms));
		if (rnd.one_in(3)) {
			timers_clear(&heap, &one);
		} else {
			const int64_t when_ms = rnd.below(500);
			timers_set(&heap, &one, when_ms);
			expected.insert(when_ms);
		}
		REQUIRE(heap.count == expected.size());
		if (!expected.empty())
			REQUIRE(timers_first(&heap)->when_ms == *expected.begin());
	}
	for (int64_t when_ms : expected) {
		timer *first = timers_first(&heap);
		CHECK(first->when_ms == when_ms);
		timers_clear(&heap, first);
		timers_clear(&heap, first); // nothing, the second time
	}
	CHECK(timers_first(&heap) == nullptr);
	timers_deinit(&heap);
}

TEST_CASE("places have ids of their own, stay where they are, and come and go in steps",
	  "[client][pool]")
{
	constexpr unsigned COUNT = 3 * POOL_STEP + 7;
	struct pool places = {};
	REQUIRE(pool_init(&places, sizeof(uint64_t), COUNT) == 0);
	CHECK(places.room == POOL_STEP);
	std::vector<uint64_t *> items;
	std::set<uint64_t> ids;

	for (unsigned i = 0; i < COUNT; i++) {
		items.push_back(static_cast<uint64_t *>(pool_take(&places)));
		REQUIRE(items.back() != nullptr);
		*items.back() = i;
		ids.insert(pool_id(items.back()));
	}
	CHECK(ids.size() == COUNT);
	CHECK(ids.count(0) == 0);
	CHECK(pool_take(&places) == nullptr);
	CHECK(places.open == COUNT);
	CHECK(places.room == 4 * POOL_STEP);
	for (unsigned i = 0; i < COUNT; i++) {
		CHECK(*items[i] == i);
		CHECK(pool_find(&places, pool_id(items[i])) == items[i]);
	}

	// One that is given back, and taken again, is not found by its old id.
	const uint64_t old = pool_id(items[5]);
	pool_give(&places, items[5]);
	CHECK(pool_find(&places, old) == nullptr);
	CHECK(pool_take(&places) == items[5]);
	CHECK(pool_find(&places, old) == nullptr);
	CHECK(ids.insert(pool_id(items[5])).second);

	const bool at_once = GENERATE(true, false);
	if (at_once)
		pool_clear(&places);
	else
		for (uint64_t *item : items)
			pool_give(&places, item);
	CHECK(places.open == 0);
	CHECK(places.room == POOL_STEP);
	for (uint64_t id : ids)
		CHECK(pool_find(&places, id) == nullptr);
	for (uint64_t id : { UINT64_C(0), UINT64_C(1), UINT64_C(1) << 32, UINT64_MAX })
		CHECK(pool_find(&places, id) == nullptr);
	auto *again = static_cast<uint64_t *>(pool_take(&places));
	REQUIRE(again != nullptr);
	CHECK(*again == 0);
	CHECK(ids.count(pool_id(again)) == 0);
	pool_deinit(&places);
	pool_deinit(&places);
}

TEST_CASE("servers are asked in order, the sick ones last", "[client][upstream]")
{
	std::vector<upstream> servers(3);
	CHECK(order(servers, 0) == "012");
	upstream_failed(&servers[0], 0);
	CHECK(order(servers, 0) == "120");
	upstream_failed(&servers[1], 0);
	CHECK(order(servers, 999) == "201");
	upstream_answered(&servers[0]);
	CHECK(order(servers, 999) == "021");
}

TEST_CASE("a sick server is tried by one question, each time later", "[client][upstream]")
{
	std::vector<upstream> servers(3);
	int64_t now_ms = 0;
	int64_t sick_ms = UPSTREAM_SICK_MS;
	upstream_failed(&servers[0], now_ms);
	for (unsigned i = 0; i < 10; i++) {
		now_ms += sick_ms - 1;
		CHECK(order(servers, now_ms) == "120");
		now_ms += 1;
		CHECK(order(servers, now_ms) == "012");
		CHECK(order(servers, now_ms) == "120"); // not by two
		upstream_failed(&servers[0], now_ms);
		upstream_failed(&servers[0], now_ms); // of the same outage
		sick_ms = std::min<int64_t>(sick_ms * 2, UPSTREAM_SICK_MAX_MS);
	}
	upstream_answered(&servers[0]);
	CHECK(order(servers, now_ms) == "012");
}

TEST_CASE("random bytes are given once, and forgotten", "[client][entropy]")
{
	entropy source = {};
	uint8_t before[24];
	uint8_t after[24];
	const std::vector<uint8_t> zeros(sizeof(source.bytes));
	REQUIRE(entropy_take(&source, before, sizeof(before)) == 0);
	CHECK(memcmp(source.bytes, zeros.data(), sizeof(before)) == 0);
	// A copy of the struct is what a child has after fork().
	entropy copy = source;
	entropy_forget(&copy);
	CHECK(memcmp(copy.bytes, zeros.data(), sizeof(copy.bytes)) == 0);
	REQUIRE(entropy_take(&source, before, sizeof(before)) == 0);
	REQUIRE(entropy_take(&copy, after, sizeof(after)) == 0);
	CHECK(memcmp(before, after, sizeof(before)) != 0);

	std::set<std::string> taken;
	for (unsigned i = 0; i < 100; i++) {
		REQUIRE(entropy_take(&source, after, sizeof(after)) == 0);
		taken.emplace(reinterpret_cast<char *>(after), sizeof(after));
	}
	CHECK(taken.size() == 100);
}
