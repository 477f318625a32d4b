// SPDX-License-Identifier: GPL-3.0-or-later
// filter.conf: what is taken, and what is refused with which words.
#include "integration/adapters/opensmtpd/filter_setup.h"
#include "lib/common/log.h"
#include "tests/lib/manual.hh"
#include "tests/lib/parsed.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <regex>
#include <string>

namespace
{

using parsed_setup = parsed_as<filter_setup, filter_setup_parse, filter_setup_deinit>;

const std::string ZONES = "library:\n    zones: bl6.example\n";

std::string sample()
{
	return read_file("integration/adapters/opensmtpd/filter.conf.sample");
}

} // namespace

TEST_CASE("a filter's configuration with a zone and nothing else is complete", "[filter][setup]")
{
	const parsed_setup file(ZONES);
	REQUIRE(file.status == 0);
	CHECK(file.setup.options.phase == LINE_AT_MAIL_FROM);
	CHECK_FALSE(file.setup.options.is_disconnecting);
	CHECK(file.setup.options.sessions_max == 16384);
	CHECK(file.setup.log_level == LOG_LEVEL_INFO);
	CHECK(file.setup.judge.action == JUDGE_REJECT);
	CHECK(file.setup.judge.deadline_ms == 2000);
}

TEST_CASE("the sample of the filter has the defaults, and every item with its comments taken away",
	  "[filter][setup]")
{
	const parsed_setup defaults(ZONES);
	const parsed_setup as_it_is(std::regex_replace(sample(), std::regex("#zones:"), "zones:"));
	CAPTURE(as_it_is.error.line, as_it_is.error.reason);
	REQUIRE(as_it_is.status == 0);
	CHECK(as_it_is.setup.options.phase == defaults.setup.options.phase);
	CHECK(as_it_is.setup.options.is_disconnecting == defaults.setup.options.is_disconnecting);
	CHECK(as_it_is.setup.options.sessions_max == defaults.setup.options.sessions_max);
	CHECK(as_it_is.setup.log_level == defaults.setup.log_level);
	CHECK(as_it_is.setup.judge.action == defaults.setup.judge.action);
	CHECK(as_it_is.setup.judge.deadline_ms == defaults.setup.judge.deadline_ms);
	CHECK(std::string(as_it_is.setup.judge.reject_text) == defaults.setup.judge.reject_text);
	CHECK(std::string(as_it_is.setup.judge.defer_text) == defaults.setup.judge.defer_text);
	CHECK(std::string(as_it_is.setup.judge.reject_code) == defaults.setup.judge.reject_code);
	CHECK(std::string(as_it_is.setup.judge.defer_code) == defaults.setup.judge.defer_code);

	const std::string all =
		std::regex_replace(sample(), std::regex("#allow-file:.*"), "allow-file: /dev/null");
	const parsed_setup uncommented(
		std::regex_replace(all, std::regex("\n    #([-a-z]+: )"), "\n    $1"));
	CAPTURE(uncommented.error.line, uncommented.error.item, uncommented.error.reason);
	// /dev/null is no file of prefixes: the last thing that is looked at.
	CHECK(uncommented.status == -EISDIR);
}

TEST_CASE("every item that the filter has is in its sample", "[filter][setup]")
{
	const std::string text = sample();
	std::vector<std::string> names = { "phase", "disconnect", "sessions", "log-level" };
	for (const auto &item : judge_items)
		names.emplace_back(item.name);
	for (const auto &item : handle_items)
		names.emplace_back(item.name);
	for (const auto &name : names) {
		CAPTURE(name);
		CHECK(std::regex_search(text, std::regex("\n    #?" + name + ": ")));
	}
}

TEST_CASE("what a filter is to do is taken", "[filter][setup]")
{
	const parsed_setup file(
		"filter:\n    phase: rcpt-to\n    disconnect: yes\n    sessions: 10\n"
		"decision:\n    action: warn\n    deadline: 300ms\n" +
		ZONES);
	REQUIRE(file.status == 0);
	CHECK(file.setup.options.phase == LINE_AT_RCPT_TO);
	CHECK(file.setup.options.is_disconnecting);
	CHECK(file.setup.options.sessions_max == 10);
	CHECK(file.setup.judge.action == JUDGE_WARN);
	CHECK(file.setup.judge.deadline_ms == 300);
}

TEST_CASE("a value that a filter cannot have is refused with its line", "[filter][setup]")
{
	struct row {
		const char *text, *item, *reason;
	};
	const row tried = GENERATE(values<row>({
		{ "filter:\n    phase: data\n", "phase",
		  "permitted are connect, helo, mail-from, rcpt-to" },
		{ "filter:\n    disconnect: maybe\n", "disconnect", "permitted are no, yes" },
		{ "filter:\n    sessions: 0\n", "sessions",
		  "permitted are whole numbers from 1 to 1048576" },
		{ "filter:\n    user: root\n", "user", "unknown item" },
		{ "decision:\n    action: pass\n", "action", "permitted are" },
	}));
	CAPTURE(tried.text);
	const parsed_setup file(ZONES + tried.text);
	CHECK(file.status == -EINVAL);
	CHECK(file.error.line == 4);
	CHECK_THAT(file.error.item, Catch::Contains(tried.item));
	CHECK_THAT(file.error.reason, Catch::Contains(tried.reason));
}

TEST_CASE("without zones, or without the allow list that is named, a filter does not start",
	  "[filter][setup]")
{
	const parsed_setup none("filter:\n    sessions: 10\n");
	CHECK(none.status == -EINVAL);
	CHECK(std::string(none.error.reason) == "library: \"zones\" is not given");
	const parsed_setup missing("decision:\n    allow-file: /no/such/file\n" + ZONES);
	CHECK(missing.status == -ENOENT);
	CHECK_THAT(missing.error.reason, Catch::Contains("allow-file"));
	tmpdir directory;
	const std::string path = directory.file("allow");
	write_file(path, "192.0.2.0/24\nhere\n");
	const parsed_setup wrong("decision:\n    allow-file: " + path + "\n" + ZONES);
	CHECK(wrong.status == -EINVAL);
	CHECK_THAT(wrong.error.reason, Catch::Contains(path + ":2: "));
}

TEST_CASE("without memory there is no configuration, and nothing is left of it", "[filter][setup]")
{
	const tmpdir directory;
	write_file(directory.file("allow"), "192.0.2.1\n");
	parsed_setup::check_without_memory("decision:\n    exempt: 192.0.2.0/24\n    allow-file: " +
					   directory.file("allow") + "\n" + ZONES);
}

TEST_CASE("the manual has each item of the table with its default", "[filter][setup]")
{
	manual::check_rows(filter_setup_table, 2,
			   "integration/adapters/opensmtpd/dnsblv6-filter.8");
}
