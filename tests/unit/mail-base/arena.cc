// SPDX-License-Identifier: GPL-3.0-or-later
// Room for sessions: what it costs, and when.
#include "integration/mail/base/loop/arena.h"

#include <catch2/catch.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace
{

class room
{
      public:
	room(size_t slots, size_t near_size, size_t far_size)
	{
		REQUIRE(arena_new(slots, near_size, far_size, &arena) == 0);
	}
	~room()
	{
		arena_free(arena);
	}
	room(const room &) = delete;
	room &operator=(const room &) = delete;

	struct arena *arena = nullptr;
};

// How many of the pages that hold these bytes are in memory.
size_t resident(const void *bytes, size_t size)
{
	const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
	const uintptr_t begin = reinterpret_cast<uintptr_t>(bytes) / page * page;
	const size_t count = (reinterpret_cast<uintptr_t>(bytes) + size - begin + page - 1) / page;
	std::vector<unsigned char> pages(count);
	REQUIRE(mincore(reinterpret_cast<void *>(begin), count * page, pages.data()) == 0);
	size_t found = 0;
	for (const unsigned char each : pages)
		found += each & 1;
	return found;
}

} // namespace

TEST_CASE("there are as many slots as were asked for, and none overlaps another", "[front][arena]")
{
	room all(100, 200, 5000);
	std::set<uintptr_t> near;
	std::set<uintptr_t> far;
	for (int i = 0; i < 100; i++) {
		void *slot = arena_take(all.arena);
		REQUIRE(slot != nullptr);
		REQUIRE(reinterpret_cast<uintptr_t>(slot) % 64 == 0);
		std::memset(slot, i, 200);
		std::memset(arena_far(all.arena, slot), i, 5000);
		near.insert(reinterpret_cast<uintptr_t>(slot));
		far.insert(reinterpret_cast<uintptr_t>(arena_far(all.arena, slot)));
	}
	CHECK(arena_take(all.arena) == nullptr);
	CHECK(arena_count(all.arena) == 100);
	CHECK(arena_room(all.arena) == 100);
	REQUIRE(near.size() == 100);
	REQUIRE(far.size() == 100);
	uintptr_t last = 0;
	for (const uintptr_t each : near) {
		CHECK(each - last >= 200);
		last = each;
	}
	last = 0;
	for (const uintptr_t each : far) {
		CHECK(each - last >= 5000);
		last = each;
	}
}

TEST_CASE("the slot that was given back last is taken first", "[front][arena]")
{
	room all(3, 64, 0);
	void *one = arena_take(all.arena);
	void *two = arena_take(all.arena);
	arena_give_back(all.arena, one);
	arena_give_back(all.arena, two);
	CHECK(arena_count(all.arena) == 0);
	CHECK(arena_take(all.arena) == two);
	CHECK(arena_take(all.arena) == one);
	CHECK(arena_take(all.arena) != nullptr);
	CHECK(arena_take(all.arena) == nullptr);
}

TEST_CASE("pages of unused slots and far parts are not resident", "[front][arena]")
{
	const size_t slots = 10000;
	room all(slots, 2048, 8192);
	std::vector<char *> taken;
	for (int i = 0; i < 100; i++) {
		taken.push_back(static_cast<char *>(arena_take(all.arena)));
		taken.back()[2047] = 1;
	}
	CHECK(resident(taken[0], slots * 2048) <= 50);
	CHECK(resident(arena_far(all.arena, taken[0]), slots * 8192) == 0);
	static_cast<char *>(arena_far(all.arena, taken[7]))[4096] = 1;
	CHECK(resident(arena_far(all.arena, taken[0]), slots * 8192) == 1);
}

TEST_CASE("an arena without slots, or of more than there can be, is not made", "[front][arena]")
{
	struct arena *arena = nullptr;
	CHECK(arena_new(0, 64, 0, &arena) == -EINVAL);
	CHECK(arena_new(1, 0, 64, &arena) == -EINVAL);
	CHECK(arena_new(ARENA_SLOTS_MAX + 1, 64, 0, &arena) == -EINVAL);
	arena_free(nullptr);
}
