/* SPDX-License-Identifier: GPL-3.0-or-later */
// An engine with a daemon, whose table another engine writes and whose replies the test gives.
#include "tests/unit/client/engine/engine_fixture.hh"

#include <optional>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "client-lib/cache/cache_table.h"
#include "tests/lib/tmpdir.hh"
#include "tests/unit/client/clock.hh"
#include "tests/unit/client/fake_daemon.hh"

namespace
{
void add_short_lived(inquiry &client)
{
	client.dns.add_classic_zone("bl.example");
	client.dns.list_classic("bl.example", "192.0.2.1", { 127, 0, 0, 2 });
	client.set("zones", "bl.example").set("probe-interval", "0").set("prefetch", "0");
}

struct daemon_pair {
	tmpdir directory;
	fake_daemon played{ directory.path() };
	inquiry writer, reader;

	daemon_pair()
	{
		writer.set("shared", directory.path()).set("role", "writer");
		reader.set("shared", directory.path());
		reader.dns.trouble = world::SILENT;
	}
	// With a connection, for whose greeting it waits.
	void start_reader()
	{
		std::thread daemon([this] {
			while (!played.has_caller())
				usleep(1000);
			played.accept_client();
		});
		reader.get();
		daemon.join();
	}
	// The daemon is at work. Tests before this one may have made the clock of caches run ahead.
	void beat()
	{
		reader.now_ms = static_cast<int64_t>(cache_clock_s()) * 1000;
		cache_beat(writer.get()->all.cache, reader.now_ms);
	}
	void share_table()
	{
		beat();
		engine_take_table(reader.get(), engine_shared_fd(writer.get()));
	}
	cached_request read_request()
	{
		std::optional<cached_request> request;
		for (int i = 0; i < 1000 && !request; i++) {
			engine_process(reader.get(), reader.now_ms);
			request = played.read();
			usleep(request ? 0 : 1000);
		}
		REQUIRE(request);
		return *request;
	}
	void reply(bool is_stale)
	{
		cached_reply said = {};
		said.id = read_request().id;
		said.outcome = CACHED_ANSWERED;
		said.is_listed = true;
		said.is_stale = is_stale;
		said.ttl_s = 10;
		played.say(bytes_of(said));
	}
	// What reader makes of a reply about what it does not find in the table.
	dnsblv6_result check(const std::string &address, bool is_stale)
	{
		told kept;
		reader.ask(address, kept);
		reply(is_stale);
		for (int i = 0; i < 100 && kept.calls == 0; i++) {
			usleep(1000);
			reader.pass(100);
		}
		REQUIRE(kept.calls == 1);
		return kept.result;
	}
};
} // namespace

TEST_CASE("a stale answer of the daemon is taken as long as our own options say",
	  "[client][engine][daemon]")
{
	struct row {
		const char *max_stale;
		bool has_table, is_taken;
	};
	const row r = GENERATE(row{ "0", true, false }, row{ "0", false, false },
			       row{ "60", true, false }, row{ "1h", true, true },
			       row{ "1h", false, true });
	CAPTURE(r.max_stale, r.has_table);
	daemon_pair both;
	add_short_lived(both.writer);
	add_short_lived(both.reader);
	both.writer.set("max-ttl", "60");
	both.reader.set("max-stale", r.max_stale);
	both.start_reader();
	if (r.has_table) {
		REQUIRE(both.writer.check("192.0.2.1").verdict == DNSBLV6_LISTED);
		test_clock::pass(600);
		both.share_table();
	}
	const dnsblv6_result result = both.check("192.0.2.1", true);
	CHECK(result.verdict == (r.is_taken ? DNSBLV6_LISTED : DNSBLV6_UNKNOWN));
	CHECK(result.zones_stale == (r.is_taken ? 1 : 0));
}

TEST_CASE("a fresh answer of the daemon is taken without a table", "[client][engine][daemon]")
{
	daemon_pair both;
	add_short_lived(both.reader);
	both.reader.set("max-stale", "0");
	both.start_reader();
	const dnsblv6_result result = both.check("192.0.2.1", false);
	CHECK(result.verdict == DNSBLV6_LISTED);
	CHECK(result.zones_stale == 0);
	CHECK(result.ttl_s == 10);
}

TEST_CASE("what a zone settles by its format holds however it was asked",
	  "[client][engine][daemon]")
{
	daemon_pair both;
	for (inquiry *one : { &both.writer, &both.reader }) {
		one->dns.add_bitmap_zone("bl6.example", DNSBLV6_STYLE_DOTTED);
		one->set("zones", "bl6.example");
	}
	both.start_reader();
	both.share_table();
	told kept;
	both.reader.ask("127.0.1.1", kept); // a canary
	cached_reply said = {};
	said.id = both.read_request().id;
	said.outcome = CACHED_ANSWERED;
	both.writer.check("192.0.2.1"); // the daemon has probed meanwhile
	both.beat();
	both.played.say(bytes_of(said));
	both.reader.until_told(kept);
	CHECK(kept.result.verdict == DNSBLV6_CLEAR);
	CHECK(kept.result.ttl_s == 0);
	// As it is by the own cache.
	CHECK(both.reader.check("127.0.1.1").ttl_s == 0);
}

TEST_CASE("a reply of the daemon without a TTL is one that has no end", "[client][engine][daemon]")
{
	daemon_pair both;
	both.reader.dns.add_bitmap_zone("bl6.example", DNSBLV6_STYLE_DOTTED);
	both.reader.set("zones", "bl6.example");
	both.start_reader();
	told kept;
	both.reader.ask("127.0.1.1", kept);
	cached_reply said = {};
	said.id = both.read_request().id;
	said.outcome = CACHED_ANSWERED;
	both.played.say(bytes_of(said));
	both.reader.until_told(kept);
	CHECK(kept.result.verdict == DNSBLV6_CLEAR);
	CHECK(kept.result.ttl_s == 0);
}
