// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/format/address.h"

#include "tests/lib/guarded.hh"
#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"
#include "tests/unit/vectors.hh"

#include <catch2/catch.hpp>

__extension__ typedef unsigned __int128 uint128;

static uint128 number_of(dnsblv6_addr addr)
{
	return static_cast<uint128>(addr.hi) << 64 | addr.lo;
}

static dnsblv6_addr addr_of(uint128 number)
{
	return { static_cast<uint64_t>(number >> 64), static_cast<uint64_t>(number) };
}

static std::string format(dnsblv6_addr addr)
{
	char text[DNSBLV6_ADDR_TEXT_SIZE];
	const size_t size = dnsblv6_addr_format(addr, text);
	REQUIRE(size < sizeof(text));
	CHECK(strlen(text) == size);
	return text;
}

static int parse(const std::string &text, dnsblv6_addr *ret_addr)
{
	const guarded bounded(bytes(text.begin(), text.end()));
	return dnsblv6_addr_parse(bounded.text(), bounded.size(), ret_addr);
}

static int parse_prefix(const std::string &text, dnsblv6_prefix *ret_prefix)
{
	const guarded bounded(bytes(text.begin(), text.end()));
	return dnsblv6_prefix_parse(bounded.text(), bounded.size(), ret_prefix);
}

TEST_CASE("an address that is written is read as itself", "[format][address]")
{
	const auto seed = RANDOM_SEED(500);
	CAPTURE(seed);
	const dnsblv6_addr addr = randomness(seed).addr();
	const std::string text = format(addr);
	CAPTURE(text);
	dnsblv6_addr again;
	REQUIRE(parse(text, &again) == DNSBLV6_OK);
	CHECK(again == addr);

	uint8_t raw[16];
	dnsblv6_addr_to_bytes(addr, raw);
	CHECK(dnsblv6_addr_from_bytes(raw) == addr);
}

TEST_CASE("IPv6 text is libc's, but for the obsolete IPv4-compatible form", "[format][address]")
{
	const auto seed = RANDOM_SEED(500);
	CAPTURE(seed);
	dnsblv6_addr addr = randomness(seed).ipv6();
	addr.hi |= 1; // libc writes ::1.2.3.4, RFC 5952 does not
	uint8_t raw[16];
	dnsblv6_addr_to_bytes(addr, raw);
	char libc_text[INET6_ADDRSTRLEN];
	REQUIRE(inet_ntop(AF_INET6, raw, libc_text, sizeof(libc_text)) != nullptr);
	CHECK(format(addr) == libc_text);
}

TEST_CASE("the longest address text fits", "[format][address]")
{
	CHECK(format({ UINT64_MAX, UINT64_MAX }).size() == DNSBLV6_ADDR_TEXT_SIZE - 1);
}

TEST_CASE("an address text is accepted when libc accepts it", "[format][address]")
{
	const auto seed = RANDOM_SEED(3000);
	CAPTURE(seed);
	randomness rnd(seed);
	std::string text = format(rnd.addr());
	static const std::string alphabet = "0123456789abcdefAF:.::.. /gx%-+";
	for (unsigned changes = rnd.below(4); changes > 0 && !text.empty(); changes--) {
		const size_t at = rnd.below(static_cast<unsigned>(text.size()));
		const char c = alphabet[rnd.below(static_cast<unsigned>(alphabet.size()))];
		switch (rnd.below(3)) {
		case 0:
			text[at] = c;
			break;
		case 1:
			text.insert(at, 1, c);
			break;
		default:
			text.erase(at, 1 + rnd.below(3));
		}
	}
	CAPTURE(text);
	uint8_t raw[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	const bool is_ipv6 = text.find(':') != std::string::npos;
	const bool is_good = inet_pton(is_ipv6 ? AF_INET6 : AF_INET, text.c_str(),
				       is_ipv6 ? raw : raw + 12) == 1;
	dnsblv6_addr addr;
	CHECK((parse(text, &addr) == DNSBLV6_OK) == is_good);
	if (is_good)
		CHECK(addr == dnsblv6_addr_from_bytes(raw));
}

TEST_CASE("an address cut anywhere is read whole or refused", "[format][address]")
{
	const std::string text = GENERATE(as<std::string>{}, "192.0.2.255", "2001:db8::192.0.2.255",
					  "1:2:3:4:5:6:7:8", "2001:db8:1:2::ffff");
	damage(bytes(text.begin(), text.end()), [&](const guarded &damaged) {
		const std::string cut(damaged.text(), damaged.size());
		CAPTURE(cut);
		uint8_t raw[16];
		const bool is_ipv6 = cut.find(':') != std::string::npos;
		const bool is_good = cut.find('\0') == std::string::npos &&
				     inet_pton(is_ipv6 ? AF_INET6 : AF_INET, cut.c_str(), raw) == 1;
		dnsblv6_addr addr;
		CHECK((dnsblv6_addr_parse(damaged.text(), damaged.size(), &addr) == DNSBLV6_OK) ==
		      is_good);
	});
}

TEST_CASE("an IPv4-mapped address is IPv4 however it is written", "[format][address]")
{
	const std::string text = GENERATE(as<std::string>{}, "192.0.2.1", "::ffff:192.0.2.1",
					  "::FFFF:c000:0201", "0:0:0:0:0:ffff:192.0.2.1");
	CAPTURE(text);
	dnsblv6_addr addr;
	REQUIRE(parse(text, &addr) == DNSBLV6_OK);
	CHECK(dnsblv6_addr_is_ipv4(addr));
	CHECK(dnsblv6_addr_ipv4(addr) == 0xc0000201);
	CHECK(addr == dnsblv6_addr_from_ipv4(0xc0000201));
	CHECK(format(addr) == "192.0.2.1");
}

TEST_CASE("addresses next to the mapped range are IPv6", "[format][address]")
{
	CHECK_FALSE(dnsblv6_addr_is_ipv4({ 0, 0xfffeffffffff }));
	CHECK(dnsblv6_addr_is_ipv4({ 0, 0xffff00000000 }));
	CHECK(dnsblv6_addr_is_ipv4({ 0, 0xffffffffffff }));
	CHECK_FALSE(dnsblv6_addr_is_ipv4({ 0, 0x1000000000000 }));
	CHECK_FALSE(dnsblv6_addr_is_ipv4({ 1, 0xffff00000000 }));
}

TEST_CASE("addresses compare as their bytes do", "[format][address]")
{
	const auto seed = RANDOM_SEED(200);
	CAPTURE(seed);
	randomness rnd(seed);
	const dnsblv6_addr a = rnd.addr();
	const dnsblv6_addr b = rnd.one_in(4) ? a : rnd.addr();
	uint8_t a_bytes[16];
	uint8_t b_bytes[16];
	dnsblv6_addr_to_bytes(a, a_bytes);
	dnsblv6_addr_to_bytes(b, b_bytes);
	const int wanted = memcmp(a_bytes, b_bytes, 16);
	const int found = dnsblv6_addr_compare(a, b);
	CHECK((found < 0) == (wanted < 0));
	CHECK((found > 0) == (wanted > 0));
}

TEST_CASE("neighbours carry over 64 bits and wrap at the ends", "[format][address]")
{
	const auto seed = RANDOM_SEED(200);
	CAPTURE(seed);
	const dnsblv6_addr addr = randomness(seed).addr();
	CHECK(number_of(dnsblv6_addr_next(addr)) == number_of(addr) + 1);
	CHECK(number_of(dnsblv6_addr_previous(addr)) == number_of(addr) - 1);
	CHECK(dnsblv6_addr_next({ 1, UINT64_MAX }) == dnsblv6_addr{ 2, 0 });
	CHECK(dnsblv6_addr_previous({ 2, 0 }) == dnsblv6_addr{ 1, UINT64_MAX });
	CHECK(dnsblv6_addr_next({ UINT64_MAX, UINT64_MAX }) == dnsblv6_addr{ 0, 0 });
	CHECK(dnsblv6_addr_previous({ 0, 0 }) == dnsblv6_addr{ UINT64_MAX, UINT64_MAX });
}

// ---- prefixes ----

static uint128 mask_of(unsigned prefix_len)
{
	return prefix_len == 0 ? 0 : ~static_cast<uint128>(0) << (128 - prefix_len);
}

TEST_CASE("a prefix begins, ends and contains as its length says", "[format][address]")
{
	const unsigned prefix_len = GENERATE(range(0u, 129u));
	const auto seed = RANDOM_SEED(5);
	CAPTURE(prefix_len, seed);
	randomness rnd(seed);
	const dnsblv6_addr addr = rnd.addr();
	const dnsblv6_prefix prefix = dnsblv6_prefix_make(addr, prefix_len);
	const uint128 first = number_of(addr) & mask_of(prefix_len);
	const uint128 last = number_of(addr) | ~mask_of(prefix_len);
	CHECK(prefix == dnsblv6_prefix{ addr_of(first), static_cast<uint8_t>(prefix_len) });
	CHECK(dnsblv6_prefix_last(prefix) == addr_of(last));
	CHECK(dnsblv6_prefix_contains(prefix, addr));
	CHECK(dnsblv6_prefix_contains(prefix, addr_of(first)));
	CHECK(dnsblv6_prefix_contains(prefix, addr_of(last)));
	if (prefix_len > 0) {
		CHECK_FALSE(dnsblv6_prefix_contains(prefix, addr_of(first - 1)));
		CHECK_FALSE(dnsblv6_prefix_contains(prefix, addr_of(last + 1)));
	}
	const dnsblv6_addr other = rnd.addr();
	CHECK(dnsblv6_prefix_contains(prefix, other) ==
	      ((number_of(other) & mask_of(prefix_len)) == first));
	CHECK(dnsblv6_prefix_is_ipv4(prefix) == (prefix_len >= 96 && first >> 32 == 0xffff));
}

TEST_CASE("a prefix that is written is read as itself", "[format][address]")
{
	const unsigned prefix_len = GENERATE(range(0u, 129u));
	const auto seed = RANDOM_SEED(5);
	CAPTURE(prefix_len, seed);
	const dnsblv6_prefix prefix = dnsblv6_prefix_make(randomness(seed).addr(), prefix_len);
	char text[DNSBLV6_PREFIX_TEXT_SIZE];
	const size_t size = dnsblv6_prefix_format(prefix, text);
	REQUIRE(size < sizeof(text));
	CHECK(strlen(text) == size);
	CAPTURE(text);
	dnsblv6_prefix again;
	REQUIRE(parse_prefix(text, &again) == DNSBLV6_OK);
	CHECK(again == prefix);
}

TEST_CASE("the longest prefix text fits", "[format][address]")
{
	char text[DNSBLV6_PREFIX_TEXT_SIZE];
	const dnsblv6_prefix prefix = { { UINT64_MAX, UINT64_MAX - 1 }, 127 };
	CHECK(dnsblv6_prefix_format(prefix, text) == DNSBLV6_PREFIX_TEXT_SIZE - 1);
	CHECK(std::string(text) == "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127");
}

TEST_CASE("the length of a mapped prefix counts as it is written", "[format][address]")
{
	dnsblv6_prefix prefix;
	REQUIRE(parse_prefix("::ffff:192.0.2.0/120", &prefix) == DNSBLV6_OK);
	CHECK(prefix == prefix_of("192.0.2.0/24"));
	CHECK(parse_prefix("::ffff:192.0.2.0/24", &prefix) == DNSBLV6_EHOSTBITS);
}

TEST_CASE("a prefix text cut or changed anywhere is never read past its end", "[format][address]")
{
	const std::string text = GENERATE(as<std::string>{}, "192.0.2.0/24", "2001:db8::/128",
					  "::ffff:10.0.0.0/104");
	damage(bytes(text.begin(), text.end()), [&](const guarded &damaged) {
		dnsblv6_prefix prefix = { { 0, 0 }, 0 };
		const int ret = dnsblv6_prefix_parse(damaged.text(), damaged.size(), &prefix);
		CHECK(ret <= DNSBLV6_OK);
		if (ret == DNSBLV6_OK)
			CHECK(dnsblv6_prefix_make(prefix.first, prefix.prefix_len) == prefix);
	});
}

TEST_CASE("the prefixes of a range cover it once, in order, each as large as can be",
	  "[format][address]")
{
	const auto seed = RANDOM_SEED(100);
	CAPTURE(seed);
	randomness rnd(seed);
	dnsblv6_addr first = rnd.addr();
	dnsblv6_addr last = rnd.addr();
	if (dnsblv6_addr_compare(first, last) > 0)
		std::swap(first, last);

	unsigned count = 0;
	dnsblv6_addr next = first;
	for (;; count++) {
		REQUIRE(count < 256);
		const dnsblv6_prefix prefix = dnsblv6_prefix_of_range(next, last);
		const unsigned prefix_len = prefix.prefix_len;
		REQUIRE(prefix.first == next);
		REQUIRE(dnsblv6_prefix_make(next, prefix_len) == prefix);
		const dnsblv6_addr end = dnsblv6_prefix_last(prefix);
		REQUIRE(dnsblv6_addr_compare(end, last) <= 0);
		if (prefix_len > 0) {
			const dnsblv6_prefix wider = dnsblv6_prefix_make(next, prefix_len - 1);
			const bool fits =
				wider.first == next &&
				dnsblv6_addr_compare(dnsblv6_prefix_last(wider), last) <= 0;
			CHECK_FALSE(fits);
		}
		if (end == last)
			break;
		next = dnsblv6_addr_next(end);
	}
}

// ---- units and blocks ----

TEST_CASE("a unit is one of the 128 of its block", "[format][address]")
{
	const auto seed = RANDOM_SEED(300);
	CAPTURE(seed);
	const dnsblv6_addr addr = randomness(seed).addr();
	const bool is_ipv4 = dnsblv6_addr_is_ipv4(addr);
	const dnsblv6_prefix unit = dnsblv6_unit_of(addr);
	const dnsblv6_prefix block = dnsblv6_block_of(addr);
	CHECK(unit.prefix_len == (is_ipv4 ? 128 : 64));
	CHECK(block.prefix_len == (is_ipv4 ? 121 : 57));
	CHECK(dnsblv6_prefix_contains(unit, addr));
	CHECK(dnsblv6_prefix_contains(block, unit.first));
	const uint128 distance = number_of(unit.first) - number_of(block.first);
	CHECK(dnsblv6_host_index(addr) == static_cast<unsigned>(distance >> (is_ipv4 ? 0 : 64)));
}
