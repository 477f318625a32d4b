// SPDX-License-Identifier: GPL-3.0-or-later
// Mails: held, scanned, released, replaced, cut off.
#include <string>

#include <catch2/catch.hpp>

#include "tests/lib/has.hh"
#include "tests/unit/mail-proxy-pop3/proxied.hh"

namespace
{

const std::string head = "From: anna@example.org\r\nSubject: Hello\r\nDate: now\r\n\r\n";

std::string body(size_t lines)
{
	std::string text;
	for (size_t i = 0; i < lines; i++)
		text += "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd\r\n";
	return text;
}

void check_notice(const std::string &answer, const std::string &name)
{
	CAPTURE(answer);
	CHECK(answer.compare(0, 4, "+OK ") == 0);
	CHECK(has(answer, "\r\nFrom: Mail scanner <postmaster@proxy.example.org>\r\n"));
	CHECK(has(answer, "\r\n    " + name + "\r\n"));
	CHECK(answer.substr(answer.size() - 5) == "\r\n.\r\n");
	CHECK_FALSE(has(answer, "VIRUS"));
}

} // namespace

TEST_CASE("a clean mail is the same behind the proxy", "[popproxy][mail]")
{
	const std::string mail = head + "..\r\n...x\r\n\r\n" + body(100) + "\r\n";
	for (const bool is_scanning : { true, false })
		for (const size_t piece : { 1U, 7U, 100000U }) {
			Proxied proxied(POPPROXY_STLS_NONE, is_scanning);
			proxied.login();
			proxied.client("RETR 1\r\n");
			CAPTURE(is_scanning, piece);
			if (is_scanning)
				proxied.server("+OK 1 abc\r\n");
			CHECK(proxied.to_client.empty());
			const std::string answer = "+OK 120 octets\r\n" + mail + ".\r\n";
			for (size_t at = 0; at < answer.size(); at += piece)
				proxied.server(answer.substr(at, piece));
			CHECK(proxied.to_client == answer);
			CHECK(proxied.to_server ==
			      (is_scanning ? "UIDL 1\r\nRETR 1\r\n" : "RETR 1\r\n"));
			CHECK(proxied.fates == std::vector<std::string>{ "passed" });
			CHECK(proxied.open == 0);
			CHECK(proxied.holds == 0);
		}
}

TEST_CASE("nothing leaves before its first bytes are scanned, and the last wait",
	  "[popproxy][mail]")
{
	Proxied proxied;
	proxied.login();
	proxied.client("RETR 1\r\n");
	proxied.server("+OK 1 abc\r\n+OK\r\n");
	CHECK(proxied.server(body(17)).empty());
	CHECK(proxied.server(body(1)) == "+OK\r\n" + body(16));
	CHECK(proxied.server(body(4)) == body(4));
	CHECK(proxied.hold_size < 300);
	CHECK(proxied.hold_most < 1200);
	proxied.is_busy = true;
	CHECK(proxied.server(body(1) + ".\r\n").empty());
	CHECK(proxied.status == POPPROXY_WAITING);
	proxied.is_busy = false;
	CHECK(proxied.server("") == body(3) + ".\r\n");
	CHECK(proxied.ended_whole);
}

TEST_CASE("a hit before anything was released becomes a notice", "[popproxy][mail]")
{
	Proxied proxied;
	proxied.login();
	proxied.client("RETR 1\r\nDELE 1\r\n");
	proxied.server("+OK 1 abc\r\n");
	const std::string answer =
		proxied.server("+OK\r\n" + head + "VIRUS\r\n" + body(100) + ".\r\n");
	check_notice(answer, "Test-Virus in part 2 / a.zip");
	CHECK(has(answer, "    Subject: Hello\r\n"));
	CHECK(proxied.fates == std::vector<std::string>{ "notice" });
	CHECK_FALSE(proxied.ended_whole);
	CHECK(proxied.known.empty());
	// The rest of the mail is passed over, and what is behind it has its answer.
	CHECK(proxied.to_server == "UIDL 1\r\nRETR 1\r\nDELE 1\r\n");
	CHECK(proxied.server("+OK gone\r\n") == "+OK gone\r\n");
	CHECK(proxied.holds == 0);
}

TEST_CASE("a later hit ends the connection, and the mail is known from then on", "[popproxy][mail]")
{
	Proxied proxied;
	proxied.login();
	proxied.client("RETR 1\r\n");
	proxied.server("+OK 1 abc\r\n+OK\r\n" + body(40) + "VIRUS\r\n" + body(9));
	CHECK(proxied.status == POPPROXY_CUT);
	CHECK_FALSE(has(proxied.to_client, "VIRUS"));
	CHECK_FALSE(has(proxied.to_client, "\r\n.\r\n"));
	CHECK(proxied.fates == std::vector<std::string>{ "cut" });
	CHECK(proxied.known.size() == 1);
	CHECK(proxied.holds == 0);
	CHECK(proxied.open == 0);

	SECTION("for the same user and unique id the notice comes without the mail")
	{
		Proxied again;
		again.known = proxied.known;
		again.login();
		again.client("RETR 5\r\n");
		check_notice(again.server("+OK 5 abc\r\n"), "Test-Virus in part 2 / a.zip");
		CHECK(again.to_server == "UIDL 5\r\n");
		CHECK(again.fates == std::vector<std::string>{ "known" });
		CHECK(again.client("NOOP\r\n") == "NOOP\r\n");
	}
	SECTION("TOP gets as much of it as it has asked for")
	{
		Proxied again;
		again.known = proxied.known;
		again.login();
		again.client("TOP 5 0\r\n");
		const std::string answer = again.server("+OK 5 abc\r\n");
		CHECK(has(answer, "us-ascii\r\n\r\n.\r\n"));
	}
	SECTION("another unique id is another mail")
	{
		Proxied again;
		again.known = proxied.known;
		again.login();
		again.client("RETR 5\r\n");
		again.server("+OK 5 abd\r\n");
		CHECK(again.to_server == "UIDL 5\r\nRETR 5\r\n");
	}
}

TEST_CASE("without unique ids a mail is known by its first bytes", "[popproxy][mail]")
{
	Proxied proxied;
	proxied.login();
	proxied.client("RETR 1\r\n");
	proxied.server("-ERR what\r\n+OK\r\n" + body(40) + "VIRUS\r\n" + body(9));
	CHECK(proxied.status == POPPROXY_CUT);
	CHECK(proxied.known.size() == 1);
	Proxied again;
	again.known = proxied.known;
	again.login();
	again.client("RETR 1\r\nNOOP\r\n");
	const std::string answer =
		again.server("-ERR what\r\n+OK\r\n" + body(40) + "VIRUS\r\n" + body(9) + ".\r\n");
	check_notice(answer, "Test-Virus in part 2 / a.zip");
	CHECK(again.server("+OK\r\n") == "+OK\r\n");
}

TEST_CASE("without a verdict a mail is put off, or its connection ends", "[popproxy][mail]")
{
	Proxied small;
	small.at_end = POPPROXY_DEFER;
	small.login();
	small.client("RETR 1\r\nNOOP\r\n");
	CHECK(small.server("+OK 1 a\r\n+OK\r\n" + head + ".\r\n") ==
	      "-ERR [SYS/TEMP] The mail cannot be scanned now\r\n");
	CHECK(small.server("+OK\r\n") == "+OK\r\n");
	CHECK(small.fates == std::vector<std::string>{ "deferred" });
	Proxied large;
	large.at_end = POPPROXY_DEFER;
	large.login();
	large.client("RETR 1\r\n");
	large.server("+OK 1 a\r\n+OK\r\n" + body(40) + ".\r\n");
	CHECK(large.status == POPPROXY_CUT);
	CHECK(large.known.empty());
}

TEST_CASE("a mail that was all held gets a header field", "[popproxy][mail]")
{
	Proxied small;
	small.at_end = POPPROXY_MARK;
	small.header = "X-Scan: odd\r\n";
	small.login();
	small.client("RETR 1\r\n");
	CHECK(small.server("+OK 1 a\r\n+OK\r\n" + head + ".\r\n") ==
	      "+OK\r\nX-Scan: odd\r\n" + head + ".\r\n");
	Proxied large;
	large.at_end = POPPROXY_MARK;
	large.header = "X-Scan: odd\r\n";
	large.login();
	large.client("RETR 1\r\n");
	CHECK(large.server("+OK 1 a\r\n+OK\r\n" + body(40) + ".\r\n") ==
	      "+OK\r\n" + body(40) + ".\r\n");
	CHECK(large.fates == std::vector<std::string>{ "marked" });
}

TEST_CASE("TOP is a piece: what is odd there may be odd for that alone", "[popproxy][mail]")
{
	for (const bool is_whole : { false, true }) {
		Proxied proxied;
		proxied.at_end = POPPROXY_WITHHOLD;
		proxied.login();
		CAPTURE(is_whole);
		proxied.client(is_whole ? "TOP 1 99999999\r\n" : "TOP 1 10\r\n");
		const std::string answer = proxied.server("+OK 1 a\r\n+OK\r\n" + head + ".\r\n");
		CHECK(has(answer, "withheld") == is_whole);
	}
	Proxied found;
	found.login();
	found.client("TOP 1 10\r\n");
	check_notice(found.server("+OK 1 a\r\n+OK\r\n" + head + "VIRUS\r\n.\r\n"),
		     "Test-Virus in part 2 / a.zip");
}

TEST_CASE("the server's refusal is passed on, and nothing is left of the scan", "[popproxy][mail]")
{
	Proxied proxied;
	proxied.login();
	proxied.client("RETR 9\r\n");
	CHECK(proxied.server("-ERR none\r\n-ERR no such message\r\n") ==
	      "-ERR no such message\r\n");
	CHECK(proxied.open == 0);
	CHECK(proxied.holds == 0);
	CHECK(proxied.fates.empty());
}

TEST_CASE("a mail waits until there is room for its scan", "[popproxy][mail]")
{
	Proxied proxied;
	proxied.login();
	proxied.has_room = false;
	proxied.client("RETR 1\r\n");
	proxied.server("+OK 1 a\r\n");
	CHECK(proxied.status == POPPROXY_WAITING);
	CHECK(proxied.to_server == "UIDL 1\r\n");
	proxied.has_room = true;
	proxied.step("", "");
	CHECK(proxied.to_server == "UIDL 1\r\nRETR 1\r\n");
}

TEST_CASE("a mail that breaks off has no end for the client", "[popproxy][mail]")
{
	Proxied silent;
	silent.login();
	silent.client("RETR 1\r\n");
	silent.server("+OK 1 a\r\n+OK\r\n" + head);
	CHECK(silent.gone() == POPPROXY_END);
	CHECK(silent.to_client == "-ERR [SYS/TEMP] The server has closed the connection\r\n");
	Proxied flowing;
	flowing.login();
	flowing.client("RETR 1\r\n");
	flowing.server("+OK 1 a\r\n+OK\r\n" + body(40));
	CHECK(flowing.gone() == POPPROXY_CUT);
	Proxied answered;
	answered.login();
	answered.client("RETR 1\r\n");
	answered.server("+OK 1 a\r\n+OK\r\n" + head + "VIRUS\r\n" + body(40));
	const std::string before = answered.to_client;
	CHECK(answered.stop() == POPPROXY_END);
	CHECK(answered.to_client == before);
}
