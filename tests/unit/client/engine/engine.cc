/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/client/engine/engine_fixture.hh"

#include <cerrno>

#include "tests/unit/client/clock.hh"

namespace
{
// A bitmap zone and the classic zone of the same list.
void add_lists(inquiry &client, dnsblv6_style style = DNSBLV6_STYLE_DOTTED)
{
	client.dns.add_bitmap_zone("bl6.example", style, "bl.example");
	client.dns.add_classic_zone("bl.example");
	for (const char *address : { "192.0.2.1", "192.0.2.66", "2001:db8:1234:5678::" })
		client.dns.list("bl6.example", address);
	client.dns.list_classic("bl.example", "192.0.2.1", { 127, 0, 0, 2 });
	client.dns.list_classic("bl.example", "192.0.2.66", { 127, 0, 0, 2 });
	client.set("zones", "bl6.example");
}

// No fetch is open: all questions have been answered.
bool is_answered(engine *tested)
{
	const char *name;
	uint64_t value, questions = 0, replies = 0;
	for (unsigned i = 0; engine_stat_get(tested, i, &name, &value) == 0; i++) {
		if (std::string(name) == "sent-udp")
			questions = value;
		if (std::string(name) == "replies")
			replies = value;
	}
	return questions == replies;
}
} // namespace

TEST_CASE("a filter that fits no listing of a bitmap is told once", "[client][engine]")
{
	const bool is_fitting = GENERATE(true, false);
	CAPTURE(is_fitting);
	inquiry client;
	client.dns.add_bitmap_zone("bl6.example", DNSBLV6_STYLE_FLAT);
	client.dns.list("bl6.example", "192.0.2.1");
	client.set("zones", is_fitting ? "bl6.example=127.0.0.[2..4]=SBL"
				       : "bl6.example=127.0.0.[2;3]=SBL bl6.example=127.0.0.4=XBL");
	const dnsblv6_result found = client.check("192.0.2.1");
	CHECK(found.zones_listed == 1);
	test_clock::pass(90000);
	CHECK(client.check("192.0.2.129").queries > 0);
	CHECK(client.lines ==
	      (is_fitting ? std::vector<std::string>()
			  : std::vector<std::string>{ "4 [SBL,XBL] a filter fits no listing (what "
						      "a bitmap lists is 127.0.0.2)" }));
}

TEST_CASE("one question answers for 128 addresses", "[client][engine]")
{
	const auto style = GENERATE(DNSBLV6_STYLE_DOTTED, DNSBLV6_STYLE_FLAT);
	CAPTURE(style);
	inquiry client;
	add_lists(client, style);

	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	CHECK(client.state() == DNSBLV6_ZONE_OK);
	const size_t before = client.server().count();
	dnsblv6_result result;
	for (int host = 0; host < 128; host++) {
		CAPTURE(host);
		REQUIRE(client.look("192.0.2." + std::to_string(host), result) == 0);
		CHECK((result.verdict == DNSBLV6_LISTED) == (host == 1 || host == 66));
		CHECK(result.zones_cached == 1);
	}
	CHECK(client.look("192.0.2.128", result) == -EAGAIN);
	CHECK(client.check("192.0.2.77").queries == 0);
	CHECK(client.server().count() == before);
	CHECK(client.check("192.0.2.129").queries == 1);
	CHECK(client.server().count() == before + 1);
}

TEST_CASE("a /57 is a block, and an IPv4-mapped address is IPv4", "[client][engine]")
{
	inquiry client;
	add_lists(client);
	CHECK(client.check("2001:db8:1234:5678::99").verdict == DNSBLV6_LISTED);
	dnsblv6_result result;
	REQUIRE(client.look("2001:db8:1234:5679::1", result) == 0);
	CHECK(result.verdict == DNSBLV6_CLEAR);
	CHECK(client.look("2001:db8:1234:5680::1", result) == -EAGAIN);
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	REQUIRE(client.look("::ffff:192.0.2.1", result) == 0);
	CHECK(result.verdict == DNSBLV6_LISTED);
}

TEST_CASE("a sub-zone is a zone, though its negative answers have the SOA above it",
	  "[client][engine]")
{
	inquiry client;
	client.dns.add_zone("bl6.example");
	client.dns.add_bitmap_zone("dialups.bl6.example", DNSBLV6_STYLE_DOTTED, "", true);
	client.dns.list("dialups.bl6.example", "192.0.2.1");
	client.set("zones", "dialups.bl6.example");
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	CHECK(client.check("198.51.100.1").verdict == DNSBLV6_CLEAR);
	CHECK(client.state() == DNSBLV6_ZONE_OK);
}

TEST_CASE("a zone without metadata is asked the classic way", "[client][engine]")
{
	inquiry client;
	client.dns.add_classic_zone("bl.example");
	client.dns.list_classic("bl.example", "192.0.2.1", { 127, 0, 0, 4 });
	client.dns.list_classic("bl.example", "192.0.2.2", { 127, 1, 2, 200 });
	client.dns.list_classic("bl.example", "2001:db8::1", { 127, 0, 0, 2 });
	client.set("zones", "bl.example=127.0.0.[2..8]*2 bl.example=127.1.[0..9].200*5");
	CHECK(client.check("192.0.2.1").score == 2);
	CHECK(client.check("192.0.2.2").score == 5);
	CHECK(client.check("192.0.2.3").verdict == DNSBLV6_CLEAR);
	CHECK(client.check("2001:db8::1").score == 2);
	CHECK(client.check("2001:db8::2").verdict == DNSBLV6_CLEAR);
	CHECK(client.state() == DNSBLV6_ZONE_OK);
	const size_t before = client.server().count();
	CHECK(client.check("192.0.2.2").score == 5);
	CHECK(client.check("2001:db8::1").score == 2);
	CHECK(client.server().count() == before);
}

TEST_CASE("modes can be forced", "[client][engine]")
{
	inquiry bitmap, classic;
	add_lists(bitmap);
	bitmap.set("mode", "classic").set("zones", "bl.example");
	CHECK(bitmap.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	CHECK(bitmap.asked("_dnsblv6.bl.example") == 0);
	add_lists(classic);
	classic.set("mode", "bitmap").set("zones", "bl.example");
	CHECK(classic.check("192.0.2.1").verdict == DNSBLV6_UNKNOWN);
	CHECK(classic.state() == DNSBLV6_ZONE_UNREACHABLE);
}

TEST_CASE("requests for one block share one question", "[client][engine]")
{
	inquiry client;
	add_lists(client);
	client.check("203.0.113.1");
	const size_t before = client.server().count();
	told first, second, third;
	client.ask("192.0.2.1", first);
	client.ask("192.0.2.2", second);
	client.ask("192.0.2.129", third);
	client.until_told(third);
	client.until_told(second);
	client.until_told(first);
	CHECK(first.result.verdict == DNSBLV6_LISTED);
	CHECK(second.result.verdict == DNSBLV6_CLEAR);
	CHECK(first.result.queries + second.result.queries == 1);
	CHECK(client.server().count() == before + 2);
	CHECK(client.stat("fetches-joined") == 1);
}

TEST_CASE("many requests for an unprobed zone cause one probe", "[client][engine]")
{
	inquiry client;
	add_lists(client);
	told kept[20];
	for (unsigned i = 0; i < 20; i++)
		client.ask("192.0.2." + std::to_string(i), kept[i]);
	for (const told &one : kept)
		client.until_told(one);
	CHECK(kept[1].result.verdict == DNSBLV6_LISTED);
	CHECK(client.asked("_dnsblv6.bl6.example") == 1);
	CHECK(client.asked("0.2.0.192.bl6.example") == 1);
	CHECK(client.stat("probes") == 1);
}

TEST_CASE("entries can be asked one by one", "[client][engine]")
{
	inquiry client;
	add_lists(client);
	client.set("zones", "bl6.example*1 bl.example*2");
	CHECK(client.check("192.0.2.1", 2).score == 2);
	CHECK(client.state(0) == DNSBLV6_ZONE_UNPROBED);
	CHECK(client.check("192.0.2.1", 1).zones_answered == 1);
	CHECK(client.check("192.0.2.1").score == 3);
}

TEST_CASE("canaries are no listings, and cost no question", "[client][engine]")
{
	inquiry client;
	add_lists(client);
	client.check("192.0.2.1");
	const size_t before = client.server().count();
	CHECK(client.check("127.0.1.0").verdict == DNSBLV6_CLEAR);
	CHECK(client.check("127.0.4.127").verdict == DNSBLV6_CLEAR);
	CHECK(client.server().count() == before);
}

TEST_CASE("what an NSEC proves empty is not asked for", "[client][engine]")
{
	inquiry client;
	add_lists(client);
	client.dns.is_secure = true;
	client.dns.add_nsec("0.2.0.192.bl6.example", "0.113.0.203.bl6.example");
	CHECK(client.check("198.51.100.1").zones_secure == 1);
	const size_t before = client.server().count();
	dnsblv6_result result;
	REQUIRE(client.look("198.51.7.7", result) == 0);
	CHECK(result.verdict == DNSBLV6_CLEAR);
	CHECK(result.zones_secure == 1);
	CHECK(result.ttl_s > 0);
	CHECK(client.check("198.18.0.1").verdict == DNSBLV6_CLEAR);
	CHECK(client.server().count() == before);
	CHECK(client.look("192.0.2.1", result) == -EAGAIN);
	CHECK(client.stat("range-slots") > 0);
}

// The chain around 20.32.1.0/25, from the apex on.
static const char *const flat_chain[] = { "1410000.", "1418001.", "1420001.",
					  "1428000.", "1430001.", "1438000.",
					  "1440000.", "1448001.", "1450000." };

TEST_CASE("the proofs of the names beside one that was denied are learned too",
	  "[client][engine][peek]")
{
	inquiry client;
	add_lists(client, DNSBLV6_STYLE_FLAT);
	client.dns.is_secure = true;
	std::string owner;
	for (const char *next : flat_chain) {
		client.dns.add_nsec(owner + "bl6.example", next + std::string("bl6.example"));
		owner = next;
	}
	CHECK(client.check("20.32.1.1").verdict == DNSBLV6_CLEAR);
	const size_t before = client.server().count();
	dnsblv6_result result;
	for (const char *address :
	     { "20.15.0.1", "20.16.0.200", "20.20.0.1", "20.24.0.1", "20.36.0.1", "20.40.0.200",
	       "20.50.1.1", "20.56.0.200", "20.63.255.255", "20.72.0.1" }) {
		CAPTURE(address);
		REQUIRE(client.look(address, result) == 0);
		CHECK(result.verdict == DNSBLV6_CLEAR);
		CHECK(result.zones_secure == 1);
	}
	CHECK(client.server().count() == before);
	// Names are not denied, nor what the last proof says, which is one too many.
	for (const char *address : { "20.40.0.1", "20.56.0.1", "20.64.0.1", "20.79.0.1" })
		CHECK(client.look(address, result) == -EAGAIN);
}

TEST_CASE("nothing is learned from an NSEC that was not validated", "[client][engine]")
{
	inquiry client;
	add_lists(client);
	client.set("ranges", "no");
	client.dns.is_secure = true;
	client.dns.add_nsec("0.2.0.192.bl6.example", "0.113.0.203.bl6.example");
	client.check("198.51.100.1");
	dnsblv6_result result;
	CHECK(client.look("198.51.7.7", result) == -EAGAIN);
}

TEST_CASE("TTLs of 0 and of 2^31 are the least that is kept", "[client][engine]")
{
	const uint32_t ttl_s = GENERATE(0u, 0x80000000u, 0xffffffffu);
	CAPTURE(ttl_s);
	inquiry client;
	add_lists(client);
	client.dns.ttl_s = ttl_s;
	const dnsblv6_result result = client.check("192.0.2.1");
	CHECK(result.verdict == DNSBLV6_LISTED);
	CHECK(result.ttl_s <= 5);
	const size_t before = client.server().count();
	CHECK(client.check("192.0.2.66").verdict == DNSBLV6_LISTED);
	CHECK(client.server().count() == before);
	test_clock::pass(10);
	CHECK(client.check("192.0.2.66").queries == 1);
}

TEST_CASE("an answer is asked for again when its TTL is over", "[client][engine]")
{
	inquiry client;
	add_lists(client);
	client.set("probe-interval", "0");
	client.check("192.0.2.1");
	dnsblv6_result result;
	test_clock::pass(2000);
	CHECK(client.look("192.0.2.1", result) == 0);
	CHECK(result.ttl_s <= 101);
	test_clock::pass(200);
	CHECK(client.look("192.0.2.1", result) == -EAGAIN);
	CHECK(client.check("192.0.2.1").queries == 1);
	CHECK(client.check("192.0.2.1").queries == 0);
}

TEST_CASE("an answer in use is asked for again before its TTL is over", "[client][engine]")
{
	inquiry client;
	add_lists(client);
	client.set("probe-interval", "0").set("prefetch", "10");
	client.check("192.0.2.1");
	client.until_quiet(is_answered);
	test_clock::pass(2000);
	const size_t before = client.server().count();
	const dnsblv6_result result = client.check("192.0.2.1");
	CHECK(result.queries == 0);
	CHECK(result.verdict == DNSBLV6_LISTED);
	client.until_quiet(is_answered);
	CHECK(client.server().count() == before + 1);
	CHECK(client.stat("prefetches") == 1);
	dnsblv6_result fresh;
	REQUIRE(client.look("192.0.2.1", fresh) == 0);
	CHECK(fresh.ttl_s > 2000);
}

TEST_CASE("what was asked for early, and read when its TTL was over, is asked for again",
	  "[client][engine]")
{
	inquiry client;
	add_lists(client);
	client.set("probe-interval", "0").set("prefetch", "10").set("max-stale", "1h");
	client.check("192.0.2.1");
	client.until_quiet(is_answered);
	test_clock::pass(2000);
	client.dns.delay_ms = 300;
	client.check("192.0.2.1");
	pollfd waiting = { engine_fd(client.get()), POLLIN, 0 };
	REQUIRE(poll(&waiting, 1, 20000) == 1);
	test_clock::pass(2200);
	client.now_ms += 2200 * 1000;
	const dnsblv6_result result = client.check("192.0.2.1");
	CHECK(result.verdict == DNSBLV6_LISTED);
	CHECK(result.zones_stale == 0);
	CHECK(result.queries == 1);
}

TEST_CASE("a prefetch that fails changes nothing, and is not tried at every hit",
	  "[client][engine]")
{
	inquiry client;
	add_lists(client);
	client.set("probe-interval", "0");
	client.check("192.0.2.1");
	client.until_quiet(is_answered);
	client.dns.trouble = world::SERVFAIL;
	test_clock::pass(2000);
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	client.until_quiet(is_answered);
	const size_t before = client.server().count();
	for (int i = 0; i < 10; i++)
		CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	CHECK(client.server().count() == before);
}

TEST_CASE("an expired answer is served while DNS fails, and told to be stale", "[client][engine]")
{
	inquiry client;
	add_lists(client);
	client.set("probe-interval", "0").set("max-stale", "1h").set("failure-ttl", "10");
	client.check("192.0.2.1");
	test_clock::pass(2200);
	client.dns.trouble = world::SERVFAIL;
	dnsblv6_result result = client.check("192.0.2.1");
	CHECK(result.verdict == DNSBLV6_LISTED);
	CHECK(result.zones_stale == 1);
	CHECK(result.ttl_s == 10);

	const size_t before = client.server().count();
	REQUIRE(client.look("192.0.2.2", result) == 0);
	CHECK(result.verdict == DNSBLV6_CLEAR);
	CHECK(result.zones_stale == 1);
	CHECK(client.check("192.0.2.1").zones_stale == 1);
	CHECK(client.server().count() == before); // the failure is remembered

	test_clock::pass(3600);
	result = client.check("192.0.2.1");
	CHECK(result.verdict == DNSBLV6_UNKNOWN);
	CHECK(result.zones_failed == 1);

	client.dns.trouble = world::NONE;
	test_clock::pass(3600);
	client.check("192.0.2.1"); // may only find out that the zone is well again
	result = client.check("192.0.2.1");
	CHECK(result.verdict == DNSBLV6_LISTED);
	CHECK(result.zones_stale == 0);
}

TEST_CASE("an expired answer is better than none when the time is over", "[client][engine]")
{
	inquiry client;
	add_lists(client);
	client.set("probe-interval", "0");
	client.check("192.0.2.1");
	test_clock::pass(2200);
	client.dns.trouble = world::SILENT;
	const dnsblv6_result result = client.check_in_vain("192.0.2.1", 1000);
	CHECK(result.verdict == DNSBLV6_LISTED);
	CHECK(result.zones_stale == 1);
}

TEST_CASE("a failure is remembered, and then forgotten", "[client][engine]")
{
	inquiry client;
	add_lists(client);
	client.set("failure-ttl", "10");
	client.check("192.0.2.1");
	client.dns.trouble = world::SERVFAIL;
	CHECK(client.check("198.51.100.1").verdict == DNSBLV6_UNKNOWN);
	const size_t before = client.server().count();
	dnsblv6_result result;
	REQUIRE(client.look("198.51.100.1", result) == 0);
	CHECK(result.zones_failed == 1);
	CHECK(client.check("198.51.100.1").queries == 0);
	CHECK(client.server().count() == before);
	client.dns.trouble = world::NONE;
	test_clock::pass(11);
	CHECK(client.check("198.51.100.1").verdict == DNSBLV6_CLEAR);
}

TEST_CASE("a fetch goes on without waiting requests, and the next request finds the answer",
	  "[client][engine]")
{
	inquiry client;
	add_lists(client);
	client.check("203.0.113.1");
	client.dns.delay_ms = 50;
	told late, cancelled;
	client.ask("192.0.2.1", late, 10);
	CHECK(engine_cancel(client.get(), client.ask("192.0.2.129", cancelled), keep_result,
			    nullptr) == 0);
	client.pass(10);
	CHECK(late.calls == 1);
	CHECK(late.result.verdict == DNSBLV6_UNKNOWN);
	CHECK(client.stat("requests-late") == 1);
	client.until_quiet(is_answered);
	dnsblv6_result result;
	REQUIRE(client.look("192.0.2.1", result) == 0);
	CHECK(result.verdict == DNSBLV6_LISTED);
	CHECK(client.look("192.0.2.129", result) == 0);
	CHECK(cancelled.calls == 0);
}

// What is told of an answer with a TTL of 60 that is read so long after it came.
static void ask_and_read_later(inquiry &client, told &kept, int64_t later_ms)
{
	add_lists(client);
	client.check("203.0.113.1");
	client.dns.ttl_s = 60;
	client.ask("192.0.2.1", kept, 3600000);
	const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
	while (client.asked("0.2.0.192.bl6.example") == 0 && std::chrono::steady_clock::now() < end)
		poll(nullptr, 0, 1);
	pollfd waiting = { engine_fd(client.get()), POLLIN, 0 };
	poll(&waiting, 1, 20000);
	client.pass(later_ms);
}

TEST_CASE("the age of a reply that lay unread is taken from its TTL", "[client][engine]")
{
	inquiry client;
	told kept;
	ask_and_read_later(client, kept, 70000);
	CHECK(kept.calls == 0);
	client.until_told(kept);
	CHECK(kept.result.verdict == DNSBLV6_LISTED);
	CHECK(client.asked("0.2.0.192.bl6.example") == 2);
}

TEST_CASE("an answer whose TTL ends as it is read is not one without an end", "[client][engine]")
{
	inquiry client;
	told kept;
	ask_and_read_later(client, kept, 60000);
	client.until_told(kept);
	CHECK(kept.result.verdict == DNSBLV6_LISTED);
	CHECK(kept.result.ttl_s == 1);
	CHECK(client.asked("0.2.0.192.bl6.example") == 1);
}

TEST_CASE("there are no more requests than were allowed", "[client][engine]")
{
	inquiry client;
	add_lists(client);
	client.set("max-requests", "2");
	told first, second, third;
	uint64_t id;
	const topic address = about("192.0.2.3");
	const uint64_t cancelled = client.ask("192.0.2.1", first);
	client.ask("192.0.2.2", second);
	CHECK(engine_start(client.get(), &address, 0, 0, 1000, keep_result, &third, &id) ==
	      -ENOBUFS);
	CHECK(engine_cancel(client.get(), cancelled, nullptr, nullptr) == -ENOENT);
	CHECK(engine_cancel(client.get(), cancelled, keep_result, nullptr) == 0);
	CHECK(engine_cancel(client.get(), cancelled, keep_result, nullptr) == -ENOENT);
	client.ask("192.0.2.3", third);
	client.until_told(third);
	CHECK(first.calls == 0);
}

TEST_CASE("steps of the wall clock are not seen", "[client][engine]")
{
	inquiry client;
	add_lists(client);
	dnsblv6_result result;
	test_clock::wall_reads = 0;
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	CHECK(client.check("2001:db8::1").verdict == DNSBLV6_CLEAR);
	for (int64_t seconds : { 1, 100000, -200000 }) {
		test_clock::set_wall(seconds);
		CHECK(client.look("192.0.2.1", result) == 0);
		CHECK(result.verdict == DNSBLV6_LISTED);
	}
	CHECK(test_clock::wall_reads == 0);

	// It is set back by as much as has passed: an hour is seen as soon as another second is.
	test_clock::pass(90000);
	test_clock::set_wall(-90000);
	const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
	while (client.look("192.0.2.1", result) == 0 && std::chrono::steady_clock::now() < end)
		usleep(10000);
	CHECK(client.look("192.0.2.1", result) == -EAGAIN);
}

TEST_CASE("what is cached is told by engine_process(), and not before", "[client][engine]")
{
	inquiry client;
	add_lists(client);
	client.check("192.0.2.1");
	told kept;
	client.ask("192.0.2.1", kept);
	CHECK(kept.calls == 0);
	CHECK(engine_next_ms(client.get()) <= client.now_ms);
	CHECK(engine_process(client.get(), client.now_ms) == 1);
	CHECK(kept.calls == 1);
}
