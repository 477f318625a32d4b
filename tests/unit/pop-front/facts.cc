// SPDX-License-Identifier: GPL-3.0-or-later
// The line of a session, and the table of counters.
#include "integration/mail/pop-front/facts/popaccount.h"
#include "integration/mail/pop-front/facts/popcount.h"
#include "integration/mail/pop-front/facts/poplimits.h"
#include "lib/common/log.h"
#include "lib/pop3/pop3_dialogue.h"

#include <catch2/catch.hpp>

#include <climits>
#include <cstring>
#include <memory>
#include <regex>
#include <set>
#include <string>

namespace
{

std::string object(const popaccount &account)
{
	char text[OBJECT_SIZE];
	memset(text, 'x', sizeof(text));
	const size_t size = popaccount_format(&account, text);
	REQUIRE(size == strlen(text));
	return text;
}

popaccount simple()
{
	popaccount made = {};
	REQUIRE(dnsblv6_ip_parse("192.0.2.7", &made.session.facts.client_ip) == 0);
	REQUIRE(dnsblv6_ip_parse("2001:db8::25", &made.session.facts.local_ip) == 0);
	made.session.facts.client_port = 40001;
	made.session.by = "worker";
	made.session.end = "quit";
	return made;
}

// One level, numbers and strings: what the object may have (RFC 8259).
bool is_json(const std::string &text)
{
	static const std::regex member(
		R"("[a-z_]+":(-?\d+(\.\d{3})?|"([^"\\\x00-\x1f]|\\["\\]|\\u[0-9a-f]{4})*"))");
	std::string rest = text;
	if (rest.front() != '{' || rest.back() != '}')
		return false;
	rest = rest.substr(1, rest.size() - 2);
	std::smatch found;
	while (std::regex_search(rest, found, member, std::regex_constants::match_continuous)) {
		rest = found.suffix();
		if (rest.empty())
			return true;
		if (rest.front() != ',')
			return false;
		rest.erase(0, 1);
	}
	return false;
}

} // namespace

TEST_CASE("the object of a POP3 session has what was counted and timed, in its order",
	  "[pop][popaccount]")
{
	popaccount made = simple();
	made.session.facts.has_verdict = true;
	made.session.facts.verdict = DNSBLV6_LISTED;
	made.session.facts.score = -3;
	made.session.facts.refused_count = 2;
	made.session.facts.waited_ms = 5;
	made.session.facts.dns_ms = 31;
	made.session.facts.dialogue_ms = 77;
	made.session.facts.bytes_in = 100;
	made.session.facts.bytes_out = 5000;
	made.session.facts.edge_cpu_us = 150;
	made.session.zones = "bl6.example";
	made.session.tls = "TLSv1.3";
	made.way = "plain";
	made.user = "john@example.org";
	made.session.command_count = 9;
	made.session.queue_us = 12034;
	made.session.worker_ms = 800;
	made.session.worker_cpu_us = 420;
	made.message_count = 12;
	made.retrieved_count = 3;
	made.top_count = 4;
	made.deleted_count = 1;
	CHECK(object(made) ==
	      R"({"client":"192.0.2.7","port":40001,"local":"2001:db8::25","by":"worker",)"
	      R"("end":"quit","verdict":"listed","score":-3,"zones":"bl6.example",)"
	      R"("tls":"TLSv1.3","way":"plain","mails":12,"retrieved":3,"tops":4,"deleted":1,)"
	      R"("refused":2,"commands":9,"waited_ms":5,"dns_ms":31,"dialogue_ms":77,)"
	      R"("queue_ms":12.034,"worker_ms":800,"in":100,"out":5000,"edge_us":150,)"
	      R"("worker_us":420,"user":"john@example.org"})");
}

TEST_CASE("what a session does not have is empty, none or exempt", "[pop][popaccount]")
{
	popaccount made = simple();
	std::string text = object(made);
	CHECK(is_json(text));
	for (const char *part : { R"("verdict":"none")", R"("zones":"")", R"("tls":"")",
				  R"("way":"")", R"("user":""})" }) {
		CAPTURE(part);
		CHECK(text.find(part) != std::string::npos);
	}
	made.session.facts.is_exempt = true;
	CHECK(object(made).find(R"("verdict":"exempt")") != std::string::npos);
}

TEST_CASE("a name that was tried cannot end a string of JSON, nor the line", "[pop][popaccount]")
{
	popaccount made = simple();
	made.user = "a\"b\\c\r\nd\x01\xc3\x7f";
	const std::string text = object(made);
	CHECK(text.find(R"("user":"a\"b\\c\u000d\u000ad\u0001\u00c3\u007f")") != std::string::npos);
	CHECK(is_json(text));
	made.user = "j\xc3\xbcrgen@example.org";
	CHECK(object(made).find("\"user\":\"j\xc3\xbcrgen@example.org\"") != std::string::npos);
	// It would turn the direction of what stands behind it.
	made.user = "\xe2\x80\xae";
	CHECK(object(made).find(R"("user":"\u00e2\u0080\u00ae")") != std::string::npos);
}

TEST_CASE("a name is cut between two escapes or characters", "[pop][popaccount]")
{
	const std::string front =
		GENERATE(as<std::string>(), "", "a", "ab", "abc", "abcd", "abcde");
	const std::string repeated = GENERATE(as<std::string>(), "\x02", "\xf0\x9f\x98\x80", "\"");
	popaccount made = simple();
	std::string user = front;
	for (int i = 0; i < 300; i++)
		user += repeated;
	made.user = user.c_str();
	const std::string text = object(made);
	CHECK(is_json(text));
	const std::string shown = repeated == "\x02" ? "\\u0002"
				  : repeated == "\"" ? "\\\""
						     : repeated;
	const size_t at = text.find(R"("user":")") + 8 + front.size();
	std::string left = text.substr(at, text.size() - at - 2);
	CHECK(left.size() + front.size() <= 140);
	CHECK(left.size() + front.size() + shown.size() > 140);
	CHECK(left.size() % shown.size() == 0);
	for (size_t i = 0; i < left.size(); i += shown.size())
		CHECK(left.substr(i, shown.size()) == shown);
}

TEST_CASE("the longest object of a POP3 session is whole, and fits into a line of the log",
	  "[pop][popaccount]")
{
	const std::string longest(2000, GENERATE('\xff', 'a'));
	popaccount made = {};
	made.session.facts.id = UINT64_MAX;
	memset(&made.session.facts.client_ip, 0xff, sizeof(made.session.facts.client_ip));
	memset(&made.session.facts.local_ip, 0xff, sizeof(made.session.facts.local_ip));
	made.session.facts.client_port = UINT16_MAX;
	made.session.facts.has_verdict = true;
	made.session.facts.verdict = DNSBLV6_UNKNOWN;
	made.session.facts.score = INT_MIN;
	made.session.by = made.session.end = made.session.zones = made.session.tls = made.way =
		made.user = longest.c_str();
	made.session.command_count = made.session.facts.refused_count = UINT_MAX;
	// A session of hours, and more bytes than any had.
	made.session.facts.waited_ms = made.session.facts.dns_ms = made.session.facts.dialogue_ms =
		made.session.worker_ms = UINT64_C(9999999999);
	made.session.queue_us = UINT64_C(9999999999999);
	made.message_count = made.retrieved_count = made.top_count = made.deleted_count =
		UINT64_C(9999999999);
	made.session.facts.bytes_in = made.session.facts.bytes_out =
		made.session.facts.edge_cpu_us = made.session.worker_cpu_us = UINT64_MAX;
	const std::string text = object(made);
	CHECK(is_json(text));
	CHECK(text.find("\"user\":\"") != std::string::npos);
	CHECK(text.size() + strlen("info: [0123456789ab] session \n") < LOG_LINE_MAX);
}

TEST_CASE("each way to log in has its word", "[pop][popaccount]")
{
	CHECK(std::string(popaccount_way(POP3_WAY_USER)) == "user");
	CHECK(std::string(popaccount_way(POP3_WAY_APOP)) == "apop");
	CHECK(std::string(popaccount_way(POP3_WAY_PLAIN)) == "plain");
	CHECK(std::string(popaccount_way(POP3_WAY_SCRAM)) == "scram");
	CHECK(std::string(popaccount_way(0)).empty());
	CHECK(std::string(popaccount_way(3)).empty());
}

TEST_CASE("each counter of pop-front has a name of its own and a sentence", "[pop][popcount]")
{
	const bank_table &table = popcount_table;
	CHECK(table.counter_count == POP_COUNTERS);
	CHECK(table.counter_count + table.gauge_count == POP_NUMBERS);
	std::set<std::string> names;
	for (unsigned i = 0; i < POP_NUMBERS; i++) {
		const counts_label &label = i < table.counter_count
						    ? table.counters[i]
						    : table.gauges[i - table.counter_count];
		CAPTURE(label.name);
		CHECK(std::regex_match(label.name, std::regex("[a-z][a-z-]*[a-z]")));
		CHECK(std::regex_match(label.help, std::regex("[A-Z].*\\.")));
		names.insert(label.name);
	}
	CHECK(names.size() == POP_NUMBERS);
	CHECK(std::string(table.counters[POP_RELOADS_REFUSED].name) == "reloads-refused");
	CHECK(std::string(table.gauges[EDGE_SESSIONS].name) == "sessions");
	CHECK(std::string(table.gauges[POP_BUSY - POP_COUNTERS].name) == "workers-busy");
}

TEST_CASE("limits of the dialogue are those of the configuration", "[pop][poplimits]")
{
	const auto setup = std::make_unique<popsetup>();
	setup->limits.errors_max = 20;
	setup->limits.commands_max = 30;
	setup->login.failures_max = 3;
	setup->login.ways = POP3_WAY_PLAIN;
	setup->login.requires_tls = true;
	memcpy(setup->pop.hostname, "mx", 3);
	pop3_limits limits = {};
	poplimits_make(setup.get(), &limits);
	CHECK(limits.errors_max == 20);
	CHECK(limits.commands_max == 30);
	CHECK(limits.logins_max == 3);
	CHECK(limits.ways == POP3_WAY_PLAIN);
	CHECK(limits.requires_tls);
	CHECK_FALSE(limits.offers_tls);
	CHECK(limits.offers_utf8);
	CHECK(limits.hostname == setup->pop.hostname);
	CHECK(std::string(limits.implementation).rfind("DNSBLv6 pop-front ", 0) == 0);
	setup->tls.certificate_count = 1;
	poplimits_make(setup.get(), &limits);
	CHECK(limits.offers_tls);
	// The longest greeting and list of capabilities have room.
	std::string name(MAILSETUP_HOSTNAME_MAX, 'h');
	memcpy(setup->pop.hostname, name.c_str(), name.size() + 1);
	char reply[POP3_REPLY_MAX];
	CHECK(pop3_dialogue_greet(&limits, reply) <= POP3_REPLY_LINE_MAX + 2);
}

TEST_CASE("a worker that waits for the store is not taken for one that never comes",
	  "[pop][poplimits]")
{
	const auto setup = std::make_unique<popsetup>();
	setup->limits.idle_timeout_ms = 1000;
	setup->limits.send_timeout_ms = 2000;
	setup->store_timeout_ms = 3600000;
	// A kept connection that has ended is tried, then another is made.
	CHECK(poplimits_silence_ms(setup.get()) >= 3000 + 2 * setup->store_timeout_ms);
	setup->limits.idle_timeout_ms = 86400000;
	setup->limits.send_timeout_ms = 3600000;
	CHECK(poplimits_silence_ms(setup.get()) > setup->limits.idle_timeout_ms);
}
