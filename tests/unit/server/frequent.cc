// SPDX-License-Identifier: GPL-3.0-or-later
//
// Which ranges are frequent, and that each network is given each of them once in a while.
#include "server/askers/frequent.h"
#include "tests/lib/random.hh"

#include <catch2/catch.hpp>

#include <set>
#include <vector>

using numbers = std::vector<uint64_t>;

static const frequent_group four = { 0, false };
static const uint32_t ttl_s = 600;

// A bank with some workers.
class ranges
{
      public:
	explicit ranges(size_t count = 1024, size_t worker_count = 1)
	{
		REQUIRE(frequent_open(&bank, count, 0x123456789abcdefU) == 0);
		workers_.resize(worker_count);
		for (frequent *&worker : workers_)
			REQUIRE(frequent_new(&bank, &worker) == 0);
	}
	~ranges()
	{
		for (frequent *worker : workers_)
			frequent_free(worker);
		frequent_close(&bank);
	}
	ranges(const ranges &) = delete;
	ranges &operator=(const ranges &) = delete;

	frequent_client client(uint64_t address = 1, size_t worker = 0) const
	{
		return { workers_[worker], address, now_ms };
	}
	// Each time by another client.
	void count(uint64_t number, unsigned times = 1, frequent_group group = four,
		   size_t worker = 0)
	{
		for (unsigned i = 0; i < times; i++) {
			const frequent_client asking = client(1000000 + ++counted_, worker);
			frequent_count(&asking, group, number);
		}
	}
	numbers next(const frequent_client &asking, frequent_group group = four,
		     unsigned most = 16) const
	{
		numbers out(most);
		out.resize(frequent_next(&asking, group, ttl_s, out.data(), most));
		return out;
	}
	// Those, and the client has been given them.
	numbers give(const frequent_client &asking, unsigned most = 16,
		     frequent_group group = four) const
	{
		numbers out = next(asking, group, most);
		frequent_advance(&asking, group, ttl_s, static_cast<unsigned>(out.size()));
		return out;
	}
	// So that what was counted meanwhile is in order.
	void wait(uint64_t ms = FREQUENT_ORDER_MS)
	{
		now_ms += ms;
	}

	frequent_bank bank = {};
	uint64_t now_ms = 12345678;

      private:
	std::vector<frequent *> workers_;
	uint64_t counted_ = 0;
};

TEST_CASE("a range is frequent when it has come twice, the most frequent first",
	  "[server][frequent]")
{
	ranges all;
	all.count(7);
	CHECK(all.next(all.client()).empty());
	all.count(7);
	all.count(5, 9);
	all.count(6, 3);
	all.count(8, 1);
	all.count(0, 2);
	CHECK(all.next(all.client()).empty()); // the order is not made anew for each answer
	all.wait(FREQUENT_ORDER_MS - 1);
	CHECK(all.next(all.client()).empty());
	all.wait(1);
	CHECK(all.next(all.client()) == numbers{ 5, 6, 0, 7 });
	CHECK(all.next(all.client(), four, 2) == numbers{ 5, 6 });
	CHECK(all.next(all.client(), four, 0).empty());
}

TEST_CASE("a client is given each range once in a negative TTL", "[server][frequent]")
{
	ranges all;
	for (uint64_t i = 0; i < 10; i++)
		all.count(100 + i, static_cast<unsigned>(20 - i));
	CHECK(all.give(all.client(), 4) == numbers{ 100, 101, 102, 103 });
	CHECK(all.give(all.client(), 3) == numbers{ 104, 105, 106 });
	CHECK(all.next(all.client()) == numbers{ 107, 108, 109 });
	// Another one has a round of its own.
	all.wait(300 * 1000);
	CHECK(all.give(all.client(2), 2) == numbers{ 100, 101 });
	CHECK(all.give(all.client(), 16) == numbers{ 107, 108, 109 });
	CHECK(all.give(all.client(), 16).empty());
	// Its round began when it was given the first of them.
	all.wait(299 * 1000);
	CHECK(all.give(all.client(), 16).empty());
	all.wait(1000);
	CHECK(all.give(all.client(), 2) == numbers{ 100, 101 });
	CHECK(all.give(all.client(2), 2) == numbers{ 102, 103 });
	// What it was not given, it is offered again.
	const frequent_client asking = all.client(3);
	frequent_advance(&asking, four, ttl_s, 0);
	CHECK(all.give(all.client(3), 2) == numbers{ 100, 101 });
}

TEST_CASE("zones and families have ranges and rounds of their own", "[server][frequent]")
{
	ranges all;
	const frequent_group groups[] = {
		{ 0, false }, { 0, true }, { 1, false }, { 70000, true }
	};
	for (size_t i = 0; i < 4; i++) {
		all.count(5, 3, groups[i]);
		all.count((i == 1 || i == 3 ? UINT64_C(1) << 56 : 1000) + i, 2, groups[i]);
	}
	CHECK(all.give(all.client(), 16, groups[0]) == numbers{ 5, 1000 });
	CHECK(all.give(all.client(), 1, groups[1]) == numbers{ 5 });
	CHECK(all.give(all.client(), 16, groups[1]) == numbers{ (UINT64_C(1) << 56) + 1 });
	CHECK(all.give(all.client(), 16, groups[2]) == numbers{ 5, 1002 });
	CHECK(all.give(all.client(), 16, groups[3]) == numbers{ 5, (UINT64_C(1) << 56) + 3 });
	CHECK(all.next(all.client(), { 2, false }).empty());
	CHECK(all.next(all.client(), { 1, true }).empty());
}

TEST_CASE("without places nothing is frequent", "[server][frequent]")
{
	ranges none(0);
	CHECK(none.bank.memory == nullptr);
	CHECK(none.client().frequent == nullptr);
	none.count(1, 5);
	CHECK(none.give(none.client()).empty());
	frequent_free(nullptr);
}

TEST_CASE("what comes once takes no place from what comes back", "[server][frequent]")
{
	ranges all(64);
	randomness random(1);
	std::set<uint64_t> back;
	for (uint64_t number = 0; number < 16; number++)
		back.insert(number);
	// Of five questions one is for such a range.
	for (unsigned i = 0; i < 20000; i++) {
		all.count(i % 5 == 0 ? random.below(16) : 1000 + random.below(1U << 24));
		all.wait(10);
	}
	all.wait();
	numbers found = all.next(all.client(), four, 64);
	std::set<uint64_t> first(found.begin(), found.begin() + 12);
	unsigned kept = 0;
	for (uint64_t number : first)
		kept += static_cast<unsigned>(back.count(number));
	CAPTURE(found);
	CHECK(kept >= 11);
}

TEST_CASE("what no longer comes is forgotten by days", "[server][frequent]")
{
	ranges all;
	all.count(1, 40);
	all.count(2, 7);
	CHECK(all.next(all.client()) == numbers{ 1, 2 });
	for (unsigned day = 0; day < 2; day++) {
		all.wait(86400 * 1000);
		all.next(all.client());
	}
	CHECK(all.next(all.client()) == numbers{ 1 });
	all.count(2, 20); // is ahead now: 21 to 10
	all.wait();
	CHECK(all.next(all.client()) == numbers{ 2, 1 });
	for (unsigned day = 0; day < 4; day++) {
		all.wait(86400 * 1000);
		all.next(all.client());
	}
	CHECK(all.next(all.client()).empty());
}

TEST_CASE("workers count together, and one goes on where another was", "[server][frequent]")
{
	ranges all(1024, 3);
	for (uint64_t i = 0; i < 6; i++) {
		all.count(10 + i, 2, four, 0);
		all.count(10 + i, static_cast<unsigned>(7 - i), four, 1);
	}
	CHECK(all.give(all.client(1, 2), 2) == numbers{ 10, 11 });
	CHECK(all.give(all.client(1, 0), 2) == numbers{ 12, 13 });
	CHECK(all.give(all.client(1, 1), 9) == numbers{ 14, 15 });
	CHECK(all.give(all.client(1, 2), 9).empty());
}

TEST_CASE("a round of a short TTL begins again at once", "[server][frequent]")
{
	ranges all;
	all.count(1, 2);
	const frequent_client asking = all.client();
	uint64_t number = 0;
	for (unsigned i = 0; i < 3; i++) {
		REQUIRE(frequent_next(&asking, four, 0, &number, 1) == 1);
		frequent_advance(&asking, four, 0, 1);
	}
	// The time of a round has 22 bits, and is no older for it than it can be.
	all.wait(UINT64_C(1000) << 22);
	CHECK(all.give(all.client()).size() <= 1);
}

TEST_CASE("a round is over after an hour, whatever the negative TTL", "[server][frequent]")
{
	ranges all;
	all.count(1, 2);
	const auto give = [&] {
		const frequent_client asking = all.client();
		uint64_t number = 0;
		unsigned found = frequent_next(&asking, four, 86400, &number, 1);
		frequent_advance(&asking, four, 86400, found);
		return found;
	};
	CHECK(give() == 1);
	all.wait(3599 * 1000);
	CHECK(give() == 0);
	all.wait(1000);
	CHECK(give() == 1);
}

TEST_CASE("thousands of clients have a round each", "[server][frequent]")
{
	ranges all;
	all.count(1, 3);
	all.count(2, 2);
	const uint64_t clients = 30000;
	unsigned again = 0;
	for (uint64_t address = 1; address <= clients; address++)
		again += all.give(all.client(address), 1) != numbers{ 1 };
	for (uint64_t address = 1; address <= clients; address++)
		again += all.give(all.client(address), 1) != numbers{ 2 };
	CHECK(again < clients / 20);
	// With more of them than there is room for, rounds begin anew, and nothing else.
	unsigned given = 0;
	for (uint64_t address = clients; address <= 10 * clients; address++)
		given += static_cast<unsigned>(all.give(all.client(address), 1).size());
	CHECK(given > 8 * clients);
}

TEST_CASE("a client counts eight times in a second at most", "[server][frequent]")
{
	ranges all;
	const auto ask = [&](uint64_t number, unsigned times) {
		const frequent_client asking = all.client(5);
		for (unsigned i = 0; i < times; i++)
			frequent_count(&asking, four, number);
	};
	const auto first = [&] {
		all.wait();
		return all.next(all.client(), four, 1);
	};
	ask(7, 1000);
	all.count(8, FREQUENT_TIMES_MAX - 1);
	CHECK(first() == numbers{ 7 });
	all.count(8, 2);
	CHECK(first() == numbers{ 8 });
	for (unsigned i = 0; i < 10; i++) {
		ask(7, 1000);
		all.wait(500);
	}
	all.count(8, 4 * FREQUENT_TIMES_MAX);
	CHECK(first() == numbers{ 7 }); // five or six seconds of it
	all.count(8, 2 * FREQUENT_TIMES_MAX);
	CHECK(first() == numbers{ 8 });
}

TEST_CASE("however often a range came, others soon come before it", "[server][frequent]")
{
	ranges all;
	for (uint64_t number = 0; number < 200; number++)
		all.count(number, 20000); // by a flood
	unsigned needed = 0;
	do {
		all.count(1000, 100);
		needed += 100;
		all.wait();
	} while (all.next(all.client(), four, 1) != numbers{ 1000 });
	CAPTURE(needed);
	CHECK(needed <= FREQUENT_COUNT_MAX);
}

TEST_CASE("memory that is wrong does no more than name what is not there", "[server][frequent]")
{
	ranges all(256, 2);
	randomness random(7);
	auto *bytes = static_cast<uint8_t *>(all.bank.memory);
	for (unsigned turn = 0; turn < 50; turn++) {
		for (size_t i = 0; i < all.bank.size_bytes; i++)
			bytes[i] = static_cast<uint8_t>(random.below(256));
		all.wait();
		for (uint64_t network = 0; network < 20; network++) {
			const frequent_client asking = all.client(network, network % 2);
			numbers found = all.give(asking, 16, { 0, network % 3 == 0 });
			REQUIRE(found.size() <= 16);
			for (uint64_t number : found)
				REQUIRE(number >> 63 == 0);
			all.count(network, 3, four, network % 2);
		}
	}
}
