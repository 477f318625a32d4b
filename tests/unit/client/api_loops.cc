/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/client/api.hh"
#include "tests/unit/client/clock.hh"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/lib/numbers.hh"

// Runs what returns whether it went well in a child.
template <typename work> static pid_t in_child(work &&run)
{
	const pid_t pid = fork();
	if (pid == 0) {
		bool is_right = false;
		try {
			is_right = run();
		} catch (...) {
		}
		_exit(is_right ? 0 : 1);
	}
	return pid;
}

static bool went_well(pid_t pid)
{
	int status = -1;
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// What the loop waits with, when another thread submits.
static void submit_elsewhere(const handle &bl, const std::string &address, int timeout_ms,
			     call &kept)
{
	int ret = -1;
	std::thread other([&] {
		const dnsblv6_ip parsed = ip(address);
		ret = dnsblv6_submit(bl.client, &parsed, 0, timeout_ms, keep_call, &kept, nullptr);
	});
	other.join();
	REQUIRE(ret == 0);
}

TEST_CASE("an event loop gets each verdict once, from process alone", "[client][api]")
{
	handle bl;
	bl.start();
	unsigned calls = 0;
	std::vector<call> kept(50, call{ &calls });
	for (unsigned i = 0; i < kept.size(); i++) {
		const dnsblv6_ip address = ip("192.0." + std::to_string(i) + ".1");
		REQUIRE(dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &kept[i],
				       nullptr) == 0);
	}
	CHECK(calls == 0);
	bl.run(calls, 50);
	for (unsigned i = 0; i < kept.size(); i++) {
		CAPTURE(i);
		CHECK(kept[i].result.verdict == (i % 3 == 0 ? DNSBLV6_LISTED : DNSBLV6_CLEAR));
	}
	CHECK(dnsblv6_process(bl.client) == 0);
}

TEST_CASE("what is cached comes with the next process, and callbacks may submit", "[client][api]")
{
	handle bl;
	bl.start();
	bl.check("192.0.0.1");
	unsigned calls = 0;
	call kept{ &calls, {}, bl.client };
	const dnsblv6_ip address = ip("192.0.0.2");
	REQUIRE(dnsblv6_submit(bl.client, &address, 0, 1000, keep_call, &kept, nullptr) == 0);
	CHECK(calls == 0);
	CHECK(dnsblv6_timeout_ms(bl.client) == 0);
	CHECK(dnsblv6_process(bl.client) == 1);
	CHECK(calls == 1);
	CHECK(dnsblv6_process(bl.client) == 1);
	CHECK(calls == 2);
	CHECK(kept.result.verdict == DNSBLV6_LISTED);
}

TEST_CASE("no callback comes after a cancel", "[client][api]")
{
	handle bl;
	bl.start();
	unsigned calls = 0;
	call kept{ &calls }, other{ &calls };
	uint64_t id = 0, done = 0;
	const dnsblv6_ip address = ip("192.0.0.1");
	REQUIRE(dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &kept, &id) == 0);
	REQUIRE(dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &other, &done) == 0);
	CHECK(dnsblv6_cancel(bl.client, id) == 0);
	CHECK(dnsblv6_cancel(bl.client, id) == -ENOENT);
	bl.run(calls, 1);
	CHECK(dnsblv6_cancel(bl.client, done) == -ENOENT);

	// One whose answer is there, but was not told.
	REQUIRE(dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &kept, &id) == 0);
	bl.check("192.0.7.7"); // works for all requests
	CHECK(dnsblv6_cancel(bl.client, id) == 0);
	dnsblv6_process(bl.client);
	CHECK(calls == 1);
}

static bool lose_descriptors(dnsblv6 *client)
{
	const rlimit none = {};
	return setrlimit(RLIMIT_NOFILE, &none) == 0 && dnsblv6_fd(client) == -EBADF;
}

TEST_CASE("in a child without descriptors a cancel takes back its own request", "[client][api]")
{
	handle bl;
	bl.start();
	const pid_t child = in_child([&bl] {
		if (!lose_descriptors(bl.client))
			return false;
		const dnsblv6_ip address = ip("192.0.0.1");
		unsigned first_calls = 0, second_calls = 0;
		call first{ &first_calls }, second{ &second_calls };
		uint64_t ids[2] = {};
		return dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &first, ids) == 0 &&
		       dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &second, ids + 1) ==
			       0 &&
		       dnsblv6_cancel(bl.client, ids[1]) == 0 && dnsblv6_process(bl.client) == 1 &&
		       first_calls == 1 && second_calls == 0 &&
		       first.result.verdict == DNSBLV6_UNKNOWN;
	});
	CHECK(went_well(child));
}

TEST_CASE("in a child without descriptors process ends although callbacks submit", "[client][api]")
{
	handle bl;
	bl.start();
	const pid_t child = in_child([&bl] {
		if (!lose_descriptors(bl.client))
			return false;
		const dnsblv6_ip address = ip("192.0.0.1");
		unsigned calls = 0;
		call kept{ &calls, {}, bl.client };
		return dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &kept, nullptr) ==
			       0 &&
		       dnsblv6_process(bl.client) == 1 && calls == 1 &&
		       dnsblv6_timeout_ms(bl.client) == 0 && dnsblv6_process(bl.client) == 1 &&
		       calls == 2;
	});
	CHECK(went_well(child));
}

TEST_CASE("a loop is woken for what another thread has found out", "[client][api]")
{
	handle bl;
	bl.start();
	bl.check("192.0.0.1");
	unsigned calls = 0;
	call kept{ &calls };
	const dnsblv6_ip address = ip("192.0.0.2");
	REQUIRE(dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &kept, nullptr) == 0);
	std::thread other([&bl] { bl.check("192.0.9.9"); });
	other.join();
	pollfd waiting = { dnsblv6_fd(bl.client), POLLIN, 0 };
	CHECK(poll(&waiting, 1, 0) == 1);
	CHECK(dnsblv6_timeout_ms(bl.client) == 0);
	CHECK(dnsblv6_process(bl.client) == 1);
	CHECK(calls == 1);
	CHECK(poll(&waiting, 1, 0) == 0);
}

TEST_CASE("a loop that waits for nothing is woken for a cached answer to another thread",
	  "[client][api]")
{
	handle bl;
	bl.start();
	bl.check("192.0.0.1");
	unsigned calls = 0;
	call kept{ &calls };
	CHECK(dnsblv6_timeout_ms(bl.client) == -1);
	CHECK_FALSE(is_readable(bl));
	submit_elsewhere(bl, "192.0.0.2", 20000, kept);
	CHECK(is_readable(bl));
	CHECK(dnsblv6_process(bl.client) == 1);
	CHECK(calls == 1);
	CHECK_FALSE(is_readable(bl));
}

TEST_CASE("a loop is woken for another thread's deadline, if that is before its own",
	  "[client][api]")
{
	handle bl;
	bl.start();
	bl.check("192.0.0.1");
	bl.dns.trouble = world::SILENT;
	unsigned calls = 0;
	std::vector<call> kept(3, call{ &calls });
	CHECK(dnsblv6_timeout_ms(bl.client) == -1);
	submit_elsewhere(bl, "192.0.3.1", 20000, kept[0]);
	CHECK(is_readable(bl));
	dnsblv6_process(bl.client);
	CHECK(dnsblv6_timeout_ms(bl.client) > 1000);
	submit_elsewhere(bl, "192.0.4.1", 20000, kept[1]);
	CHECK_FALSE(is_readable(bl)); // it comes in time by itself
	submit_elsewhere(bl, "192.0.5.1", 100, kept[2]);
	CHECK(is_readable(bl));
	bl.run(calls, 1);
	CHECK(kept[2].result.verdict == DNSBLV6_UNKNOWN);
}

TEST_CASE("a check returns when a loop has read its reply", "[client][api]")
{
	handle bl;
	bl.start();
	std::atomic<bool> is_over{ false };
	std::atomic<uint32_t> longest_us{ 0 };
	std::thread other([&] {
		for (int i = 0; i < 512 && longest_us < 20000000; i++) {
			const dnsblv6_result result = bl.check("192.0." + std::to_string(i / 2) +
								       (i % 2 == 0 ? ".1" : ".129"),
							       60000);
			longest_us = std::max<uint32_t>(longest_us, result.elapsed_us);
		}
		is_over = true;
	});
	// Both are woken by each reply, and whichever is second finds nothing to read.
	while (!is_over) {
		pollfd waiting = { dnsblv6_fd(bl.client), POLLIN, 0 };
		poll(&waiting, 1, 100);
		dnsblv6_process(bl.client);
	}
	other.join();
	CHECK(longest_us < 20000000);
}

TEST_CASE("a thread that is cancelled in a call ends behind it", "[client][api]")
{
	handle bl;
	bl.dns.trouble = world::SILENT;
	bl.start();
	std::atomic<bool> has_verdict{ false };
	std::thread cancelled([&] {
		const dnsblv6_ip parsed = ip("192.0.0.1");
		dnsblv6_result result = {};
		dnsblv6_check(bl.client, &parsed, 3000, &result);
		has_verdict = result.verdict == DNSBLV6_UNKNOWN;
	});
	while (bl.server->count() == 0)
		usleep(1000);
	pthread_cancel(cancelled.native_handle());
	// Another one waits beside it meanwhile.
	CHECK(bl.check("192.0.3.1", 1).verdict == DNSBLV6_UNKNOWN);
	cancelled.join();
	CHECK(has_verdict);
	CHECK(bl.check("192.0.6.1", 1).verdict == DNSBLV6_UNKNOWN);
}

TEST_CASE("a thread that is cancelled in a callback ends behind its process", "[client][api]")
{
	handle bl;
	bl.start();
	bl.check("192.0.0.1");
	const dnsblv6_ip address = ip("192.0.0.1");
	unsigned calls = 0;
	int count = 0;
	std::thread cancelled([&] {
		const auto cancel = [](void *context, const dnsblv6_result *) {
			pthread_cancel(pthread_self());
			usleep(1000);
			++*static_cast<unsigned *>(context);
		};
		for (int i = 0; i < 2; i++)
			dnsblv6_submit(bl.client, &address, 0, 20000, cancel, &calls, nullptr);
		count = dnsblv6_process(bl.client);
		pthread_testcancel();
		count = 0;
	});
	cancelled.join();
	CHECK(calls == 2);
	CHECK(count == 2);
}

TEST_CASE("threads get right answers, and each block costs one question", "[client][api]")
{
	handle bl;
	bl.start();
	std::atomic<unsigned> wrong{ 0 };
	std::atomic<bool> is_over{ false };
	std::vector<std::thread> threads;
	for (unsigned t = 0; t < 8; t++) {
		threads.emplace_back([&bl, &wrong, t] {
			for (unsigned i = 0; i < 200; i++) {
				// The same for all, in another order for each.
				const unsigned net = (i + t * 25) % 100;
				const std::string address =
					"192.0." + std::to_string(net) + (i % 2 == 0 ? ".1" : ".2");
				const bool is_listed = net % 3 == 0 && i % 2 == 0;
				const dnsblv6_result result = bl.check(address);
				if (result.verdict != (is_listed ? DNSBLV6_LISTED : DNSBLV6_CLEAR))
					wrong++;
			}
		});
	}
	std::thread peeker([&bl, &wrong, &is_over] {
		const dnsblv6_ip address = ip("192.0.3.1");
		while (!is_over) {
			dnsblv6_result result;
			const int ret = dnsblv6_peek(bl.client, &address, &result);
			if (ret == 0 && result.verdict != DNSBLV6_LISTED)
				wrong++;
		}
	});
	for (std::thread &thread : threads)
		thread.join();
	is_over = true;
	peeker.join();
	CHECK(wrong == 0);

	std::multiset<std::string> asked;
	for (const resolver::query &query : bl.server->queries())
		asked.insert(query.name());
	size_t blocks = 0;
	for (unsigned net = 0; net < 100; net++)
		blocks += asked.count("0." + std::to_string(net) + ".0.192.bl6.example.");
	CHECK(blocks == 100);
}

TEST_CASE("threads and an event loop may share a handle", "[client][api]")
{
	handle bl;
	bl.start();
	std::atomic<unsigned> wrong{ 0 };
	std::vector<std::thread> threads;
	for (unsigned t = 0; t < 4; t++) {
		threads.emplace_back([&bl, &wrong, t] {
			for (unsigned i = 0; i < 50; i++) {
				const unsigned net = (i * 4 + t) % 256;
				const dnsblv6_result result =
					bl.check("192.0." + std::to_string(net) + ".1");
				if ((result.verdict == DNSBLV6_LISTED) != (net % 3 == 0))
					wrong++;
			}
		});
	}
	unsigned calls = 0;
	std::vector<call> kept(100, call{ &calls });
	for (unsigned i = 0; i < kept.size(); i++) {
		const dnsblv6_ip address = ip("192.0." + std::to_string(i) + ".129");
		REQUIRE(dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &kept[i],
				       nullptr) == 0);
	}
	bl.run(calls, 100);
	for (std::thread &thread : threads)
		thread.join();
	CHECK(wrong == 0);
	for (const call &one : kept)
		CHECK(one.result.verdict == DNSBLV6_CLEAR);
}

// A request that knows its own number, as a program needs to that keeps a table of them.
struct numbered {
	std::atomic<unsigned> *calls;
	std::atomic<unsigned> *unknown;
	uint64_t id; // no atomic: the library's lock is between who writes and who reads it
};

TEST_CASE("a callback in the loop of another thread knows the number of its request",
	  "[client][api]")
{
	handle bl;
	bl.start();
	std::atomic<unsigned> calls{ 0 }, unknown{ 0 };
	std::atomic<bool> is_over{ false };
	std::thread loop([&] {
		while (!is_over)
			dnsblv6_process(bl.client);
	});
	std::vector<numbered> requests(500, numbered{ &calls, &unknown, 0 });
	const dnsblv6_ip address = ip("192.0.3.1"); // in the cache, but for the first
	unsigned refused = 0;
	for (numbered &request : requests) {
		const int ret = dnsblv6_submit(
			bl.client, &address, 0, 20000,
			[](void *context, const dnsblv6_result *) {
				const numbered *own = static_cast<const numbered *>(context);
				*own->unknown += own->id == 0;
				(*own->calls)++;
			},
			&request, &request.id);
		refused += ret != 0;
	}
	while (calls + refused < requests.size())
		std::this_thread::yield();
	is_over = true;
	loop.join();
	CHECK(refused == 0);
	CHECK(unknown == 0);
}

TEST_CASE("a fork with questions on the way leaves both sides with right answers", "[client][api]")
{
	handle bl;
	bl.start();
	bl.check("192.0.0.1");
	bl.dns.delay_ms = 50;
	unsigned calls = 0;
	std::vector<call> kept(20, call{ &calls });
	for (unsigned i = 0; i < kept.size(); i++) {
		const dnsblv6_ip address = ip("192.0." + std::to_string(i * 3 + 3) + ".1");
		REQUIRE(dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &kept[i],
				       nullptr) == 0);
	}
	const int parent_fd = dnsblv6_fd(bl.client);
	const pid_t child = in_child([&bl, &calls] {
		// What the parent has cached is here; what it has submitted is not.
		const dnsblv6_result cached = bl.check("192.0.0.2");
		const dnsblv6_result fresh = bl.check("192.0.90.1");
		dnsblv6_process(bl.client);
		const bool is_right =
			cached.queries == 0 && fresh.verdict == DNSBLV6_LISTED && calls == 0;
		dnsblv6_free(bl.client);
		return is_right;
	});
	REQUIRE(child > 0);
	bl.run(calls, 20);
	for (const call &one : kept)
		CHECK(one.result.verdict == DNSBLV6_LISTED);
	CHECK(went_well(child));
	CHECK(dnsblv6_fd(bl.client) == parent_fd);
	// The cache is one: what the child has asked needs no question here.
	const size_t before = bl.server->count();
	CHECK(bl.check("192.0.90.1").verdict == DNSBLV6_LISTED);
	CHECK(bl.server->count() == before);
}

TEST_CASE("a text that was asked for once is there for calls that may not ask", "[client][api]")
{
	const auto denial = GENERATE(world::EMPTIED, world::NO_DATA);
	handle bl;
	bl.start();
	// Another process has probed the zone.
	REQUIRE(went_well(
		in_child([&bl] { return bl.check("192.0.0.1").verdict == DNSBLV6_LISTED; })));
	const dnsblv6_result result = bl.check("192.0.0.1");
	REQUIRE(result.queries == 0);
	const dnsblv6_ip address = ip("192.0.0.1");
	const std::string bare = "192.0.0.1 is listed by bl6.example";
	const std::string whole = bare + ", see https://bl.example/?ip=192.0.0.1";
	const auto text = [&](int timeout_ms) {
		char said[600];
		CHECK(dnsblv6_reason(bl.client, &address, &result, timeout_ms, said, sizeof(said)) >
		      0);
		return std::string(said);
	};
	CHECK(text(0) == bare);
	CHECK(text(20000) == whole);
	CHECK(text(0) == whole);
	// An outage takes nothing of it; that the zone has no metadata does. What was asked for is not
	// asked for again while it holds, and in vain not before failure-ttl is over.
	for (const auto &[trouble, wanted, held_s] :
	     { std::tuple(world::SERVFAIL, whole, 2100), std::tuple(denial, bare, 30) }) {
		size_t before = bl.server->count();
		bl.dns.trouble = trouble;
		CHECK(text(20000) == whole);
		CHECK(bl.server->count() == before);
		test_clock::pass(held_s + 1);
		CHECK(text(20000) == wanted);
		CHECK(bl.server->count() > before);
		before = bl.server->count();
		CHECK(text(20000) == wanted);
		CHECK(bl.server->count() == before);
	}
	CHECK(text(0) == bare);
}

TEST_CASE("a text that was asked for once is there when there is no place for a question",
	  "[client][api]")
{
	handle bl;
	bl.set("max-requests", "1").start();
	// Another process has probed the zone.
	REQUIRE(went_well(
		in_child([&bl] { return bl.check("192.0.0.1").verdict == DNSBLV6_LISTED; })));
	const dnsblv6_result result = bl.check("192.0.0.1");
	const dnsblv6_ip address = ip("192.0.0.1");
	const auto has_text = [&](int timeout_ms) {
		char text[600];
		return dnsblv6_reason(bl.client, &address, &result, timeout_ms, text,
				      sizeof(text)) > 0 &&
		       text == std::string("192.0.0.1 is listed by bl6.example, see "
					   "https://bl.example/?ip=192.0.0.1");
	};
	REQUIRE(has_text(20000));
	bl.dns.trouble = world::SILENT;
	std::atomic<unsigned> wrong{ 0 };
	std::vector<std::thread> threads; // more than a zone has places for
	threads.reserve(100);
	for (unsigned i = 0; i < 100; i++)
		threads.emplace_back([&] { wrong += has_text(1000) ? 0 : 1; });
	for (std::thread &thread : threads)
		thread.join();
	CHECK(wrong == 0);
}

TEST_CASE("a child with the number of its parent is another process", "[client][api]")
{
	if (!numbers::can_tell())
		return;
	handle bl;
	bl.start();
	bl.check("192.0.0.1");
	unsigned calls = 0;
	call kept{ &calls };
	const dnsblv6_ip address = ip("192.0.0.1");
	REQUIRE(dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &kept, nullptr) == 0);
	numbers::told = getpid();
	const pid_t child = in_child([&bl, &calls] {
		const bool is_right = dnsblv6_process(bl.client) == 0 && calls == 0 &&
				      bl.check("192.0.90.1").verdict == DNSBLV6_LISTED;
		// And one below it, of the same number.
		const pid_t below = in_child(
			[&bl] { return bl.check("192.0.93.1").verdict == DNSBLV6_LISTED; });
		dnsblv6_free(bl.client);
		return is_right && went_well(below);
	});
	numbers::told = 0;
	CHECK(went_well(child));
	CHECK(dnsblv6_process(bl.client) == 1);
	CHECK(kept.result.verdict == DNSBLV6_LISTED);
	CHECK(bl.check("192.0.96.1").verdict == DNSBLV6_LISTED);
}

TEST_CASE("a handle that was started and never used serves many children", "[client][api]")
{
	handle bl;
	bl.start();
	std::vector<pid_t> children;
	for (int i = 0; i < 20; i++)
		children.push_back(in_child([&bl, i] {
			const int net = i * 3;
			return bl.check("192.0." + std::to_string(net) + ".1").verdict ==
				       DNSBLV6_LISTED &&
			       bl.check("192.0." + std::to_string(net) + ".2").queries == 0;
		}));
	for (const pid_t child : children)
		CHECK(went_well(child));
	CHECK(bl.check("192.0.3.1").queries == 0);
}

TEST_CASE("forks while threads are inside leave every child with a handle that works",
	  "[client][api]")
{
	handle bl;
	bl.start();
	std::atomic<bool> is_over{ false };
	std::vector<std::thread> threads;
	for (unsigned t = 0; t < 4; t++) {
		threads.emplace_back([&bl, &is_over, t] {
			for (unsigned i = 0; !is_over; i++)
				bl.check("44." + std::to_string(t) + "." +
					 std::to_string(i / 256 % 256) + "." +
					 std::to_string(i % 256));
		});
	}
	for (int i = 0; i < 20; i++) {
		const pid_t child = in_child([&bl, i] {
			return bl.check("192.0." + std::to_string(3 * i) + ".1").verdict ==
				       DNSBLV6_LISTED &&
			       bl.check("198.51.100.1").verdict == DNSBLV6_CLEAR;
		});
		CAPTURE(i);
		CHECK(went_well(child));
	}
	is_over = true;
	for (std::thread &thread : threads)
		thread.join();
	CHECK(bl.check("192.0.3.1").verdict == DNSBLV6_LISTED);
}
