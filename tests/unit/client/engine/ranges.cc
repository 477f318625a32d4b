// SPDX-License-Identifier: GPL-3.0-or-later
#include "client-lib/cache/cache_table.h"
#include "client-lib/cache/ranges.h"
#include "lib/format/key.h"

#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"
#include "tests/unit/client/clock.hh"

#include <catch2/catch.hpp>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace
{
enum { ZONE = 3 };

struct cache_end {
	void operator()(cache *table) const
	{
		cache_free(table);
	}
};
using cache_ptr = std::unique_ptr<cache, cache_end>;
using bytes = std::vector<uint8_t>;

cache_ptr new_cache()
{
	cache *table = nullptr;
	REQUIRE(cache_new(131072, &table) == DNSBLV6_OK);
	return cache_ptr(table);
}

dnsblv6_labels labels(const std::string &text)
{
	dnsblv6_labels name = {};
	REQUIRE(dnsblv6_name_from_text(text.c_str(), &name) == DNSBLV6_OK);
	return name;
}

bytes key_of(const dnsblv6_labels &name)
{
	dnsblv6_key key;
	REQUIRE(dnsblv6_key_from_labels(name.wire, name.size, &key) == DNSBLV6_OK);
	return { key.bytes, key.bytes + key.size };
}

dnsblv6_labels below(const dnsblv6_labels &left, const dnsblv6_labels &origin)
{
	dnsblv6_labels name = {};
	REQUIRE(dnsblv6_name_join(left.wire, left.size, origin.wire, origin.size, &name) ==
		DNSBLV6_OK);
	return name;
}

dnsblv6_labels name_of(dnsblv6_style style, dnsblv6_prefix block, const dnsblv6_labels &origin)
{
	dnsblv6_labels name = {};
	REQUIRE(dnsblv6_name_make(style, block, &name) == DNSBLV6_OK);
	return below(name, origin);
}

// Addresses of many blocks, close to each other in some order and far away in another.
std::vector<dnsblv6_addr> candidates()
{
	static const uint32_t octets[] = { 0, 1, 2, 9, 10, 19, 20, 99, 100, 101, 199, 250, 255 };
	static const uint64_t groups[] = { 0, 1, 0x9fff, 0xa000, 0xffff };
	std::vector<dnsblv6_addr> addrs;
	for (uint32_t a : octets)
		for (uint32_t b : octets)
			for (uint32_t c : octets)
				for (uint32_t d : { 0u, 128u })
					addrs.push_back(dnsblv6_addr_from_ipv4(a << 24 | b << 16 |
									       c << 8 | d));
	for (uint64_t a : groups)
		for (uint64_t b : groups)
			for (uint64_t c : groups)
				for (uint64_t d : { 0u, 0x80u, 0x100u, 0x9f80u, 0xa000u, 0xff80u })
					addrs.push_back({ a << 48 | b << 32 | c << 16 | d, 0 });
	return addrs;
}

struct block {
	dnsblv6_addr addr;
	bytes key; // of its whole name
};

// Every candidate with its name, made once for each style and origin.
const std::vector<block> &blocks_of(dnsblv6_style style, const std::string &origin)
{
	static std::map<std::pair<int, std::string>, std::vector<block>> made;
	std::vector<block> &blocks = made[{ style, origin }];
	if (blocks.empty()) {
		const dnsblv6_labels origin_labels = labels(origin);
		for (const dnsblv6_addr &addr : candidates())
			blocks.push_back({ addr, key_of(name_of(style, dnsblv6_block_of(addr),
								origin_labels)) });
	}
	return blocks;
}

bool is_below(const bytes &key, const bytes &ancestor)
{
	return dnsblv6_key_is_below(key.data(), key.size(), ancestor.data(), ancestor.size());
}

// A zone: what it has by key, which is its order.
using zone_names = std::map<bytes, dnsblv6_labels>;

struct setting {
	dnsblv6_style style;
	std::string apex, origin;
};

const char *const odd_names[] = {
	"_dnsblv6",   "ns1",	    "test",	  "ip6",	 "0.02.0.100",	"2.2.0.100",
	"0.1.2.10.9", "192",	    "x.0.1.2.10", "a.b.example", "00",		"g",
	"9fff.ip6",   "x.a000.ip6", "\\000",	  "1000",	 "a000000x",	"0.9f.1.9fff.ip6",
	"0.9f.0.ip6", "\\255",	    "*.100.100",  "*.0001.ip6",	 "*.deep.name", "9fff0000000000.ip6"
};

zone_names random_zone(randomness &rnd, const setting &set)
{
	zone_names names;
	const auto add = [&](const dnsblv6_labels &name) { names[key_of(name)] = name; };
	const dnsblv6_labels apex = labels(set.apex);
	const dnsblv6_labels origin = labels(set.origin);
	const std::vector<block> &all = blocks_of(set.style, set.origin);
	static const unsigned lens4[] = { 104, 112, 120 };
	static const unsigned lens6[] = { 16, 32, 48, 56 };

	add(apex);
	// A list has test points: of a sub-zone without any name nothing is learned.
	if (key_of(apex) != key_of(origin))
		add(name_of(
			set.style,
			dnsblv6_block_of(all[rnd.below(static_cast<unsigned>(all.size()))].addr),
			origin));
	for (unsigned count = rnd.below(40); count > 0; count--) {
		const dnsblv6_addr addr = all[rnd.below(static_cast<unsigned>(all.size()))].addr;
		dnsblv6_prefix prefix = dnsblv6_block_of(addr);
		if (set.style == DNSBLV6_STYLE_DOTTED && rnd.one_in(4))
			prefix = dnsblv6_prefix_make(addr, dnsblv6_addr_is_ipv4(addr)
								   ? lens4[rnd.below(3)]
								   : lens6[rnd.below(4)]);
		add(name_of(set.style, prefix, origin));
		// Where a zone has both the dotted names stand among those that are asked for.
		if (dnsblv6_style_is_both(set.style) && rnd.one_in(4))
			prefix = dnsblv6_prefix_make(addr, dnsblv6_addr_is_ipv4(addr)
								   ? lens4[rnd.below(3)]
								   : lens6[rnd.below(4)]);
		if (dnsblv6_style_is_both(set.style))
			add(name_of(DNSBLV6_STYLE_DOTTED, prefix, origin));
	}
	for (const char *odd : odd_names)
		if (rnd.one_in(6))
			add(below(labels(odd), rnd.one_in(4) ? apex : origin));
	return names;
}

struct nsec {
	bytes owner, next;
	message_nsec message;
};

// What the zone publishes to prove that there is no such key.
nsec nsec_for(const zone_names &names, const bytes &key)
{
	nsec found = {};
	auto next = names.upper_bound(key);
	const auto owner = std::prev(next);
	if (next == names.end())
		next = names.begin(); // the apex
	found.owner = owner->first;
	found.next = next->first;
	found.message.owner = owner->second;
	found.message.next = next->second;
	found.message.ttl_s = 600;
	return found;
}

// The same rules once more, on whole names and one by one.
bool is_proven(const nsec &proof, const bytes &key)
{
	bytes parent = proof.owner;
	const bool is_wildcard =
		parent.size() > 1 && parent.back() == '*' && parent[parent.size() - 2] == 0;
	if (is_wildcard) {
		parent.resize(parent.size() - 2);
		if (is_below(key, parent))
			return false;
	}
	return proof.owner < key && (key < proof.next || proof.next <= proof.owner);
}

bool has(const cache *table, dnsblv6_style style, dnsblv6_addr addr)
{
	uint32_t expires_s = 0;
	return ranges_has(table, ZONE, style, addr, cache_now_s(table), &expires_s);
}

message_nsec message(const std::string &owner, const std::string &next)
{
	message_nsec made = {};
	made.owner = labels(owner);
	made.next = labels(next);
	return made;
}

unsigned learn(cache *table, const std::string &owner, const std::string &next,
	       uint32_t ttl_s = 600, const std::string &origin = "bl6.example")
{
	const dnsblv6_labels zone = labels(origin);
	const message_nsec proof = message(owner, next);
	return ranges_learn(table, ZONE, DNSBLV6_STYLE_DOTTED, &zone, &proof, ttl_s);
}

bool has(const cache *table, const std::string &address)
{
	dnsblv6_addr addr = {};
	REQUIRE(dnsblv6_addr_parse(address.data(), address.size(), &addr) == DNSBLV6_OK);
	return has(table, DNSBLV6_STYLE_DOTTED, addr);
}
} // namespace

TEST_CASE("an NSEC proves the blocks between its names and no other", "[client][ranges]")
{
	const setting set = GENERATE(
		setting{ DNSBLV6_STYLE_DOTTED, "bl6.example", "bl6.example" },
		setting{ DNSBLV6_STYLE_FLAT, "bl6.example", "bl6.example" },
		setting{ DNSBLV6_STYLE_BOTH, "bl6.example", "bl6.example" },
		setting{ DNSBLV6_STYLE_BOTH6, "bl6.example", "bl6.example" },
		setting{ DNSBLV6_STYLE_DOTTED, "bl6.example", "dialups.bl6.example" },
		setting{ DNSBLV6_STYLE_FLAT, "bl6.example", "a\\000.dialups.bl6.example" });
	const auto seed = RANDOM_SEED(15);
	CAPTURE(set.style, set.origin, seed);
	randomness rnd(seed);
	const zone_names names = random_zone(rnd, set);
	const std::vector<block> &all = blocks_of(set.style, set.origin);
	const dnsblv6_labels origin = labels(set.origin);

	for (unsigned tries = 0; tries < 4; tries++) {
		const block &asked = all[rnd.below(static_cast<unsigned>(all.size()))];
		const nsec proof = nsec_for(names, asked.key);
		if (!is_proven(proof, asked.key))
			continue; // it is in the zone, or a wildcard stands for it
		char text[DNSBLV6_NAME_TEXT_SIZE];
		dnsblv6_name_format(proof.message.owner.wire, proof.message.owner.size, text);
		const std::string owner = text;
		dnsblv6_name_format(proof.message.next.wire, proof.message.next.size, text);
		CAPTURE(owner, text);
		cache_ptr table = new_cache();
		const unsigned written =
			ranges_learn(table.get(), ZONE, set.style, &origin, &proof.message, 600);
		// A node at each end of every level, of both families.
		CHECK(written >= 1);
		CHECK(written <= 2 * (4 + 8));
		CHECK(has(table.get(), set.style, asked.addr));
		unsigned wrong = 0;
		for (const block &other : all)
			wrong += has(table.get(), set.style, other.addr) !=
				 is_proven(proof, other.key);
		CHECK(wrong == 0);
	}
}

TEST_CASE("whatever is learned of a zone, nothing that it lists is proven empty",
	  "[client][ranges]")
{
	const setting set =
		GENERATE(setting{ DNSBLV6_STYLE_DOTTED, "bl6.example", "bl6.example" },
			 setting{ DNSBLV6_STYLE_FLAT, "bl6.example", "bl6.example" },
			 setting{ DNSBLV6_STYLE_DOTTED, "bl6.example", "dialups.bl6.example" });
	const auto seed = RANDOM_SEED(8);
	CAPTURE(set.style, set.origin, seed);
	randomness rnd(seed);
	const zone_names names = random_zone(rnd, set);
	const std::vector<block> &all = blocks_of(set.style, set.origin);
	const dnsblv6_labels origin = labels(set.origin);
	cache_ptr table = new_cache();
	unsigned unproven = 0;
	unsigned wrong = 0;

	for (const block &asked : all) {
		const nsec proof = nsec_for(names, asked.key);
		if (is_proven(proof, asked.key) && !has(table.get(), set.style, asked.addr))
			ranges_learn(table.get(), ZONE, set.style, &origin, &proof.message, 600);
	}
	for (const block &other : all) {
		const bool is_empty = is_proven(nsec_for(names, other.key), other.key);
		const bool is_known = has(table.get(), set.style, other.addr);
		wrong += is_known && !is_empty;
		unproven += is_empty && !is_known;
	}
	CHECK(wrong == 0);
	CHECK(unproven == 0); // the table is large enough to keep them all
}

TEST_CASE("octets are in the order of their text", "[client][ranges]")
{
	cache_ptr table = new_cache();
	CHECK(learn(table.get(), "1.255.255.1.bl6.example", "0.0.0.2.bl6.example") > 0);
	for (const char *inside :
	     { "10.0.0.0", "100.1.2.3", "19.0.0.0", "199.255.255.255", "1.26.0.0", "1.99.99.99" })
		CHECK(has(table.get(), inside));
	for (const char *outside : { "2.0.0.0", "20.0.0.0", "0.0.0.0", "1.255.255.255", "1.250.0.0",
				     "3.0.0.0", "2001:db8::" })
		CHECK_FALSE(has(table.get(), outside));
}

TEST_CASE("nothing below a wildcard is proven empty by its own NSEC", "[client][ranges]")
{
	cache_ptr table = new_cache();
	CHECK(learn(table.get(), "*.2.0.192.bl6.example", "0.4.0.192.bl6.example") > 0);
	CHECK_FALSE(has(table.get(), "192.0.2.0"));
	CHECK_FALSE(has(table.get(), "192.0.2.255"));
	CHECK(has(table.get(), "192.0.3.0"));
	CHECK(has(table.get(), "192.0.29.0"));
	CHECK_FALSE(has(table.get(), "192.0.4.0"));
	CHECK(learn(table.get(), "*.bl6.example", "0.2.0.192.bl6.example") == 0);
	CHECK(learn(table.get(), "*.example", "0.2.0.192.bl6.example") == 0);
}

TEST_CASE("the last name of the zone proves all that stands behind it", "[client][ranges]")
{
	cache_ptr table = new_cache();
	CHECK(learn(table.get(), "1.ff.0000.0db8.2001.ip6.bl6.example", "bl6.example") > 0);
	CHECK(has(table.get(), "2001:db8:1::"));
	CHECK(has(table.get(), "ffff::"));
	CHECK_FALSE(has(table.get(), "2001:db8::"));
	CHECK_FALSE(has(table.get(), "192.0.2.1"));
}

TEST_CASE("an NSEC that cannot stand in the zone proves nothing", "[client][ranges]")
{
	const auto [owner, next] = GENERATE(table<std::string, std::string>(
		{ { "bl6.example", "bm.example" }, // the parent's, at the delegation
		  { "bl6.example", "example" },
		  { "bk.example", "bm.example" },
		  { "zz.example", "example" },
		  { "0.4.0.192.bl6.example", "0.2.0.192.bl6.example" },
		  { "0.4.0.192.bl6.example", "0.4.0.192.bl6.example" } }));
	CAPTURE(owner, next);
	cache_ptr table = new_cache();
	CHECK(learn(table.get(), owner, next) == 0);
}

TEST_CASE("names that are damaged, and no time at all, prove nothing", "[client][ranges]")
{
	cache_ptr table = new_cache();
	const dnsblv6_labels origin = labels("bl6.example");
	message_nsec proof = message("0.2.0.192.bl6.example", "0.4.0.192.bl6.example");
	CHECK(ranges_learn(table.get(), ZONE, DNSBLV6_STYLE_DOTTED, &origin, &proof, 0) == 0);
	proof.next.size = 255;
	CHECK(ranges_learn(table.get(), ZONE, DNSBLV6_STYLE_DOTTED, &origin, &proof, 9) == 0);
	proof.next.size = 3;
	CHECK(ranges_learn(table.get(), ZONE, DNSBLV6_STYLE_DOTTED, &origin, &proof, 9) == 0);
}

TEST_CASE("what is proven in one zone and style is not in another", "[client][ranges]")
{
	cache_ptr table = new_cache();
	uint32_t expires_s = 0;
	REQUIRE(learn(table.get(), "bl6.example", "_dnsblv6.bl6.example") > 0);
	const dnsblv6_addr addr = dnsblv6_addr_from_ipv4(0xc0000201);
	CHECK(has(table.get(), DNSBLV6_STYLE_DOTTED, addr));
	CHECK_FALSE(has(table.get(), DNSBLV6_STYLE_FLAT, addr));
	CHECK_FALSE(ranges_has(table.get(), ZONE + 1, DNSBLV6_STYLE_DOTTED, addr, 0, &expires_s));
}

TEST_CASE("a proof ends with its TTL", "[client][ranges]")
{
	cache_ptr table = new_cache();
	uint32_t expires_s = 0;
	const uint32_t now_s = cache_now_s(table.get());
	REQUIRE(learn(table.get(), "0.2.0.192.bl6.example", "0.4.0.192.bl6.example", 600) > 0);
	const dnsblv6_addr addr = dnsblv6_addr_from_ipv4(0xc0000301);
	REQUIRE(ranges_has(table.get(), ZONE, DNSBLV6_STYLE_DOTTED, addr, now_s, &expires_s));
	CHECK(expires_s >= now_s + 600);
	CHECK(expires_s <= now_s + 602);
	const uint32_t end_s = expires_s;
	CHECK_FALSE(ranges_has(table.get(), ZONE, DNSBLV6_STYLE_DOTTED, addr, end_s, &expires_s));
}

TEST_CASE("proofs of one node are kept together while their ends are near each other",
	  "[client][ranges]")
{
	cache_ptr table = new_cache();
	const auto learn_one = [&](const char *owner, const char *next, uint32_t ttl_s) {
		return learn(table.get(), owner, next, ttl_s);
	};
	// 10 and 100 are neighbours: three intervals of the same level-1 node.
	REQUIRE(learn_one("1.10.0.192.bl6.example", "0.101.0.192.bl6.example", 600) == 1);
	CHECK(has(table.get(), "192.0.100.1"));
	test_clock::pass(200); // it is 200 seconds later
	REQUIRE(learn_one("1.102.0.192.bl6.example", "0.104.0.192.bl6.example", 600) == 1);
	CHECK(has(table.get(), "192.0.100.1"));
	CHECK(has(table.get(), "192.0.103.1"));
	test_clock::pass(200);
	// One that ends soon does not take the others with it.
	CHECK(learn_one("1.104.0.192.bl6.example", "0.106.0.192.bl6.example", 60) == 0);
	CHECK(has(table.get(), "192.0.100.1"));
	CHECK_FALSE(has(table.get(), "192.0.105.1"));
	// What has less than half of the time of a new one makes room for it.
	REQUIRE(learn_one("1.106.0.192.bl6.example", "0.108.0.192.bl6.example", 600) == 1);
	CHECK(has(table.get(), "192.0.107.1"));
	CHECK_FALSE(has(table.get(), "192.0.100.1"));
	test_clock::pass(599);
	CHECK(has(table.get(), "192.0.107.1"));
	test_clock::pass(2);
	CHECK_FALSE(has(table.get(), "192.0.107.1"));
	REQUIRE(learn_one("1.10.0.192.bl6.example", "0.101.0.192.bl6.example", 1) == 1);
	CHECK_FALSE(has(table.get(), "192.0.107.1"));
}
