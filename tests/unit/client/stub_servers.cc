/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/client/stub_fixture.hh"

#include <atomic>
#include <cerrno>
#include <string>

namespace
{
// A record of 5000 bytes, more than we can have asked for.
bytes oversized(const query &asked)
{
	bytes reply = asked.empty(0);
	const uint8_t record[] = { 0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 5000 >> 8, 5000 & 255 };
	reply[7] = 1;
	reply.insert(reply.end(), std::begin(record), std::end(record));
	reply.resize(reply.size() + 5000);
	return reply;
}

bytes with_size(const bytes &message)
{
	bytes framed = message;
	const auto size = static_cast<uint16_t>(message.size());
	framed.insert(framed.begin(),
		      { static_cast<uint8_t>(size >> 8), static_cast<uint8_t>(size) });
	return framed;
}
} // namespace

TEST_CASE("other servers are asked what is on its way, and what comes later", "[client][stub]")
{
	resolver silent([](query &) {});
	resolver good(say_listed);
	asking client;
	outcome kept, later;
	client.server(silent);

	client.ask("abc.example", kept);
	client.config.server_count = 0;
	client.server(good);
	stub_renew_servers(client.get(), client.now_ms);
	client.until_told(kept);
	CHECK(kept.is_listed());
	client.ask("later.example", later);
	client.until_told(later);
	CHECK(later.is_listed());
}

// ---- from server to server ----

TEST_CASE("what cannot be read is not waited on: the next server is asked", "[client][stub]")
{
	bytes (*const make)(const query &) = GENERATE(cut_answer, oversized);
	resolver bad([make](query &asked) { asked.reply(make(asked)); });
	resolver good(say_listed);
	asking client;
	outcome kept;
	client.server(bad).server(good);

	client.ask("abc.example", kept);
	client.until_told(kept);
	CHECK(kept.is_listed());
	CHECK(client.stats().dropped == 0);
	CHECK(client.stats().timeouts == 1);
}

TEST_CASE("a server that refuses is followed by the next", "[client][stub]")
{
	const auto rcode = GENERATE(uint8_t{ 1 }, uint8_t{ 2 }, uint8_t{ 4 }, uint8_t{ 5 });
	resolver bad(say_rcode(rcode));
	resolver good(say_listed);
	asking client;
	outcome kept;
	client.server(bad).server(good);

	client.ask("abc.example", kept);
	client.until_told(kept);
	CHECK(kept.is_listed());
	CHECK(client.stats().timeouts == 0);
}

TEST_CASE("when all refuse, the last refusal is the answer", "[client][stub]")
{
	resolver first(say_rcode(2));
	resolver second(say_rcode(5));
	asking client;
	outcome kept;
	client.server(first).server(second.address(), true);

	client.ask("abc.example", kept);
	client.until_told(kept);
	CHECK(kept.status == 0);
	REQUIRE(kept.has_reply);
	CHECK(kept.reply.kind == MESSAGE_REFUSED);
	CHECK(kept.reply.rcode == 5);
	CHECK(kept.reply.a_count == 0);
	CHECK(kept.is_trusted);
	CHECK(first.count() == 1);
	CHECK(second.count() == 1);
	CHECK(client.is_idle());
}

TEST_CASE("a silent server has a second turn before another's refusal counts", "[client][stub]")
{
	resolver silent([](query &asked) {
		if (asked.number == 2)
			say_listed(asked);
	});
	resolver refusing(say_rcode(5));
	asking client;
	outcome kept;
	client.server(silent).server(refusing);

	client.ask("abc.example", kept);
	client.until_seen(silent, 1);
	client.pass(1000);
	client.until_seen(silent, 2);
	client.until_told(kept);
	CHECK(kept.is_listed());
	CHECK(refusing.count() == 1);
}

TEST_CASE("a refusal counts when the others stay silent twice", "[client][stub]")
{
	resolver silent(say_nothing);
	resolver refusing(say_rcode(2));
	asking client;
	outcome kept;
	client.server(silent).server(refusing);

	client.ask("abc.example", kept);
	client.pass(1000);
	client.until_seen(silent, 2);
	client.pass(2000);
	REQUIRE(kept.calls == 1);
	CHECK(kept.status == 0);
	CHECK(kept.reply.kind == MESSAGE_FAILURE);
}

TEST_CASE("at the deadline a refusal is better than nothing", "[client][stub]")
{
	resolver silent(say_nothing);
	resolver refusing(say_rcode(2));
	asking client;
	outcome kept;
	client.server(refusing).server(silent);

	client.ask("abc.example", kept, 500);
	client.until_seen(silent, 1);
	client.pass(500);
	REQUIRE(kept.calls == 1);
	CHECK(kept.status == 0);
	REQUIRE(kept.has_reply);
	CHECK(kept.reply.kind == MESSAGE_FAILURE);
	CHECK(kept.reply.rcode == 2);
}

TEST_CASE("a closed port ends a turn at once", "[client][stub]")
{
	resolver good(say_listed);
	asking client;
	outcome kept;
	client.server(closed_port()).server(good);

	client.ask("abc.example", kept);
	client.until_told(kept);
	CHECK(kept.is_listed());
	CHECK(client.stats().timeouts == 1);
}

TEST_CASE("an address that cannot be sent to ends a turn at once", "[client][stub]")
{
	resolver good(say_listed);
	asking client;
	outcome kept;
	// Broadcast: connect() says EACCES, and no packet leaves.
	client.server(mapped_address("255.255.255.255", 53)).server(good);

	client.ask("abc.example", kept);
	CHECK(kept.calls == 0);
	client.until_told(kept);
	CHECK(kept.is_listed());
}

TEST_CASE("no resolver at all: at the deadline, with a status, and few packets", "[client][stub]")
{
	asking client;
	outcome kept;
	const bool can_send = GENERATE(true, false);
	client.server(can_send ? closed_port() : mapped_address("255.255.255.255", 53));

	client.ask("abc.example", kept, 5000);
	const int64_t deadline_ms = client.now_ms + 5000;
	unsigned rounds = 0;
	while (kept.calls == 0 && rounds < 100) {
		// In the rest between rounds nothing is to be read.
		client.until([&] { return client.stats().timeouts > rounds; });
		rounds++;
		CHECK(!client.is_readable());
		REQUIRE(client.next() > 0);
		client.now_ms += client.next();
		client.process();
	}
	REQUIRE(kept.calls == 1);
	CHECK(client.now_ms == deadline_ms);
	CHECK(kept.status == (can_send ? -ECONNREFUSED : -EACCES));
	CHECK(!kept.has_reply);
	CHECK(rounds == 5); // 0, 250, 750, 1750, 3750 ms
}

TEST_CASE("silence lasts until the deadline, with twice the time each round", "[client][stub]")
{
	resolver silent(say_nothing);
	asking client;
	outcome kept;
	client.server(silent);

	client.ask("abc.example", kept, 8000);
	CHECK(client.next() == 1000);
	client.pass(1000);
	CHECK(client.next() == 2000);
	client.pass(2000);
	CHECK(client.next() == 4000);
	client.pass(4000);
	CHECK(client.next() == 1000); // what is left
	CHECK(kept.calls == 0);
	client.pass(1000);
	REQUIRE(kept.calls == 1);
	CHECK(kept.status == -ETIMEDOUT);
	CHECK(!kept.has_reply);
	CHECK(client.stats().sent_udp == 4);
	CHECK(client.is_idle());
}

TEST_CASE("every server has a turn before a short deadline", "[client][stub]")
{
	resolver silent(say_nothing);
	resolver good(say_listed);
	asking client;
	outcome kept;
	client.server(silent).server(silent).server(good);

	client.ask("abc.example", kept, 300);
	CHECK(client.next() == 100);
	client.pass(100);
	CHECK(client.next() == 100);
	client.pass(100);
	client.until_told(kept);
	CHECK(kept.is_listed());
	client.until_seen(silent, 2);
}

TEST_CASE("a silent server is asked last for a while, and tried again by one", "[client][stub]")
{
	std::atomic<bool> is_well{ false };
	resolver first([&](query &asked) {
		if (is_well)
			say_listed(asked);
	});
	resolver second(say_listed);
	asking client;
	outcome kept[6];
	client.server(first).server(second);

	client.ask("a.example", kept[0]);
	client.until_seen(first, 1);
	client.pass(1000);
	client.until_told(kept[0]);
	CHECK(second.count() == 1);
	client.ask("b.example", kept[1]);
	client.until_told(kept[1]);
	CHECK(first.count() == 1);

	client.now_ms += 1000;
	client.ask("c.example", kept[2]); // tries the first
	client.ask("d.example", kept[3]); // does not
	client.until_told(kept[3]);
	client.until_seen(first, 2);
	CHECK(kept[2].calls == 0);
	client.pass(1000);
	client.until_told(kept[2]);
	CHECK(first.count() == 2);

	is_well = true;
	client.now_ms += 2000; // twice as long after the second failure
	client.ask("e.example", kept[4]);
	client.until_told(kept[4]);
	client.ask("f.example", kept[5]);
	client.until_told(kept[5]);
	CHECK(first.count() == 4);
	CHECK(second.count() == 4);
}

// ---- TCP ----

TEST_CASE("what was truncated is asked over TCP", "[client][stub]")
{
	resolver server(say_truncated);
	asking client;
	outcome kept;
	client.server(server.address(), true);

	client.ask("abc.example", kept);
	client.until_told(kept);
	CHECK(kept.is_listed());
	CHECK(kept.is_trusted);
	CHECK(client.stats().sent_tcp == 1);
	CHECK(server.count() == 2);
}

TEST_CASE("a reply over TCP may come a byte at a time", "[client][stub]")
{
	resolver server([](query &asked) {
		if (!asked.is_tcp)
			return asked.reply(asked.empty(0, true));
		int delay_ms = 0;
		for (uint8_t byte : with_size(asked.answer_a({ 127, 0, 0, 2 })))
			asked.send_after(delay_ms++, { byte });
	});
	asking client;
	outcome kept;
	client.server(server);

	client.ask("abc.example", kept);
	client.until_told(kept);
	CHECK(kept.is_listed());
}

TEST_CASE("when TCP fails the next server is asked", "[client][stub]")
{
	const std::string how = GENERATE("closes", "cuts", "cuts the size", "no message",
					 "too large", "wrong id", "truncated", "garbage");
	CAPTURE(how);
	resolver bad([how](query &asked) {
		if (!asked.is_tcp)
			return asked.reply(asked.empty(0, true));
		const bytes reply = with_size(asked.answer_a({ 127, 0, 0, 66 }));
		if (how == "cuts")
			asked.send_after(0, { reply.begin(), reply.begin() + 20 });
		else if (how == "cuts the size")
			asked.send_after(0, { 0 });
		else if (how == "no message")
			asked.send_after(0, { 0, 0 });
		else if (how == "too large")
			return asked.send_after(0, bytes(20000, 0xff)); // and does not close
		else if (how == "wrong id")
			asked.reply(wrong_id(asked));
		else if (how == "truncated")
			asked.reply(asked.empty(0, true));
		else if (how == "garbage")
			asked.reply(cut_answer(asked));
		asked.close_after(0);
	});
	resolver good(say_listed);
	asking client;
	outcome kept;
	client.server(bad).server(good);

	client.ask("abc.example", kept);
	client.until_told(kept);
	CHECK(kept.is_listed());
	CHECK(kept.reply.a[0][3] == 2);
	CHECK(client.stats().sent_tcp == 1);
	CHECK(client.stats().timeouts == 1);
}

TEST_CASE("when no server listens on TCP the next one is asked", "[client][stub]")
{
	resolver bad([](query &asked) { asked.reply(asked.empty(0, true)); }, false);
	resolver good(say_listed);
	asking client;
	outcome kept;
	client.server(bad).server(good);

	client.ask("abc.example", kept);
	client.until_told(kept);
	CHECK(kept.is_listed());
}

TEST_CASE("a silent TCP connection ends with its turn", "[client][stub]")
{
	resolver bad([](query &asked) {
		if (!asked.is_tcp)
			asked.reply(asked.empty(0, true));
	});
	resolver good(say_listed);
	asking client;
	outcome kept;
	client.server(bad).server(good);

	client.ask("abc.example", kept);
	client.until_seen(bad, 2);
	CHECK(kept.calls == 0);
	client.pass(1000);
	client.until_told(kept);
	CHECK(kept.is_listed());
}
