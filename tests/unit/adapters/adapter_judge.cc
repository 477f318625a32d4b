// SPDX-License-Identifier: GPL-3.0-or-later
// What is done with whom, and with which words.
#include "integration/common/handle.h"
#include "integration/common/judge.h"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace
{

const conf_section sections[] = { { "decision", judge_items, JUDGE_ITEMS, 0, nullptr } };
const conf_table table = { sections, 1 };

class court
{
      public:
	explicit court(const std::string &lines = "", const std::string &zones = "bl6.example "
										 "bl.example")
	{
		REQUIRE(dnsblv6_new(&client) == 0);
		REQUIRE(dnsblv6_set(client, "zones", zones.c_str()) == 0);
		REQUIRE(dnsblv6_set(client, "servers", "127.0.0.1@9") == 0);
		REQUIRE(dnsblv6_start(client) == 0);
		REQUIRE(judge_init(&judge, client) == 0);
		const std::string text = "decision:\n" + lines;
		status = conf_parse(text.data(), text.size(), &table, &judge, &error);
		if (status == 0)
			status = judge_finish(&judge, &error);
	}
	~court()
	{
		judge_deinit(&judge);
		dnsblv6_free(client);
	}
	court(const court &) = delete;
	court &operator=(const court &) = delete;

	bool exempts(const std::string &address) const
	{
		const dnsblv6_ip ip = parse(address);
		return judge_exempts(&judge, &ip);
	}
	struct judgement decide(int verdict, uint64_t listed, uint64_t failed = 0,
				const std::string &address = "192.0.2.66") const
	{
		const dnsblv6_ip ip = parse(address);
		dnsblv6_result result = {};
		result.verdict = verdict;
		result.score = 3;
		result.zones_listed = listed;
		result.zones_failed = failed;
		struct judgement judgement = {};
		judge_decide(&judge, &ip, &result, 0, &judgement);
		return judgement;
	}
	static dnsblv6_ip parse(const std::string &address)
	{
		dnsblv6_ip ip = {};
		REQUIRE(dnsblv6_ip_parse(address.c_str(), &ip) == 0);
		return ip;
	}

	dnsblv6 *client = nullptr;
	struct judge judge = {};
	int status;
	conf_error error = {};
	networks_error list_error = {};
};

} // namespace

TEST_CASE("a listed client is refused with the reason, other clients pass", "[adapter][judge]")
{
	const court court;
	REQUIRE(court.status == 0);
	const auto listed = court.decide(DNSBLV6_LISTED, 1);
	CHECK(listed.action == JUDGE_REJECT);
	CHECK(std::string(listed.code) == "5.7.1");
	CHECK(std::string(listed.text) ==
	      "Service unavailable; 192.0.2.66 is listed by bl6.example");
	CHECK(std::string(listed.header) ==
	      "score=3 zones=bl6.example; 192.0.2.66 is listed by bl6.example");

	const int verdict = GENERATE(DNSBLV6_CLEAR, DNSBLV6_UNKNOWN);
	const auto passed = court.decide(verdict, 0, 3);
	CHECK(passed.action == JUDGE_PASS);
	CHECK(passed.verdict == verdict);
	CHECK(std::string(passed.text).empty());
	CHECK(std::string(passed.header).empty());
}

TEST_CASE("a zone whose outage means defer puts clients off", "[adapter][judge]")
{
	const court court;
	const auto deferred = court.decide(DNSBLV6_DEFER, 0, 2);
	CHECK(deferred.action == JUDGE_DEFER);
	CHECK(std::string(deferred.code) == "4.7.1");
	CHECK(std::string(deferred.text) ==
	      "Service unavailable, try again later; nothing is known "
	      "about 192.0.2.66, no answer from bl.example");
	CHECK(std::string(deferred.zones) == "-");
}

TEST_CASE("a refusal for an outage alone has a text as well", "[adapter][judge]")
{
	const court court;
	const auto closed = court.decide(DNSBLV6_LISTED, 0, 3);
	CHECK(closed.action == JUDGE_REJECT);
	CHECK(std::string(closed.text).find("no answer from bl6.example,bl.example") !=
	      std::string::npos);
}

TEST_CASE("an action that lets clients pass does so for every verdict", "[adapter][judge]")
{
	const auto action = GENERATE(as<std::string>(), "warn", "prepend");
	const court court("    action: " + action + "\n");
	REQUIRE(court.status == 0);
	const int verdict = GENERATE(DNSBLV6_LISTED, DNSBLV6_DEFER);
	const auto judgement = court.decide(verdict, 3);
	CHECK(judge_action_name(judgement.action) == action);
	CHECK(std::string(judgement.code).empty());
	CHECK(std::string(judgement.header).find("score=3 zones=bl6.example,bl.example; ") == 0);
}

TEST_CASE("the action defer has the code of a later try", "[adapter][judge]")
{
	const court court("    action: defer\n    defer-code: 4.7.0\n");
	const auto judgement = court.decide(DNSBLV6_LISTED, 1);
	CHECK(judgement.action == JUDGE_DEFER);
	CHECK(std::string(judgement.code) == "4.7.0");
}

TEST_CASE("a text has its words filled in", "[adapter][judge]")
{
	const court court(
		"    reject-text: \"{address} {score} {zones}, see https://x/?{address}\"\n"
		"    reject-code: 5.7.25\n");
	REQUIRE(court.status == 0);
	const auto judgement = court.decide(DNSBLV6_LISTED, 2, 0, "2001:db8::1");
	CHECK(std::string(judgement.text) ==
	      "2001:db8::1 3 bl.example, see https://x/?2001:db8::1");
	CHECK(std::string(judgement.code) == "5.7.25");
}

TEST_CASE("a text that grows too long is cut, and is one printable line", "[adapter][judge]")
{
	std::string words;
	while (words.size() + 8 < JUDGE_TEMPLATE_MAX)
		words += "{reason}";
	const court court("    reject-text: \"" + words + "\"\n");
	REQUIRE(court.status == 0);
	const std::string text = court.decide(DNSBLV6_LISTED, 3).text;
	CHECK(text.size() == JUDGE_TEXT_MAX);
	CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }));
}

TEST_CASE("zones that do not fit are left out whole", "[adapter][judge]")
{
	std::string zones;
	for (int i = 0; i < 64; i++)
		zones += "list-of-a-rather-long-name-" + std::to_string(i) + ".example ";
	const court court("", zones);
	const auto judgement = court.decide(DNSBLV6_LISTED, UINT64_MAX);
	const std::string names = judgement.zones;
	CHECK(names.size() > JUDGE_ZONES_MAX - 60);
	CHECK(names.substr(names.size() - 8) == ".example");
	CHECK(std::string(judgement.header).find("score=3 zones=" + names + "; ") == 0);
}

TEST_CASE("a zone that is asked with several filters stands in a header once", "[adapter][judge]")
{
	const court court("", "bl.example=127.0.0.2*3 bl.example=127.0.0.[3..9] other.example");
	CHECK(std::string(court.decide(DNSBLV6_LISTED, 7).zones) == "bl.example,other.example");
}

TEST_CASE("a zone with a label is called by that, and its name is told nowhere", "[adapter][judge]")
{
	const court court("", "secret-key.bl.example==SBL bl.example");
	const auto listed = court.decide(DNSBLV6_LISTED, 3);
	CHECK(std::string(listed.zones) == "SBL,bl.example");
	CHECK(std::string(listed.header).find("secret-key") == std::string::npos);
	const auto deferred = court.decide(DNSBLV6_DEFER, 0, 1);
	CHECK_THAT(deferred.text, Catch::EndsWith("no answer from SBL"));
}

TEST_CASE("own networks, the allow list and this machine are exempt", "[adapter][judge]")
{
	const tmpdir directory;
	const std::string path = directory.file("allow");
	write_file(path, "198.51.100.0/24 # a partner\n");
	court court("    exempt: [ 192.0.2.0/24, \"2001:db8::/32\" ]\n    allow-file: " + path +
		    "\n");
	REQUIRE(court.status == 0);
	CHECK(court.exempts("127.0.0.1"));
	CHECK(court.exempts("::1"));
	CHECK(court.exempts("192.0.2.255"));
	CHECK(court.exempts("2001:db8::1"));
	CHECK(court.exempts("198.51.100.1"));
	CHECK_FALSE(court.exempts("198.51.101.1"));
	// The test point: whoever tries whether it works must be told.
	CHECK_FALSE(court.exempts("127.0.0.2"));

	SECTION("a good list takes the place of the old one")
	{
		write_file(path, "203.0.113.9\n");
		CHECK(judge_reload(&court.judge, &court.list_error) == 0);
		CHECK(court.exempts("203.0.113.9"));
		CHECK_FALSE(court.exempts("198.51.100.1"));
		CHECK(court.exempts("192.0.2.255"));
	}
	SECTION("a bad one does not")
	{
		write_file(path, "203.0.113.9\nnonsense\n");
		CHECK(judge_reload(&court.judge, &court.list_error) == -EINVAL);
		CHECK(court.list_error.line == 2);
		CHECK(court.exempts("198.51.100.1"));
		CHECK_FALSE(court.exempts("203.0.113.9"));
	}
}

TEST_CASE("what is not in the cache is not known without a question", "[adapter][judge]")
{
	const court court;
	const dnsblv6_ip ip = court::parse("192.0.2.1");
	struct judgement judgement = {};
	CHECK_FALSE(judge_peek(&court.judge, &ip, &judgement));
	CHECK(judgement.action == JUDGE_PASS);
	CHECK(judgement.verdict == DNSBLV6_UNKNOWN);
}

TEST_CASE("deadlines are milliseconds or seconds", "[adapter][judge]")
{
	const court milliseconds("    deadline: 250ms\n");
	CHECK(milliseconds.judge.deadline_ms == 250);
	const court seconds("    deadline: 60s\n");
	CHECK(seconds.judge.deadline_ms == 60000);
	const court bare("    deadline: 5\n");
	CHECK(bare.judge.deadline_ms == 5000);
}

TEST_CASE("a value that cannot be read is refused", "[adapter][judge]")
{
	const auto line =
		GENERATE(as<std::string>(), "deadline: 0s", "deadline: 61s", "deadline: 5x",
			 "deadline: -1s", "deadline: 99999999999999999999s", "deadline: 2m",
			 "exempt: 192.0.2.1/24", "exempt: nonsense", "allow-file: allow",
			 "allow-file: /nowhere/at/all", "reject-code: 4.7.1", "reject-code: 5.7",
			 "reject-code: 5.7.1000", "reject-code: 5.7.1.", "reject-code: \"5.7.1 \"",
			 "defer-code: 5.7.1", "reject-text: \"{reasons}\"",
			 "reject-text: \"a\x7f b\"", "reject-text: \"\u00fc\"", "action: drop");
	CAPTURE(line);
	const court court("    " + line + "\n");
	CHECK(court.status < 0);
}

TEST_CASE("an allow list that is wrong is refused with its place", "[adapter][judge]")
{
	const court missing("    allow-file: /nowhere/allow\n");
	CHECK(missing.status == -ENOENT);
	CHECK(std::string(missing.error.reason) ==
	      "allow-file /nowhere/allow: No such file or directory");
	const tmpdir directory;
	const std::string path = directory.file("allow");
	write_file(path, "192.0.2.0/24\nhere\n");
	const court wrong("    allow-file: " + path + "\n");
	CHECK(wrong.status == -EINVAL);
	CHECK_THAT(wrong.error.reason, Catch::StartsWith("allow-file " + path + ":2: \"here\": "));
}
