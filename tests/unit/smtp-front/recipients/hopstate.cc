// SPDX-License-Identifier: GPL-3.0-or-later
// What the processes of a generation know of the next hop.
#include "lib/smtp/envelope.h"
#include "integration/mail/smtp-front/recipients/hopstate.h"

#include "tests/lib/child.hh"

#include <catch2/catch.hpp>

namespace
{

constexpr uint64_t NOW_MS = 1000000;
constexpr uint64_t TIMEOUT_MS = 20000;

class shared_state
{
      public:
	shared_state()
	{
		REQUIRE(hopstate_open(&it) == 0);
	}
	~shared_state()
	{
		hopstate_close(it);
	}
	shared_state(const shared_state &) = delete;
	shared_state &operator=(const shared_state &) = delete;

	hopstate *it = nullptr;
};

} // namespace

TEST_CASE("a next hop that is there is connected by all", "[front][hop]")
{
	shared_state state;
	uint64_t down_ms = 0;
	CHECK_FALSE(hopstate_is_down(state.it));
	hopstate_untold(state.it, NOW_MS);
	for (int i = 0; i < 3; i++)
		CHECK(hopstate_may_connect(state.it, NOW_MS, TIMEOUT_MS));
	CHECK_FALSE(hopstate_reached(state.it, NOW_MS, &down_ms));
}

TEST_CASE("one that refuses connections is down, and tried by all", "[front][hop]")
{
	shared_state state;
	CHECK(hopstate_failed(state.it, NOW_MS, false));
	CHECK(hopstate_is_down(state.it));
	for (int i = 0; i < 3; i++)
		CHECK(hopstate_may_connect(state.it, NOW_MS, TIMEOUT_MS));
	SECTION("until it is silent")
	{
		CHECK_FALSE(hopstate_failed(state.it, NOW_MS, true));
		CHECK_FALSE(hopstate_may_connect(state.it, NOW_MS, TIMEOUT_MS));
	}
}

TEST_CASE("one that is silent is tried by one process in each pause", "[front][hop]")
{
	shared_state state;
	CHECK(hopstate_failed(state.it, NOW_MS, true));
	CHECK(hopstate_is_down(state.it));
	CHECK_FALSE(hopstate_may_connect(state.it, NOW_MS, TIMEOUT_MS));
	const uint64_t due_ms = NOW_MS + HOPSTATE_PAUSE_MS;
	CHECK_FALSE(hopstate_may_connect(state.it, due_ms - 1, TIMEOUT_MS));
	CHECK(hopstate_may_connect(state.it, due_ms, TIMEOUT_MS));
	CHECK_FALSE(hopstate_may_connect(state.it, due_ms, TIMEOUT_MS));
	SECTION("and a pause behind its failure by the next")
	{
		CHECK_FALSE(hopstate_failed(state.it, due_ms + 500, true));
		const uint64_t again_ms = due_ms + 500 + HOPSTATE_PAUSE_MS;
		CHECK_FALSE(hopstate_may_connect(state.it, again_ms - 1, TIMEOUT_MS));
		CHECK(hopstate_may_connect(state.it, again_ms, TIMEOUT_MS));
	}
	SECTION("and a pause behind its end when it has told nothing")
	{
		hopstate_untold(state.it, due_ms + 500);
		const uint64_t again_ms = due_ms + 500 + HOPSTATE_PAUSE_MS;
		CHECK(hopstate_is_down(state.it));
		CHECK_FALSE(hopstate_may_connect(state.it, again_ms - 1, TIMEOUT_MS));
		CHECK(hopstate_may_connect(state.it, again_ms, TIMEOUT_MS));
	}
	SECTION("and when that one was killed, when its time is over")
	{
		const uint64_t late_ms = due_ms + TIMEOUT_MS + HOPSTATE_PAUSE_MS;
		CHECK_FALSE(hopstate_may_connect(state.it, late_ms - 1, TIMEOUT_MS));
		CHECK(hopstate_may_connect(state.it, late_ms, TIMEOUT_MS));
	}
}

TEST_CASE("that it is down, and that it is there again, is news once", "[front][hop]")
{
	shared_state state;
	uint64_t down_ms = 0;
	CHECK(hopstate_failed(state.it, NOW_MS, true));
	CHECK_FALSE(hopstate_failed(state.it, NOW_MS + 5, true));
	CHECK(hopstate_reached(state.it, NOW_MS + 70, &down_ms));
	CHECK(down_ms == 70);
	CHECK_FALSE(hopstate_reached(state.it, NOW_MS + 80, &down_ms));
	CHECK_FALSE(hopstate_is_down(state.it));
	CHECK(hopstate_may_connect(state.it, NOW_MS + 80, TIMEOUT_MS));
	CHECK(hopstate_failed(state.it, NOW_MS + 90, true));
}

TEST_CASE("what one process finds is known to the others", "[front][hop]")
{
	shared_state state;
	child other([&] { return hopstate_failed(state.it, NOW_MS, true) ? 0 : 1; });
	CHECK(other.wait() == 0);
	CHECK(hopstate_is_down(state.it));
}

TEST_CASE("without shared memory every process tries for itself", "[front][hop]")
{
	uint64_t down_ms = 0;
	CHECK(hopstate_may_connect(nullptr, NOW_MS, TIMEOUT_MS));
	CHECK_FALSE(hopstate_failed(nullptr, NOW_MS, true));
	hopstate_untold(nullptr, NOW_MS);
	CHECK_FALSE(hopstate_is_down(nullptr));
	CHECK_FALSE(hopstate_reached(nullptr, NOW_MS, &down_ms));
	hopstate_close(nullptr);
}

TEST_CASE("what a next hop lacks is known once another process has noted it", "[front][hop]")
{
	shared_state state;
	CHECK(hopstate_lacks(nullptr) == 0);
	hopstate_set_lacks(nullptr, ENVELOPE_EXTENSION_DSN);
	CHECK(hopstate_lacks(state.it) == 0);
	child other([&] {
		hopstate_set_lacks(state.it, ENVELOPE_EXTENSION_SMTPUTF8);
		return 0;
	});
	CHECK(other.wait() == 0);
	CHECK(hopstate_lacks(state.it) == ENVELOPE_EXTENSION_SMTPUTF8);
	hopstate_set_lacks(state.it, 0);
	CHECK(hopstate_lacks(state.it) == 0);
}
