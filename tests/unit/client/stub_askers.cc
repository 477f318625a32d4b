/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/client/stub_fixture.hh"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <deque>
#include <memory>
#include <string>
#include <vector>

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
	// It is the patient one's time that is shared among turns.
	CHECK(client.next() == (brief_first ? 2000 : 700));
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

TEST_CASE("a question that a process left alone for its life is asked once more", "[client][stub]")
{
	asking client;
	outcome kept;
	client.life_ms = 5000;

	SECTION("of the server behind one that is silent")
	{
		resolver silent(say_nothing);
		resolver server(say_listed);
		client.server(silent).server(server);
		client.ask("abc.example", kept);
		client.until_seen(silent, 1);
		client.pass(8000);
		CHECK(kept.calls == 0);
		client.until_told(kept);
		CHECK(kept.is_listed());
		CHECK(server.count() == 1);
	}
	SECTION("of one that has lost it")
	{
		resolver server([](query &asked) {
			if (asked.number > 1)
				say_listed(asked);
		});
		client.server(server);
		client.ask("abc.example", kept);
		int64_t sent_ms = 0;
		kept.then = [&] { sent_ms = stub_told_sent_ms(client.get()); };
		client.until_seen(server, 1);
		client.pass(8000);
		client.until_told(kept);
		CHECK(kept.is_listed());
		CHECK(sent_ms == client.now_ms);
	}
	SECTION("and no more than once")
	{
		resolver silent(say_nothing);
		client.server(silent);
		client.ask("abc.example", kept);
		client.until_seen(silent, 1);
		client.pass(8000);
		CHECK(kept.calls == 0);
		client.until_seen(silent, 2);
		client.pass(8000);
		CHECK(kept.calls == 1);
		CHECK(kept.status == -ETIMEDOUT);
	}
}

TEST_CASE("a request that was cancelled is not called", "[client][stub]")
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

TEST_CASE("a callback that asks again with a past deadline does not loop", "[client][stub]")
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

TEST_CASE("questions beyond the sockets wait", "[client][stub]")
{
	auto held = std::make_shared<std::deque<query>>();
	std::atomic<bool> speaks{ false };
	resolver server([&speaks, held](query &asked) {
		held->push_back(asked);
		for (; speaks && !held->empty(); held->pop_front())
			say_listed(held->front());
	});
	asking client;
	const size_t sockets = client.config.max_sockets = GENERATE(4u, 512u);
	std::vector<outcome> kept(sockets + 20);
	std::vector<uint64_t> ids;
	client.server(server);
	client.config.max_requests = static_cast<uint32_t>(sockets);

	for (size_t i = 0; i < kept.size(); i++)
		ids.push_back(client.ask("n" + std::to_string(i) + ".example", kept[i], 900));
	CHECK(client.stats().sent_udp == sockets);
	client.until_seen(server, sockets);
	CHECK(client.next() > 0);

	// One that waits goes, then one in flight: the first that waits then has its turn.
	stub_cancel(client.get(), ids[sockets]);
	CHECK(client.next() > 0);
	stub_cancel(client.get(), ids[0]);
	CHECK(client.next() <= 0);
	outcome last;
	client.ask("last.example", last);
	speaks = true;
	client.process();
	CHECK(client.stats().sent_udp == sockets + 1);
	client.until([&] {
		unsigned told = 0;
		for (const outcome &one : kept)
			told += one.is_listed();
		return told == kept.size() - 2 && last.is_listed();
	});
	// Those that waited were asked in the order they came.
	const std::vector<query> came = server.queries();
	REQUIRE(came.size() == kept.size());
	CHECK(came[sockets].name() == "n" + std::to_string(sockets + 1) + ".example.");
	CHECK(client.is_idle());
	CHECK(kept[0].calls == 0);
	CHECK(kept[sockets].calls == 0);
}

TEST_CASE("a request that waits for a socket until its deadline is told so", "[client][stub]")
{
	resolver silent(say_nothing);
	asking client;
	const size_t sockets = client.config.max_sockets = GENERATE(4u, 512u);
	std::vector<outcome> kept(sockets);
	outcome late;
	client.server(silent);
	client.config.max_requests = static_cast<uint32_t>(sockets);

	for (size_t i = 0; i < kept.size(); i++)
		client.ask("n" + std::to_string(i) + ".example", kept[i]);
	client.ask("late.example", late, 500);
	client.pass(500);
	CHECK(late.calls == 1);
	CHECK(stub_is_unsent(late.status));
	CHECK(!late.has_reply);
	CHECK(client.stats().sent_udp == sockets);
	CHECK(client.stats().unsent == 1);
	// Of those that were sent it is known that nobody answers.
	client.pass(LONG_MS);
	CHECK(kept[0].status == -ETIMEDOUT);
	CHECK(!stub_is_unsent(kept[0].status));
	CHECK(client.stats().unsent == 1);
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
