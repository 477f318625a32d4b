// SPDX-License-Identifier: GPL-3.0-or-later
// proxy.conf.sample and mail-proxy(8) beside the rows of proxy.conf.
#include "integration/mail/mail-proxy/facts/proxycount.h"
#include "integration/mail/mail-proxy/setup/proxysetup.h"
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

using parsed = parsed_as<proxysetup, proxysetup_parse, proxysetup_deinit>;

const std::string MANUAL = "integration/mail/mail-proxy/mail-proxy.8";
const std::string LEAST = "listener:\n  - listen: 0.0.0.0@25\n    next-hop: 127.0.0.1@10025\n";

std::string sample()
{
	return read_file("integration/mail/mail-proxy/proxy.conf.sample");
}

} // namespace

TEST_CASE("proxy.conf.sample has the defaults", "[mail-proxy][setup]")
{
	const parsed defaults(LEAST);
	const parsed file(sample());
	CAPTURE(file.error.line, file.error.item, file.error.reason);
	REQUIRE(defaults.status == 0);
	REQUIRE(file.status == 0);
	CHECK(memcmp(&file.setup.proxy, &defaults.setup.proxy, sizeof(file.setup.proxy)) == 0);
	CHECK(memcmp(&file.setup.limits, &defaults.setup.limits, sizeof(file.setup.limits)) == 0);
	CHECK(memcmp(&file.setup.pop3, &defaults.setup.pop3, sizeof(file.setup.pop3)) == 0);
	CHECK(memcmp(&file.setup.listeners, &defaults.setup.listeners,
		     sizeof(file.setup.listeners)) == 0);
	CHECK_FALSE(file.setup.scan.is_on);
}

TEST_CASE("every item of proxy.conf.sample is one when its comment is taken away",
	  "[mail-proxy][setup]")
{
	std::string text = std::regex_replace(sample(), std::regex("#[a-z]*-?user: .*"), "");
	text = std::regex_replace(text, std::regex("#certificates:.*"), "");
	text = std::regex_replace(text, std::regex("#( *[-a-z0-9]+: *[^ ])"), "$1");
	text = std::regex_replace(text, std::regex("#scan:"), "scan:");
	const parsed file(text);
	CAPTURE(file.error.line, file.error.item, file.error.reason);
	REQUIRE(file.status == 0);
	CHECK(std::string(file.setup.proxy.hostname) == "mail.example.org");
	CHECK(file.setup.limits.unlimited.count == 1);
	CHECK(file.setup.listeners[0].proxy_of.count == 1);
	CHECK(file.setup.scan.is_on);
}

TEST_CASE("proxy.conf.sample and mail-proxy(8) have every item there is", "[mail-proxy][setup]")
{
	const std::string text = sample();
	// The last is other programs' as well, and has a manual of its own.
	const size_t count = proxysetup_table.section_count - 1;
	for (size_t s = 0; s < count; s++) {
		const conf_section &section = proxysetup_table.sections[s];
		const size_t begin = text.find(std::string("\n") + section.name + ":\n");
		CAPTURE(section.name);
		REQUIRE(begin != std::string::npos);
		const std::string part = text.substr(begin);
		for (size_t i = 0; i < section.item_count; i++) {
			CAPTURE(section.items[i].name);
			CHECK(std::regex_search(
				part, std::regex("\n  [- ] #?" +
						 std::string(section.items[i].name) + ": ")));
		}
	}
	manual::check_rows(proxysetup_table, count, MANUAL);
}

TEST_CASE("mail-proxy(8) has every gauge", "[mail-proxy][facts]")
{
	const std::string text = read_file(MANUAL);
	for (unsigned i = 0; i < proxycount_table.gauge_count; i++) {
		std::string name = proxycount_table.gauges[i].name;
		std::replace(name.begin(), name.end(), '-', '_');
		CAPTURE(name);
		CHECK(std::regex_search(text, std::regex("mail_proxy_" + name + "[ \n]")));
	}
}
