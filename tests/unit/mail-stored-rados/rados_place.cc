// SPDX-License-Identifier: GPL-3.0-or-later
#include "integration/mail/mail-stored/rados/rados_place.h"

#include <catch2/catch.hpp>

#include <string>

// What "ceph osd map" of Ceph 16.2 says of these names; test_objects_rados.py asks it about others.
TEST_CASE("an object's placement group is the one that Ceph computes",
	  "[mail-stored-rados][rados_place]")
{
	const struct {
		std::string name;
		uint32_t hash;
	} known[] = {
		{ "x", 0xd6d9af33 },
		{ "d.f", 0xa9548264 },
		{ "nodes", 0x47752fa3 },
		{ "12345678901", 0x79f32d84 },
		{ "123456789012", 0xf7e45e60 },
		{ "1234567890123", 0x8f57066a },
		{ "b.00061b2f3c4d5400", 0xa5fd40db },
		{ "x.alice@example.org", 0x6535a772 },
		{ "x.%c3%a4-a-longer-name-of-a-mailbox@very.long.example.net", 0xf0cb4b8c },
	};
	for (const auto &one : known) {
		CAPTURE(one.name);
		CHECK(rados_place(one.name.data(), one.name.size(), 1) == 0);
		CHECK(rados_place(one.name.data(), one.name.size(), 32) == one.hash % 32);
		CHECK(rados_place(one.name.data(), one.name.size(), 65536) == one.hash % 65536);
		CHECK(rados_place(one.name.data(), one.name.size(), UINT32_C(1) << 31) ==
		      one.hash % (UINT32_C(1) << 31));
	}
}

TEST_CASE("a pool of any number of groups has each object in one of them",
	  "[mail-stored-rados][rados_place]")
{
	const uint32_t groups = GENERATE(1u, 2u, 3u, 12u, 100u, 65535u);
	CAPTURE(groups);
	for (unsigned i = 0; i < 1000; i++) {
		const std::string name = "b." + std::to_string(i);
		REQUIRE(rados_place(name.data(), name.size(), groups) < groups);
	}
	// Of 16 that would be, 3 is there, and 10 is not.
	CHECK(rados_place("nodes", 5, 12) == 3);
	CHECK(rados_place("1234567890123", 13, 10) == (0x8f57066a & 7));
}
