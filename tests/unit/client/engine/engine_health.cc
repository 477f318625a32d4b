/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "client-lib/engine/health.h"

#include "client-lib/cache/cache_table.h"
#include "client-lib/engine/engine.h"

#include "tests/unit/client/engine/engine_fixture.hh"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/unit/client/clock.hh"

namespace
{
struct row {
	world::trouble_kind trouble;
	dnsblv6_zone_state state;
};

void add_bitmap(inquiry &client)
{
	client.dns.add_bitmap_zone("bl6.example", DNSBLV6_STYLE_DOTTED);
	client.dns.list("bl6.example", "192.0.2.1");
	client.set("zones", "bl6.example").set("failure-ttl", "10");
}

void add_classic(inquiry &client)
{
	client.dns.add_classic_zone("bl.example");
	client.dns.list_classic("bl.example", "192.0.2.1", { 127, 0, 0, 2 });
	client.set("zones", "bl.example").set("failure-ttl", "10");
}

bool is_unprobed(engine *tested)
{
	return !engine_is_probing(tested);
}

// Time alone ends a question: no reply comes, or none that is taken for one.
bool is_mute(world::trouble_kind trouble)
{
	switch (trouble) {
	case world::SILENT:
	case world::FOREIGN:
	case world::WRONG_ID:
	case world::CUT:
	case world::LOOP:
	case world::HUGE_:
	case world::TC:
		return true;
	default:
		return false;
	}
}

// What is wrong from the first question on, and what the zone is then.
dnsblv6_zone_state fall_ill(inquiry &client, world::trouble_kind trouble)
{
	client.dns.trouble = trouble;
	// Some of it is found out at once, some by waiting for replies that do not come. Where
	// replies tell, a slow machine may not look like silence: time stands still.
	told kept;
	client.ask("192.0.2.1", kept, 30000);
	const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
	while (kept.calls == 0 && std::chrono::steady_clock::now() < end) {
		pollfd waiting = { engine_fd(client.get()), POLLIN, 0 };
		const bool is_quiet = poll(&waiting, 1, 50) == 0;
		client.pass(is_quiet && is_mute(trouble) ? 500 : 0);
	}
	REQUIRE(kept.calls == 1);
	CHECK(kept.result.verdict == DNSBLV6_UNKNOWN);
	CHECK(kept.result.zones_failed == 1);
	CHECK(kept.result.zones_listed == 0);
	return client.state();
}

// All of it, at once.
void look_again(inquiry &client)
{
	engine_probe(client.get(), client.now_ms);
	client.until_quiet([](engine *tested) { return !engine_is_probing(tested); });
}

// All that is wrong goes away: a probe finds out in its time.
void recover(inquiry &client)
{
	client.dns.trouble = world::NONE;
	test_clock::pass(3601);
	client.check("192.0.2.1");
	client.until_quiet([](engine *tested) { return !engine_is_probing(tested); });
	CHECK(client.state() == DNSBLV6_ZONE_OK);
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
}
} // namespace

TEST_CASE("a bitmap zone falls ill with each trouble, lists no address, and recovers",
	  "[client][engine][health]")
{
	const row rows = GENERATE(row{ world::SILENT, DNSBLV6_ZONE_UNREACHABLE },
				  row{ world::SERVFAIL, DNSBLV6_ZONE_UNREACHABLE },
				  row{ world::REFUSED, DNSBLV6_ZONE_BLOCKED },
				  row{ world::PROHIBITED, DNSBLV6_ZONE_BLOCKED },
				  row{ world::ONE_ADDRESS, DNSBLV6_ZONE_WILDCARDED },
				  row{ world::WILDCARD_A, DNSBLV6_ZONE_WILDCARDED },
				  row{ world::ALL_LISTED, DNSBLV6_ZONE_LISTS_WORLD },
				  row{ world::TYPO, DNSBLV6_ZONE_BLOCKED },
				  row{ world::NO_AAAA, DNSBLV6_ZONE_FILTERED },
				  row{ world::GONE, DNSBLV6_ZONE_UNREACHABLE },
				  row{ world::TWO_AAAA, DNSBLV6_ZONE_WILDCARDED },
				  row{ world::CNAME, DNSBLV6_ZONE_WILDCARDED },
				  row{ world::FOREIGN, DNSBLV6_ZONE_UNREACHABLE },
				  row{ world::WRONG_ID, DNSBLV6_ZONE_UNREACHABLE },
				  row{ world::CUT, DNSBLV6_ZONE_UNREACHABLE },
				  row{ world::LOOP, DNSBLV6_ZONE_UNREACHABLE },
				  row{ world::HUGE_, DNSBLV6_ZONE_UNREACHABLE },
				  row{ world::TC, DNSBLV6_ZONE_UNREACHABLE });
	CAPTURE(rows.trouble);
	inquiry client;
	add_bitmap(client);
	CHECK(fall_ill(client, rows.trouble) == rows.state);
	CHECK(client.lines.size() == 1);

	// Peek says so without a question, in every state but FILTERED for a block not seen.
	if (rows.state != DNSBLV6_ZONE_FILTERED) {
		const uint64_t before = client.stat("questions");
		dnsblv6_result result;
		REQUIRE(client.look("198.51.100.1", result) == 0);
		CHECK(result.verdict == DNSBLV6_UNKNOWN);
		CHECK(client.check("198.51.100.1").queries == 0);
		CHECK(client.stat("questions") == before);
	}
	recover(client);
	CHECK(client.lines.size() == 2);
}

TEST_CASE("a classic zone falls ill with each trouble, lists no address, and recovers",
	  "[client][engine][health]")
{
	const row rows = GENERATE(row{ world::SILENT, DNSBLV6_ZONE_UNREACHABLE },
				  row{ world::SERVFAIL, DNSBLV6_ZONE_UNREACHABLE },
				  row{ world::REFUSED, DNSBLV6_ZONE_BLOCKED },
				  row{ world::PROHIBITED, DNSBLV6_ZONE_BLOCKED },
				  row{ world::ONE_ADDRESS, DNSBLV6_ZONE_WILDCARDED },
				  row{ world::WILDCARD_A, DNSBLV6_ZONE_WILDCARDED },
				  row{ world::ALL_LISTED, DNSBLV6_ZONE_LISTS_WORLD },
				  row{ world::TYPO, DNSBLV6_ZONE_BLOCKED },
				  row{ world::GONE, DNSBLV6_ZONE_UNREACHABLE },
				  row{ world::FOREIGN, DNSBLV6_ZONE_UNREACHABLE },
				  row{ world::WRONG_ID, DNSBLV6_ZONE_UNREACHABLE },
				  row{ world::CUT, DNSBLV6_ZONE_UNREACHABLE },
				  row{ world::HUGE_, DNSBLV6_ZONE_UNREACHABLE },
				  row{ world::TC, DNSBLV6_ZONE_UNREACHABLE });
	CAPTURE(rows.trouble);
	inquiry client;
	add_classic(client);
	CHECK(fall_ill(client, rows.trouble) == rows.state);
	recover(client);
}

TEST_CASE("what a zone said while it was sick is void when it has recovered",
	  "[client][engine][health]")
{
	inquiry client;
	add_classic(client);
	REQUIRE(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	REQUIRE(client.check("192.0.2.2").verdict == DNSBLV6_CLEAR);

	client.dns.trouble = world::ALL_LISTED;
	client.check("198.51.100.1"); // whatever it says now
	look_again(client);
	REQUIRE(client.state() == DNSBLV6_ZONE_LISTS_WORLD);
	client.dns.trouble = world::NONE;
	look_again(client);
	REQUIRE(client.state() == DNSBLV6_ZONE_OK);

	dnsblv6_result result;
	CHECK(client.look("198.51.100.1", result) == -EAGAIN);
	CHECK(client.check("198.51.100.1").verdict == DNSBLV6_CLEAR);
	// When it fell ill is not known, so what it said long before goes too.
	CHECK(client.check("192.0.2.2").queries == 1);
	CHECK(client.check("192.0.2.2").queries == 0);
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
}

TEST_CASE("what an emptied zone denied is void as soon as that is found",
	  "[client][engine][health]")
{
	inquiry client;
	add_classic(client);
	REQUIRE(client.check("192.0.2.2").verdict == DNSBLV6_CLEAR);
	client.dns.trouble = world::EMPTIED;
	client.check("192.0.2.1"); // nothing tells that this is wrong
	look_again(client);
	REQUIRE(client.state() == DNSBLV6_ZONE_UNREACHABLE);
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_UNKNOWN);
	client.dns.trouble = world::NONE;
	look_again(client);
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
}

TEST_CASE("an answer that was asked for while the zone was sick is asked for once more",
	  "[client][engine][health]")
{
	inquiry client;
	add_classic(client);
	REQUIRE(client.check("192.0.2.2").verdict == DNSBLV6_CLEAR);
	client.dns.trouble = world::ALL_LISTED;
	client.dns.delay_ms = 600000; // the reply to this one comes when all is over
	told late;
	const unsigned before = client.dns.answered;
	client.ask("198.51.100.1", late, 20000);
	while (client.dns.answered == before)
		client.pass(0);
	client.dns.delay_ms = 0;
	look_again(client);
	REQUIRE(client.state() == DNSBLV6_ZONE_LISTS_WORLD);
	client.dns.trouble = world::NONE;
	look_again(client);
	REQUIRE(client.state() == DNSBLV6_ZONE_OK);
	client.server().hurry();
	client.until_told(late);
	CHECK(late.result.verdict == DNSBLV6_CLEAR);
	CHECK(client.check("198.51.100.1").verdict == DNSBLV6_CLEAR);
}

TEST_CASE("answers from before a silence count again after it", "[client][engine][health]")
{
	inquiry client;
	add_classic(client);
	REQUIRE(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	client.dns.trouble = world::SERVFAIL;
	look_again(client);
	REQUIRE(client.state() == DNSBLV6_ZONE_UNREACHABLE);
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	client.dns.trouble = world::NONE;
	look_again(client);
	const dnsblv6_result again = client.check("192.0.2.1");
	CHECK(again.verdict == DNSBLV6_LISTED);
	CHECK(again.queries == 0);
}

TEST_CASE("a zone that was sick for an hour is well 30 seconds after the end of it",
	  "[client][engine][health]")
{
	const auto trouble = GENERATE(world::SILENT, world::SERVFAIL, world::GONE);
	CAPTURE(trouble);
	inquiry client;
	add_classic(client);
	REQUIRE(fall_ill(client, trouble) == DNSBLV6_ZONE_UNREACHABLE);
	// It is asked about all the time, and probed.
	for (int passed_s = 0; passed_s < 3600; passed_s += 120) {
		test_clock::pass(120);
		told kept;
		client.ask("198.51.100.1", kept, 30000);
		while (kept.calls == 0)
			client.pass(500);
	}
	client.dns.trouble = world::NONE;
	test_clock::pass(30);
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	CHECK(client.state() == DNSBLV6_ZONE_OK);
}

TEST_CASE("a zone that is sick to the daemon is asked again when its probe is due",
	  "[client][engine][health]")
{
	char directory[] = "/tmp/client-engine-XXXXXX";
	REQUIRE(mkdtemp(directory) != nullptr);
	{
		inquiry writer, reader;
		add_classic(writer);
		writer.set("shared", directory).set("role", "writer");
		writer.dns.trouble = world::REFUSED;
		writer.check("192.0.2.1");
		REQUIRE(writer.state() == DNSBLV6_ZONE_BLOCKED);

		add_classic(reader);
		reader.set("shared", directory);
		// As dnsblv6-cached hands it out, which is at work. Tests before this one have made
		// the clock of caches run ahead of that of engines.
		cache_beat(writer.get()->all.cache, static_cast<int64_t>(cache_clock_s()) * 1000);
		engine_take_table(reader.get(), engine_shared_fd(writer.get()));
		dnsblv6_result result;
		CHECK(reader.look("192.0.2.1", result) == 0);
		CHECK(result.zones_failed == 1);
		CHECK(reader.check("192.0.2.1").verdict == DNSBLV6_UNKNOWN);
		CHECK(reader.server().count() == 0);
		test_clock::pass(11);
		CHECK(reader.look("192.0.2.1", result) == -EAGAIN);
		CHECK(reader.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	}
	for (const auto &entry : std::filesystem::directory_iterator(directory))
		std::filesystem::remove(entry.path());
	CHECK(std::filesystem::remove(directory));
}

namespace
{
// What the other process has found, as both share it.
void share(inquiry &client, inquiry &other)
{
	for (cache_zone_part part : { CACHE_ZONE_EVIDENCE, CACHE_ZONE_WORD })
		cache_zone_set(client.get()->all.cache, 0, part,
			       cache_zone_get(other.get()->all.cache, 0, part));
}
} // namespace

TEST_CASE("what a process found in an outage that another saw the end of is not believed later",
	  "[client][engine][health]")
{
	inquiry client, other;
	add_bitmap(client);
	add_bitmap(other);
	REQUIRE(fall_ill(client, world::SILENT) == DNSBLV6_ZONE_UNREACHABLE);
	client.dns.trouble = world::NONE;
	REQUIRE(other.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	share(client, other);
	test_clock::pass(3600);
	client.lines.clear();
	client.check("192.0.2.1");
	client.until_quiet(is_unprobed);
	CHECK(client.state() == DNSBLV6_ZONE_OK);
	CHECK(client.lines.empty());
}

TEST_CASE("what names a zone has is asked again when another process found others",
	  "[client][engine][health]")
{
	inquiry client, other;
	add_bitmap(client);
	other.dns.add_bitmap_zone("bl6.example", DNSBLV6_STYLE_FLAT);
	other.set("zones", "bl6.example");
	client.check("192.0.2.1");
	other.check("192.0.2.1");
	share(client, other);
	test_clock::pass(3600);
	client.check("192.0.2.1");
	client.until_quiet(is_unprobed);
	CHECK(client.asked("_dnsblv6.bl6.example") == 2);
	CHECK(client.state() == DNSBLV6_ZONE_OK);
}

TEST_CASE("where AAAA are dropped, the classic zone of the metadata is asked",
	  "[client][engine][health]")
{
	const auto trouble =
		GENERATE(world::NO_AAAA, world::NO_CANARIES, world::FORGED_DENIAL, world::DNS64);
	CAPTURE(trouble);
	inquiry client;
	client.dns.add_bitmap_zone("bl6.example", DNSBLV6_STYLE_FLAT, "bl.example");
	client.dns.add_classic_zone("bl.example");
	client.dns.list("bl6.example", "192.0.2.1");
	client.dns.list_classic("bl.example", "192.0.2.1", { 127, 0, 0, 2 });
	client.set("zones", "bl6.example");
	client.dns.trouble = trouble;

	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	CHECK(client.check("192.0.2.2").verdict == DNSBLV6_CLEAR);
	CHECK(client.state() == DNSBLV6_ZONE_FILTERED);
	CHECK(client.asked("1.2.0.192.bl.example") == 1);
	CHECK(client.asked("c000020.bl6.example") == 0);
	const size_t before = client.server().count();
	dnsblv6_result result;
	REQUIRE(client.look("192.0.2.1", result) == 0);
	CHECK(result.verdict == DNSBLV6_LISTED);
	CHECK(client.server().count() == before);
}

TEST_CASE("one bitmap that is dropped is asked for in the classic way", "[client][engine][health]")
{
	inquiry client;
	client.dns.add_bitmap_zone("bl6.example", DNSBLV6_STYLE_DOTTED, "bl.example");
	client.dns.add_classic_zone("bl.example");
	client.dns.list("bl6.example", "192.0.2.1");
	client.dns.list_classic("bl.example", "192.0.2.1", { 127, 0, 0, 2 });
	client.set("zones", "bl6.example");
	client.check("203.0.113.1");
	CHECK(client.state() == DNSBLV6_ZONE_OK);
	client.dns.trouble = world::NO_AAAA;
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	CHECK(client.check("192.0.2.3").verdict == DNSBLV6_CLEAR);
	CHECK(client.asked("0.2.0.192.bl6.example") == 1);
	CHECK(client.asked("1.2.0.192.bl.example") == 1);
}

TEST_CASE("a zone that lies, refuses or vanishes after it was well lists no further address",
	  "[client][engine][health]")
{
	const auto trouble =
		GENERATE(world::ONE_ADDRESS, world::WILDCARD_A, world::TYPO, world::REFUSED,
			 world::PROHIBITED, world::SERVFAIL, world::GONE);
	CAPTURE(trouble);
	inquiry client;
	add_classic(client);
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	client.dns.trouble = trouble;
	const dnsblv6_result result = client.check("198.51.100.1");
	CHECK(result.verdict == DNSBLV6_UNKNOWN);
	CHECK(result.zones_failed == 1);
	test_clock::pass(11);
	client.check("198.51.100.2");
	recover(client);
}

TEST_CASE("a list that begins to list the world does so until the next probe",
	  "[client][engine][health]")
{
	inquiry client;
	add_classic(client);
	client.set("probe-interval", "60");
	client.check("192.0.2.1");
	client.dns.trouble = world::ALL_LISTED;
	test_clock::pass(61);
	client.check("198.51.100.1");
	client.until_quiet([](engine *tested) { return !engine_is_probing(tested); });
	CHECK(client.state() == DNSBLV6_ZONE_LISTS_WORLD);
	CHECK(client.check("198.51.100.1").verdict == DNSBLV6_UNKNOWN);
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_UNKNOWN); // what is cached, too
}

TEST_CASE("a zone that is well costs two questions an hour", "[client][engine][health]")
{
	inquiry client;
	add_bitmap(client);
	client.set("ranges", "no");
	client.check("192.0.2.1");
	// Metadata, both families, five canaries, a name that cannot exist; and the block itself.
	const uint64_t whole = client.stat("questions");
	CHECK(whole == 10);
	for (int hour = 1; hour <= 3; hour++) {
		const uint64_t before = client.stat("questions");
		test_clock::pass(3601);
		client.check("192.0.2.1");
		client.until_quiet([](engine *tested) { return !engine_is_probing(tested); });
		// 127.0.0.2, and a name that cannot exist; and the block.
		CHECK(client.stat("questions") - before == 3);
	}
	const uint64_t before = client.stat("questions");
	test_clock::pass(86401);
	client.check("192.0.2.1");
	client.until_quiet([](engine *tested) { return !engine_is_probing(tested); });
	CHECK(client.stat("questions") - before == whole);
}

TEST_CASE("a zone that was well and is parked lists no address", "[client][engine][health]")
{
	inquiry client;
	add_bitmap(client);
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	// As a bitmap 2000::9 says of hosts 1 and 2 what the test points say.
	client.dns.trouble = world::ONE_ADDRESS;
	test_clock::pass(3601);
	client.check("203.0.113.1"); // which is when it is probed
	client.until_quiet([](engine *tested) { return !engine_is_probing(tested); });
	CHECK(client.state() == DNSBLV6_ZONE_WILDCARDED);
	CHECK(client.check("198.51.100.2").verdict == DNSBLV6_UNKNOWN);
}

TEST_CASE("silence makes a zone unreachable, whose cached answers still hold",
	  "[client][engine][health]")
{
	inquiry client;
	add_classic(client);
	client.set("probe-interval", "0");
	client.check("192.0.2.1");
	client.dns.trouble = world::SERVFAIL;
	for (int i = 1; i <= 5; i++) {
		client.check("198.51.100." + std::to_string(i));
		test_clock::pass(3);
	}
	CHECK(client.state() == DNSBLV6_ZONE_UNREACHABLE);
	REQUIRE(client.lines.size() == 1);
	CHECK(client.lines[0] == "4 [bl.example] zone fell ill, state=unreachable was=ok "
				 "(the resolver failed)");
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	recover(client);
	REQUIRE(client.lines.size() == 2);
	CHECK(client.lines[1] == "6 [bl.example] zone recovered, state=ok was=unreachable "
				 "(test points are right)");
}

TEST_CASE("a dead list costs one question in each pause, and delays no other zone",
	  "[client][engine][health]")
{
	inquiry client;
	add_classic(client);
	client.dns.add_classic_zone("dead.example");
	client.set("zones", "bl.example dead.example");
	client.check("192.0.2.1");
	// A zone that the world does not have.
	inquiry other;
	add_classic(other);
	other.set("zones", "bl.example gone.invalid");
	const dnsblv6_result result = other.check("192.0.2.1");
	CHECK(result.verdict == DNSBLV6_LISTED);
	CHECK(result.zones_answered == 1);
	CHECK(result.zones_failed == 2);
	const size_t before = other.server().count();
	CHECK(other.check("192.0.2.7").queries == 1);
	CHECK(other.server().count() == before + 1);
}

TEST_CASE("negative answers without a SOA are none in a bitmap zone", "[client][engine][health]")
{
	inquiry client;
	add_bitmap(client);
	client.check("192.0.2.1");
	client.dns.trouble = world::NO_SOA;
	CHECK(client.check("198.51.100.1").verdict == DNSBLV6_UNKNOWN);
}

TEST_CASE("a classic zone whose denials have lost their SOA is believed while its test points are "
	  "right",
	  "[client][engine][health]")
{
	inquiry client;
	add_classic(client);
	client.check("192.0.2.1");
	client.dns.trouble = world::NO_SOA;
	test_clock::pass(11);
	CHECK(client.check("198.51.100.1").verdict == DNSBLV6_UNKNOWN);
	// It was doubted, and so it is probed with the next one.
	CHECK(client.check("198.51.100.2").verdict == DNSBLV6_UNKNOWN);
	client.until_quiet(is_unprobed);
	CHECK(client.stat("probes") == 2);
	CHECK(client.check("198.51.100.3").verdict == DNSBLV6_CLEAR);
	test_clock::pass(HEALTH_LOOK_S - 1);
	CHECK(client.check("198.51.100.4").verdict == DNSBLV6_CLEAR);
	CHECK(client.check("198.51.100.5").verdict == DNSBLV6_CLEAR);
	client.until_quiet(is_unprobed);
	CHECK(client.stat("probes") == 3);
	test_clock::pass(HEALTH_LOOK_S - 1);
	CHECK(client.check("198.51.100.6").verdict == DNSBLV6_CLEAR);
}

TEST_CASE("empty answers about addresses are doubted where the zone denies in another way",
	  "[client][engine][health]")
{
	inquiry client;
	add_classic(client);
	client.check("192.0.2.1");
	client.dns.trouble = world::NO_DATA;
	test_clock::pass(11);
	CHECK(client.check("192.0.2.2").verdict == DNSBLV6_UNKNOWN);
	client.check("192.0.2.3");
	client.until_quiet(is_unprobed);
	CHECK(client.state() == DNSBLV6_ZONE_UNREACHABLE);
	client.dns.trouble = world::NONE;
	test_clock::pass(HEALTH_PAUSE_S);
	CHECK(client.check("192.0.2.3").verdict == DNSBLV6_CLEAR);
}

TEST_CASE("a zone that listed many and lists none any more is probed", "[client][engine][health]")
{
	inquiry client;
	client.dns.add_classic_zone("bl.example");
	client.set("zones", "bl.example");
	for (int i = 0; i < 100; i++)
		client.dns.list_classic("bl.example", "192.0.2." + std::to_string(i),
					{ 127, 0, 0, 2 });
	for (int i = 0; i < 50; i++) {
		REQUIRE(client.check("192.0.2." + std::to_string(i)).verdict == DNSBLV6_LISTED);
		REQUIRE(client.check("198.51.100." + std::to_string(i)).verdict == DNSBLV6_CLEAR);
	}
	test_clock::pass(100);
	CHECK(client.stat("probes") == 1);
	client.dns.trouble = world::EMPTIED;
	unsigned clear = 0;
	for (int i = 50; i < 100; i++)
		clear += client.check("192.0.2." + std::to_string(i)).verdict == DNSBLV6_CLEAR;
	CHECK(clear < 40);
	CHECK(client.state() == DNSBLV6_ZONE_UNREACHABLE);

	client.dns.trouble = world::NONE;
	test_clock::pass(30);
	CHECK(client.check("192.0.2.60").verdict == DNSBLV6_LISTED);
}

TEST_CASE("a list whose IPv6 test point fails is not probed by every IPv6 client",
	  "[client][engine][health]")
{
	inquiry client;
	add_classic(client);
	client.check("192.0.2.1");
	client.dns.trouble = world::SERVFAIL_IPV6;
	CHECK(client.check("2001:db8::1").verdict == DNSBLV6_UNKNOWN);
	CHECK(client.state() == DNSBLV6_ZONE_OK);
	const size_t before = client.server().count();
	CHECK(client.check("2001:db8::2").verdict == DNSBLV6_UNKNOWN);
	CHECK(client.server().count() == before);
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	client.dns.trouble = world::NONE;
	test_clock::pass(11);
	CHECK(client.check("2001:db8::2").verdict == DNSBLV6_CLEAR);
}

TEST_CASE("an IPv6 client is not believed to be listed by a list of the world",
	  "[client][engine][health]")
{
	inquiry client;
	add_classic(client);
	client.dns.list_classic("bl.example", "2001:db8:7f00:1::", { 127, 0, 0, 2 });
	client.dns.list_classic("bl.example", "2001:db8::1", { 127, 0, 0, 2 });
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	CHECK(client.check("2001:db8::1").verdict == DNSBLV6_UNKNOWN);
	CHECK(client.state() == DNSBLV6_ZONE_LISTS_WORLD);
}

// ---- programs that peek first ----

TEST_CASE("a peek says that work is due, and a submit does it", "[client][engine][api]")
{
	world dns;
	dns.add_bitmap_zone("bl6.example", DNSBLV6_STYLE_DOTTED);
	dns.list("bl6.example", "192.0.2.1");
	resolver server(dns.script());
	const std::string servers =
		"127.0.0.1@" + std::to_string(ntohs(server.address().sin6_port));
	dnsblv6 *client = nullptr;
	REQUIRE(dnsblv6_new(&client) == 0);
	REQUIRE(dnsblv6_set(client, "zones", "bl6.example") == 0);
	REQUIRE(dnsblv6_set(client, "servers", servers.c_str()) == 0);
	REQUIRE(dnsblv6_set(client, "attempt-timeout", "30s") == 0);
	REQUIRE(dnsblv6_start(client) == 0);
	const dnsblv6_ip address = ip("192.0.2.1");
	dnsblv6_result result;
	REQUIRE(dnsblv6_check(client, &address, 60000, &result) == 0);
	CHECK(result.is_due == 0);
	REQUIRE(dnsblv6_peek(client, &address, &result) == 0);
	CHECK(result.is_due == 0);

	test_clock::pass(2000); // of 2100
	REQUIRE(dnsblv6_peek(client, &address, &result) == 0);
	CHECK(result.verdict == DNSBLV6_LISTED);
	CHECK(result.is_due == 1);
	told kept;
	REQUIRE(dnsblv6_submit(client, &address, 0, 60000, keep_result, &kept, nullptr) == 0);
	const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
	do {
		pollfd waiting = { dnsblv6_fd(client), POLLIN, 0 };
		poll(&waiting, 1, 100);
		dnsblv6_process(client);
		REQUIRE(dnsblv6_peek(client, &address, &result) == 0);
	} while (result.is_due == 1 && std::chrono::steady_clock::now() < end);
	CHECK(result.is_due == 0);
	CHECK(result.ttl_s > 2000);
	CHECK(kept.calls == 1);
	CHECK(kept.result.zones_cached == 1);
	dnsblv6_free(client);
}

// ---- processes that live for one request ----

namespace
{
enum outcome { AT_ONCE, WAITED, LISTED, CLEAR, UNKNOWN, BROKEN };

outcome outcome_of(const told &kept)
{
	switch (kept.result.verdict) {
	case DNSBLV6_LISTED:
		return LISTED;
	case DNSBLV6_CLEAR:
		return CLEAR;
	default:
		return UNKNOWN;
	}
}

// What such a process does; time passes for it alone. step_ms: what passes with each reply.
outcome ask_and_end(inquiry &client, const std::string &address, int64_t timeout_ms,
		    int64_t step_ms)
{
	const topic asked = about(address);
	const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
	told kept;
	uint64_t id = 0;
	if (engine_after_fork(client.get(), true) != 0 ||
	    engine_start(client.get(), &asked, 0, client.now_ms, client.now_ms + timeout_ms,
			 keep_result, &kept, &id) != 0)
		return BROKEN;
	engine_process(client.get(), client.now_ms);
	if (kept.calls > 0)
		return outcome_of(kept) == UNKNOWN ? AT_ONCE : outcome_of(kept);
	for (int64_t left_ms = timeout_ms; left_ms > 0 && kept.calls == 0; left_ms -= step_ms) {
		const bool is_silent = client.dns.trouble == world::SILENT;
		pollfd waiting = { engine_fd(client.get()), POLLIN, 0 };
		while (!is_silent && poll(&waiting, 1, 100) == 0 &&
		       std::chrono::steady_clock::now() < end)
			;
		client.pass(step_ms);
	}
	if (kept.calls == 0)
		return BROKEN;
	return outcome_of(kept) == UNKNOWN ? WAITED : outcome_of(kept);
}

outcome run_process(inquiry &client, const std::string &address, int64_t timeout_ms,
		    int64_t step_ms)
{
	const pid_t pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0)
		_exit(ask_and_end(client, address, timeout_ms, step_ms));
	int status = 0;
	REQUIRE(waitpid(pid, &status, 0) == pid);
	REQUIRE(WIFEXITED(status));
	REQUIRE(WEXITSTATUS(status) < BROKEN);
	return static_cast<outcome>(WEXITSTATUS(status));
}

std::string client_address(int number)
{
	return "198.51." + std::to_string(number) + ".1"; // a block for each
}
} // namespace

TEST_CASE("of 200 short processes only a few wait for a silent zone, and all see it return",
	  "[client][engine][health]")
{
	const bool is_probed = GENERATE(true, false);
	CAPTURE(is_probed);
	inquiry client;
	add_bitmap(client);
	client.get();
	if (is_probed)
		REQUIRE(client.check("203.0.113.1").verdict == DNSBLV6_CLEAR);
	client.dns.trouble = world::SILENT;

	int waited = 0;
	for (int i = 0; i < 200; i++) {
		CAPTURE(i);
		const outcome found = run_process(client, client_address(i), 2000, 500);
		REQUIRE((found == AT_ONCE || found == WAITED));
		waited += found == WAITED;
		if (i < HEALTH_FAILURES_MIN)
			CHECK(found == WAITED);
		test_clock::pass(found == WAITED ? 2 : 1);
	}
	// Three and a half minutes: five to find out, then probes after 10 and every 20 seconds.
	CHECK(client.state() == DNSBLV6_ZONE_UNREACHABLE);
	CHECK(waited >= HEALTH_FAILURES_MIN + 2);
	CHECK(waited <= HEALTH_FAILURES_MIN + 12);

	client.dns.trouble = world::NONE;
	test_clock::pass(HEALTH_PAUSE_S);
	CHECK(run_process(client, "192.0.2.1", 2000, 100) == LISTED);
	CHECK(client.state() == DNSBLV6_ZONE_OK);
	for (int i = 0; i < 5; i++)
		CHECK(run_process(client, client_address(i), 2000, 100) == CLEAR);
}

TEST_CASE("short processes with too little time do not spoil a zone for those who have more",
	  "[client][engine][health]")
{
	inquiry client;
	add_bitmap(client);
	client.get();
	client.dns.trouble = world::SILENT; // to these: what comes when they have ended

	// No answer has come so far: silence is all that is known.
	for (int i = 0; i < 20; i++) {
		run_process(client, client_address(i), 20, 20);
		test_clock::pass(1);
	}
	client.dns.trouble = world::NONE;
	CHECK(run_process(client, "192.0.2.1", 2000, 50) == LISTED);
	CHECK(client.state() == DNSBLV6_ZONE_OK);

	client.dns.trouble = world::SILENT;
	for (int i = 0; i < 100; i++) {
		CAPTURE(i);
		REQUIRE(run_process(client, client_address(i), 20, 20) == WAITED);
		test_clock::pass(1);
		REQUIRE(client.state() == DNSBLV6_ZONE_OK);
	}
	client.dns.trouble = world::NONE;
	CHECK(run_process(client, client_address(200), 2000, 50) == CLEAR);
}

TEST_CASE("requests that end late for one slow name do no harm", "[client][engine][health]")
{
	inquiry client;
	add_bitmap(client);
	client.check("203.0.113.1");
	client.dns.trouble = world::SILENT; // the replies come when the requests have ended
	for (int i = 0; i < 50; i++)
		CHECK(run_process(client, "192.0.2.1", 2000, 500) == WAITED);
	CHECK(client.state() == DNSBLV6_ZONE_OK);
	client.dns.trouble = world::NONE;
	CHECK(run_process(client, "192.0.2.1", 2000, 100) == LISTED);
}

// ---- validation ----

TEST_CASE("a zone that was validated gives no answer that is not", "[client][engine][secure]")
{
	const bool is_bitmap = GENERATE(true, false);
	CAPTURE(is_bitmap);
	inquiry client;
	if (is_bitmap)
		add_bitmap(client);
	else
		add_classic(client);
	client.dns.is_secure = true;
	REQUIRE(client.check("192.0.2.1").zones_secure == 1);
	REQUIRE(client.check("198.51.100.1").verdict == DNSBLV6_CLEAR);

	client.dns.is_secure = false;
	test_clock::pass(11);
	CHECK(client.check("198.51.101.1").verdict == DNSBLV6_UNKNOWN);
	CHECK(client.check("198.51.102.1").verdict == DNSBLV6_UNKNOWN);
	client.until_quiet(is_unprobed);
	CHECK(client.state() == DNSBLV6_ZONE_INSECURE);
	REQUIRE(client.lines.size() == 1);
	CHECK(client.lines[0].find("state=insecure was=ok (answers that were not validated)") !=
	      std::string::npos);
	// What was validated counts.
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);

	client.dns.is_secure = true;
	test_clock::pass(HEALTH_PAUSE_S);
	CHECK(client.check("198.51.101.1").verdict == DNSBLV6_CLEAR);
	CHECK(client.state() == DNSBLV6_ZONE_OK);
}

TEST_CASE("a brief probe tells that AD is lost", "[client][engine][secure]")
{
	inquiry client;
	add_bitmap(client);
	client.dns.is_secure = true;
	REQUIRE(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	client.dns.is_secure = false;
	test_clock::pass(3600);
	client.check("192.0.2.1"); // cached, and a probe is due
	client.until_quiet(is_unprobed);
	CHECK(client.state() == DNSBLV6_ZONE_INSECURE);
}

TEST_CASE("a zone is not bound by AD that is not believed, or that a server merely repeats",
	  "[client][engine][secure]")
{
	const std::string why = GENERATE("not wanted", "not trusted", "no signatures");
	CAPTURE(why);
	inquiry client;
	add_classic(client);
	if (why == "not wanted")
		client.set("secure", "no");
	if (why == "not trusted")
		client.set("trusted", "none");
	client.dns.is_signed = why != "no signatures";
	client.dns.is_secure = true;
	REQUIRE(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	client.dns.is_secure = false;
	CHECK(client.check("198.51.101.1").verdict == DNSBLV6_CLEAR);
	CHECK(client.state() == DNSBLV6_ZONE_OK);
}

TEST_CASE("what has to be validated gives no other answer from the start",
	  "[client][engine][secure]")
{
	inquiry client;
	add_bitmap(client);
	client.set("secure", "yes");
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_UNKNOWN);
	CHECK(client.state() == DNSBLV6_ZONE_INSECURE);
	client.dns.is_secure = true;
	test_clock::pass(HEALTH_PAUSE_S);
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
}

TEST_CASE("a list that is not signed any more is taken for one in the end",
	  "[client][engine][secure]")
{
	const bool is_wanted = GENERATE(true, false);
	CAPTURE(is_wanted);
	inquiry client;
	add_bitmap(client);
	client.set("secure", is_wanted ? "yes" : "auto");
	client.dns.is_secure = true;
	REQUIRE(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	client.dns.is_secure = false;
	test_clock::pass(11);
	client.check("198.51.101.1");
	client.check("198.51.102.1");
	client.until_quiet(is_unprobed);
	REQUIRE(client.state() == DNSBLV6_ZONE_INSECURE);
	test_clock::pass(HEALTH_PIN_S - 600);
	CHECK(client.check("198.51.101.1").verdict == DNSBLV6_UNKNOWN);
	test_clock::pass(600);
	const dnsblv6_result last = client.check("198.51.101.1");
	CHECK(last.verdict == (is_wanted ? DNSBLV6_UNKNOWN : DNSBLV6_CLEAR));
	CHECK(client.check("198.51.102.1").verdict == last.verdict);
}
