// SPDX-License-Identifier: GPL-3.0-or-later
// Sessions of which an end is gone, says what it should not, or has had its time.
#include <string>

#include <catch2/catch.hpp>

#include "tests/unit/mail-proxy-smtp/talked.hh"

using Texts = std::vector<std::string>;

TEST_CASE("a next hop that is gone is a reply, wherever it was", "[mailtalk]")
{
	Talked talked;
	SECTION("before the greeting")
	{
		talked.begin();
		talked.end_server();
		CHECK(talked.said().substr(0, 3) == "421");
		CHECK(talked.is_closed);
	}
	SECTION("in place of a reply")
	{
		talked.greet();
		talked.client("MAIL FROM:<a@x.test>\r\nRCPT TO:<b@y.test>\r\n");
		talked.end_server();
		CHECK(talked.said().substr(0, 3) == "421");
		CHECK(talked.is_closed);
	}
	SECTION("while nothing has begun: there is another")
	{
		talked.greet();
		talked.end_server();
		CHECK(talked.client("NOOP\r\n") == "250 2.0.0 Ok\r\n");
		CHECK(talked.client("MAIL FROM:<a@x.test>\r\n").empty());
		CHECK(talked.connections == 2);
	}
	SECTION("between two recipients")
	{
		talked.greet();
		talked.mail();
		talked.end_server();
		CHECK(talked.client("RCPT TO:<c@y.test>\r\n").substr(0, 3) == "421");
	}
	SECTION("in place of the reply to DATA")
	{
		talked.greet();
		talked.mail();
		talked.client("DATA\r\n");
		talked.end_server();
		CHECK(talked.said().substr(0, 3) == "451");
		CHECK(talked.client("QUIT\r\n").substr(0, 3) == "221");
	}
	SECTION("amid a mail, which is read to its end")
	{
		talked.greet();
		talked.data();
		talked.client("a\r\n");
		talked.end_server();
		CHECK(talked.said().empty());
		CHECK(talked.client("b\r\n.\r\n").substr(0, 3) == "451");
		CHECK(talked.outcomes == Texts{ "lost 451" });
	}
	SECTION("amid a mail, with a word")
	{
		talked.greet();
		talked.data();
		CHECK(talked.server("452 4.3.1 disk full\r\n").empty());
		CHECK(talked.client("b\r\n.\r\n") == "452 4.3.1 disk full\r\n");
		CHECK(talked.outcomes == Texts{ "refused 452" });
	}
	SECTION("while the verdict is waited for")
	{
		talked.verdict = 0;
		talked.greet();
		talked.data();
		talked.client("a\r\n.\r\n");
		talked.end_server();
		CHECK(talked.said().substr(0, 3) == "451");
		mailtalk_judge(&talked.talk, 250, "");
		talked.go();
		CHECK(talked.heard() == "a\r\n");
	}
	SECTION("behind the end: nothing is known")
	{
		talked.greet();
		talked.data();
		talked.client("a\r\n.\r\n");
		talked.end_server();
		CHECK(talked.said().substr(0, 3) == "451");
		CHECK(talked.outcomes == Texts{ "unknown 451" });
	}
	SECTION("or says what is none")
	{
		talked.greet();
		talked.client("NOOP\r\n");
		CHECK(talked.server("hello\r\n").substr(0, 9) == "421 4.5.0");
	}
}

TEST_CASE("a reply that was passed on in part is not ended by another", "[mailtalk]")
{
	Talked talked;
	talked.greet();
	SECTION("of a mail, when the next hop is gone")
	{
		talked.data();
		(void)talked.client("a\r\n.\r\n");
		CHECK(talked.server("250-queued\r\n") == "250-queued\r\n");
		talked.end_server();
		CHECK(talked.said().empty());
		CHECK(talked.outcomes == Texts{ "unknown 451" });
	}
	SECTION("of a mail, when it goes on with another code")
	{
		talked.data();
		(void)talked.client("a\r\n.\r\n");
		CHECK(talked.server("250-queued\r\n550 no\r\n") == "250-queued\r\n");
		CHECK(talked.outcomes == Texts{ "unknown 451" });
	}
	SECTION("of another command")
	{
		(void)talked.client("EHLO d.test\r\n");
		CHECK(talked.server("250-hop\r\nhello\r\n") == "250-hop\r\n");
		CHECK(talked.outcomes.empty());
	}
	CHECK(talked.is_closed);
}

TEST_CASE("a code that is no answer to a command is not passed on", "[mailtalk]")
{
	Talked talked;
	talked.greet();
	SECTION("250 to DATA, behind which a client may send its mail")
	{
		talked.mail();
		CHECK(talked.client("DATA\r\n").empty());
		CHECK(talked.server("250 ok\r\n").substr(0, 9) == "451 4.5.0");
		CHECK(talked.outcomes == Texts{ "lost 451" });
	}
	SECTION("354 to the end of a mail")
	{
		talked.data();
		(void)talked.client("a\r\n.\r\n");
		CHECK(talked.server("354 go\r\n").substr(0, 9) == "451 4.5.0");
		CHECK(talked.outcomes == Texts{ "unknown 451" });
	}
	SECTION("334 to MAIL")
	{
		(void)talked.client("MAIL FROM:<a@x.test>\r\n");
		CHECK(talked.server("334 \r\n").substr(0, 9) == "421 4.5.0");
	}
	CHECK_FALSE(talked.is_connected);
}

TEST_CASE("a reply that was not waited for is not that of the next command", "[mailtalk]")
{
	Talked talked;
	SECTION("while nothing has begun: there is another connection")
	{
		talked.greet();
		CHECK(talked.server("421 4.4.2 idle\r\n").empty());
		CHECK_FALSE(talked.is_connected);
		CHECK(talked.client("MAIL FROM:<a@x.test>\r\n").empty());
		CHECK(talked.connections == 2);
	}
	SECTION("behind one that was, in a part of a line")
	{
		talked.greet();
		(void)talked.client("MAIL FROM:<a@x.test>\r\n");
		CHECK(talked.server("250 mail\r\n2").substr(0, 3) == "250");
		CHECK(talked.client("RCPT TO:<b@y.test>\r\n").substr(0, 9) == "421 4.3.2");
		CHECK(talked.is_closed);
	}
	SECTION("to RCPT twice, of which one may be another's")
	{
		talked.greet();
		(void)talked.client("MAIL FROM:<a@x.test>\r\n");
		(void)talked.server("250 mail\r\n");
		(void)talked.client("RCPT TO:<b@y.test>\r\nRCPT TO:<c@y.test>\r\n");
		CHECK(talked.server("250 mail\r\n550 b\r\n250 c\r\n") == "250 mail\r\n550 b\r\n");
		CHECK(talked.client("DATA\r\n").substr(0, 9) == "421 4.3.2");
		CHECK(talked.is_closed);
	}
	SECTION("to a login")
	{
		talked.greet("250-hop\r\n250 AUTH LOGIN\r\n");
		(void)talked.client("AUTH LOGIN\r\n");
		CHECK(talked.server("334 VXNlcg==\r\n235 in\r\n") == "334 VXNlcg==\r\n");
		CHECK(talked.client("dXNlcg==\r\n").substr(0, 3) == "421");
		CHECK(talked.is_closed);
	}
	SECTION("between the chunks of a mail: nothing is scanned any more")
	{
		talked.greet();
		talked.mail();
		(void)talked.client("BDAT 1\r\na");
		CHECK(talked.server("354 Go\r\n").substr(0, 3) == "250");
		CHECK(talked.server("421 4.4.2 idle\r\n").empty());
		CHECK(talked.scans_dropped == 1);
		CHECK(talked.client("NOOP\r\n").substr(0, 3) == "250");
		CHECK(talked.client("BDAT 1 LAST\r\nb").substr(0, 9) == "451 4.4.2");
		CHECK(talked.scans_dropped == 1);
		CHECK(talked.outcomes == Texts{ "lost 451" });
	}
	SECTION("to a mail, before its end")
	{
		talked.greet();
		talked.mail();
		(void)talked.client("DATA\r\n");
		CHECK(talked.server("354 Go\r\n250 queued\r\n") == "354 Go\r\n");
		CHECK(talked.client("a\r\n.\r\n").substr(0, 9) == "451 4.5.0");
		CHECK(talked.outcomes == Texts{ "lost 451" });
	}
}

TEST_CASE("a next hop that closes with its reply to DATA has no mail, and is not waited for",
	  "[mailtalk]")
{
	Talked talked;
	talked.greet();
	talked.mail();
	(void)talked.client("DATA\r\n");
	CHECK(talked.last("354 Go\r\n") == "354 Go\r\n");
	CHECK(mailtalk_waits(&talked.talk) == MAILTALK_FOR_DATA);
	CHECK(talked.client("a\r\n.\r\n").substr(0, 9) == "451 4.4.2");
	CHECK(talked.outcomes == Texts{ "lost 451" });
	CHECK(talked.client("NOOP\r\n").substr(0, 3) == "250");
}

TEST_CASE("a client that is gone amid a mail leaves none", "[mailtalk]")
{
	Talked talked;
	talked.greet();
	talked.data();
	talked.client("a\r\n");
	talked.end_client();
	CHECK(talked.is_closed);
	CHECK(talked.heard() == "a\r\n");
	CHECK_FALSE(talked.is_connected);
	CHECK(talked.outcomes == Texts{ "cut 0" });

	Talked chunked;
	chunked.greet();
	chunked.mail();
	(void)chunked.client("BDAT 3\r\na\r\n");
	(void)chunked.server("354 Go\r\n");
	chunked.end_client();
	CHECK(chunked.is_closed);
	CHECK_FALSE(chunked.is_connected);
	CHECK(chunked.outcomes == Texts{ "cut 0" });

	Talked late;
	late.greet();
	late.data();
	late.client("a\r\n.\r\n");
	late.end_client();
	CHECK(late.heard() == "a\r\n.\r\n");
	CHECK(late.server("250 queued\r\n") == "250 queued\r\n");
	CHECK(late.is_closed);
}

TEST_CASE("a client that is gone before the verdict has no mail delivered", "[mailtalk]")
{
	Talked talked;
	talked.verdict = 0;
	talked.greet();
	talked.data();
	talked.client("a\r\n.\r\n");
	SECTION("with nothing behind its mail")
	{
		talked.end_client();
		CHECK(talked.is_closed);
		CHECK(talked.heard() == "a\r\n");
		CHECK_FALSE(talked.is_connected);
		CHECK(talked.scans_dropped == 1);
		CHECK(talked.outcomes == Texts{ "cut 0" });
	}
	SECTION("with what is no command behind its mail")
	{
		talked.client(GENERATE("\r\n", "\r\n\r\nQU", "QUIT", "Q", "QUIT\r"));
		talked.end_client();
		CHECK(talked.is_closed);
		CHECK(talked.heard() == "a\r\n");
		CHECK(talked.outcomes == Texts{ "cut 0" });
	}
	SECTION("but for one that has said QUIT behind an empty line")
	{
		talked.client("\r\nQUIT\r\n");
		talked.end_client();
		CHECK_FALSE(talked.is_closed);
		mailtalk_judge(&talked.talk, 250, "");
		talked.go();
		CHECK(talked.heard() == "a\r\n.\r\n");
	}
	SECTION("but for one that has said QUIT, and waits for its replies")
	{
		talked.client("QUIT\r\n");
		talked.end_client();
		CHECK_FALSE(talked.is_closed);
		mailtalk_judge(&talked.talk, 250, "");
		talked.go();
		CHECK(talked.heard() == "a\r\n.\r\n");
		CHECK(talked.server("250 queued\r\n") == "250 queued\r\n");
		CHECK(talked.server("221 bye\r\n") == "221 bye\r\n");
		CHECK(talked.outcomes == Texts{ "accepted 250" });
	}
	SECTION("also when that was good, and there is no room for the end yet")
	{
		talked.hop_room = 0;
		mailtalk_judge(&talked.talk, 250, "");
		talked.go();
		talked.end_client();
		talked.hop_room = 16384;
		talked.go();
		CHECK(talked.heard() == "a\r\n");
		CHECK(talked.outcomes == Texts{ "cut 0" });
	}
}

TEST_CASE("time runs for what is waited for", "[mailtalk]")
{
	Talked talked;
	talked.greet();
	CHECK(mailtalk_waits(&talked.talk) == MAILTALK_FOR_COMMAND);
	talked.mail();
	talked.client("DATA\r\n");
	CHECK(mailtalk_waits(&talked.talk) == MAILTALK_FOR_REPLY);
	talked.server("354 go\r\n");
	CHECK(mailtalk_waits(&talked.talk) == MAILTALK_FOR_DATA);

	SECTION("a client's bytes")
	{
		talked.expire();
		CHECK(talked.said().substr(0, 9) == "421 4.4.2");
		CHECK(talked.is_closed);
		CHECK_FALSE(talked.is_connected);
	}
	SECTION("a next hop's reply")
	{
		talked.client(".\r\n");
		CHECK(mailtalk_waits(&talked.talk) == MAILTALK_FOR_END);
		talked.expire();
		CHECK(talked.said().substr(0, 9) == "451 4.4.2");
		CHECK(talked.outcomes == Texts{ "unknown 451" });
	}
	SECTION("a next hop that takes nothing more of a mail")
	{
		talked.hop_room = 0;
		CHECK(talked.client("a\r\n").empty());
		CHECK(mailtalk_waits(&talked.talk) == MAILTALK_FOR_ROOM);
		talked.expire();
		CHECK(talked.client(".\r\n").substr(0, 9) == "451 4.4.2");
		CHECK(talked.outcomes == Texts{ "lost 451" });
		CHECK(talked.client("NOOP\r\n").substr(0, 3) == "250");
	}
	SECTION("a next hop that takes something again")
	{
		talked.hop_room = 0;
		talked.client("a\r\n");
		(void)talked.heard();
		talked.hop_room = 16384;
		talked.go();
		CHECK(talked.heard() == "a\r\n");
		CHECK(mailtalk_waits(&talked.talk) == MAILTALK_FOR_DATA);
	}
	SECTION("a next hop that does not take a mail's end")
	{
		talked.verdict = 0;
		talked.client("a\r\n.\r\n");
		talked.hop_room = 0;
		mailtalk_judge(&talked.talk, 250, "");
		talked.go();
		CHECK(mailtalk_waits(&talked.talk) == MAILTALK_FOR_ROOM);
		talked.expire();
		CHECK(talked.said().substr(0, 9) == "451 4.4.2");
		CHECK(talked.outcomes == Texts{ "lost 451" });
	}
}

TEST_CASE("too many mails at a time are put off", "[mailtalk]")
{
	Talked talked;
	talked.has_room_to_scan = false;
	talked.greet();
	talked.mail();
	CHECK(talked.client("DATA\r\n").substr(0, 9) == "451 4.3.2");
	CHECK(talked.outcomes == Texts{ "busy 451" });
	talked.has_room_to_scan = true;
	CHECK(talked.client("MAIL FROM:<a@x.test>\r\n").empty());
	CHECK(talked.connections == 2);
}

TEST_CASE("sessions end at their limits, and when the process does", "[mailtalk]")
{
	Talked talked;
	talked.rules.errors_max = 2;
	talked.greet();
	CHECK(talked.client("FOO\r\n").substr(0, 3) == "500");
	const std::string said = talked.client("FOO\r\n");
	CHECK(said.find("421 4.7.0") != std::string::npos);
	CHECK(talked.is_closed);

	Talked drained;
	drained.greet();
	drained.data();
	mailtalk_drain(&drained.talk);
	drained.client("a\r\n.\r\n");
	const std::string last = drained.server("250 queued\r\n");
	CHECK(last.substr(0, 12) == "250 queued\r\n");
	CHECK(last.substr(12, 9) == "421 4.3.2");
	CHECK(drained.is_closed);
}
