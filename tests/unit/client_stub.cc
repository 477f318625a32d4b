/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "client-lib/stub.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cerrno>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/lib/child.hh"
#include "tests/lib/fault.hh"
#include "tests/lib/resolver.hh"

// Time is the tests' own: it stands still unless a test moves it. What has to
// come from a resolver is waited for in real time, and never in vain.

namespace
{
using bytes = resolver::bytes;
using query = resolver::query;

constexpr int64_t LONG_MS = 1000000;

struct outcome {
	unsigned calls = 0;
	int status = 1;
	bool has_reply = false;
	bool is_trusted = false;
	message_reply reply = {};
	std::function<void()> then; // called by the callback

	bool is_listed() const
	{
		return has_reply && status == 0 && reply.kind == MESSAGE_ANSWER &&
		       reply.a_count == 1 && reply.a[0][0] == 127;
	}
};

void keep(void *context, int status, const message_reply *reply, bool is_trusted)
{
	auto *kept = static_cast<outcome *>(context);
	kept->calls++;
	kept->status = status;
	kept->has_reply = reply != nullptr;
	kept->is_trusted = is_trusted;
	if (reply != nullptr)
		kept->reply = *reply;
	if (kept->then)
		kept->then();
}

dnsblv6_labels labels(const std::string &text)
{
	dnsblv6_labels name = {};
	REQUIRE(dnsblv6_name_from_text(text.c_str(), &name) == DNSBLV6_OK);
	return name;
}

class asking
{
      public:
	struct config config = {};
	int64_t now_ms = 5000;

	asking()
	{
		config.max_requests = 100;
		config.attempt_timeout_ms = 1000;
	}
	~asking()
	{
		stub_free(stub_);
	}
	asking(const asking &) = delete;
	asking &operator=(const asking &) = delete;

	asking &server(const sockaddr_in6 &address, bool is_trusted = false)
	{
		config.servers[config.server_count].address = address;
		config.servers[config.server_count++].is_trusted = is_trusted;
		return *this;
	}
	asking &server(const resolver &other)
	{
		return server(other.address());
	}
	stub *get()
	{
		if (stub_ == nullptr)
			REQUIRE(stub_new(&config, &stub_) == 0);
		return stub_;
	}
	uint64_t ask(const std::string &name, outcome &kept, int64_t timeout_ms = LONG_MS,
		     uint16_t type = MESSAGE_A)
	{
		const dnsblv6_labels wire = labels(name);
		uint64_t id = 0;
		REQUIRE(stub_ask(get(), &wire, type, now_ms, now_ms + timeout_ms, keep, &kept,
				 &id) == 0);
		CHECK(id != 0);
		return id;
	}
	void process()
	{
		stub_process(get(), now_ms);
	}
	void pass(int64_t ms)
	{
		now_ms += ms;
		process();
	}
	// In how many ms the stub wants to be called.
	int64_t next() const
	{
		return stub_next_ms(stub_) - now_ms;
	}
	bool is_idle() const
	{
		return stub_next_ms(stub_) == INT64_MAX;
	}
	// Is there something to read, without waiting for it?
	bool is_readable() const
	{
		pollfd polled = { stub_fd(stub_), POLLIN, 0 };
		return poll(&polled, 1, 0) == 1;
	}
	template <typename Condition> void until(Condition is_met)
	{
		for (int i = 0; i < 30000 && !is_met(); i++) {
			pollfd polled = { stub_fd(get()), POLLIN, 0 };
			poll(&polled, 1, 2);
			process();
		}
		REQUIRE(is_met());
	}
	void until_told(const outcome &kept)
	{
		until([&] { return kept.calls > 0; });
	}
	// The resolver has seen that many queries.
	void until_seen(const resolver &other, size_t count)
	{
		until([&] { return other.count() >= count; });
	}
	stub_stats stats()
	{
		stub_stats counted = {};
		stub_get_stats(get(), &counted);
		return counted;
	}

      private:
	stub *stub_ = nullptr;
};

void say_listed(query &asked)
{
	asked.reply(asked.answer_a({ 127, 0, 0, 2 }));
}

void say_nothing(query &)
{
}

resolver::script say_rcode(uint8_t rcode)
{
	return [rcode](query &asked) { asked.reply(asked.empty(rcode)); };
}

// ICMP says so at once: nobody has this port of that address.
sockaddr_in6 closed_port()
{
	return mapped_address("127.99.0.1", 1);
}

bytes wrong_id(const query &asked)
{
	bytes reply = asked.answer_a({ 127, 0, 0, 66 });
	reply[0] = static_cast<uint8_t>(reply[0] ^ 1);
	return reply;
}

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

// Its question is right, and it promises a record that it does not have.
bytes cut_answer(const query &asked)
{
	bytes reply = asked.answer_a({ 127, 0, 0, 66 });
	reply.resize(reply.size() - 3);
	return reply;
}

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

// In a child a REQUIRE that fails must not lead back into the tests.
template <typename Function> auto contained(Function function)
{
	return [function] {
		try {
			return function();
		} catch (...) {
			return 99;
		}
	};
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
	CHECK(silent.count() == 2);
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
	resolver server([](query &asked) {
		if (asked.is_tcp)
			say_listed(asked);
		else
			asked.reply(asked.empty(0, true));
	});
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
			asked.send_after(0, { 0xff, 0xff, 1, 2, 3 });
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

TEST_CASE("when nobody listens on TCP the next server is asked", "[client][stub]")
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

// ---- many askers ----

TEST_CASE("identical questions in flight are one", "[client][stub]")
{
	auto held = std::make_shared<std::vector<query>>();
	resolver server([held](query &asked) {
		held->push_back(asked);
		if (asked.type() == MESSAGE_AAAA) {
			for (query &one : *held)
				one.reply(one.answer_a({ 127, 0, 0, 2 }));
		}
	});
	asking client;
	outcome first;
	outcome second;
	outcome other;
	client.server(server);

	client.ask("abc.example", first);
	client.ask("abc.example", second);
	client.until_seen(server, 1);
	client.ask("abc.example", other, LONG_MS, MESSAGE_AAAA);
	client.until([&] { return first.calls + second.calls + other.calls == 3; });
	CHECK(first.is_listed());
	CHECK(second.is_listed());
	CHECK(server.count() == 2);
	CHECK(client.stats().questions == 3);
	CHECK(client.stats().merged == 1);

	// One that was answered is asked anew.
	outcome again;
	client.ask("abc.example", again);
	client.until_seen(server, 3);
}

TEST_CASE("each asker has a deadline, and the question that of the last", "[client][stub]")
{
	std::atomic<bool> speaks{ false };
	resolver server([&](query &asked) {
		if (speaks)
			say_listed(asked);
	});
	asking client;
	outcome brief;
	outcome patient;
	const bool brief_first = GENERATE(true, false);
	client.server(server);

	client.ask("abc.example", brief_first ? brief : patient, brief_first ? 300 : 3000);
	client.ask("abc.example", brief_first ? patient : brief, brief_first ? 3000 : 300);
	client.until_seen(server, 1);
	speaks = true;
	client.pass(300);
	CHECK(brief.calls == 1);
	CHECK(brief.status == -ETIMEDOUT);
	CHECK(patient.calls == 0);
	client.pass(700); // the server's second turn, if it was not at the first deadline
	client.until_told(patient);
	CHECK(patient.is_listed());
	CHECK(brief.calls == 1);
	CHECK(client.is_idle());
}

TEST_CASE("a reply in time counts even when it is looked at too late", "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	outcome kept;
	client.server(server);

	client.ask("abc.example", kept, 300);
	for (int i = 0; i < 30000 && !client.is_readable(); i++)
		usleep(1000);
	client.pass(5000);
	CHECK(kept.calls == 1);
	CHECK(kept.is_listed());
}

TEST_CASE("who cancels is not called", "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	outcome gone;
	outcome stays;
	client.server(server);

	SECTION("while another waits for the same")
	{
		const uint64_t id = client.ask("abc.example", gone);
		client.ask("abc.example", stays);
		stub_cancel(client.get(), id);
		client.until_told(stays);
		CHECK(stays.is_listed());
	}
	SECTION("and the question ends with the last")
	{
		stub_cancel(client.get(), client.ask("abc.example", gone));
		CHECK(client.is_idle());
		CHECK(!client.is_readable());
		client.ask("abc.example", stays);
		client.until_told(stays);
		CHECK(client.stats().merged == 0);
	}
	SECTION("twice, after the place has been taken by another")
	{
		const uint64_t id = client.ask("abc.example", gone);
		stub_cancel(client.get(), id);
		client.ask("def.example", stays);
		stub_cancel(client.get(), id);
		client.until_told(stays);
	}
	SECTION("with an id that nobody has")
	{
		client.ask("abc.example", stays);
		for (uint64_t id : { UINT64_C(0), UINT64_C(1), UINT64_C(77), UINT64_MAX })
			stub_cancel(client.get(), id);
		client.until_told(stays);
	}
	CHECK(gone.calls == 0);
}

TEST_CASE("a callback may ask and cancel", "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	outcome askers[3];
	outcome next;
	uint64_t ids[3];
	unsigned told = 0;
	client.server(server);

	for (outcome &one : askers) {
		one.then = [&] {
			if (told++ > 0)
				return;
			// Whoever is told first asks the same again, and cancels the others.
			client.ask("abc.example", next);
			for (uint64_t id : ids)
				stub_cancel(client.get(), id);
		};
	}
	for (unsigned i = 0; i < 3; i++)
		ids[i] = client.ask("abc.example", askers[i]);
	client.until_told(next);
	CHECK(next.is_listed());
	CHECK(told == 1);
	CHECK(server.count() == 2);
	CHECK(client.is_idle());
}

TEST_CASE("a callback that asks what is due already does not keep us", "[client][stub]")
{
	resolver silent(say_nothing);
	asking client;
	outcome kept;
	client.server(silent);
	kept.then = [&] { client.ask("abc.example", kept, 0); };

	client.ask("abc.example", kept, 100);
	client.pass(100);
	CHECK(kept.calls < 10);
	CHECK(client.next() <= 0);
	const unsigned calls = kept.calls;
	client.process();
	CHECK(kept.calls > calls);
	kept.then = nullptr;
	client.process();
	CHECK(client.is_idle());
}

TEST_CASE("questions beyond the sockets wait, and beyond max-requests are refused",
	  "[client][stub]")
{
	auto held = std::make_shared<std::deque<query>>();
	std::atomic<bool> speaks{ false };
	resolver server([&speaks, held](query &asked) {
		held->push_back(asked);
		for (; speaks && !held->empty(); held->pop_front())
			say_listed(held->front());
	});
	asking client;
	std::vector<outcome> kept(STUB_FLIGHTS_MAX + 20);
	std::vector<uint64_t> ids;
	outcome refused;
	uint64_t id;
	client.server(server);
	client.config.max_requests = 20;

	for (size_t i = 0; i < kept.size(); i++)
		ids.push_back(client.ask("n" + std::to_string(i) + ".example", kept[i], 900));
	const dnsblv6_labels name = labels("more.example");
	CHECK(stub_ask(client.get(), &name, MESSAGE_A, client.now_ms, client.now_ms + 10, keep,
		       &refused, &id) == -ENOBUFS);
	CHECK(client.stats().sent_udp == STUB_FLIGHTS_MAX);
	client.until_seen(server, STUB_FLIGHTS_MAX);
	CHECK(client.next() > 0);

	// One that waits goes, then one in flight: the first that waits then has its turn.
	stub_cancel(client.get(), ids[STUB_FLIGHTS_MAX]);
	CHECK(client.next() > 0);
	stub_cancel(client.get(), ids[0]);
	CHECK(client.next() <= 0);
	speaks = true;
	client.process();
	CHECK(client.stats().sent_udp == STUB_FLIGHTS_MAX + 1);
	client.until([&] {
		unsigned told = 0;
		for (const outcome &one : kept)
			told += one.is_listed();
		return told == kept.size() - 2;
	});
	// Those that waited were asked in the order they came.
	const std::vector<query> came = server.queries();
	REQUIRE(came.size() == kept.size() - 1);
	CHECK(came[STUB_FLIGHTS_MAX].name() ==
	      "n" + std::to_string(STUB_FLIGHTS_MAX + 1) + ".example.");
	CHECK(client.is_idle());
	CHECK(kept[0].calls == 0);
	CHECK(kept[STUB_FLIGHTS_MAX].calls == 0);
}

TEST_CASE("who waits for a socket until the deadline is told so", "[client][stub]")
{
	resolver silent(say_nothing);
	asking client;
	std::vector<outcome> kept(STUB_FLIGHTS_MAX);
	outcome late;
	client.server(silent);

	for (size_t i = 0; i < kept.size(); i++)
		client.ask("n" + std::to_string(i) + ".example", kept[i]);
	client.ask("late.example", late, 500);
	client.pass(500);
	CHECK(late.calls == 1);
	CHECK(late.status == -ETIMEDOUT);
	CHECK(!late.has_reply);
	CHECK(client.stats().sent_udp == STUB_FLIGHTS_MAX);
}

TEST_CASE("a thousand questions to a slow resolver all come back", "[client][stub]")
{
	constexpr unsigned COUNT = 1000;
	resolver server([](query &asked) {
		asked.reply_after(static_cast<int>(asked.number % 50),
				  asked.answer_a({ 127, 0, 0, 2 }));
	});
	asking client;
	std::vector<outcome> kept(COUNT);
	client.server(server);
	client.config.max_requests = COUNT;

	for (unsigned i = 0; i < COUNT; i++)
		client.ask("n" + std::to_string(i) + ".example", kept[i]);
	client.until([&] { return client.stats().replies == COUNT; });
	for (const outcome &one : kept)
		CHECK((one.calls == 1 && one.is_listed()));
	CHECK(client.stats().sent_udp == COUNT);
	CHECK(client.is_idle());
}

// ---- without means ----

TEST_CASE("without descriptors a question waits, and does not spin", "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	outcome kept;
	outcome other;
	client.server(server);
	client.get();

	rlimit limit = {};
	REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	const int lowest_free = dup(0);
	REQUIRE(lowest_free >= 0);
	close(lowest_free);
	rlimit few = limit;
	few.rlim_cur = static_cast<rlim_t>(lowest_free);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
	client.ask("abc.example", kept);
	client.ask("def.example", other, 120);
	CHECK(client.next() > 0);
	CHECK(client.next() <= 100);
	for (int i = 0; i < 12; i++)
		client.pass(10);
	CHECK(kept.calls == 0);
	CHECK(other.calls == 1);
	CHECK(other.status == -EMFILE);
	CHECK(client.stats().timeouts == 0); // no server is to blame
	CHECK(client.next() > 0);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);

	client.pass(100);
	client.until_told(kept);
	CHECK(kept.is_listed());
}

TEST_CASE("a stub that cannot be made leaves nothing behind", "[client][stub]")
{
	struct config config = {};
	config.server_count = 1;
	config.servers[0].address = closed_port();
	unsigned failures = 0;

	for (unsigned n = 1;; n++) {
		stub *made = nullptr;
		fault::fail_at(n);
		const int ret = stub_new(&config, &made);
		if (!fault::end()) {
			CHECK(ret == 0);
			stub_free(made);
			break;
		}
		failures++;
		CHECK(ret == -ENOMEM);
		CHECK(made == nullptr);
	}
	CHECK(failures >= 4);
	stub_free(nullptr);
}

TEST_CASE("only TCP needs more memory, and waits for it", "[client][stub]")
{
	resolver server([](query &asked) {
		if (asked.is_tcp)
			say_listed(asked);
		else
			asked.reply(asked.empty(0, true));
	});
	asking client;
	outcome kept;
	client.server(server);
	client.get();

	fault::fail_at(1);
	client.ask("abc.example", kept);
	client.until([&] { return fault::has_failed; });
	CHECK(fault::end());
	CHECK(client.stats().sent_tcp == 0);
	CHECK(kept.calls == 0);
	client.pass(50);
	client.until_told(kept);
	CHECK(kept.is_listed());
}

TEST_CASE("a stub may end with questions in flight", "[client][stub]")
{
	resolver silent([](query &asked) {
		if (!asked.is_tcp && asked.number == 1)
			asked.reply(asked.empty(0, true));
	});
	outcome kept[3];
	{
		asking client;
		client.server(silent);
		client.ask("a.example", kept[0]);
		client.until_seen(silent, 2); // the second over TCP
		client.ask("b.example", kept[1]);
		client.ask("c.example", kept[2]);
	}
	for (const outcome &one : kept)
		CHECK(one.calls == 0);
}

// ---- forks ----

TEST_CASE("parent and child each get their own answers", "[client][stub]")
{
	auto held = std::make_shared<std::vector<query>>();
	resolver server([held](query &asked) {
		const std::string name = asked.name();
		if (name == "tcp.example." && !asked.is_tcp)
			return asked.reply(asked.empty(0, true));
		held->push_back(asked);
		if (name != "child.example.")
			return;
		for (query &one : *held)
			say_listed(one);
	});
	asking client;
	outcome of_parent[3];
	client.server(server);
	const uint64_t old = client.ask("a.example", of_parent[0]);
	client.ask("b.example", of_parent[1]);
	client.ask("tcp.example", of_parent[2]);
	client.until_seen(server, 4);

	child other(contained([&] {
		if (stub_after_fork(client.get()) != 0 || stub_fd(client.get()) < 0)
			return 1;
		if (!client.is_idle() || client.is_readable())
			return 2;
		outcome of_child;
		client.ask("child.example", of_child);
		stub_cancel(client.get(), old);
		client.until_told(of_child);
		for (const outcome &one : of_parent) {
			if (one.calls != 0)
				return 3;
		}
		return of_child.is_listed() ? 0 : 4;
	}));
	CHECK(other.wait() == 0);
	client.until(
		[&] { return of_parent[0].calls + of_parent[1].calls + of_parent[2].calls == 3; });
	for (const outcome &one : of_parent)
		CHECK(one.is_listed());
	CHECK(server.count() == 5);
}

TEST_CASE("a child without descriptors may try again", "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	client.server(server);
	client.get();

	child other(contained([&] {
		rlimit limit = {};
		getrlimit(RLIMIT_NOFILE, &limit);
		rlimit none = limit;
		none.rlim_cur = 0;
		setrlimit(RLIMIT_NOFILE, &none);
		if (stub_after_fork(client.get()) != -EMFILE)
			return 1;
		outcome kept;
		client.ask("abc.example", kept, 500);
		client.pass(500);
		if (kept.calls != 1 || kept.status >= 0 || kept.has_reply)
			return 2;
		setrlimit(RLIMIT_NOFILE, &limit);
		if (stub_after_fork(client.get()) != 0)
			return 3;
		client.ask("abc.example", kept);
		client.until([&] { return kept.calls == 2; });
		return kept.is_listed() ? 0 : 4;
	}));
	CHECK(other.wait() == 0);
}

TEST_CASE("children do not repeat each other's ids", "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	outcome before;
	client.server(server);
	client.ask("before.example", before); // now the parent holds random bytes
	client.until_told(before);

	for (unsigned i = 0; i < 2; i++) {
		child other(contained([&] {
			if (stub_after_fork(client.get()) != 0)
				return 1;
			for (unsigned k = 0; k < 4; k++) {
				outcome kept;
				client.ask("of-child.example", kept);
				client.until_told(kept);
			}
			return 0;
		}));
		REQUIRE(other.wait() == 0);
	}
	const std::vector<query> came = server.queries();
	REQUIRE(came.size() == 9);
	unsigned same = 0;
	for (unsigned k = 1; k <= 4; k++)
		same += came[k].id() == came[k + 4].id();
	CHECK(same < 4);
}

TEST_CASE("a child that holds our sockets does not make us spin", "[client][stub]")
{
	auto first = std::make_shared<query>();
	resolver server([first](query &asked) {
		if (asked.number == 1) {
			*first = asked;
			return;
		}
		// To the socket that the parent has closed, and the child has not.
		first->reply(first->answer_a({ 127, 0, 0, 66 }));
		say_listed(asked);
	});
	asking client;
	outcome kept;
	signal_pipe done;
	client.server(server);
	client.ask("abc.example", kept);
	client.until_seen(server, 1);

	child other(contained([&] {
		done.take();
		return 0;
	}));
	client.pass(1000);
	client.until_told(kept);
	CHECK(kept.reply.a[0][3] == 2);
	CHECK(!client.is_readable());
	done.give();
	CHECK(other.wait() == 0);
}
