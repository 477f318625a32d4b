// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/format/array.h"

#include "tests/lib/fault.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstdint>

TEST_CASE("an array has room for what is added, and keeps what it has", "[format][array]")
{
	uint32_t *items = nullptr;
	size_t room = 0;
	for (uint32_t i = 0; i < 1000; i++) {
		REQUIRE(array_reserve(items, i + 1, &room));
		REQUIRE(room > i);
		items[i] = i;
	}
	for (uint32_t i = 0; i < 1000; i++)
		REQUIRE(items[i] == i);
	CHECK(room < 2000);
	free(items);
}

TEST_CASE("an array that memory does not suffice for stays as it was", "[format][array]")
{
	uint32_t *items = nullptr;
	size_t room = 0;
	REQUIRE(array_reserve(items, 1, &room));
	items[0] = 4711;
	const size_t before = room;
	fault::fail_at(1);
	CHECK(!array_reserve(items, before + 1, &room));
	CHECK(fault::end());
	CHECK(room == before);
	CHECK(items[0] == 4711);
	free(items);
}
