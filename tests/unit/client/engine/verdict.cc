/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "client-lib/engine/verdict.h"

#include <cstring>
#include <string>

#include <catch2/catch.hpp>

namespace
{
// Zones of "zones", what each says, and the verdict.
struct court {
	config options = {};
	dnsblv6_result result = {};
	verdict_zone zones[CONFIG_ZONES_MAX] = {};
	dnsblv6_addr addr = dnsblv6_addr_from_ipv4(0xc0000242); // 192.0.2.66

	explicit court(const char *list, const char *threshold = "1",
		       const char *on_failure = "open")
	{
		char error[CONFIG_ERROR_MAX];
		config_init(&options);
		REQUIRE(config_set(&options, "zones", list, error) == 0);
		REQUIRE(config_set(&options, "threshold", threshold, error) == 0);
		REQUIRE(config_set(&options, "on-failure", on_failure, error) == 0);
		REQUIRE(config_set(&options, "servers", "127.0.0.1", error) == 0);
		REQUIRE(config_finish(&options, error) == 0);
		for (unsigned i = 0; i < options.zone_count; i++)
			verdict_prepare(&options, i, zones + i);
		verdict_init(&result);
	}
	court &entry(unsigned zone, const cache_entry &said, uint32_t ttl_s)
	{
		verdict_add_answer(&options, zones + zone, zones[zone].entries, &said, addr, ttl_s,
				   &result);
		return *this;
	}
	court &bitmap(unsigned zone, bool is_listed, uint32_t ttl_s = 100)
	{
		cache_entry said = {};
		said.kind = CACHE_BITMAP;
		if (is_listed)
			dnsblv6_bitmap_add(&said.payload, dnsblv6_host_index(addr));
		return entry(zone, said, ttl_s);
	}
	court &low(unsigned zone, unsigned n)
	{
		cache_entry said = {};
		said.kind = CACHE_LOW;
		dnsblv6_bitmap_add(&said.payload, n);
		return entry(zone, said, 100);
	}
	court &fail(unsigned zone)
	{
		verdict_add_failure(zones[zone].entries, &result);
		return *this;
	}
	dnsblv6_result end()
	{
		const unsigned count = options.entry_count;
		verdict_finish(&options, count < 64 ? (1ull << count) - 1 : UINT64_MAX, &result);
		return result;
	}
};
} // namespace

TEST_CASE("a result has 128 bytes", "[client][verdict]")
{
	CHECK(sizeof(dnsblv6_result) == 128);
	CHECK(sizeof(dnsblv6_zone_info) == 384);
}

TEST_CASE("a set bit lists, a clear bit does not", "[client][verdict]")
{
	CHECK(court("a.example").bitmap(0, true).end().verdict == DNSBLV6_LISTED);
	CHECK(court("a.example").bitmap(0, false).end().verdict == DNSBLV6_CLEAR);
}

TEST_CASE("weights add up to the threshold, and negative ones take away", "[client][verdict]")
{
	court both("a.example*2 b.example*-1 c.example*2", "3");
	const dnsblv6_result clear = both.bitmap(0, true).bitmap(1, true).bitmap(2, true).end();
	CHECK(clear.score == 3);
	CHECK(clear.verdict == DNSBLV6_LISTED);
	CHECK(clear.zones_listed == 7);

	const dnsblv6_result less =
		court("a.example*2 b.example*-1", "2").bitmap(0, true).bitmap(1, true).end();
	CHECK(less.score == 1);
	CHECK(less.verdict == DNSBLV6_CLEAR);
}

TEST_CASE("entries of one zone look at its answer with filters of their own", "[client][verdict]")
{
	const char *list = "a.example=127.0.0.2*1 a.example=127.0.0.[4..7]*10 a.example*100";
	CHECK(court(list).low(0, 2).end().score == 101);
	CHECK(court(list).low(0, 5).end().score == 110);
	CHECK(court(list).low(0, 9).end().score == 100);
	CHECK(court(list).low(0, 4).low(0, 2).end().score == 111);
	CHECK(court(list).bitmap(0, true).end().score == 101);
	CHECK(court(list).bitmap(0, false).end().zones_answered == 7);
}

TEST_CASE("values that fit no slot of bits are filtered too", "[client][verdict]")
{
	cache_entry said = {};
	said.kind = CACHE_VALUES;
	const uint8_t values[] = { 127, 0, 1, 4, 127, 0, 0, 200 };
	std::copy(std::begin(values), std::end(values), said.payload.bytes);
	const char *list = "a.example=127.0.1.[1..9] a.example=127.0.0.200*2 a.example=127.0.2.4*4";
	CHECK(court(list).entry(0, said, 1).end().score == 3);
}

TEST_CASE("each of eight codes counts for its entry", "[client][verdict]")
{
	cache_entry said = {};
	said.kind = CACHE_PAIRS;
	const uint8_t pairs[] = { 0, 2, 0, 3, 0, 4, 0, 9, 0, 10, 0, 11, 0, 200, 1, 0 };
	std::copy(std::begin(pairs), std::end(pairs), said.payload.bytes);
	const char *list =
		"a.example=127.0.0.2 a.example=127.0.0.3*2 a.example=127.0.0.4*4 "
		"a.example=127.0.0.9*8 a.example=127.0.0.10*16 a.example=127.0.0.11*32 "
		"a.example=127.0.0.200*64 a.example=127.0.1.0*128 a.example=127.0.0.0*256";
	const dnsblv6_result result = court(list).entry(0, said, 1).end();
	CHECK(result.score == 255);
	CHECK(result.codes[7].entry == 7);
	CHECK(result.codes[7].octets[1] == 1);
	CHECK(result.codes[8].octets[2] == 0);
}

TEST_CASE("the codes of classic zones that list are told, each with its entry", "[client][verdict]")
{
	cache_entry said = {};
	said.kind = CACHE_VALUES;
	const uint8_t values[] = { 127, 0, 1, 4, 127, 0, 0, 200, 127, 9, 9, 9 };
	std::copy(std::begin(values), std::end(values), said.payload.bytes);
	court zones(
		"a.example=127.0.0.2=SBL b.example=127.0.0.[2;200] b.example=127.0.1.4 c.example "
		"b.example=127.0.[0..1].[0..255]");
	const dnsblv6_result result =
		zones.low(0, 2).low(0, 3).entry(1, said, 1).bitmap(2, true).end();
	CHECK(result.zones_listed == 0x1f);
	const dnsblv6_code wanted[] = { { 0, { 0, 0, 2 } },
					{ 2, { 0, 1, 4 } },
					{ 1, { 0, 0, 200 } } };
	for (unsigned i = 0; i < 3; i++) {
		CAPTURE(i);
		CHECK(result.codes[i].entry == wanted[i].entry);
		CHECK(memcmp(result.codes[i].octets, wanted[i].octets, 3) == 0);
	}
	const dnsblv6_code none = {};
	CHECK(memcmp(&result.codes[3], &none, sizeof(none)) == 0);
}

TEST_CASE("more codes than there are places for still list", "[client][verdict]")
{
	court zones("a.example b.example=127.0.0.99");
	for (unsigned n = 1; n <= 2 * DNSBLV6_CODES_MAX; n++)
		zones.low(0, n);
	const dnsblv6_result result = zones.low(1, 99).end();
	CHECK(result.zones_listed == 3);
	CHECK(result.codes[DNSBLV6_CODES_MAX - 1].octets[2] == DNSBLV6_CODES_MAX);
	CHECK(result.reserved[1] == 0);
}

TEST_CASE("what 127.255.255.x says is never a listing", "[client][verdict]")
{
	cache_entry said = {};
	said.kind = CACHE_VALUES;
	const uint8_t values[] = { 127, 255, 255, 254 };
	std::copy(std::begin(values), std::end(values), said.payload.bytes);
	CHECK(court("a.example").entry(0, said, 1).end().verdict == DNSBLV6_CLEAR);
}

TEST_CASE("a zone without an answer is unknown, closed or deferred", "[client][verdict]")
{
	struct row {
		const char *on_failure;
		bool is_other_listed;
		int32_t verdict;
		int32_t score;
	};
	const row rows = GENERATE(
		row{ "open", false, DNSBLV6_UNKNOWN, 0 }, row{ "open", true, DNSBLV6_LISTED, 1 },
		row{ "closed", false, DNSBLV6_LISTED, 1 }, row{ "defer", false, DNSBLV6_DEFER, 0 },
		row{ "defer", true, DNSBLV6_LISTED, 1 },
		row{ "b.example=defer", false, DNSBLV6_UNKNOWN, 0 });
	CAPTURE(rows.on_failure, rows.is_other_listed);
	court zones("a.example b.example", "1", rows.on_failure);
	const dnsblv6_result result = zones.fail(0).bitmap(1, rows.is_other_listed).end();
	CHECK(result.verdict == rows.verdict);
	CHECK(result.score == rows.score);
	CHECK(result.zones_failed == 1);
	CHECK(result.zones_answered == 2);
	CHECK(result.zones_listed == (rows.is_other_listed ? 2u : 0u));
}

TEST_CASE("a result holds as long as its shortest answer", "[client][verdict]")
{
	CHECK(court("a.example b.example").bitmap(0, true, 90).bitmap(1, false, 30).end().ttl_s ==
	      30);
	CHECK(court("a.example").fail(0).end().ttl_s == 0);
}

TEST_CASE("what is stale and what is secure is told for each entry", "[client][verdict]")
{
	court zones("a.example b.example");
	cache_entry said = {};
	said.kind = CACHE_BITMAP;
	said.is_stale = true;
	zones.entry(0, said, 1);
	said.is_stale = false;
	said.is_secure = true;
	zones.entry(1, said, 1);
	CHECK(zones.end().zones_stale == 1);
	CHECK(zones.end().zones_secure == 2);
}

TEST_CASE("sixty-four entries have a bit each", "[client][verdict]")
{
	std::string list;
	for (int i = 0; i < 64; i++)
		list += "z" + std::to_string(i) + ".example ";
	court zones(list.c_str(), "64");
	for (unsigned i = 0; i < 64; i++)
		zones.bitmap(i, true);
	const dnsblv6_result result = zones.end();
	CHECK(result.zones_listed == UINT64_MAX);
	CHECK(result.score == 64);
	CHECK(result.verdict == DNSBLV6_LISTED);
}
