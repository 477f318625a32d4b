/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/client/api.hh"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/unit/client/config.hh"

static int64_t now_ms()
{
	return std::chrono::duration_cast<std::chrono::milliseconds>(
		       std::chrono::steady_clock::now().time_since_epoch())
		.count();
}

TEST_CASE("a check is answered by DNS, and the next one in the block by the cache", "[client][api]")
{
	handle bl;
	bl.start();
	const dnsblv6_result first = bl.check("192.0.0.1");
	CHECK(first.verdict == DNSBLV6_LISTED);
	CHECK(first.queries > 0);
	CHECK(first.zones_cached == 0);
	CHECK(first.elapsed_us > 0);
	const size_t before = bl.server->count();
	const dnsblv6_result second = bl.check("192.0.0.2");
	CHECK(second.verdict == DNSBLV6_CLEAR);
	CHECK(second.queries == 0);
	CHECK(second.zones_cached == 1);
	CHECK(bl.server->count() == before);
	CHECK(bl.stat("hits") == 1);
	dnsblv6_result peeked;
	const dnsblv6_ip address = ip("192.0.0.1");
	REQUIRE(dnsblv6_peek(bl.client, &address, &peeked) == 0);
	CHECK(peeked.verdict == DNSBLV6_LISTED);
}

TEST_CASE("wrong arguments are refused", "[client][api]")
{
	handle bl;
	dnsblv6_result result;
	const dnsblv6_ip address = ip("192.0.0.1");
	dnsblv6_zone_info info;
	CHECK(dnsblv6_peek(bl.client, &address, &result) == -EINVAL); // not started
	CHECK(dnsblv6_check(bl.client, &address, 1000, &result) == -EINVAL);
	CHECK(dnsblv6_fd(bl.client) == -EINVAL);
	CHECK(dnsblv6_set(bl.client, "no-such-key", "1") == -EINVAL);
	CHECK(std::string(dnsblv6_error(bl.client)).find("no-such-key") != std::string::npos);
	// As of getenv(), of a variable that is not set: the line is not that of the call before.
	CHECK(dnsblv6_set(bl.client, "servers", nullptr) == -EINVAL);
	CHECK(std::string(dnsblv6_error(bl.client)) == "servers is set to NULL");
	CHECK(dnsblv6_set(bl.client, nullptr, "1") == -EINVAL);
	CHECK(std::string(dnsblv6_error(bl.client)) == "the key is NULL");
	CHECK(dnsblv6_shared_fd(bl.client) == -EINVAL);
	bl.start();
	CHECK(dnsblv6_check(bl.client, &address, 0, &result) == -EINVAL);
	CHECK(dnsblv6_check(bl.client, &address, 3600001, &result) == -EINVAL);
	CHECK(dnsblv6_check(bl.client, nullptr, 1000, &result) == -EINVAL);
	CHECK(dnsblv6_submit(bl.client, &address, 0, 1000, nullptr, nullptr, nullptr) == -EINVAL);
	// One entry: a set of others is a question about nothing.
	unsigned calls = 0;
	call kept;
	kept.calls = &calls;
	CHECK(dnsblv6_submit(bl.client, &address, 2, 1000, keep_call, &kept, nullptr) == -EINVAL);
	CHECK(dnsblv6_submit(bl.client, &address, UINT64_C(1) << 63, 1000, keep_call, &kept,
			     nullptr) == -EINVAL);
	CHECK(dnsblv6_submit(bl.client, &address, 3, 1000, keep_call, &kept, nullptr) == 0);
	CHECK(dnsblv6_set(bl.client, "threshold", "2") == -EBUSY);
	CHECK(std::string(dnsblv6_error(bl.client)) == "threshold cannot be set after the start");
	CHECK(dnsblv6_start(bl.client) == -EBUSY);
	CHECK(dnsblv6_cancel(bl.client, 12345) == -ENOENT);
	CHECK(dnsblv6_zone_get(bl.client, 1, &info) == -ENOENT);
	REQUIRE(dnsblv6_zone_get(bl.client, 0, &info) == 0);
	CHECK(std::string(info.name) == "bl6.example");
	CHECK(info.state == DNSBLV6_ZONE_UNPROBED);
	dnsblv6_free(nullptr);
}

TEST_CASE("a set of zones is made of names and labels", "[client][api]")
{
	handle bl;
	uint64_t zones = 7;
	bl.set("zones", "bl6.example=127.0.0.2=SBL bl.example bl6.example==ALL bl.example==SBL");
	CHECK(dnsblv6_zone_set(bl.client, "bl.example", &zones) == -EINVAL);
	bl.start();
	CHECK(dnsblv6_zone_set(bl.client, "gone.example", &zones) == -ENOENT);
	CHECK(dnsblv6_zone_set(bl.client, "bl.example sbl", &zones) == -ENOENT);
	CHECK(dnsblv6_zone_set(bl.client, " ", &zones) == -EINVAL);
	CHECK(dnsblv6_zone_set(bl.client, nullptr, &zones) == -EINVAL);
	CHECK(zones == 7);
	struct row {
		const char *names;
		uint64_t zones;
	};
	for (const row &r : { row{ "bl6.example", 5 }, row{ "SBL", 9 }, row{ "BL.Example.", 10 },
			      row{ "ALL,bl.example", 14 } }) {
		CAPTURE(r.names);
		CHECK(dnsblv6_zone_set(bl.client, r.names, &zones) == 0);
		CHECK(zones == r.zones);
	}
}

TEST_CASE("a verdict is of the zones that were asked for alone", "[client][api]")
{
	handle bl;
	bl.set("zones", "bl6.example bl.example*10").start();
	const dnsblv6_ip address = ip("192.0.3.1");
	dnsblv6_result result = {};
	for (const uint64_t zones : { UINT64_C(2), UINT64_C(1), UINT64_C(0), UINT64_C(0xf2) }) {
		CAPTURE(zones);
		const uint64_t wanted = zones == 0 ? 3 : zones & 3;
		const int32_t score = (wanted & 1) + (wanted & 2) / 2 * 10;
		REQUIRE(dnsblv6_check_zones(bl.client, &address, zones, 20000, &result) == 0);
		CHECK(result.zones_answered == wanted);
		CHECK(result.zones_listed == wanted);
		CHECK(result.score == score);
		REQUIRE(dnsblv6_peek_zones(bl.client, &address, zones, &result) == 0);
		CHECK(result.zones_cached == wanted);
		CHECK(result.score == score);
	}
	CHECK(dnsblv6_check_zones(bl.client, &address, 4, 20000, &result) == -EINVAL);
	CHECK(dnsblv6_peek_zones(bl.client, &address, 4, &result) == -EINVAL);
	const dnsblv6_ip other = ip("192.0.4.1");
	REQUIRE(dnsblv6_check_zones(bl.client, &other, 1, 20000, &result) == 0);
	CHECK(dnsblv6_peek_zones(bl.client, &other, 1, &result) == 0);
	CHECK(dnsblv6_peek_zones(bl.client, &other, 2, &result) == -EAGAIN);
}

TEST_CASE("a name is asked about by each way that an address is", "[client][api]")
{
	handle bl;
	bl.dns.add_zone("dbl.example");
	bl.dns.add("test.dbl.example", 1, { 127, 0, 1, 2 });
	bl.dns.add("bad.com.dbl.example", 1, { 127, 0, 1, 2 });
	bl.dns.add("bad.com.dbl.example", 16, { 4, 's', 'p', 'a', 'm' });
	bl.set("zones", "bl6.example dbl.example=127.0.1.2=DBL*2").set("kind", "dbl.example=names");
	dnsblv6_result result = {};
	CHECK(dnsblv6_check_name(bl.client, "bad.com", 0, 1000, &result) == -EINVAL);
	bl.start();
	CHECK(dnsblv6_peek_name(bl.client, "Bad.com", 0, &result) == -EAGAIN);
	REQUIRE(dnsblv6_check_name(bl.client, "Bad.com", 0, 20000, &result) == 0);
	CHECK(result.verdict == DNSBLV6_LISTED);
	CHECK(result.zones_answered == 2);
	CHECK(result.score == 2);
	const dnsblv6_result listed = result;
	REQUIRE(dnsblv6_peek_name(bl.client, "bad.com.", 2, &result) == 0);
	CHECK(result.zones_cached == 2);

	char text[600];
	CHECK(dnsblv6_reason_name(bl.client, "BAD.com", &listed, 20000, text, sizeof(text)) > 0);
	CHECK_THAT(text, Catch::StartsWith("bad.com is listed by ") && Catch::EndsWith("spam"));

	unsigned calls = 0;
	call bad{ &calls }, good{ &calls };
	REQUIRE(dnsblv6_submit_name(bl.client, "bad.com", 0, 20000, keep_call, &bad, nullptr) == 0);
	REQUIRE(dnsblv6_submit_name(bl.client, "good.com", 2, 20000, keep_call, &good, nullptr) ==
		0);
	bl.run(calls, 2);
	CHECK(bad.result.score == 2);
	CHECK(good.result.verdict == DNSBLV6_CLEAR);

	const dnsblv6_ip address = ip("192.0.3.1");
	CHECK(bl.check("192.0.3.1").zones_answered == 1);
	CHECK(dnsblv6_check_zones(bl.client, &address, 2, 1000, &result) == -EINVAL);
	CHECK(dnsblv6_check_name(bl.client, "bad.com", 1, 1000, &result) == -EINVAL);
	CHECK(dnsblv6_check_name(bl.client, "b@d.com", 0, 1000, &result) == -EINVAL);
	CHECK(dnsblv6_check_name(bl.client, nullptr, 0, 1000, &result) == -EINVAL);
	CHECK(dnsblv6_check_name(bl.client, "bad.com", 0, 0, &result) == -EINVAL);
	CHECK(dnsblv6_check_name(bl.client, "bad.com", 0, 1000, nullptr) == -EINVAL);
	CHECK(dnsblv6_peek_name(bl.client, "2001:db8::1", 0, &result) == -EINVAL);
	CHECK(dnsblv6_submit_name(bl.client, "bad.com", 0, 1000, nullptr, nullptr, nullptr) ==
	      -EINVAL);
	CHECK(dnsblv6_reason_name(bl.client, "", &listed, 0, text, sizeof(text)) == -EINVAL);
	REQUIRE(dnsblv6_check_name(bl.client, "192.0.2.1", 0, 20000, &result) == 0);
	CHECK(result.verdict == DNSBLV6_CLEAR);
	CHECK(result.zones_answered == 0);
}

TEST_CASE("a handle of names alone is not asked about addresses", "[client][api]")
{
	handle bl;
	bl.set("zones", "dbl.example").set("kind", "names").start();
	const dnsblv6_ip address = ip("192.0.2.1");
	dnsblv6_result result = {};
	unsigned calls = 0;
	call kept{ &calls };
	CHECK(dnsblv6_check(bl.client, &address, 1000, &result) == -EINVAL);
	CHECK(dnsblv6_peek(bl.client, &address, &result) == -EINVAL);
	CHECK(dnsblv6_check_batch(bl.client, &address, 1, 1000, &result) == -EINVAL);
	CHECK(dnsblv6_submit(bl.client, &address, 0, 1000, keep_call, &kept, nullptr) == -EINVAL);
}

TEST_CASE("a handle without zones does not start, and says why", "[client][api]")
{
	dnsblv6 *client = nullptr;
	REQUIRE(dnsblv6_new(&client) == 0);
	CHECK(dnsblv6_start(client) == -EINVAL);
	CHECK(std::string(dnsblv6_error(client)).find("zones") != std::string::npos);
	dnsblv6_free(client);
}

TEST_CASE("a start that has failed leaves no limit of sockets to the next", "[client][api]")
{
	dnsblv6 *client = nullptr;
	REQUIRE(dnsblv6_new(&client) == 0);
	REQUIRE(dnsblv6_set(client, "zones", "bl6.example") == 0);
	REQUIRE(dnsblv6_set(client, "servers", "192.0.2.53") == 0);
	REQUIRE(dnsblv6_set(client, "secure", "yes") == 0);
	{
		const limited descriptors(1000);
		REQUIRE(dnsblv6_start(client) == -EINVAL);
	}
	REQUIRE(dnsblv6_set(client, "secure", "auto") == 0);
	const limited descriptors(200);
	CHECK(dnsblv6_start(client) == 0);
	CHECK(std::string(dnsblv6_error(client)).empty());
	dnsblv6_free(client);
}

TEST_CASE("a handle starts without resolv.conf, and no resolver is no listing", "[client][api]")
{
	dnsblv6 *client = nullptr;
	dnsblv6_result result;
	const dnsblv6_ip address = ip("192.0.2.1");
	REQUIRE(dnsblv6_new(&client) == 0);
	REQUIRE(dnsblv6_set(client, "zones", "bl6.example") == 0);
	REQUIRE(dnsblv6_set(client, "resolv-conf", "/nonexistent/resolv.conf") == 0);
	REQUIRE(dnsblv6_start(client) == 0);
	dnsblv6_free(client);

	// A port that nobody has: what a machine without a resolver looks like.
	REQUIRE(dnsblv6_new(&client) == 0);
	REQUIRE(dnsblv6_set(client, "zones", "bl6.example") == 0);
	REQUIRE(dnsblv6_set(client, "servers", "127.0.0.1@1") == 0);
	REQUIRE(dnsblv6_start(client) == 0);
	REQUIRE(dnsblv6_check(client, &address, 20000, &result) == 0);
	CHECK(result.verdict == DNSBLV6_UNKNOWN);
	CHECK(result.zones_failed == 1);
	dnsblv6_free(client);
}

TEST_CASE("a resolv.conf that was named and names no server is one line", "[client][api]")
{
	const bool is_there = GENERATE(false, true);
	const bool is_needed = GENERATE(false, true);
	const std::string path = is_there ? "/dev/null" : "/nonexistent/resolv.conf";
	handle bl;
	bl.set("resolv-conf", path);
	if (!is_needed)
		bl.set("servers", "127.0.0.1@1");
	REQUIRE(dnsblv6_start(bl.client) == 0);
	bl.check("192.0.2.1", 10);
	const std::string told = "4 resolv.conf names no server, 127.0.0.1 is asked, path=" + path;
	CHECK(std::count(bl.lines.begin(), bl.lines.end(), told) == (is_needed ? 1 : 0));
}

TEST_CASE("resolv.conf is read again when it changes", "[client][api]")
{
	char directory[] = "/tmp/client-api-XXXXXX";
	REQUIRE(mkdtemp(directory) != nullptr);
	const std::string path = std::string(directory) + "/resolv.conf";
	const auto write = [&path](const std::string &text) {
		std::ofstream(path + ".new") << text;
		std::filesystem::rename(path + ".new", path);
	};
	write("nameserver 127.255.0.1\n");
	handle bl;
	bl.set("resolv-conf", path);
	REQUIRE(dnsblv6_start(bl.client) == 0);
	bl.check("192.0.2.1", 10);

	// It is looked at once a second; no server needs to be there.
	write("nameserver 127.255.0.2\n");
	const std::string told = "6 resolv.conf names other servers now";
	const auto has_line = [&bl, &told] {
		return std::count(bl.lines.begin(), bl.lines.end(), told) > 0;
	};
	CHECK_FALSE(has_line());
	const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
	while (!has_line() && std::chrono::steady_clock::now() < end)
		bl.check("192.0.2.1", 10);
	CHECK(has_line());
	std::filesystem::remove(path);
	CHECK(std::filesystem::remove(directory));
}

TEST_CASE("a check ends in time when no reply comes", "[client][api]")
{
	handle bl;
	bl.dns.trouble = world::SILENT;
	bl.start();
	const int64_t began_ms = now_ms();
	const dnsblv6_result result = bl.check("192.0.0.1", 200);
	CHECK(now_ms() - began_ms >= 199);
	CHECK(result.verdict == DNSBLV6_UNKNOWN);
	CHECK(result.zones_failed == 1);
	CHECK(result.elapsed_us >= 199000);
}

TEST_CASE("a batch of addresses has one deadline, and may exceed max-requests", "[client][api]")
{
	handle bl;
	bl.set("max-requests", "3").start();
	std::vector<dnsblv6_ip> ips;
	for (int i = 0; i < 60; i++)
		ips.push_back(ip("192.0." + std::to_string(i) + ".1"));
	std::vector<dnsblv6_result> results(ips.size());
	REQUIRE(dnsblv6_check_batch(bl.client, ips.data(), ips.size(), 20000, results.data()) == 0);
	for (size_t i = 0; i < results.size(); i++) {
		CAPTURE(i);
		CHECK(results[i].verdict == (i % 3 == 0 ? DNSBLV6_LISTED : DNSBLV6_CLEAR));
	}
	CHECK(dnsblv6_check_batch(bl.client, ips.data(), 0, 1000, results.data()) == 0);
	// As data() of what is empty may be.
	CHECK(dnsblv6_check_batch(bl.client, nullptr, 0, 1000, nullptr) == 0);
	CHECK(dnsblv6_check_batch(bl.client, nullptr, 1, 1000, results.data()) == -EINVAL);
	CHECK(dnsblv6_check_batch(bl.client, ips.data(), 1, 1000, nullptr) == -EINVAL);
	CHECK(dnsblv6_check_batch(bl.client, nullptr, 0, 0, nullptr) == -EINVAL);
}

TEST_CASE("a probe tells how many entries are well", "[client][api]")
{
	handle bl;
	bl.set("zones", "bl6.example bl.example gone.invalid").start();
	CHECK(dnsblv6_probe(bl.client, 20000) == 2);
	dnsblv6_zone_info info;
	REQUIRE(dnsblv6_zone_get(bl.client, 2, &info) == 0);
	CHECK(info.state == DNSBLV6_ZONE_UNREACHABLE);
	REQUIRE(dnsblv6_zone_get(bl.client, 0, &info) == 0);
	CHECK(info.is_bitmap == 1);
	REQUIRE(dnsblv6_zone_get(bl.client, 1, &info) == 0);
	CHECK(info.is_bitmap == 0);
	REQUIRE(bl.lines.size() == 1);
	CHECK(bl.lines[0] == "4 [gone.invalid] zone fell ill, state=unreachable was=unprobed "
			     "(127.0.0.2 is not listed)");
}

TEST_CASE("a probe that is started goes on in the loop", "[client][api]")
{
	handle bl;
	CHECK(dnsblv6_probe_start(bl.client) == -EINVAL); // not started
	bl.set("zones", "bl6.example bl.example").start();
	CHECK(dnsblv6_timeout_ms(bl.client) == -1);
	CHECK(dnsblv6_probe_start(bl.client) == 0);
	CHECK(is_readable(bl)); // a loop that waits has to mind its deadlines
	const auto is_well = [&bl](unsigned index) {
		dnsblv6_zone_info info;
		return dnsblv6_zone_get(bl.client, index, &info) == 0 &&
		       info.state == DNSBLV6_ZONE_OK;
	};
	const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
	while (!(is_well(0) && is_well(1)) && std::chrono::steady_clock::now() < end) {
		pollfd waiting = { dnsblv6_fd(bl.client), POLLIN, 0 };
		poll(&waiting, 1, 100);
		dnsblv6_process(bl.client);
	}
	CHECK(is_well(0));
	CHECK(is_well(1));
}

TEST_CASE("a reason has the URL of a bitmap zone, or the text of a classic one", "[client][api]")
{
	char text[200];
	const dnsblv6_ip address = ip("192.0.0.1"), other = ip("192.0.0.2");

	handle bitmap, classic;
	bitmap.start();
	dnsblv6_result result = bitmap.check("192.0.0.1");
	CHECK(dnsblv6_reason(bitmap.client, &address, &result, 0, text, sizeof(text)) > 0);
	CHECK(std::string(text) ==
	      "192.0.0.1 is listed by bl6.example, see https://bl.example/?ip=192.0.0.1");
	CHECK(dnsblv6_reason(bitmap.client, &address, &result, 0, text, 10) == 9);
	CHECK(std::string(text) == "192.0.0.1");
	result = bitmap.check("192.0.0.2");
	CHECK(dnsblv6_reason(bitmap.client, &other, &result, 0, text, sizeof(text)) == -ENOENT);

	classic.set("zones", "bl.example").start();
	result = classic.check("192.0.0.1");
	CHECK(dnsblv6_reason(classic.client, &address, &result, 20000, text, sizeof(text)) > 0);
	CHECK(std::string(text) == "192.0.0.1 is listed by bl.example: bad?!");
	CHECK(dnsblv6_reason(classic.client, &address, &result, 0, text, sizeof(text)) > 0);
	CHECK(std::string(text) == "192.0.0.1 is listed by bl.example");
}

TEST_CASE("a reason has an entry's label, and the name of its zone nowhere", "[client][api]")
{
	char text[600];
	const dnsblv6_ip address = ip("192.0.0.1"), other = ip("198.51.100.1");
	handle bl;
	bl.dns.list_classic("bl.example", "198.51.100.1", { 127, 0, 0, 4 });
	const std::string said = "see BL.example or bl.example";
	world::bytes rdata(said.begin(), said.end());
	rdata.insert(rdata.begin(), static_cast<uint8_t>(said.size()));
	bl.dns.add("1.100.51.198.bl.example", 16, rdata);
	bl.set("zones", "bl.example=127.0.0.2 bl.example=127.0.0.4=KEYED").start();
	dnsblv6_result result = bl.check("198.51.100.1");
	REQUIRE(result.zones_listed == 2);
	CHECK(dnsblv6_reason(bl.client, &other, &result, 0, text, sizeof(text)) > 0);
	CHECK(std::string(text) == "198.51.100.1 is listed by KEYED");
	CHECK(dnsblv6_reason(bl.client, &other, &result, 20000, text, sizeof(text)) > 0);
	CHECK(std::string(text) == "198.51.100.1 is listed by KEYED: see KEYED or KEYED");
	result = bl.check("192.0.0.1");
	REQUIRE(result.zones_listed == 1);
	CHECK(dnsblv6_reason(bl.client, &address, &result, 0, text, sizeof(text)) > 0);
	CHECK(std::string(text) == "192.0.0.1 is listed by bl.example");
}

TEST_CASE("of an answer with many codes each counts, from DNS and out of the cache",
	  "[client][api]")
{
	handle bl;
	const std::vector<uint8_t> codes = { 2, 3, 4, 9, 10, 11, 200 };
	for (const uint8_t code : codes)
		bl.dns.list_classic("bl.example", "198.51.100.1", { 127, 0, 0, code });
	bl.set("zones", "bl.example=127.0.0.2=SBL bl.example=127.0.0.[4..7]=XBL*2 "
			"bl.example=127.0.0.[10..11]=PBL*4 bl.example=127.0.0.200=NEW*8");
	bl.set("mode", "classic").start();
	for (const bool is_cached : { false, true }) {
		const dnsblv6_result result = bl.check("198.51.100.1");
		CAPTURE(is_cached);
		CHECK(result.zones_cached == (is_cached ? 15 : 0));
		CHECK(result.score == 15);
		CHECK(result.codes[4].entry == 3);
		CHECK(result.codes[4].octets[2] == 200);
	}
}

TEST_CASE("lines for a log have labels of entries, and the name of their zone nowhere",
	  "[client][api]")
{
	handle bl;
	std::string text;
	const auto keep = [](void *context, int level, const char *line) {
		*static_cast<std::string *>(context) += std::to_string(level) + " " + line + "\n";
	};
	bl.set("zones", "bl.example=127.0.0.2=SBL bl.example=127.0.0.4=XBL bl.example "
			"bl.example=127.0.0.9=SBL gone.invalid==GONE");
	dnsblv6_set_log(bl.client, keep, &text);
	bl.start();
	CHECK(bl.check("192.0.0.1").zones_listed == 5);
	CHECK(text.find("7 asks A 1.0.0.192.SBL,XBL") != std::string::npos);
	CHECK(text.find("7 1.0.0.192.SBL,XBL: A 127.0.0.2, TTL ") != std::string::npos);
	CHECK(text.find("4 [GONE] zone fell ill, ") != std::string::npos);
	CHECK(text.find("bl.example") == std::string::npos);
	CHECK(text.find("gone.invalid") == std::string::npos);
}

TEST_CASE("for private addresses no question is asked", "[client][api]")
{
	struct row {
		const char *address;
		bool is_private;
	};
	// The first and the last of each network, and their neighbours.
	const std::vector<row> rows = {
		{ "9.255.255.255", false },
		{ "10.0.0.0", true },
		{ "10.255.255.255", true },
		{ "11.0.0.0", false },
		{ "100.63.255.255", false },
		{ "100.64.0.0", true },
		{ "100.127.255.255", true },
		{ "100.128.0.0", false },
		{ "127.0.0.2", false },
		{ "169.253.255.255", false },
		{ "169.254.0.0", true },
		{ "169.254.255.255", true },
		{ "169.255.0.0", false },
		{ "172.15.255.255", false },
		{ "172.16.0.0", true },
		{ "172.31.255.255", true },
		{ "172.32.0.0", false },
		{ "192.0.2.1", false },
		{ "192.167.255.255", false },
		{ "192.168.0.0", true },
		{ "192.168.255.255", true },
		{ "192.169.0.0", false },
		{ "198.18.0.1", false },
		{ "223.255.255.255", false },
		{ "224.0.0.0", true },
		{ "239.255.255.255", true },
		{ "::1", false },
		{ "2001:db8::1", false },
		{ "2600::1", false },
		{ "fbff:ffff::1", false },
		{ "fc00::", true },
		{ "fdff:ffff::1", true },
		{ "fe7f:ffff::1", false },
		{ "fe80::", true },
		{ "febf:ffff::1", true },
		{ "fec0::1", false },
		{ "feff:ffff::1", false },
		{ "ff00::", true },
		{ "ff02::1", true },
	};
	const bool asks_all = GENERATE(false, true);
	handle bl;
	if (asks_all)
		bl.set("scope", "all");
	bl.start();
	CHECK(bl.check("192.0.2.200").zones_answered == 1); // the probe is over
	for (const row &each : rows) {
		CAPTURE(each.address, asks_all);
		const bool is_asked = asks_all || !each.is_private;
		const dnsblv6_ip address = ip(each.address);
		const uint64_t asked = bl.stat("questions");
		dnsblv6_result peeked = {};
		if (!is_asked) {
			REQUIRE(dnsblv6_peek(bl.client, &address, &peeked) == 0);
			CHECK(peeked.verdict == DNSBLV6_CLEAR);
			CHECK(peeked.zones_answered == 0);
		}
		const dnsblv6_result result = bl.check(each.address);
		CHECK(result.zones_answered == (is_asked ? 1u : 0u));
		CHECK((is_asked || result.verdict == DNSBLV6_CLEAR));
		CHECK((is_asked || bl.stat("questions") == asked));
		CHECK((result.ttl_s > 0) == is_asked);
	}
}

TEST_CASE("a log hook is called without the lock", "[client][api]")
{
	handle bl;
	// It would wait for ever otherwise. Only a test may do what the header forbids.
	dnsblv6 *client = bl.client;
	struct hook {
		dnsblv6 *client;
		int timeout_ms;
		unsigned calls;
	} kept = { client, -2, 0 };
	dnsblv6_set_log(
		client,
		[](void *context, int level, const char *line) {
			auto *told = static_cast<hook *>(context);
			told->timeout_ms = dnsblv6_timeout_ms(told->client);
			told->calls += level == 4 && line[0] == '[';
		},
		&kept);
	bl.set("zones", "gone.invalid").start();
	bl.check("192.0.2.1");
	CHECK(kept.calls == 1);
	CHECK(kept.timeout_ms >= -1);
}

TEST_CASE("a log hook that is taken away after the start stays", "[client][api]")
{
	handle bl;
	bl.set("zones", "gone.invalid").start();
	dnsblv6_set_log(bl.client, nullptr, nullptr);
	bl.check("192.0.2.1");
	CHECK(bl.lines.size() == 1);
}

TEST_CASE("a handle that is not there, and a place for none, are refused", "[client][api]")
{
	CHECK(dnsblv6_new(nullptr) == -EINVAL);
	CHECK(dnsblv6_set(nullptr, "threshold", "2") == -EINVAL);
	dnsblv6_set_log(nullptr, nullptr, nullptr);
	CHECK(dnsblv6_start(nullptr) == -EINVAL);
	CHECK(std::string(dnsblv6_error(nullptr)) == "there is no handle");
	CHECK(dnsblv6_process(nullptr) == -EINVAL);
}
