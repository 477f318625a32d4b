// SPDX-License-Identifier: GPL-3.0-or-later
// So many lines in a second.
#include "lib/process/ration.h"

#include <catch2/catch.hpp>

TEST_CASE("a ration is so many a second, and says how many more there were", "[process][ration]")
{
	ration ration = {};
	const uint64_t begin_ms = GENERATE(0u, 5000u, 5999u);
	const uint64_t next_ms = begin_ms / 1000 * 1000 + 1000;
	CHECK(ration_take(&ration, begin_ms, 2));
	CHECK(ration_take(&ration, begin_ms, 2));
	CHECK_FALSE(ration_take(&ration, next_ms - 1, 2));
	CHECK_FALSE(ration_take(&ration, next_ms - 1, 2));
	CHECK(ration_settle(&ration, next_ms - 1) == 0);
	CHECK(ration_settle(&ration, next_ms) == 2);
	CHECK(ration_settle(&ration, next_ms) == 0);
	CHECK(ration_take(&ration, next_ms, 2));
}

TEST_CASE("what was left out is told although the next second has begun", "[process][ration]")
{
	ration ration = {};
	CHECK(ration_take(&ration, 1000, 1));
	CHECK_FALSE(ration_take(&ration, 1000, 1));
	CHECK(ration_take(&ration, 2000, 1));
	CHECK(ration_settle(&ration, 2000) == 0);
	CHECK(ration_settle(&ration, 3000) == 1);
}
