// SPDX-License-Identifier: GPL-3.0-or-later
// The section "scan": what is taken, and what is refused with which words.
#include "integration/mail/base/scan/scan_settings.h"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace
{

struct parsed {
	explicit parsed(const std::string &items, bool needs_mailbox = true)
	{
		static const conf_section sections[] = {
			{ "scan", scan_items, SCAN_ITEMS, 0, nullptr },
		};
		static const conf_table table = { sections, 1 };
		status = conf_parse(items.data(), items.size(), &table, settings.get(), &error);
		if (status == 0)
			status = scan_settings_finish(settings.get(), needs_mailbox, &error);
	}
	std::unique_ptr<scan_settings> settings = std::make_unique<scan_settings>();
	conf_error error = {};
	int status;
};

const std::string CLAMD = "scan:\n    clamd: /run/clamav/clamd.ctl\n";

} // namespace

TEST_CASE("without a section nothing is scanned", "[scan][scan_settings]")
{
	for (const char *text : { "", "scan:\n" }) {
		const parsed file(text);
		REQUIRE(file.status == 0);
		CHECK_FALSE(file.settings->is_on);
	}
}

TEST_CASE("the defaults of a configuration are those without one", "[scan][scan_settings]")
{
	const parsed file(CLAMD);
	CAPTURE(file.error.reason);
	REQUIRE(file.status == 0);
	scan_settings expected = {};
	scan_settings_init(&expected);
	std::strcpy(expected.peers[SCAN_CLAMD], "/run/clamav/clamd.ctl");
	const scan_settings &settings = *file.settings;
	CHECK(settings.is_on == expected.is_on);
	CHECK(std::memcmp(settings.peers, expected.peers, sizeof(expected.peers)) == 0);
	CHECK(std::string(settings.signatures) == expected.signatures);
	CHECK(std::string(settings.quarantine) == expected.quarantine);
	for (unsigned i = 0; i < INSPECT_CLASS_COUNT; i++)
		CHECK(settings.actions[i] == expected.actions[i]);
	CHECK(settings.on_unavailable == expected.on_unavailable);
	CHECK(settings.has_header == expected.has_header);
	CHECK(settings.mails == expected.mails);
	CHECK(settings.decoders == expected.decoders);
	CHECK(settings.peer_timeout_ms == expected.peer_timeout_ms);
	CHECK(settings.cpu_ms == expected.cpu_ms);
	CHECK(settings.decoder_wait_ms == expected.decoder_wait_ms);
	CHECK(settings.budget.total_left == expected.budget.total_left);
	CHECK(settings.budget.ratio == expected.budget.ratio);
	CHECK(settings.budget.ratio_from == expected.budget.ratio_from);
	CHECK(settings.budget.spool_left == expected.budget.spool_left);
	CHECK(settings.budget.members_left == expected.budget.members_left);
}

TEST_CASE("every item of the section has its member", "[scan][scan_settings]")
{
	const parsed file("scan:\n"
			  "    signatures: /var/lib/x.signatures\n"
			  "    clamd: 192.0.2.1@3310\n"
			  "    rspamd: \"::1@11333\"\n"
			  "    milter: /run/other.sock\n"
			  "    on-found: quarantine\n"
			  "    on-bomb: defer\n"
			  "    on-encrypted: mark\n"
			  "    on-suspicious: reject\n"
			  "    on-ambiguous: accept\n"
			  "    on-busy: accept\n"
			  "    on-unavailable: accept\n"
			  "    quarantine: virus+all@example.org\n"
			  "    header: off\n"
			  "    mails: 7\n"
			  "    decoders: 2\n"
			  "    peer-timeout: 3s\n"
			  "    decoder-timeout: 4s\n"
			  "    decoder-cpu: 6s\n"
			  "    limit-total: 5M\n"
			  "    limit-ratio: 50\n"
			  "    limit-ratio-from: 2M\n"
			  "    limit-members: 11\n"
			  "    limit-spool: 1M\n");
	CAPTURE(file.error.line, file.error.item, file.error.reason);
	REQUIRE(file.status == 0);
	const scan_settings &settings = *file.settings;
	CHECK(settings.is_on);
	CHECK(std::string(settings.signatures) == "/var/lib/x.signatures");
	CHECK(std::string(settings.peers[SCAN_CLAMD]) == "192.0.2.1@3310");
	CHECK(std::string(settings.peers[SCAN_RSPAMD]) == "::1@11333");
	CHECK(std::string(settings.peers[SCAN_MILTER]) == "/run/other.sock");
	CHECK(settings.actions[INSPECT_SIGNATURE] == SCAN_QUARANTINE);
	CHECK(settings.actions[INSPECT_BOMB] == SCAN_DEFER);
	CHECK(settings.actions[INSPECT_ENCRYPTED] == SCAN_MARK);
	CHECK(settings.actions[INSPECT_SUSPICIOUS] == SCAN_REJECT);
	CHECK(settings.actions[INSPECT_AMBIGUOUS] == SCAN_ACCEPT);
	CHECK(settings.actions[INSPECT_BUSY] == SCAN_ACCEPT);
	CHECK(settings.on_unavailable == SCAN_ACCEPT);
	CHECK(std::string(settings.quarantine) == "virus+all@example.org");
	CHECK_FALSE(settings.has_header);
	CHECK(settings.mails == 7);
	CHECK(settings.decoders == 2);
	CHECK(settings.peer_timeout_ms == 3000);
	CHECK(settings.decoder_wait_ms == 4000);
	CHECK(settings.cpu_ms == 6000);
	CHECK(settings.budget.total_left == 5 << 20);
	CHECK(settings.budget.ratio == 50);
	CHECK(settings.budget.ratio_from == 2 << 20);
	CHECK(settings.budget.members_left == 11);
	CHECK(settings.budget.spool_left == 1 << 20);
}

TEST_CASE("a value that is not permitted is refused with its line", "[scan][scan_settings]")
{
	const char *item =
		GENERATE("signatures: mail.signatures", "clamd: clamd.ctl", "clamd: 127.0.0.1",
			 "rspamd: 127.0.0.1@0", "on-found: drop", "on-bomb: yes",
			 "quarantine: virus", "quarantine: \"<a@b>\"", "quarantine: \"a b@c\"",
			 "quarantine: @example.org", "quarantine: a@", "header: yes", "mails: 0",
			 "decoders: 0", "peer-timeout: 0", "decoder-timeout: 0", "limit-total: 1",
			 "limit-ratio: 0", "limit-members: 0", "limit-spool: 8G", "depth: 9");
	CAPTURE(item);
	const parsed file(CLAMD.substr(0, 6) + "    " + item + "\n");
	CHECK(file.status == -EINVAL);
	CHECK(file.error.line == 2);
	CHECK(std::string(file.error.reason) != "");
}

TEST_CASE("the path of a socket may be no longer than one is", "[scan][scan_settings]")
{
	const parsed longest("scan:\n    clamd: /" + std::string(106, 'x') + "\n");
	CHECK(longest.status == 0);
	const parsed longer("scan:\n    clamd: /" + std::string(107, 'x') + "\n");
	CHECK(longer.status == -EINVAL);
	CHECK(std::string(longer.error.reason).find("107 bytes") != std::string::npos);
}

TEST_CASE("a section has something to scan with", "[scan][scan_settings]")
{
	const parsed file("scan:\n    on-found: mark\n");
	CHECK(file.status == -EINVAL);
	CHECK(std::string(file.error.reason).find("what to scan with") != std::string::npos);
}

TEST_CASE("mails for quarantine have a mailbox, where one is needed", "[scan][scan_settings]")
{
	const char *item = GENERATE("on-found", "on-bomb", "on-busy", "on-unavailable");
	const std::string text = CLAMD + "    " + item + ": quarantine\n";
	CAPTURE(text);
	const parsed file(text);
	CHECK(file.status == -EINVAL);
	CHECK(std::string(file.error.reason).find("\"quarantine\"") != std::string::npos);
	CHECK(parsed(text, false).status == 0);
	CHECK(parsed(text + "    quarantine: v@example.org\n").status == 0);
}

TEST_CASE("actions have the names of the configuration", "[scan][scan_settings]")
{
	CHECK(std::string(scan_action_name(SCAN_ACCEPT)) == "accept");
	CHECK(std::string(scan_action_name(SCAN_QUARANTINE)) == "quarantine");
	CHECK(std::string(scan_action_name(SCAN_REJECT)) == "reject");
}
