// SPDX-License-Identifier: GPL-3.0-or-later
#include "zone-tools/zones/schedule.h"

#include <catch2/catch.hpp>

namespace
{
constexpr schedule_pace pace = { 1000, 60000 };

struct made {
	schedule s = {};
	uint64_t now_ms = 5000;

	explicit made(bool is_signed = false)
	{
		schedule_init(&s, &pace, is_signed, now_ms);
		schedule_see(&s, 7, now_ms);
	}

	schedule_job at(uint64_t ms) const
	{
		return schedule_due(&s, ms);
	}

	uint64_t build(uint64_t ms, bool is_good)
	{
		REQUIRE(at(ms) == SCHEDULE_BUILD);
		schedule_begin(&s, SCHEDULE_BUILD);
		return schedule_end(&s, SCHEDULE_BUILD, is_good, ms);
	}
};
} // namespace

TEST_CASE("a zone is built when its lists have been still, and then when it is refreshed",
	  "[zone-tools][schedule]")
{
	made m;
	CHECK(m.at(5999) == SCHEDULE_NONE);
	CHECK(m.build(6000, true) == 0);
	CHECK(schedule_next_ms(&m.s) == 66000);
	CHECK(m.at(65999) == SCHEDULE_NONE);
	CHECK(m.at(66000) == SCHEDULE_BUILD);
}

TEST_CASE("each change of a list begins the waiting anew, up to three hundred times",
	  "[zone-tools][schedule]")
{
	made m;
	m.build(6000, true);
	schedule_see(&m.s, 8, 10000);
	schedule_see(&m.s, 9, 10900);
	schedule_see(&m.s, 9, 11500);
	CHECK(m.at(11899) == SCHEDULE_NONE);
	CHECK(m.at(11900) == SCHEDULE_BUILD);
	CHECK(!schedule_is_restless(&m.s));
	for (uint64_t i = 0; i < 600; i++)
		schedule_see(&m.s, 10 + i, 11000 + 500 * i);
	CHECK(m.at(309999) == SCHEDULE_NONE);
	CHECK(m.at(310000) == SCHEDULE_BUILD);
	CHECK(schedule_is_restless(&m.s));
	m.build(310000, true);
	CHECK(!schedule_is_restless(&m.s));
}

TEST_CASE("a change while a build runs is another build", "[zone-tools][schedule]")
{
	made m;
	schedule_begin(&m.s, SCHEDULE_BUILD);
	schedule_see(&m.s, 8, 6500);
	schedule_end(&m.s, SCHEDULE_BUILD, true, 7000);
	CHECK(m.at(7499) == SCHEDULE_NONE);
	CHECK(m.at(7500) == SCHEDULE_BUILD);
}

TEST_CASE("a build that fails is tried again ever later, and soon when a list changes",
	  "[zone-tools][schedule]")
{
	made m;
	uint64_t now_ms = 6000;
	for (uint64_t pause_ms : { 10000, 20000, 40000, 80000, 160000, 320000, 640000, 1280000,
				   2560000, 3600000, 3600000 }) {
		CHECK(m.build(now_ms, false) == pause_ms);
		CHECK(m.at(now_ms + pause_ms - 1) == SCHEDULE_NONE);
		now_ms += pause_ms;
	}
	m.build(now_ms, false);
	schedule_see(&m.s, 8, now_ms);
	CHECK(m.build(now_ms + 1000, true) == 0);
	now_ms += 1000;
	CHECK(schedule_next_ms(&m.s) == now_ms + pace.refresh_ms);
}

TEST_CASE("a signed zone whose builds fail is signed once a day", "[zone-tools][schedule]")
{
	made m(true);
	m.build(6000, true);
	uint64_t now_ms = 6000 + SCHEDULE_SIGN_MS;
	m.build(66000, false);
	unsigned signings = 0;
	for (uint64_t ms = 66000; ms < 66000 + 3 * SCHEDULE_SIGN_MS; ms += 1000) {
		const schedule_job job = m.at(ms);
		if (job == SCHEDULE_NONE)
			continue;
		schedule_begin(&m.s, job);
		schedule_end(&m.s, job, job == SCHEDULE_SIGN, ms);
		signings += job == SCHEDULE_SIGN;
		if (job == SCHEDULE_SIGN && signings == 1)
			CHECK(ms >= now_ms);
	}
	CHECK(signings == 3);

	made unsigned_zone;
	unsigned_zone.build(6000, false);
	CHECK(schedule_next_ms(&unsigned_zone.s) == 16000);
}

TEST_CASE("a list that is never still keeps no zone from its signatures", "[zone-tools][schedule]")
{
	struct sample {
		uint64_t settle_ms, most_ms;
	};
	const auto s = GENERATE(sample{ 60000, 3600000 }, sample{ 600000, 18000000 });
	const schedule_pace slow = { s.settle_ms, 60000 };
	made m;
	m.build(6000, true);
	m.s.pace = &slow;
	for (uint64_t i = 0; i <= s.most_ms / 30000; i++)
		schedule_see(&m.s, 10 + i, 10000 + 30000 * i);
	CHECK(m.at(10000 + s.most_ms - 1) == SCHEDULE_NONE);
	CHECK(m.at(10000 + s.most_ms) == SCHEDULE_BUILD);
}

TEST_CASE("a list that is not waited for is never restless", "[zone-tools][schedule]")
{
	const schedule_pace hasty = { 0, 60000 };
	made m;
	m.build(6000, true);
	m.s.pace = &hasty;
	schedule_see(&m.s, 8, 10000);
	CHECK(m.at(10000) == SCHEDULE_BUILD);
	CHECK(!schedule_is_restless(&m.s));
}

TEST_CASE("the same warnings are told once a day", "[zone-tools][schedule]")
{
	made m;
	CHECK(schedule_tell(&m.s, 3, 1000));
	CHECK(!schedule_tell(&m.s, 3, 86400999));
	CHECK(schedule_tell(&m.s, 3, 86401000));
	CHECK(schedule_tell(&m.s, 4, 86401001));
	CHECK(!schedule_tell(&m.s, 4, 86401002));
}

TEST_CASE("a zone of settings read again is built at once", "[zone-tools][schedule]")
{
	made m;
	m.build(6000, false);
	schedule_hurry(&m.s, 6100);
	CHECK(m.at(6100) == SCHEDULE_BUILD);
}
