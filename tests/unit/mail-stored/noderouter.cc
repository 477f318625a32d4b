// SPDX-License-Identifier: GPL-3.0-or-later
// Links to a node whose store is played, and what waits for them.
#include "lib/mailstore/mailstore.h"
#include "tests/unit/mail-stored/played_store.hh"
#include "tests/unit/mail-stored/routed.hh"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace
{

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
	routed side(2);
	played_store played(side.path);
	nodepin pin = {};
	std::vector<int> links;
	side.ask(&pin);
	REQUIRE(take_link(side, played));
	played.answer(0, 0);
	REQUIRE(side.comes([&] { return side.heard(0) == 1; }));
	links.push_back(std::exchange(played.client, -1));
	side.ask();
	REQUIRE(take_link(side, played));
	links.push_back(std::exchange(played.client, -1));
	one_question &waits = side.ask();
	noderouter_drop(&pin);
	REQUIRE(take_link(side, played));
	played.answer(0, 0);
	CHECK(side.comes([&] { return waits.heard == std::vector<int>{ 0 }; }));
	for (const int link : links)
		close(link);
}

TEST_CASE("locks leave a quarter of the links to what takes a moment, and one of few",
	  "[mail-stored][noderouter]")
{
	const unsigned locks_max = GENERATE(1, 2, 3, 6);
	routed side(locks_max < 6 ? locks_max + 1 : 8);
	played_store played(side.path);
	std::vector<nodepin> pins(locks_max + 2);
	std::vector<int> links;
	for (unsigned i = 0; i < locks_max; i++) {
		side.ask(&pins[i]);
		REQUIRE(take_link(side, played));
		played.answer(0, 0);
		REQUIRE(side.comes([&] { return side.heard(0) == i + 1; }));
		links.push_back(std::exchange(played.client, -1));
	}
	const one_question &much = side.ask(&pins[locks_max]);
	const one_question &moment = side.ask();
	REQUIRE(take_link(side, played));
	played.answer(0, 0);
	REQUIRE(side.comes([&] { return !moment.heard.empty(); }));
	CHECK(much.heard == std::vector<int>{ -EAGAIN });
	CHECK(moment.heard == std::vector<int>{ 0 });
	noderouter_unpin(&pins[0]);
	side.ask(&pins[locks_max + 1]);
	CHECK(pins[locks_max + 1].slot != nullptr);
	for (nodepin &pin : pins)
		noderouter_drop(&pin);
	for (const int link : links)
		close(link);
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

TEST_CASE("memory of more bytes than a node takes is refused, and no link is closed for it",
	  "[mail-stored][noderouter]")
{
	const uint64_t more = GENERATE(0, 1);
	routed side(1);
	played_store played(side.path);
	one_question asked = {};
	asked.request.type = STOREWIRE_DELIVER;
	asked.has_memory = true;
	asked.memory.fd = memfd_create("large", MFD_CLOEXEC);
	asked.memory.size = (1 << 20) + more;
	REQUIRE(ftruncate(asked.memory.fd, static_cast<off_t>(asked.memory.size)) == 0);
	side.ask_with(asked);
	if (more > 0) {
		CHECK(side.comes([&] { return asked.heard == std::vector<int>{ -EFBIG }; }));
		CHECK_FALSE(played.accept_one());
	} else {
		REQUIRE(take_link(side, played));
		played.answer(0, 0);
		CHECK(side.comes([&] { return asked.heard == std::vector<int>{ 0 }; }));
	}
	close(asked.memory.fd);
}
