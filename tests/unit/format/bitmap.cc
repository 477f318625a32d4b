// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/format/bitmap.h"

#include <catch2/catch.hpp>

#include <cstring>

TEST_CASE("adding a host sets its bit alone, most significant first", "[format][bitmap]")
{
	const unsigned host = GENERATE(range(0u, 128u));
	CAPTURE(host);
	dnsblv6_bitmap map = {};
	dnsblv6_bitmap_add(&map, host);

	uint8_t wanted[DNSBLV6_BITMAP_SIZE] = {};
	wanted[host / 8] = static_cast<uint8_t>(0x80 >> host % 8);
	CHECK(memcmp(map.bytes, wanted, sizeof(wanted)) == 0);
	CHECK(dnsblv6_bitmap_count(&map) == 1);
	for (unsigned other = 0; other < DNSBLV6_BITMAP_HOSTS; other++)
		CHECK(dnsblv6_bitmap_get(&map, other) == (other == host));

	dnsblv6_bitmap_add(&map, host);
	CHECK(dnsblv6_bitmap_count(&map) == 1);
}

TEST_CASE("only the last seven bits of a host count", "[format][bitmap]")
{
	const unsigned host = GENERATE(0u, 66u, 127u);
	const unsigned above = GENERATE(128u, 256u, 0xffffff80u);
	CAPTURE(host, above);
	dnsblv6_bitmap map = {};
	dnsblv6_bitmap_add(&map, host + above);
	CHECK(dnsblv6_bitmap_get(&map, host));
	CHECK(dnsblv6_bitmap_get(&map, host + above));
	CHECK(dnsblv6_bitmap_count(&map) == 1);
}

TEST_CASE("a range sets its first, its last and all between", "[format][bitmap]")
{
	const unsigned first = GENERATE(0u, 1u, 7u, 8u, 63u, 64u, 126u, 127u);
	const unsigned last = GENERATE(0u, 1u, 7u, 8u, 9u, 64u, 126u, 127u);
	CAPTURE(first, last);
	dnsblv6_bitmap map = {};
	dnsblv6_bitmap_add_range(&map, first, last);
	for (unsigned host = 0; host < DNSBLV6_BITMAP_HOSTS; host++) {
		CAPTURE(host);
		CHECK(dnsblv6_bitmap_get(&map, host) == (host >= first && host <= last));
	}
	CHECK(dnsblv6_bitmap_count(&map) == (last < first ? 0 : last - first + 1));
}

TEST_CASE("a range keeps the bits that are set already", "[format][bitmap]")
{
	dnsblv6_bitmap map = {};
	dnsblv6_bitmap_add(&map, 3);
	dnsblv6_bitmap_add_range(&map, 100, 101);
	CHECK(dnsblv6_bitmap_get(&map, 3));
	CHECK(dnsblv6_bitmap_count(&map) == 3);
}

TEST_CASE("a bitmap is empty with no bit and full with all", "[format][bitmap]")
{
	dnsblv6_bitmap map = {};
	CHECK(dnsblv6_bitmap_is_empty(&map));
	CHECK_FALSE(dnsblv6_bitmap_is_full(&map));

	dnsblv6_bitmap_add_range(&map, 0, 126);
	CHECK_FALSE(dnsblv6_bitmap_is_empty(&map));
	CHECK_FALSE(dnsblv6_bitmap_is_full(&map));

	dnsblv6_bitmap_add(&map, 127);
	CHECK(dnsblv6_bitmap_is_full(&map));
	CHECK(dnsblv6_bitmap_count(&map) == 128);

	const dnsblv6_bitmap full = dnsblv6_bitmap_make_full();
	CHECK(memcmp(map.bytes, full.bytes, sizeof(map.bytes)) == 0);
}
