// SPDX-License-Identifier: GPL-3.0-or-later
// The dialogue: what each command is answered in each state.
#include "tests/unit/pop3/session.hh"

namespace
{

const std::string STAMP = "<1896.697170952@dbc.mtview.ca.us>";

// RFC 1939, part 10.
const std::string RFC_1939 = "APOP mrose c4c9334bac560ecc979e58001b3e22fb\r\nSTAT\r\nLIST\r\n"
			     "RETR 1\r\nDELE 1\r\nRETR 2\r\nDELE 2\r\nQUIT\r\n";

struct sample {
	const char *name;
	std::string bytes;
	bool is_closed;
};

std::vector<sample> samples()
{
	return {
		{ "RFC 1939", RFC_1939, true },
		{ "all of the transaction",
		  "USER mrose\r\nPASS tanstaaf\r\nUIDL\r\nUIDL 2\r\nLIST 1\r\nTOP 1 0\r\nTOP 2 "
		  "3\r\n"
		  "NOOP\r\nDELE 1\r\nLIST\r\nUIDL\r\nRSET\r\nSTAT\r\nCAPA\r\nquit\r\nSTAT\r\n",
		  true },
		{ "AUTH PLAIN, RFC 5034",
		  "CAPA\r\nSTLS\r\nCAPA\r\nAUTH PLAIN\r\ndGVzdAB0ZXN0AHRlc3Q=\r\nSTAT\r\nQUIT\r\n",
		  true },
		{ "SCRAM, RFC 7677",
		  "AUTH SCRAM-SHA-256 biwsbj11c2VyLHI9ck9wck5HZndFYmVSV2diTkVrcU8=\r\n"
		  "Yz1iaXdzLHI9ck9wck5HZndFYmVSV2diTkVrcU8laHZZRHBXVWEyUmFUQ0FmdXhGSWxqKWhObEYkazAs"
		  "cD1k"
		  "SHpiWmFwV0lrNGpVaE4rVXRlOXl0YWc5empmTUhnc3FtbWl6N0FuZFZRPQ=="
		  "\r\n\r\nSTAT\r\nQUIT\r\n",
		  true },
		{ "logins that fail",
		  "PASS x\r\nUSER mrose\r\nPASS wrong\r\nAUTH\r\nAUTH PLAIN !\r\nAUTH "
		  "PLAIN\r\n*\r\n"
		  "AUTH PLAIN\r\n" +
			  std::string(3000, 'A') + "\r\nUSER used\r\nPASS x\r\nQUIT\r\n",
		  true },
		{ "long lines, and nonsense",
		  std::string(400, 'x') + "\r\nFOO\r\n\r\n \r\nUSER mrose\r\nSTLS\r\nPASS x\r\n",
		  false },
		{ "a lone LF", "CAPA\nUSER mrose\r\n", true },
		{ "a lone CR", "CAPA\rUSER mrose\r\n", true },
		{ "HTTP", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", true },
	};
}

pop3_server apop_server()
{
	pop3_server made;
	made.limits.ways |= POP3_WAY_APOP;
	made.limits.apop_stamp = STAMP.c_str();
	return made;
}

const std::string BAD = "-ERR Bad sequence, ";

} // namespace

TEST_CASE("every session cut anywhere is answered the same", "[pop3][dialogue]")
{
	const sample tried = GENERATE(from_range(samples()));
	CAPTURE(tried.name);
	pop3_server whole = apop_server();
	whole.feed(tried.bytes);
	CHECK(whole.is_closed == tried.is_closed);
	for (size_t cut = 1; cut<tried.bytes.size(); cut += tried.bytes.size()> 2000 ? 37 : 1) {
		CAPTURE(cut);
		pop3_server halves = apop_server();
		halves.feed(tried.bytes.substr(0, cut));
		halves.feed(tried.bytes.substr(cut));
		REQUIRE(halves.said == whole.said);
		REQUIRE(halves.removed_count == whole.removed_count);
	}
	pop3_server bytes = apop_server();
	for (const char c : tried.bytes)
		bytes.feed(std::string(1, c));
	REQUIRE(bytes.said == whole.said);
}

TEST_CASE("the session of RFC 1939 is answered as there", "[pop3][dialogue]")
{
	pop3_server one = apop_server();
	char greeting[POP3_REPLY_MAX];
	const size_t size = pop3_dialogue_greet(&one.limits, greeting);
	CHECK(std::string(greeting, size) == "+OK mx.example.org POP3 ready " + STAMP + "\r\n");
	one.feed(RFC_1939);
	CHECK(one.said == "+OK 2 messages (320 octets)\r\n"
			  "+OK 2 320\r\n"
			  "+OK 2 messages (320 octets)\r\n1 120\r\n2 200\r\n.\r\n"
			  "+OK 120 octets\r\n" +
				  one.mails[0].wire +
				  ".\r\n"
				  "+OK message 1 deleted\r\n"
				  "+OK 200 octets\r\n" +
				  one.mails[1].wire +
				  ".\r\n"
				  "+OK message 2 deleted\r\n"
				  "+OK Bye\r\n");
	CHECK(one.removed_count == 2);
	CHECK(one.is_closed);
	CHECK(one.dialogue.state == POP3_AT_END);
}

TEST_CASE("the greeting without APOP has no stamp, and APOP is refused", "[pop3][dialogue]")
{
	pop3_server one;
	char greeting[POP3_REPLY_MAX];
	one.limits.apop_stamp = STAMP.c_str();
	pop3_dialogue_greet(&one.limits, greeting);
	CHECK(std::string(greeting) == "+OK mx.example.org POP3 ready\r\n");
	CHECK(one.say("APOP mrose c4c9334bac560ecc979e58001b3e22fb") ==
	      "-ERR APOP is not offered\r\n");
	one.limits.ways |= POP3_WAY_APOP;
	CHECK(one.say("APOP mrose C4C9334BAC560ECC979E58001B3E22FB") ==
	      "-ERR Syntax: APOP name digest\r\n");
}

TEST_CASE("UIDL and TOP give what RFC 1939 says", "[pop3][dialogue]")
{
	pop3_server one;
	one.begin();
	CHECK(one.say("UIDL") == "+OK 2 messages (320 octets)\r\n1 whqtswO00WBw418f9t5JxYwZ\r\n"
				 "2 QhdPYR:00WBw1Ph7x7\r\n.\r\n");
	CHECK(one.say("UIDL 2") == "+OK 2 QhdPYR:00WBw1Ph7x7\r\n");
	CHECK(one.say("LIST 2") == "+OK 2 200\r\n");
	CHECK(one.say("TOP 1 0") == "+OK\r\nSubject: one\r\nTo: mrose\r\n\r\n.\r\n");
	CHECK(one.say("TOP 1 2") ==
	      "+OK\r\nSubject: one\r\nTo: mrose\r\n\r\n..dot\r\nline\r\n.\r\n");
	CHECK(one.say("TOP 1 99999999999999999999999") == "+OK\r\n" + one.mails[0].wire + ".\r\n");
	one.say("DELE 1");
	CHECK(one.say("LIST") == "+OK 1 message (200 octets)\r\n2 200\r\n.\r\n");
	CHECK(one.say("STAT") == "+OK 1 200\r\n");
	CHECK(one.say("RSET") == "+OK 2 messages (320 octets)\r\n");
	CHECK(one.say("LIST 1") == "+OK 1 120\r\n");
	CHECK(one.say("NOOP") == "+OK\r\n");
}

TEST_CASE("an empty maildrop is listed and left", "[pop3][dialogue]")
{
	pop3_server one;
	one.mails.clear();
	one.begin();
	CHECK(one.say("STAT") == "+OK 0 0\r\n");
	CHECK(one.say("LIST") == "+OK 0 messages (0 octets)\r\n.\r\n");
	CHECK(one.say("UIDL") == "+OK 0 messages (0 octets)\r\n.\r\n");
	CHECK(one.say("RETR 1") == "-ERR No such message, there are 0\r\n");
	CHECK(one.say("QUIT") == "+OK Bye\r\n");
}

TEST_CASE("the number of a message has one spelling, and has to be there", "[pop3][dialogue]")
{
	const std::string verb = GENERATE("LIST", "UIDL", "RETR", "DELE");
	const std::string syntax = "-ERR Syntax: the number of a message is wanted\r\n";
	const std::string beyond = "-ERR No such message, there are 2\r\n";
	pop3_server one;
	one.begin();
	CHECK(one.say(verb + " 0") == "-ERR No such message, the first is 1\r\n");
	for (const char *number :
	     { "-1", "+1", "01", "00", "1.", "0x1", "1 2", "x", "1\t2", "1\xff" })
		CHECK(one.say(verb + " " + number) == syntax);
	for (const char *number :
	     { "3", "4294967296", "4294967297", "18446744073709551615", "18446744073709551616",
	       "18446744073709551617", "99999999999999999999999999999999999" })
		CHECK(one.say(verb + " " + number) == beyond);
	if (verb == "RETR" || verb == "DELE")
		CHECK(one.say(verb) == syntax);
	CHECK(one.say(verb + "  2 ").substr(0, 4) == "+OK ");
	one.say("RSET");
	one.say("DELE 2");
	CHECK(one.say(verb + " 2") == "-ERR Message 2 is deleted\r\n");
	CHECK(one.say("TOP 2 0") == "-ERR Message 2 is deleted\r\n");
	for (const char *words : { "TOP 1", "TOP 1 -1", "TOP 1 x", "TOP 1 01", "TOP 1 1 1" })
		CHECK(one.say(words) == "-ERR Syntax: TOP message lines\r\n");
	CHECK(one.maildrop.left_count == 1);
}

TEST_CASE("a command that does not fit the state is refused and changes nothing",
	  "[pop3][dialogue]")
{
	struct row {
		bool is_logged_in;
		const char *line;
		std::string reply;
	};
	const row tried = GENERATE(values<row>({
		{ false, "STAT", BAD + "log in first" },
		{ false, "LIST", BAD + "log in first" },
		{ false, "UIDL 1", BAD + "log in first" },
		{ false, "RETR 1", BAD + "log in first" },
		{ false, "TOP 1 1", BAD + "log in first" },
		{ false, "DELE 1", BAD + "log in first" },
		{ false, "NOOP", BAD + "log in first" },
		{ false, "RSET", BAD + "log in first" },
		{ false, "PASS x", BAD + "send USER first" },
		{ false, "", "-ERR Command unknown" },
		{ false, " CAPA", "-ERR Command unknown" },
		{ false, "LANG", "-ERR Command unknown" },
		{ false, "LAST", "-ERR Command unknown" },
		{ false, "\xff\xfe", "-ERR Command unknown" },
		{ false, "USER", "-ERR Syntax: USER name" },
		{ false, "USER a\x01", "-ERR Syntax: USER name" },
		{ false, "USER \xc3", "-ERR Syntax: USER name" },
		{ false, "CAPA x", "-ERR Syntax: no arguments are wanted" },
		{ false, "STLS x", "-ERR Syntax: no arguments are wanted" },
		{ false, "AUTH", "-ERR Syntax: AUTH mechanism [message]" },
		{ false, "AUTH PLAIN = =", "-ERR Syntax: AUTH mechanism [message]" },
		{ false, "AUTH LOGIN", "-ERR That mechanism is not offered" },
		{ false, "AUTH PLAIN =", "-ERR Malformed message of PLAIN" },
		{ false, "AUTH PLAIN AA=A", "-ERR Base64 is wanted" },
		{ true, "USER x", BAD + "you are logged in" },
		{ true, "PASS x", BAD + "you are logged in" },
		{ true, "AUTH PLAIN", BAD + "you are logged in" },
		{ true, "STLS", BAD + "you are logged in" },
		{ true, "UTF8", BAD + "you are logged in" },
		{ true, "STAT x", "-ERR Syntax: no arguments are wanted" },
		{ true, "QUIT x", "-ERR Syntax: no arguments are wanted" },
	}));
	CAPTURE(tried.line);
	pop3_server one;
	if (tried.is_logged_in)
		one.begin();
	struct pop3_dialogue before = one.dialogue;
	CHECK(one.say(tried.line) == tried.reply + "\r\n");
	CHECK(one.dialogue.error_count == before.error_count + 1);
	before.error_count = one.dialogue.error_count;
	before.command_count = one.dialogue.command_count;
	CHECK(std::memcmp(&before, &one.dialogue, sizeof(before)) == 0);
}

TEST_CASE("CAPA tells what there is, by state and TLS", "[pop3][dialogue]")
{
	const std::string always =
		"+OK capabilities "
		"follow\r\nTOP\r\nUIDL\r\nRESP-CODES\r\nAUTH-RESP-CODE\r\nPIPELINING\r\n";
	pop3_server one;
	CHECK(one.say("CAPA") == always + "STLS\r\nUSER\r\nSASL SCRAM-SHA-256 PLAIN\r\nUTF8 "
					  "USER\r\nEXPIRE NEVER\r\n.\r\n");
	one.limits.requires_tls = true;
	one.limits.expire_days = 30;
	one.limits.login_delay_s = 60;
	one.limits.implementation = "dnsblv6";
	CHECK(one.say("CAPA") == always + "STLS\r\nLOGIN-DELAY 60\r\nEXPIRE 30\r\n.\r\n");
	one.say("STLS");
	CHECK(one.say("CAPA").find("UTF8 USER\r\n") != std::string::npos);
	one.limits.ways = POP3_WAY_USER;
	one.limits.offers_utf8 = false;
	CHECK(one.say("CAPA") == always + "USER\r\nLOGIN-DELAY 60\r\nEXPIRE 30\r\n.\r\n");
	one.begin();
	CHECK(one.say("CAPA") == always + "USER\r\nLOGIN-DELAY 60\r\nEXPIRE 30\r\n"
					  "IMPLEMENTATION dnsblv6\r\n.\r\n");
}

TEST_CASE("the longest greeting and the longest offer are whole", "[pop3][dialogue]")
{
	const std::string name(255, 'h');
	char greeting[POP3_REPLY_MAX];
	pop3_server one;
	one.limits.hostname = one.limits.implementation = one.limits.apop_stamp = name.c_str();
	one.limits.ways = POP3_WAY_ALL;
	one.limits.expire_days = one.limits.login_delay_s = UINT32_MAX;
	CHECK(pop3_dialogue_greet(&one.limits, greeting) <= POP3_REPLY_LINE_MAX + 2);
	one.begin();
	const std::string offer = one.say("CAPA");
	CHECK(offer.substr(offer.size() - 255 - 5) == name + "\r\n.\r\n");
}

TEST_CASE("without the TLS that is required nothing but CAPA, QUIT and STLS is taken",
	  "[pop3][dialogue]")
{
	pop3_server one;
	one.limits.requires_tls = true;
	for (const char *line : { "USER mrose", "PASS x", "AUTH PLAIN", "UTF8", "STAT", "NOOP" })
		CHECK(one.say(line) == "-ERR Send STLS first\r\n");
	CHECK(one.say("CAPA").substr(0, 4) == "+OK ");
	CHECK(one.say("STLS") == "+OK begin TLS\r\n");
	CHECK(one.say("STLS") == "-ERR TLS has begun already\r\n");
	one.begin();
	CHECK(one.say("QUIT") == "+OK Bye\r\n");
}

TEST_CASE("STLS forgets the user, and may be refused", "[pop3][dialogue]")
{
	pop3_server one;
	one.say("USER mrose");
	CHECK(one.step("STLS") == POP3_STLS);
	CHECK(pop3_dialogue_is_asking(&one.dialogue));
	CHECK(pop3_dialogue_refuse(&one.dialogue, &one.limits, POP3_NO_TLS, &one.event) ==
	      POP3_REPLY);
	CHECK(std::string(one.event.reply) == "-ERR [SYS/TEMP] TLS is not available now\r\n");
	CHECK(one.dialogue.state == POP3_AT_USER);
	CHECK(one.step("STLS") == POP3_STLS);
	pop3_dialogue_tls(&one.dialogue);
	CHECK(one.say("PASS tanstaaf") == BAD + "send USER first\r\n");
	pop3_server two;
	CHECK(two.step("STLS") == POP3_STLS);
	CHECK(pop3_dialogue_refuse(&two.dialogue, &two.limits, POP3_EARLY_INPUT, &two.event) ==
	      POP3_CLOSE);
	CHECK(two.dialogue.state == POP3_AT_END);
	two.limits.offers_tls = false;
	pop3_dialogue_init(&two.dialogue);
	CHECK(two.say("STLS") == "-ERR TLS is not offered\r\n");
}

TEST_CASE("UTF8 is for before the login, and STLS for before UTF8", "[pop3][dialogue]")
{
	pop3_server one;
	CHECK(one.say("UTF8") == "+OK UTF8\r\n");
	CHECK(one.dialogue.is_utf8);
	CHECK(one.say("STLS") == "-ERR STLS comes before UTF8\r\n");
	one.begin();
	one.limits.offers_utf8 = false;
	pop3_dialogue_init(&one.dialogue);
	CHECK(one.say("UTF8") == "-ERR UTF8 is not offered\r\n");
}

TEST_CASE("a line has 255 octets, and in an exchange as many as the longest message needs",
	  "[pop3][dialogue]")
{
	pop3_server one;
	CHECK(one.say("USER " + std::string(248, 'u')) == "+OK send PASS\r\n");
	CHECK(one.say("USER " + std::string(249, 'u')) == "-ERR Line too long\r\n");
	CHECK(one.dialogue.state == POP3_AT_USER);
	CHECK(one.say("AUTH PLAIN") == "+ \r\n");
	CHECK(one.say(std::string(BASE64_SIZE(SASL_MESSAGE_MAX), 'A')) ==
	      "-ERR Malformed message of PLAIN\r\n");
	CHECK(one.say("AUTH PLAIN") == "+ \r\n");
	CHECK(one.say(std::string(BASE64_SIZE(SASL_MESSAGE_MAX) + 1, 'A')) ==
	      "-ERR Line too long\r\n");
	CHECK(one.dialogue.state == POP3_AT_START);
	CHECK(one.say("CAPA").substr(0, 4) == "+OK ");
}

TEST_CASE("too many errors, wrong passwords and commands end a session", "[pop3][dialogue]")
{
	pop3_server one;
	one.limits.errors_max = 3;
	CHECK(one.say("FOO") == "-ERR Command unknown\r\n");
	CHECK(one.say("RETR 1") == BAD + "log in first\r\n");
	CHECK(!one.is_closed);
	CHECK(one.say("FOO") == "-ERR Command unknown\r\n");
	CHECK(one.is_closed);
	pop3_server two;
	two.limits.logins_max = 2;
	two.say("FOO");
	two.feed("USER mrose\r\nPASS x\r\n");
	CHECK(!two.is_closed);
	CHECK(two.say("AUTH PLAIN dGVzdAB0ZXN0AHh4eHg=") == "-ERR [AUTH] Login failed\r\n");
	CHECK(two.is_closed);
	CHECK(two.dialogue.login_count == 2);
	pop3_server three;
	three.limits.commands_max = 2;
	three.feed("CAPA\r\nCAPA\r\n");
	CHECK(three.say("CAPA") == "-ERR [SYS/TEMP] Too many commands\r\n");
	CHECK(three.is_closed);
}

TEST_CASE("a session that ends without QUIT removes nothing", "[pop3][dialogue]")
{
	pop3_server one;
	one.limits.errors_max = 1;
	one.begin();
	one.feed("DELE 1\r\nFOO\r\nQUIT\r\n");
	CHECK(one.is_closed);
	CHECK(one.removed_count == 0);
	CHECK(one.step("QUIT") == POP3_CLOSE);
	CHECK(one.event.reply_size == 0);
	CHECK(pop3_dialogue_refuse(&one.dialogue, &one.limits, POP3_BUSY, &one.event) ==
	      POP3_CLOSE);
	CHECK(one.event.reply_size == 0);
}

TEST_CASE("what the store cannot do is said, and the session goes on or ends", "[pop3][dialogue]")
{
	pop3_server one;
	one.begin();
	one.is_broken = true;
	CHECK(one.say("DELE 1") == "+OK message 1 deleted\r\n");
	one.step("RETR 2");
	CHECK(pop3_dialogue_refuse(&one.dialogue, &one.limits, POP3_TRY_LATER, &one.event) ==
	      POP3_REPLY);
	CHECK(std::string(one.event.reply) == "-ERR [SYS/TEMP] Try again later\r\n");
	one.step("RETR 2");
	CHECK(pop3_dialogue_refuse(&one.dialogue, &one.limits, POP3_DAMAGED, &one.event) ==
	      POP3_REPLY);
	CHECK(std::string(one.event.reply) == "-ERR [SYS/PERM] The message is damaged\r\n");
	one.step("TOP 2 1");
	CHECK(pop3_dialogue_answer(&one.dialogue, &one.limits, false, "a\r\nb\xff", &one.event) ==
	      POP3_REPLY);
	CHECK(std::string(one.event.reply) == "-ERR a??b?\r\n");
	CHECK(one.say("QUIT") == "-ERR [SYS/TEMP] Some deleted messages were not removed\r\n");
	CHECK(one.is_closed);
}

TEST_CASE("a mail that the store does not give is no error of the client", "[pop3][dialogue]")
{
	pop3_server one;
	one.limits.errors_max = 2;
	one.begin();
	CHECK(one.say("DELE 1") == "+OK message 1 deleted\r\n");
	for (const char *command : { "RETR 2", "TOP 2 0", "RETR 2" }) {
		one.step(command);
		CHECK(pop3_dialogue_refuse(&one.dialogue, &one.limits, POP3_DAMAGED, &one.event) ==
		      POP3_REPLY);
	}
	CHECK(one.dialogue.error_count == 0);
	// A store that fails ends a session at some time.
	one.step("RETR 2");
	CHECK(pop3_dialogue_refuse(&one.dialogue, &one.limits, POP3_TRY_LATER, &one.event) ==
	      POP3_REPLY);
	CHECK(std::string(one.event.reply) == "-ERR [SYS/TEMP] Try again later\r\n");
	CHECK(one.dialogue.error_count == 1);
	CHECK(one.say("QUIT") == "+OK Bye\r\n");
	CHECK(one.removed_count == 1);
}

TEST_CASE("an answer of any length is one line of 512 octets", "[pop3][dialogue]")
{
	pop3_server one;
	one.begin();
	one.step("RETR 1");
	const std::string text(2000, 'x');
	pop3_dialogue_answer(&one.dialogue, &one.limits, true, text.c_str(), &one.event);
	CHECK(one.event.reply_size == 512);
	CHECK(std::string(one.event.reply).substr(508) == "xx\r\n");
}

TEST_CASE("a state can be copied while a login waits, and goes on elsewhere", "[pop3][dialogue]")
{
	pop3_server one;
	one.say("USER mrose");
	CHECK(one.step("PASS  two words ") == POP3_AUTHENTICATE);
	CHECK(std::string(one.event.login.password) == " two words ");
	CHECK(std::string(one.event.login.user) == "mrose");
	pop3_server two;
	two.dialogue = one.dialogue;
	CHECK(pop3_dialogue_is_valid(&two.dialogue));
	struct pop3_message mail = { 7, "x", false };
	pop3_maildrop_init(&mail, 1, &two.maildrop);
	CHECK(pop3_dialogue_accept(&two.dialogue, &two.limits, &two.maildrop, &two.event) ==
	      POP3_REPLY);
	CHECK(std::string(two.event.reply) == "+OK 1 message (7 octets)\r\n");
	CHECK(two.say("STAT") == "+OK 1 7\r\n");
	CHECK(std::string(two.dialogue.user) == "mrose");
}
