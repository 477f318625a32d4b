// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/process/clock.h"

#include <catch2/catch.hpp>

#include <ctime>

TEST_CASE("the clock is CLOCK_MONOTONIC, in milliseconds and in microseconds", "[process][clock]")
{
	timespec before = {};
	timespec after = {};
	clock_gettime(CLOCK_MONOTONIC, &before);
	const uint64_t ms = clock_now_ms();
	const uint64_t us = clock_now_us();
	clock_gettime(CLOCK_MONOTONIC, &after);
	const auto as_us = [](const timespec &time) {
		return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
	};
	CHECK(ms >= as_us(before) / 1000);
	CHECK(us >= as_us(before));
	CHECK(us / 1000 >= ms);
	CHECK(us <= as_us(after));
}
