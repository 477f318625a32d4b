// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/server/xdp-kernel/xdp_fixture.hh"
#include "tests/lib/seeds.hh"

#include <catch2/catch.hpp>

#include <algorithm>

// ---- faces and the rest of the config ----

static std::vector<std::pair<std::string, unsigned>> faces_of(const xdp_config &config)
{
	std::vector<std::pair<std::string, unsigned>> out;
	for (uint32_t i = 0; i < config.face_count; i++) {
		std::string text;
		for (size_t at = 0; config.faces[i].apex[at] != 0;
		     at += 1U + config.faces[i].apex[at])
			text += std::string(reinterpret_cast<const char *>(config.faces[i].apex +
									   at + 1),
					    config.faces[i].apex[at]) +
				".";
		out.emplace_back(text, config.faces[i].zone);
	}
	return out;
}

TEST_CASE("faces are there with the longest first, and those for the sockets where they are needed",
	  "[xdp][tables]")
{
	xdp_memory memory;
	REQUIRE(memory.configure({ { "bl.example.", 1 },
				   { "elsewhere.example.", XDP_ZONES_MAX },
				   { "classic.bl.example.", XDP_ZONES_MAX },
				   { "a.bl.example.", 0 },
				   { "notbl.example.", XDP_ZONES_MAX },
				   { "example.", XDP_ZONES_MAX } }) == 0);
	CHECK(faces_of(memory.config()) == std::vector<std::pair<std::string, unsigned>>{
						   { "classic.bl.example.", XDP_ZONES_MAX },
						   { "a.bl.example.", 0 },
						   { "bl.example.", 1 } });
	CHECK(memory.config().faces[1].apex_size == 14);
}

TEST_CASE("a face too long for the config hides all that ends as it does", "[xdp][tables]")
{
	const std::string label(30, 'x');
	const std::string other(30, 'y');
	xdp_memory memory;
	REQUIRE(memory.configure({ { "bl.example.", 0 },
				   { label + "." + label + ".bl.example.", 1 },
				   { other + "." + other + ".elsewhere.example.", 2 } }) == 0);
	CHECK(faces_of(memory.config()) ==
	      std::vector<std::pair<std::string, unsigned>>{
		      { label + ".bl.example.", XDP_ZONES_MAX }, { "bl.example.", 0 } });
	// What is left of the long name is that of a zone: its questions go to the sockets.
	REQUIRE(memory.configure({ { label + ".bl.example.", 0 },
				   { label + "." + label + ".bl.example.", 1 } }) == 0);
	REQUIRE(memory.config().face_count == 2);
	CHECK(memory.config().faces[0].zone == XDP_ZONES_MAX);
}

TEST_CASE("more faces, addresses or interfaces than there is room for change nothing",
	  "[xdp][tables]")
{
	xdp_memory memory;
	std::vector<std::pair<std::string, unsigned>> faces;
	for (unsigned i = 0; i < XDP_FACES_MAX; i++)
		faces.emplace_back("f" + std::to_string(i) + ".example.", i % XDP_ZONES_MAX);
	REQUIRE(memory.configure(faces) == 0);
	const xdp_config before = memory.config();
	std::vector<sockaddr_storage> addresses(XDP_ADDRESSES_MAX + 1);
	std::vector<xdp_link> links(XDP_LINKS_MAX + 1);
	tables_rules many = {};
	const std::string what = GENERATE("faces", "addresses", "interfaces");
	CAPTURE(what);
	if (what == "faces")
		faces.emplace_back("one.more.example.", 3);
	if (what == "addresses") {
		many.addresses = addresses.data();
		many.address_count = addresses.size();
	}
	if (what == "interfaces") {
		many.links = links.data();
		many.link_count = links.size();
	}
	CHECK(memory.configure(faces, many) == -ENOSPC);
	CHECK(memcmp(&before, &memory.config(), sizeof(before)) == 0);
}

static sockaddr_storage socket_address(const std::string &text, uint16_t port)
{
	sockaddr_storage out = {};
	auto *four = reinterpret_cast<sockaddr_in *>(&out);
	auto *six = reinterpret_cast<sockaddr_in6 *>(&out);
	if (inet_pton(AF_INET, text.c_str(), &four->sin_addr) == 1) {
		out.ss_family = AF_INET;
		four->sin_port = htons(port);
	} else if (inet_pton(AF_INET6, text.c_str(), &six->sin6_addr) == 1) {
		out.ss_family = AF_INET6;
		six->sin6_port = htons(port);
	}
	return out;
}

TEST_CASE("the config has addresses, interfaces, limits, prefixes and secrets", "[xdp][tables]")
{
	const std::vector<sockaddr_storage> addresses = { socket_address("192.0.2.53", 53),
							  socket_address("2001:db8::53", 5353) };
	const xdp_link link = { 7, 1500, { 2, 0, 0, 0, 0, 1 }, {} };
	dnsblv6_prefix prefixes[2];
	REQUIRE(dnsblv6_prefix_parse("192.0.2.0/24", 12, &prefixes[0]) == DNSBLV6_OK);
	REQUIRE(dnsblv6_prefix_parse("2001:db8::/32", 13, &prefixes[1]) == DNSBLV6_OK);
	cookie_secrets secrets = {};
	REQUIRE(cookie_add_secret(&secrets, "e5e973e5a6b2a43f48e7dc849e37bfcf"));
	tables_rules rules = {};
	rules.addresses = addresses.data();
	rules.address_count = addresses.size();
	rules.links = &link;
	rules.link_count = 1;
	rules.unlimited = prefixes;
	rules.unlimited_count = 2;
	rules.payload = 1400;
	rules.rate = 50;
	rules.slip = 3;
	rules.has_cookies = true;
	rules.secrets = &secrets;
	xdp_memory memory;
	REQUIRE(memory.configure({ { "bl6.example.", 0 } }, rules) == 0);
	const xdp_config &config = memory.config();
	REQUIRE(config.address_count == 2);
	const uint8_t mapped[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 53 };
	CHECK(memcmp(config.addresses[0].bytes, mapped, 16) == 0);
	CHECK(config.addresses[0].port == htons(53));
	CHECK(config.addresses[1].bytes[0] == 0x20);
	CHECK(config.addresses[1].port == htons(5353));
	REQUIRE(config.link_count == 1);
	CHECK(config.links[0].index == 7);
	CHECK(config.payload == 1400);
	CHECK(config.interval_ns == 20000000);
	CHECK(config.burst_ns == RATELIMIT_BURST_S * UINT64_C(1000000000));
	CHECK(config.slip == 3);
	REQUIRE(config.prefix_count == 2);
	CHECK(config.prefixes[0].mask[0] == UINT64_MAX);
	CHECK(config.prefixes[0].mask[1] == 0xffffffffffffff00);
	CHECK(config.prefixes[0].bits[1] == 0xffffc0000200);
	CHECK(config.prefixes[1].mask[0] == 0xffffffff00000000);
	CHECK(config.prefixes[1].mask[1] == 0);
	CHECK(config.has_cookies == 1);
	REQUIRE(config.secret_count == 1);
	CHECK(config.secrets[0][0] == 0xe5);
}

TEST_CASE("more unlimited prefixes than there is room for are told as too many", "[xdp][tables]")
{
	std::vector<dnsblv6_prefix> prefixes(XDP_PREFIXES_MAX + 1);
	tables_rules rules = {};
	rules.unlimited = prefixes.data();
	rules.unlimited_count = prefixes.size();
	xdp_memory memory;
	REQUIRE(memory.configure({ { "bl6.example.", 0 } }, rules) == 0);
	CHECK(memory.config().prefix_count > XDP_PREFIXES_MAX);
}

// ---- runs of lines ----

static void reserve_and_switch(xdp_memory &memory, unsigned zone, uint32_t count)
{
	tables_place place;
	REQUIRE(tables_reserve(&memory.tables, zone, count, &place) == 0);
	CHECK(place.lines == memory.native.lines + place.first_line);
	tables_switch(&memory.tables, zone, 0, &memory.time);
}

TEST_CASE("versions get the first gap that is large enough, and give it back", "[xdp][tables]")
{
	xdp_memory memory(100);
	tables_place place;
	reserve_and_switch(memory, 0, 30); // 0 to 29
	reserve_and_switch(memory, 1, 20); // 30 to 49
	reserve_and_switch(memory, 0, 30); // 50 to 79; the first are free for other zones, too
	CHECK(tables_used_lines(&memory.tables) == 50);
	CHECK(tables_reserve(&memory.tables, 2, 31, &place) == -ENOSPC);
	CHECK(tables_reserve(&memory.tables, 2, 0, &place) == -ENOSPC);
	CHECK(tables_reserve(&memory.tables, 2, UINT32_MAX, &place) == -ENOSPC);
	REQUIRE(tables_reserve(&memory.tables, 1, 30, &place) == 0);
	CHECK(place.first_line == 0);
	REQUIRE(tables_reserve(&memory.tables, 2, 20, &place) == 0);
	CHECK(place.first_line == 80);
	CHECK(place.version == &memory.zone(2).versions[1]);
	tables_remove(&memory.tables, 1);
	REQUIRE(tables_reserve(&memory.tables, 0, 25, &place) == 0);
	CHECK(place.first_line == 0);
	CHECK(place.version == &memory.zone(0).versions[memory.zone(0).current ^ 1]);
	// Once more, without a switch: what was reserved first is free.
	REQUIRE(tables_reserve(&memory.tables, 0, 30, &place) == 0);
	CHECK(place.first_line == 0);
	tables_remove(&memory.tables, 0);
	REQUIRE(tables_reserve(&memory.tables, 3, 30, &place) == 0);
	CHECK(place.first_line == 0);
	REQUIRE(tables_reserve(&memory.tables, 4, 30, &place) == 0);
	CHECK(place.first_line == 30);
}

TEST_CASE("no two runs share a line, whatever is reserved and taken away", "[xdp][tables]")
{
	auto seed = RANDOM_SEED(6);
	CAPTURE(seed);
	randomness rnd(seed);
	xdp_memory memory(1000);
	unsigned reserved = 0;
	for (int i = 0; i < 2000; i++) {
		unsigned zone = rnd.below(XDP_ZONES_MAX);
		tables_place place;
		int ret = tables_reserve(&memory.tables, zone, 1 + rnd.below(120), &place);
		reserved += ret == 0;
		if (ret == 0 && rnd.one_in(2))
			tables_switch(&memory.tables, zone, 0, &memory.time);
		if (ret != 0 || rnd.one_in(9))
			tables_remove(&memory.tables, zone);
		std::vector<unsigned> taken(1000);
		for (const tables_zone &of : memory.tables.zones) {
			for (const tables_run &run : of.runs) {
				for (uint32_t line = run.first; line < run.first + run.count;
				     line++)
					taken.at(line)++;
			}
		}
		REQUIRE(*std::max_element(taken.begin(), taken.end()) <= 1);
	}
	CHECK(reserved > 500);
}

// ---- the switch, leases, taking away ----

TEST_CASE("a switch moves changes, and the lease begins with it", "[xdp][tables]")
{
	xdp_memory memory;
	CHECK(memory.zone().until_ns == 0);
	const uint64_t changes = memory.zone().changes;
	const uint32_t current = memory.zone().current;
	reserve_and_switch(memory, 0, 10);
	CHECK(memory.zone().current == (current ^ 1));
	CHECK(memory.zone().changes == changes + 1);
	CHECK(memory.zone().until_ns == XDP_NOW_NS + XDP_LEASE_NS);
	reserve_and_switch(memory, 0, 10);
	CHECK(memory.zone().current == current);
	CHECK(memory.zone().changes == changes + 2);
}

TEST_CASE("a lease is renewed, and never goes beyond what expires", "[xdp][tables]")
{
	xdp_memory memory;
	tables_place place;
	const uint64_t expires_s = GENERATE(0U, 1U, 1000U, 1001U, 1002U, 1003U, 2000U);
	CAPTURE(expires_s);
	REQUIRE(memory.configure({ { "bl6.example.", 0 } }) == 0);
	REQUIRE(tables_reserve(&memory.tables, 0, 10, &place) == 0);
	tables_switch(&memory.tables, 0, expires_s, &memory.time);
	for (uint64_t now_s : { 1000U, 1001U, 1500U, 3000U }) {
		CAPTURE(now_s);
		memory.time.now_s = now_s;
		memory.time.now_ns = now_s * 1000000000;
		tables_renew(&memory.tables, &memory.time);
		CHECK(memory.config().now_s == now_s);
		CHECK(memory.config().until_ns == memory.time.now_ns + XDP_LEASE_NS);
		uint64_t until_ns = memory.zone().until_ns;
		if (expires_s == 0 || expires_s > now_s + 10)
			CHECK(until_ns == memory.time.now_ns + XDP_LEASE_NS);
		else if (expires_s <= now_s + 1)
			CHECK(until_ns == 0);
		else
			CHECK((until_ns > memory.time.now_ns && until_ns < expires_s * 1000000000));
	}
}

TEST_CASE("what has expired is not answered from when it is switched to", "[xdp][tables]")
{
	xdp_memory memory;
	tables_place place;
	reserve_and_switch(memory, 0, 10);
	REQUIRE(tables_reserve(&memory.tables, 0, 10, &place) == 0);
	tables_switch(&memory.tables, 0, XDP_NOW_S, &memory.time);
	CHECK(memory.zone().until_ns == 0);
}

TEST_CASE("nothing is left when everything is taken away, and the changes have moved",
	  "[xdp][tables]")
{
	xdp_memory memory;
	REQUIRE(memory.configure({ { "bl6.example.", 0 } }) == 0);
	reserve_and_switch(memory, 5, 10);
	const uint64_t changes = memory.zone(5).changes;
	const uint64_t config_changes = memory.config().changes;
	// By the process that has filled them, or by the next one.
	const bool is_next = GENERATE(false, true);
	tables_arrays arrays = memory.tables.arrays;
	if (is_next)
		tables_init(&memory.tables, &arrays);
	tables_take_away(&memory.tables);
	CHECK(memory.zone(5).until_ns == 0);
	CHECK(memory.zone(5).changes == changes + 1);
	CHECK(memory.config().until_ns == 0);
	CHECK(memory.config().changes == config_changes + 1);
	CHECK(tables_used_lines(&memory.tables) == 0);
	tables_renew(&memory.tables, &memory.time);
	CHECK(memory.zone(5).until_ns == 0);
	CHECK(memory.config().until_ns == 0);
}

TEST_CASE("a new config moves changes twice, and has no lease of its own", "[xdp][tables]")
{
	xdp_memory memory;
	REQUIRE(memory.configure({ { "bl6.example.", 0 } }) == 0);
	const uint64_t changes = memory.config().changes;
	REQUIRE(memory.config().until_ns != 0);
	tables_rules rules = {};
	REQUIRE(tables_configure(&memory.tables, &rules) == 0);
	CHECK(memory.config().changes == changes + 2);
	CHECK(memory.config().until_ns == 0);
	CHECK(memory.config().face_count == 0);
}

// ---- what is told ----

TEST_CASE("counts are the sums of all processors", "[xdp][tables]")
{
	xdp_memory memory;
	memory.counts()[3].nxdomain = 5;
	memory.counts()[XDP_ZONES_MAX + 1 + 3].nxdomain = 7;
	memory.counts()[XDP_ZONES_MAX + 1 + 3].bytes = 9;
	memory.counts()[2 * XDP_ZONES_MAX + 1].queries = 11;
	CHECK(tables_sum_counts(&memory.tables.arrays, 3).nxdomain == 12);
	CHECK(tables_sum_counts(&memory.tables.arrays, 3).bytes == 9);
	CHECK(tables_sum_counts(&memory.tables.arrays, XDP_ZONES_MAX).queries == 11);
	CHECK(tables_sum_counts(&memory.tables.arrays, 0).queries == 0);
	tables_arrays none = memory.tables.arrays;
	none.counts = nullptr;
	CHECK(tables_sum_counts(&none, 3).nxdomain == 0);
}

TEST_CASE("the text about memory has its size and the names that it holds", "[xdp][tables]")
{
	char text[TABLES_TEXT_SIZE];
	size_t size = tables_describe(UINT64_C(256) << 20, text);
	CHECK(std::string(text, size) ==
	      "memory 256M holds 427444 signed or 1177348 unsigned names");
	CHECK(tables_describe(UINT64_MAX, text) < sizeof(text));
}
