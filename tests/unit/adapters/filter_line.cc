// SPDX-License-Identifier: GPL-3.0-or-later
// Lines of OpenSMTPD, as 0.6 and 0.7 write them and as nobody should.
#include "integration/adapters/opensmtpd/line.h"

#include <catch2/catch.hpp>

#include <string>

namespace
{

const std::string HEAD = "|1576146008.006099|smtp-in|";
const std::string SESSION = "7641df9771b4ed00";

struct parsed {
	explicit parsed(const std::string &text, bool is_cut = false)
	{
		const char *why = line_parse(text.data(), text.size(), is_cut, &line);
		reason = why == nullptr ? "" : why;
		if (line.has_ip) {
			char buffer[DNSBLV6_IP_TEXT_SIZE];
			dnsblv6_ip_format(&line.ip, buffer);
			client = buffer;
		}
	}

	struct line line = {};
	std::string reason;
	std::string client;
};

std::string connect(const std::string &fields, const std::string &version = "0.6")
{
	return "report|" + version + HEAD + "link-connect|" + SESSION + "|" + fields;
}

std::string request(const std::string &phase, const std::string &version = "0.6")
{
	return "filter|" + version + HEAD + phase + "|" + SESSION +
	       "|1ef1c203cc576e5d|user@example";
}

std::string answer(const struct line &line, const char *decision, const char *parameter)
{
	char text[LINE_ANSWER_MAX];
	return std::string(text, line_format_answer(&line, decision, parameter, text));
}

} // namespace

TEST_CASE("the address of a client is what is before its port", "[filter][line]")
{
	struct row {
		const char *source, *client;
	};
	const row tried = GENERATE(values<row>({
		{ "192.0.2.66:33174", "192.0.2.66" },
		{ "[2001:db8::42]:33174", "2001:db8::42" },
		{ "2001:db8::42:33174", "2001:db8::42" },
		{ "[fe80::1%eth0]:25", "fe80::1" },
		{ "[::ffff:192.0.2.66]:25", "192.0.2.66" },
		{ "unix:/var/run/smtpd.sock", "" },
		{ "local", "" },
	}));
	const std::string version = GENERATE("0.5", "0.6", "0.7", "0.8");
	CAPTURE(tried.source, version);
	const parsed line(connect(
		"mail.example|pass|" + std::string(tried.source) + "|198.51.100.1:25", version));
	CHECK(line.reason.empty());
	CHECK(line.line.kind == LINE_CONNECT);
	CHECK(line.line.session == 0x7641df9771b4ed00);
	CHECK(line.client == tried.client);
}

TEST_CASE("an address that is none is refused", "[filter][line]")
{
	const std::string source = GENERATE(as<std::string>{}, "", ":25", "[]:25", "[192.0.2.66",
					    "192.0.2.256:25", "mail.example:25", "(unknown):0",
					    "[2001:db8::42::]:25", std::string(200, '1') + ":25");
	CAPTURE(source);
	const parsed line(connect("mail.example|pass|" + source + "|198.51.100.1:25"));
	CHECK(line.reason == "link-connect has an address that cannot be read");
}

TEST_CASE("a name in the reverse zone cannot move the address", "[filter][line]")
{
	const std::string fields =
		"x|pass|198.51.100.99:1|198.51.100.1:25|pass|192.0.2.66:33174|198.51.100.1:25";
	CHECK(parsed(connect(fields, "0.6")).client == "192.0.2.66");
	CHECK(parsed(connect(fields, "0.7")).client == "192.0.2.66");
	// What a later version has behind the addresses is not known.
	CHECK(parsed(connect("mail.example|pass|192.0.2.66:1|198.51.100.1:25|new|198.51.100.7:7",
			     "0.8"))
		      .client == "192.0.2.66");
}

TEST_CASE("the login stands last in lines before version 0.7, and first since", "[filter][line]")
{
	struct row {
		const char *version, *fields;
		bool is_authenticated;
	};
	const row tried = GENERATE(values<row>({
		{ "0.5", "user|pass", true },
		{ "0.6", "user|pass", true },
		{ "0.6", "user|fail", false },
		{ "0.6", "user|error", false },
		{ "0.6", "x|pass|fail", false },
		{ "0.6", "pass|fail", false },
		{ "0.7", "pass|user", true },
		{ "0.7", "fail|user", false },
		{ "0.7", "fail|x|pass", false },
		{ "0.7", "fail|pass", false },
		{ "0.8", "pass|user", true },
		{ "1.0", "pass|user", true },
		{ "1.0", "fail|pass", false },
	}));
	CAPTURE(tried.version, tried.fields);
	const parsed line("report|" + std::string(tried.version) + HEAD + "link-auth|" + SESSION +
			  "|" + tried.fields);
	CHECK(line.reason.empty());
	CHECK(line.line.kind == LINE_AUTH);
	CHECK(line.line.is_authenticated == tried.is_authenticated);
}

TEST_CASE("requests have a phase, a session and a token", "[filter][line]")
{
	struct row {
		const char *name;
		line_phase phase;
	};
	const row tried = GENERATE(values<row>({ { "connect", LINE_AT_CONNECT },
						 { "helo", LINE_AT_HELO },
						 { "ehlo", LINE_AT_HELO },
						 { "mail-from", LINE_AT_MAIL_FROM },
						 { "rcpt-to", LINE_AT_RCPT_TO },
						 { "data-line", LINE_ELSEWHERE },
						 { "mail-fro", LINE_ELSEWHERE },
						 { "mail-from2", LINE_ELSEWHERE },
						 { "", LINE_ELSEWHERE } }));
	CAPTURE(tried.name);
	const parsed line(request(tried.name));
	CHECK(line.reason.empty());
	CHECK(line.line.kind == LINE_FILTER);
	CHECK(line.line.phase == tried.phase);
	CHECK(line.line.session == 0x7641df9771b4ed00);
	CHECK(line.line.token == 0x1ef1c203cc576e5d);
}

TEST_CASE("an answer has the session before the token since 0.5", "[filter][line]")
{
	const std::string ids = GENERATE("0.5", "0.6", "0.7", "0.99", "1.0");
	const parsed since(request("mail-from", ids));
	CHECK(answer(since.line, "reject", "550 5.7.1 a|b") ==
	      "filter-result|7641df9771b4ed00|1ef1c203cc576e5d|reject|550 5.7.1 a|b\n");
	CHECK(answer(since.line, "proceed", nullptr) ==
	      "filter-result|7641df9771b4ed00|1ef1c203cc576e5d|proceed\n");
	const parsed before(request("mail-from", "0.4"));
	CHECK(answer(before.line, "junk", nullptr) ==
	      "filter-result|1ef1c203cc576e5d|7641df9771b4ed00|junk\n");
}

TEST_CASE("an answer is told from another by its numbers", "[filter][line]")
{
	const parsed asked(request("mail-from"));
	const std::string text = answer(asked.line, "proceed", nullptr);
	CHECK(line_answers(text.data(), text.size() - 1, &asked.line));
	for (size_t size = 0; size < text.size() - 8; size++)
		CHECK_FALSE(line_answers(text.data(), size, &asked.line));
	parsed another(request("mail-from"));
	another.line.token++;
	CHECK_FALSE(line_answers(text.data(), text.size() - 1, &another.line));
}

TEST_CASE("a line that lacks what it must have is refused", "[filter][line]")
{
	struct row {
		std::string text;
		const char *reason;
	};
	const row tried = GENERATE(values<row>({
		{ "", "neither config, report nor filter" },
		{ "|", "neither config, report nor filter" },
		{ "hello|0.6", "neither config, report nor filter" },
		{ "config2|ready", "neither config, report nor filter" },
		{ "report", "the line lacks fields" },
		{ "report|0.6" + HEAD + "link-connect", "the line lacks fields" },
		{ "report|06" + HEAD + "link-connect|1", "the version cannot be read" },
		{ "report|0.x" + HEAD + "link-connect|1", "the version cannot be read" },
		{ "report|0." + HEAD + "link-connect|1", "the version cannot be read" },
		{ "report|0.99999999999" + HEAD + "link-connect|1", "the version cannot be read" },
		{ "report|0.6" + HEAD + "link-connect|", "the session cannot be read" },
		{ "report|0.6" + HEAD + "link-connect|xyz", "the session cannot be read" },
		{ "report|0.6" + HEAD + "link-connect|\x11", "the session cannot be read" },
		{ "report|0.6" + HEAD + "link-connect|00000000000000001",
		  "the session cannot be read" },
		{ "report|0.6" + HEAD + "link-connect|1|a|pass|192.0.2.1:1",
		  "link-connect lacks fields" },
		{ "report|0.6" + HEAD + "link-auth|1|pass", "link-auth lacks fields" },
		{ "report|0.7" + HEAD + "link-auth|1|pass", "link-auth lacks fields" },
		{ "report|0.7" + HEAD + "link-auth|1", "link-auth lacks fields" },
		{ "filter|0.6" + HEAD + "mail-from|1", "the token cannot be read" },
		{ "filter|0.6" + HEAD + "mail-from|1|", "the token cannot be read" },
		{ "filter|0.6" + HEAD + "mail-from|1|0x5|", "the token cannot be read" },
	}));
	CAPTURE(tried.text);
	CHECK(parsed(tried.text).reason == tried.reason);
}

TEST_CASE("only complete fields of a truncated line are used", "[filter][line]")
{
	const parsed asked(request("mail-from"), true);
	CHECK(asked.reason.empty());
	CHECK(asked.line.token == 0x1ef1c203cc576e5d);
	CHECK(parsed(connect("a|pass|192.0.2.1:25|192.0.2.2:25"), true).reason ==
	      "link-connect is too long");
	const std::string auth = HEAD + "link-auth|1|";
	CHECK(parsed("report|0.6" + auth + "user|pass", true).reason == "link-auth is too long");
	CHECK_FALSE(parsed("report|0.7" + auth + "fail|pass", true).line.is_authenticated);
}

TEST_CASE("lines that are not about a client are read and ignored", "[filter][line]")
{
	CHECK(parsed("config|smtpd-version|6.8.0").line.kind == LINE_CONFIG);
	CHECK(parsed("config|ready").line.kind == LINE_READY);
	CHECK(parsed("config").line.kind == LINE_CONFIG);
	CHECK(parsed("report|0.6" + HEAD + "tx-begin|1|ab").line.kind == LINE_REPORT);
	CHECK(parsed("report|0.6|1|smtp-out|link-connect|1|broken").line.kind == LINE_REPORT);
	CHECK(parsed("report|0.6" + HEAD + "link-disconnect|1").line.kind == LINE_DISCONNECT);
}
