// SPDX-License-Identifier: GPL-3.0-or-later
#include "zone-tools/plan/resolve.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace
{
dnsblv6_prefix prefix(const std::string &text)
{
	dnsblv6_prefix result = {};
	REQUIRE(dnsblv6_prefix_parse(text.data(), text.size(), &result) == DNSBLV6_OK);
	return result;
}

dnsblv6_addr addr(const std::string &text)
{
	return prefix(text).first;
}

std::string text_of(const dnsblv6_addr &address)
{
	char text[DNSBLV6_ADDR_TEXT_SIZE];
	dnsblv6_addr_format(address, text);
	return text;
}

// A listing of one origin, and what it resolves to.
struct resolved {
	listing list = {};
	set_pool sets = {};
	pieces result = {};

	resolved()
	{
		REQUIRE(listing_init(&list) == DNSBLV6_OK);
		REQUIRE(set_pool_init(&sets) == DNSBLV6_OK);
	}
	resolved(const resolved &) = delete;
	~resolved()
	{
		pieces_deinit(&result);
		set_pool_deinit(&sets);
		listing_deinit(&list);
	}

	// Each entry is "prefix=value" or "!prefix".
	void add(duplicate_policy policy, const std::vector<std::string> &entries)
	{
		dataset *set = nullptr;
		REQUIRE(listing_add_dataset(&list, policy, &set) == DNSBLV6_OK);
		REQUIRE(listing_connect(&list, 0) == DNSBLV6_OK);
		for (const auto &entry : entries) {
			bool is_excluded = entry[0] == '!';
			size_t equals = entry.find('=');
			auto where = entry.substr(is_excluded, equals - is_excluded);
			uint32_t value = ENTRY_EXCLUDED;
			if (!is_excluded)
				value = static_cast<uint32_t>(std::stoul(entry.substr(equals + 1)));
			REQUIRE(dataset_add_entry(set, prefix(where), value) == DNSBLV6_OK);
		}
	}
	void resolve()
	{
		REQUIRE(resolve_origin(&list, 0, &sets, &result) == DNSBLV6_OK);
	}

	std::set<uint32_t> values(uint32_t set) const
	{
		size_t count = 0;
		const uint32_t *members = set_pool_members(&sets, set, &count);
		return std::set<uint32_t>(members, members + count);
	}
	// "first-last:1+2 ..." of all pieces.
	std::string text() const
	{
		std::string out;
		for (size_t i = 0; i < result.count; i++) {
			const auto &piece = result.items[i];
			out += (out.empty() ? "" : " ") + text_of(piece.first) + "-" +
			       text_of(piece.last) + ":";
			std::string plus;
			for (uint32_t value : values(piece.set)) {
				out += plus + std::to_string(value);
				plus = "+";
			}
		}
		return out;
	}
};
} // namespace

TEST_CASE("the longest prefix that holds an address decides", "[zone-tools][resolve]")
{
	resolved r;
	r.add(DUPLICATE_FIRST,
	      { "192.0.2.0/24=1", "192.0.2.128/25=2", "192.0.2.130=3", "!192.0.2.0/30" });
	r.resolve();
	CHECK(r.text() == "192.0.2.4-192.0.2.127:1 192.0.2.128-192.0.2.129:2 "
			  "192.0.2.130-192.0.2.130:3 192.0.2.131-192.0.2.255:2");
}

TEST_CASE("neighbours with the same values are one piece", "[zone-tools][resolve]")
{
	resolved r;
	r.add(DUPLICATE_FIRST, { "192.0.2.1=1", "192.0.2.2=1", "192.0.2.0=1", "192.0.2.3=2" });
	r.resolve();
	CHECK(r.text() == "192.0.2.0-192.0.2.2:1 192.0.2.3-192.0.2.3:2");
}

TEST_CASE("of equal prefixes the first counts, or all, as the dataset says",
	  "[zone-tools][resolve]")
{
	resolved first;
	first.add(DUPLICATE_FIRST, { "192.0.2.1=1", "192.0.2.1=2", "!192.0.2.1" });
	first.resolve();
	CHECK(first.text() == "192.0.2.1-192.0.2.1:1");

	resolved all;
	all.add(DUPLICATE_ALL, { "192.0.2.1=2", "192.0.2.1=1", "192.0.2.1=2" });
	all.resolve();
	CHECK(all.text() == "192.0.2.1-192.0.2.1:1+2");

	resolved excluded;
	excluded.add(DUPLICATE_ALL, { "192.0.2.1=2", "!192.0.2.1", "192.0.2.1=1" });
	excluded.resolve();
	CHECK(excluded.text().empty());
}

TEST_CASE("an address has the values of every dataset, and an exclusion ends at its dataset",
	  "[zone-tools][resolve]")
{
	resolved r;
	r.add(DUPLICATE_FIRST, { "192.0.2.0/29=1", "!192.0.2.4" });
	r.add(DUPLICATE_FIRST, { "192.0.2.4/30=2" });
	r.resolve();
	CHECK(r.text() == "192.0.2.0-192.0.2.3:1 192.0.2.4-192.0.2.4:2 192.0.2.5-192.0.2.7:1+2");
}

TEST_CASE("pieces reach to both ends of both families", "[zone-tools][resolve]")
{
	resolved r;
	r.add(DUPLICATE_FIRST,
	      { "0.0.0.0/0=1", "255.255.255.255=2", "0.0.0.0=3", "8000::/1=4", "ffff::/16=5" });
	r.resolve();
	CHECK(r.text() ==
	      "0.0.0.0-0.0.0.0:3 0.0.0.1-255.255.255.254:1 255.255.255.255-255.255.255.255:2 "
	      "8000::-fffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff:4 "
	      "ffff::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:5");
}

TEST_CASE("an IPv6 prefix around the mapped addresses lists no IPv4 address",
	  "[zone-tools][resolve]")
{
	auto entries = GENERATE(
		std::vector<std::string>{ "::/0=1" }, std::vector<std::string>{ "::/64=1" },
		std::vector<std::string>{ "::/64=1", "!::fffe:0:0/96", "!::1:0:0:0/96" },
		std::vector<std::string>{ "::/80=1", "::fffe:0:0/96=2", "::1:0:0:0/100=2" });
	resolved r;
	r.add(DUPLICATE_FIRST, entries);
	r.add(DUPLICATE_FIRST, { "::/79=7" });
	r.resolve();
	for (const char *ipv4 : { "0.0.0.0", "127.0.0.1", "192.0.2.1", "255.255.255.255" }) {
		CAPTURE(ipv4);
		CHECK(pieces_find(&r.result, addr(ipv4)) == DNSBLV6_SET_NONE);
	}
	for (size_t i = 0; i < r.result.count; i++) {
		CHECK_FALSE(dnsblv6_addr_is_ipv4(r.result.items[i].first));
		CHECK_FALSE(dnsblv6_addr_is_ipv4(r.result.items[i].last));
	}
	CHECK(pieces_find(&r.result, addr("::5")) != DNSBLV6_SET_NONE);
}

// The rule itself, read word by word: for each address look at every entry.
static std::set<uint32_t> expected_values(const resolved &r, const dnsblv6_addr &address)
{
	std::set<uint32_t> values;
	for (size_t d = 0; d < r.list.dataset_count; d++) {
		const dataset &set = r.list.datasets[d];
		int longest = -1;
		std::vector<uint32_t> found;
		dataset_walk walk = dataset_walk_all(&set);
		entry one = {};
		while (dataset_next(&walk, &one)) {
			dnsblv6_prefix holder = { one.first, one.prefix_len };
			if (!dnsblv6_prefix_contains(holder, address) ||
			    static_cast<int>(holder.prefix_len) < longest)
				continue;
			if (holder.prefix_len > longest)
				found.clear();
			longest = holder.prefix_len;
			found.push_back(one.value);
		}
		if (found.empty())
			continue;
		if (set.policy == DUPLICATE_FIRST)
			found.resize(1);
		if (std::find(found.begin(), found.end(), ENTRY_EXCLUDED) == found.end())
			values.insert(found.begin(), found.end());
	}
	return values;
}

TEST_CASE("random datasets resolve to what looking at every entry gives", "[zone-tools][resolve]")
{
	unsigned seed = std::random_device{}();
	CAPTURE(seed);
	std::mt19937 random(seed);
	for (int round = 0; round < 150; round++) {
		resolved r;
		int datasets = 1 + static_cast<int>(random() % 3);
		for (int d = 0; d < datasets; d++) {
			dataset *set = nullptr;
			auto policy = random() % 2 == 0 ? DUPLICATE_FIRST : DUPLICATE_ALL;
			REQUIRE(listing_add_dataset(&r.list, policy, &set) == DNSBLV6_OK);
			REQUIRE(listing_connect(&r.list, 0) == DNSBLV6_OK);
			for (unsigned i = 0; i < random() % 40; i++) {
				auto base = dnsblv6_addr_from_ipv4(0xc0000200u | (random() & 63));
				auto where = dnsblv6_prefix_make(base, 122 + random() % 7);
				uint32_t value = random() % 5 == 0 ? ENTRY_EXCLUDED : random() % 4;
				REQUIRE(dataset_add_entry(set, where, value) == DNSBLV6_OK);
			}
		}
		r.resolve();
		for (uint32_t host = 0; host < 70; host++) {
			auto address = dnsblv6_addr_from_ipv4(0xc0000200u + host);
			CAPTURE(round, host);
			REQUIRE(r.values(pieces_find(&r.result, address)) ==
				expected_values(r, address));
		}
	}
}

TEST_CASE("adding what is missing and removing what is there leave the rest alone",
	  "[zone-tools][resolve]")
{
	resolved r;
	r.add(DUPLICATE_FIRST, { "192.0.2.4/30=1", "192.0.2.12/30=1", "2001:db8::/64=1" });
	r.resolve();
	uint32_t set = 0;
	REQUIRE(set_pool_add_value(&r.sets, 9, &set) == DNSBLV6_OK);

	SECTION("before, between and behind")
	{
		REQUIRE(pieces_add_missing(&r.result, addr("192.0.2.2"), addr("192.0.2.17"), set) ==
			DNSBLV6_OK);
		CHECK(r.text() == "192.0.2.2-192.0.2.3:9 192.0.2.4-192.0.2.7:1 "
				  "192.0.2.8-192.0.2.11:9 192.0.2.12-192.0.2.15:1 "
				  "192.0.2.16-192.0.2.17:9 "
				  "2001:db8::-2001:db8::ffff:ffff:ffff:ffff:1");
	}
	SECTION("nothing is missing")
	{
		auto before = r.text();
		REQUIRE(pieces_add_missing(&r.result, addr("192.0.2.5"), addr("192.0.2.6"), set) ==
			DNSBLV6_OK);
		CHECK(r.text() == before);
	}
	SECTION("a hole is cut")
	{
		REQUIRE(pieces_remove(&r.result, addr("192.0.2.5"), addr("192.0.2.13")) ==
			DNSBLV6_OK);
		CHECK(r.text() == "192.0.2.4-192.0.2.4:1 192.0.2.14-192.0.2.15:1 "
				  "2001:db8::-2001:db8::ffff:ffff:ffff:ffff:1");
	}
}
