// SPDX-License-Identifier: GPL-3.0-or-later
#include "zone-tools/plan/ranges.h"

#include "lib/format/key.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace
{
struct record {
	dnsblv6_prefix block;
	dnsblv6_bitmap map;
	std::string name;
	std::string key;
};

struct walked {
	dnsblv6_style style;
	std::vector<record> records;
};

int keep(void *context, dnsblv6_prefix block, const dnsblv6_bitmap *map)
{
	auto *result = static_cast<walked *>(context);
	dnsblv6_labels name;
	dnsblv6_key key;
	char text[DNSBLV6_NAME_TEXT_SIZE];
	int ret = dnsblv6_name_make(result->style, block, &name);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_key_from_labels(name.wire, name.size, &key);
	if (ret != DNSBLV6_OK)
		return ret;
	dnsblv6_name_format(name.wire, name.size, text);
	result->records.push_back(
		{ block, *map, text, std::string(reinterpret_cast<char *>(key.bytes), key.size) });
	return DNSBLV6_OK;
}

// Frees at the end of a test.
struct owned {
	ranges list = {};
	explicit owned(bool is_ipv4)
	{
		list.is_ipv4 = is_ipv4;
	}
	owned(const owned &) = delete;
	~owned()
	{
		ranges_deinit(&list);
	}
	void add(uint64_t first, uint64_t last)
	{
		if (ranges_add(&list, first, last) != DNSBLV6_OK)
			throw std::bad_alloc();
	}
	walked walk(dnsblv6_style style = DNSBLV6_STYLE_DOTTED)
	{
		ranges_normalise(&list);
		walked result = { style, {} };
		REQUIRE(ranges_walk(&list, style, keep, &result) == DNSBLV6_OK);
		auto is_disordered = [](const record &a, const record &b) {
			return a.key >= b.key;
		};
		REQUIRE(std::adjacent_find(result.records.begin(), result.records.end(),
					   is_disordered) == result.records.end());
		return result;
	}
};

std::string names(const walked &result)
{
	std::string out;
	for (const auto &one : result.records)
		out += (out.empty() ? "" : " ") + one.name;
	return out;
}

uint64_t unit_of(const dnsblv6_prefix &block)
{
	return dnsblv6_prefix_is_ipv4(block) ? dnsblv6_addr_ipv4(block.first) : block.first.hi;
}
} // namespace

TEST_CASE("ranges merge where they overlap or touch, and count what they hold",
	  "[zone-tools][ranges]")
{
	owned r(true);
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

TEST_CASE("a wholly listed block has one name, and a hole expands it just as far as needed",
	  "[zone-tools][ranges]")
{
	owned r(true);
	SECTION("a /8")
	{
		r.add(0x0b000000, 0x0bffffff);
		CHECK(names(r.walk()) == "*.11");
	}
	SECTION("a /15")
	{
		r.add(0xc0000000, 0xc001ffff);
		CHECK(names(r.walk()) == "*.0.192 *.1.192");
	}
	SECTION("a /23 and a half")
	{
		r.add(0xc0000200, 0xc000047f);
		CHECK(names(r.walk()) == "*.2.0.192 *.3.0.192 0.4.0.192");
	}
	SECTION("a /16 without one address")
	{
		r.add(0xc0000000, 0xc0000009);
		r.add(0xc000000b, 0xc000ffff);
		auto result = r.walk();
		CHECK(result.records.size() == 2 + 255);
		CHECK(result.records[0].name == "0.0.0.192");
		CHECK(dnsblv6_bitmap_count(&result.records[0].map) == 127);
		CHECK(dnsblv6_bitmap_is_full(&result.records[1].map));
	}
	SECTION("all of IPv4")
	{
		r.add(0, UINT32_MAX);
		CHECK(r.walk().records.size() == 256);
	}
}

TEST_CASE("IPv6 blocks end at the group borders", "[zone-tools][ranges]")
{
	owned r(false);
	SECTION("a /30 is four /32s")
	{
		r.add(0x20010db800000000, 0x20010dbbffffffff);
		CHECK(names(r.walk()) ==
		      "*.0db8.2001.ip6 *.0db9.2001.ip6 *.0dba.2001.ip6 *.0dbb.2001.ip6");
	}
	SECTION("a /57, a /64 and the last of all")
	{
		r.add(0x20010db8aabbcc00, 0x20010db8aabbcc7f);
		r.add(0x20010db8aabbcc85, 0x20010db8aabbcc85);
		r.add(UINT64_MAX, UINT64_MAX);
		CHECK(names(r.walk()) == "0.cc.aabb.0db8.2001.ip6 1.cc.aabb.0db8.2001.ip6 "
					 "1.ff.ffff.ffff.ffff.ip6");
	}
	SECTION("everything")
	{
		r.add(0, UINT64_MAX);
		CHECK(r.walk().records.size() == 65536);
	}
}

TEST_CASE("flat style spells every block out", "[zone-tools][ranges]")
{
	owned r(true);
	r.add(0xc0000200, 0xc00003ff);
	CHECK(names(r.walk(DNSBLV6_STYLE_FLAT)) == "c000020 c000021 c000030 c000031");
}

TEST_CASE("random ranges come back from their records, in key order", "[zone-tools][ranges]")
{
	unsigned seed = std::random_device{}();
	CAPTURE(seed);
	std::mt19937_64 random(seed);
	bool is_ipv4 = GENERATE(true, false);
	auto style = GENERATE(DNSBLV6_STYLE_DOTTED, DNSBLV6_STYLE_FLAT);
	for (int round = 0; round < 60; round++) {
		owned in(is_ipv4);
		owned out(is_ipv4);
		uint64_t mask = is_ipv4 ? UINT32_MAX : UINT64_MAX;
		for (int i = 0; i < 30; i++) {
			uint64_t first = random() & mask;
			if (i % 2 == 0)
				first = (first & 0xffff) | (mask & 0x2001000000000000) | 0xc0000000;
			uint64_t size = random() % (i % 3 == 0 ? 70000 : 300);
			in.add(first,
			       first + size > mask || first + size < first ? mask : first + size);
		}
		bool is_full = true;
		for (const auto &one : in.walk(style).records) {
			uint64_t base = unit_of(one.block);
			auto last = dnsblv6_prefix_last(one.block);
			uint64_t end = is_ipv4 ? dnsblv6_addr_ipv4(last) : last.hi;
			if (end - base >= DNSBLV6_BITMAP_HOSTS) {
				is_full = is_full && dnsblv6_bitmap_is_full(&one.map);
				out.add(base, end);
				continue;
			}
			for (unsigned host = 0; host < DNSBLV6_BITMAP_HOSTS; host++)
				if (dnsblv6_bitmap_get(&one.map, host))
					out.add(base + host, base + host);
		}
		ranges_normalise(&out.list);
		CAPTURE(round);
		REQUIRE(is_full);
		REQUIRE(in.list.count == out.list.count);
		REQUIRE(memcmp(in.list.items, out.list.items, in.list.count * sizeof(range)) == 0);
	}
}
