// SPDX-License-Identifier: GPL-3.0-or-later
// pop.conf.sample and pop-front(8) beside the rows of pop.conf.
#include "integration/mail/pop-front/facts/popaccount.h"
#include "integration/mail/pop-front/facts/popcount.h"
#include "integration/mail/pop-front/setup/popsetup.h"
#include "tests/lib/manual.hh"
#include "tests/lib/parsed.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <regex>
#include <string>

namespace
{

using parsed = parsed_as<popsetup, popsetup_parse, popsetup_deinit>;

const std::string MANUAL = "integration/mail/pop-front/pop-front.8";
// Those that have no default.
const std::string LEAST = "pop:\n    listen: 127.0.0.1@110\n"
			  "login:\n    users: /u.mdb\n    require-tls: no\n";

std::string sample()
{
	return read_file("integration/mail/pop-front/pop.conf.sample");
}

std::string without(const std::string &text, const std::string &pattern)
{
	return std::regex_replace(text, std::regex(pattern), "");
}

// All of its items are there, but for files that this machine does not have.
std::string uncommented(const std::string &allow_path)
{
	std::string text = without(sample(), "#[a-z]*-?user: .*");
	text = without(text, "#(listen-tls|certificates):.*");
	text = std::regex_replace(text, std::regex("require-tls: yes"), "require-tls: no");
	text = std::regex_replace(text, std::regex("#allow-file:.*"), "allow-file: " + allow_path);
	return std::regex_replace(text, std::regex("#( *[-a-z0-9]+: *[^ ])"), "$1");
}

} // namespace

TEST_CASE("pop.conf.sample has the defaults", "[pop-front][setup]")
{
	const parsed defaults(LEAST);
	std::string text = std::regex_replace(sample(), std::regex("#users:.*"), "users: /u.mdb");
	text = std::regex_replace(text, std::regex("#listen: .*"), "listen: 127.0.0.1@110");
	const parsed file(
		std::regex_replace(text, std::regex("require-tls: yes"), "require-tls: no"));
	CAPTURE(file.error.line, file.error.item, file.error.reason);
	REQUIRE(file.status == 0);
	CHECK(memcmp(&file.setup.login, &defaults.setup.login, sizeof(file.setup.login)) == 0);
	CHECK(memcmp(&file.setup.limits, &defaults.setup.limits, sizeof(file.setup.limits)) == 0);
	CHECK(memcmp(&file.setup.tls, &defaults.setup.tls, sizeof(file.setup.tls)) == 0);
	CHECK(memcmp(&file.setup.pop, &defaults.setup.pop, sizeof(file.setup.pop)) == 0);
	CHECK(std::string(file.setup.store.text) == defaults.setup.store.text);
	CHECK(file.setup.store_timeout_ms == defaults.setup.store_timeout_ms);
	CHECK(file.setup.judge.deadline_ms == defaults.setup.judge.deadline_ms);
	CHECK(std::string(file.setup.judge.reject_text) == defaults.setup.judge.reject_text);
	CHECK_FALSE(file.setup.has_zones);
	// What the sample says of TLS is the default, too.
	CHECK(std::regex_search(sample(), std::regex("\n    require-tls: yes\n")));
}

TEST_CASE("every item of pop.conf.sample is one when its comment is taken away",
	  "[pop-front][setup]")
{
	const tmpdir directory;
	write_file(directory.file("allow"), "192.0.2.1\n");
	const parsed file(uncommented(directory.file("allow")));
	CAPTURE(file.error.line, file.error.item, file.error.reason);
	REQUIRE(file.status == 0);
	CHECK(std::string(file.setup.pop.hostname) == "mail.example.org");
	CHECK(file.setup.pop.clear_count == 2);
	CHECK(std::string(file.setup.pop.metrics) == "/run/pop-front/metrics.prom");
	CHECK(file.setup.edge.proxy.count == 1);
	CHECK(file.setup.edge.unlimited.count == 1);
	CHECK(file.setup.has_zones);
}

TEST_CASE("pop.conf.sample and pop-front(8) have every item there is", "[pop-front][setup]")
{
	const std::string text = sample();
	for (size_t s = 0; s < popsetup_table.section_count; s++) {
		const conf_section &section = popsetup_table.sections[s];
		const size_t begin = text.find(std::string("\n") + section.name + ":\n");
		REQUIRE(begin != std::string::npos);
		const std::string part = text.substr(begin);
		for (size_t i = 0; i < section.item_count; i++) {
			CAPTURE(section.name, section.items[i].name);
			CHECK(std::regex_search(
				part, std::regex("\n    #?" + std::string(section.items[i].name) +
						 ": ")));
		}
	}
	// The last two are other programs' as well, whose manuals have them.
	manual::check_rows(popsetup_table, popsetup_table.section_count - 2, MANUAL);
}

TEST_CASE("pop-front(8) has every gauge, and every key of a session's line", "[pop-front][facts]")
{
	const std::string text = read_file(MANUAL);
	for (unsigned i = 0; i < popcount_table.gauge_count; i++) {
		std::string name = popcount_table.gauges[i].name;
		std::replace(name.begin(), name.end(), '-', '_');
		CAPTURE(name);
		CHECK(std::regex_search(text, std::regex("pop_front_" + name + "[ \n]")));
	}
	popaccount account = {};
	account.session.by = account.session.end = account.session.zones = account.session.tls =
		account.way = account.user = "";
	char line[OBJECT_SIZE];
	popaccount_format(&account, line);
	const std::string object = line;
	const std::regex key("\"([a-z_]+)\":");
	for (std::sregex_iterator at(object.begin(), object.end(), key), end; at != end; ++at) {
		const std::string name = (*at)[1];
		CAPTURE(name);
		CHECK(std::regex_search(text,
					std::regex("\n\\.It Li ([a-z_]+ , )*" + name + "( ,|\n)")));
	}
}
