/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places for questions, and what is not said of a zone for want of them. */
#include "tests/unit/client/engine/engine_fixture.hh"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <deque>

#include "tests/unit/client/clock.hh"

namespace
{
// No descriptor more, until the end of the block.
class starved
{
      public:
	starved()
	{
		REQUIRE(getrlimit(RLIMIT_NOFILE, &before_) == 0);
		const int lowest_free = dup(0);
		REQUIRE(lowest_free >= 0);
		close(lowest_free);
		rlimit none = before_;
		none.rlim_cur = static_cast<rlim_t>(lowest_free);
		REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
	}
	~starved()
	{
		setrlimit(RLIMIT_NOFILE, &before_);
	}
	starved(const starved &) = delete;
	starved &operator=(const starved &) = delete;

      private:
	rlimit before_ = {};
};

// Each in a block of its own.
std::string address(unsigned number)
{
	return "11." + std::to_string(number / 256) + "." + std::to_string(number % 256) + ".1";
}

void add_zones(inquiry &client, unsigned count)
{
	std::string names;
	for (unsigned i = 0; i < count; i++) {
		const std::string name = "z" + std::to_string(i) + ".example";
		client.dns.add_bitmap_zone(name, DNSBLV6_STYLE_FLAT);
		client.dns.list(name, address(0));
		names += " " + name;
	}
	client.set("zones", names).set("attempt-timeout", "30s");
}

// All that is on the way comes in, whatever the machine does meanwhile.
void until_all(inquiry &client, const std::deque<told> &kept)
{
	const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
	const auto is_over = [&] {
		return std::all_of(kept.begin(), kept.end(),
				   [](const told &one) { return one.calls > 0; });
	};
	while (!is_over() && std::chrono::steady_clock::now() < end) {
		pollfd waiting = { engine_fd(client.get()), POLLIN, 0 };
		poll(&waiting, 1, 10);
		client.pass(0);
	}
	REQUIRE(is_over());
}

unsigned count_lines(const inquiry &client, const std::string &part)
{
	unsigned count = 0;
	for (const std::string &line : client.lines)
		count += line.find(part) != std::string::npos;
	return count;
}
} // namespace

TEST_CASE("a burst over several zones has a place for each question", "[client][engine][places]")
{
	constexpr unsigned ZONES = 4, CLIENTS = 600;
	inquiry client;
	add_zones(client, ZONES);
	client.set("max-requests", std::to_string(CLIENTS));
	client.set("max-sockets", GENERATE("8", "248"));
	std::deque<told> kept;

	for (unsigned i = 0; i < CLIENTS; i++)
		client.ask(address(i), kept.emplace_back(), 60000);
	until_all(client, kept);
	unsigned clear = 0;
	for (const told &one : kept)
		clear += one.result.verdict == DNSBLV6_CLEAR;
	CHECK(clear == CLIENTS - 1);
	CHECK(kept[0].result.zones_listed == (1u << ZONES) - 1);
	CHECK(client.stat("questions-unsent") == 0);
	CHECK(client.stat("questions-refused") == 0);
	CHECK(client.stat("fetches-dropped") == 0);
	CHECK(client.lines.empty());
}

TEST_CASE("fetches that no request waits for give their places to those that do",
	  "[client][engine][places]")
{
	constexpr unsigned REQUESTS = 10, ROUNDS = 80;
	inquiry client;
	add_zones(client, 2);
	client.set("max-requests", std::to_string(REQUESTS));
	client.check(address(1));
	client.dns.trouble = world::SILENT;
	unsigned number = 2;

	for (unsigned round = 0; round < ROUNDS; round++) {
		std::deque<told> kept(REQUESTS);
		for (told &one : kept)
			client.ask(address(number++), one, 10);
		client.pass(10);
		client.pass(0);
		for (const told &one : kept)
			REQUIRE(one.calls == 1);
	}
	CHECK(client.stat("fetches") == 2 + 2 * REQUESTS * ROUNDS);
	CHECK(client.stat("fetches-dropped") > 0);
	CHECK(count_lines(client, " fetches-dropped=") == 1);
	client.dns.trouble = world::NONE;
	std::deque<told> kept(REQUESTS);
	for (told &one : kept)
		client.ask(address(number++), one, 4000);
	until_all(client, kept);
	for (const told &one : kept)
		CHECK(one.result.verdict == DNSBLV6_CLEAR);
}

TEST_CASE("a probe that was not sent is no finding", "[client][engine][places]")
{
	inquiry client;
	add_zones(client, 1);
	client.get();
	SECTION("about a zone that nobody knows")
	{
		{
			const starved now;
			CHECK(client.check_in_vain(address(0), 6000).verdict == DNSBLV6_UNKNOWN);
			CHECK(client.state() == DNSBLV6_ZONE_UNPROBED);
		}
		client.pass(100);
		CHECK(client.check(address(0)).verdict == DNSBLV6_LISTED);
	}
	SECTION("about one that is well")
	{
		client.check(address(0));
		engine_renew_servers(client.get(), client.now_ms); // no socket is kept
		{
			const starved now;
			engine_probe(client.get(), client.now_ms);
			for (unsigned i = 0; i < 12; i++)
				client.pass(500);
			CHECK(!engine_is_probing(client.get()));
			CHECK(client.state() == DNSBLV6_ZONE_OK);
		}
		client.pass(100);
		CHECK(client.check(address(1)).verdict == DNSBLV6_CLEAR);
	}
	CHECK(client.stat("questions-unsent") > 0);
	CHECK(count_lines(client, "zone fell ill") == 0);
	CHECK(count_lines(client, " questions-unsent=") == 1);
}

TEST_CASE("questions that were not sent are no silence of the zone", "[client][engine][places]")
{
	inquiry client;
	add_zones(client, 1);
	client.check(address(0));
	engine_renew_servers(client.get(), client.now_ms); // no socket is kept
	{
		const starved now;
		for (unsigned i = 1; i < 20; i++) {
			CHECK(client.check_in_vain(address(i), 1000).verdict == DNSBLV6_UNKNOWN);
			test_clock::pass(2);
		}
		CHECK(client.state() == DNSBLV6_ZONE_OK);
	}
	client.pass(6000);
	// Nor is it remembered that there was no answer.
	CHECK(client.check(address(1)).verdict == DNSBLV6_CLEAR);
	CHECK(client.state() == DNSBLV6_ZONE_OK);
}

TEST_CASE("a question that was put off is sent while a request waits", "[client][engine][places]")
{
	inquiry client;
	add_zones(client, 1);
	client.check(address(0));
	engine_renew_servers(client.get(), client.now_ms); // no socket is kept
	told kept;
	{
		const starved now;
		client.ask(address(1), kept, 100000);
		for (unsigned i = 0; i < 80; i++)
			client.pass(1000);
		CHECK(kept.calls == 0);
	}
	client.pass(1000);
	client.until_told(kept);
	CHECK(kept.result.verdict == DNSBLV6_CLEAR);
}

TEST_CASE("losses are told in one line a minute", "[client][engine][places]")
{
	inquiry client;
	add_zones(client, 1);
	client.check(address(0));
	for (unsigned i = 0; i < 5; i++) {
		engine_note_refusal(client.get());
		client.pass(1000);
	}
	CHECK(count_lines(client, "4 too much was asked at once, requests-refused=1 ") == 1);
	CHECK(client.lines.size() == 1);
	client.pass(60000);
	CHECK(client.lines.size() == 2);
	CHECK(count_lines(client, "4 too much was asked at once, requests-refused=4 ") == 1);
	client.pass(60000);
	CHECK(client.lines.size() == 2);
	CHECK(client.stat("requests-refused") == 5);
}
