// SPDX-License-Identifier: GPL-3.0-or-later
// The connection of LMTP to the store process, with a store that is played.
#include "integration/mail/mail-stored/lmtp/lmtp_store.h"

#include "lib/common/log.h"
#include "tests/lib/tmpdir.hh"
#include "tests/unit/mail-stored/played_store.hh"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace
{

// Turns of the loop until something has happened; each ends by itself.
const int TURNS_MAX = 1000000;

struct one_ask : lmtp_ask {
	storewire_request own_request = {};
	storelink_memory own_memory = {};
	iovec part = {};
	std::vector<uint8_t> bytes;
	std::vector<int> heard;
};

class linked
{
      public:
	tmpdir dir;
	std::string path = dir.path() + "/socket";
	uv_loop_t loop = {};
	std::unique_ptr<lmtp_store> store = std::make_unique<lmtp_store>();
	std::vector<bool> changes;
	bool has_quotas = false;

	linked()
	{
		log_set_level(LOG_LEVEL_ERROR);
		REQUIRE(uv_loop_init(&loop) == 0);
		REQUIRE(lmtp_store_open(store.get(), &loop, path.c_str(), on_change, this) == 0);
	}
	linked(const linked &) = delete;
	linked &operator=(const linked &) = delete;
	~linked()
	{
		lmtp_store_close(store.get());
		uv_run(&loop, UV_RUN_DEFAULT);
		uv_loop_close(&loop);
	}

	template <typename condition> void run_until(condition holds)
	{
		bool is_so = holds();
		for (int turns = 0; !is_so && turns < TURNS_MAX; turns++) {
			uv_run(&loop, UV_RUN_NOWAIT);
			usleep(10);
			is_so = holds();
		}
		REQUIRE(is_so);
	}

	bool is_there() const
	{
		return !changes.empty() && changes.back();
	}

	void connect(played_store &played)
	{
		run_until([&] { return played.accept_one(); });
		played.greet();
		run_until([&] { return is_there(); });
	}

	one_ask &ask(uint8_t type, size_t memory_size = 0)
	{
		asks.push_back(std::make_unique<one_ask>());
		one_ask &made = *asks.back();
		made.own_request.type = type;
		made.bytes.resize(memory_size);
		made.part = { made.bytes.data(), memory_size };
		made.own_memory = { -1, &made.part, 1 };
		made.request = &made.own_request;
		made.memory = memory_size > 0 ? &made.own_memory : nullptr;
		made.owner = &made;
		made.answer = on_answer;
		lmtp_store_ask(store.get(), &made);
		return made;
	}

	// How many have been answered.
	size_t heard() const
	{
		size_t count = 0;
		for (const auto &ask : asks)
			count += ask->heard.size();
		return count;
	}

	std::vector<std::unique_ptr<one_ask>> asks;

      private:
	static void on_change(void *owner, bool has_store, bool quotas)
	{
		auto *self = static_cast<linked *>(owner);
		self->changes.push_back(has_store);
		self->has_quotas = quotas;
	}

	static void on_answer(lmtp_ask *ask, int status, const mailid *)
	{
		static_cast<one_ask *>(ask->owner)->heard.push_back(status);
	}
};

} // namespace

TEST_CASE("a store that is not there yet is found when it is", "[mail-stored][lmtp_store]")
{
	linked side;
	side.run_until([&] { return side.changes.size() == 1; });
	CHECK(!side.changes[0]);
	played_store played(side.path);
	side.run_until([&] { return played.accept_one(); });
	const size_t before = side.changes.size();
	for (int i = 0; i < 10; i++)
		uv_run(&side.loop, UV_RUN_NOWAIT);
	CHECK(side.changes.size() == before); // without a greeting it is none
	played.greet(STOREWIRE_HAS_QUOTAS);
	side.run_until([&] { return side.is_there(); });
	CHECK(side.has_quotas);
}

TEST_CASE("replies find their requests in whatever order they come", "[mail-stored][lmtp_store]")
{
	linked side;
	played_store played(side.path);
	side.connect(played);
	one_ask &first = side.ask(STOREWIRE_DELIVER, 100);
	one_ask &check = side.ask(STOREWIRE_CHECK);
	one_ask &second = side.ask(STOREWIRE_DELIVER, 100);
	CHECK(side.heard() == 0); // never before the function has returned
	side.run_until([&] {
		played.take_all();
		return played.serials.size() == 3;
	});
	played.answer(1, MAILSTORE_EQUOTA);
	played.answer(2, 0);
	played.answer(0, -ENOSPC);
	side.run_until([&] { return side.heard() == 3; });
	CHECK(first.heard == std::vector<int>{ -ENOSPC });
	CHECK(check.heard == std::vector<int>{ MAILSTORE_EQUOTA });
	CHECK(second.heard == std::vector<int>{ 0 });
}

TEST_CASE("what a full socket does not take waits, and all of it comes",
	  "[mail-stored][lmtp_store]")
{
	linked side;
	played_store played(side.path);
	side.connect(played);
	const size_t count = 200;
	for (size_t i = 0; i < count; i++)
		side.ask(STOREWIRE_DELIVER, 30000);
	side.run_until([&] { return side.store->is_full; });
	side.run_until([&] {
		const size_t before = played.serials.size();
		played.take_all();
		for (size_t i = before; i < played.serials.size(); i++)
			played.answer(i, 0);
		return side.heard() == count;
	});
	CHECK(played.memory_size == count * 30000);
	CHECK(!side.store->is_full);
}

TEST_CASE(
	"when the store goes each request under way fails, once, and the next store gets the next",
	"[mail-stored][lmtp_store]")
{
	linked side;
	played_store played(side.path);
	side.connect(played);
	const size_t count = 100; // more than a socket takes
	for (size_t i = 0; i < count; i++)
		side.ask(STOREWIRE_DELIVER, 30000);
	side.ask(STOREWIRE_CHECK);
	side.run_until([&] { return side.store->is_full; });
	played.take_all();
	played.answer(0, 0);
	side.run_until([&] { return side.heard() == 1; });
	played.hang_up();
	side.run_until([&] { return side.heard() == count + 1; });
	CHECK(side.asks[0]->heard == std::vector<int>{ 0 });
	for (size_t i = 1; i <= count; i++) {
		REQUIRE(side.asks[i]->heard.size() == 1);
		REQUIRE(side.asks[i]->heard[0] < 0);
	}
	CHECK(!side.changes.back());
	side.connect(played);
	one_ask &later = side.ask(STOREWIRE_DELIVER, 10);
	played.serials.clear();
	played.types.clear();
	side.run_until([&] {
		played.take_all();
		return played.serials.size() == 1;
	});
	played.answer(0, 0);
	side.run_until([&] { return !later.heard.empty(); });
	CHECK(later.heard == std::vector<int>{ 0 });
}

TEST_CASE("a store that answers what was not asked is left", "[mail-stored][lmtp_store]")
{
	linked side;
	played_store played(side.path);
	side.connect(played);
	one_ask &asked = side.ask(STOREWIRE_DELIVER, 10);
	side.run_until([&] {
		played.take_all();
		return played.serials.size() == 1;
	});
	SECTION("another serial")
	{
		played.say(STOREWIRE_DELIVER, played.serials[0] + 1, 0);
	}
	SECTION("another type")
	{
		played.say(STOREWIRE_CHECK, played.serials[0], 0);
	}
	SECTION("no reply at all")
	{
		REQUIRE(send(played.client, "x", 1, MSG_NOSIGNAL) == 1);
	}
	side.run_until([&] { return !asked.heard.empty(); });
	CHECK(asked.heard == std::vector<int>{ -EPROTO });
	CHECK(!side.changes.back());
}

TEST_CASE("a request whose reply is lost fails in time, and those that come behind it do not",
	  "[mail-stored][lmtp_store]")
{
	linked side;
	side.store->limit_ms = 100;
	played_store played(side.path);
	side.connect(played);
	const uint8_t lost = GENERATE(STOREWIRE_DELIVER, STOREWIRE_CHECK);
	const uint8_t other = lost == STOREWIRE_CHECK ? STOREWIRE_DELIVER : STOREWIRE_CHECK;
	one_ask &asked = side.ask(lost, 10);
	const uint64_t since_ms = uv_now(&side.loop);
	// There are replies to others all the time.
	side.run_until([&] {
		if (asked.heard.empty() && side.heard() + 1 == side.asks.size())
			side.ask(other, 10);
		played.take_all();
		for (size_t at = 1; at < played.serials.size(); at++)
			if (played.types[at] == other)
				played.answer(at, 0);
		played.serials.resize(std::min<size_t>(played.serials.size(), 1));
		played.types.resize(played.serials.size());
		return !asked.heard.empty();
	});
	CHECK(asked.heard == std::vector<int>{ -ETIMEDOUT });
	CHECK(uv_now(&side.loop) - since_ms >= 100);
	CHECK(!side.changes.back());
	CHECK(side.asks.size() > 2);
	// What comes too late, comes to nothing.
	side.connect(played);
	one_ask &next = side.ask(STOREWIRE_DELIVER, 10);
	played.serials.clear();
	played.types.clear();
	side.run_until([&] {
		played.take_all();
		return played.serials.size() == 1;
	});
	played.answer(0, 0);
	side.run_until([&] { return !next.heard.empty(); });
	CHECK(next.heard == std::vector<int>{ 0 });
	CHECK(asked.heard.size() == 1);
}

TEST_CASE("a mail in memory of its own goes as a descriptor", "[mail-stored][lmtp_store]")
{
	linked side;
	played_store played(side.path);
	side.connect(played);
	one_ask &asked = side.ask(STOREWIRE_DELIVER);
	const int fd = memfd_create("mail", MFD_CLOEXEC);
	REQUIRE(fd >= 0);
	asked.own_memory = { fd, nullptr, 0 };
	asked.memory = &asked.own_memory;
	std::vector<uint8_t> bytes(STOREWIRE_PACKET_MAX);
	packet got = {};
	side.run_until([&] {
		return packet_receive(played.client, bytes.data(), bytes.size(), &got) > 0;
	});
	CHECK(got.fd_count == 1);
	packet_close(&got);
	close(fd);
}
