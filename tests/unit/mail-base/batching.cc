// SPDX-License-Identifier: GPL-3.0-or-later
// When an edge rests, and when it stops to.
#include "integration/mail/base/loop/batching.h"

#include <catch2/catch.hpp>

#include <cstdint>

namespace
{

constexpr uint64_t MS = 1000000;
constexpr uint64_t REST = 4 * MS;

struct outcome {
	unsigned waits = 0; // wake-ups of an edge: one behind each rest, and one behind each wait
	unsigned rests = 0;
	uint64_t first_rest_ns = 0;
};

// An edge for so long; something comes every gap_ns.
outcome run(struct batching *batching, uint64_t from_ns, uint64_t to_ns, uint64_t gap_ns)
{
	outcome seen;
	uint64_t now_ns = from_ns, due_ns = from_ns + gap_ns;
	while (now_ns < to_ns) {
		const uint64_t rest_ns = batching_next(batching, now_ns);
		if (rest_ns > 0) {
			seen.first_rest_ns = seen.rests++ == 0 ? now_ns : seen.first_rest_ns;
			seen.waits++;
			now_ns += rest_ns;
		}
		if (due_ns > now_ns) {
			seen.waits++;
			now_ns = due_ns;
		}
		for (; due_ns <= now_ns; due_ns += gap_ns)
			batching_count(batching);
	}
	return seen;
}

} // namespace

TEST_CASE("an edge rests when several clients talk to it", "[front][batching]")
{
	struct batching batching;
	batching_init(&batching, REST);
	const outcome seen = run(&batching, 0, 1000 * MS, MS / 2);
	CHECK(seen.first_rest_ns <= REST * (BATCHING_RESTS + 1));
	CHECK(seen.waits < 400); // for 2,000 events
	CHECK(batching.is_resting);
}

TEST_CASE("an edge with little to do never rests", "[front][batching]")
{
	const uint64_t gap_ns = GENERATE(3 * MS, 10 * MS, 1000 * MS);
	struct batching batching;
	batching_init(&batching, REST);
	CHECK(run(&batching, 0, 10000 * MS, gap_ns).rests == 0);
}

TEST_CASE("an edge stops resting when clients have gone", "[front][batching]")
{
	struct batching batching;
	batching_init(&batching, REST);
	REQUIRE(run(&batching, 0, 100 * MS, MS / 4).rests > 0);
	const outcome seen = run(&batching, 100 * MS, 2000 * MS, 20 * MS);
	CHECK(seen.rests <= BATCHING_RESTS + 1);
	CHECK_FALSE(batching.is_resting);
}

// The next event comes only when the one before is answered: resting gains nothing there.
TEST_CASE("an edge soon stops resting for one client with much to say", "[front][batching]")
{
	struct batching batching;
	batching_init(&batching, REST);
	uint64_t rested_ns = 0;
	for (uint64_t now_ns = 0; now_ns < 60000 * MS; now_ns += MS / 10) {
		const uint64_t rest_ns = batching_next(&batching, now_ns);
		rested_ns += rest_ns;
		now_ns += rest_ns;
		batching_count(&batching);
	}
	CHECK(rested_ns > 0); // or this has shown nothing
	CHECK(rested_ns < 1500 * MS);
}

TEST_CASE("an edge that must not rest does not", "[front][batching]")
{
	struct batching batching;
	batching_init(&batching, 0);
	CHECK(run(&batching, 0, 1000 * MS, MS / 10).rests == 0);
}
