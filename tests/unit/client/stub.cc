/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/client/stub_fixture.hh"

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{
bytes wrong_question(const query &asked)
{
	bytes reply = asked.answer_a({ 127, 0, 0, 66 });
	reply[13] = reply[13] == 'x' ? 'y' : 'x';
	return reply;
}

bytes wrong_type(const query &asked)
{
	bytes reply = asked.answer_a({ 127, 0, 0, 66 });
	reply[reply.size() - 16 - 3] ^= 1;
	return reply;
}

bytes other_case(const query &asked)
{
	bytes reply = asked.answer_a({ 127, 0, 0, 66 });
	reply[13] ^= 0x20;
	return reply;
}

bytes no_reply(const query &asked)
{
	return asked.message;
}

bytes cut_header(const query &asked)
{
	const bytes reply = asked.answer_a({ 127, 0, 0, 66 });
	return { reply.begin(), reply.begin() + 5 };
}

bytes garbage(const query &)
{
	return bytes(200, 0xa5);
}

bytes nothing(const query &)
{
	return {};
}

std::string lower(std::string text)
{
	for (char &c : text)
		c = static_cast<char>(tolower(c));
	return text;
}
} // namespace

// ---- one question ----

TEST_CASE("a question comes back with its answer", "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	outcome kept;
	const bool is_trusted = GENERATE(false, true);
	client.server(server.address(), is_trusted);

	client.ask("2.0.0.127.bl.example", kept);
	CHECK(kept.calls == 0);
	client.until_told(kept);
	CHECK(kept.is_listed());
	CHECK(kept.is_trusted == is_trusted);
	REQUIRE(server.count() == 1);
	CHECK(server.queries()[0].name() == "2.0.0.127.bl.example.");
	CHECK(server.queries()[0].type() == MESSAGE_A);
	CHECK(client.stats().questions == 1);
	CHECK(client.stats().sent_udp == 1);
	CHECK(client.stats().replies == 1);
	CHECK(client.stats().dropped == 0);
	CHECK(client.stats().timeouts == 0);
	CHECK(client.is_idle());
	CHECK(!client.is_readable());
}

TEST_CASE("a resolver may have an IPv6 address", "[client][stub]")
{
	std::unique_ptr<resolver> server;
	asking client;
	outcome kept;
	try {
		server = std::make_unique<resolver>(say_truncated, true, "::1");
	} catch (const std::runtime_error &) {
		WARN("no ::1 on this machine: nothing tested");
		return;
	}
	client.server(*server);

	client.ask("abc.example", kept);
	client.until_told(kept);
	CHECK(kept.is_listed());
	CHECK(server->count() == 2); // the second over TCP
}

TEST_CASE("a negative answer is an answer", "[client][stub]")
{
	resolver server(say_rcode(3));
	asking client;
	outcome kept;
	client.server(server);

	client.ask("2.0.0.127.bl.example", kept);
	client.until_told(kept);
	CHECK(kept.status == 0);
	REQUIRE(kept.has_reply);
	CHECK(kept.reply.kind == MESSAGE_NXDOMAIN);
}

TEST_CASE("proof is wanted of those whose word counts", "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	outcome kept;
	const bool is_trusted = GENERATE(false, true);
	const bool use_ranges = GENERATE(false, true);
	client.server(server.address(), is_trusted);
	client.config.use_ranges = use_ranges;

	client.ask("2.0.0.127.bl.example", kept);
	client.until_told(kept);
	// OPT comes last, and the DO bit is in the fourth byte from its end (RFC 6891).
	const bytes sent = server.queries()[0].message;
	CHECK(((sent[sent.size() - 4] & 0x80) != 0) == (is_trusted && use_ranges));
}

TEST_CASE("ids and ports of questions cannot be foretold", "[client][stub]")
{
	constexpr unsigned COUNT = 100;
	resolver server(say_listed);
	asking client;
	std::vector<outcome> kept(COUNT);
	std::set<unsigned> ids;
	std::set<unsigned> ports;
	unsigned neighbours = 0;
	client.server(server);

	for (unsigned i = 0; i < COUNT; i++)
		client.ask("n" + std::to_string(i) + ".example", kept[i]);
	client.until_seen(server, COUNT);
	unsigned last_id = 0;
	unsigned last_port = 0;
	for (const query &asked : server.queries()) {
		ids.insert(asked.id());
		ports.insert(asked.source_port);
		neighbours += asked.source_port - last_port <= 2u;
		neighbours += asked.id() - last_id <= 2u;
		last_id = asked.id();
		last_port = asked.source_port;
	}
	CHECK(ids.size() > COUNT - 10);
	CHECK(ports.size() == COUNT); // all were open at once
	CHECK(neighbours < 10);
	client.until([&] {
		return std::all_of(kept.begin(), kept.end(),
				   [](const outcome &one) { return one.is_listed(); });
	});
}

TEST_CASE("letters are sent in random case when that is on", "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	outcome first;
	outcome second;
	const bool is_mixed = GENERATE(false, true);
	const std::string name = "abcdefghijklmnopqrstuvwxyz.abcdefghijklmnopqrstuvwxyz.example.";
	client.server(server);
	client.config.mixed_case = is_mixed;

	client.ask(name, first);
	client.until_told(first);
	client.ask(name, second);
	client.until_told(second);
	CHECK(first.is_listed());
	CHECK(second.is_listed());
	const std::string sent = server.queries()[0].name();
	CHECK(lower(sent) == name);
	CHECK((sent != name) == is_mixed);
	CHECK((sent != server.queries()[1].name()) == is_mixed);
}

// ---- what does not fit ----

TEST_CASE("what is no reply to the question is dropped, and the reply waited for", "[client][stub]")
{
	bytes (*const make)(const query &) =
		GENERATE(wrong_id, wrong_question, wrong_type, other_case, no_reply, cut_header,
			 garbage, nothing);
	resolver server([make](query &asked) {
		asked.reply(make(asked));
		asked.reply(asked.answer_a({ 127, 0, 0, 2 }));
	});
	asking client;
	outcome kept;
	client.server(server);
	client.config.mixed_case = true;

	client.ask("abc.example", kept);
	client.until_told(kept);
	CHECK(kept.is_listed());
	CHECK(kept.reply.a[0][3] == 2);
	CHECK(client.stats().dropped == 1);
	CHECK(client.stats().sent_udp == 1);
	CHECK(client.stats().sent_tcp == 0);
}

TEST_CASE("another port or address is not heard", "[client][stub]")
{
	const char *from = GENERATE("127.0.0.1", "127.0.0.2");
	resolver server([from](query &asked) {
		asked.reply_from(from, asked.answer_a({ 127, 0, 0, 66 }));
		asked.reply(asked.answer_a({ 127, 0, 0, 2 }));
	});
	asking client;
	outcome kept;
	client.server(server);

	client.ask("abc.example", kept);
	client.until_told(kept);
	CHECK(kept.is_listed());
	CHECK(kept.reply.a[0][3] == 2);
}

TEST_CASE("after many wrong packets the question goes on over TCP", "[client][stub]")
{
	resolver server([](query &asked) {
		if (asked.is_tcp)
			return say_listed(asked);
		for (unsigned i = 0; i < 100; i++)
			asked.reply(wrong_id(asked));
	});
	asking client;
	outcome kept;
	client.server(server);

	client.ask("abc.example", kept);
	client.until_told(kept);
	CHECK(kept.is_listed());
	CHECK(client.stats().dropped == 20);
	CHECK(client.stats().sent_udp == 1);
	CHECK(client.stats().sent_tcp == 1);
	CHECK(client.stats().timeouts == 0);
}

TEST_CASE("a server that does not repeat our case is asked over TCP in the end", "[client][stub]")
{
	const std::string name = "abcdefghijklmnopqrstuvwxyz.example.";
	resolver server([](query &asked) {
		bytes reply = asked.answer_a({ 127, 0, 0, 2 });
		for (size_t i = 13; i < reply.size() - 20; i++)
			reply[i] = static_cast<uint8_t>(tolower(reply[i]));
		asked.reply(reply);
	});
	asking client;
	outcome kept;
	client.server(server);
	client.config.mixed_case = true;

	client.ask(name, kept);
	client.until([&] { return client.stats().dropped == 1; });
	CHECK(kept.calls == 0);
	client.pass(1000);
	client.until_told(kept);
	CHECK(kept.is_listed());
	CHECK(client.stats().sent_udp == 1);
	CHECK(client.stats().sent_tcp == 1);
	CHECK(server.queries()[1].name() == name);
}

TEST_CASE("of two answers the first counts", "[client][stub]")
{
	resolver server([](query &asked) {
		asked.reply(asked.answer_a({ 127, 0, 0, 2 }));
		asked.reply(asked.answer_a({ 127, 0, 0, 66 }));
	});
	asking client;
	outcome kept;
	outcome other;
	client.server(server);

	client.ask("abc.example", kept);
	client.until_told(kept);
	client.ask("def.example", other);
	client.until_told(other);
	CHECK(kept.calls == 1);
	CHECK(kept.reply.a[0][3] == 2);
	CHECK(other.reply.a[0][3] == 2);
}

TEST_CASE("an answer to what was asked before comes too late", "[client][stub]")
{
	auto first = std::make_shared<query>();
	resolver server([first](query &asked) {
		if (asked.number == 1) {
			*first = asked;
			return;
		}
		first->reply(first->answer_a({ 127, 0, 0, 66 }));
		asked.reply(asked.answer_a({ 127, 0, 0, 2 }));
	});
	asking client;
	outcome kept;
	client.server(server);

	client.ask("abc.example", kept);
	client.until_seen(server, 1);
	client.pass(1000);
	client.until_told(kept);
	CHECK(kept.reply.a[0][3] == 2);
	CHECK(client.stats().timeouts == 1);
	const std::vector<query> came = server.queries();
	REQUIRE(came.size() == 2);
	CHECK((came[0].id() != came[1].id() || came[0].source_port != came[1].source_port));
}
