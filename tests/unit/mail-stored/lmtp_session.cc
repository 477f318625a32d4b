// SPDX-License-Identifier: GPL-3.0-or-later
// Sessions of LMTP: what mail servers are told, and what the store gets.
#include "tests/unit/mail-stored/lmtp_played.hh"

namespace
{

const std::string MESSAGE = "Subject: x\r\n\r\ntext\r\n.dot\r\n";
const std::string DOTTED = "Subject: x\r\n\r\ntext\r\n..dot\r\n.\r\n";
const std::string OK = "250 2.0.0 Ok: ab000000000000000000000000000000\r\n";

std::string repeated(const std::string &text, size_t count)
{
	std::string all;
	for (size_t i = 0; i < count; i++)
		all += text;
	return all;
}

std::string rcpt(const std::string &address)
{
	return "RCPT TO:<" + address + ">\r\n";
}

// Everything that a session may say and hear.
const std::string WHOLE =
	"LHLO c.example\r\nMAIL FROM:<a@b.example> SIZE=100\r\n" + rcpt("one@d.example") +
	rcpt("two@d.example") + rcpt("One@d.example") + "DATA\r\n" + DOTTED +
	"MAIL FROM:<>\r\nRCPT TO:<bad\r\n" + rcpt("one@d.example") +
	"BDAT 5\r\nabc\r\nBDAT 6 LAST\r\ndef\r\n." + "MAIL FROM:<x@y.example>\r\n" +
	rcpt("z@d.example") + "RSET\r\nNOOP\r\nDATA\r\n" + std::string(2000, 'n') +
	"\r\nEHLO c\r\nMAIL FROM:<x@y>\r\n" + rcpt("z@d.example") + "DATA\r\nbad\nline\r\n.\r\n";

} // namespace

TEST_CASE("a mail goes to the store with its fields in front, once for each mailbox",
	  "[mail-stored][lmtp_session]")
{
	lmtp_world world = world_of_tests();
	played session(world);
	CHECK(session.said == "220 mx.example.org LMTP\r\n");
	session.feed("LHLO c.example\r\n");
	session.feed("MAIL FROM:<a@b.example>\r\n" + rcpt("One@d.example"));
	CHECK(session.say("DATA\r\n") == "354 End the mail with <CRLF>.<CRLF>\r\n");
	CHECK(session.say(DOTTED) == OK);
	REQUIRE(session.mails.size() == 1);
	CHECK(session.mails[0].sender == "a@b.example");
	CHECK(session.mails[0].mailboxes == std::vector<std::string>{ "one@d.example" });
	CHECK(session.mails[0].text ==
	      "Return-Path: <a@b.example>\r\n"
	      "Received: from c.example ([192.0.2.7])\r\n"
	      "\tby mx.example.org (mail-stored) with LMTP id 334455667788.1\r\n"
	      "\tfor <One@d.example>;\r\n"
	      "\tSun, 22 Nov 2026 04:42:54 +0000\r\n" +
		      MESSAGE);
	CHECK(session.say("QUIT\r\n") == "221 2.0.0 Bye\r\n");
	CHECK(session.is_closed);
	CHECK(world.memory_used == 0);
}

TEST_CASE("recipients do not hear of each other, and a client of a UNIX socket has no address",
	  "[mail-stored][lmtp_session]")
{
	lmtp_world world = world_of_tests();
	played session(world, "");
	session.feed("LHLO c.example\r\nMAIL FROM:<> SMTPUTF8\r\n" + rcpt("one@d.example") +
		     rcpt("two@d.example") + "DATA\r\n.\r\n");
	REQUIRE(session.mails.size() == 1);
	CHECK(session.mails[0].text ==
	      "Return-Path: <>\r\n"
	      "Received: from c.example\r\n"
	      "\tby mx.example.org (mail-stored) with UTF8LMTP id 334455667788.1;\r\n"
	      "\tSun, 22 Nov 2026 04:42:54 +0000\r\n");
}

TEST_CASE("two recipients with one mailbox count once, and have a reply each",
	  "[mail-stored][lmtp_session]")
{
	lmtp_world world = world_of_tests();
	played session(world);
	session.feed("LHLO c\r\nMAIL FROM:<a@b>\r\n" + rcpt("b@d.example") + rcpt("a@d.example") +
		     rcpt("B@D.example") + rcpt("\"b\"@d.example") + "DATA\r\n");
	CHECK(session.say(".\r\n") == repeated(OK, 4));
	REQUIRE(session.mails.size() == 1);
	CHECK(session.mails[0].mailboxes ==
	      std::vector<std::string>{ "a@d.example", "b@d.example" });
}

TEST_CASE("a session cut anywhere says the same and delivers the same",
	  "[mail-stored][lmtp_session]")
{
	lmtp_world world = world_of_tests();
	world.has_quotas = GENERATE(false, true);
	played whole(world);
	whole.feed(WHOLE);
	REQUIRE(whole.mails.size() == 2);
	REQUIRE(whole.is_closed);
	for (size_t cut = 1; cut < WHOLE.size(); cut++) {
		CAPTURE(cut);
		played halves(world);
		halves.feed(WHOLE.substr(0, cut));
		halves.feed(WHOLE.substr(cut));
		REQUIRE(halves.said == whole.said);
		REQUIRE(halves.mails.size() == 2);
		REQUIRE(halves.mails[0].text == whole.mails[0].text);
		REQUIRE(halves.mails[1].text == whole.mails[1].text);
	}
	CHECK(world.memory_used == 0);
}

TEST_CASE("a client that takes a byte at a time hears the same", "[mail-stored][lmtp_session]")
{
	lmtp_world world = world_of_tests();
	played whole(world);
	whole.feed(WHOLE);
	played slow(world);
	slow.out_room = 1;
	for (const char byte : WHOLE)
		slow.feed(std::string(1, byte));
	CHECK(slow.said == whole.said);
	CHECK(slow.mails.size() == whole.mails.size());
}

TEST_CASE("ten thousand recipients have a reply each, and one more is put off",
	  "[mail-stored][lmtp_session]")
{
	lmtp_world world = world_of_tests();
	played session(world);
	session.feed("LHLO c\r\nMAIL FROM:<a@b>\r\n");
	for (int i = 0; i < 10000; i++)
		session.feed(rcpt("user" + std::to_string(i) + "@d.example"));
	CHECK(session.say(rcpt("more@d.example")) == "452 4.5.3 Too many recipients\r\n");
	session.feed("DATA\r\n");
	CHECK(session.say(DOTTED) == repeated(OK, 10000));
	REQUIRE(session.mails.size() == 1);
	CHECK(session.mails[0].mailboxes.size() == 10000);
	CHECK(own_text(session.mails[0]) == MESSAGE);
	CHECK(world.memory_used == 0);
}

TEST_CASE("refused recipients get nothing, and no reply behind the mail",
	  "[mail-stored][lmtp_session]")
{
	lmtp_world world = world_of_tests();
	played session(world);
	session.feed("LHLO c\r\nMAIL FROM:<a@b>\r\n" + rcpt("a@d.example"));
	CHECK(session.say(rcpt("\"\"@d.example")) == "550 5.1.3 No name for a mailbox\r\n");
	CHECK(session.say("RCPT TO:<>\r\n").substr(0, 9) == "501 5.1.3");
	session.feed("DATA\r\n");
	CHECK(session.say(".\r\n") == OK);
}

TEST_CASE("a mailbox's name has 255 bytes and no more", "[mail-stored][lmtp_session]")
{
	lmtp_world world = world_of_tests();
	played session(world);
	// Paths have 256 bytes at most with their brackets, so that an address cannot have more.
	const std::string label(61, 'd');
	const std::string domain = label + "." + label + "." + label + ".x";
	session.feed("LHLO c\r\nMAIL FROM:<a@b>\r\n");
	const std::string longest = std::string(253 - domain.size(), 'l') + "@" + domain;
	REQUIRE(longest.size() == 254);
	CHECK(session.say(rcpt(longest)) == "250 2.1.5 Ok\r\n");
	session.feed("DATA\r\n.\r\n");
	CHECK(session.mails.back().mailboxes[0] == longest);
}

TEST_CASE("DATA without a recipient is 503", "[mail-stored][lmtp_session]")
{
	lmtp_world world = world_of_tests();
	played session(world);
	session.feed("LHLO c\r\nMAIL FROM:<a@b>\r\n");
	CHECK(session.say("DATA\r\n").substr(0, 3) == "503");
	session.feed(rcpt("\"\"@d.example"));
	CHECK(session.say("DATA\r\n") == "503 5.5.1 No valid recipients\r\n");
	CHECK(session.mails.empty());
}

TEST_CASE("a mail by chunks is that of all chunks", "[mail-stored][lmtp_session]")
{
	lmtp_world world = world_of_tests();
	played session(world);
	session.feed("LHLO c\r\nMAIL FROM:<a@b>\r\n" + rcpt("a@d.example") + rcpt("b@d.example"));
	CHECK(session.say("BDAT 0\r\n") == "250 2.0.0 Ok, 0 octets\r\n");
	CHECK(session.say("BDAT 7\r\n.\r\nabc.") == "250 2.0.0 Ok, 7 octets\r\n");
	CHECK(session.say("BDAT 2 LAST\r\nde") == OK + OK);
	CHECK(own_text(session.mails.at(0)) == ".\r\nabc.de\r\n");
	session.feed("MAIL FROM:<a@b>\r\n" + rcpt("a@d.example"));
	CHECK(session.say("BDAT 4\r\na\nbc").substr(0, 3) == "521");
	CHECK(session.is_closed);
	CHECK(session.mails.size() == 1);
}

TEST_CASE("a mail larger than the limit is refused for each recipient, and gives back its memory",
	  "[mail-stored][lmtp_session]")
{
	lmtp_world world = world_of_tests();
	const std::string two = repeated("552 5.3.4 Mail larger than we take\r\n", 2);
	const std::string begin = "MAIL FROM:<a@b>\r\n" + rcpt("a@d.example") + rcpt("b@d.example");
	const std::string large(200001, 'x');
	played session(world);
	session.feed("LHLO c\r\n");
	CHECK(session.say("MAIL FROM:<a@b> SIZE=200001\r\n") ==
	      "552 5.3.4 Mail larger than we take\r\n");
	session.feed(begin + "DATA\r\n");
	CHECK(session.say(large + "\r\n.\r\n") == two);
	CHECK(world.memory_used == 0);
	session.feed(begin);
	CHECK(session.say("BDAT 200001 LAST\r\n" + large) == two);
	session.feed(begin);
	CHECK(session.say("BDAT 200001\r\n" + large) == "552 5.3.4 Mail larger than we take\r\n");
	CHECK(session.say("BDAT 1 LAST\r\nx") ==
	      repeated("503 5.5.1 Bad sequence, the mail was refused, send MAIL or RSET\r\n", 2));
	session.feed("RSET\r\n" + begin + "DATA\r\n");
	CHECK(session.say(DOTTED) == OK + OK);
	CHECK(world.memory_used == 0);
}

TEST_CASE("a mail without end is not read for ever", "[mail-stored][lmtp_session]")
{
	lmtp_world world = world_of_tests();
	const std::string begin =
		"LHLO c\r\nMAIL FROM:<a@b>\r\n" + rcpt("a@d.example") + rcpt("b@d.example");
	const std::string piece(100000, 'x');
	const size_t taken = 2 * world.limits.size_max + 1024 * 1024;
	SECTION("by DATA")
	{
		// What is wrong with it before does not make it longer.
		const std::string first = GENERATE("", "NUL", "LF");
		played session(world);
		session.feed(begin + "DATA\r\n");
		const size_t before = session.said.size();
		if (!first.empty())
			session.feed(first == "LF" ? "\n" : std::string(1, '\0'));
		for (size_t size = piece.size(); size < taken; size += piece.size())
			session.feed(piece);
		CHECK(session.said.size() == before);
		CHECK_FALSE(session.is_closed);
		CHECK(session.say(piece) == repeated("521 5.3.4 Mail larger than we take\r\n", 2));
		CHECK(session.is_closed);
	}
	SECTION("by a chunk")
	{
		played session(world);
		session.feed(begin);
		CHECK(session.say("BDAT 18446744073709551615 LAST\r\n" + piece) ==
		      repeated("552 5.3.4 Mail larger than we take\r\n", 2));
		CHECK(session.is_closed);
	}
	CHECK(world.memory_used == 0);
	CHECK(world.limits.size_max > 0);
}

TEST_CASE("a large mail is in sealed memory, byte by byte", "[mail-stored][lmtp_session]")
{
	lmtp_world world = world_of_tests();
	played session(world);
	std::string large;
	for (int i = 0; large.size() < 150000; i++)
		large += "line " + std::to_string(i) + "\r\n";
	session.holds = true;
	session.feed("LHLO c\r\nMAIL FROM:<a@b>\r\n" + rcpt("a@d.example") + "DATA\r\n");
	session.feed(large + ".\r\n");
	REQUIRE(session.is_asking);
	CHECK(own_text(session.mails.at(0)) == large);
	CHECK(world.memory_used > large.size());
	CHECK(session.release(0) == OK);
	CHECK(world.memory_used == 0);
}

TEST_CASE("mails have so much memory together and no more", "[mail-stored][lmtp_session]")
{
	lmtp_world world = world_of_tests();
	world.memory_max = 150000;
	const std::string begin =
		"LHLO c\r\nMAIL FROM:<a@b>\r\n" + rcpt("a@d.example") + "DATA\r\n";
	const std::string large = std::string(100000, 'x') + "\r\n";
	const std::string full = "452 4.3.1 Not enough room, try again later\r\n";
	played one(world);
	played other(world);
	one.feed(begin + large);
	other.feed(begin);
	CHECK(other.say(large + ".\r\n") == full);
	// A small one has its place.
	other.feed("MAIL FROM:<a@b>\r\n" + rcpt("a@d.example") + "DATA\r\n");
	CHECK(other.say(DOTTED) == OK);
	CHECK(one.say(".\r\n") == OK);
	other.feed("MAIL FROM:<a@b>\r\n" + rcpt("a@d.example") + "DATA\r\n");
	CHECK(other.say(large + ".\r\n") == OK);
	CHECK(world.memory_used == 0);
}

TEST_CASE("a list of recipients that has no room is cut", "[mail-stored][lmtp_session]")
{
	lmtp_world world = world_of_tests();
	world.memory_max = 1024;
	played session(world);
	std::string reply;
	session.feed("LHLO c\r\nMAIL FROM:<a@b>\r\n");
	int taken = 0;
	while ((reply = session.say(rcpt("user" + std::to_string(taken) + "@d.example"))) ==
	       "250 2.1.5 Ok\r\n")
		taken++;
	CHECK(reply == "452 4.3.1 Not enough room, try again later\r\n");
	CHECK(taken > 10);
	session.feed("DATA\r\n");
	CHECK(session.say(".\r\n") == repeated(OK, static_cast<size_t>(taken)));
	CHECK(world.memory_used == 0);
}

TEST_CASE("what the store says becomes a reply for each recipient", "[mail-stored][lmtp_session]")
{
	const auto [status, reply] = GENERATE(table<int, const char *>({
		{ -ENOSPC, "452 4.3.1 Not enough room, try again later\r\n" },
		{ -EDQUOT, "452 4.3.1 Not enough room, try again later\r\n" },
		{ MAILSTORE_EQUOTA, "452 4.2.2 Mailbox full\r\n" },
		{ -EFBIG, "552 5.3.4 Mail larger than we take\r\n" },
		{ MAILSTORE_EAWAY, "451 4.4.1 Mailbox cannot be reached now, try again later\r\n" },
		{ MAILSTORE_EFAILED, "451 4.3.0 Try again later\r\n" },
		{ -ECONNRESET, "451 4.3.0 Try again later\r\n" },
		{ -EIO, "451 4.3.0 Try again later\r\n" },
	}));
	CAPTURE(status);
	lmtp_world world = world_of_tests();
	played session(world);
	session.answers = { status };
	session.feed("LHLO c\r\nMAIL FROM:<a@b>\r\n" + rcpt("a@d.example") + rcpt("b@d.example") +
		     "DATA\r\n");
	CHECK(session.say(DOTTED) == repeated(reply, 2));
	CHECK(session.say("NOOP\r\n") == "250 2.0.0 Ok\r\n");
}

TEST_CASE("each recipient hears whether its own mailbox has the mail",
	  "[mail-stored][lmtp_session]")
{
	const std::string away = "451 4.4.1 Mailbox cannot be reached now, try again later\r\n";
	lmtp_world world = world_of_tests();
	played session(world);
	session.holds = true;
	session.feed("LHLO c\r\nMAIL FROM:<a@b>\r\n" + rcpt("c@d.example") + rcpt("a@d.example") +
		     rcpt("b@d.example") + rcpt("c@d.example") + "DATA\r\n");
	session.say(DOTTED);
	const auto answer = [&](const std::vector<int> &fates) {
		return session.release_each(MAILSTORE_EAWAY, fates) + session.say("NOOP\r\n");
	};
	const std::string noop = "250 2.0.0 Ok\r\n";
	SECTION("two have it") // in the order of names: a, b, c
	{
		CHECK(answer({ 0, MAILSTORE_EAWAY, 0 }) == OK + OK + away + OK + noop);
	}
	SECTION("one has it")
	{
		CHECK(answer({ 0, MAILSTORE_EAWAY, -EIO }) == away + OK + away + away + noop);
	}
	SECTION("none has it")
	{
		CHECK(answer({ -EIO, MAILSTORE_EAWAY, -EIO }) == repeated(away, 4) + noop);
	}
	SECTION("there is one word for all")
	{
		CHECK(answer({}) == repeated(away, 4) + noop);
	}
	SECTION("there are not as many words as mailboxes")
	{
		CHECK(answer({ 0, MAILSTORE_EAWAY }) == repeated(away, 4) + noop);
	}
	CHECK(session.say("RSET\r\n") == noop);
}

TEST_CASE("pipelined commands wait while the store is asked about a mailbox",
	  "[mail-stored][lmtp_session]")
{
	lmtp_world world = world_of_tests();
	world.has_quotas = true;
	played session(world);
	session.holds = true;
	session.feed("LHLO c\r\n");
	CHECK(session.say("MAIL FROM:<a@b> SIZE=4711\r\n" + rcpt("A@d.example") +
			  rcpt("b@d.example") + rcpt("c@d.example") + rcpt("d@d.example") +
			  "DATA\r\n") == "250 2.1.0 Ok\r\n");
	CHECK(session.checked == std::vector<std::string>{ "a@d.example 4711" });
	CHECK(session.release(0) == "250 2.1.5 Ok\r\n");
	CHECK(session.release(MAILSTORE_EQUOTA) == "452 4.2.2 Mailbox full\r\n");
	CHECK(session.release(-ENOSPC) == "452 4.3.1 Not enough room, try again later\r\n");
	CHECK(session.release(-ECONNRESET) ==
	      "451 4.3.0 Try again later\r\n354 End the mail with <CRLF>.<CRLF>\r\n");
	CHECK(session.say(DOTTED + "QUIT\r\n").empty());
	CHECK(session.mails.at(0).mailboxes == std::vector<std::string>{ "a@d.example" });
	CHECK(session.release(0) == OK + "221 2.0.0 Bye\r\n");
}

TEST_CASE("a store that is gone puts off recipients and mails, and sessions stay",
	  "[mail-stored][lmtp_session]")
{
	const std::string later = "451 4.3.0 Try again later\r\n";
	lmtp_world world = world_of_tests();
	played session(world);
	session.feed("LHLO c\r\n");
	SECTION("before a recipient")
	{
		world.has_store = false;
		CHECK(session.say("MAIL FROM:<a@b>\r\n") == "250 2.1.0 Ok\r\n");
		CHECK(session.say(rcpt("a@d.example")) == later);
		CHECK(session.say("DATA\r\n") == "503 5.5.1 No valid recipients\r\n");
	}
	SECTION("before DATA, which has one reply")
	{
		session.feed("MAIL FROM:<a@b>\r\n" + rcpt("a@d.example") + rcpt("b@d.example"));
		world.has_store = false;
		CHECK(session.say("DATA\r\n") == later);
		CHECK(session.say("MAIL FROM:<a@b>\r\n") == "250 2.1.0 Ok\r\n");
	}
	SECTION("before a chunk, which is read")
	{
		session.feed("MAIL FROM:<a@b>\r\n" + rcpt("a@d.example") + rcpt("b@d.example"));
		world.has_store = false;
		CHECK(session.say("BDAT 6\r\nQUIT\r\n") == later);
		CHECK(session.say("RSET\r\n") == "250 2.0.0 Ok\r\n");
	}
	SECTION("before the last chunk")
	{
		session.feed("MAIL FROM:<a@b>\r\n" + rcpt("a@d.example") + rcpt("b@d.example"));
		session.feed("BDAT 3\r\nabc");
		world.has_store = false;
		CHECK(session.say("BDAT 3 LAST\r\nabc") == later + later);
	}
	SECTION("amid the mail")
	{
		session.feed("MAIL FROM:<a@b>\r\n" + rcpt("a@d.example") + rcpt("b@d.example") +
			     "DATA\r\nabc");
		world.has_store = false;
		CHECK(session.say("\r\n.\r\n") == later + later);
	}
	SECTION("amid the mail, and back before its end")
	{
		session.feed("MAIL FROM:<a@b>\r\n" + rcpt("a@d.example") + "DATA\r\nabc");
		world.has_store = false;
		session.feed("\r\n");
		world.has_store = true;
		CHECK(session.say(".\r\n") == OK);
	}
	SECTION("while it has the mail")
	{
		session.holds = true;
		session.feed("MAIL FROM:<a@b>\r\n" + rcpt("a@d.example") + rcpt("b@d.example") +
			     "DATA\r\n" + DOTTED + "MAIL FROM:<a@b>\r\n" + rcpt("a@d.example"));
		world.has_store = false;
		CHECK(session.release(-ECONNRESET) == later + later + "250 2.1.0 Ok\r\n" + later);
	}
	session.holds = false;
	world.has_store = true;
	session.feed("RSET\r\nMAIL FROM:<a@b>\r\n" + rcpt("a@d.example") + "DATA\r\n");
	CHECK(session.say(DOTTED) == OK);
	CHECK(world.memory_used == 0);
}

TEST_CASE("a session that has to end does so where no mail is under way",
	  "[mail-stored][lmtp_session]")
{
	const std::string bye = "421 4.3.2 mx.example.org shutting down\r\n";
	lmtp_world world = world_of_tests();
	played fresh(world);
	played greeted(world);
	played amid(world);
	played pipelined(world);
	greeted.feed("LHLO c\r\n");
	amid.feed("LHLO c\r\nMAIL FROM:<a@b>\r\n");
	pipelined.holds = true;
	pipelined.feed("LHLO c\r\nMAIL FROM:<a@b>\r\n" + rcpt("a@d.example") + "DATA\r\n" + DOTTED +
		       "MAIL FROM:<a@b>\r\n");
	world.is_ending = true;
	const size_t before = greeted.said.size();
	fresh.run();
	greeted.run();
	amid.run();
	CHECK(fresh.is_closed);
	CHECK(greeted.is_closed);
	CHECK(greeted.said.substr(before).substr(0, 9) == bye.substr(0, 9));
	CHECK(!amid.is_closed);
	const std::string end = amid.say(rcpt("a@d.example") + "DATA\r\n" + DOTTED);
	CHECK(end.find(OK + "421 4.3.2") != std::string::npos);
	CHECK(amid.is_closed);
	CHECK(pipelined.release(0).find(OK + "421 4.3.2") == 0);
	CHECK(pipelined.is_closed);
}

TEST_CASE("a silent client is told so, and leaves nothing", "[mail-stored][lmtp_session]")
{
	lmtp_world world = world_of_tests();
	played session(world);
	session.feed("LHLO c\r\nMAIL FROM:<a@b>\r\n" + rcpt("a@d.example") + "DATA\r\n" +
		     std::string(100000, 'x'));
	CHECK(world.memory_used > 100000);
	session.end(DIALOGUE_TIMED_OUT);
	CHECK(session.is_closed);
	CHECK(session.said.find("421 4.4.2") != std::string::npos);
	CHECK(world.memory_used == 0);
}

TEST_CASE("SMTP is refused", "[mail-stored][lmtp_session]")
{
	lmtp_world world = world_of_tests();
	played session(world);
	CHECK(session.say("EHLO c\r\n") == "500 5.5.1 This is LMTP, send LHLO\r\n");
	CHECK(session.say("STARTTLS\r\n").substr(0, 3) == "502");
	CHECK(session.say("XCLIENT ADDR=192.0.2.1\r\n").substr(0, 3) == "550");
}
