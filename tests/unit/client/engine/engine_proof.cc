/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "client-lib/engine/proof.h"

#include "tests/unit/client/engine/engine_fixture.hh"

#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/client/clock.hh"

namespace
{
const char *const zone_name = "bl.example";

// Lists 192.0.2.1 and, of 100 blocks, the address 1 of each and a second one of its own.
void add(inquiry &client, bool is_bitmap)
{
	if (is_bitmap)
		client.dns.add_bitmap_zone(zone_name, DNSBLV6_STYLE_FLAT);
	else
		client.dns.add_classic_zone(zone_name);
	const auto list = [&](const std::string &address) {
		if (is_bitmap)
			client.dns.list(zone_name, address);
		else
			client.dns.list_classic(zone_name, address, { 127, 0, 0, 2 });
	};
	list("192.0.2.1");
	for (int i = 0; i < 100; i++) {
		list("203.0." + std::to_string(i) + ".1");
		list("203.0." + std::to_string(i) + "." + std::to_string(2 + i));
	}
	client.set("zones", zone_name);
}

std::string listed(int number)
{
	return "203.0." + std::to_string(number) + ".1";
}

std::string clean(int number)
{
	return "198.51." + std::to_string(number) + ".127"; // ::1 lists it
}

// Later than all that was looked at.
dnsblv6_result check_later(inquiry &client, const std::string &address)
{
	client.pass(10);
	return client.check(address);
}

void spend_credit(inquiry &client)
{
	for (unsigned i = 0; i < HEALTH_LOOK_CREDIT; i++) {
		CHECK(check_later(client, listed(static_cast<int>(i))).verdict == DNSBLV6_LISTED);
		CHECK(check_later(client, clean(static_cast<int>(i))).verdict == DNSBLV6_CLEAR);
	}
	CHECK(client.stat("looks") == HEALTH_LOOK_CREDIT);
}

// The listing has come, and what it waits for is under way.
void until_looked(inquiry &client)
{
	client.until_quiet([](engine *tested) {
		const char *name;
		uint64_t value = 0;
		for (unsigned i = 0; engine_stat_get(tested, i, &name, &value) == 0; i++) {
			if (std::string(name) == "looks")
				return value == 1;
		}
		return false;
	});
}
// A listing is held, and no reply comes to the look that it waits for.
void hold_listing(inquiry &client, told &kept)
{
	add(client, false);
	REQUIRE(client.check(clean(200)).verdict == DNSBLV6_CLEAR);
	client.dns.trouble = world::MUTE;
	client.pass(10);
	client.ask("192.0.2.1", kept, 60000);
	until_looked(client);
}
} // namespace

TEST_CASE("a zone that begins to list everything lists no address from the first answer on",
	  "[client][engine][proof]")
{
	const bool is_bitmap = GENERATE(true, false);
	const int trouble = GENERATE(world::CLOSED, world::SINKHOLE, world::REWRITTEN);
	CAPTURE(is_bitmap, trouble);
	inquiry client;
	add(client, is_bitmap);
	REQUIRE(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	REQUIRE(check_later(client, clean(200)).verdict == DNSBLV6_CLEAR);
	client.dns.trouble = trouble;
	for (int i = 0; i < 50; i++) {
		CAPTURE(i);
		const dnsblv6_result found = check_later(client, clean(i));
		CHECK(found.verdict == DNSBLV6_UNKNOWN);
		CHECK(found.zones_listed == 0);
	}
	CHECK(client.lines.size() == 1);
	CHECK(client.stat("looks") == 1);
	CHECK(client.stat("fetches-unproven") == 1);

	client.dns.trouble = world::NONE;
	test_clock::pass(30);
	for (int i = 0; i < 50; i++)
		CHECK(check_later(client, clean(i)).verdict == DNSBLV6_CLEAR);
	CHECK(check_later(client, "192.0.2.1").verdict == DNSBLV6_LISTED);
	CHECK(client.state() == DNSBLV6_ZONE_OK);
}

TEST_CASE("a listing waits one round trip for its proof, and asks for it once",
	  "[client][engine][proof]")
{
	const bool is_bitmap = GENERATE(true, false);
	CAPTURE(is_bitmap);
	inquiry client;
	add(client, is_bitmap);
	REQUIRE(client.check(clean(1)).verdict == DNSBLV6_CLEAR);
	// Asked for before the last look has ended: the probe was one.
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	CHECK(client.stat("looks") == 0);
	client.pass(10);
	const size_t before = client.server().count();
	told first;
	told second;
	client.ask(listed(1), first);
	client.ask(listed(2), second);
	client.until_told(first);
	client.until_told(second);
	CHECK(first.result.verdict == DNSBLV6_LISTED);
	CHECK(second.result.verdict == DNSBLV6_LISTED);
	CHECK(first.result.queries == 1);
	CHECK(client.server().count() == before + 4);
	CHECK(client.stat("looks") == 1);
	// What is cached needs none.
	CHECK(check_later(client, listed(1)).queries == 0);
	CHECK(client.stat("looks") == 1);
}

TEST_CASE("a zone that lists most clients is not looked at for each of them",
	  "[client][engine][proof]")
{
	const bool is_bitmap = GENERATE(true, false);
	CAPTURE(is_bitmap);
	inquiry client;
	add(client, is_bitmap);
	for (int i = 0; i < 100; i++) {
		CAPTURE(i);
		REQUIRE(check_later(client, listed(i)).verdict == DNSBLV6_LISTED);
	}
	CHECK(client.stat("looks") >= HEALTH_LOOK_CREDIT);
	CHECK(client.stat("looks") <= HEALTH_LOOK_CREDIT + 1);
	CHECK(client.state() == DNSBLV6_ZONE_OK);
}

TEST_CASE("without credit a zone is looked at once a minute", "[client][engine][proof]")
{
	inquiry client;
	add(client, false);
	REQUIRE(client.check(clean(200)).verdict == DNSBLV6_CLEAR);
	spend_credit(client);
	CHECK(check_later(client, listed(50)).verdict == DNSBLV6_LISTED);
	CHECK(client.stat("looks") == HEALTH_LOOK_CREDIT);
	test_clock::pass(HEALTH_LOOK_S + 1);
	CHECK(check_later(client, listed(51)).verdict == DNSBLV6_LISTED);
	CHECK(client.stat("looks") == HEALTH_LOOK_CREDIT + 1);
	CHECK(check_later(client, listed(52)).verdict == DNSBLV6_LISTED);
	CHECK(client.stat("looks") == HEALTH_LOOK_CREDIT + 1);
}

TEST_CASE("without credit an unlikely run of listings has the zone looked at",
	  "[client][engine][proof]")
{
	// The same bitmap for all, 127.0.0.1 for all, or listings that are not odd by themselves.
	const bool is_bitmap = GENERATE(true, false);
	const int trouble = GENERATE(world::CLOSED, world::SINKHOLE);
	CAPTURE(is_bitmap, trouble);
	inquiry client;
	add(client, is_bitmap);
	REQUIRE(client.check(clean(200)).verdict == DNSBLV6_CLEAR);
	for (int i = 0; i < 200; i++)
		client.check(clean(i)); // a list of few
	spend_credit(client);
	client.dns.trouble = trouble;
	unsigned wrong = 0;
	for (int i = 0; i < 50; i++)
		wrong += check_later(client, "198.18." + std::to_string(i) + ".127").verdict ==
			 DNSBLV6_LISTED;
	CHECK(wrong <= (trouble == world::SINKHOLE ? 12 : 20));
	CHECK(client.lines.size() == 1);

	// And what counted meanwhile is void when the zone has recovered.
	client.dns.trouble = world::NONE;
	test_clock::pass(30);
	for (int i = 0; i < 50; i++)
		CHECK(check_later(client, "198.18." + std::to_string(i) + ".127").verdict ==
		      DNSBLV6_CLEAR);
}

TEST_CASE("a listing whose proof is not answered is none, and the zone is not distrusted for it",
	  "[client][engine][proof]")
{
	inquiry client;
	told kept;
	hold_listing(client, kept);
	for (int i = 0; i < 100 && kept.calls == 0; i++)
		client.pass(500);
	REQUIRE(kept.calls == 1);
	CHECK(kept.result.verdict == DNSBLV6_UNKNOWN);
	CHECK(kept.result.zones_failed == 1);
	CHECK(client.state() == DNSBLV6_ZONE_OK);
	CHECK(client.stat("fetches-unproven") == 1);
	// For as long as other failures it is not asked for again.
	CHECK(check_later(client, "192.0.2.1").queries == 0);
	client.dns.trouble = world::NONE;
	test_clock::pass(11);
	CHECK(check_later(client, "192.0.2.1").verdict == DNSBLV6_LISTED);
}

TEST_CASE("listings since the last good look are void when one in vain came between",
	  "[client][engine][proof]")
{
	const bool is_bitmap = GENERATE(true, false);
	CAPTURE(is_bitmap);
	inquiry client;
	client.dns.ttl_s = 1800; // no class rounds it
	add(client, is_bitmap);
	REQUIRE(client.check(clean(200)).verdict == DNSBLV6_CLEAR);
	spend_credit(client);
	test_clock::pass(HEALTH_LOOK_S + 1);
	REQUIRE(check_later(client, listed(50)).verdict == DNSBLV6_LISTED);
	client.dns.trouble = world::CLOSED; // without credit it is not seen
	REQUIRE(check_later(client, clean(201)).verdict == DNSBLV6_LISTED);

	client.dns.trouble = world::MUTE;
	test_clock::pass(HEALTH_LOOK_S + 1);
	told kept;
	client.ask(listed(51), kept, 60000);
	for (int i = 0; i < 100 && kept.calls == 0; i++) {
		client.pass(500);
		usleep(1000);
	}
	REQUIRE(kept.result.verdict == DNSBLV6_UNKNOWN);
	REQUIRE(client.state() == DNSBLV6_ZONE_OK);
	CHECK(client.check(clean(201)).verdict == DNSBLV6_LISTED); // nothing is known yet

	client.dns.trouble = world::NONE;
	test_clock::pass(HEALTH_LOOK_S + 1);
	CHECK(check_later(client, listed(52)).verdict == DNSBLV6_LISTED);
	CHECK(client.stat("looks") == HEALTH_LOOK_CREDIT + 3);
	CHECK(check_later(client, clean(201)).verdict == DNSBLV6_CLEAR);
	// What was put before is as it was, and what a good look follows alone.
	CHECK(check_later(client, listed(1)).queries == 0);
	CHECK(check_later(client, clean(200)).queries == 0);
	test_clock::pass(HEALTH_LOOK_S + 1);
	CHECK(check_later(client, listed(53)).verdict == DNSBLV6_LISTED);
	CHECK(check_later(client, listed(52)).queries == 0);
}

// A probe of all now, and its end.
void probe(inquiry &client)
{
	test_clock::pass(HEALTH_LOOK_S + 1);
	engine_probe(client.get(), client.now_ms);
	client.until_quiet([](engine *tested) { return !engine_is_probing(tested); });
}

TEST_CASE("listings on the word of a look are void behind an outage", "[client][engine][proof]")
{
	const bool has_credit = GENERATE(false, true);
	CAPTURE(has_credit);
	inquiry client;
	client.dns.ttl_s = 1800; // no class rounds it
	add(client, true);
	REQUIRE(client.check(clean(200)).verdict == DNSBLV6_CLEAR);
	if (!has_credit) {
		spend_credit(client);
		test_clock::pass(HEALTH_LOOK_S + 1);
	}
	REQUIRE(check_later(client, listed(50)).verdict == DNSBLV6_LISTED);
	client.dns.trouble = has_credit ? world::NONE : world::CLOSED;
	REQUIRE(check_later(client, has_credit ? listed(51) : clean(201)).verdict ==
		DNSBLV6_LISTED);

	client.dns.trouble = world::SERVFAIL;
	probe(client);
	REQUIRE(client.state() == DNSBLV6_ZONE_UNREACHABLE);
	client.dns.trouble = world::NONE;
	probe(client);
	REQUIRE(client.state() == DNSBLV6_ZONE_OK);
	// What had a look of its own stays, where no other has been without.
	CHECK(check_later(client, listed(has_credit ? 50 : 1)).queries == 0);
	CHECK(check_later(client, clean(201)).verdict == DNSBLV6_CLEAR);
}

TEST_CASE("a listing that was asked for while a look was under way is void behind an outage",
	  "[client][engine][proof]")
{
	inquiry client;
	told kept, wrong;
	client.dns.ttl_s = 1800; // no class rounds it
	add(client, true);
	REQUIRE(client.check(clean(200)).verdict == DNSBLV6_CLEAR);
	client.pass(10);
	client.dns.delay_ms = 200;
	const size_t before = client.server().count();
	client.ask(listed(50), kept, 60000);
	until_looked(client);
	while (client.server().count() < before + 3)
		usleep(1000);
	client.dns.trouble = world::CLOSED;
	client.pass(10);
	client.ask(clean(201), wrong, 60000);
	client.until_told(kept);
	client.until_told(wrong);
	REQUIRE(wrong.result.verdict == DNSBLV6_LISTED);
	REQUIRE(client.stat("looks") == 1);
	client.dns.delay_ms = 0;

	client.dns.trouble = world::SERVFAIL;
	probe(client);
	REQUIRE(client.state() == DNSBLV6_ZONE_UNREACHABLE);
	client.dns.trouble = world::NONE;
	probe(client);
	CHECK(check_later(client, clean(201)).verdict == DNSBLV6_CLEAR);
}

TEST_CASE("a look that is lost on the way is tried again", "[client][engine][proof]")
{
	inquiry client;
	told kept;
	hold_listing(client, kept);
	for (int i = 0; i < 12; i++)
		client.pass(500);
	CHECK(kept.calls == 0);
	client.dns.trouble = world::NONE;
	for (int i = 0; i < 12; i++)
		client.pass(500);
	client.until_told(kept);
	CHECK(kept.result.verdict == DNSBLV6_LISTED);
	CHECK(client.stat("fetches-unproven") == 0);
}

TEST_CASE("the classic zone beside a bitmap zone is looked at with it", "[client][engine][proof]")
{
	inquiry client;
	client.dns.add_bitmap_zone("bl6.example", DNSBLV6_STYLE_FLAT, zone_name);
	client.dns.add_classic_zone(zone_name);
	client.dns.list_classic(zone_name, "192.0.2.1", { 127, 0, 0, 2 });
	client.set("zones", "bl6.example");
	client.dns.trouble = world::NO_AAAA;
	REQUIRE(client.check(clean(1)).verdict == DNSBLV6_CLEAR);
	REQUIRE(client.state() == DNSBLV6_ZONE_FILTERED);
	client.pass(10);
	const size_t before = client.server().count();
	CHECK(client.check("192.0.2.1").verdict == DNSBLV6_LISTED);
	CHECK(client.server().count() == before + 5);
	CHECK(client.stat("looks") == 1);
	client.dns.trouble = world::ALL_LISTED;
	CHECK(check_later(client, clean(2)).verdict == DNSBLV6_UNKNOWN);
	CHECK(client.state() == DNSBLV6_ZONE_LISTS_WORLD);
}

TEST_CASE("a handle may end, or be forked, while a listing waits for its proof",
	  "[client][engine][proof]")
{
	inquiry client;
	add(client, false);
	REQUIRE(client.check(clean(200)).verdict == DNSBLV6_CLEAR);
	client.dns.trouble = world::MUTE;
	client.pass(10);
	told kept;
	client.ask("192.0.2.1", kept, 30000);
	until_looked(client);
	const pid_t pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0) {
		bool is_good = engine_after_fork(client.get(), true) == 0;
		engine_process(client.get(), client.now_ms + 60000);
		engine_free(client.get());
		_exit(is_good ? 0 : 1);
	}
	int status = 0;
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == 0);
	CHECK(kept.calls == 0);
}
