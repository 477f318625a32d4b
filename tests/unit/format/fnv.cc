// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/format/fnv.h"

#include <catch2/catch.hpp>

TEST_CASE("hashes of FNV-1a are those of its authors", "[format][fnv]")
{
	CHECK(fnv_add(FNV_START, "", 0) == 0xcbf29ce484222325);
	CHECK(fnv_add(FNV_START, "a", 1) == 0xaf63dc4c8601ec8c);
	CHECK(fnv_add(FNV_START, "foobar", 6) == 0x85944171f73967e8);
	CHECK(fnv_add(FNV_START, "\xff", 1) == 0xaf64724c8602eb6e);
}

TEST_CASE("a text in pieces has the hash of the whole", "[format][fnv]")
{
	CHECK(fnv_add(fnv_add(FNV_START, "foo", 3), "bar", 3) == fnv_add(FNV_START, "foobar", 6));
}
