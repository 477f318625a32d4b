// SPDX-License-Identifier: GPL-3.0-or-later
// The dialogue: what each command is answered in each state.
#include "tests/unit/lib/lone.hh"
#include "tests/unit/lib/smtp_session.hh"

namespace
{

const char *const EHLO_LINES[] = {
	"250-mx.example.org\r\n",
	"250-PIPELINING\r\n",
	"250-SIZE 1000\r\n",
	"250-LIMITS MAILMAX=5 RCPTMAX=3\r\n",
	"250-STARTTLS\r\n",
	"250-ENHANCEDSTATUSCODES\r\n",
	"250-8BITMIME\r\n",
	"250-SMTPUTF8\r\n",
	"250-DSN\r\n",
	"250-XCLIENT NAME ADDR PORT PROTO HELO LOGIN DESTADDR DESTPORT\r\n",
	"250 CHUNKING\r\n"
};

std::string code(const std::string &reply)
{
	return reply.substr(0, 9);
}

// A session in the state that these commands lead to.
scripted after(const std::vector<std::string> &lines)
{
	scripted made;
	for (const auto &line : lines)
		made.say(line);
	return made;
}

const std::vector<std::string> TO_HELO = { "EHLO c.example" };
const std::vector<std::string> TO_MAIL = { "EHLO c.example", "MAIL FROM:<a@b.example>" };
const std::vector<std::string> TO_RCPT = { "EHLO c.example", "MAIL FROM:<a@b.example>",
					   "RCPT TO:<c@d.example>" };
const std::vector<std::string> TO_CHUNKS = { "EHLO c.example", "MAIL FROM:<a@b.example>",
					     "RCPT TO:<c@d.example>", "BDAT 2\r\n" };
const std::vector<std::string> TO_SPOILT = { "EHLO c.example", "MAIL FROM:<a@b.example>",
					     "RCPT TO:<c@d.example>", "BDAT 0",
					     "BDAT 1001\r\n" + std::string(999, 'x') };

struct sample {
	const char *name;
	std::string bytes;
	size_t mail_count;
};

const std::string MESSAGE = "Subject: x\r\n\r\n..two\r\n.one\r\n\r\n";

std::vector<sample> samples()
{
	return {
		{ "one mail",
		  "EHLO c\r\nMAIL FROM:<a@b.example>\r\nRCPT TO:<c@d.example>\r\nDATA\r\n" +
			  MESSAGE + ".\r\nQUIT\r\n",
		  1 },
		{ "two mails, and recipients of all kinds",
		  "HELO c\r\nMAIL FROM:<>\r\nRCPT TO:<bad@d.example>\r\nDATA\r\nRCPT TO:<d@e.f>\r\n"
		  "rcpt to:<Postmaster>\r\ndata\r\n.\r\nRSET\r\nmail from:<x@y.z>\r\nRSET\r\n"
		  "MAIL FROM:<x@y.z>\r\nRCPT TO:<d@e.f>\r\nRCPT TO:<bad@e.f>\r\nRCPT TO:<1@e.f>\r\n"
		  "RCPT TO:<2@e.f>\r\nRCPT TO:<3@e.f>\r\nDATA\r\n" +
			  MESSAGE + ".\r\nQUIT\r\n",
		  2 },
		{ "chunks",
		  "EHLO c\r\nBDAT 3\r\nRSEMAIL FROM:<a@b.example>\r\nBDAT 6\r\nQUIT\r\nRCPT "
		  "TO:<c@d.example>\r\n"
		  "BDAT 5\r\nabc\r\nBDAT 0\r\nDATA\r\nBDAT 5 LAST\r\n.\r\nde"
		  "BDAT 1 last\r\nxNOOP\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nBDAT 0 LAST\r\n"
		  "MAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nBDAT 2 LAST\r\nok" +
			  std::string("QUIT\r\n"),
		  3 },
		{ "chunks beyond the limit",
		  "EHLO c\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nBDAT 6\r\n123456BDAT 995\r\n" +
			  std::string(995, 'x') +
			  "BDAT 3\r\nabcBDAT 3 LAST\r\nabcMAIL FROM:<a@b>\r\n"
			  "RSET\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\n"
			  "BDAT 3 LAST\r\nabcQUIT\r\n",
		  1 },
		{ "a long line, and nonsense",
		  "EHLO c\r\n" + std::string(3000, 'x') +
			  "\r\nNOOP x\r\nFOO\r\n\r\n \r\nHELP\r\nVRFY a\r\n"
			  "EXPN a\r\nDATA x\r\nQUIT\r\n",
		  0 },
		{ "a lone LF amid a mail",
		  "EHLO c\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\nabc\n.\r\nMAIL "
		  "FROM:<x@y>\r\n"
		  "\r\n.\r\nQUIT\r\n",
		  0 },
		{ "a trusted relay",
		  "EHLO c\r\nXCLIENT ADDR=192.0.2.7 NAME=x.example\r\nMAIL FROM:<a@b>\r\nEHLO d\r\n"
		  "MAIL FROM:<a@b>\r\nQUIT\r\n",
		  0 },
		{ "HTTP", "GET / HTTP/1.1\r\nHost: x\r\n\r\nHELO x\r\n", 0 },
	};
}

} // namespace

TEST_CASE("every sample cut anywhere gives the same replies and mails", "[front][dialogue]")
{
	const sample tried = GENERATE(from_range(samples()));
	CAPTURE(tried.name);
	scripted whole;
	whole.feed(tried.bytes);
	REQUIRE(whole.mails.size() == tried.mail_count);
	REQUIRE(whole.is_closed);
	for (size_t cut = 1; cut < tried.bytes.size(); cut++) {
		CAPTURE(cut);
		scripted halves;
		halves.feed(tried.bytes.substr(0, cut));
		halves.feed(tried.bytes.substr(cut));
		REQUIRE(halves.said == whole.said);
		REQUIRE(halves.mails == whole.mails);
	}
	for (size_t piece = 1; piece < 9; piece++) {
		scripted pieces;
		pieces.feed_pieces(tried.bytes, piece);
		REQUIRE(pieces.said == whole.said);
		REQUIRE(pieces.mails == whole.mails);
	}
}

TEST_CASE("an ordinary session is answered as RFC 5321 says", "[front][dialogue]")
{
	scripted one;
	char greeting[DIALOGUE_REPLY_MAX];
	CHECK(dialogue_greet(&one.limits, greeting) == 26);
	CHECK(std::string(greeting) == "220 mx.example.org ESMTP\r\n");
	CHECK(one.say("HELO c.example") == "250 mx.example.org\r\n");
	CHECK(code(one.say("MAIL FROM:<a@b.example>")) == "250 2.1.0");
	CHECK(code(one.say("RCPT TO:<bad@d.example>")) == "550 5.1.1");
	CHECK(code(one.say("RCPT TO:<c@d.example>")) == "250 2.1.5");
	CHECK(one.say("DATA").substr(0, 4) == "354 ");
	CHECK(code(one.say("x\r\n.")) == "250 2.0.0");
	CHECK(one.mails == std::vector<std::string>{ "a@b.example>c@d.example:x\r\n" });
	CHECK(code(one.say("QUIT")) == "221 2.0.0");
	CHECK(one.dialogue.state == DIALOGUE_AT_END);
}

TEST_CASE("EHLO offers what there is, and STARTTLS only in the clear", "[front][dialogue]")
{
	scripted one;
	std::string all;
	for (const char *line : EHLO_LINES)
		all += line;
	CHECK(one.say("EHLO c.example") == all);
	CHECK(code(one.say("STARTTLS")) == "220 2.0.0");
	CHECK(one.dialogue.state == DIALOGUE_AT_START);
	CHECK(one.say("EHLO c.example").find("STARTTLS") == std::string::npos);
	one.limits = {};
	one.limits.hostname = "mx";
	one.limits.withheld = ENVELOPE_EXTENSION_SMTPUTF8 | ENVELOPE_EXTENSION_DSN;
	CHECK(one.say("EHLO c.example") ==
	      "250-mx\r\n250-PIPELINING\r\n250-SIZE\r\n"
	      "250-ENHANCEDSTATUSCODES\r\n250-8BITMIME\r\n250 CHUNKING\r\n");
}

TEST_CASE("the longest offer is a whole reply", "[front][dialogue]")
{
	scripted one;
	const std::string name(255, 'h');
	one.limits.hostname = name.c_str();
	one.limits.size_max = UINT64_MAX;
	one.limits.recipients_max = UINT32_MAX;
	one.limits.mails_max = UINT32_MAX;
	const std::string offer = one.say("EHLO c");
	CHECK(offer.substr(0, 4 + 255 + 2) == "250-" + name + "\r\n");
	CHECK(offer.substr(offer.size() - 14) == "250 CHUNKING\r\n");
}

TEST_CASE("a command that does not fit the state is refused and changes nothing",
	  "[front][dialogue]")
{
	struct row {
		std::vector<std::string> before;
		const char *line, *code;
	};
	const row tried = GENERATE(values<row>({
		{ {}, "MAIL FROM:<a@b.example>", "503 5.5.1" },
		{ {}, "RCPT TO:<a@b.example>", "503 5.5.1" },
		{ {}, "DATA", "503 5.5.1" },
		{ {}, "BDAT 0 LAST", "503 5.5.1" },
		{ TO_HELO, "RCPT TO:<a@b.example>", "503 5.5.1" },
		{ TO_HELO, "DATA", "503 5.5.1" },
		{ TO_HELO, "BDAT 0", "503 5.5.1" },
		{ TO_MAIL, "MAIL FROM:<a@b.example>", "503 5.5.1" },
		{ TO_MAIL, "DATA", "503 5.5.1" },
		{ TO_MAIL, "BDAT 0", "503 5.5.1" },
		{ TO_MAIL, "STARTTLS", "503 5.5.1" },
		{ TO_MAIL, "XCLIENT PORT=1", "503 5.5.1" },
		{ TO_RCPT, "MAIL FROM:<a@b.example>", "503 5.5.1" },
		{ TO_CHUNKS, "DATA", "503 5.5.1" },
		{ TO_CHUNKS, "RCPT TO:<a@b.example>", "503 5.5.1" },
		{ TO_CHUNKS, "MAIL FROM:<a@b.example>", "503 5.5.1" },
		{ TO_SPOILT, "BDAT 0 LAST", "503 5.5.1" },
		{ TO_SPOILT, "BDAT 0", "503 5.5.1" },
		{ TO_SPOILT, "DATA", "503 5.5.1" },
		{ TO_HELO, "", "500 5.5.2" },
		{ TO_HELO, " NOOP", "500 5.5.2" },
		{ TO_HELO, "NOOP\x01", "500 5.5.2" },
		{ TO_HELO, "\xff\xfe", "500 5.5.2" },
		{ TO_HELO, "MAILFROM:<a@b.example>", "500 5.5.2" },
		{ TO_HELO, "AUTH PLAIN", "502 5.5.1" },
		{ TO_HELO, "EXPN x", "502 5.5.1" },
		{ TO_HELO, "ETRN x", "502 5.5.1" },
		{ TO_HELO, "TURN", "502 5.5.1" },
		{ TO_HELO, "VRFY", "501 5.5.4" },
		{ TO_RCPT, "DATA now", "501 5.5.4" },
		{ TO_RCPT, "RSET now", "501 5.5.4" },
		{ TO_RCPT, "QUIT now", "501 5.5.4" },
		{ TO_HELO, "STARTTLS now", "501 5.5.4" },
		{ TO_RCPT, "EHLO", "501 5.5.4" },
		{ TO_RCPT, "HELO", "501 5.5.4" },
		{ TO_HELO, "XCLIENT", "501 5.5.4" },
		{ TO_HELO, "XCLIENT FOO=1", "501 5.5.4" },
	}));
	CAPTURE(tried.line);
	scripted one = after(tried.before);
	struct dialogue before = one.dialogue;
	CHECK(code(one.say(tried.line)) == tried.code);
	CHECK(one.dialogue.error_count == before.error_count + 1);
	before.error_count = one.dialogue.error_count;
	before.junk_count = one.dialogue.junk_count;
	before.command_count = one.dialogue.command_count;
	CHECK(std::memcmp(&before, &one.dialogue, sizeof(before)) == 0);
}

TEST_CASE("commands that need no state are answered in each", "[front][dialogue]")
{
	const auto before = GENERATE(values<std::vector<std::string>>(
		{ {}, TO_HELO, TO_MAIL, TO_RCPT, TO_CHUNKS, TO_SPOILT }));
	scripted one = after(before);
	CHECK(code(one.say("NOOP whatever")) == "250 2.0.0");
	CHECK(code(one.say("noop \t ")) == "250 2.0.0");
	CHECK(code(one.say("HELP")) == "214 2.0.0");
	CHECK(code(one.say("VRFY <a@b.example>")) == "252 2.0.0");
	scripted two = one;
	CHECK(code(one.say("RSET")) == "250 2.0.0");
	CHECK(one.dialogue.state == (before.empty() ? DIALOGUE_AT_START : DIALOGUE_AT_HELO));
	CHECK(one.dialogue.envelope.sender[0] == '\0');
	CHECK(two.say("HELO again") == "250 mx.example.org\r\n");
	CHECK(two.dialogue.state == DIALOGUE_AT_HELO);
	CHECK_FALSE(two.dialogue.is_esmtp);
	CHECK(code(two.say("QUIT")) == "221 2.0.0");
}

TEST_CASE("a HELO is taken whatever it says, and is made harmless", "[front][dialogue]")
{
	scripted one;
	CHECK(one.say("HELO %COMPUTERNAME%") == "250 mx.example.org\r\n");
	CHECK(std::string(one.dialogue.helo) == "%COMPUTERNAME%");
	CHECK(one.say("HELO b\xc3\xbcro (1)") == "250 mx.example.org\r\n");
	CHECK(std::string(one.dialogue.helo) == "b??ro??1?");
	CHECK(dialogue_is_valid(&one.dialogue));
	std::memcpy(one.dialogue.helo, "a b", 4);
	CHECK_FALSE(dialogue_is_valid(&one.dialogue));
}

TEST_CASE("the sink hears of each transaction that ends", "[front][dialogue]")
{
	const auto before = GENERATE(
		values<std::vector<std::string>>({ TO_MAIL, TO_RCPT, TO_CHUNKS, TO_SPOILT }));
	scripted one = after(before);
	const auto line = GENERATE(as<std::string>(), "RSET", "EHLO x", "HELO x");
	CHECK(one.step(line) == DIALOGUE_RESET);
	CHECK(one.step("EHLO x") == DIALOGUE_REPLY);
}

TEST_CASE("DATA without a valid recipient is refused for that", "[front][dialogue]")
{
	scripted one = after(TO_MAIL);
	one.say("RCPT TO:<bad@d.example>");
	CHECK(code(one.say("DATA")) == "554 5.5.1");
	CHECK(code(one.say("BDAT 6 LAST\r\nQUIT")) == "554 5.5.1");
	CHECK(code(one.say("RCPT TO:<c@d.example>")) == "250 2.1.5");
	CHECK(one.say("DATA").substr(0, 4) == "354 ");
}

TEST_CASE("more recipients than the limit are put off, and are no error", "[front][dialogue]")
{
	scripted one = after(TO_RCPT);
	one.say("RCPT TO:<2@d.example>");
	one.say("RCPT TO:<3@d.example>");
	for (int i = 0; i < 20; i++)
		CHECK(code(one.say("RCPT TO:<4@d.example>")) == "452 4.5.3");
	CHECK(one.dialogue.error_count == 0);
	one.say("DATA");
	CHECK(code(one.say(".")) == "250 2.0.0");
}

TEST_CASE("recipients that a sink puts off are no error", "[front][dialogue]")
{
	scripted one = after(TO_RCPT);
	for (int i = 0; i < 20; i++) {
		REQUIRE(one.step("RCPT TO:<other@d.example>") == DIALOGUE_RECIPIENT);
		CHECK(dialogue_answer(&one.dialogue, &one.limits, 452, "4.5.3 Too many recipients",
				      &one.event) == DIALOGUE_REPLY);
	}
	CHECK(one.dialogue.error_count == 0);
	one.say("DATA");
	CHECK(code(one.say(".")) == "250 2.0.0");
	REQUIRE(one.step("MAIL FROM:<a@b.example>") == DIALOGUE_MAIL);
	dialogue_answer(&one.dialogue, &one.limits, 452, "4.3.1 No space", &one.event);
	CHECK(one.dialogue.error_count == 1);
}

TEST_CASE("a mail is refused by the size that is said", "[front][dialogue]")
{
	scripted one = after(TO_HELO);
	CHECK(code(one.say("MAIL FROM:<a@b.example> SIZE=1001")) == "552 5.3.4");
	CHECK(code(one.say("MAIL FROM:<a@b.example> SIZE=18446744073709551616")) == "552 5.3.4");
	CHECK(code(one.say("MAIL FROM:<a@b.example> SIZE=99999999999999999999")) == "552 5.3.4");
	CHECK(code(one.say("MAIL FROM:<a@b.example> SIZE=1000")) == "250 2.1.0");
	CHECK(one.dialogue.envelope.size_bytes == 1000);
}

TEST_CASE("after the last error its own reply is said, and then the end", "[front][dialogue]")
{
	scripted one = after(TO_MAIL);
	for (int i = 1; i < 10; i++)
		CHECK(one.say("RCPT TO:<bad@d.example>").find("421") == std::string::npos);
	CHECK(one.say("RCPT TO:<bad@d.example>") == "550 5.1.1 No such user here\r\n"
						    "421 4.7.0 mx.example.org too many errors\r\n");
	CHECK(one.is_closed);
	CHECK(one.dialogue.state == DIALOGUE_AT_END);
}

TEST_CASE("a session has an end of commands and of mails", "[front][dialogue]")
{
	scripted one;
	one.limits.commands_max = 3;
	one.say("NOOP");
	one.say("NOOP");
	CHECK(code(one.say("NOOP")) == "250 2.0.0");
	CHECK(one.say("NOOP") == "421 4.7.0 mx.example.org too many commands\r\n");
	CHECK(one.is_closed);
	scripted two = after(TO_HELO);
	for (int i = 0; i < 5; i++)
		two.feed("MAIL FROM:<a@b.example>\r\nRCPT TO:<c@d.example>\r\nDATA\r\n.\r\n");
	CHECK(two.mails.size() == 5);
	CHECK(code(two.say(GENERATE("MAIL FROM:<a@b.example>", "RSET"))) == "421 4.7.0");
	CHECK(two.is_closed);
}

TEST_CASE("each mail has as many commands again", "[front][dialogue]")
{
	scripted one = after(TO_HELO);
	one.limits.commands_max = 5;
	for (int i = 0; i < 5; i++)
		one.feed("MAIL FROM:<a@b.example>\r\nRCPT TO:<c@d.example>\r\nDATA\r\n.\r\n");
	CHECK(one.mails.size() == 5);
	CHECK(!one.is_closed);
	for (int i = 0; i < 14; i++)
		CHECK(code(one.say("NOOP")) == "250 2.0.0");
	CHECK(one.say("NOOP") == "421 4.7.0 mx.example.org too many commands\r\n");
}

TEST_CASE("a mail may have more recipients than a session has commands", "[front][dialogue]")
{
	scripted one = after(TO_HELO);
	one.limits.commands_max = 5;
	one.limits.recipients_max = 20;
	one.feed("MAIL FROM:<a@b.example>\r\n");
	for (int i = 0; i < 20; i++)
		CHECK(code(one.say("RCPT TO:<c@d.example>")) == "250 2.1.5");
	SECTION("and is taken")
	{
		one.feed("DATA\r\n.\r\n");
		CHECK(one.mails.size() == 1);
	}
	SECTION("and none without a mail")
	{
		CHECK(code(one.say("RSET")) == "250 2.0.0");
		CHECK(one.say("NOOP") == "421 4.7.0 mx.example.org too many commands\r\n");
	}
}

TEST_CASE("a mail may have any number of chunks, but not of small ones", "[front][dialogue]")
{
	scripted one = after(TO_HELO);
	one.limits.commands_max = 10;
	one.limits.size_max = 100000;
	one.feed("MAIL FROM:<a@b.example>\r\nRCPT TO:<c@d.example>\r\n");
	for (int i = 0; i < 50; i++)
		one.feed("BDAT 1000\r\n" + std::string(1000, 'x'));
	CHECK(!one.is_closed);
	SECTION("large ones")
	{
		one.feed("BDAT 0 LAST\r\n");
		CHECK(one.mails.size() == 1);
		CHECK(code(one.say("NOOP")) == "250 2.0.0");
	}
	SECTION("small ones")
	{
		for (int i = 0; i < 8; i++)
			one.feed("BDAT 0\r\n");
		CHECK(!one.is_closed);
		one.feed("BDAT 0\r\n");
		CHECK(one.is_closed);
		CHECK(one.mails.empty());
	}
}

TEST_CASE("commands that bring no mail nearer have an end of their own", "[front][dialogue]")
{
	const std::string junk = GENERATE("NOOP", "RSET", "VRFY john", "HELP", "HELO d.example",
					  "EHLO d.example", "noop x");
	CAPTURE(junk);
	scripted one = after(TO_HELO);
	one.limits.junk_max = 2;
	CHECK(one.say(junk)[0] == '2');
	CHECK(one.say(junk)[0] == '2');
	// A mail begins them again, and nothing else of what a mail needs is one of them.
	one.feed("MAIL FROM:<a@b.example>\r\nRCPT TO:<c@d.example>\r\nDATA\r\n.\r\n");
	CHECK(one.mails.size() == 1);
	CHECK(one.say(junk)[0] == '2');
	one.say("MAIL FROM:<a@b.example>");
	CHECK(one.say("RSET")[0] == '2');
	CHECK(one.say(junk) == "421 4.7.0 mx.example.org too many commands without a mail\r\n");
	CHECK(one.is_closed);
}

TEST_CASE("the first HELO after STARTTLS does not count as junk", "[front][dialogue]")
{
	scripted one = after(TO_HELO);
	one.limits.junk_max = 1;
	CHECK(code(one.say("STARTTLS")) == "220 2.0.0");
	CHECK(one.say("EHLO c.example")[0] == '2');
	CHECK(one.dialogue.junk_count == 0);
	CHECK(one.say("EHLO c.example")[0] == '2');
	CHECK(code(one.say("EHLO c.example")) == "421 4.7.0");
}

TEST_CASE("a limit of 0 means no limit", "[front][dialogue]")
{
	scripted one;
	one.limits = {};
	one.limits.hostname = "mx";
	one.begin();
	for (int i = 0; i < 200; i++)
		REQUIRE(code(one.say("FOO")) == "500 5.5.2");
	CHECK(code(one.say("MAIL FROM:<a@b.example> SIZE=99999999999999999999")) == "250 2.1.0");
	for (int i = 0; i < 200; i++)
		REQUIRE(code(one.say("RCPT TO:<c@d.example>")) == "250 2.1.5");
	CHECK(one.step("BDAT 18446744073709551615") == DIALOGUE_BDAT);
}

TEST_CASE("what requires TLS is refused without it", "[front][dialogue]")
{
	scripted one;
	one.limits.requires_tls = true;
	const auto line = GENERATE(as<std::string>(), "HELO c", "MAIL FROM:<>", "RCPT TO:<a@b>",
				   "DATA", "RSET", "VRFY x", "HELP", "XCLIENT PORT=1", "FOO",
				   "BDAT 6\r\nQUIT", "AUTH PLAIN");
	CHECK(code(one.say(line)) == "530 5.7.0");
	CHECK(code(one.say("NOOP")) == "250 2.0.0");
	one.begin();
	CHECK(code(one.say("MAIL FROM:<>")) == "530 5.7.0");
	CHECK(code(one.say("STARTTLS")) == "220 2.0.0");
	CHECK(one.dialogue.is_tls);
	CHECK(code(one.say("MAIL FROM:<>")) == "503 5.5.1");
	one.begin();
	CHECK(code(one.say("MAIL FROM:<>")) == "250 2.1.0");
	CHECK(code(one.say("QUIT")) == "221 2.0.0");
}

TEST_CASE("TLS begins once, and all that was said before it is forgotten", "[front][dialogue]")
{
	scripted one = after(TO_HELO);
	one.say("FOO");
	CHECK(code(one.say("STARTTLS")) == "220 2.0.0");
	CHECK(one.dialogue.helo[0] == '\0');
	CHECK(one.dialogue.error_count == 1);
	one.begin();
	CHECK(code(one.say("STARTTLS")) == "503 5.5.1");
	scripted two = after(TO_HELO);
	two.limits.offers_tls = false;
	CHECK(code(two.say("STARTTLS")) == "502 5.5.1");
}

TEST_CASE("STARTTLS with something behind it ends the session", "[front][dialogue]")
{
	scripted one = after(TO_HELO);
	REQUIRE(one.step("STARTTLS") == DIALOGUE_STARTTLS);
	CHECK(dialogue_refuse(&one.dialogue, &one.limits, DIALOGUE_EARLY_INPUT, &one.event) ==
	      DIALOGUE_CLOSE);
	CHECK(code(one.event.reply) == "521 5.5.1");
	scripted two = after(TO_HELO);
	REQUIRE(two.step("STARTTLS") == DIALOGUE_STARTTLS);
	CHECK(dialogue_refuse(&two.dialogue, &two.limits, DIALOGUE_NO_TLS, &two.event) ==
	      DIALOGUE_REPLY);
	CHECK(code(two.event.reply) == "454 4.7.0");
	CHECK(two.dialogue.state == DIALOGUE_AT_HELO);
}

TEST_CASE("a chunk that is refused is swallowed all the same", "[front][dialogue]")
{
	struct row {
		std::vector<std::string> before;
		const char *line;
		uint64_t size;
		const char *code;
	};
	const row tried = GENERATE(values<row>({
		{ {}, "BDAT 5", 5, "503 5.5.1" },
		{ TO_HELO, "BDAT 5 LAST", 5, "503 5.5.1" },
		{ TO_MAIL, "BDAT 5", 5, "503 5.5.1" },
		{ TO_SPOILT, "BDAT 5", 5, "503 5.5.1" },
		{ TO_RCPT, "BDAT 1001", 1001, "552 5.3.4" },
		{ TO_RCPT, "BDAT 1001 LAST", 1001, "552 5.3.4" },
		{ TO_CHUNKS, "BDAT 999", 999, "552 5.3.4" },
		{ TO_CHUNKS, "BDAT 9223372036854775808", 9223372036854775808U, "552 5.3.4" },
		{ TO_CHUNKS, "BDAT 18446744073709551615", UINT64_MAX, "552 5.3.4" },
		{ TO_CHUNKS, "BDAT 18446744073709551614 LAST", UINT64_MAX - 1, "552 5.3.4" },
	}));
	CAPTURE(tried.line);
	scripted one = after(tried.before);
	CHECK(one.step(tried.line) == DIALOGUE_SWALLOW);
	CHECK(one.event.chunk_size == tried.size);
	CHECK(code(one.event.reply) == tried.code);
	CHECK_FALSE(dialogue_is_asking(&one.dialogue));
	CHECK(dialogue_is_valid(&one.dialogue));
}

TEST_CASE("chunks add up to the limit and not beyond, however large they claim to be",
	  "[front][dialogue]")
{
	scripted one = after(TO_CHUNKS); // 2 octets
	CHECK(code(one.say("BDAT 998\r\n" + std::string(996, 'x'))) == "250 2.0.0");
	CHECK(one.step("BDAT 1") == DIALOGUE_SWALLOW);
	CHECK(code(one.event.reply) == "552 5.3.4");
	CHECK(one.step("BDAT 0 LAST") == DIALOGUE_SWALLOW);
	CHECK(code(one.event.reply) == "503 5.5.1");
	CHECK(one.step("RSET") == DIALOGUE_RESET);
	CHECK(one.dialogue.mail_size == 0);
	scripted two = after(TO_CHUNKS);
	two.limits.size_max = 0;
	CHECK(two.step("BDAT 18446744073709551614") == DIALOGUE_SWALLOW);
	scripted three = after(TO_CHUNKS);
	three.limits.size_max = 0;
	CHECK(three.step("BDAT 18446744073709551613") == DIALOGUE_BDAT);
}

TEST_CASE("a chunk whose size cannot be read ends the session", "[front][dialogue]")
{
	const auto size = GENERATE(as<std::string>(), "", " ", " LAST", " x", " -1", " +1", " 0x10",
				   " 1 2", " 1 LAST LAST", " 1 FIRST", " 18446744073709551616",
				   " 1,", " 1\tLAST", " 000000000000000000001");
	scripted one = after(TO_RCPT);
	CAPTURE(size);
	const std::string reply = one.say("BDAT" + size);
	CHECK(code(reply) == "501 5.5.4");
	CHECK(one.is_closed);
}

TEST_CASE("a sink that fails amid chunks spoils the mail, at the last one ends it",
	  "[front][dialogue]")
{
	scripted one = after(TO_CHUNKS);
	REQUIRE(one.step("BDAT 5") == DIALOGUE_BDAT);
	CHECK(dialogue_refuse(&one.dialogue, &one.limits, DIALOGUE_TRY_LATER, &one.event) ==
	      DIALOGUE_REPLY);
	CHECK(code(one.event.reply) == "451 4.3.0");
	CHECK(one.dialogue.state == DIALOGUE_AT_SPOILT);
	scripted two = after(TO_CHUNKS);
	REQUIRE(two.step("BDAT 5 LAST") == DIALOGUE_BDAT);
	CHECK(two.event.is_last);
	dialogue_refuse(&two.dialogue, &two.limits, DIALOGUE_TRY_LATER, &two.event);
	CHECK(two.dialogue.state == DIALOGUE_AT_HELO);
	CHECK(two.dialogue.mail_count == 0);
	CHECK(code(two.say("MAIL FROM:<>")) == "250 2.1.0");
}

TEST_CASE("behind a chunk that was refused there is another mail, also without RSET",
	  "[front][dialogue]")
{
	scripted one = after(TO_SPOILT);
	CHECK(code(one.say("BDAT 1 LAST\r\nx")) == "503 5.5.1");
	CHECK(code(one.say("MAIL FROM:<no syntax>")).substr(0, 1) == "5");
	CHECK(code(one.say("MAIL FROM:<e@f.example>")) == "250 2.1.0");
	CHECK(one.dialogue.recipient_count == 0);
	CHECK(one.dialogue.mail_size == 0);
	CHECK(dialogue_is_valid(&one.dialogue));
	CHECK(code(one.say("BDAT 1\r\nx")) == "503 5.5.1");
	CHECK(code(one.say("RCPT TO:<c@d.example>")) == "250 2.1.5");
	CHECK(code(one.say("BDAT 2 LAST\r\n")) == "250 2.0.0");
	CHECK(one.dialogue.mail_count == 1);
}

TEST_CASE("a next hop's reply is passed on in its words, made printable", "[front][dialogue]")
{
	scripted one = after(TO_HELO);
	auto answer = [&one](int number, const char *text) {
		return dialogue_answer(&one.dialogue, &one.limits, number, text, &one.event);
	};
	REQUIRE(one.step("MAIL FROM:<a@b.example>") == DIALOGUE_MAIL);
	CHECK(std::string(one.event.envelope->sender) == "a@b.example");
	CHECK(answer(450, "4.2.0 no\r\n250 yes") == DIALOGUE_REPLY);
	CHECK(std::string(one.event.reply) == "450-4.2.0 no\r\n450 250 yes\r\n");
	CHECK(one.dialogue.state == DIALOGUE_AT_HELO);
	REQUIRE(one.step("MAIL FROM:<a@b.example>") == DIALOGUE_MAIL);
	CHECK(answer(251, "2.1.0 fine") == DIALOGUE_REPLY);
	REQUIRE(one.step("RCPT TO:<a@b.example>") == DIALOGUE_RECIPIENT);
	CHECK(answer(354, "go on") == DIALOGUE_REPLY);
	CHECK(code(one.event.reply) == "451 4.3.0");
	REQUIRE(one.step("RCPT TO:<a@b.example>") == DIALOGUE_RECIPIENT);
	answer(250, "2.1.5 fine");
	REQUIRE(one.step("DATA") == DIALOGUE_DATA);
	CHECK(answer(421, "4.3.2 going") == DIALOGUE_CLOSE);
	CHECK(one.dialogue.mail_count == 0);
}

TEST_CASE("a session can be ended at any time", "[front][dialogue]")
{
	struct row {
		dialogue_refusal refusal;
		const char *reply;
	};
	const row tried = GENERATE(values<row>({
		{ DIALOGUE_BUSY, "421 4.3.2 mx.example.org too busy, come again\r\n" },
		{ DIALOGUE_LIMITED,
		  "421 4.7.0 mx.example.org too many sessions from your network, come again\r\n" },
		{ DIALOGUE_SHUTTING_DOWN,
		  "421 4.3.2 mx.example.org shutting down, come again\r\n" },
		{ DIALOGUE_TIMED_OUT, "421 4.4.2 mx.example.org timed out\r\n" },
		{ DIALOGUE_EARLY_INPUT, "521 5.5.1 mx.example.org you spoke before your turn\r\n" },
	}));
	const auto before = GENERATE(values<std::vector<std::string>>(
		{ {}, TO_HELO, TO_MAIL, TO_RCPT, TO_CHUNKS, TO_SPOILT }));
	const auto line = GENERATE(as<std::string>(), "", "MAIL FROM:<>", "RCPT TO:<a@b>", "DATA",
				   "BDAT 1", "STARTTLS", "XCLIENT PORT=1");
	scripted one = after(before);
	if (one.dialogue.state != DIALOGUE_AT_END && !line.empty())
		one.step(line);
	CHECK(dialogue_refuse(&one.dialogue, &one.limits, tried.refusal, &one.event) ==
	      DIALOGUE_CLOSE);
	CHECK(std::string(one.event.reply) == tried.reply);
	CHECK(dialogue_is_valid(&one.dialogue));
}

TEST_CASE("no other end of line anywhere in a mail makes two of it, or one", "[front][dialogue]")
{
	const auto end = GENERATE(as<std::string>(), "\n", "\r", "\n\n", "\r\r", "\n.\n", "\n.\r\n",
				  "\r\n.\n", "\r.\r", "\r\n.\r", "\r\n.\r\r\n", "\r\r\n.\r\n\r",
				  "\n\r", std::string("\0", 1), std::string("\r\n\0.\r\n", 6));
	const std::string smuggled = "MAIL FROM:<x@y>\r\nRCPT TO:<c@d.example>\r\nDATA\r\n";
	const std::string text = "To: x\r\n\r\none\r\n..\r\n";
	for (size_t place = 0; place <= text.size(); place++) {
		CAPTURE(end, place);
		std::string mail = text;
		mail.insert(place, end + smuggled);
		// At some places they make a good line of it, or the true end.
		const size_t good = (mail + "\r\n.\r\n").find("\r\n.\r\n");
		if (!has_lone((mail + "\r\n").substr(0, good + 2)))
			continue;
		scripted one = after(TO_RCPT);
		one.feed("DATA\r\n" + mail + "\r\n.\r\n");
		REQUIRE(one.mails.empty());
		REQUIRE((one.said.find("\r\n521 5.6.0") != std::string::npos ||
			 one.said.find("\r\n550 5.6.0") != std::string::npos));
		scripted two = after(TO_RCPT);
		two.feed("BDAT " + std::to_string(mail.size()) + " LAST\r\n" + mail);
		REQUIRE(two.mails.empty());
	}
}

TEST_CASE("a line with another end closes the session, one too long does not", "[front][dialogue]")
{
	scripted one = after(TO_RCPT);
	one.feed("DATA\n");
	CHECK(one.said.find("521 5.5.2 Lines end with CR LF, lone LF received\r\n") !=
	      std::string::npos);
	CHECK(one.is_closed);
	scripted two = after(TO_RCPT);
	CHECK(code(two.say("NOOP " + std::string(5000, 'x'))) == "500 5.5.2");
	CHECK(two.say("DATA").substr(0, 4) == "354 ");
}

TEST_CASE("a client that speaks HTTP is closed at its first line", "[front][dialogue]")
{
	const auto line = GENERATE(as<std::string>(), "GET / HTTP/1.1", "POST /x HTTP/1.0",
				   "CONNECT mx:25 HTTP/1.1", "put x");
	scripted one;
	CHECK(code(one.say(line)) == "521 5.7.0");
	CHECK(one.is_closed);
}

TEST_CASE("a trusted relay may tell its client's address, others may not", "[front][dialogue]")
{
	scripted one = after(TO_HELO);
	REQUIRE(one.step("XCLIENT ADDR=192.0.2.7 PORT=4711 HELO=a+20b LOGIN=[UNAVAILABLE]") ==
		DIALOGUE_XCLIENT);
	CHECK(one.event.xclient.client_port == 4711);
	CHECK(dialogue_accept(&one.dialogue, &one.limits, &one.event) == DIALOGUE_REPLY);
	CHECK(std::string(one.event.reply) == "220 mx.example.org ESMTP\r\n");
	CHECK(one.dialogue.state == DIALOGUE_AT_START);
	CHECK(one.dialogue.helo[0] == '\0');
	one.limits.offers_xclient = false;
	CHECK(code(one.say("XCLIENT ADDR=192.0.2.7")) == "550 5.7.0");
	CHECK(one.say("EHLO x").find("XCLIENT") == std::string::npos);
}

TEST_CASE("a mail by chunks begins with the first, also when that is empty", "[front][dialogue]")
{
	scripted one = after(TO_RCPT);
	REQUIRE(one.step("BDAT 0") == DIALOGUE_BDAT);
	CHECK(one.event.is_first);
	dialogue_accept(&one.dialogue, &one.limits, &one.event);
	REQUIRE(one.step("BDAT 1 LAST") == DIALOGUE_BDAT);
	CHECK_FALSE(one.event.is_first);
	CHECK(one.event.is_last);
}

TEST_CASE("a session that has ended stays so, and says nothing", "[front][dialogue]")
{
	scripted one = after({ "QUIT" });
	CHECK(one.step("EHLO x") == DIALOGUE_CLOSE);
	CHECK(one.event.reply_size == 0);
	CHECK(dialogue_malformed(&one.dialogue, &one.limits, LINES_TOO_LONG, &one.event) ==
	      DIALOGUE_CLOSE);
	CHECK(dialogue_refuse(&one.dialogue, &one.limits, DIALOGUE_TIMED_OUT, &one.event) ==
	      DIALOGUE_CLOSE);
	CHECK(dialogue_accept(&one.dialogue, &one.limits, &one.event) == DIALOGUE_CLOSE);
	CHECK(dialogue_answer(&one.dialogue, &one.limits, 250, "x", &one.event) == DIALOGUE_CLOSE);
	CHECK(one.event.reply_size == 0);
	CHECK(one.dialogue.state == DIALOGUE_AT_END);
}

TEST_CASE("a client may use what it was offered, and nothing else", "[front][dialogue]")
{
	struct row {
		unsigned extension;
		const char *line, *parameter;
	};
	const row tried = GENERATE(values<row>({
		{ ENVELOPE_EXTENSION_8BITMIME, "8BITMIME", "BODY=8BITMIME" },
		{ ENVELOPE_EXTENSION_SMTPUTF8, "SMTPUTF8", "SMTPUTF8" },
		{ ENVELOPE_EXTENSION_DSN, "DSN", "RET=HDRS" },
	}));
	const std::string mail = std::string("MAIL FROM:<a@b.example> ") + tried.parameter;
	scripted one;
	CHECK(one.say("EHLO c.example").find(tried.line) != std::string::npos);
	one.limits.withheld = tried.extension;
	CHECK(code(one.say(mail)) == "250 2.1.0");
	CHECK(dialogue_is_valid(&one.dialogue));
	CHECK(one.say("EHLO c.example").find(tried.line) == std::string::npos);
	CHECK(one.dialogue.withheld == tried.extension);
	CHECK(code(one.say(mail)) == "555 5.5.4");
	one.limits.withheld = 0;
	CHECK(code(one.say(mail)) == "555 5.5.4");
	CHECK(code(one.say("MAIL FROM:<a@b.example>")) == "250 2.1.0");
	CHECK(dialogue_is_valid(&one.dialogue));
}
