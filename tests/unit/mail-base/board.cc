// SPDX-License-Identifier: GPL-3.0-or-later
// Marks of processes in memory that they share.
#include "integration/mail/base/handover/board.h"

#include "tests/lib/child.hh"

#include <catch2/catch.hpp>

TEST_CASE("a mark is of its process alone, and set as often as it likes", "[front][board]")
{
	struct board *board = nullptr;
	REQUIRE(board_open(200, &board) == 0);
	CHECK(board_count(board, BOARD_IDLE) == 0);
	for (size_t process : { 0, 63, 64, 199, 199 })
		board_set(board, BOARD_IDLE, process, true);
	board_set(board, BOARD_WAITING, 63, true);
	CHECK(board_count(board, BOARD_IDLE) == 4);
	CHECK(board_count(board, BOARD_WAITING) == 1);
	board_set(board, BOARD_IDLE, 0, false);
	board_set(board, BOARD_IDLE, 0, false);
	board_clear(board, 63);
	CHECK(board_count(board, BOARD_IDLE) == 2);
	CHECK(board_count(board, BOARD_WAITING) == 0);
	board_close(board);
}

TEST_CASE("what a process sets others see, also when it has ended", "[front][board]")
{
	struct board *board = nullptr;
	REQUIRE(board_open(2, &board) == 0);
	child other([&] {
		board_set(board, BOARD_IDLE, 1, true);
		return 0;
	});
	CHECK(other.wait() == 0);
	CHECK(board_count(board, BOARD_IDLE) == 1);
	board_close(board);
}

TEST_CASE("without a board nothing is marked", "[front][board]")
{
	board_set(nullptr, BOARD_IDLE, 1, true);
	board_clear(nullptr, 1);
	CHECK(board_count(nullptr, BOARD_IDLE) == 0);
	board_close(nullptr);
}

TEST_CASE("one process at a time has its turn, and one that has ended has none", "[front][board]")
{
	struct board *board = nullptr;
	REQUIRE(board_open(4, &board) == 0);
	REQUIRE(board_take_turn(board, 0));
	CHECK_FALSE(board_take_turn(board, 1));
	board_end_turn(board, 1); // it is not this one's to end
	CHECK_FALSE(board_take_turn(board, 1));
	board_end_turn(board, 0);
	CHECK(board_take_turn(board, 1));
	board_clear(board, 0);
	CHECK_FALSE(board_take_turn(board, 0));
	board_clear(board, 1);
	CHECK(board_take_turn(board, 0));
	board_close(board);
	CHECK(board_take_turn(nullptr, 1));
	CHECK(board_take_turn(nullptr, 2));
}
