// SPDX-License-Identifier: GPL-3.0-or-later
#include "zone-tools/plan/ranges.h"

#include <catch2/catch.hpp>

#include <new>

namespace
{
// Frees at the end of a test.
struct owned_ranges {
	ranges list = {};
	explicit owned_ranges(bool is_ipv4)
	{
		list.is_ipv4 = is_ipv4;
	}
	owned_ranges(const owned_ranges &) = delete;
	~owned_ranges()
	{
		ranges_deinit(&list);
	}
	void add(uint64_t first, uint64_t last)
	{
		if (ranges_add(&list, first, last) != DNSBLV6_OK)
			throw std::bad_alloc();
	}
};
} // namespace

TEST_CASE("ranges merge where they overlap or touch, and count what they hold",
	  "[zone-tools][ranges]")
{
	owned_ranges r(true);
	r.add(300, 310);
	r.add(10, 20);
	r.add(21, 30);
	r.add(15, 25);
	ranges_normalise(&r.list);
	REQUIRE(r.list.count == 2);
	CHECK(r.list.items[0].first == 10);
	CHECK(r.list.items[0].last == 30);
	CHECK(ranges_unit_count(&r.list) == 32);
	CHECK(ranges_block_count(&r.list) == 2);
}
