// SPDX-License-Identifier: GPL-3.0-or-later
// Marks of processes in memory that they share.
#include "integration/mail/base/handover/scoreboard.h"

#include "tests/lib/child.hh"

#include <catch2/catch.hpp>

TEST_CASE("a mark is of its process alone, and set as often as it likes", "[front][scoreboard]")
{
	struct scoreboard *scoreboard = nullptr;
	REQUIRE(scoreboard_open(200, &scoreboard) == 0);
	CHECK(scoreboard_count(scoreboard, SCOREBOARD_IDLE) == 0);
	for (size_t process : { 0, 63, 64, 199, 199 })
		scoreboard_set(scoreboard, SCOREBOARD_IDLE, process, true);
	scoreboard_set(scoreboard, SCOREBOARD_WAITING, 63, true);
	CHECK(scoreboard_count(scoreboard, SCOREBOARD_IDLE) == 4);
	CHECK(scoreboard_count(scoreboard, SCOREBOARD_WAITING) == 1);
	scoreboard_set(scoreboard, SCOREBOARD_IDLE, 0, false);
	scoreboard_set(scoreboard, SCOREBOARD_IDLE, 0, false);
	scoreboard_clear(scoreboard, 63);
	CHECK(scoreboard_count(scoreboard, SCOREBOARD_IDLE) == 2);
	CHECK(scoreboard_count(scoreboard, SCOREBOARD_WAITING) == 0);
	scoreboard_close(scoreboard);
}

TEST_CASE("what a process sets others see, also when it has ended", "[front][scoreboard]")
{
	struct scoreboard *scoreboard = nullptr;
	REQUIRE(scoreboard_open(2, &scoreboard) == 0);
	child other([&] {
		scoreboard_set(scoreboard, SCOREBOARD_IDLE, 1, true);
		return 0;
	});
	CHECK(other.wait() == 0);
	CHECK(scoreboard_count(scoreboard, SCOREBOARD_IDLE) == 1);
	scoreboard_close(scoreboard);
}

TEST_CASE("without a scoreboard nothing is marked", "[front][scoreboard]")
{
	scoreboard_set(nullptr, SCOREBOARD_IDLE, 1, true);
	scoreboard_clear(nullptr, 1);
	CHECK(scoreboard_count(nullptr, SCOREBOARD_IDLE) == 0);
	scoreboard_close(nullptr);
}

TEST_CASE("one process at a time has its turn, and one that has ended has none",
	  "[front][scoreboard]")
{
	struct scoreboard *scoreboard = nullptr;
	REQUIRE(scoreboard_open(4, &scoreboard) == 0);
	REQUIRE(scoreboard_take_turn(scoreboard, 0));
	CHECK_FALSE(scoreboard_take_turn(scoreboard, 1));
	scoreboard_end_turn(scoreboard, 1); // it is not this one's to end
	CHECK_FALSE(scoreboard_take_turn(scoreboard, 1));
	scoreboard_end_turn(scoreboard, 0);
	CHECK(scoreboard_take_turn(scoreboard, 1));
	scoreboard_clear(scoreboard, 0);
	CHECK_FALSE(scoreboard_take_turn(scoreboard, 0));
	scoreboard_clear(scoreboard, 1);
	CHECK(scoreboard_take_turn(scoreboard, 0));
	scoreboard_close(scoreboard);
	CHECK(scoreboard_take_turn(nullptr, 1));
	CHECK(scoreboard_take_turn(nullptr, 2));
}
