// SPDX-License-Identifier: GPL-3.0-or-later
// The line service: addresses in, verdicts out.
#include "integration/adapters/postfix/line.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <string>

namespace
{

question parse_line(const std::string &text)
{
	struct line line;
	size_t taken = 0;
	line_begin(&line);
	REQUIRE(line_feed(&line, text.data(), text.size(), &taken) == QUESTION_READY);
	REQUIRE(taken == text.size());
	return line.question;
}

std::string reply_to(dnsblv6_verdict verdict, judge_action action, const std::string &text)
{
	judgement made = {};
	made.verdict = verdict;
	made.action = action;
	made.score = -2;
	std::strncpy(made.text, text.c_str(), JUDGE_TEXT_MAX);
	char reply[QUESTION_REPLY_MAX + 1];
	const size_t size = line_format(&made, reply);
	REQUIRE(size == std::strlen(reply));
	return reply;
}

} // namespace

TEST_CASE("a line is an address, with either end", "[policy][line]")
{
	const auto text = GENERATE(as<std::string>(), "192.0.2.66\n", "192.0.2.66\r\n",
				   "::ffff:192.0.2.66\n");
	const question asked = parse_line(text);
	CHECK(asked.has_ip);
	char shown[DNSBLV6_IP_TEXT_SIZE];
	dnsblv6_ip_format(&asked.ip, shown);
	CHECK(std::string(shown) == "192.0.2.66");
}

TEST_CASE("anything else is malformed, and the next line is not", "[policy][line]")
{
	const auto text = GENERATE(as<std::string>(), "nonsense\n", "192.0.2.1 \n", " \n",
				   std::string("192.0.2.1\0\n", 11), std::string("\0\n", 2),
				   std::string(1000, '1') + "\n");
	CAPTURE(text);
	CHECK(parse_line(text).is_malformed);
}

TEST_CASE("an empty line has no address, and nothing is wrong with it", "[policy][line]")
{
	const auto text = GENERATE(as<std::string>(), "\n", "\r\n");
	const question asked = parse_line(text);
	CHECK_FALSE(asked.has_ip);
	CHECK_FALSE(asked.is_malformed);
}

TEST_CASE("the end of the stream ends a line that has begun", "[policy][line]")
{
	struct line line;
	size_t taken = 0;
	line_begin(&line);
	CHECK_FALSE(line_end(&line));
	CHECK(line_feed(&line, "2001:db8::1", 11, &taken) == QUESTION_MORE);
	CHECK(line_end(&line));
	CHECK(line.question.has_ip);
}

TEST_CASE("a line without an end is given up", "[policy][line]")
{
	struct line line;
	size_t taken = 0;
	const std::string endless(LINE_SIZE_MAX + 1, 'x');
	line_begin(&line);
	CHECK(line_feed(&line, endless.data(), endless.size(), &taken) == QUESTION_ENDLESS);
}

TEST_CASE("a verdict is a line, whatever the action", "[policy][line]")
{
	const auto action = GENERATE(JUDGE_REJECT, JUDGE_WARN, JUDGE_PREPEND);
	CHECK(reply_to(DNSBLV6_LISTED, action, "no") == "listed -2 no\n");
	CHECK(reply_to(DNSBLV6_DEFER, action, "later") == "defer later\n");
	CHECK(reply_to(DNSBLV6_CLEAR, JUDGE_PASS, "") == "clear\n");
	CHECK(reply_to(DNSBLV6_UNKNOWN, JUDGE_PASS, "") == "unknown\n");
	CHECK(reply_to(DNSBLV6_LISTED, action, std::string(JUDGE_TEXT_MAX, 'x')).size() ==
	      JUDGE_TEXT_MAX + std::strlen("listed -2 \n"));
}
