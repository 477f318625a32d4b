/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Zones that are asked about names, addresses of sites and hashes: how, and when not. */
#include "tests/unit/client/engine/engine_fixture.hh"

namespace
{
// Such lists as there are; every one has its test points.
void add_lists(inquiry &client)
{
	for (const char *apex : { "dbl.example", "uri.example", "ebl.example", "bl.example" })
		client.dns.add_zone(apex);
	client.dns.add("test.dbl.example", 1, { 127, 0, 1, 2 });
	client.dns.add("bad.com.dbl.example", 1, { 127, 0, 1, 2 });
	client.dns.add("phish.com.dbl.example", 1, { 127, 0, 1, 4 });
	client.dns.add("192.0.2.9.dbl.example", 1, { 127, 0, 1, 255 });
	client.dns.list_classic("uri.example", "127.0.0.2", { 127, 0, 0, 254 });
	client.dns.list_classic("uri.example", "192.0.2.7", { 127, 0, 0, 8 });
	client.dns.add("bad.com.uri.example", 1, { 127, 0, 0, 24 });
	client.dns.add("c160f8cc69a4f0bf2b0362752353d060.ebl.example", 1, { 127, 0, 0, 2 });
	client.dns.list_classic("bl.example", "127.0.0.2", { 127, 0, 0, 2 });
	client.dns.list_classic("bl.example", "192.0.2.7", { 127, 0, 0, 2 });
	client.set("zones", "dbl.example=127.0.1.2=spam*2 dbl.example=127.0.1.4=phish*4 "
			    "uri.example=127.0.0.&8=PH*8 uri.example=127.0.0.&16=MW*16 "
			    "ebl.example*32 bl.example*64");
	client.set("kind", "dbl.example=names uri.example=sites ebl.example=hashes");
}

constexpr uint64_t DBL = 3, URI = 12, EBL = 16, BL = 32;
} // namespace

TEST_CASE("a name is asked for in zones of names and sites alone", "[client][names]")
{
	inquiry client;
	add_lists(client);
	const dnsblv6_result bad = client.check_name("bad.com");
	CHECK(bad.zones_answered == (DBL | URI));
	CHECK(bad.zones_listed == (1u | URI));
	CHECK(bad.score == 26);
	CHECK(bad.codes[0].octets[2] == 2);
	CHECK(bad.codes[1].octets[2] == 24);
	CHECK(client.check_name("phish.com").score == 4);
	CHECK(client.check_name("good.com").verdict == DNSBLV6_CLEAR);
	CHECK(client.check("192.0.2.7").zones_answered == BL);
	CHECK(client.check("192.0.2.7").score == 64);
	CHECK(client.asked("bad.com.ebl.example") == 0);
	CHECK(client.asked("bad.com.bl.example") == 0);
	CHECK(client.asked("7.2.0.192.uri.example") == 0);
}

TEST_CASE("a name is cached as it is, in any case", "[client][names]")
{
	inquiry client;
	add_lists(client);
	client.check_name("bad.com");
	client.check_name("good.com");
	const size_t before = client.server().count();
	for (const char *name : { "bad.com", "BAD.Com", "bad.com." }) {
		CAPTURE(name);
		const dnsblv6_result result = client.check_name(name);
		CHECK(result.score == 26);
		CHECK(result.zones_cached == (DBL | URI));
	}
	CHECK(client.check_name("good.com").zones_cached == (DBL | URI));
	CHECK(client.server().count() == before);
	CHECK(client.check_name("ad.com").score == 0);
	CHECK(client.check_name("b.ad.com").score == 0);
	CHECK(client.server().count() == before + 4);
}

TEST_CASE("the address of a site is asked for in zones of sites alone", "[client][names]")
{
	inquiry client;
	add_lists(client);
	const dnsblv6_result site = client.check_name("192.0.2.7");
	CHECK(site.score == 8);
	CHECK(site.zones_answered == URI);
	CHECK(site.zones_failed == 0);
	CHECK(client.asked("192.0.2.7.dbl.example") == 0);
	const dnsblv6_result other = client.check_name("192.0.2.7", DBL);
	CHECK(other.verdict == DNSBLV6_CLEAR);
	CHECK(other.zones_answered == 0);
}

TEST_CASE("a hash is asked for where the caller says so", "[client][names]")
{
	inquiry client;
	add_lists(client);
	const char *hash = "c160f8cc69a4f0bf2b0362752353d060";
	CHECK(client.check_name(hash).zones_answered == (DBL | URI));
	const dnsblv6_result named = client.check_name(hash, EBL | BL);
	CHECK(named.zones_answered == EBL);
	CHECK(named.score == 32);
	CHECK(client.check_name("c160f8cc69a4f0bf2b0362752353d061", EBL).score == 0);
	CHECK(client.state(4) == DNSBLV6_ZONE_OK);
}

TEST_CASE("an answer that a name may not be asked about fails that name alone", "[client][names]")
{
	inquiry client;
	add_lists(client);
	client.dns.add("123.dbl.example", 1, { 127, 0, 1, 255 });
	const dnsblv6_result result = client.check_name("123", DBL);
	CHECK(result.verdict == DNSBLV6_UNKNOWN);
	CHECK(result.zones_failed == DBL);
	CHECK(result.zones_listed == 0);
	for (int i = 0; i < 20; i++) {
		client.dns.trouble = world::NONE;
		client.check_name("123", DBL);
	}
	CHECK(client.state() == DNSBLV6_ZONE_OK);
	CHECK(client.check_name("bad.com", DBL).score == 2);
	// Where it means something else, it is a value like others.
	CHECK(client.lines.empty());
}

TEST_CASE("a list of sites that answers 127.0.0.1 has barred us", "[client][names]")
{
	inquiry client;
	add_lists(client);
	client.check_name("good.com");
	client.dns.add("all.com.uri.example", 1, { 127, 0, 0, 1 });
	const dnsblv6_result result = client.check_name("all.com", URI);
	CHECK(result.verdict == DNSBLV6_UNKNOWN);
	CHECK(client.state(2) == DNSBLV6_ZONE_BLOCKED);
	CHECK(client.state(0) == DNSBLV6_ZONE_OK);
}

TEST_CASE("a zone of names is well by the test points of its kind", "[client][names]")
{
	struct row {
		const char *kind, *point;
		const char *listed; // below dbl.example; nullptr: nothing is
		dnsblv6_zone_state state;
	};
	const row r = GENERATE(values<row>({
		{ "names", nullptr, "test", DNSBLV6_ZONE_OK },
		{ "names", nullptr, "dbltest.com", DNSBLV6_ZONE_UNREACHABLE },
		{ "names", "dbltest.com", "dbltest.com", DNSBLV6_ZONE_OK },
		{ "names", "dbl.example=DBLtest.com.", "dbltest.com", DNSBLV6_ZONE_OK },
		{ "names", "dbltest.com", "test", DNSBLV6_ZONE_UNREACHABLE },
		{ "names", "none", nullptr, DNSBLV6_ZONE_OK },
		{ "sites", nullptr, "2.0.0.127", DNSBLV6_ZONE_OK },
		{ "sites", nullptr, "test", DNSBLV6_ZONE_UNREACHABLE },
		{ "sites", "test", "test", DNSBLV6_ZONE_OK },
		{ "sites", "192.0.2.1", "1.2.0.192", DNSBLV6_ZONE_OK },
		{ "hashes", nullptr, nullptr, DNSBLV6_ZONE_OK },
		{ "hashes", "c0ffee", "c0ffee", DNSBLV6_ZONE_OK },
		{ "hashes", "c0ffee", nullptr, DNSBLV6_ZONE_UNREACHABLE },
		{ "addresses", "127.0.0.3", "3.0.0.127", DNSBLV6_ZONE_OK },
	}));
	CAPTURE(r.kind, r.point == nullptr ? "" : r.point, r.listed == nullptr ? "" : r.listed);
	inquiry client;
	client.dns.add_zone("dbl.example");
	client.set("zones", "dbl.example");
	client.set("kind", r.kind);
	if (r.point != nullptr)
		client.set("test-point", r.point);
	if (r.listed != nullptr)
		client.dns.add(std::string(r.listed) + ".dbl.example", 1, { 127, 0, 1, 2 });
	const dnsblv6_result result = std::string(r.kind) == "addresses"
					      ? client.check("192.0.2.1")
					      : client.check_name("good.com", 1);
	CHECK(client.state() == r.state);
	CHECK(result.verdict == (r.state == DNSBLV6_ZONE_OK ? DNSBLV6_CLEAR : DNSBLV6_UNKNOWN));
}

TEST_CASE("a zone of names that lists what it must not gives no answers", "[client][names]")
{
	struct row {
		const char *kind, *name;
		int trouble;
		dnsblv6_zone_state state;
	};
	const row r = GENERATE(values<row>({
		{ "names", "invalid", world::NONE, DNSBLV6_ZONE_LISTS_WORLD },
		{ "sites", "invalid", world::NONE, DNSBLV6_ZONE_LISTS_WORLD },
		{ "hashes", "x", world::ALL_LISTED, DNSBLV6_ZONE_WILDCARDED },
		{ "names", "x", world::ALL_LISTED, DNSBLV6_ZONE_LISTS_WORLD },
		{ "names", "x", world::ONE_ADDRESS, DNSBLV6_ZONE_WILDCARDED },
		{ "names", "x", world::TYPO, DNSBLV6_ZONE_BLOCKED },
		{ "names", "x", world::SERVFAIL, DNSBLV6_ZONE_UNREACHABLE },
		{ "hashes", "x", world::SERVFAIL, DNSBLV6_ZONE_UNREACHABLE },
		{ "hashes", "x", world::REFUSED, DNSBLV6_ZONE_BLOCKED },
	}));
	CAPTURE(r.kind, r.name, r.trouble);
	inquiry client;
	client.dns.add_zone("dbl.example");
	client.dns.add("test.dbl.example", 1, { 127, 0, 1, 2 });
	client.dns.list_classic("dbl.example", "127.0.0.2", { 127, 0, 0, 2 });
	client.dns.add(std::string(r.name) + ".dbl.example", 1, { 127, 0, 1, 2 });
	client.dns.trouble = r.trouble;
	client.set("zones", "dbl.example").set("kind", r.kind);
	const dnsblv6_result result = client.check_name("good.com", 1);
	CHECK(result.verdict == DNSBLV6_UNKNOWN);
	CHECK(result.zones_listed == 0);
	CHECK(client.state() == r.state);
	CHECK(client.lines.size() == 1);
}

TEST_CASE("a name too long for a list is not asked about, and not listed", "[client][names]")
{
	inquiry client;
	add_lists(client);
	const std::string label(59, 'a');
	const std::string name = label + "." + label + "." + label + "." + label; // 239
	const std::string fits = name + "." + "aa"; // 242, and dbl.example has 11: 254 with its dot
	client.check_name("good.com");
	const size_t before = client.server().count();
	CHECK(client.check_name(fits, DBL).verdict == DNSBLV6_CLEAR);
	CHECK(client.server().count() > before - 1);
	const size_t asked = client.server().count();
	const dnsblv6_result result = client.check_name(fits + "aaa", DBL);
	CHECK(result.verdict == DNSBLV6_CLEAR);
	CHECK(result.zones_answered == DBL);
	CHECK(client.server().count() == asked);
}

TEST_CASE("names are asked the classic way whatever the mode", "[client][names]")
{
	inquiry client;
	client.dns.add_bitmap_zone("bl6.example", DNSBLV6_STYLE_DOTTED);
	client.dns.add("test.bl6.example", 1, { 127, 0, 0, 2 });
	client.dns.add("bad.com.bl6.example", 1, { 127, 0, 0, 2 });
	client.set("zones", "bl6.example").set("kind", "names").set("mode", "bitmap");
	CHECK(client.check_name("bad.com").verdict == DNSBLV6_LISTED);
	CHECK(client.asked("_dnsblv6.bl6.example") == 0);
}
