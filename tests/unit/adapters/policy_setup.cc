// SPDX-License-Identifier: GPL-3.0-or-later
// policy.conf: what is taken, and what is refused with which words.
#include "integration/adapters/postfix/policy_setup.h"
#include "lib/common/log.h"
#include "tests/lib/manual.hh"
#include "tests/lib/parsed.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <netinet/in.h>

#include <regex>
#include <string>

namespace
{

using parsed = parsed_as<policy_setup, policy_setup_parse, policy_setup_deinit>;

const std::string ZONES = "library:\n    zones: bl6.example\n";

std::string sample()
{
	return read_file("integration/adapters/postfix/policy.conf.sample");
}

} // namespace

TEST_CASE("a configuration with a zone and nothing else is complete", "[policy][setup]")
{
	const parsed file(ZONES);
	REQUIRE(file.status == 0);
	REQUIRE(file.setup.place_count == 1);
	CHECK(std::string(file.setup.places[0].place.text) ==
	      "/var/spool/postfix/dnsblv6-policy/socket");
	CHECK(file.setup.places[0].protocol == SETUP_POLICY);
	CHECK(file.setup.owner.socket_mode == 0660);
	CHECK(file.setup.clients_max == 4096);
	CHECK(file.setup.log_level == LOG_LEVEL_INFO);
	CHECK(file.setup.judge.action == JUDGE_REJECT);
	CHECK(file.setup.judge.deadline_ms == 2000);

	const parsed none("");
	CHECK(none.status < 0);
	CHECK(std::string(none.error.reason) == "library: \"zones\" is not given");
}

TEST_CASE("the sample has the defaults, and every item with its comments taken away",
	  "[policy][setup]")
{
	const parsed defaults(ZONES);
	const parsed as_it_is(
		std::regex_replace(sample(), std::regex("#zones:.*"), "zones: bl6.example"));
	CAPTURE(as_it_is.error.line, as_it_is.error.reason);
	REQUIRE(as_it_is.status == 0);
	REQUIRE(as_it_is.setup.place_count == 1);
	CHECK(std::string(as_it_is.setup.places[0].place.text) ==
	      defaults.setup.places[0].place.text);
	CHECK(as_it_is.setup.owner.socket_mode == defaults.setup.owner.socket_mode);
	CHECK(as_it_is.setup.clients_max == defaults.setup.clients_max);
	CHECK(as_it_is.setup.log_level == defaults.setup.log_level);
	const struct judge &judge = as_it_is.setup.judge;
	CHECK(judge.action == defaults.setup.judge.action);
	CHECK(judge.deadline_ms == defaults.setup.judge.deadline_ms);
	CHECK(judge.exempt.count == defaults.setup.judge.exempt.count);
	CHECK(std::string(judge.reject_code) == defaults.setup.judge.reject_code);
	CHECK(std::string(judge.defer_code) == defaults.setup.judge.defer_code);
	CHECK(std::string(judge.reject_text) == defaults.setup.judge.reject_text);
	CHECK(std::string(judge.defer_text) == defaults.setup.judge.defer_text);

	const tmpdir directory;
	write_file(directory.file("allow"), "192.0.2.1\n");
	std::string all = std::regex_replace(sample(), std::regex("#user:.*"), "user: root");
	all = std::regex_replace(all, std::regex("#socket-group:.*"), "socket-group: root");
	all = std::regex_replace(all, std::regex("#allow-file:.*"),
				 "allow-file: " + directory.file("allow"));
	const parsed uncommented(std::regex_replace(all, std::regex("#( *[-a-z]+: *[^ ])"), "$1"));
	CAPTURE(uncommented.error.line, uncommented.error.item, uncommented.error.reason);
	REQUIRE(uncommented.status == 0);
	CHECK(uncommented.setup.place_count == 2);
	CHECK(uncommented.setup.judge.allowed.count == 1);
	CHECK(std::string(uncommented.setup.metrics) == "/run/dnsblv6-policy/metrics.prom");
}

TEST_CASE("places are paths and ports of loopback", "[policy][setup]")
{
	const parsed file("policy:\n    listen: [ /run/a, 127.1.2.3@10030 ]\n"
			  "    lines: \"::1@10031\"\n" +
			  ZONES);
	REQUIRE(file.status == 0);
	REQUIRE(file.setup.place_count == 3);
	CHECK(file.setup.places[0].place.address.ss_family == AF_UNIX);
	CHECK(file.setup.places[1].place.address.ss_family == AF_INET);
	CHECK(file.setup.places[1].place.address_size == sizeof(struct sockaddr_in));
	CHECK(file.setup.places[2].place.address.ss_family == AF_INET6);
	CHECK(file.setup.places[2].protocol == SETUP_LINES);
}

TEST_CASE("a value that is none is refused with its line", "[policy][setup]")
{
	const auto line = GENERATE(
		as<std::string>(), "listen: [ /run/a, /run/a ]", "listen: 192.0.2.1@25",
		"listen: \"::@25\"", "listen: \"2001:db8::1@25\"", "listen: 127.0.0.1",
		"listen: 127.0.0.1@", "listen: 127.0.0.1@0", "listen: 127.0.0.1@65536",
		"listen: 127.0.0.1@25x", "listen: run/a", "lines: localhost@25",
		"user: no-such-user-here", "socket-group: no-such-group-here", "socket-mode: 999",
		"clients: 0", "metrics: metrics.prom", "log-level: loud", "port: 25");
	CAPTURE(line);
	const parsed file("policy:\n    " + line + "\n" + ZONES);
	CHECK(file.status < 0);
	CHECK(file.error.line == 2);
}

TEST_CASE("options with which the library would not start are refused", "[policy][setup]")
{
	const std::string library = "library:\n    zones: [ bl.example ]\n";
	const parsed other(library + "    mode: [ b1.example=classic ]\n");
	CHECK(other.status == -EINVAL);
	CHECK(std::string(other.error.reason) == "mode \"b1.example\": \"zones\" does not have it");
	const parsed unproven(library + "    secure: [ yes ]\n    servers: [ 192.0.2.1 ]\n");
	CHECK_THAT(unproven.error.reason, Catch::Contains("no server whose AD is believed"));
	// A start has more descriptors than this process.
	CHECK(parsed(library + "    max-sockets: 16384\n").status == 0);
}

TEST_CASE("there are not more places than the daemon listens to", "[policy][setup]")
{
	std::string places;
	for (int i = 0; i <= SETUP_PLACES_MAX; i++)
		places += (i > 0 ? ", /run/" : "/run/") + std::to_string(i);
	CHECK(parsed("policy:\n    listen: [ " + places + " ]\n" + ZONES).status < 0);
}

TEST_CASE("without memory there is no configuration, and nothing is left of it", "[policy][setup]")
{
	const tmpdir directory;
	write_file(directory.file("allow"), "192.0.2.1\n");
	parsed::check_without_memory("decision:\n    exempt: 192.0.2.0/24\n    allow-file: " +
				     directory.file("allow") + "\n" + ZONES);
}

TEST_CASE("the manual has each item of the table with its default", "[policy][setup]")
{
	manual::check_rows(policy_setup_table, 2, "integration/adapters/postfix/dnsblv6-policy.8");
}
