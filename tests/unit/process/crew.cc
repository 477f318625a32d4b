// SPDX-License-Identifier: GPL-3.0-or-later
// Which processes of a crew live, and when a dead one is made again.
#include "lib/process/crew.h"

#include <catch2/catch.hpp>

namespace
{

constexpr uint64_t START_MS = 1000000;

enum : unsigned { FIRST, SECOND, THIRD, ROLES };

class a_crew
{
      public:
	a_crew(unsigned firsts, unsigned seconds, unsigned thirds, const crew_pace *pace = nullptr)
	{
		const unsigned counts[ROLES] = { firsts, seconds, thirds };
		REQUIRE(crew_init(&crew, counts, ROLES, pace) == 0);
	}
	~a_crew()
	{
		crew_deinit(&crew);
	}
	a_crew(const a_crew &) = delete;
	a_crew &operator=(const a_crew &) = delete;

	struct crew crew = {};
};

} // namespace

TEST_CASE("processes are made in the order of their roles", "[process][crew]")
{
	a_crew one(1, 2, 3);
	REQUIRE(one.crew.count == 6);
	CHECK(one.crew.slots[0].role == FIRST);
	CHECK(one.crew.slots[1].role == SECOND);
	CHECK(one.crew.slots[2].index == 1);
	CHECK(one.crew.slots[5].role == THIRD);
	CHECK(one.crew.slots[5].index == 2);
	for (unsigned i = 0; i < one.crew.count; i++) {
		CHECK(crew_find_due(&one.crew, START_MS) == &one.crew.slots[i]);
		crew_began(&one.crew.slots[i], static_cast<pid_t>(42 + i), START_MS);
	}
	CHECK(crew_find_due(&one.crew, START_MS) == nullptr);
}

TEST_CASE("a crew may have no process", "[process][crew]")
{
	const a_crew none(0, 0, 0);
	CHECK(none.crew.count == 0);
	CHECK(crew_next_ms(&none.crew) == CREW_NEVER);
}

TEST_CASE("a process that dies after some time is made again at once", "[process][crew]")
{
	a_crew one(0, 1, 0);
	struct crew_slot *slot = &one.crew.slots[0];
	crew_began(slot, 42, START_MS);
	CHECK(crew_find(&one.crew, 42) == slot);
	CHECK(crew_find(&one.crew, 43) == nullptr);
	CHECK(crew_count(&one.crew, SECOND) == 1);
	CHECK(crew_find_due(&one.crew, START_MS + 1) == nullptr);
	crew_ended(slot, false, START_MS + 2000);
	CHECK(crew_count(&one.crew, SECOND) == 0);
	CHECK(crew_find_due(&one.crew, START_MS + 2000) == slot);
}

TEST_CASE("a process that dies at once again and again is made again later and later",
	  "[process][crew]")
{
	a_crew one(0, 1, 0);
	struct crew_slot *slot = &one.crew.slots[0];
	uint64_t now = START_MS;
	uint64_t waited = 0;
	for (unsigned i = 0; i < 20; i++) {
		crew_began(slot, 42, now);
		crew_ended(slot, false, now + 1);
		waited = slot->due_ms - now - 1;
		CHECK(crew_next_ms(&one.crew) == slot->due_ms);
		now = slot->due_ms;
		if (i == 0)
			CHECK(waited == 0);
		if (i == 1)
			CHECK(waited == 100);
	}
	CHECK(waited == 10000);
	crew_began(slot, 42, now);
	crew_ended(slot, false, now + 3000);
	CHECK(slot->due_ms == now + 3000);
}

TEST_CASE("a worker that has done its share is replaced at once, however fast it was",
	  "[process][crew]")
{
	a_crew one(0, 0, 1);
	struct crew_slot *slot = &one.crew.slots[0];
	for (uint64_t now = START_MS; now < START_MS + 50; now += 5) {
		crew_began(slot, 42, now);
		crew_ended(slot, true, now + 5);
		CHECK(crew_find_due(&one.crew, now + 5) == slot);
	}
}

TEST_CASE("a role that was told to end is not made again, and is killed in the end",
	  "[process][crew]")
{
	a_crew one(0, 1, 2);
	for (unsigned i = 0; i < one.crew.count; i++)
		crew_began(&one.crew.slots[i], static_cast<pid_t>(42 + i), START_MS);
	CHECK(crew_next_ms(&one.crew) == CREW_NEVER);
	CHECK(crew_tell(&one.crew, THIRD, START_MS + 100));
	CHECK_FALSE(crew_tell(&one.crew, THIRD, START_MS + 500));
	CHECK(crew_next_ms(&one.crew) == START_MS + 100);
	crew_ended(&one.crew.slots[1], true, START_MS + 5);
	CHECK(crew_slot_is_due(&one.crew.slots[1], START_MS + 5000));
	CHECK(crew_find_due(&one.crew, START_MS + 5000) == nullptr);
	/* A later word may only shorten the time: SIGTERM behind SIGHUP. */
	crew_tell(&one.crew, THIRD, START_MS + 50);
	CHECK(crew_next_ms(&one.crew) == START_MS + 50);
}

TEST_CASE("a fork that fails is tried again", "[process][crew]")
{
	a_crew one(0, 1, 0);
	crew_not_begun(&one.crew.slots[0], START_MS);
	CHECK(crew_find_due(&one.crew, START_MS + 9999) == nullptr);
	CHECK(crew_find_due(&one.crew, START_MS + 10000) == &one.crew.slots[0]);
}

TEST_CASE("a crew may be made again at a pace of its own", "[process][crew]")
{
	const crew_pace pace = { 1000, 1000, 1000 };
	a_crew one(1, 0, 0, &pace);
	struct crew_slot *slot = &one.crew.slots[0];
	crew_began(slot, 42, START_MS);
	crew_ended(slot, false, START_MS + 1);
	CHECK(crew_slot_pause_ms(slot, START_MS + 1) == 0);
	for (unsigned i = 0; i < 3; i++) {
		crew_began(slot, 42, START_MS);
		crew_ended(slot, false, START_MS + 1);
		CHECK(crew_slot_pause_ms(slot, START_MS + 1) == 1000);
		CHECK(crew_slot_pause_ms(slot, START_MS + 2000) == 0);
	}
	crew_began(slot, 42, START_MS);
	crew_ended(slot, false, START_MS + 1000);
	CHECK(crew_slot_pause_ms(slot, START_MS + 1000) == 0);
	crew_not_begun(slot, START_MS);
	CHECK(crew_slot_pause_ms(slot, START_MS) == 1000);
}

TEST_CASE("a single process needs a slot and no crew", "[process][crew]")
{
	crew_slot slot = {};
	CHECK(crew_slot_is_due(&slot, START_MS));
	crew_began(&slot, 42, START_MS);
	CHECK_FALSE(crew_slot_is_due(&slot, START_MS + 100000));
	crew_ended(&slot, false, START_MS + 100000);
	CHECK(crew_slot_is_due(&slot, START_MS + 100000));
	slot.due_ms = CREW_NEVER;
	CHECK_FALSE(crew_slot_is_due(&slot, START_MS + 200000));
}
