// SPDX-License-Identifier: GPL-3.0-or-later
// Logging in: passwords, AUTH and its exchange, and what is refused.
#include "tests/unit/pop3/session.hh"

namespace
{

const std::string FAILED = "-ERR [AUTH] Login failed\r\n";
const std::string OPEN = "+OK 2 messages (320 octets)\r\n";

std::string encode(const std::string &text)
{
	std::vector<char> out(BASE64_SIZE(text.size()) + 1);
	base64_encode(reinterpret_cast<const uint8_t *>(text.data()), text.size(), out.data());
	return out.data();
}

std::string scram_first_of(const std::string &user)
{
	return "AUTH SCRAM-SHA-256 " + encode("n,,n=" + user + ",r=rOprNGfwEbeRWgbNEkqO");
}

const std::string NONCE = std::string("rOprNGfwEbeRWgbNEkqO") + SCRAM_NONCE;

} // namespace

TEST_CASE("a wrong password and an unknown user are answered alike", "[pop3][login]")
{
	pop3_server one;
	for (const char *user : { "mrose", "nobody" }) {
		CHECK(one.say(std::string("USER ") + user) == "+OK send PASS\r\n");
		CHECK(one.say("PASS wrong") == FAILED);
		CHECK(one.dialogue.state == POP3_AT_START);
		CHECK(one.dialogue.user[0] == '\0');
	}
	CHECK(one.say("PASS tanstaaf") == "-ERR Bad sequence, send USER first\r\n");
	CHECK(one.say("AUTH PLAIN " + encode(std::string("\0nobody\0x", 9))) == FAILED);
	CHECK(one.dialogue.login_count == 3);
}

TEST_CASE("what is no password is a wrong one, and is not asked about", "[pop3][login]")
{
	pop3_server one;
	for (const char *line : { "PASS", "PASS ", "PASS a\x01", "PASS a\xff" }) {
		one.say("USER mrose");
		CHECK(one.say(line) == FAILED);
	}
	CHECK(one.logins.empty());
	CHECK(one.dialogue.login_count == 4);
}

TEST_CASE("a maildrop that cannot be had is told by its response code", "[pop3][login]")
{
	pop3_server one;
	one.say("USER used");
	CHECK(one.say("PASS x") == "-ERR [IN-USE] Another session has this maildrop\r\n");
	one.say("USER soon");
	CHECK(one.say("PASS x") == "-ERR [LOGIN-DELAY] Too soon after the last login\r\n");
	CHECK(one.dialogue.login_count == 0);
	CHECK(one.dialogue.error_count == 2);
}

TEST_CASE("AUTH PLAIN is taken with its message and behind it, as in RFC 5034", "[pop3][login]")
{
	pop3_server one;
	CHECK(one.say("AUTH PLAIN dGVzdAB0ZXN0AHRlc3Q=") == OPEN);
	CHECK(one.logins == "4:test:test\n");
	pop3_server two;
	CHECK(two.say("auth plain") == "+ \r\n");
	CHECK(two.say("dGVzdAB0ZXN0AHRlc3Q=") == OPEN);
	CHECK(two.event.verb == POP3_VERB_SASL);
	CHECK(two.logins == "4:test:test\n");
	CHECK(std::string(two.dialogue.user) == "test");
}

TEST_CASE("an exchange is cancelled, and no line of it is a command", "[pop3][login]")
{
	pop3_server one;
	one.say("AUTH PLAIN");
	CHECK(one.say("*") == "-ERR AUTH is cancelled\r\n");
	CHECK(one.dialogue.state == POP3_AT_START);
	one.say("AUTH PLAIN");
	CHECK(one.say("QUIT") == "-ERR Malformed message of PLAIN\r\n"); // it is base64
	CHECK(!one.is_closed);
	one.say("AUTH PLAIN");
	CHECK(one.say("CAPA x") == "-ERR Base64 is wanted\r\n");
	one.say("AUTH PLAIN");
	CHECK(one.say("") == "-ERR Malformed message of PLAIN\r\n");
	CHECK(one.say("AUTH PLAIN " + encode(std::string("mrose\0test\0test", 15))) == FAILED);
}

TEST_CASE("the exchange of RFC 7677 logs in", "[pop3][login]")
{
	pop3_server one;
	CHECK(one.say(scram_first_of("user")) ==
	      "+ " + encode("r=" + NONCE + ",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096") + "\r\n");
	CHECK(one.say(encode("c=biws,r=" + NONCE +
			     ",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")) ==
	      "+ " + encode("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") + "\r\n");
	CHECK(one.say("") == OPEN);
	CHECK(std::string(one.dialogue.user) == "user");
	CHECK(one.dialogue.way == POP3_WAY_SCRAM);
}

TEST_CASE("SCRAM without its first message is asked for it", "[pop3][login]")
{
	pop3_server one;
	CHECK(one.say("AUTH SCRAM-SHA-256") == "+ \r\n");
	CHECK(one.say(encode("n,,n=user,r=rOprNGfwEbeRWgbNEkqO")).substr(0, 2) == "+ ");
	CHECK(one.say("*") == "-ERR AUTH is cancelled\r\n");
	CHECK(one.say("AUTH SCRAM-SHA-256 =") == "-ERR Malformed message of SASL\r\n");
}

TEST_CASE("a user that does not exist has an exchange like another", "[pop3][login]")
{
	pop3_server one;
	const std::string asked = one.say(scram_first_of("nobody"));
	CHECK(asked.substr(0, 2) == "+ ");
	const std::string final =
		encode("c=biws,r=" + NONCE + ",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
	CHECK(one.say(final) == FAILED);
	CHECK(one.say(scram_first_of("nobody")) == asked);
	CHECK(one.say(final) == FAILED);
	CHECK(one.say(scram_first_of("another")) != asked);
	CHECK(one.say("*") == "-ERR AUTH is cancelled\r\n");
	const std::string binding = encode("p=tls-unique,,n=user,r=x");
	CHECK(one.say("AUTH SCRAM-SHA-256 " + binding) == FAILED);
}

TEST_CASE("only what is offered can be used", "[pop3][login]")
{
	pop3_server one;
	one.limits.ways = 0;
	CHECK(one.say("USER mrose") == "-ERR USER is not offered\r\n");
	CHECK(one.say("AUTH PLAIN") == "-ERR That mechanism is not offered\r\n");
	CHECK(one.say("AUTH SCRAM-SHA-256") == "-ERR That mechanism is not offered\r\n");
	CHECK(one.say("CAPA").find("SASL") == std::string::npos);
}
