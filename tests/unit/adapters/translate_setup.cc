// SPDX-License-Identifier: GPL-3.0-or-later
// translate.conf: what is taken, and what is refused with which words.
#include "integration/adapters/dns-translator/translate_setup.h"
#include "lib/common/log.h"
#include "tests/lib/librarysample.hh"
#include "tests/lib/manual.hh"
#include "tests/lib/parsed.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <arpa/inet.h>

#include <cerrno>
#include <cstring>
#include <regex>
#include <string>

namespace
{

using parsed = parsed_as<translate_setup, translate_setup_parse, translate_setup_deinit>;

const std::string ZONE = "zone:\n  - domain: bl.local\n    lists: bl6.example\n";

std::string code(const setup_listing &listing)
{
	char text[INET_ADDRSTRLEN];
	return inet_ntop(AF_INET, listing.code, text, sizeof(text));
}

std::string sample()
{
	return read_file("integration/adapters/dns-translator/translate.conf.sample");
}

std::string refused(const std::string &text)
{
	const parsed file(text);
	CAPTURE(text);
	CHECK(file.status == -EINVAL);
	return file.error.reason;
}

std::string refused_list(const std::string &list)
{
	return refused("zone:\n  - domain: bl.local\n    lists: [ \"" + list + "\" ]\n");
}

} // namespace

TEST_CASE("a translator's configuration with one zone and its list is complete",
	  "[translate][setup]")
{
	const parsed file(ZONE);
	REQUIRE(file.status == 0);
	REQUIRE(file.setup.listen.count == 1);
	const auto *four = reinterpret_cast<const sockaddr_in *>(&file.setup.listen.all[0]);
	CHECK(four->sin_addr.s_addr == htonl(INADDR_LOOPBACK));
	CHECK(ntohs(four->sin_port) == 5300);
	CHECK(file.setup.workers == 1);
	CHECK(file.setup.timeout_ms == 3000);
	CHECK(file.setup.ttl_max_s == 3600);
	CHECK(file.setup.log_level == LOG_LEVEL_INFO);
	REQUIRE(file.setup.zone_count == 1);
	const setup_zone &zone = file.setup.zones[0];
	CHECK(zone.name.size == 10);
	CHECK(zone.name.label_count == 3);
	CHECK(zone.entries == 1);
	REQUIRE(zone.listing_count == 1);
	CHECK(code(zone.listings[0]) == "127.0.0.2");
	CHECK_FALSE(zone.has_nxdomain);
}

TEST_CASE("lists have codes, and zones that name the same list share it", "[translate][setup]")
{
	const parsed file(
		"zone:\n"
		"  - domain: bl.local\n"
		"    lists: [ bl6.example:127.0.0.2, other.example:127.0.0.4 ]\n"
		"  - domain: one.local\n"
		"    on-failure: nxdomain\n"
		"    text: \"$ is listed\"\n"
		"    lists: [ OTHER.example:127.0.1.7, \"zen.example=127.0.0.[4..7]\" ]\n");
	CAPTURE(file.error.reason);
	REQUIRE(file.status == 0);
	CHECK(file.setup.entry_count == 3);
	CHECK(file.setup.zones[0].entries == 3);
	CHECK(file.setup.zones[1].entries == 6);
	CHECK(code(file.setup.zones[0].listings[1]) == "127.0.0.4");
	CHECK(file.setup.zones[1].listings[0].entry == 1);
	CHECK(code(file.setup.zones[1].listings[0]) == "127.0.1.7");
	CHECK(file.setup.zones[1].has_nxdomain);
	CHECK(std::string(file.setup.zones[1].text) == "$ is listed");
	dnsblv6_zone_info info;
	REQUIRE(dnsblv6_start(file.setup.handle.client) == 0);
	REQUIRE(dnsblv6_zone_get(file.setup.handle.client, 2, &info) == 0);
	CHECK(std::string(info.name) == "zen.example");
	CHECK(dnsblv6_zone_get(file.setup.handle.client, 3, &info) == -ENOENT);
}

TEST_CASE("one list may have two codes", "[translate][setup]")
{
	const parsed file("zone:\n  - domain: bl.local\n"
			  "    lists: [ bl6.example:127.0.0.2, bl6.example:127.0.0.9 ]\n");
	REQUIRE(file.status == 0);
	CHECK(file.setup.entry_count == 1);
	CHECK(file.setup.zones[0].listing_count == 2);
}

TEST_CASE("a wrong list is refused with what is permitted", "[translate][setup]")
{
	CHECK_THAT(refused_list("bl6.example:10.0.0.1"), Catch::Contains("in 127.0.0.0/8"));
	CHECK_THAT(refused_list("bl6.example:2"), Catch::Contains("in 127.0.0.0/8"));
	CHECK_THAT(refused_list("bl6.example:"), Catch::Contains("in 127.0.0.0/8"));
	CHECK_THAT(refused_list("bl6.example:127.255.255.254"),
		   Catch::Contains("something is wrong"));
	CHECK_THAT(refused_list("bl6.example*2"), Catch::Contains("without a weight"));
	CHECK_THAT(refused_list("a.example b.example"), Catch::Contains("without a weight"));
	CHECK_THAT(refused_list("192.0.2.1"), Catch::Contains("address"));
	CHECK_THAT(refused_list("bl6..example"), Catch::Contains("labels"));
	CHECK_THAT(refused_list(":127.0.0.2"), Catch::Contains("permitted is NAME"));
	CHECK_FALSE(refused_list("bl6.example=127.0.0.300").empty());
	std::string many = "zone:\n  - domain: bl.local\n    lists: [ ";
	for (int i = 0; i < 65; i++)
		many += (i > 0 ? ", l" : "l") + std::to_string(i) + ".example";
	CHECK_THAT(refused(many + " ]\n"), Catch::Contains("64 lists"));
}

TEST_CASE("a list inside an own zone is refused, it would be asked of ourselves",
	  "[translate][setup]")
{
	CHECK_THAT(refused_list("bl.local"), Catch::Contains("inside a zone"));
	CHECK_THAT(refused_list("zen.BL.local"), Catch::Contains("list zen.BL.local is inside"));
	CHECK_THAT(refused_list("zen.BL.local=127.0.0.2"), Catch::Contains("inside a zone"));
	CHECK(parsed("zone:\n  - domain: bl.local\n    lists: xbl.local\n").status == 0);
}

TEST_CASE("zones that cannot be answered for are refused", "[translate][setup]")
{
	CHECK(refused("translate:\n    workers: 1\n") ==
	      "zone: none is given, each with its \"domain\"");
	CHECK(refused(ZONE + "  - domain: b2.local\n") == "zone b2.local has no lists");
	CHECK(refused(ZONE + "  - domain: BL.local.\n    lists: a.example\n") ==
	      "zone is given twice");
	CHECK(refused("zone:\n  - domain: .\n    lists: a.example\n") ==
	      "the root is no zone of lists");
	CHECK_THAT(refused(ZONE + "    text: \"\xc3\xa9\"\n"), Catch::Contains("ASCII"));
	CHECK_FALSE(refused(ZONE + "    on-failure: listed\n").empty());
	CHECK_THAT(refused(ZONE + "library:\n    min-ttl: 1h\n    max-ttl: 1m\n"),
		   Catch::Contains("below min-ttl"));
	CHECK_THAT(refused("translate:\n    timeout: 10s\n" + ZONE),
		   Catch::Contains("tcp-idle-timeout must be longer"));
}

TEST_CASE("library options about verdicts are refused", "[translate][setup]")
{
	for (const char *item :
	     { "zones: a.example", "threshold: 2", "on-failure: open", "role: writer" }) {
		CAPTURE(item);
		CHECK_FALSE(refused(ZONE + "library:\n    " + item + "\n").empty());
	}
	CHECK_FALSE(refused(ZONE + "library:\n    cache-size: 1K\n").empty());
	CHECK(parsed(ZONE + "library:\n    shared: /run/dnsblv6-cached\n    mode: classic\n")
		      .status == 0);
}

TEST_CASE("the sample of the translator has the defaults, and every item with its comments "
	  "taken away",
	  "[translate][setup]")
{
	const parsed defaults(ZONE);
	const parsed as_it_is(sample() + ZONE);
	CAPTURE(as_it_is.error.line, as_it_is.error.reason);
	REQUIRE(as_it_is.status == 0);
	CHECK(as_it_is.setup.listen.count == defaults.setup.listen.count);
	CHECK(memcmp(&as_it_is.setup.listen.all[0], &defaults.setup.listen.all[0],
		     sizeof(sockaddr_in)) == 0);
	CHECK(as_it_is.setup.workers == defaults.setup.workers);
	CHECK(as_it_is.setup.tcp_clients_max == defaults.setup.tcp_clients_max);
	CHECK(as_it_is.setup.tcp_idle_timeout_s == defaults.setup.tcp_idle_timeout_s);
	CHECK(as_it_is.setup.timeout_ms == defaults.setup.timeout_ms);
	CHECK(as_it_is.setup.ttl_max_s == defaults.setup.ttl_max_s);
	CHECK(as_it_is.setup.name_server.size == defaults.setup.name_server.size);
	CHECK(memcmp(as_it_is.setup.name_server.wire, defaults.setup.name_server.wire,
		     defaults.setup.name_server.size) == 0);
	CHECK(as_it_is.setup.name_server.label_count == defaults.setup.name_server.label_count);
	CHECK(as_it_is.setup.log_level == defaults.setup.log_level);

	const std::string all = std::regex_replace(sample(), std::regex("#user:.*"), "user: root");
	const parsed uncommented(
		std::regex_replace(all, std::regex("#( *[-a-z]+: *[^ ]|zone:|  )"), "$1"));
	CAPTURE(uncommented.error.line, uncommented.error.reason);
	REQUIRE(uncommented.status == 0);
	CHECK(uncommented.setup.zones[0].listing_count == 2);
	CHECK_FALSE(uncommented.setup.zones[0].has_nxdomain);
	CHECK(std::string(uncommented.setup.metrics) == "/run/dnsblv6-translate/metrics.prom");
}

TEST_CASE("every option of the library is an item of translate.conf, but verdicts and names",
	  "[translate][setup]")
{
	librarysample::check(sample(), { "zones", "role", "threshold", "scope", "on-failure",
					 "kind", "test-point" });
}

TEST_CASE("without memory there is no configuration, and nothing is left of it",
	  "[translate][setup]")
{
	parsed::check_without_memory(ZONE);
}

TEST_CASE("the manual has each item of the table with its default", "[translate][setup]")
{
	manual::check_rows(translate_setup_table, 2,
			   "integration/adapters/dns-translator/dnsblv6-translate.8");
}
