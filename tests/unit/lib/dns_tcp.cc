// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/lib/dns_fixture.hh"

#include "tests/lib/fault.hh"

#include <algorithm>
#include <sys/resource.h>

TEST_CASE("answers over TCP come in the order of the questions, also those that come later",
	  "[dns][tcp]")
{
	program running;
	client asker(running, SOCK_STREAM);
	asker.send(framed(query('n', 1)) + framed(query('l', 2)) + framed(query('n', 3)) +
		   framed(query('l', 4)));
	CHECK(asker.read(18) == framed(response(query('n', 1))));
	running.run_until([&] { return running.late.size() == 1; });
	// Nobody is asked for a client that waits.
	CHECK(running.asked == bytes{ 1, 2 });
	asker.send(framed(query('n', 5)));
	running.answer_late(0);
	CHECK(asker.read(36) == framed(response(query('l', 2))) + framed(response(query('n', 3))));
	running.run_until([&] { return running.late.size() == 2; });
	CHECK(running.asked == bytes{ 1, 2, 3, 4 });
	running.answer_late(1);
	CHECK(asker.read(36) == framed(response(query('l', 4))) + framed(response(query('n', 5))));
}

TEST_CASE("with more than one that may come later, answers over TCP come as they are there",
	  "[dns][tcp]")
{
	program running("127.0.0.1", { 16, 0, 30, 30, 3 });
	client asker(running, SOCK_STREAM);
	asker.send(framed(query('l', 1)) + framed(query('l', 2)) + framed(query('n', 3)));
	CHECK(asker.read(18) == framed(response(query('n', 3))));
	asker.send(framed(query('l', 4)) + framed(query('n', 5)));
	running.run_until([&] { return running.late.size() == 3; });
	// There is no room for one more.
	CHECK(running.asked == bytes{ 1, 2, 3, 4 });
	running.answer_late(1);
	running.answer_late(1); // once is enough
	CHECK(asker.read(36) == framed(response(query('l', 2))) + framed(response(query('n', 5))));
	running.answer_late(2);
	running.answer_late(0);
	CHECK(asker.read(36) == framed(response(query('l', 4))) + framed(response(query('l', 1))));
	asker.send(framed(query('n', 6)));
	CHECK(asker.read(18) == framed(response(query('n', 6))));
}

TEST_CASE("a client that has said all it has to say gets what comes later, and is closed",
	  "[dns][tcp]")
{
	program running("127.0.0.1", { 16, 0, 30, 30, 3 });
	client asker(running, SOCK_STREAM);
	asker.send(framed(query('l', 1)) + framed(query('l', 2)));
	asker.end_sending();
	running.run_until([&] { return running.late.size() == 2; });
	running.answer_late(1);
	running.answer_late(0);
	CHECK(asker.read(36) == framed(response(query('l', 2))) + framed(response(query('l', 1))));
	asker.wait_for_end();
	CHECK(running.events[RESPONDER_TCP_CLOSED] == 0);
}

TEST_CASE("nonsense and silence behind several questions close the connection behind all of them",
	  "[dns][tcp]")
{
	for (const bytes &last : { bytes{ 0, 11, 0 }, framed(query('s', 9)) }) {
		program running("127.0.0.1", { 16, 0, 30, 30, 3 });
		client asker(running, SOCK_STREAM);
		asker.send(framed(query('l', 1)) + framed(query('l', 2)) + last);
		running.run_until([&] { return running.late.size() == 2; });
		running.answer_late(0);
		CHECK(asker.read(18) == framed(response(query('l', 1))));
		CHECK(running.events[RESPONDER_TCP_CLOSED] == 0);
		running.answer_late(1);
		CHECK(asker.read(18) == framed(response(query('l', 2))));
		asker.wait_for_end();
		CHECK(running.events[RESPONDER_TCP_CLOSED] == 1);
	}
}

TEST_CASE("a connection is handed over behind answers that come later", "[dns][tcp]")
{
	program running("127.0.0.1", { 16, 0, 30, 30, 3 });
	client asker(running, SOCK_STREAM);
	asker.send(framed(query('l', 1)) + framed(query('h', 2)));
	running.run_until([&] { return running.asked.size() >= 2; });
	CHECK(running.taken.empty());
	running.answer_late(0);
	CHECK(asker.read(18) == framed(response(query('l', 1))));
	running.run_until([&] { return !running.taken.empty(); });
}

TEST_CASE("a client that does not read gets everything that comes later in the end", "[dns][tcp]")
{
	program running("127.0.0.1", { 16, 0, 30, 30, 8 });
	client asker(running, SOCK_STREAM);
	const uint8_t count = 40;
	size_t expected = 0;
	for (uint8_t i = 0; i < count; i++) {
		bytes asked = query(i % 2 == 0 ? 'l' : 'n', i, 65535);
		asker.send(framed(asked));
		expected += framed(response(asked)).size();
	}
	size_t answered = 0;
	bytes got;
	while (got.size() < expected) {
		for (; answered < running.late.size(); answered++)
			running.answer_late(answered);
		got = got + asker.read(std::min<size_t>(65537, expected - got.size()));
	}
	std::vector<bool> seen(count);
	for (size_t i = 0; i < got.size(); i += 65537)
		seen[got[i + 3]] = true;
	CHECK(std::count(seen.begin(), seen.end(), true) == count);
	CHECK(running.asked.size() == count);
}

TEST_CASE("a client that does not read gets everything in the end, in order", "[dns][tcp]")
{
	program running;
	client asker(running, SOCK_STREAM);
	const uint8_t count = 60;
	bytes expected;
	for (uint8_t i = 0; i < count; i++) {
		bytes asked = query(i % 3 == 0 ? 'l' : 'n', i, 65535);
		asker.send(framed(asked));
		expected = expected + framed(response(asked));
	}
	// The kernel takes some of it. What it does not take stops the questions.
	size_t answered = 0;
	size_t before = 0;
	do {
		before = running.asked.size();
		for (int round = 0; round < 10; round++)
			uv_run(&running.loop, UV_RUN_NOWAIT);
		for (; answered < running.late.size(); answered++)
			running.answer_late(answered);
	} while (running.asked.size() > before);
	CHECK(running.asked.size() < count);
	bytes got;
	while (got.size() < expected.size()) {
		got = got + asker.read(std::min<size_t>(65536, expected.size() - got.size()));
		for (; answered < running.late.size(); answered++)
			running.answer_late(answered);
	}
	CHECK(got == expected);
	CHECK(running.asked.size() == count);
}

TEST_CASE("an answer for a client that has gone is dropped", "[dns][tcp]")
{
	program running("127.0.0.1", { 1, 0, 30, 30, 1 });
	client first(running, SOCK_STREAM);
	first.send(framed(query('l', 1)));
	running.run_until([&] { return running.late.size() == 1; });
	// There is room for one: each that comes sends away the one before.
	client second(running, SOCK_STREAM);
	first.wait_for_end();
	client third(running, SOCK_STREAM);
	second.wait_for_end();
	third.send(framed(query('l', 3)));
	running.run_until([&] { return running.late.size() == 2; });
	CHECK(running.late[0].tcp.place == running.late[1].tcp.place);
	running.answer_late(0);
	running.answer_late(1);
	running.answer_late(1); // once is enough
	CHECK(third.read(18) == framed(response(query('l', 3))));
	third.send(framed(query('n', 4)));
	CHECK(third.read(18) == framed(response(query('n', 4))));
	CHECK(running.events[RESPONDER_TCP_CLIENT] == 3);
	CHECK(running.events[RESPONDER_TCP_CLOSED] == 2);
}

TEST_CASE("a client may close its connection before the answer comes", "[dns][tcp]")
{
	program running;
	{
		client asker(running, SOCK_STREAM);
		asker.send(framed(query('l', 1)) + framed(query('l', 2)));
		running.run_until([&] { return running.late.size() == 1; });
	}
	running.answer_late(0);
	running.run_until([&] { return running.late.size() == 2; });
	running.answer_late(1);
	client other(running, SOCK_STREAM);
	other.send(framed(query('n', 3)));
	CHECK(other.read(18) == framed(response(query('n', 3))));
}

TEST_CASE("silence over TCP closes the connection behind the answers before", "[dns][tcp]")
{
	program running;
	client asker(running, SOCK_STREAM);
	asker.send(framed(query('n', 1)) + framed(query('s', 2)) + framed(query('n', 3)));
	CHECK(asker.read(18) == framed(response(query('n', 1))));
	asker.wait_for_end();
	CHECK(running.asked == bytes{ 1, 2 });
}

TEST_CASE("nonsense behind a question closes the connection when that is answered", "[dns][tcp]")
{
	program running;
	client asker(running, SOCK_STREAM);
	asker.send(framed(query('l', 1)) + bytes{ 0, 11, 0 });
	running.run_until([&] { return running.late.size() == 1; });
	CHECK(running.events[RESPONDER_TCP_CLOSED] == 0);
	running.answer_late(0);
	CHECK(asker.read(18) == framed(response(query('l', 1))));
	asker.wait_for_end();
	CHECK(running.events[RESPONDER_TCP_CLOSED] == 1);
}

TEST_CASE("a query of 65,535 bytes is answered, and the one behind it", "[dns][tcp]")
{
	program running;
	client asker(running, SOCK_STREAM);
	bytes large = query('n', 1);
	large.resize(65535, 'x');
	asker.send(framed(large) + framed(query('n', 2)));
	CHECK(asker.read(36) == framed(response(query('n', 1))) + framed(response(query('n', 2))));
	CHECK(running.events[RESPONDER_TCP_CLOSED] == 0);
}

TEST_CASE("a deferred answer of no bytes closes the connection too", "[dns][tcp]")
{
	program running;
	client asker(running, SOCK_STREAM);
	asker.send(framed(query('l', 1)));
	running.run_until([&] { return running.late.size() == 1; });
	tcp_send(running.tcp, &running.late[0].tcp, nullptr, 0);
	asker.wait_for_end();
	CHECK(running.events[RESPONDER_TCP_CLOSED] == 1);
}

TEST_CASE("a client whose answer never comes is closed, and a late one dropped", "[dns][tcp]")
{
	program running("127.0.0.1", { 16, 0, 1, 1, 1 });
	client asker(running, SOCK_STREAM);
	asker.send(framed(query('l', 1)));
	asker.wait_for_end();
	REQUIRE(running.late.size() == 1);
	running.answer_late(0);
	CHECK(running.events[RESPONDER_TCP_CLOSED] == 1);
}

TEST_CASE("a connection is handed over behind the answers before", "[dns][tcp]")
{
	program running;
	client asker(running, SOCK_STREAM);
	asker.send(framed(query('n', 1)) + framed(query('h', 2)));
	CHECK(asker.read(18) == framed(response(query('n', 1))));
	running.run_until([&] { return !running.taken.empty(); });
	REQUIRE(running.taken.size() == 1);
	CHECK(running.asked == bytes{ 1, 2 });
	bytes words = { 'o', 'u', 'r', 's' };
	REQUIRE(write(running.taken[0], words.data(), words.size()) == 4);
	CHECK(asker.read(4) == words);
	CHECK(running.events[RESPONDER_TCP_CLOSED] == 0);
}

TEST_CASE("questions behind a connection that is lent are answered when it is given back",
	  "[dns][tcp]")
{
	program running("127.0.0.1", { 16, 0, 30, 30, 3 });
	client asker(running, SOCK_STREAM);
	asker.send(framed(query('h', 1)) + framed(query('n', 2)) + framed(query('h', 3)) +
		   framed(query('n', 4)));
	running.run_until([&] { return running.taken.size() == 1; });
	asker.send(framed(query('n', 5)));
	client other(running, SOCK_STREAM);
	other.send(framed(query('n', 9)));
	CHECK(other.read(18) == framed(response(query('n', 9))));
	CHECK(running.asked == bytes{ 1, 9 });
	tcp_give_back(running.tcp, &running.lenders[0], true);
	tcp_give_back(running.tcp, &running.lenders[0], true); // once is enough
	CHECK(asker.read(18) == framed(response(query('n', 2))));
	running.run_until([&] { return running.taken.size() == 2; });
	tcp_give_back(running.tcp, &running.lenders[1], true);
	CHECK(asker.read(36) == framed(response(query('n', 4))) + framed(response(query('n', 5))));
	CHECK(running.events[RESPONDER_TCP_CLOSED] == 0);
}

TEST_CASE("a connection that comes back with a part of an answer is closed", "[dns][tcp]")
{
	program running;
	client asker(running, SOCK_STREAM);
	asker.send(framed(query('h', 1)));
	running.run_until([&] { return running.taken.size() == 1; });
	close(running.taken[0]);
	running.taken.clear();
	tcp_give_back(running.tcp, &running.lenders[0], false);
	asker.wait_for_end();
	CHECK(running.asked == bytes{ 1 });
}

TEST_CASE("a connection that is lent keeps its place, for longer than one that is silent",
	  "[dns][tcp]")
{
	const tcp_limits limits =
		GENERATE(tcp_limits{ 2, 0, 1, 1, 1 }, tcp_limits{ 16, 1, 1, 1, 1 });
	program running("127.0.0.1", limits);
	client asker(running, SOCK_STREAM);
	asker.send(framed(query('h', 1)) + framed(query('n', 2)));
	running.run_until([&] { return running.taken.size() == 1; });
	client second(running, SOCK_STREAM);
	client third(running, SOCK_STREAM);
	second.wait_for_end();
	third.wait_for_end();
	tcp_give_back(running.tcp, &running.lenders[0], true);
	CHECK(asker.read(18) == framed(response(query('n', 2))));
}

TEST_CASE("a connection that is lent outlives a drain, and is closed when it is given back",
	  "[dns][tcp]")
{
	program running;
	client asker(running, SOCK_STREAM);
	asker.send(framed(query('h', 1)) + framed(query('n', 2)));
	running.run_until([&] { return running.taken.size() == 1; });
	running.drain();
	close(running.taken[0]);
	running.taken.clear();
	tcp_give_back(running.tcp, &running.lenders[0], true);
	CHECK(asker.read(18) == framed(response(query('n', 2))));
	asker.wait_for_end();
}

TEST_CASE("a client that waits for an answer gets it at the end, and is then closed", "[dns][tcp]")
{
	program running("127.0.0.1", { 16, 0, 30, 1, 1 });
	client idle(running, SOCK_STREAM);
	client asker(running, SOCK_STREAM);
	asker.send(framed(query('l', 1)));
	running.run_until([&] { return running.late.size() == 1; });
	running.drain();
	idle.wait_for_end();
	running.answer_late(0);
	CHECK(asker.read(18) == framed(response(query('l', 1))));
	asker.wait_for_end();
}

TEST_CASE("a client that has connected before a drain has its first question answered",
	  "[dns][tcp]")
{
	program running;
	client asker(running, SOCK_STREAM);
	running.run_until([&] { return running.events[RESPONDER_TCP_CLIENT] == 1; });
	running.drain();
	asker.send(framed(query('n', 1)));
	CHECK(asker.read(18) == framed(response(query('n', 1))));
	asker.wait_for_end();
}

TEST_CASE("an answer that comes behind tcp_stop() is dropped", "[dns][tcp]")
{
	program running;
	client asker(running, SOCK_STREAM);
	asker.send(framed(query('l', 1)));
	running.run_until([&] { return running.late.size() == 1; });
	running.drain();
	running.stop();
	running.answer_late(0);
	asker.wait_for_end();
}

TEST_CASE("a client for which there is no memory waits until there is", "[dns][tcp]")
{
	program running;
	client asker(running, SOCK_STREAM);
	asker.send(framed(query('n', 1)));
	fault::fail_at(1);
	running.run_until([&] { return fault::has_failed; });
	fault::end();
	CHECK(running.events[RESPONDER_TCP_CLIENT] == 0);
	client other(running, SOCK_STREAM);
	other.send(framed(query('n', 2)));
	CHECK(asker.read(18) == framed(response(query('n', 1))));
	CHECK(other.read(18) == framed(response(query('n', 2))));
}

TEST_CASE("a client for which there is no descriptor waits until there is", "[dns][tcp]")
{
	program running;
	client first(running, SOCK_STREAM);
	first.send(framed(query('n', 1)));
	CHECK(first.read(18) == framed(response(query('n', 1))));
	client asker(running, SOCK_STREAM);
	rlimit limit = {};
	REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	const rlimit none = { 3, limit.rlim_max };
	REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
	asker.send(framed(query('n', 2)));
	// Who is connected is served meanwhile, which a loop that tries for ever would not do.
	first.send(framed(query('n', 3)));
	CHECK(first.read(18) == framed(response(query('n', 3))));
	CHECK(running.events[RESPONDER_TCP_CLIENT] == 1);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHECK(asker.read(18) == framed(response(query('n', 2))));
}

TEST_CASE("UDP and TCP share a port that no other process can take", "[dns][listener]")
{
	program running;
	listener_addresses same = running.addresses;
	listener second = {};
	listener_error error = {};
	CHECK(listener_open(&second, &same, 1, &error) == -EADDRINUSE);
	CHECK(std::string(error.protocol) == "udp");
	CHECK(memcmp(&error.address, &same.all[0], sizeof(error.address)) == 0);
	listener_close(&second);
}
