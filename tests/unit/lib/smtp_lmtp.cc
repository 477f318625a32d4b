// SPDX-License-Identifier: GPL-3.0-or-later
// The dialogue as LMTP (RFC 2033): what differs from SMTP.
#include "tests/unit/lib/smtp_session.hh"

namespace
{

class lmtp_session : public scripted
{
      public:
	lmtp_session()
	{
		limits.is_lmtp = true;
		limits.offers_tls = false;
		limits.offers_xclient = false;
		limits.withheld = ENVELOPE_EXTENSION_DSN;
	}
};

// A transaction with two recipients, of three that were asked for.
lmtp_session with_two()
{
	lmtp_session made;
	made.say("LHLO c.example");
	made.say("MAIL FROM:<a@b.example>");
	made.say("RCPT TO:<c@d.example>");
	made.say("RCPT TO:<bad@d.example>");
	made.say("RCPT TO:<e@d.example>");
	return made;
}

const char *const TWO_OKS = "250 2.0.0 Ok\r\n250 2.0.0 Ok\r\n";

} // namespace

TEST_CASE("LHLO begins LMTP, which offers no DSN and no TLS", "[smtp][lmtp]")
{
	lmtp_session session;
	char greeting[DIALOGUE_REPLY_MAX];
	dialogue_greet(&session.limits, greeting);
	CHECK(std::string(greeting) == "220 mx.example.org LMTP\r\n");
	CHECK(session.say("MAIL FROM:<a@b>") == "503 5.5.1 Bad sequence, send LHLO first\r\n");
	CHECK(session.say("LHLO") == "501 5.5.4 Syntax: a host name is wanted\r\n");
	CHECK(session.say("lhlo c.example") == "250-mx.example.org\r\n"
					       "250-PIPELINING\r\n"
					       "250-SIZE 1000\r\n"
					       "250-LIMITS MAILMAX=5 RCPTMAX=3\r\n"
					       "250-ENHANCEDSTATUSCODES\r\n"
					       "250-8BITMIME\r\n"
					       "250-SMTPUTF8\r\n"
					       "250 CHUNKING\r\n");
	CHECK(session.say("MAIL FROM:<a@b> RET=FULL") == "555 5.5.4 Unsupported parameter\r\n");
	CHECK(session.say("MAIL FROM:<a@b> BODY=8BITMIME SIZE=10") == "250 2.1.0 Ok\r\n");
}

TEST_CASE("HELO and EHLO do not succeed in LMTP, and LHLO not in SMTP", "[smtp][lmtp]")
{
	lmtp_session session;
	CHECK(session.say("HELO c.example") == "500 5.5.1 This is LMTP, send LHLO\r\n");
	CHECK(session.say("EHLO c.example") == "500 5.5.1 This is LMTP, send LHLO\r\n");
	CHECK(session.dialogue.state == DIALOGUE_AT_START);
	lmtp_session amid = with_two();
	CHECK(amid.say("EHLO c.example") == "500 5.5.1 This is LMTP, send LHLO\r\n");
	CHECK(amid.dialogue.recipient_count == 2);
	scripted smtp;
	CHECK(smtp.say("LHLO c.example") == "500 5.5.2 Command unknown\r\n");
	CHECK(smtp.event.verb == COMMAND_UNKNOWN);
}

TEST_CASE("behind the last dot there is a reply for each recipient that was accepted",
	  "[smtp][lmtp]")
{
	lmtp_session session = with_two();
	CHECK(session.say("DATA") == "354 End the mail with <CRLF>.<CRLF>\r\n");
	CHECK(session.say("text\r\n.") == TWO_OKS);
	CHECK(session.mails.size() == 1);
	CHECK(session.dialogue.mail_count == 1);
	CHECK(session.say("NOOP") == "250 2.0.0 Ok\r\n");
}

TEST_CASE("a mail that is refused is so for each recipient, and one error", "[smtp][lmtp]")
{
	lmtp_session session = with_two();
	const unsigned errors = session.dialogue.error_count;
	session.say("DATA");
	const std::string reply = session.say(std::string(1001, 'x') + "\r\n.");
	CHECK(reply == "552 5.3.4 Mail larger than we take\r\n"
		       "552 5.3.4 Mail larger than we take\r\n");
	CHECK(session.dialogue.error_count == errors + 1);
}

TEST_CASE("the end for too many errors does not come amid the replies of a mail", "[smtp][lmtp]")
{
	lmtp_session session = with_two();
	session.limits.errors_max = session.dialogue.error_count + 1;
	session.say("DATA");
	const std::string reply = session.say(std::string(1001, 'x') + "\r\n.");
	CHECK(reply.find("421") == std::string::npos);
	CHECK(!session.is_closed);
	CHECK(session.say("FOO").find("421 4.7.0") != std::string::npos);
	CHECK(session.is_closed);
}

TEST_CASE("DATA without a recipient is 503, whatever was asked for", "[smtp][lmtp]")
{
	lmtp_session session;
	session.say("LHLO c.example");
	session.say("MAIL FROM:<a@b>");
	CHECK(session.say("DATA") == "503 5.5.1 Bad sequence, send RCPT first\r\n");
	session.say("RCPT TO:<bad@d.example>");
	CHECK(session.say("DATA") == "503 5.5.1 No valid recipients\r\n");
	CHECK(session.say("BDAT 3 LAST\r\nabc").substr(0, 9) == "503 5.5.1");
}

TEST_CASE("only the last chunk has the replies of all recipients", "[smtp][lmtp]")
{
	lmtp_session session = with_two();
	CHECK(session.say("BDAT 5\r\nabc") == "250 2.0.0 Ok, 5 octets\r\n");
	CHECK(session.say("BDAT 4 LAST\r\nde") ==
	      "250 2.0.0 Ok, 4 octets\r\n250 2.0.0 Ok, 4 octets\r\n");
	CHECK(session.mails.size() == 1);
}

TEST_CASE("the last chunk of a refused mail is answered for each recipient too", "[smtp][lmtp]")
{
	const std::string two = "552 5.3.4 Mail larger than we take\r\n"
				"552 5.3.4 Mail larger than we take\r\n";
	lmtp_session whole = with_two();
	whole.feed("BDAT 1001 LAST\r\n" + std::string(1001, 'x'));
	CHECK(whole.said.substr(whole.said.size() - two.size()) == two);
	CHECK(whole.dialogue.state == DIALOGUE_AT_HELO);

	lmtp_session spoilt = with_two();
	CHECK(spoilt.say("BDAT 1001\r\n" + std::string(999, 'x')) ==
	      "552 5.3.4 Mail larger than we take\r\n");
	const std::string reply =
		"503 5.5.1 Bad sequence, the mail was refused, send MAIL or RSET\r\n";
	CHECK(spoilt.say("BDAT 3 LAST\r\nx") == reply + reply);
	CHECK(spoilt.say("BDAT 3\r\nx") == reply);
	CHECK(spoilt.say("RSET") == "250 2.0.0 Ok\r\n");
}

TEST_CASE("a DATA that is answered at once ends its transaction", "[smtp][lmtp]")
{
	lmtp_session session = with_two();
	REQUIRE(session.step("DATA") == DIALOGUE_DATA);
	CHECK(dialogue_refuse(&session.dialogue, &session.limits, DIALOGUE_TRY_LATER,
			      &session.event) == DIALOGUE_REPLY);
	CHECK(std::string(session.event.reply) == "451 4.3.0 Try again later\r\n");
	CHECK(session.dialogue.state == DIALOGUE_AT_HELO);
}

TEST_CASE("a session of LMTP cut anywhere gives the same replies", "[smtp][lmtp]")
{
	const std::string bytes =
		"LHLO c\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nRCPT TO:<bad@d>\r\nRCPT TO:<e@d>\r\n"
		"DATA\r\nSubject: x\r\n\r\n..\r\n.\r\nMAIL FROM:<>\r\nRCPT TO:<c@d>\r\n"
		"RCPT TO:<e@d>\r\nBDAT 3\r\nabcBDAT 2 LAST\r\ndeQUIT\r\n";
	lmtp_session whole;
	whole.feed(bytes);
	REQUIRE(whole.mails.size() == 2);
	for (size_t cut = 1; cut < bytes.size(); cut++) {
		CAPTURE(cut);
		lmtp_session halves;
		halves.feed(bytes.substr(0, cut));
		halves.feed(bytes.substr(cut));
		REQUIRE(halves.said == whole.said);
		REQUIRE(halves.mails == whole.mails);
	}
}
