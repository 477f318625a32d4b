// SPDX-License-Identifier: GPL-3.0-or-later
// What commands say: addresses, parameters, sizes, and what a relay tells about its client.
#include "lib/smtp/address.h"
#include "lib/smtp/command.h"
#include "lib/smtp/xclient.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace
{

// In memory of exactly that size, for the sanitizer.
using exact = std::vector<char>;

exact exactly(const std::string &text)
{
	exact made;
	made.reserve(std::max<size_t>(text.size(), 1)); // not NULL
	made.assign(text.begin(), text.end());
	return made;
}

struct parsed_mail {
	explicit parsed_mail(const std::string &text, bool has_utf8 = true, bool has_dsn = true)
	{
		const exact line = exactly(text);
		const unsigned withheld = (has_utf8 ? 0U : ENVELOPE_EXTENSION_SMTPUTF8) |
					  (has_dsn ? 0U : ENVELOPE_EXTENSION_DSN);
		is_good = command_parse_mail(line.data(), line.size(), withheld, &envelope, &bad);
		if (!is_good)
			code = std::to_string(bad.code) + " " + std::string(bad.text).substr(0, 5);
	}

	struct envelope envelope = {};
	command_bad bad = { 0, nullptr };
	bool is_good;
	std::string code;
};

struct parsed_rcpt {
	explicit parsed_rcpt(const std::string &text, bool is_utf8 = false, bool has_dsn = true)
	{
		const exact line = exactly(text);
		const unsigned withheld = has_dsn ? 0U : ENVELOPE_EXTENSION_DSN;
		is_good = command_parse_rcpt(line.data(), line.size(), withheld, is_utf8,
					     &recipient, &bad);
		if (!is_good)
			code = std::to_string(bad.code) + " " + std::string(bad.text).substr(0, 5);
	}

	struct recipient recipient = {};
	command_bad bad = { 0, nullptr };
	bool is_good;
	std::string code;
};

std::string text_of(dnsblv6_addr addr)
{
	char text[DNSBLV6_ADDR_TEXT_SIZE];
	dnsblv6_addr_format(addr, text);
	return text;
}

const char *parse_xclient(const std::string &text, struct xclient *ret)
{
	const exact line = exactly(text);
	return xclient_parse(line.data(), line.size(), ret);
}

std::string times(size_t count, const std::string &text)
{
	std::string made;
	for (size_t i = 0; i < count; i++)
		made += text;
	return made;
}

} // namespace

TEST_CASE("a command is its first word in any case, without blanks at the end", "[front][command]")
{
	struct row {
		std::string line;
		command_verb verb;
		const char *arguments;
	};
	const row tried = GENERATE(values<row>({
		{ "NOOP", COMMAND_NOOP, "" },
		{ "noop \t", COMMAND_NOOP, "" },
		{ "MaIl FROM:<> ", COMMAND_MAIL, "FROM:<>" },
		{ "EHLO   x", COMMAND_EHLO, "x" },
		{ "BDAT 1 LAST\t ", COMMAND_BDAT, "1 LAST" },
		{ "starttls", COMMAND_STARTTLS, "" },
		{ "XCLIENT a=b", COMMAND_XCLIENT, "a=b" },
		{ "DATA.", COMMAND_UNKNOWN, "" },
		{ "DATA\t.", COMMAND_UNKNOWN, "" },
		{ " DATA", COMMAND_UNKNOWN, "DATA" },
		{ "DAT", COMMAND_UNKNOWN, "" },
		{ "", COMMAND_UNKNOWN, "" },
		{ "   ", COMMAND_UNKNOWN, "" },
		{ "GET / HTTP/1.1", COMMAND_FOREIGN, "/ HTTP/1.1" },
	}));
	CAPTURE(tried.line);
	const exact line = exactly(tried.line);
	command made = {};
	command_parse(line.data(), line.size(), &made);
	CHECK(made.verb == tried.verb);
	CHECK(std::string(made.arguments, made.arguments_size) == tried.arguments);
}

TEST_CASE("an address that RFC 5321 allows is taken as it was written", "[front][address]")
{
	struct row {
		std::string path, mailbox;
	};
	const row tried = GENERATE(values<row>({
		{ "<a@b>", "a@b" },
		{ "<A.B+c=d@Example.ORG>", "A.B+c=d@Example.ORG" },
		{ "<!#$%&'*+-/=?^_`{|}~@b>", "!#$%&'*+-/=?^_`{|}~@b" },
		{ "<\"\"@b>", "\"\"@b" },
		{ "<\"a b\"@b>", "\"a b\"@b" },
		{ "<\"a>b\"@b>", "\"a>b\"@b" },
		{ "<\"a\\\"b\\\\\"@b>", "\"a\\\"b\\\\\"@b" },
		{ "<\"<a@b>\"@c>", "\"<a@b>\"@c" },
		{ "<a@[192.0.2.1]>", "a@[192.0.2.1]" },
		{ "<a@[IPv6:2001:db8::1]>", "a@[IPv6:2001:db8::1]" },
		{ "<a@[ipv6:::ffff:192.0.2.1]>", "a@[ipv6:::ffff:192.0.2.1]" },
		{ "<@r.example:a@b>", "a@b" },
		{ "<@r.example,@[192.0.2.1]:\"x\"@b>", "\"x\"@b" },
		{ "<a@1.2-3.xn--p1ai>", "a@1.2-3.xn--p1ai" },
		{ "<a@my_host.example>", "a@my_host.example" },
		{ "<.a..b.@c.example>", ".a..b.@c.example" },
		{ "<" + std::string(252, 'l') + "@b>", std::string(252, 'l') + "@b" },
		{ "<a@" + std::string(63, 'd') + ".e>", "a@" + std::string(63, 'd') + ".e" },
		{ "<l@" + times(125, "d.") + "ee>", "l@" + times(125, "d.") + "ee" },
	}));
	CAPTURE(tried.path);
	const parsed_mail mail("FROM:" + tried.path);
	REQUIRE(mail.is_good);
	CHECK(tried.mailbox == mail.envelope.sender);
	const parsed_rcpt rcpt("to:   " + tried.path);
	REQUIRE(rcpt.is_good);
	CHECK(tried.mailbox == rcpt.recipient.address);
	CHECK(address_is_mailbox(tried.mailbox.data(), tried.mailbox.size(), false));
}

TEST_CASE("an address that other servers take is that of RFC 5321 which it means",
	  "[front][address]")
{
	struct row {
		std::string path, mailbox;
	};
	const row tried = GENERATE(values<row>({
		{ "a@b", "a@b" },
		{ "\"a b\"@b", "\"a b\"@b" },
		{ "a@[192.0.2.1]", "a@[192.0.2.1]" },
		{ "<a@b.>", "a@b" },
		{ "a@b.example.", "a@b.example" },
		{ "<@r.:a@b>", "a@b" },
		{ "<l@" + times(125, "d.") + "ee.>", "l@" + times(125, "d.") + "ee" },
	}));
	CAPTURE(tried.path);
	const parsed_mail mail("FROM:" + tried.path + " SIZE=7");
	REQUIRE(mail.is_good);
	CHECK(tried.mailbox == mail.envelope.sender);
	CHECK(mail.envelope.size_bytes == 7);
	const parsed_rcpt rcpt("TO: " + tried.path);
	REQUIRE(rcpt.is_good);
	CHECK(tried.mailbox == rcpt.recipient.address);
	/* A capsule has no other. */
	CHECK(address_is_mailbox(tried.path.data(), tried.path.size(), false) ==
	      (tried.path == tried.mailbox));
}

TEST_CASE("what is no address is refused", "[front][address]")
{
	const auto path = GENERATE_COPY(
		as<std::string>(), "", "<", ">", "a", "a@", "<a@b", "a@b>", "@r:a@b", "<<a@b>>",
		"<a@b>>", "<a>", "<@b>", "<a@>", "<a@b@c>", "<a b@c>", "<a,b@c>", "<a(c)@b>",
		"<a@b..>", "<a@.b>", "<a@b.>.", "<a@b..c>", "<a@-b>", "<a@b->", "<a@b c>", "< a@b>",
		"<a@b >", "<a@b\t>", "<\"a@b>", "<\"a\"b@c>", "<\"a\\\"@b>", "<\"a\x01\"@b>",
		"<\"a\\\x01\"@b>", "<a\x7f@b>", "<a@[1.2.3]>", "<a@[1.2.3.256]>", "<a@[01.2.3.4]>",
		"<a@[2001:db8::1]>", "<a@[IPv6:1.2.3.4]>", "<a@[IPv6:]>", "<a@[IPv6:x]>",
		"<a@[tag:x]>", "<a@[]>", "<a@[1.2.3.4>", "<a@[1.2.3.4]x>", "<a@1.2.3.4]>", "<@r:>",
		"<@r>", "<@r,a@b>", "<@r,:a@b>", "<@:a@b>", "<@r a@b>",
		"<a@" + std::string(64, 'd') + ">", "<\"a\"@\"b\">", "<\r@b>", "<a\n@b>",
		std::string("<a\0@b>", 6), std::string("<\"\\\0\"@b>", 8), "<a@b>x", "<a@b>SIZE=1",
		"<\"\xff\"@b>", "<\xc3@b>", "<a@\xc3\x28>", "<\xc0\x80@b>", "<\xe0\x80\x80@b>",
		"<\xed\xa0\x80@b>", "<\xf4\x90\x80\x80@b>", "<\xc2\x85@b>",
		"<\xf8\x88\x80\x80\x80@b>", "<\x80@b>");
	CAPTURE(path);
	CHECK(parsed_mail("FROM:" + path).code.substr(0, 4) == "501 ");
	CHECK(parsed_rcpt("TO:" + path).code.substr(0, 4) == "501 ");
	CHECK(parsed_rcpt("TO:" + path, true).code.substr(0, 4) == "501 ");
}

TEST_CASE("an address cut anywhere is none", "[front][address]")
{
	const auto path =
		GENERATE(as<std::string>(), "<a.b@c.example>", "<\"a\\\" b\"@[IPv6:::1]>",
			 "<@r.example,@s:a@b>", "<\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80@b>");
	REQUIRE(parsed_rcpt("TO:" + path, true).is_good);
	for (size_t cut = 0; cut < path.size(); cut++) {
		CAPTURE(path, cut);
		REQUIRE(parsed_rcpt("TO:" + path.substr(0, cut), true).code == "501 5.1.3");
	}
}

TEST_CASE("an address is as long as RFC 5321 allows and not longer", "[front][address]")
{
	const auto path =
		GENERATE_COPY(as<std::string>(), "<" + std::string(253, 'l') + "@b>",
			      "<\"" + std::string(251, 'l') + "\"@b>",
			      "<l@" + times(125, "d.") + "eee>", "<l@" + times(128, "d.") + "e>",
			      "<l@" + times(300, "d.") + "e>", "<l@" + times(126, "d.") + "e>");
	CAPTURE(path);
	CHECK(parsed_mail("FROM:" + path).code == "501 5.1.7");
	CHECK(std::string(parsed_mail("FROM:" + path).bad.text).find("long") != std::string::npos);
	CHECK(parsed_rcpt("TO:" + path).code == "501 5.1.3");
}

TEST_CASE("<> is a sender and no recipient, <postmaster> a recipient and no sender",
	  "[front][address]")
{
	const parsed_mail null("FROM:<>");
	CHECK(null.is_good);
	CHECK(null.envelope.sender[0] == '\0');
	CHECK(parsed_rcpt("TO:<>").code == "501 5.1.3");
	const auto name = GENERATE(as<std::string>(), "postmaster", "Postmaster", "POSTMASTER");
	const parsed_rcpt postmaster("TO:<" + name + ">");
	CHECK(postmaster.is_good);
	CHECK(std::string(postmaster.recipient.address) == "postmaster");
	CHECK(parsed_mail("FROM:<" + name + ">").code == "501 5.1.7");
	CHECK(parsed_rcpt("TO:<" + name + "@B>").is_good);
	CHECK(parsed_rcpt("TO:<\"" + name + "\">").code == "501 5.1.3");
	CHECK(parsed_rcpt("TO:<" + name + "s>").code == "501 5.1.3");
}

TEST_CASE("an address beyond ASCII needs SMTPUTF8", "[front][address]")
{
	const auto path = GENERATE(as<std::string>(), "<\xc3\xbc@b>", "<a@\xc3\xbc.example>",
				   "<\"\xe2\x82\xac x\"@b>", "<\xf0\x9f\x98\x80@b>");
	CAPTURE(path);
	CHECK(parsed_mail("FROM:" + path).code == "553 5.6.7");
	CHECK(parsed_mail("FROM:" + path + " SMTPUTF8").is_good);
	CHECK(parsed_mail("FROM:" + path + " SMTPUTF8").envelope.is_utf8);
	CHECK(parsed_mail("FROM:" + path + " SMTPUTF8", false).code == "555 5.5.4");
	CHECK(parsed_rcpt("TO:" + path).code == "553 5.6.7");
	CHECK(parsed_rcpt("TO:" + path, true).is_good);
	CHECK(parsed_rcpt("TO:<@\xc3\xbc:a@b>").is_good);
}

TEST_CASE("the words before an address are as RFC 5321 has them", "[front][command]")
{
	const auto words = GENERATE(as<std::string>(), "", "FROM", "FROM<a@b>", "FROM <a@b>",
				    "FROM :<a@b>", "FRO:<a@b>", "TO:<a@b>", "<a@b>", "FROM:\t<a@b>",
				    "from: <a@b>x", "FROM:<a@b>\tSIZE=1");
	CAPTURE(words);
	CHECK(parsed_mail(words).code.substr(0, 4) == "501 ");
}

TEST_CASE("the parameters of MAIL are kept", "[front][command]")
{
	const parsed_mail all("FROM:<a@b>  size=18446744073709551615 BODY=8bitmime SMTPUTF8"
			      " RET=hdrs  ENVID=QQ+2D314159");
	REQUIRE(all.is_good);
	CHECK(all.envelope.size_bytes == UINT64_MAX);
	CHECK(all.envelope.body == ENVELOPE_8BITMIME);
	CHECK(all.envelope.is_utf8);
	CHECK(all.envelope.ret == ENVELOPE_RET_HDRS);
	CHECK(std::string(all.envelope.envid) == "QQ+2D314159");
	const parsed_mail none("FROM:<a@b>");
	CHECK(none.envelope.size_bytes == 0);
	CHECK(none.envelope.body == ENVELOPE_7BIT);
	CHECK(none.envelope.ret == ENVELOPE_RET_NONE);
	CHECK(parsed_mail("FROM:<> BODY=7BIT RET=FULL").envelope.ret == ENVELOPE_RET_FULL);
	CHECK(parsed_mail("FROM:<> SIZE=99999999999999999999").envelope.size_bytes == UINT64_MAX);
	CHECK(parsed_mail("FROM:<> ENVID=" + std::string(100, 'x')).is_good);
}

TEST_CASE("a parameter that is wrong or said twice is 501, an unknown one 555", "[front][command]")
{
	struct row {
		std::string parameters;
		const char *code;
	};
	const row tried = GENERATE(values<row>({
		{ "SIZE", "501 5.5.4" },
		{ "SIZE=", "501 5.5.4" },
		{ "SIZE=-1", "501 5.5.4" },
		{ "SIZE=1x", "501 5.5.4" },
		{ "SIZE=0x1", "501 5.5.4" },
		{ "SIZE=100000000000000000000", "501 5.5.4" },
		{ "SIZE=1 SIZE=1", "501 5.5.4" },
		{ "SIZE =1", "501 5.5.4" },
		{ "SIZE=\xd9\xa1", "501 5.5.4" },
		{ "BODY=BINARYMIME", "501 5.5.4" },
		{ "BODY=", "501 5.5.4" },
		{ "BODY", "501 5.5.4" },
		{ "SMTPUTF8=", "501 5.5.4" },
		{ "SMTPUTF8=1", "501 5.5.4" },
		{ "SMTPUTF8 SMTPUTF8", "501 5.5.4" },
		{ "RET=ALL", "501 5.5.4" },
		{ "RET=FULL,HDRS", "501 5.5.4" },
		{ "ENVID=", "501 5.5.4" },
		{ "ENVID=a=b", "501 5.5.4" },
		{ "ENVID=a+2", "501 5.5.4" },
		{ "ENVID=a+", "501 5.5.4" },
		{ "ENVID=a+2G", "501 5.5.4" },
		{ "ENVID=a+0D+0ABcc:", "501 5.5.4" },
		{ "ENVID=a+7f", "501 5.5.4" },
		{ "ENVID=\x01", "501 5.5.4" },
		{ "ENVID=\xc3\xbc", "501 5.5.4" },
		{ "ENVID=" + std::string(101, 'x'), "501 5.5.4" },
		{ "FOO", "555 5.5.4" },
		{ "FOO=bar", "555 5.5.4" },
		{ "=", "555 5.5.4" },
		{ "=1", "555 5.5.4" },
		{ "SIZE=1 AUTH=<>", "555 5.5.4" },
		{ "NOTIFY=NEVER", "555 5.5.4" },
		{ "\x01", "555 5.5.4" },
	}));
	CAPTURE(tried.parameters);
	CHECK(parsed_mail("FROM:<a@b> " + tried.parameters).code == tried.code);
}

TEST_CASE("what is not offered is unknown", "[front][command]")
{
	const auto parameter = GENERATE(as<std::string>(), "RET=FULL", "ENVID=x");
	CHECK(parsed_mail("FROM:<> " + parameter, true, false).code == "555 5.5.4");
	CHECK(parsed_mail("FROM:<> SMTPUTF8", false).code == "555 5.5.4");
	CHECK(parsed_rcpt("TO:<a@b> NOTIFY=NEVER", false, false).code == "555 5.5.4");
	CHECK(parsed_rcpt("TO:<a@b> ORCPT=rfc822;a", false, false).code == "555 5.5.4");
}

TEST_CASE("the parameters of RCPT are kept", "[front][command]")
{
	const parsed_rcpt all("TO:<a@b> NOTIFY=success,DELAY,FAILURE ORCPT=rfc822;a+40b@c");
	REQUIRE(all.is_good);
	CHECK(all.recipient.notify ==
	      (ENVELOPE_NOTIFY_SUCCESS | ENVELOPE_NOTIFY_FAILURE | ENVELOPE_NOTIFY_DELAY));
	CHECK(std::string(all.recipient.orcpt) == "rfc822;a+40b@c");
	CHECK(parsed_rcpt("TO:<a@b> NOTIFY=NEVER").recipient.notify == ENVELOPE_NOTIFY_NEVER);
	CHECK(parsed_rcpt("TO:<a@b>").recipient.notify == 0);
	CHECK(parsed_rcpt("TO:<a@b> ORCPT=rfc822;" + std::string(493, 'x')).is_good);
	/* Xtext may be empty (RFC 3461, 4). */
	CHECK(std::string(parsed_rcpt("TO:<a@b> ORCPT=rfc822;").recipient.orcpt) == "rfc822;");
	CHECK(parsed_rcpt("TO:<a@b> ORCPT=utf-8;\xc3\xbc@b", true).is_good);
	CHECK(parsed_rcpt("TO:<a@b> ORCPT=utf-8;\\x{FC}@b").is_good);
}

TEST_CASE("wrong parameters of RCPT are refused", "[front][command]")
{
	struct row {
		std::string parameters;
		const char *code;
	};
	const row tried = GENERATE(values<row>({
		{ "NOTIFY", "501 5.5.4" },
		{ "NOTIFY=", "501 5.5.4" },
		{ "NOTIFY=,", "501 5.5.4" },
		{ "NOTIFY=DELAY,", "501 5.5.4" },
		{ "NOTIFY=NEVER,DELAY", "501 5.5.4" },
		{ "NOTIFY=DELAY,NEVER", "501 5.5.4" },
		{ "NOTIFY=DELAY NOTIFY=DELAY", "501 5.5.4" },
		{ "NOTIFY=ALWAYS", "501 5.5.4" },
		{ "ORCPT=", "501 5.5.4" },
		{ "ORCPT=a@b", "501 5.5.4" },
		{ "ORCPT=;a@b", "501 5.5.4" },
		{ "ORCPT=rfc 822;a", "501 5.5.4" },
		{ "ORCPT=rfc@822;a", "501 5.5.4" },
		{ "ORCPT=rfc822;a=b", "501 5.5.4" },
		{ "ORCPT=rfc822;a+0", "501 5.5.4" },
		{ "ORCPT=rfc822;a+0A", "501 5.5.4" },
		{ "ORCPT=rfc822;\xc3\xbc", "501 5.5.4" },
		{ "ORCPT=rfc822;" + std::string(494, 'x'), "501 5.5.4" },
		{ "SIZE=1", "555 5.5.4" },
		{ "SMTPUTF8", "555 5.5.4" },
	}));
	CAPTURE(tried.parameters);
	CHECK(parsed_rcpt("TO:<a@b> " + tried.parameters).code == tried.code);
}

TEST_CASE("a chunk has a size of 64 bits", "[front][command]")
{
	struct row {
		std::string text;
		uint64_t size;
		bool is_last;
	};
	const row tried = GENERATE(values<row>({
		{ "0", 0, false },
		{ "0 LAST", 0, true },
		{ "0086", 86, false },
		{ "1000  last", 1000, true },
		{ "9223372036854775807", INT64_MAX, false },
		{ "9223372036854775808 LAST", 9223372036854775808U, true },
		{ "18446744073709551615", UINT64_MAX, false },
	}));
	CAPTURE(tried.text);
	const exact line = exactly(tried.text);
	uint64_t size = 4711;
	bool is_last = !tried.is_last;
	REQUIRE(command_parse_bdat(line.data(), line.size(), &size, &is_last));
	CHECK(size == tried.size);
	CHECK(is_last == tried.is_last);
}

TEST_CASE("a HELO is any text, without bytes that could do harm", "[front][command]")
{
	struct said {
		std::string text;
		std::string taken;
	};
	const std::string longest(ENVELOPE_HELO_MAX, 'h');
	const auto tried = GENERATE_REF(values<said>({
		{ "[IPv6:2001:db8::1]", "[IPv6:2001:db8::1]" },
		{ "my_pc%~!=+,", "my_pc%~!=+," },
		{ longest, longest },
		{ "a b\x01\x7f\xc3\xbc", "a?b????" },
		{ "<a>(b)\\\";@", "?a??b?????" },
		{ std::string("\0\t", 2), "??" },
	}));
	char taken[ENVELOPE_HELO_MAX + 1];
	const exact line = exactly(tried.text);
	REQUIRE(command_take_helo(line.data(), line.size(), taken));
	CHECK(std::string(taken) == tried.taken);
	CHECK_FALSE(command_take_helo("", 0, taken));
	CHECK_FALSE(command_take_helo((longest + "h").data(), longest.size() + 1, taken));
	CHECK(std::string(taken) == tried.taken);
}

TEST_CASE("XCLIENT tells what it names", "[front][xclient]")
{
	struct xclient made = {};
	REQUIRE(parse_xclient("NAME=spike.example.org ADDR=168.100.189.2 port=25  PROTO=ESMTP "
			      "HELO=a+20+22b LOGIN=u+40x DESTADDR=IPV6:2001:db8::1 DESTPORT=65535",
			      &made) == nullptr);
	CHECK(made.named == 255);
	CHECK(made.known == 255);
	CHECK(text_of(made.client_addr) == "168.100.189.2");
	CHECK(made.client_port == 25);
	CHECK(text_of(made.local_addr) == "2001:db8::1");
	CHECK(made.local_port == 65535);
	REQUIRE(parse_xclient("NAME=[TEMPUNAVAIL] ADDR=[UNAVAILABLE] proto=smtp", &made) ==
		nullptr);
	CHECK(made.named == (1U << XCLIENT_NAME | 1U << XCLIENT_ADDR | 1U << XCLIENT_PROTO));
	CHECK(made.known == 1U << XCLIENT_PROTO);
	CHECK(parse_xclient("ADDR=2001:db8::2", &made) == nullptr);
	CHECK(parse_xclient("ADDR=ipv6:::ffff:192.0.2.1", &made) == nullptr);
	CHECK(text_of(made.client_addr) == "192.0.2.1");
}

TEST_CASE("XCLIENT with anything wrong changes nothing", "[front][xclient]")
{
	const auto text = GENERATE_COPY(
		as<std::string>(), "", " ", "NAME", "NAME=", "=x", "FOO=x", "NAME=a NAME=b",
		"NAME=a FOO=b", "NAME=+2", "ADDR=x", "ADDR=1.2.3",
		"ADDR=IPV6:", "ADDR=IPV6:192.0.2.1", "ADDR=IPV6:[::1]", "PORT=-1", "PORT=65536",
		"PORT=100000", "PORT=025", "PORT=+2D", "PORT=x", "HELO=+0", "HELO=+", "HELO=+00",
		"HELO=+0g", "HELO=" + std::string(256, 'h'), "LOGIN=" + times(256, "+41"),
		"DESTPORT=", "DESTADDR=[TEMPUNAVAIL", "ADDR=192.0.2.1\t");
	CAPTURE(text);
	struct xclient made = {};
	made.named = 4711;
	CHECK(parse_xclient(text, &made) != nullptr);
	CHECK(made.named == 4711);
	CHECK(parse_xclient("LOGIN=" + times(255, "+41"), &made) == nullptr);
}
