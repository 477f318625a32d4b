// SPDX-License-Identifier: GPL-3.0-or-later
#include "zone-tools/base/prefixes.h"

#include "tests/lib/fault.hh"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cerrno>
#include <random>
#include <tuple>
#include <vector>

namespace
{
struct one {
	uint32_t first;
	unsigned length;
	uint32_t number;

	bool operator==(const one &other) const
	{
		return std::tie(first, length, number) ==
		       std::tie(other.first, other.length, other.number);
	}
};

// Frees at the end of a test.
struct owned_prefixes {
	prefixes list = {};

	owned_prefixes() = default;
	owned_prefixes(const owned_prefixes &) = delete;
	~owned_prefixes()
	{
		prefixes_deinit(&list);
	}
	std::vector<one> part(unsigned number) const
	{
		std::vector<one> result;
		prefixes_walk walk = {};
		walk.prefixes = &list;
		walk.part = number;
		uint64_t packed = 0;
		while (prefixes_next(&walk, &packed))
			result.push_back({ prefixes_first(number, packed), prefixes_length(packed),
					   prefixes_number(packed) });
		return result;
	}
};
} // namespace

TEST_CASE("prefixes come back as they came, and sorted by address, wide before narrow",
	  "[zone-tools][prefixes]")
{
	unsigned seed = std::random_device{}();
	CAPTURE(seed);
	std::mt19937 random(seed);
	const size_t count = GENERATE(0, 1, 20, 5000, 60000);
	owned_prefixes p;
	std::vector<one> parts[3];
	for (size_t i = 0; i < count; i++) {
		const unsigned part = random() % 3;
		const unsigned length = random() % 4 ? 32 : 8 + random() % 25;
		const uint32_t mask = UINT32_MAX << (32 - length);
		// Few addresses, so that many are the same.
		const uint32_t first = ((part << 24) | (random() & 0xff00ff)) & mask;
		const one next = { first, length,
				   random() % 9 ? static_cast<uint32_t>(i) : UINT32_MAX };
		parts[part].push_back(next);
		REQUIRE(prefixes_add(&p.list, next.first, next.length, next.number) == 0);
	}
	for (unsigned part = 0; part < 3; part++) {
		CAPTURE(part);
		CHECK(p.part(part) == parts[part]);
		REQUIRE(prefixes_sort(&p.list, part) == 0);
		std::stable_sort(
			parts[part].begin(), parts[part].end(), [](const one &a, const one &b) {
				return std::tie(a.first, a.length) < std::tie(b.first, b.length);
			});
		CHECK(p.part(part) == parts[part]);
	}
	CHECK(p.part(3).empty());
}

TEST_CASE("a prefix wider than a part is in each part that it reaches", "[zone-tools][prefixes]")
{
	owned_prefixes p;
	REQUIRE(prefixes_add(&p.list, 0xc0000000, 6, 7) == 0);
	for (unsigned part : { 0xc0u, 0xc3u })
		CHECK(p.part(part) == std::vector<one>{ { part << 24, 6, 7 } });
	CHECK(p.part(0xbf).empty());
	CHECK(p.part(0xc4).empty());
}

TEST_CASE("numbers change but for those that are spared", "[zone-tools][prefixes]")
{
	owned_prefixes p;
	REQUIRE(prefixes_add(&p.list, 0x0a000001, 32, 1) == 0);
	REQUIRE(prefixes_add(&p.list, 0x0a000002, 32, UINT32_MAX) == 0);
	const uint32_t numbers[] = { 5, 9 };
	prefixes_renumber(&p.list, numbers, UINT32_MAX);
	CHECK(p.part(10) ==
	      std::vector<one>{ { 0x0a000001, 32, 9 }, { 0x0a000002, 32, UINT32_MAX } });
}

TEST_CASE("when memory runs out prefixes say so and keep what they have", "[zone-tools][prefixes]")
{
	owned_prefixes p;
	for (unsigned n = 1;; n++) {
		fault::fail_at(n);
		int ret = 0;
		for (uint32_t i = 0; ret == 0 && i < 100; i++)
			ret = prefixes_add(&p.list, 100 - i, 32, i);
		if (ret == 0)
			ret = prefixes_sort(&p.list, 0);
		if (!fault::end()) {
			CHECK(ret == 0);
			break;
		}
		CHECK(ret == -ENOMEM);
	}
	const auto sorted = p.part(0);
	CHECK(std::is_sorted(sorted.begin(), sorted.end(),
			     [](const one &a, const one &b) { return a.first < b.first; }));
}
