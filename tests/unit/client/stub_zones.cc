/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/client/stub_fixture.hh"

#include <atomic>
#include <cerrno>
#include <deque>
#include <set>
#include <string>

#include "tests/lib/fault.hh"

namespace
{
std::string numbered(size_t number, const std::string &zone)
{
	return "n" + std::to_string(number) + "." + zone;
}
// What is asked below silent*.example is not answered, and of mostly.example one question in ten
// is.
void say_by_zone(query &asked)
{
	const std::string name = asked.name();
	const bool is_tenth =
		name.find('.') != std::string::npos && name[name.find('.') - 1] == '0';

	if (name.find(".silent") != std::string::npos ||
	    (name.find(".mostly") != std::string::npos && !is_tenth))
		return;
	say_listed(asked);
}

// Time passes when there is nothing to wait for.
void let_pass(asking &client, const resolver &server)
{
	if (!client.is_readable() && server.count() == client.stats().sent_udp)
		client.now_ms += 100;
}

// So many names were asked for.
size_t count_names(const resolver &server)
{
	std::set<std::string> names;
	for (const query &asked : server.queries())
		names.insert(asked.name());
	return names.size();
}

// Many questions of one zone.
struct crowd {
	std::deque<outcome> kept;

	void ask(asking &client, unsigned zone, const std::string &apex, unsigned count)
	{
		for (unsigned i = 0; i < count; i++)
			client.ask_zone(zone, numbered(i, apex), kept.emplace_back());
	}
	unsigned listed() const
	{
		unsigned count = 0;
		for (const outcome &one : kept)
			count += one.is_listed();
		return count;
	}
};
} // namespace

// ---- places ----

TEST_CASE("each zone has a place for each request, whatever the others have open",
	  "[client][stub][zones]")
{
	constexpr unsigned REQUESTS = 700;
	resolver silent(say_nothing);
	asking client;
	client.server(silent);
	client.config.max_requests = REQUESTS;
	client.config.max_sockets = 4;
	client.config.zone_count = 3;
	client.get();

	std::deque<outcome> kept;
	uint64_t id = 0;
	int ret = 0;
	unsigned taken = 0;
	for (; ret == 0 && taken < 10 * REQUESTS; taken += ret == 0)
		ret = client.try_to_ask(0, numbered(taken, "a.example"), kept.emplace_back(),
					LONG_MS, MESSAGE_A, &id);
	CHECK(ret == -ENOBUFS);
	CHECK(taken >= REQUESTS);
	CHECK(taken < 2 * REQUESTS);
	for (unsigned zone : { 1u, 2u }) {
		for (unsigned i = 0; i < REQUESTS; i++)
			client.ask_zone(zone, numbered(i, zone == 1 ? "b.example" : "c.example"),
					kept.emplace_back());
	}

	// What goes leaves its place to the same zone.
	stub_cancel(client.get(), id);
	CHECK(client.try_to_ask(0, "last.a.example", kept.emplace_back(), LONG_MS, MESSAGE_A,
				&id) == 0);
	CHECK(client.try_to_ask(0, "more.a.example", kept.emplace_back(), LONG_MS, MESSAGE_A,
				&id) == -ENOBUFS);
	client.pass(LONG_MS);
	CHECK(client.is_idle());
	for (unsigned i = 0; i < REQUESTS; i++)
		client.ask_zone(0, numbered(i, "a.example"), kept.emplace_back());
}

TEST_CASE("each request for a shared question takes a place of its own zone",
	  "[client][stub][zones]")
{
	resolver server(say_listed);
	asking client;
	std::deque<outcome> kept;
	uint64_t id = 0;
	client.server(server);
	client.config.max_requests = 1;
	client.config.zone_count = 2;

	client.ask_zone(1, "abc.example", kept.emplace_back());
	while (client.try_to_ask(0, "abc.example", kept.emplace_back(), LONG_MS, MESSAGE_A, &id) ==
	       0)
		;
	client.ask_zone(1, "abc.example", kept.emplace_back());
	client.until_told(kept.front());
	CHECK(server.count() == 1);
	CHECK(client.is_idle());
	client.ask_zone(0, "abc.example", kept.emplace_back());
}

// ---- time ----

TEST_CASE("the time that a question has to be answered begins when it is sent",
	  "[client][stub][zones]")
{
	resolver silent(say_nothing);
	asking client;
	outcome first, second, firm;
	client.server(silent);
	client.config.max_sockets = 1;
	client.ask("first.example", first, 1000);
	client.life_ms = 800;
	client.ask("second.example", second, 1010);
	client.life_ms = 0;
	client.ask("second.example", firm, 1010);

	client.pass(1000);
	CHECK(first.calls == 1);
	client.until_seen(silent, 2);
	client.pass(10);
	CHECK(firm.status == -ETIMEDOUT);
	CHECK(second.calls == 0);
	client.pass(789);
	CHECK(second.calls == 0);
	client.pass(1);
	CHECK(second.status == -ETIMEDOUT);
	CHECK(client.is_idle());
}

TEST_CASE("a question that was sent has no more time because it might have waited",
	  "[client][stub][zones]")
{
	resolver silent(say_nothing);
	asking client;
	outcome first, second;
	client.server(silent);
	client.life_ms = 800;
	client.ask("first.example", first);
	client.pass(500);
	client.ask("first.example", second);
	client.pass(300);
	CHECK(first.status == -ETIMEDOUT);
	CHECK(second.calls == 0);
	client.pass(500);
	CHECK(second.status == -ETIMEDOUT);
	CHECK(client.is_idle());
}

TEST_CASE("a question that is never sent ends at its deadline", "[client][stub][zones]")
{
	resolver silent(say_nothing);
	asking client;
	outcome first, second;
	client.server(silent);
	client.config.max_sockets = 1;
	client.ask("first.example", first);
	client.life_ms = 800;
	client.ask("second.example", second, 1000);

	client.pass(999);
	CHECK(second.calls == 0);
	client.pass(1);
	CHECK(stub_is_unsent(second.status));
	CHECK(client.stats().unsent == 1);
}

TEST_CASE("places that there is no memory for are refused and counted, and cost nothing else",
	  "[client][stub][zones]")
{
	resolver server(say_listed);
	asking client;
	std::deque<outcome> kept;
	client.server(server);
	client.config.max_requests = 1000;
	client.config.max_sockets = 4;
	client.get();
	uint64_t id = 0;
	unsigned asked = 0, refused = 0;

	// Memory is taken in steps: each time it is wanted it fails once.
	for (unsigned i = 0; i < 1000; i++) {
		fault::fail_at(1);
		const int ret = client.try_to_ask(0, numbered(i, "a.example"), kept.emplace_back(),
						  LONG_MS, MESSAGE_A, &id);
		const bool has_failed = fault::end();
		CHECK(ret == (has_failed ? -ENOMEM : 0));
		if (!has_failed) {
			asked++;
			continue;
		}
		refused++;
		for (unsigned n = 2; n <= 3; n++) {
			fault::fail_at(n);
			if (client.try_to_ask(0, numbered(i, "a.example"), kept.emplace_back(),
					      LONG_MS, MESSAGE_A, &id) == 0)
				asked++;
			else
				refused++;
			fault::end();
		}
	}
	CHECK(refused > 0);
	CHECK(client.stats().refused == refused);
	CHECK(client.stats().questions == asked);
	client.until([&] { return client.stats().replies == asked - client.stats().merged; });
	unsigned told = 0;
	for (const outcome &one : kept)
		told += one.is_listed();
	CHECK(told == asked);
	CHECK(client.is_idle());
}

TEST_CASE("when a question was first sent is known, also to its callback", "[client][stub][zones]")
{
	std::atomic<bool> speaks{ false };
	resolver server([&](query &asked) {
		if (speaks)
			say_listed(asked);
	});
	asking client;
	outcome sent[4];
	outcome waits;
	int64_t told_ms = 0;
	client.server(server);
	client.config.max_sockets = 4;
	const int64_t began_ms = client.now_ms;
	uint64_t ids[4];
	for (unsigned i = 0; i < 4; i++)
		ids[i] = client.ask(numbered(i, "example"), sent[i], 700);
	const uint64_t id = client.ask("waits.example", waits);
	waits.then = [&] { told_ms = stub_told_sent_ms(client.get()); };

	CHECK(stub_sent_ms(client.get(), ids[0]) == began_ms);
	CHECK(stub_sent_ms(client.get(), id) == -1);
	CHECK(stub_sent_ms(client.get(), 0) == INT64_MIN);
	client.pass(700);
	CHECK(stub_sent_ms(client.get(), ids[0]) == INT64_MIN);
	CHECK(stub_sent_ms(client.get(), id) == began_ms + 700);
	// It is asked again in its next turn, and was sent when it was.
	client.pass(1000);
	CHECK(stub_sent_ms(client.get(), id) == began_ms + 700);
	speaks = true;
	client.pass(2000);
	client.until_told(waits);
	CHECK(told_ms == began_ms + 700);
}

// ---- shares ----

TEST_CASE("a silent zone does not delay the one beside it", "[client][stub][zones]")
{
	resolver server(say_by_zone);
	asking client;
	crowd silent, well;
	client.server(server);
	client.config.zone_count = 2;
	client.config.max_requests = 300;
	client.config.max_sockets = 16;

	silent.ask(client, 0, "silent.example", 300);
	well.ask(client, 1, "well.example", 300);
	// Not even for a turn: time stands still.
	client.until([&] { return well.listed() == 300; });
	CHECK(client.stats().timeouts == 0);
	CHECK(silent.kept[0].calls == 0);
	CHECK(client.next() > 0);
}

TEST_CASE("silent zones that have all sockets give them back behind their first turn",
	  "[client][stub][zones]")
{
	resolver server(say_by_zone);
	asking client;
	crowd silent[3], well;
	client.server(server);
	client.config.zone_count = 4;
	client.config.max_requests = 300;
	client.config.max_sockets = 16;

	for (unsigned i = 0; i < 3; i++)
		silent[i].ask(client, i, "silent" + std::to_string(i) + ".example", 300);
	well.ask(client, 3, "well.example", 300);
	client.until_seen(server, 16);
	CHECK(well.listed() == 0);
	CHECK(client.next() == 1000);
	client.pass(1000);
	client.until([&] { return well.listed() == 300; });
	// Each is sent in the end, though none is answered.
	client.until([&] {
		let_pass(client, server);
		return server.count() >= 300 + 900 && count_names(server) == 300 + 900;
	});
	CHECK(client.stats().unsent == 0);
	client.pass(LONG_MS);
	for (const crowd &one : silent) {
		for (const outcome &kept : one.kept)
			CHECK(kept.status == -ETIMEDOUT);
	}
	CHECK(client.is_idle());
}

TEST_CASE("a zone that answers a tenth gets all its answers, at no cost for others",
	  "[client][stub][zones]")
{
	resolver server(say_by_zone);
	asking client;
	crowd mostly, well;
	client.server(server);
	client.config.zone_count = 2;
	client.config.max_requests = 400;
	client.config.max_sockets = 16;

	mostly.ask(client, 0, "mostly.example", 400);
	client.until([&] {
		let_pass(client, server);
		return mostly.listed() >= 20;
	});
	// By now it is known, and asked with a few sockets.
	well.ask(client, 1, "well.example", 400);
	client.until([&] { return well.listed() == 400; });
	client.until([&] {
		let_pass(client, server);
		return mostly.listed() == 40;
	});
}

TEST_CASE("a single zone that is silent has all sockets, turn after turn", "[client][stub][zones]")
{
	resolver silent(say_nothing);
	asking client;
	crowd all;
	client.server(silent);
	client.config.max_requests = 100;
	client.config.max_sockets = 16;

	all.ask(client, 0, "silent.example", 100);
	for (unsigned round = 1; round <= 5; round++) {
		client.until_seen(silent, 16 * round);
		CHECK(client.stats().sent_udp == 16 * round);
		CHECK(client.next() == 1000 << (round - 1));
		client.pass(client.next());
	}
}
