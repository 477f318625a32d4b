// SPDX-License-Identifier: GPL-3.0-or-later
#include <string>

#include <catch2/catch.hpp>

#include "tests/unit/mail-proxy-smtp/talked.hh"

using Texts = std::vector<std::string>;

TEST_CASE("the greeting is the next hop's", "[mailtalk]")
{
	Talked talked;
	talked.begin();
	CHECK(talked.connections == 1);
	CHECK(talked.said().empty());
	CHECK(talked.server("220-hop\r\n220 wel\x01"
			    "come\r\n") == "220-hop\r\n220 wel?come\r\n");

	Talked refused;
	refused.begin();
	CHECK(refused.server("554 not now\r\n") == "554 not now\r\n");
	CHECK(refused.is_closed);

	Talked none;
	none.is_reached = false;
	none.begin();
	CHECK(none.said() == "421 4.4.1 Next hop is not reached, try again later\r\n");
	CHECK(none.is_closed);
}

TEST_CASE("EHLO offers what both sides have", "[mailtalk]")
{
	Talked talked;
	talked.begin();
	talked.server("220 hop\r\n");
	talked.client("ehlo   c.test \r\n");
	CHECK(talked.heard() == "EHLO c.test\r\n");
	CHECK(talked.server("250-hop\r\n250-SIZE 1000\r\n250-PRDR\r\n250-STARTTLS\r\n"
			    "250-XCLIENT ADDR\r\n250-BINARYMIME\r\n250-AUTH PLAIN LOGIN\r\n"
			    "250-pipelining\r\n250 SMTPUTF8\r\n") ==
	      "250-hop\r\n250-SIZE 1000\r\n250-AUTH PLAIN LOGIN\r\n250-SMTPUTF8\r\n"
	      "250-PIPELINING\r\n250 CHUNKING\r\n");

	SECTION("a parameter that the next hop lacks is refused")
	{
		CHECK(talked.client("MAIL FROM:<a@x.test> BODY=8BITMIME\r\n").substr(0, 3) ==
		      "555");
	}
	SECTION("what is passed on is spelt anew")
	{
		talked.client("mail from: <a@x.test>  size=5  auth=<> smtputf8 \r\n");
		CHECK(talked.heard() == "MAIL FROM:<a@x.test> SIZE=5 SMTPUTF8\r\n");
	}
}

TEST_CASE("AUTH= is left out, and nothing else that looks like it", "[mailtalk]")
{
	const std::pair<std::string, std::string> mails[] = {
		{ R"(<"x auth=y"@x.test>)", R"(<"x auth=y"@x.test>)" },
		{ R"(<"x> auth=y"@x.test> AUTH=<>)", R"(<"x> auth=y"@x.test>)" },
		{ "a@x.test AUTH=b@x.test SIZE=5 auth=<>", "<a@x.test> SIZE=5" },
	};
	for (const auto &mail : mails) {
		Talked talked;
		talked.greet("250-hop\r\n250 SIZE 1000\r\n");
		talked.client("MAIL FROM:" + mail.first + "\r\n");
		CHECK(talked.heard() == "MAIL FROM:" + mail.second + "\r\n");
	}
	Talked malformed;
	malformed.greet();
	CHECK(malformed.client("MAIL FROM:<a@x.test>AUTH=<>\r\n").substr(0, 3) == "501");
	CHECK(malformed.client("MAIL AUTH=<>\r\n").substr(0, 3) == "501");
}

TEST_CASE("a HELO is passed on whatever it says, and is made harmless", "[mailtalk]")
{
	Talked talked;
	talked.begin();
	talked.server("220 hop\r\n");
	talked.client("EHLO %NAME% (b\xc3\xbcro)\r\n");
	CHECK(talked.heard() == "EHLO %NAME%??b??ro?\r\n");
	CHECK(talked.server("250 hop\r\n").substr(0, 3) == "250");
}

TEST_CASE("a limit of ours is offered when it is the smaller", "[mailtalk]")
{
	Talked talked;
	talked.rules.size_max = 500;
	talked.begin();
	talked.server("220 hop\r\n");
	talked.client("EHLO c\r\n");
	CHECK(talked.server("250-hop\r\n250 SIZE 1000\r\n") ==
	      "250-hop\r\n250-SIZE 500\r\n250-PIPELINING\r\n250 CHUNKING\r\n");
	CHECK(talked.client("MAIL FROM:<a@x> SIZE=501\r\n").substr(0, 9) == "552 5.3.4");
}

TEST_CASE("a mail goes on as it comes, and its end behind the verdict", "[mailtalk]")
{
	Talked talked;
	talked.verdict = 0; // not yet
	talked.greet();
	talked.data();
	talked.client("Subject: a\r\n\r\n..b\r\n");
	CHECK(talked.heard() == "Subject: a\r\n\r\n..b\r\n");
	CHECK(talked.client("c\r\n.\r\nQUIT\r\n").empty());
	CHECK(talked.heard() == "c\r\n");
	CHECK(talked.scanned == "Subject: a\r\n\r\n.b\r\nc\r\n");
	CHECK(talked.recipients == Texts{ "b@y.test" });
	mailtalk_judge(&talked.talk, 250, "");
	talked.go();
	CHECK(talked.heard() == ".\r\n");
	CHECK(talked.server("250 2.0.0 queued\r\n") == "250 2.0.0 queued\r\n");
	CHECK(talked.outcomes == Texts{ "accepted 250" });
	CHECK(talked.heard() == "QUIT\r\n");
	CHECK(talked.server("221 bye\r\n") == "221 bye\r\n");
	CHECK(talked.is_closed);
}

TEST_CASE("a mail that is refused has no end, and the session goes on", "[mailtalk]")
{
	Talked talked;
	talked.greet();
	talked.data();
	talked.verdict = 550;
	CHECK(talked.client("bad\r\n.\r\n") == "550 5.7.1 Evil in part 1\r\n");
	CHECK(talked.heard() == "bad\r\n");
	CHECK_FALSE(talked.is_connected);
	CHECK(talked.outcomes == Texts{ "judged 550" });
	CHECK(talked.client("RSET\r\nNOOP\r\n") == "250 2.0.0 Ok\r\n250 2.0.0 Ok\r\n");
	CHECK(talked.connections == 1);

	talked.verdict = 250;
	CHECK(talked.client("MAIL FROM:<a@x.test>\r\n").empty());
	CHECK(talked.connections == 2);
	CHECK(talked.server("220 hop\r\n").empty());
	CHECK(talked.heard() == "EHLO c.test\r\n");
	CHECK(talked.server("250-hop\r\n250 8BITMIME\r\n").empty());
	CHECK(talked.heard() == "MAIL FROM:<a@x.test>\r\n");
	CHECK(talked.server("250 ok\r\n") == "250 ok\r\n");
}

TEST_CASE("what a login has said is not said again", "[mailtalk]")
{
	Talked talked;
	talked.greet("250-hop\r\n250 AUTH PLAIN LOGIN\r\n");
	CHECK(talked.client("AUTH LOGIN\r\n").empty());
	CHECK(talked.heard() == "AUTH LOGIN\r\n");
	CHECK(talked.server("334 VXNlcg==\r\n") == "334 VXNlcg==\r\n");
	talked.client("dXNlcg==\r\n");
	CHECK(talked.heard() == "dXNlcg==\r\n");
	CHECK(talked.server("235 2.7.0 Ok\r\n") == "235 2.7.0 Ok\r\n");
	talked.data();
	talked.verdict = 550;
	CHECK(talked.client("bad\r\n.\r\n").substr(0, 3) == "550");
	CHECK(talked.client("MAIL FROM:<a@x.test>\r\n").substr(0, 3) == "421");
	CHECK(talked.is_closed);
}

TEST_CASE("a response of a login that is too long ends the session, as the next hop waits",
	  "[mailtalk]")
{
	Talked talked;
	talked.greet("250-hop\r\n250 AUTH PLAIN\r\n");
	(void)talked.client("AUTH PLAIN\r\n");
	CHECK(talked.server("334 \r\n") == "334 \r\n");
	(void)talked.heard();
	CHECK(talked.client(std::string(13000, 'a') + "\r\nRSET\r\n").substr(0, 9) == "421 4.7.0");
	CHECK(talked.is_closed);
	CHECK(talked.heard().empty());
}

TEST_CASE("recipients are passed on together, and replies in their order", "[mailtalk]")
{
	Talked talked;
	talked.greet();
	talked.client("MAIL FROM:<a@x.test>\r\nRCPT TO:<b@y.test>\r\nVRFY b\r\n"
		      "RCPT TO:<c@y.test>\r\nRCPT TO:<d@y.test>\r\nDATA\r\n");
	CHECK(talked.heard() == "MAIL FROM:<a@x.test>\r\nRCPT TO:<b@y.test>\r\n"
				"RCPT TO:<c@y.test>\r\nRCPT TO:<d@y.test>\r\n");
	CHECK(talked.server("250 mail\r\n250 b\r\n") ==
	      "250 mail\r\n250 b\r\n252 2.1.5 Send some mail, and see\r\n");
	CHECK(talked.server("550-no\r\n550 c\r\n").size() > 0);
	CHECK(talked.heard().empty());
	CHECK(talked.server("250 d\r\n") == "250 d\r\n");
	CHECK(talked.heard() == "DATA\r\n");
	CHECK(talked.recipients == Texts{ "b@y.test", "d@y.test" });
}

TEST_CASE("a next hop that offers no PIPELINING gets one command at a time", "[mailtalk]")
{
	const bool is_esmtp = GENERATE(true, false);
	const std::string commands = "MAIL FROM:<a@x.test>\r\nRCPT TO:<b@y.test>\r\nRCPT "
				     "TO:<c@y.test>\r\nNOOP\r\nRSET\r\n";
	Talked talked;
	if (is_esmtp)
		talked.greet("250-hop\r\n250 8BITMIME\r\n");
	else
		talked.greet();
	if (!is_esmtp) {
		talked.client("HELO c.test\r\n");
		talked.server("250 hop\r\n");
		CHECK(talked.heard() == "HELO c.test\r\n");
	}
	talked.client(commands);
	std::string all;
	for (std::string line; all.size() < commands.size(); all += line) {
		line = talked.heard();
		REQUIRE(line.find('\n') + 1 == line.size());
		CHECK(talked.server("250 Ok\r\n") == "250 Ok\r\n");
	}
	CHECK(all == commands);
}

TEST_CASE("other ends of a mail are refused at its true end", "[mailtalk]")
{
	const std::string ends[] = { "\n.\n", "\n.\r\n", "\r\n.\n", "\r.\r", "\r\n.\r" };
	for (const std::string &end : ends) {
		Talked talked;
		talked.greet();
		talked.data();
		const std::string said = talked.client("a" + end + "MAIL FROM:<e@x.test>\r\n.\r\n");
		CAPTURE(end);
		CHECK(said.substr(0, 9) == "521 5.6.0");
		CHECK(talked.heard().find("MAIL") == std::string::npos);
		CHECK_FALSE(talked.is_connected);
		CHECK(talked.is_closed);
	}
}

TEST_CASE("commands with another end than CRLF end the session", "[mailtalk]")
{
	Talked talked;
	talked.greet();
	CHECK(talked.client("NOOP\nRSET\r\n").substr(0, 9) == "521 5.5.2");
	CHECK(talked.is_closed);
	CHECK(talked.heard().empty());

	Talked long_line;
	long_line.greet();
	CHECK(long_line.client(std::string(5000, 'x') + "\r\nVRFY a\r\n") ==
	      "500 5.5.2 Line too long\r\n252 2.1.5 Send some mail, and see\r\n");
}

TEST_CASE("what is not known is not passed on", "[mailtalk]")
{
	Talked talked;
	talked.greet();
	CHECK(talked.client("ETRN x\r\nXFORWARD A=b\r\nXCLIENT ADDR=1.2.3.4\r\nFOO\r\n") ==
	      "502 5.5.1 Command not passed on\r\n500 5.5.2 Command not known\r\n"
	      "502 5.5.1 XCLIENT is not offered\r\n500 5.5.2 Command not known\r\n");
	CHECK(talked.heard().empty());
	CHECK(talked.client("POST / HTTP/1.1\r\n").substr(0, 3) == "521");
	CHECK(talked.is_closed);
}

TEST_CASE("chunks go on by DATA", "[mailtalk]")
{
	Talked talked;
	talked.greet();
	talked.mail();
	(void)talked.heard();
	CHECK(talked.client("BDAT 7\r\n.a\r\nb\r\n").empty());
	CHECK(talked.heard() == "DATA\r\n");
	CHECK(talked.server("354 Go\r\n") == "250 2.0.0 Chunk received\r\n");
	CHECK(talked.heard() == "..a\r\nb\r\n");

	SECTION("to their end, which gets its CRLF")
	{
		CHECK(talked.client("BDAT 1 LAST\r\nc").empty());
		CHECK(talked.heard() == "c\r\n.\r\n");
		CHECK(talked.scanned == ".a\r\nb\r\nc\r\n");
		CHECK(talked.server("250 queued\r\n") == "250 queued\r\n");
		CHECK(talked.outcomes == Texts{ "accepted 250" });
	}
	SECTION("until RSET, which takes the connection")
	{
		CHECK(talked.client("RSET\r\n") == "250 2.0.0 Ok\r\n");
		CHECK_FALSE(talked.is_connected);
		CHECK(talked.heard().empty());
	}
	SECTION("until EHLO, which is as RSET and is said to a new connection")
	{
		CHECK(talked.client("EHLO d.test\r\n").empty());
		CHECK(talked.connections == 2);
		CHECK(talked.heard().empty());
		CHECK(talked.server("220 hop.test\r\n").empty());
		CHECK(talked.heard() == "EHLO d.test\r\n");
		CHECK(talked.server("250 hop.test\r\n").substr(0, 12) == "250-hop.test");
		CHECK(talked.client("BDAT 1 LAST\r\nc") == "503 5.5.1 No mail has begun\r\n");
		talked.data();
		CHECK(talked.client("second\r\n.\r\n").empty());
		CHECK(talked.heard() == "second\r\n.\r\n");
		CHECK(talked.outcomes.empty());
	}
	SECTION("and nothing else comes between")
	{
		CHECK(talked.client("MAIL FROM:<>\r\n").substr(0, 3) == "503");
		CHECK(talked.client("DATA\r\n").substr(0, 3) == "503");
		CHECK(talked.client("EHLO\r\n").substr(0, 3) == "501");
		CHECK(talked.client("LHLO d.test\r\n").substr(0, 3) == "500");
		CHECK(talked.client("BDAT 1 LAST\r\nc").empty());
		CHECK(talked.heard() == "c\r\n.\r\n");
	}
	SECTION("until the next hop is gone")
	{
		talked.end_server();
		CHECK(talked.client("BDAT 1 LAST\r\nc").substr(0, 3) == "451");
		CHECK(talked.outcomes == Texts{ "lost 451" });
	}
}

TEST_CASE("a chunk without a mail is read and refused", "[mailtalk]")
{
	Talked talked;
	talked.greet();
	CHECK(talked.client("BDAT 6\r\nQUIT\r\nVRFY a\r\n") ==
	      "503 5.5.1 No mail has begun\r\n252 2.1.5 Send some mail, and see\r\n");
	CHECK(talked.heard().empty());
}

TEST_CASE("a refused chunk that is larger than is read for nothing ends the session", "[mailtalk]")
{
	Talked talked;
	talked.greet();
	CHECK(talked.client("BDAT 4294967296 LAST\r\nx") == "503 5.5.1 No mail has begun\r\n");
	CHECK(talked.is_closed);

	Talked large;
	large.rules.size_max = 10;
	large.greet();
	large.mail();
	large.client("BDAT 4294967296 LAST\r\n" + std::string(20, 'x'));
	CHECK(large.server("354 Go\r\n").substr(0, 9) == "552 5.3.4");
	CHECK(large.is_closed);
	CHECK(large.outcomes == Texts{ "malformed 552" });
}

TEST_CASE("behind a chunk that was refused there is another mail, also without RSET", "[mailtalk]")
{
	Talked talked;
	talked.greet();
	talked.mail();
	talked.client("BDAT 3\r\n" + std::string(3, '\0'));
	CHECK(talked.server("354 Go\r\n").substr(0, 3) == "550");
	CHECK(talked.client("BDAT 1 LAST\r\nc").substr(0, 3) == "503");
	(void)talked.heard();

	CHECK(talked.client("MAIL FROM:<a@x.test>\r\n").empty());
	CHECK(talked.connections == 2);
	talked.server("220 hop\r\n");
	CHECK(talked.server("250 hop\r\n").empty());
	CHECK(talked.server("250 mail\r\n") == "250 mail\r\n");
	talked.client("RCPT TO:<b@y.test>\r\n");
	CHECK(talked.server("250 b\r\n") == "250 b\r\n");
	(void)talked.heard();
	CHECK(talked.client("BDAT 1 LAST\r\nc").empty());
	CHECK(talked.heard() == "DATA\r\n");
	talked.server("354 Go\r\n");
	CHECK(talked.heard() == "c\r\n.\r\n");
	CHECK(talked.server("250 queued\r\n") == "250 queued\r\n");
	CHECK(talked.outcomes == Texts{ "malformed 550", "accepted 250" });
}

TEST_CASE("LMTP has a reply for each recipient at the last chunk, also behind one that was refused",
	  "[mailtalk]")
{
	const bool is_lmtp = GENERATE(false, true);
	Talked talked(is_lmtp);
	const std::string refused = "503 5.5.1 No mail has begun\r\n";
	talked.greet();
	talked.client("MAIL FROM:<a@x.test>\r\nRCPT TO:<b@y.test>\r\nRCPT TO:<c@y.test>\r\n");
	talked.server("250 ok\r\n250 ok\r\n250 ok\r\n");
	talked.client("BDAT 3\r\n" + std::string(3, '\0'));
	const std::string said = talked.server("354 Go\r\n");
	CHECK(said.substr(0, 3) == "550");
	CHECK(said.find("\r\n") == said.size() - 2);
	SECTION("amid others")
	{
		CHECK(talked.client("BDAT 1\r\nc") == refused);
		CHECK(talked.client("BDAT 1 LAST\r\nc") == (is_lmtp ? refused + refused : refused));
		CHECK(talked.client("BDAT 1 LAST\r\nc") == refused);
	}
	SECTION("unless its client has given it up")
	{
		CHECK(talked.client("RSET\r\n").substr(0, 3) == "250");
		CHECK(talked.client("BDAT 1 LAST\r\nc") == refused);
	}
	CHECK(talked.client("NOOP\r\n").substr(0, 3) == "250");
	CHECK(talked.outcomes == Texts{ "malformed 550" });
}

TEST_CASE("DATA without a recipient is 554, and of LMTP 503", "[mailtalk]")
{
	for (const bool is_lmtp : { false, true }) {
		Talked talked(is_lmtp);
		talked.greet();
		talked.client("MAIL FROM:<a@x.test>\r\n");
		talked.server("250 ok\r\n");
		talked.client("RCPT TO:<b@y.test>\r\n");
		talked.server("550 no\r\n");
		CHECK(talked.client("DATA\r\n").substr(0, 3) == (is_lmtp ? "503" : "554"));
	}
}

TEST_CASE("LMTP has a reply for each recipient", "[mailtalk]")
{
	Talked talked(true);
	talked.greet();
	talked.client(
		"MAIL FROM:<a@x.test>\r\nRCPT TO:<b@y.test>\r\nRCPT TO:<c@y.test>\r\nDATA\r\n");
	talked.server("250 ok\r\n250 ok\r\n250 ok\r\n");
	talked.server("354 go\r\n");
	(void)talked.heard();

	SECTION("of the next hop")
	{
		talked.client("a\r\n.\r\n");
		CHECK(talked.heard() == "a\r\n.\r\n");
		CHECK(talked.server("250 b\r\n").substr(0, 3) == "250");
		CHECK(talked.outcomes.empty());
		CHECK(talked.server("452 c\r\n").substr(0, 3) == "452");
		CHECK(talked.outcomes == Texts{ "accepted 250" });
	}
	SECTION("of ours")
	{
		talked.verdict = 550;
		CHECK(talked.client("a\r\n.\r\n") ==
		      "550 5.7.1 Evil in part 1\r\n550 5.7.1 Evil in part 1\r\n");
	}
	SECTION("of both, when the next hop is gone between them")
	{
		talked.client("a\r\n.\r\n");
		CHECK(talked.server("250 b\r\n").substr(0, 3) == "250");
		talked.end_server();
		const std::string said = talked.said();
		CHECK(said.substr(0, 3) == "451");
		CHECK(said.find("\r\n") == said.size() - 2);
		CHECK(talked.outcomes == Texts{ "unknown 451" });
	}
}

TEST_CASE("DATA that the next hop refuses is a mail refused, and its transaction goes on",
	  "[mailtalk]")
{
	Talked talked;
	talked.greet();
	talked.mail();
	talked.client("DATA\r\n");
	CHECK(talked.server("451 4.3.0 not now\r\n") == "451 4.3.0 not now\r\n");
	CHECK(talked.outcomes == Texts{ "refused 451" });
	CHECK(talked.talk.refused_count == 1);
	(void)talked.heard();
	talked.client("DATA\r\n");
	CHECK(talked.heard() == "DATA\r\n");
	talked.server("354 Go\r\n");
	talked.client("a\r\n.\r\n");
	CHECK(talked.server("250 queued\r\n") == "250 queued\r\n");
	CHECK(talked.outcomes == Texts{ "refused 451", "accepted 250" });
	CHECK(talked.client("MAIL FROM:<a@x.test>\r\n").empty());
}

TEST_CASE("STARTTLS is ended here, or passed on, or not there", "[mailtalk]")
{
	Talked talked;
	SECTION("ended")
	{
		talked.rules.offers_tls = true;
		talked.begin();
		talked.server("220 hop\r\n");
		talked.client("EHLO c\r\n");
		CHECK(talked.server("250 hop\r\n").find("250-STARTTLS\r\n") != std::string::npos);
		CHECK(talked.client("STARTTLS\r\n") == "220 2.0.0 Ready to start TLS\r\n");
		CHECK(talked.talk.is_secure);
		talked.client("EHLO c\r\n");
		CHECK(talked.server("250 hop\r\n").find("STARTTLS") == std::string::npos);
		CHECK(talked.client("STARTTLS\r\n").substr(0, 3) == "503");
	}
	SECTION("behind a login in the clear, which another may have put there")
	{
		talked.rules.offers_tls = true;
		talked.rules.has_plain_logins = true;
		talked.greet("250-hop\r\n250 AUTH PLAIN\r\n");
		(void)talked.client("AUTH PLAIN AGEAYg==\r\n");
		CHECK(talked.server("235 2.7.0 in\r\n") == "235 2.7.0 in\r\n");
		CHECK(talked.client("STARTTLS\r\n").substr(0, 3) == "220");
		CHECK_FALSE(talked.is_connected);
		CHECK(talked.client("EHLO c\r\n").empty());
		CHECK(talked.connections == 2);
		CHECK(talked.server("220 hop\r\n").empty());
		CHECK(talked.server("250 hop\r\n").substr(0, 3) == "250");
	}
	SECTION("amid a transaction in the clear")
	{
		talked.rules.offers_tls = true;
		talked.greet();
		talked.mail();
		CHECK(talked.client("STARTTLS\r\n").substr(0, 3) == "220");
		CHECK_FALSE(talked.is_connected);
		CHECK(talked.client("BDAT 0 LAST\r\n").substr(0, 3) == "503");
	}
	SECTION("with something behind it")
	{
		talked.rules.offers_tls = true;
		talked.greet();
		CHECK(talked.client("STARTTLS\r\nNOOP\r\n").substr(0, 3) == "521");
		CHECK(talked.is_closed);
	}
	SECTION("passed on")
	{
		talked.rules.passes_tls = true;
		talked.greet("250-hop\r\n250 STARTTLS\r\n");
		talked.client("STARTTLS\r\n");
		CHECK(talked.heard() == "STARTTLS\r\n");
		CHECK(talked.server("220 go\r\n") == "220 go\r\n");
		CHECK(talked.is_tunnel);
	}
	SECTION("passed on, and refused")
	{
		talked.rules.passes_tls = true;
		talked.greet("250-hop\r\n250 STARTTLS\r\n");
		talked.client("STARTTLS\r\n");
		CHECK(talked.server("454 no\r\n") == "454 no\r\n");
		CHECK_FALSE(talked.is_tunnel);
	}
	SECTION("not there")
	{
		talked.greet("250-hop\r\n250 STARTTLS\r\n");
		CHECK(talked.client("STARTTLS\r\n").substr(0, 3) == "503");
	}
}

TEST_CASE("a filter passes on what its server says of clients", "[mailtalk]")
{
	Talked talked;
	talked.rules.is_filter = true;
	talked.greet("250-hop\r\n250-XCLIENT ADDR\r\n250 XFORWARD NAME ADDR\r\n");
	talked.client("xforward NAME=a ADDR=192.0.2.1\r\n");
	CHECK(talked.heard() == "XFORWARD NAME=a ADDR=192.0.2.1\r\n");
	CHECK(talked.server("250 ok\r\n") == "250 ok\r\n");
	talked.client("XCLIENT ADDR=192.0.2.1\r\n");
	CHECK(talked.heard() == "XCLIENT ADDR=192.0.2.1\r\n");
	CHECK(talked.server("220 hop\r\n") == "220 hop\r\n");
	CHECK(talked.client("XFORWARD  A=b\x7f\r\n").substr(0, 3) == "501");
}

TEST_CASE("what a mail server's recipients are refused for is no error of it", "[mailtalk]")
{
	for (const bool is_lmtp : { true, false }) {
		CAPTURE(is_lmtp);
		Talked talked(is_lmtp);
		talked.rules.is_filter = !is_lmtp;
		talked.rules.errors_max = 2;
		talked.greet();
		talked.mail();
		for (int i = 0; i < 3; i++) {
			talked.client("RCPT TO:<c@y.test>\r\n");
			CHECK(talked.server("550 5.1.1 unknown\r\n") == "550 5.1.1 unknown\r\n");
		}
		talked.client("DATA\r\n");
		CHECK(talked.server("354 Go\r\n") == "354 Go\r\n");
		talked.client("a\r\n.\r\n");
		CHECK(talked.server("250 queued\r\n") == "250 queued\r\n");
		CHECK(talked.client("FOO\r\n").substr(0, 3) == "500");
		CHECK(talked.client("FOO\r\n").find("421 4.7.0") != std::string::npos);
	}
	Talked stranger;
	stranger.rules.errors_max = 2;
	stranger.greet();
	stranger.mail();
	stranger.client("RCPT TO:<c@y.test>\r\nRCPT TO:<d@y.test>\r\n");
	CHECK(stranger.server("550 c\r\n550 d\r\n").find("421 4.7.0") != std::string::npos);
	CHECK(stranger.is_closed);
}
