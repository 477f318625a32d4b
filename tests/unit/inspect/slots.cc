// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/inspect/slots.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <set>

TEST_CASE("slots are taken until there are none", "[inspect]")
{
	struct slots slots;
	REQUIRE(slots_init(&slots, 100, 3) == 0);
	std::set<void *> taken;
	for (int i = 0; i < 3; i++) {
		void *slot = slots_take(&slots);
		REQUIRE(slot != nullptr);
		memset(slot, i, 100);
		taken.insert(slot);
	}
	CHECK(taken.size() == 3);
	CHECK(slots_take(&slots) == nullptr);
	void *first = *taken.begin();
	slots_give(&slots, first);
	slots_give(&slots, nullptr);
	CHECK(slots_take(&slots) == first);
	CHECK(slots_at(&slots, slots_number(&slots, first)) == first);
	slots_deinit(&slots);
}

TEST_CASE("no slots are slots, too", "[inspect]")
{
	struct slots slots;
	REQUIRE(slots_init(&slots, 100, 0) == 0);
	CHECK(slots_take(&slots) == nullptr);
	slots_deinit(&slots);
}
