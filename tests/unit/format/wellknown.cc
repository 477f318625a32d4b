// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/format/wellknown.h"

#include "tests/lib/guarded.hh"
#include "tests/unit/vectors.hh"

#include <catch2/catch.hpp>

static dnsblv6_addr addr_of(const dnsblv6_bitmap &map)
{
	return dnsblv6_addr_from_bytes(map.bytes);
}

TEST_CASE("each family has a test point that is listed and one that is not", "[format][wellknown]")
{
	const bool is_ipv4 = GENERATE(true, false);
	CAPTURE(is_ipv4);
	unsigned listed = 0;
	unsigned clear = 0;
	for (size_t i = 0; i < DNSBLV6_TESTPOINT_COUNT; i++) {
		const dnsblv6_testpoint *point = dnsblv6_testpoint_get(i);
		if (dnsblv6_addr_is_ipv4(point->addr) == is_ipv4)
			(point->is_listed ? listed : clear)++;
	}
	CHECK(listed == 1);
	CHECK(clear == 1);
}

TEST_CASE("a canary lies in the range that it names", "[format][wellknown]")
{
	const size_t i = GENERATE(range<size_t>(0, DNSBLV6_CANARY_COUNT));
	const dnsblv6_canary *canary = dnsblv6_canary_get(i);
	CAPTURE(canary->range);
	// The mapped range is written as IPv6, so its length counts in 128 bits.
	const dnsblv6_prefix range = prefix_of(canary->range);
	CHECK(dnsblv6_prefix_contains(range, addr_of(canary->map)));
	CHECK_FALSE(dnsblv6_bitmap_is_empty(&canary->map));
}

TEST_CASE("a canary has a block of its own below 127/8, away from the test points",
	  "[format][wellknown]")
{
	const size_t i = GENERATE(range<size_t>(0, DNSBLV6_CANARY_COUNT));
	CAPTURE(i);
	const dnsblv6_prefix block = dnsblv6_block_of(dnsblv6_canary_get(i)->block);
	CHECK(block.first == dnsblv6_canary_get(i)->block);
	CHECK(dnsblv6_prefix_contains(prefix_of("127.0.0.0/8"), block.first));
	for (size_t j = 0; j < DNSBLV6_CANARY_COUNT; j++)
		CHECK((dnsblv6_canary_get(j)->block == block.first) == (i == j));
	for (size_t j = 0; j < DNSBLV6_TESTPOINT_COUNT; j++)
		CHECK_FALSE(dnsblv6_prefix_contains(block, dnsblv6_testpoint_get(j)->addr));
}

TEST_CASE("the largest metadata fit one TXT record", "[format][wellknown]")
{
	dnsblv6_metadata metadata = {};
	metadata.has_ipv4 = metadata.has_ipv6 = true;
	memset(metadata.classic, 'c', DNSBLV6_METADATA_VALUE_MAX);
	memset(metadata.reason, 'r', DNSBLV6_METADATA_VALUE_MAX);
	bytes rdata(DNSBLV6_METADATA_RDATA_MAX);
	rdata.resize(dnsblv6_metadata_encode(&metadata, rdata.data()));

	const guarded bounded(rdata);
	dnsblv6_metadata again;
	REQUIRE(dnsblv6_metadata_decode(bounded.data(), bounded.size(), &again) == DNSBLV6_OK);
	CHECK(std::string(again.classic) == std::string(DNSBLV6_METADATA_VALUE_MAX, 'c'));
	CHECK(std::string(again.reason) == std::string(DNSBLV6_METADATA_VALUE_MAX, 'r'));
}

TEST_CASE("damaged metadata are refused, or mean something", "[format][wellknown]")
{
	const vector_case c = GENERATE(from_range(vectors("metadata")));
	CAPTURE(c);
	damage(from_hex(c[4]), [&](const guarded &damaged) {
		dnsblv6_metadata metadata;
		const int ret = dnsblv6_metadata_decode(damaged.data(), damaged.size(), &metadata);
		CHECK((ret == DNSBLV6_OK || ret == DNSBLV6_EMETADATA || ret == DNSBLV6_ERECORD));
		if (ret != DNSBLV6_OK)
			return;
		CHECK((metadata.has_ipv4 || metadata.has_ipv6));
		CHECK(strlen(metadata.classic) <= DNSBLV6_METADATA_VALUE_MAX);
		CHECK(strlen(metadata.reason) <= DNSBLV6_METADATA_VALUE_MAX);
	});
}
