// SPDX-License-Identifier: GPL-3.0-or-later
// Postfix' protocol: what is read of a request, and what is replied.
#include "integration/adapters/postfix/request.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <string>

namespace
{

const std::string HEAD = "request=smtpd_access_policy\n";
const std::string GOOD = HEAD + "protocol_state=RCPT\nclient_address=192.0.2.66\n"
				"sender=a=b@example.net\nsasl_username=\ninstance=1a2b.3\n\n";

std::string text_of(const dnsblv6_ip &ip)
{
	char text[DNSBLV6_IP_TEXT_SIZE];
	dnsblv6_ip_format(&ip, text);
	return text;
}

// The question of a request that is all of text.
question parse(const std::string &text)
{
	struct request request;
	size_t taken = 0;
	request_begin(&request);
	REQUIRE(request_feed(&request, text.data(), text.size(), &taken) == QUESTION_READY);
	REQUIRE(taken == text.size());
	return request.question;
}

judgement judge_as(judge_action action, dnsblv6_verdict verdict)
{
	judgement made = {};
	made.action = action;
	made.verdict = verdict;
	made.score = 3;
	std::strcpy(made.code, action == JUDGE_DEFER ? "4.7.1" : "5.7.1");
	std::strcpy(made.text, "no; see https://bl.example/");
	std::strcpy(made.header, "score=3 zones=bl.example; no");
	return made;
}

std::string reply_to(const judgement &made)
{
	char reply[QUESTION_REPLY_MAX + 1];
	const size_t size = request_format(&made, reply);
	REQUIRE(size == std::strlen(reply));
	return reply;
}

} // namespace

TEST_CASE("the client, the state and the message are read from a request", "[policy][request]")
{
	const question good = parse(GOOD);
	CHECK(good.has_ip);
	CHECK(text_of(good.ip) == "192.0.2.66");
	CHECK_FALSE(good.is_authenticated);
	CHECK_FALSE(good.is_malformed);
	CHECK(std::string(good.state) == "RCPT");
	CHECK(std::string(good.instance) == "1a2b.3");
}

TEST_CASE("a request cut anywhere wants more, and is the same then", "[policy][request]")
{
	for (size_t cut = 0; cut < GOOD.size(); cut++) {
		struct request request;
		size_t taken = 0;
		CAPTURE(cut);
		request_begin(&request);
		REQUIRE(request_feed(&request, GOOD.data(), cut, &taken) == QUESTION_MORE);
		REQUIRE(taken == cut);
		REQUIRE(request_feed(&request, GOOD.data() + cut, GOOD.size() - cut, &taken) ==
			QUESTION_READY);
		REQUIRE(text_of(request.question.ip) == "192.0.2.66");
		REQUIRE_FALSE(request.question.is_malformed);
	}
}

TEST_CASE("what is behind a request is the next one", "[policy][request]")
{
	struct request request;
	size_t taken = 0;
	const std::string two = GOOD + "rest";
	request_begin(&request);
	CHECK(request_feed(&request, two.data(), two.size(), &taken) == QUESTION_READY);
	CHECK(taken == GOOD.size());
}

TEST_CASE("both families and nothing else are addresses", "[policy][request]")
{
	CHECK(text_of(parse(HEAD + "client_address=2001:db8::1\n\n").ip) == "2001:db8::1");
	const auto other = GENERATE(as<std::string>(), "unknown", "", "192.0.2.1 ", "192.0.2.256",
				    "fe80::1%eth0", "192.0.2.1=", std::string(5000, '1'),
				    std::string("192.0.2.1\0", 10));
	CAPTURE(other);
	const question asked = parse(HEAD + "client_address=" + other + "\n\n");
	CHECK_FALSE(asked.has_ip);
	CHECK_FALSE(asked.is_malformed);
}

TEST_CASE("a client that has logged in is known by sasl_username", "[policy][request]")
{
	CHECK(parse(HEAD + "sasl_username=user\n\n").is_authenticated);
	CHECK(parse(HEAD + "sasl_username=" + std::string(5000, 'u') + "\n\n").is_authenticated);
	CHECK_FALSE(parse(HEAD + "sasl_username=\n\n").is_authenticated);
	CHECK_FALSE(parse(HEAD + "sasl_method=PLAIN\n\n").is_authenticated);
}

TEST_CASE("the first of two attributes of one name holds", "[policy][request]")
{
	const question asked =
		parse(HEAD + "client_address=192.0.2.1\nclient_address=192.0.2.2\n\n");
	CHECK(text_of(asked.ip) == "192.0.2.1");
}

TEST_CASE("what is no attribute, or no request about access, is malformed", "[policy][request]")
{
	const auto text = GENERATE_COPY(as<std::string>(), "\n", "client_address=192.0.2.1\n\n",
					"request=other\n\n", HEAD + "nothing\n\n", HEAD + "=x\n\n",
					HEAD + "\r\n\n");
	CAPTURE(text);
	CHECK(parse(text).is_malformed);
}

TEST_CASE("what would not be safe in a log is not kept", "[policy][request]")
{
	const auto word = GENERATE(as<std::string>(), "RC PT", "RC\x1bPT", "\xc3\xbc",
				   std::string(QUESTION_STATE_MAX + 1, 'x'));
	CHECK(std::string(parse(HEAD + "protocol_state=" + word + "\n\n").state).empty());
}

TEST_CASE("a request that never ends is given up", "[policy][request]")
{
	struct request request;
	size_t taken = 0;
	const std::string some(1000, 'x');
	size_t fed = 0;
	request_begin(&request);
	question_status status = QUESTION_MORE;
	while (status == QUESTION_MORE && fed < 2 * size_t(REQUEST_SIZE_MAX)) {
		status = request_feed(&request, some.data(), some.size(), &taken);
		fed += taken;
	}
	CHECK(status == QUESTION_ENDLESS);
	CHECK(fed == REQUEST_SIZE_MAX);
}

TEST_CASE("each action has its reply", "[policy][request]")
{
	CHECK(reply_to(judge_as(JUDGE_PASS, DNSBLV6_CLEAR)) == "action=DUNNO\n\n");
	CHECK(reply_to(judge_as(JUDGE_REJECT, DNSBLV6_LISTED)) ==
	      "action=REJECT 5.7.1 no; see https://bl.example/\n\n");
	CHECK(reply_to(judge_as(JUDGE_DEFER, DNSBLV6_LISTED)) ==
	      "action=DEFER 4.7.1 no; see https://bl.example/\n\n");
	CHECK(reply_to(judge_as(JUDGE_DEFER, DNSBLV6_DEFER)) ==
	      "action=DEFER_IF_PERMIT 4.7.1 no; see https://bl.example/\n\n");
	CHECK(reply_to(judge_as(JUDGE_WARN, DNSBLV6_LISTED)) ==
	      "action=WARN dnsblv6, not refused, score=3 zones=bl.example; no\n\n");
	CHECK(reply_to(judge_as(JUDGE_PREPEND, DNSBLV6_LISTED)) ==
	      "action=PREPEND X-DNSBLv6: score=3 zones=bl.example; no\n\n");
}

TEST_CASE("the longest texts fit", "[policy][request]")
{
	const auto action = GENERATE(JUDGE_REJECT, JUDGE_DEFER, JUDGE_WARN, JUDGE_PREPEND);
	judgement made = {};
	made.action = action;
	made.verdict = DNSBLV6_DEFER;
	std::memset(made.code, '4', JUDGE_CODE_MAX);
	std::memset(made.text, 'x', JUDGE_TEXT_MAX);
	std::memset(made.header, 'x', JUDGE_HEADER_MAX);
	const std::string reply = reply_to(made);
	CHECK(reply.substr(reply.size() - 3) == "x\n\n");
}
