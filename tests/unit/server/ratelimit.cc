// SPDX-License-Identifier: GPL-3.0-or-later
#include "server/askers/ratelimit.h"
#include "tests/lib/random.hh"

#include <catch2/catch.hpp>

// A table, and how many of some answers pass.
struct table {
	ratelimit *limit = nullptr;

	explicit table(unsigned rate, unsigned slip = 2, unsigned networks = 1024)
	{
		ratelimit_options options = { rate, slip, networks, 0x123456789abcdefU };
		REQUIRE(ratelimit_new(&options, &limit) == 0);
	}
	~table()
	{
		ratelimit_free(limit);
	}
	table(const table &) = delete;
	table &operator=(const table &) = delete;
	ratelimit_verdict take(uint64_t network, uint64_t now_ms)
	{
		return ratelimit_take(limit, network << 8, now_ms);
	}
	unsigned passing(uint64_t network, uint64_t now_ms, unsigned count)
	{
		unsigned passed = 0;
		for (unsigned i = 0; i < count; i++)
			passed += take(network, now_ms) == RATELIMIT_PASS;
		return passed;
	}
};

TEST_CASE("a network gets its burst, and then the rate", "[server][ratelimit]")
{
	auto rate = GENERATE(1U, 7U, 1000U, 100000U);
	CAPTURE(rate);
	table limit(rate);
	CHECK(limit.passing(1, 5000, rate * 5) == rate * RATELIMIT_BURST_S);
	CHECK(limit.passing(1, 6000, rate * 5) == rate);
	CHECK(limit.passing(1, 6000, 10) == 0);
	CHECK(limit.passing(1, 8000, rate * 5) == rate * 2);
	CHECK(limit.passing(1, 1000000, rate * 5) == rate * RATELIMIT_BURST_S);
}

TEST_CASE("a rate is kept however often it is looked at", "[server][ratelimit]")
{
	table limit(3);
	unsigned passed = 0;
	for (uint64_t now_ms = 0; now_ms < 100000; now_ms++)
		passed += limit.take(1, now_ms) == RATELIMIT_PASS;
	CHECK(passed >= 3 * 100 + 3 * RATELIMIT_BURST_S - 1);
	CHECK(passed <= 3 * 100 + 3 * RATELIMIT_BURST_S);
}

TEST_CASE("every slip-th limited answer is truncated, the others are dropped",
	  "[server][ratelimit]")
{
	auto slip = GENERATE(0U, 1U, 2U, 3U, 100U);
	CAPTURE(slip);
	table limit(1, slip);
	limit.passing(1, 0, RATELIMIT_BURST_S);
	for (unsigned i = 1; i <= 1000; i++) {
		bool is_slip = slip != 0 && i % slip == 0;
		REQUIRE(limit.take(1, 0) == (is_slip ? RATELIMIT_TRUNCATE : RATELIMIT_DROP));
	}
}

TEST_CASE("networks do not touch each other while there is room", "[server][ratelimit]")
{
	table limit(1, 2, 65536);
	for (uint64_t network = 1; network <= 1000; network++)
		REQUIRE(limit.passing(network, 0, 10) == RATELIMIT_BURST_S);
	for (uint64_t network = 1; network <= 1000; network++)
		REQUIRE(limit.passing(network, 0, 10) == 0);
}

TEST_CASE("a flood from many networks does not free a network that is limited",
	  "[server][ratelimit]")
{
	table limit(10, 2, 1024);
	randomness random(7);
	CHECK(limit.passing(1, 0, 1000) == 10 * RATELIMIT_BURST_S);
	unsigned passed = 0;
	for (unsigned i = 0; i < 200000; i++) {
		limit.take(1000 + random.below(1U << 30), 0);
		passed += limit.take(1, 0) == RATELIMIT_PASS;
	}
	CHECK(passed == 0);
}
