// SPDX-License-Identifier: GPL-3.0-or-later
// cached.conf: what is taken, and what is refused with which words.
#include "integration/adapters/cached/cached_setup.h"
#include "lib/common/log.h"
#include "tests/lib/librarysample.hh"
#include "tests/lib/manual.hh"
#include "tests/lib/parsed.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <regex>
#include <set>
#include <string>

namespace
{

using parsed = parsed_as<cached_setup, cached_setup_parse, cached_setup_deinit>;

const std::string ZONE = "zone:\n  - domain: bl6.example\n";

std::string sample()
{
	return read_file("integration/adapters/cached/cached.conf.sample");
}

} // namespace

TEST_CASE("a configuration with a zone and nothing else is complete", "[cached][setup]")
{
	const parsed file(ZONE);
	REQUIRE(file.status == 0);
	CHECK(std::string(file.setup.directory) == "/run/dnsblv6-cached");
	CHECK(file.setup.owner.socket_mode == 0660);
	CHECK(file.setup.clients_max == 1024);
	CHECK(file.setup.log_level == LOG_LEVEL_INFO);
	CHECK(std::string(file.setup.owner.user).empty());
	CHECK(std::string(file.setup.owner.group).empty());
	CHECK(std::string(file.setup.metrics).empty());
	CHECK(file.setup.zone_count == 1);
}

TEST_CASE("the sample has the defaults, and every item with its comments taken away",
	  "[cached][setup]")
{
	const parsed defaults(ZONE);
	const parsed as_it_is(sample() + ZONE);
	REQUIRE(as_it_is.status == 0);
	CHECK(std::string(as_it_is.setup.directory) == defaults.setup.directory);
	CHECK(as_it_is.setup.owner.socket_mode == defaults.setup.owner.socket_mode);
	CHECK(as_it_is.setup.clients_max == defaults.setup.clients_max);
	CHECK(as_it_is.setup.log_level == defaults.setup.log_level);

	const std::string all = std::regex_replace(sample(), std::regex("#user:.*"), "user: root");
	const parsed uncommented(
		std::regex_replace(all, std::regex("#( *[-a-z]+: *[^ ]|zone:|  )"), "$1"));
	CAPTURE(uncommented.error.line, uncommented.error.reason);
	CHECK(uncommented.status == 0);
	CHECK(uncommented.setup.zone_count == 2);
	CHECK(std::string(uncommented.setup.metrics) == "/run/dnsblv6-cached/metrics.prom");
}

TEST_CASE("every library option but those of clients and names is a configuration item",
	  "[cached][setup]")
{
	const std::set<std::string> elsewhere = { "zones",	"mode",	     "shared",
						  "role",	"threshold", "scope",
						  "on-failure", "kind",	     "test-point" };
	librarysample::check(sample(), elsewhere);
	for (unsigned i = 0; config_key(i) != nullptr; i++) {
		const std::string key = config_key(i);
		CAPTURE(key);
		const parsed file(ZONE + "library:\n    " + key + ": \"\\000\"\n");
		CHECK(file.status == -EINVAL);
		const bool is_unknown = std::string(file.error.reason).find("unknown item") == 0;
		CHECK(is_unknown == (elsewhere.count(key) == 1));
	}
}

TEST_CASE("zones are written as clients write them", "[cached][setup]")
{
	const parsed file(
		"zone:\n  - domain: BL6.Example.\n  - domain: bl.example\n    mode: classic\n");
	REQUIRE(file.status == 0);
	CHECK(std::string(file.setup.zones[0].name) == "bl6.example");
	CHECK(cached_setup_find_zone(&file.setup, "bl6.example", 11) == 0);
	CHECK(cached_setup_find_zone(&file.setup, "BL.Example", 10) == 1);
	CHECK(cached_setup_find_zone(&file.setup, "bl.example", 9) < 0);
	CHECK(cached_setup_find_zone(&file.setup, "example", 7) < 0);
	CHECK(file.setup.zones[0].mode == nullptr);
	CHECK(std::string(file.setup.zones[1].mode) == "classic");
}

TEST_CASE("a value that cannot be is refused with its line, its item and what is permitted",
	  "[cached][setup]")
{
	struct row {
		const char *text, *item, *reason;
	};
	const row tried = GENERATE(values<row>({
		{ "cached:\n    directory: run/dnsblv6\n", "directory",
		  "permitted is an absolute path" },
		{ "cached:\n    metrics: x.prom\n", "metrics", "permitted is an absolute path" },
		{ "cached:\n    socket-mode: 888\n", "socket-mode",
		  "permitted are three octal digits" },
		{ "cached:\n    socket-mode: 66\n", "socket-mode",
		  "permitted are three octal digits" },
		{ "cached:\n    user: no-such-user\n", "user", "no such user" },
		{ "cached:\n    socket-group: no-such-group\n", "socket-group", "no such group" },
		{ "cached:\n    clients: 0\n", "clients",
		  "permitted are whole numbers from 1 to 65536" },
		{ "cached:\n    log-level: loud\n", "log-level",
		  "permitted are error, warning, info, debug" },
		{ "library:\n    cache-size: 5T\n", "cache-size", "permitted is 8K to 64G" },
		{ "library:\n    servers: [ 127.0.0.1, nobody ]\n", "servers", "permitted are" },
		{ "library:\n    ranges: maybe\n", "ranges", "permitted are yes and no" },
		{ "  - domain: a.example\n  - domain: 192.0.2.1\n", "domain", "is no zone" },
		{ "    mode: auto\n    label: BL*2\n", "label", "permitted are letters" },
		{ "    mode: auto\n    label: \"BL b.example\"\n", "label",
		  "permitted are letters" },
		{ "    mode: auto\n    label: a2345678901234567890123456789012\n", "label", "31" },
	}));
	CAPTURE(tried.text);
	const parsed file(ZONE + tried.text);
	CHECK(file.status == -EINVAL);
	CHECK(file.error.line == 4);
	CHECK(std::string(file.error.item) == tried.item);
	CHECK_THAT(file.error.reason, Catch::Contains(tried.reason));
}

TEST_CASE("a file without a zone, or with one twice, is refused", "[cached][setup]")
{
	const parsed none("cached:\n    clients: 5\n");
	CHECK(none.status == -EINVAL);
	CHECK(std::string(none.error.reason) == "zone: none is given, each with its \"domain\"");
	const parsed twice(ZONE + "  - domain: BL6.EXAMPLE.\n");
	CHECK(twice.status == -EINVAL);
	CHECK(twice.error.line == 3);
	CHECK(std::string(twice.error.reason) == "zone is given twice");
	const parsed odd(ZONE + "library:\n    min-ttl: 1h\n    max-ttl: 1m\n");
	CHECK(std::string(odd.error.reason) == "max-ttl \"60\": below min-ttl, 3600");
}

TEST_CASE("filters and weights are refused, because clients set them", "[cached][setup]")
{
	const std::string name =
		GENERATE("\"bl.example*2\"", "\"bl.example=127.0.0.2\"", "\"a.example,b.example\"");
	const parsed file("zone:\n  - domain: " + name + "\n");
	CAPTURE(name);
	CHECK(file.status == -EINVAL);
	CHECK(file.error.line == 2);
}

TEST_CASE("64 zones fit, and one more does not", "[cached][setup]")
{
	std::string text = "zone:\n";
	for (int i = 0; i < SETUP_ZONES_MAX; i++)
		text += "  - domain: " + std::string(60, 'z') + "." + std::to_string(i) +
			".example\n";
	CHECK(parsed(text).status == 0);
	const parsed more(text + "  - domain: more.example\n");
	CHECK(more.status == -EINVAL);
	CHECK(std::string(more.error.reason) == "there are 64 zones at most");
}

TEST_CASE("a zone may have a label, which its handle tells", "[cached][setup]")
{
	const tmpdir dir;
	const parsed file("cached:\n    directory: " + dir.path() +
			  "\nzone:\n  - domain: key.a.example\n    label: A-1_z.9\n"
			  "  - domain: b.example\n");
	dnsblv6_zone_info info = {};
	REQUIRE(file.status == 0);
	REQUIRE(dnsblv6_start(file.setup.handle.client) == 0);
	REQUIRE(dnsblv6_zone_get(file.setup.handle.client, 0, &info) == 0);
	CHECK(std::string(info.label) == "A-1_z.9");
	CHECK(info.weight == 1);
	REQUIRE(dnsblv6_zone_get(file.setup.handle.client, 1, &info) == 0);
	CHECK(std::string(info.name) == "b.example");
	CHECK(std::string(info.label).empty());
	CHECK(dnsblv6_zone_get(file.setup.handle.client, 2, &info) == -ENOENT);
}

TEST_CASE("servers are a list", "[cached][setup]")
{
	const parsed file(ZONE + "library:\n    servers: [ 127.0.0.1@5300, \"::1\" ]\n");
	REQUIRE(file.status == 0);
	CHECK(std::string(file.setup.handle.lists[HANDLE_SERVERS]) == "127.0.0.1@5300 ::1");
}

TEST_CASE("without memory there is no configuration, and nothing is left of it", "[cached][setup]")
{
	parsed::check_without_memory(ZONE);
}

TEST_CASE("the manual has each item of the table with its default", "[cached][setup]")
{
	manual::check_rows(cached_setup_table, 2, "integration/adapters/cached/dnsblv6-cached.8");
}
