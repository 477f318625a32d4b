// SPDX-License-Identifier: GPL-3.0-or-later
// The line of a session: JSON whatever the client says.
#include "integration/mail/smtp-front/facts/account.h"
#include "lib/common/log.h"
#include "tests/lib/has.hh"

#include <catch2/catch.hpp>

#include <climits>
#include <cstring>
#include <string>

namespace
{

std::string object(const account &account)
{
	char text[OBJECT_SIZE];
	const size_t size = account_format(&account, text);
	REQUIRE(size == std::strlen(text));
	return text;
}

account simple()
{
	account made = {};
	REQUIRE(dnsblv6_ip_parse("192.0.2.7", &made.session.facts.client_ip) == 0);
	REQUIRE(dnsblv6_ip_parse("2001:db8::25", &made.session.facts.local_ip) == 0);
	made.session.facts.client_port = 40001;
	made.session.by = "edge";
	made.session.end = "quit";
	made.session.facts.has_verdict = true;
	made.session.zones = "-";
	return made;
}

} // namespace

TEST_CASE("a session's object has what was counted and timed", "[front][account]")
{
	account made = simple();
	made.session.facts.score = -3;
	made.session.facts.refused_count = 2;
	made.session.facts.waited_ms = 2001;
	made.session.queue_us = 12034;
	made.session.facts.edge_cpu_us = 150;
	made.helo = "mail.example";
	made.recipient = "user@example.org";
	const std::string text = object(made);
	CHECK(text.substr(0, 69) ==
	      R"({"client":"192.0.2.7","port":40001,"local":"2001:db8::25","by":"edge")");
	for (const char *part :
	     { R"("end":"quit")", R"("score":-3)", R"("refused":2)", R"("waited_ms":2001)",
	       R"("queue_ms":12.034)", R"("edge_us":150)", R"("helo":"mail.example")",
	       R"("from":"")", R"("to":"user@example.org"})" }) {
		CAPTURE(part);
		CHECK(has(text, part));
	}
}

TEST_CASE("what a client says cannot end a string of JSON, nor the line", "[front][account]")
{
	account made = simple();
	made.helo = "a\"b\\c\r\nd\x01\xc3\x7f";
	CHECK(has(object(made), R"("helo":"a\"b\\c\u000d\u000ad\u0001\u00c3\u007f")"));
}

TEST_CASE("an address in UTF-8 is shown as such", "[front][account]")
{
	account made = simple();
	made.recipient = "j\xc3\xbcrgen@example.org";
	CHECK(has(object(made), "\"to\":\"j\xc3\xbcrgen@example.org\""));
}

TEST_CASE("a text is cut between two escapes", "[front][account]")
{
	account made = simple();
	const std::string front =
		GENERATE(as<std::string>(), "", "a", "ab", "abc", "abcd", "abcde");
	const std::string helo = front + std::string(300, '\x02');
	made.helo = helo.c_str();
	const std::string text = object(made);
	const size_t start = text.find(R"("helo":")") + 8;
	const size_t end = text.find('"', start);
	std::string left = text.substr(start + front.size(), end - start - front.size());
	CHECK(left.size() <= 72);
	CHECK(left.size() % 6 == 0);
	for (size_t i = 0; i < left.size(); i += 6)
		CHECK(left.substr(i, 6) == "\\u0002");
}

TEST_CASE("the longest object of all is whole, and fits into a line of the log", "[front][account]")
{
	const std::string helo(2000, '\xff');
	account made = {};
	made.session.facts.id = UINT64_MAX;
	std::memset(&made.session.facts.client_ip, 0xff, sizeof(made.session.facts.client_ip));
	std::memset(&made.session.facts.local_ip, 0xff, sizeof(made.session.facts.local_ip));
	made.session.facts.client_port = UINT16_MAX;
	made.session.by = made.session.end = made.session.zones = made.session.tls =
		"abcdefghijklmnopqrstuvwxyz"
		"abcdefghijklmnopqrstuvwxyz"
		"abcdefghijklmnopqrstuvwxyz"
		"abcdefghijklmnopqrstuvwxyz";
	made.helo = made.sender = made.recipient = helo.c_str();
	made.session.facts.score = INT_MIN;
	made.mail_count = made.recipient_count = made.session.facts.refused_count =
		made.session.command_count = UINT_MAX;
	made.session.facts.waited_ms = made.session.facts.dns_ms = made.session.facts.dialogue_ms =
		made.session.queue_us = made.session.worker_ms = UINT64_C(9999999999);
	made.session.facts.bytes_in = made.session.facts.bytes_out =
		made.session.facts.edge_cpu_us = made.session.worker_cpu_us = UINT64_MAX;
	const std::string text = object(made);
	CHECK(text.substr(text.size() - 2) == "\"}");
	CHECK(text.size() + std::strlen("info: [0123456789ab] session \n") < LOG_LINE_MAX);
}

TEST_CASE("a session's number is twelve digits", "[front][account]")
{
	char text[SESSION_ID_SIZE];
	CHECK(std::string(session_facts_format_id(0x1f, text)) == "00000000001f");
	CHECK(std::string(session_facts_format_id(UINT64_MAX, text)) == "ffffffffffff");
}
