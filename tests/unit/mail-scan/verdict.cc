// SPDX-License-Identifier: GPL-3.0-or-later
#include "integration/mail/base/scan/verdict.h"

#include <catch2/catch.hpp>

#include <cstdio>
#include <string>

namespace
{

struct scanned {
	scan_settings settings = {};
	struct inspect_result result = {};
	verdict_peer peers[SCAN_PEER_COUNT] = {};
	struct scan_verdict verdict = {};

	scanned()
	{
		scan_settings_init(&settings);
	}

	void find(inspect_class class_, const char *name, const char *path)
	{
		inspect_finding &finding = result.findings[result.finding_count++];
		finding.class_ = class_;
		snprintf(finding.name, sizeof(finding.name), "%s", name);
		snprintf(finding.path, sizeof(finding.path), "%s", path);
		finding.offset = 68;
		result.counts[class_]++;
	}

	const struct scan_verdict &make()
	{
		verdict_make(&settings, &result, peers, &verdict);
		return verdict;
	}
};

} // namespace

TEST_CASE("a mail without findings is clean", "[mail-scan]")
{
	scanned mail;
	const struct scan_verdict &verdict = mail.make();
	CHECK(verdict.action == SCAN_ACCEPT);
	CHECK(verdict.code == 250);
	CHECK(std::string(verdict.log) == "clean");
	CHECK(std::string(verdict.text).empty());
	CHECK(std::string(verdict.header).empty());
}

TEST_CASE("a signature is refused by its name and its place", "[mail-scan]")
{
	scanned mail;
	mail.find(INSPECT_SIGNATURE, "Eicar-Signature", "part 2 / a.zip / eicar.com");
	mail.find(INSPECT_ENCRYPTED, "encrypted", "part 3");
	const struct scan_verdict &verdict = mail.make();
	CHECK(verdict.action == SCAN_REJECT);
	CHECK(verdict.code == 550);
	CHECK(std::string(verdict.text) == "5.7.1 Eicar-Signature in part 2 / a.zip / eicar.com");
	CHECK(std::string(verdict.log) == "found=Eicar-Signature class=signature path=\"part 2 / "
					  "a.zip / eicar.com\" offset=68");
}

TEST_CASE("the strictest action decides", "[mail-scan]")
{
	scanned mail;
	mail.settings.actions[INSPECT_SIGNATURE] = SCAN_MARK;
	mail.find(INSPECT_SIGNATURE, "Some", "");
	SECTION("of another class")
	{
		mail.find(INSPECT_BUSY, "busy: decoders", "part 1");
		CHECK(mail.make().action == SCAN_DEFER);
		CHECK(mail.verdict.code == 451);
		CHECK(std::string(mail.verdict.text) ==
		      "4.7.1 Not scanned now: busy: decoders in part 1");
	}
	SECTION("of one that there was no room for")
	{
		mail.result.counts[INSPECT_BOMB] = 1;
		CHECK(mail.make().action == SCAN_REJECT);
		CHECK(std::string(mail.verdict.text) == "5.7.1 bomb");
	}
	SECTION("or the only one")
	{
		CHECK(mail.make().action == SCAN_MARK);
		CHECK(std::string(mail.verdict.header) == "X-Mail-Scan: signature: Some\r\n");
	}
}

TEST_CASE("peers are heard", "[mail-scan]")
{
	scanned mail;
	verdict_peer &clamd = mail.peers[SCAN_CLAMD];
	clamd.is_asked = true;
	SECTION("one that has found something")
	{
		clamd.is_found = true;
		clamd.name = "Win.Test";
		CHECK(mail.make().action == SCAN_REJECT);
		CHECK(std::string(mail.verdict.text) == "5.7.1 Win.Test by clamd");
		CHECK(std::string(mail.verdict.log).find("peer=clamd") != std::string::npos);
	}
	SECTION("one that is not there")
	{
		clamd.has_failed = true;
		clamd.name = "connect: Connection refused";
		CHECK(mail.make().action == SCAN_DEFER);
		mail.settings.on_unavailable = SCAN_ACCEPT;
		CHECK(mail.make().action == SCAN_ACCEPT);
		CHECK(std::string(mail.verdict.text).empty());
		CHECK(std::string(mail.verdict.log) == "found=\"connect: Connection refused\" "
						       "class=busy peer=clamd path=\"\" offset=0");
	}
	SECTION("one that has nothing to say")
	{
		CHECK(mail.make().action == SCAN_ACCEPT);
		CHECK(std::string(mail.verdict.log) == "clean");
	}
	SECTION("but our own finding is told when both refuse")
	{
		mail.find(INSPECT_SIGNATURE, "Ours", "part 1");
		clamd.is_found = true;
		clamd.name = "Theirs";
		CHECK(std::string(mail.make().text) == "5.7.1 Ours in part 1");
	}
}

TEST_CASE("what was found is named also where it is let pass or kept apart", "[mail-scan]")
{
	scanned mail;
	mail.find(INSPECT_SIGNATURE, "Some", "part 2");
	mail.settings.actions[INSPECT_SIGNATURE] = SCAN_QUARANTINE;
	CHECK(std::string(mail.make().text) == "5.7.1 Some in part 2");
	mail.settings.actions[INSPECT_SIGNATURE] = SCAN_MARK;
	CHECK(std::string(mail.make().text) == "2.0.0 Some in part 2");
	mail.settings.actions[INSPECT_SIGNATURE] = SCAN_ACCEPT;
	CHECK(std::string(mail.make().text).empty());
}

TEST_CASE("a piece of a mail has found what it has not for being cut", "[mail-scan]")
{
	scanned mail;
	verdict_peer &clamd = mail.peers[SCAN_CLAMD];
	CHECK_FALSE(mail.make().has_found);
	mail.settings.actions[INSPECT_SUSPICIOUS] = SCAN_REJECT;
	mail.settings.actions[INSPECT_AMBIGUOUS] = SCAN_REJECT;
	mail.find(INSPECT_SUSPICIOUS, "suspicious: cut", "part 2 / a.zip");
	mail.find(INSPECT_AMBIGUOUS, "ambiguous: no end", "");
	CHECK_FALSE(mail.make().has_found);
	SECTION("a signature, whatever becomes of it")
	{
		mail.settings.actions[INSPECT_SIGNATURE] = SCAN_MARK;
		mail.result.counts[INSPECT_SIGNATURE] = 1;
		CHECK(mail.make().has_found);
	}
	SECTION("that something is encrypted, when it is refused for that")
	{
		mail.result.counts[INSPECT_ENCRYPTED] = 1;
		CHECK_FALSE(mail.make().has_found);
		mail.settings.actions[INSPECT_ENCRYPTED] = SCAN_REJECT;
		CHECK(mail.make().has_found);
	}
	SECTION("what a peer has found")
	{
		clamd.is_asked = clamd.is_found = true;
		clamd.name = "Win.Test";
		CHECK(mail.make().has_found);
		mail.settings.actions[INSPECT_SIGNATURE] = SCAN_MARK;
		CHECK_FALSE(mail.make().has_found);
	}
	SECTION("what a peer refuses, or cannot say")
	{
		clamd.is_asked = true;
		clamd.action = SCAN_MARK;
		CHECK_FALSE(mail.make().has_found);
		clamd.action = SCAN_REJECT;
		CHECK(mail.make().has_found);
		clamd.has_failed = true;
		CHECK(mail.make().has_found);
		mail.settings.on_unavailable = SCAN_ACCEPT;
		CHECK_FALSE(mail.make().has_found);
	}
}

TEST_CASE("texts are lines of ASCII", "[mail-scan]")
{
	scanned mail;
	mail.settings.actions[INSPECT_SIGNATURE] = SCAN_QUARANTINE;
	mail.find(INSPECT_SIGNATURE, "A\rB", "part \"2\" / gr\xc3\xbc\n.exe");
	const struct scan_verdict &verdict = mail.make();
	const std::string header = verdict.header;
	CHECK(header == "X-Mail-Scan: signature: A?B in part ?2? / gr???.exe\r\n");
	mail.result.findings[0].path[0] = '\0';
	for (int i = 0; i < INSPECT_PATH_SIZE - 1; i++)
		mail.result.findings[0].path[i] = 'x';
	mail.settings.actions[INSPECT_SIGNATURE] = SCAN_REJECT;
	CHECK(std::string(mail.make().text).size() < SCAN_TEXT_MAX);
}
