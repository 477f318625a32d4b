// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/lib/dns_fixture.hh"

TEST_CASE("a question over UDP is answered now, later or never", "[dns][udp]")
{
	program running;
	client first(running, SOCK_DGRAM);
	client second(running, SOCK_DGRAM);
	first.send(query('l', 1));
	second.send(query('l', 2));
	second.send(query('s', 3));
	second.send(query('n', 4, 4096));
	CHECK(second.read(4096) == response(query('n', 4, 4096)));
	running.run_until([&] { return running.asked.size() == 4; });
	CHECK_FALSE(first.has_input());
	CHECK_FALSE(second.has_input());
	CHECK(running.batches > 0);
	CHECK(running.foreseen == running.asked);
	REQUIRE(running.late.size() == 2);
	running.answer_late(1);
	running.answer_late(0);
	CHECK(first.read(16) == response(query('l', 1)));
	CHECK(second.read(16) == response(query('l', 2)));
}

TEST_CASE("an answer over UDP leaves from the address that was asked, now and later", "[dns][udp]")
{
	auto what = GENERATE('n', 'l');
	CAPTURE(what);
	program running("0.0.0.0");
	client asker(running, SOCK_DGRAM, "127.0.0.77");
	asker.send(query(what, 1));
	running.run_until([&] { return running.asked.size() == 1; });
	if (what == 'l')
		running.answer_late(0);
	CHECK(asker.read(16) == response(query(what, 1)));
}

TEST_CASE("answers over UDP come later to IPv6 too", "[dns][udp]")
{
	auto address = GENERATE("::1", "::");
	CAPTURE(address);
	program running(address);
	client asker(running, SOCK_DGRAM);
	asker.send(query('l', 1));
	running.run_until([&] { return running.late.size() == 1; });
	running.answer_late(0);
	CHECK(asker.read(16) == response(query('l', 1)));
}

TEST_CASE("a question from before the end is still answered", "[dns][udp]")
{
	program running;
	client asker(running, SOCK_DGRAM);
	asker.send(query('n', 1));
	CHECK(asker.read(16) == response(query('n', 1)));
	asker.send(query('l', 2));
	running.drain(); // which still reads what is there
	REQUIRE(running.late.size() == 1);
	running.answer_late(0);
	CHECK(asker.read(16) == response(query('l', 2)));
}

TEST_CASE("an answer over UDP that the kernel refuses is counted", "[dns][udp]")
{
	program running;
	client asker(running, SOCK_DGRAM);
	asker.send(query('l', 1));
	running.run_until([&] { return running.late.size() == 1; });
	running.late[0].udp.client.four.sin_port = 0;
	running.answer_late(0);
	CHECK(running.events[RESPONDER_DROPPED] == 1);
}
