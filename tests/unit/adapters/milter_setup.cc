// SPDX-License-Identifier: GPL-3.0-or-later
// milter.conf: what is taken, and what is refused with which words.
#include "integration/adapters/milter/milter_setup.h"
#include "lib/common/log.h"
#include "tests/lib/librarysample.hh"
#include "tests/lib/manual.hh"
#include "tests/lib/parsed.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <regex>
#include <string>

namespace
{

using parsed = parsed_as<milter_setup, milter_setup_parse, milter_setup_deinit>;

const std::string ZONE = "library:\n    zones: bl6.example\n";

std::string sample()
{
	return read_file("integration/adapters/milter/milter.conf.sample");
}

} // namespace

TEST_CASE("a configuration with a zone and nothing else is complete", "[milter][setup]")
{
	const parsed file(ZONE);
	REQUIRE(file.status == 0);
	CHECK(std::string(file.setup.place.connection) == "local:/run/dnsblv6-milter/socket");
	CHECK(std::string(file.setup.place.path) == "/run/dnsblv6-milter/socket");
	CHECK(file.setup.owner.socket_mode == 0660);
	CHECK(std::string(file.setup.owner.user).empty());
	CHECK_FALSE(file.setup.is_quarantine);
	CHECK(file.setup.log_level == LOG_LEVEL_INFO);
	CHECK(file.setup.judge.action == JUDGE_REJECT);
	CHECK(std::string(file.setup.metrics).empty());

	const parsed none("milter:\n    quarantine: yes\n");
	CHECK(none.status == -EINVAL);
	CHECK(std::string(none.error.reason) == "library: \"zones\" is not given");
}

TEST_CASE("the sample has the defaults, and every item with its comments taken away",
	  "[milter][setup]")
{
	const std::string with_zone =
		std::regex_replace(sample(), std::regex("#zones:.*"), "zones: bl6.example");
	const parsed defaults(ZONE);
	const parsed as_it_is(with_zone);
	CAPTURE(as_it_is.error.line, as_it_is.error.reason);
	REQUIRE(as_it_is.status == 0);
	CHECK(std::string(as_it_is.setup.place.connection) == defaults.setup.place.connection);
	CHECK(as_it_is.setup.owner.socket_mode == defaults.setup.owner.socket_mode);
	CHECK(as_it_is.setup.is_quarantine == defaults.setup.is_quarantine);
	CHECK(as_it_is.setup.log_level == defaults.setup.log_level);
	const struct judge &said = as_it_is.setup.judge;
	const struct judge &judge = defaults.setup.judge;
	CHECK(said.action == judge.action);
	CHECK(said.deadline_ms == judge.deadline_ms);
	CHECK(std::string(said.reject_code) == judge.reject_code);
	CHECK(std::string(said.reject_text) == judge.reject_text);
	CHECK(std::string(said.defer_code) == judge.defer_code);
	CHECK(std::string(said.defer_text) == judge.defer_text);

	const tmpdir directory;
	write_file(directory.file("allow"), "192.0.2.1\n");
	std::string all = std::regex_replace(sample(), std::regex("#user:.*"), "user: root");
	all = std::regex_replace(all, std::regex("#socket-group:.*"), "socket-group: root");
	all = std::regex_replace(all, std::regex("/etc/dnsblv6/allow"), directory.file("allow"));
	const parsed uncommented(std::regex_replace(all, std::regex("#([-a-z]+: *[^ ])"), "$1"));
	CAPTURE(uncommented.error.line, uncommented.error.reason);
	REQUIRE(uncommented.status == 0);
	CHECK(std::string(uncommented.setup.metrics) == "/run/dnsblv6-milter/metrics.prom");
	CHECK(uncommented.setup.judge.allowed.count == 1);
}

TEST_CASE("the sample has every option of the library about addresses with its default",
	  "[milter][setup]")
{
	librarysample::check(sample(), { "role", "kind", "test-point" });
}

TEST_CASE("a socket is a path or an address, in the words of libmilter", "[milter][setup]")
{
	struct row {
		const char *text, *path, *connection;
	};
	const row tried = GENERATE(values<row>({
		{ "/run/milter", "/run/milter", "local:/run/milter" },
		{ "127.0.0.1@8891", "", "inet:8891@127.0.0.1" },
		{ "\"::1@65535\"", "", "inet6:65535@::1" },
		{ "0.0.0.0@1", "", "inet:1@0.0.0.0" },
	}));
	CAPTURE(tried.text);
	const parsed file(std::string("milter:\n    socket: ") + tried.text + "\n" + ZONE);
	REQUIRE(file.status == 0);
	CHECK(std::string(file.setup.place.path) == tried.path);
	CHECK(std::string(file.setup.place.connection) == tried.connection);
}

TEST_CASE("a value that cannot be is refused with its line, its item and what is permitted",
	  "[milter][setup]")
{
	struct row {
		const char *section, *item, *value, *reason;
	};
	const row tried = GENERATE(values<row>({
		{ "milter", "socket", "milter.sock", "permitted are an absolute path, and" },
		{ "milter", "socket", "127.0.0.1", "permitted are an absolute path, and" },
		{ "milter", "socket", "127.0.0.1@0", "permitted are an absolute path, and" },
		{ "milter", "socket", "127.0.0.1@65536", "permitted are an absolute path, and" },
		{ "milter", "socket", "127.0.0.1@smtp", "permitted are an absolute path, and" },
		{ "milter", "socket", "localhost@8891", "permitted are an absolute path, and" },
		{ "milter", "user", "no-such-user", "no such user" },
		{ "milter", "socket-group", "no-such-group", "no such group" },
		{ "milter", "socket-mode", "9", "permitted are three octal digits" },
		{ "milter", "quarantine", "maybe", "permitted are no, yes" },
		{ "milter", "metrics", "x.prom", "permitted is an absolute path" },
		{ "milter", "log-level", "loud", "permitted are error, warning, info, debug" },
		{ "decision", "action", "bounce", "permitted are reject, defer, warn, prepend" },
		{ "library", "threshold", "many", "permitted" },
	}));
	CAPTURE(tried.item, tried.value);
	const parsed file(std::string(tried.section) + ":\n    " + tried.item + ": \"" +
			  tried.value + "\"\n");
	CHECK(file.status == -EINVAL);
	CHECK(file.error.line == 2);
	CHECK(std::string(file.error.item) == tried.item);
	CHECK_THAT(file.error.reason, Catch::Contains(tried.reason));
}

TEST_CASE("quarantine is a way to refuse, and of nothing else", "[milter][setup]")
{
	const std::string action = GENERATE("defer", "warn", "prepend");
	const parsed file("milter:\n    quarantine: yes\ndecision:\n    action: " + action + "\n" +
			  ZONE);
	CHECK(file.status == -EINVAL);
	CHECK_THAT(file.error.reason, Catch::Contains("action: reject"));
	CHECK(parsed("milter:\n    quarantine: yes\n" + ZONE).status == 0);
}

TEST_CASE("an allow list that cannot be read is refused", "[milter][setup]")
{
	const parsed file("decision:\n    allow-file: /nowhere/allow\n" + ZONE);
	CHECK(file.status == -ENOENT);
	CHECK_THAT(file.error.reason, Catch::StartsWith("allow-file /nowhere/allow: "));
}

TEST_CASE("without memory there is no configuration, and nothing is left of it", "[milter][setup]")
{
	const tmpdir directory;
	write_file(directory.file("allow"), "192.0.2.1\n");
	parsed::check_without_memory("decision:\n    exempt: 192.0.2.0/24\n    allow-file: " +
				     directory.file("allow") + "\n" + ZONE);
}

TEST_CASE("the manual has each item of the table with its default", "[milter][setup]")
{
	manual::check_rows(milter_setup_table, 2, "integration/adapters/milter/dnsblv6-milter.8");
}
