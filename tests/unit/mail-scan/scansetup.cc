// SPDX-License-Identifier: GPL-3.0-or-later
// scan-milter.conf: what is taken, and what is refused with which words.
#include "integration/mail/scan-milter/scansetup.h"
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

using parsed = parsed_as<scansetup, scansetup_parse>;

const std::string SCAN = "scan:\n    clamd: /run/clamav/clamd.ctl\n";

std::string sample()
{
	return read_file("integration/mail/scan-milter/scan-milter.conf.sample");
}

std::string uncommented(const std::string &item)
{
	return std::regex_replace(sample(), std::regex("#(" + item + ": *[^ ])"), "$1");
}

} // namespace

TEST_CASE("something to scan with is all that must be configured", "[scan][scansetup]")
{
	const parsed file(SCAN);
	CAPTURE(file.error.reason);
	REQUIRE(file.status == 0);
	CHECK(std::string(file.setup.place.connection) == "local:/run/mail-scan-milter/socket");
	CHECK(file.setup.owner.socket_mode == 0660);
	CHECK(std::string(file.setup.owner.user).empty());
	CHECK(std::string(file.setup.metrics).empty());
	CHECK(file.setup.log_level == LOG_LEVEL_INFO);
	CHECK(file.setup.scan.is_on);
	CHECK(file.setup.scan.has_header);
}

TEST_CASE("without it there is no configuration", "[scan][scansetup]")
{
	const std::string text =
		GENERATE("", "milter:\n    log-level: debug\n", "scan:\n    mails: 3\n");
	const parsed file(text);
	CHECK(file.status == -EINVAL);
	CHECK_THAT(file.error.reason, Catch::Contains("what to scan with"));
	CHECK(parsed("scan:\n    on-found: mark\n").status == -EINVAL);
}

TEST_CASE("quarantine is the mail server's, and needs no mailbox", "[scan][scansetup]")
{
	CHECK(parsed(SCAN + "    on-found: quarantine\n").status == 0);
}

TEST_CASE("the sample of mail-scan-milter has the defaults", "[scan][scansetup]")
{
	const parsed defaults(SCAN);
	const parsed file(uncommented("clamd"));
	CAPTURE(file.error.line, file.error.reason);
	REQUIRE(file.status == 0);
	const struct scan_settings &scan = file.setup.scan;
	const struct scan_settings &expected = defaults.setup.scan;
	CHECK(std::string(file.setup.place.connection) == defaults.setup.place.connection);
	CHECK(file.setup.owner.socket_mode == defaults.setup.owner.socket_mode);
	CHECK(file.setup.log_level == defaults.setup.log_level);
	CHECK(memcmp(scan.actions, expected.actions, sizeof(scan.actions)) == 0);
	CHECK(scan.on_unavailable == expected.on_unavailable);
	CHECK(scan.mails == expected.mails);
	CHECK(scan.decoders == expected.decoders);
	CHECK(scan.decoder_wait_ms == expected.decoder_wait_ms);
	CHECK(scan.cpu_ms == expected.cpu_ms);
	CHECK(scan.peer_timeout_ms == expected.peer_timeout_ms);
	CHECK(scan.budget.total_left == expected.budget.total_left);
	CHECK(scan.budget.ratio == expected.budget.ratio);
	CHECK(scan.budget.ratio_from == expected.budget.ratio_from);
	CHECK(scan.budget.members_left == expected.budget.members_left);
	CHECK(scan.budget.spool_left == expected.budget.spool_left);

	std::string all =
		std::regex_replace(uncommented("[-a-z]+"), std::regex("user: .*"), "user: root");
	all = std::regex_replace(all, std::regex("socket-group: .*"), "socket-group: root");
	const parsed whole(all);
	CAPTURE(whole.error.line, whole.error.item, whole.error.reason);
	REQUIRE(whole.status == 0);
	CHECK(std::string(whole.setup.scan.peers[SCAN_RSPAMD]) == "127.0.0.1@11333");
	CHECK(std::string(whole.setup.metrics) == "/run/mail-scan-milter/metrics.prom");
}

TEST_CASE("a socket of mail-scan-milter is a path or an address", "[scan][scansetup]")
{
	const parsed file("milter:\n    socket: \"::1@8892\"\n" + SCAN);
	REQUIRE(file.status == 0);
	CHECK(std::string(file.setup.place.path).empty());
	CHECK(std::string(file.setup.place.connection) == "inet6:8892@::1");
	CHECK(parsed("milter:\n    socket: here\n" + SCAN).status == -EINVAL);
}

TEST_CASE("the manual of mail-scan-milter has each item with its default", "[scan][scansetup]")
{
	manual::check_rows(scansetup_table, 1, "integration/mail/scan-milter/mail-scan-milter.8");
}
