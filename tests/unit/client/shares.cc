/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "client-lib/resolver/shares.h"

#include <vector>

#include <catch2/catch.hpp>

namespace
{
// So many questions of the zone wait.
void wait(shares &tested, unsigned zone, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		shares_wait(&tested, zone);
}

// Sockets are given as long as any zone may have one. How many each got.
std::vector<unsigned> give_all(shares &tested)
{
	std::vector<unsigned> given(tested.zone_count);
	for (unsigned zone = shares_next(&tested); zone != SHARES_NONE;
	     zone = shares_next(&tested)) {
		REQUIRE(shares_may_begin(&tested, zone));
		shares_leave(&tested, zone);
		shares_begin(&tested, zone);
		given[zone]++;
	}
	return given;
}

void note(shares &tested, unsigned zone, bool is_answered, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		shares_note(&tested, zone, is_answered);
}
} // namespace

TEST_CASE("zones that wait have equal shares", "[client][shares]")
{
	shares tested;
	shares_init(&tested, 3, 12);
	wait(tested, 0, 100);
	wait(tested, 1, 100);
	wait(tested, 2, 100);
	CHECK(give_all(tested) == std::vector<unsigned>{ 4, 4, 4 });
	CHECK(!shares_may_begin(&tested, 0));
	// Of those that have as few, the one whose turn it is.
	shares_end(&tested, 2);
	shares_end(&tested, 1);
	CHECK(shares_next(&tested) == 1);
	shares_begin(&tested, 1);
	shares_end(&tested, 1);
	CHECK(shares_next(&tested) == 2);
}

TEST_CASE("a zone whose questions end has the next socket, before those that hold theirs",
	  "[client][shares]")
{
	shares tested;
	shares_init(&tested, 3, 12);
	for (unsigned zone = 0; zone < 3; zone++)
		wait(tested, zone, 100);
	give_all(tested);
	for (unsigned i = 0; i < 50; i++) {
		shares_end(&tested, 1);
		CHECK(give_all(tested) == std::vector<unsigned>{ 0, 1, 0 });
	}
}

TEST_CASE("a zone may have all sockets that others leave, but for a quarter", "[client][shares]")
{
	shares tested;
	shares_init(&tested, 3, 16);
	wait(tested, 1, 100);
	CHECK(give_all(tested) == std::vector<unsigned>{ 0, 12, 0 });
	wait(tested, 2, 2);
	CHECK(give_all(tested) == std::vector<unsigned>{ 0, 0, 2 });
	CHECK(shares_next(&tested) == SHARES_NONE);
	CHECK(shares_may_begin(&tested, 0));
	CHECK(!shares_may_begin(&tested, 1));

	shares alone;
	shares_init(&alone, 1, 16);
	note(alone, 0, false, 100);
	wait(alone, 0, 100);
	CHECK(give_all(alone) == std::vector<unsigned>{ 16 });
	CHECK(!shares_must_yield(&alone, 0));
}

TEST_CASE("a zone of whose questions few are answered is mute, until more are", "[client][shares]")
{
	shares tested;
	shares_init(&tested, 2, 256);
	CHECK(!shares_is_mute(&tested, 0));
	note(tested, 0, false, 10);
	CHECK(!shares_is_mute(&tested, 0));
	note(tested, 0, false, 20);
	CHECK(shares_is_mute(&tested, 0));
	CHECK(!shares_is_mute(&tested, 1));
	// One in ten does not help it.
	for (unsigned i = 0; i < 200; i++)
		shares_note(&tested, 0, i % 10 == 0);
	CHECK(shares_is_mute(&tested, 0));
	for (unsigned i = 0; i < 200; i++)
		shares_note(&tested, 0, i % 2 == 0);
	CHECK(!shares_is_mute(&tested, 0));
	// However long it was silent or well, a few questions tell.
	note(tested, 0, false, 10000);
	note(tested, 0, true, 6);
	CHECK(!shares_is_mute(&tested, 0));
	note(tested, 0, true, 10000);
	note(tested, 0, false, 24);
	CHECK(shares_is_mute(&tested, 0));
}

TEST_CASE("a mute zone has few sockets, and all mute zones have half", "[client][shares]")
{
	shares tested;
	shares_init(&tested, 20, 256);
	for (unsigned zone = 0; zone < 19; zone++) {
		note(tested, zone, false, 100);
		wait(tested, zone, 100);
	}
	const std::vector<unsigned> given = give_all(tested);
	unsigned sum = 0;
	for (unsigned zone = 0; zone < 19; zone++) {
		CHECK(given[zone] >= 128 / 19);
		CHECK(given[zone] <= 16);
		sum += given[zone];
	}
	CHECK(sum == 128);
	wait(tested, 19, 100);
	CHECK(give_all(tested)[19] == 100);

	shares few;
	shares_init(&few, 2, 256);
	note(few, 0, false, 100);
	wait(few, 0, 100);
	CHECK(give_all(few) == std::vector<unsigned>{ 16, 0 });
	shares_init(&few, 2, 4);
	note(few, 0, false, 100);
	wait(few, 0, 100);
	CHECK(give_all(few) == std::vector<unsigned>{ 2, 0 });
}

TEST_CASE("a zone that falls silent gives back what it may not have", "[client][shares]")
{
	shares tested;
	shares_init(&tested, 2, 64);
	wait(tested, 0, 100);
	CHECK(give_all(tested)[0] == 48);
	note(tested, 0, false, 30);
	unsigned yielded = 0;
	for (; shares_must_yield(&tested, 0) && tested.zones[0].flying > 0; yielded++) {
		shares_end(&tested, 0);
		if (tested.zones[0].flying >= SHARES_MUTE_MIN)
			CHECK(!shares_may_begin(&tested, 0));
	}
	// To the last, as others of it wait for their turn.
	CHECK(yielded == 48);
	CHECK(give_all(tested)[0] == SHARES_MUTE_MIN);
	// Well again, it has what it had.
	note(tested, 0, true, 30);
	CHECK(give_all(tested)[0] == 44);
	for (unsigned i = 0; i < 48; i++)
		shares_end(&tested, 0);
	CHECK(tested.flying == 0);
	CHECK(tested.mute_flying == 0);
}

TEST_CASE("a question yields to others of its zone that wait", "[client][shares]")
{
	shares tested;
	shares_init(&tested, 2, 16);
	wait(tested, 0, 12);
	give_all(tested);
	CHECK(!shares_must_yield(&tested, 0));
	wait(tested, 0, 1);
	REQUIRE(shares_next(&tested) == SHARES_NONE);
	CHECK(shares_must_yield(&tested, 0));
	shares_end(&tested, 0);
	CHECK(shares_next(&tested) == 0);
}

TEST_CASE("a slow zone yields what is more than its share when others wait in vain",
	  "[client][shares]")
{
	shares tested;
	shares_init(&tested, 3, 16);
	wait(tested, 0, 12);
	wait(tested, 1, 4);
	give_all(tested);
	for (unsigned zone = 0; zone < 2; zone++)
		CHECK(!shares_must_yield(&tested, zone));
	wait(tested, 2, 3);
	REQUIRE(tested.flying == 16);
	const unsigned most = tested.zones[0].flying > tested.zones[1].flying ? 0 : 1;
	CHECK(shares_must_yield(&tested, most));
	CHECK(!shares_must_yield(&tested, 1 - most));
	shares_end(&tested, most);
	CHECK(shares_next(&tested) == 2);
}
