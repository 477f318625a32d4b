// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/dns/soa.h"

#include <catch2/catch.hpp>

TEST_CASE("serials are in order around the end of their numbers, and neither of two half of them "
	  "apart is as new",
	  "[dns][soa]")
{
	const uint32_t half = (uint32_t)1 << 31;
	const uint32_t start = GENERATE(0U, 1U, 2026113001U, UINT32_MAX - 1, UINT32_MAX);
	CAPTURE(start);
	CHECK(soa_is_as_new(start, start));
	for (const uint32_t step : { 1U, 1000U, half - 1 }) {
		CHECK(soa_is_as_new(start + step, start));
		CHECK_FALSE(soa_is_as_new(start, start + step));
	}
	CHECK_FALSE(soa_is_as_new(start + half, start));
	CHECK_FALSE(soa_is_as_new(start, start + half));
}
