// SPDX-License-Identifier: GPL-3.0-or-later
// Links to a node whose store is played, and what waits for them.
#include "integration/mail/mail-stored/nodes/noderouter.h"

#include "integration/mail/mail-stored/nodes/nodesetup.h"
#include "lib/common/log.h"
#include "lib/mailstore/mailstore.h"
#include "tests/lib/tmpdir.hh"
#include "tests/unit/mail-stored/played_store.hh"

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace
{

// Far less than what a request may wait.
const uint64_t SOON_MS = 5000;

struct one_question : nodeask {
	std::vector<int> heard;
};

class routed
{
      public:
	tmpdir dir;
	std::string path = dir.path() + "/socket";
	uv_loop_t loop = {};
	std::unique_ptr<nodesetup> setup = std::make_unique<nodesetup>();
	noderouter *router = nullptr;
	std::vector<std::unique_ptr<one_question>> asks;

	explicit routed(unsigned links_max)
	{
		log_set_level(LOG_LEVEL_ERROR);
		setup->links_max = links_max;
		setup->silence_ms = 20000;
		setup->timeout_ms = 20000;
		setup->memory_max = 1 << 20;
		setup->peer_count = 1;
		REQUIRE(uv_loop_init(&loop) == 0);
		noderouter_start start = {};
		start.loop = &loop;
		start.setup = setup.get();
		start.store_path = path.c_str();
		start.memory_max = 1 << 20;
		REQUIRE(noderouter_open(&start, &router) == 0);
	}
	routed(const routed &) = delete;
	routed &operator=(const routed &) = delete;
	~routed()
	{
		noderouter_close(router);
		uv_run(&loop, UV_RUN_DEFAULT);
		noderouter_free(router);
		uv_loop_close(&loop);
	}

	one_question &ask(nodepin *pin = nullptr)
	{
		asks.push_back(std::make_unique<one_question>());
		one_question &made = *asks.back();
		made.request.type = pin != nullptr ? STOREWIRE_LOCK : STOREWIRE_MAKE_ID;
		made.memory.fd = -1;
		made.pin = pin;
		made.answer = [](nodeask *asked, int status, const storewire_reply *reply,
				 nodelink_message *) {
			static_cast<one_question *>(asked)->heard.push_back(
				status != 0 ? status : reply->status);
		};
		noderouter_ask(router, &made);
		return made;
	}

	template <typename condition> bool comes(condition holds)
	{
		const uint64_t end_ms = uv_now(&loop) + SOON_MS;
		bool is_so = holds();
		while (!is_so && uv_now(&loop) < end_ms) {
			uv_run(&loop, UV_RUN_NOWAIT);
			usleep(10);
			is_so = holds();
		}
		return is_so;
	}

	// How many have been answered so.
	size_t heard(int status) const
	{
		size_t count = 0;
		for (const auto &ask : asks)
			count += ask->heard == std::vector<int>{ status };
		return count;
	}
};

// The next link of the router, up to its first request.
bool take_link(routed &side, played_store &played)
{
	if (!side.comes([&] { return played.accept_one(); }))
		return false;
	played.serials.clear();
	played.types.clear();
	played.greet();
	return side.comes([&] {
		played.take_all();
		return !played.serials.empty();
	});
}

} // namespace

TEST_CASE("what waits behind a link that breaks the protocol has another at once",
	  "[mail-stored][noderouter]")
{
	routed side(1);
	played_store played(side.path);
	one_question &first = side.ask();
	one_question &second = side.ask();
	one_question &third = side.ask();
	REQUIRE(take_link(side, played));
	SECTION("by another serial")
	{
		played.say(STOREWIRE_MAKE_ID, played.serials[0] + 1, 0);
	}
	SECTION("by another type")
	{
		played.say(STOREWIRE_CHECK, played.serials[0], 0);
	}
	SECTION("by what is no reply")
	{
		REQUIRE(send(played.client, "x", 1, MSG_NOSIGNAL) == 1);
	}
	REQUIRE(take_link(side, played));
	CHECK(first.heard == std::vector<int>{ MAILSTORE_EAWAY });
	played.answer(0, 0);
	REQUIRE(side.comes([&] { return !second.heard.empty(); }));
	CHECK(second.heard == std::vector<int>{ 0 });
	REQUIRE(side.comes([&] {
		played.take_all();
		return played.serials.size() == 2;
	}));
	played.answer(1, 0);
	REQUIRE(side.comes([&] { return !third.heard.empty(); }));
	CHECK(third.heard == std::vector<int>{ 0 });
}

TEST_CASE("a node that always breaks the protocol is left alone for a while",
	  "[mail-stored][noderouter]")
{
	routed side(1);
	played_store played(side.path);
	const size_t count = 100;
	for (size_t i = 0; i < count; i++)
		side.ask();
	for (int link = 0; link < 2; link++) {
		REQUIRE(take_link(side, played));
		played.say(STOREWIRE_MAKE_ID, played.serials[0] + 1, 0);
	}
	REQUIRE(side.comes([&] { return side.heard(MAILSTORE_EAWAY) == count; }));
	// In its pause it is not asked, and behind it it is.
	side.ask();
	CHECK(side.comes([&] { return side.heard(MAILSTORE_EAWAY) == count + 1; }));
	CHECK_FALSE(played.accept_one());
	one_question *later = nullptr;
	REQUIRE(side.comes([&] {
		later = &side.ask();
		return played.accept_one();
	}));
	played.greet();
	played.serials.clear();
	REQUIRE(side.comes([&] {
		played.take_all();
		return !played.serials.empty();
	}));
	played.answer(0, 0);
	CHECK(side.comes([&] { return later->heard == std::vector<int>{ 0 }; }));
}

TEST_CASE("a client that goes with its lock gives its link's place to what waits",
	  "[mail-stored][noderouter]")
{
	routed side(1);
	played_store played(side.path);
	nodepin pin = {};
	side.ask(&pin);
	REQUIRE(take_link(side, played));
	played.answer(0, 0);
	REQUIRE(side.comes([&] { return side.heard(0) == 1; }));
	one_question &waits = side.ask();
	noderouter_drop(side.router, &pin);
	REQUIRE(take_link(side, played));
	played.answer(0, 0);
	CHECK(side.comes([&] { return waits.heard == std::vector<int>{ 0 }; }));
}

TEST_CASE("a request that cannot be sent takes none with it that waits",
	  "[mail-stored][noderouter]")
{
	routed side(1);
	played_store played(side.path);
	one_question &broken = side.ask();
	one_question &waits = side.ask();
	broken.has_memory = true;
	broken.memory.fd = memfd_create("short", MFD_CLOEXEC);
	broken.memory.size = 10;
	REQUIRE(side.comes([&] { return played.accept_one(); }));
	played.greet();
	REQUIRE(take_link(side, played));
	CHECK(broken.heard == std::vector<int>{ -ENODATA });
	played.answer(0, 0);
	CHECK(side.comes([&] { return waits.heard == std::vector<int>{ 0 }; }));
	close(broken.memory.fd);
}
