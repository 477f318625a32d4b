// SPDX-License-Identifier: GPL-3.0-or-later
// What a next hop is told of a mail and its client, by what it offers.
#include "tests/unit/smtp-front/session/scripted_hop.hh"

TEST_CASE("parameters of MAIL and RCPT are passed on where the next hop offers them",
	  "[front][sink]")
{
	scripted_hop hop({ { FINE, true } });
	hop_fixture sink(hop);
	envelope envelope = {};
	std::strcpy(envelope.sender, "s\xc3\xa4nder@example.net");
	envelope.size_bytes = 1234;
	envelope.body = ENVELOPE_8BITMIME;
	envelope.is_utf8 = true;
	envelope.ret = ENVELOPE_RET_HDRS;
	std::strcpy(envelope.envid, "QQ+2B");
	struct recipient recipient = {};
	std::strcpy(recipient.address, "john@example.org");
	recipient.notify = ENVELOPE_NOTIFY_SUCCESS | ENVELOPE_NOTIFY_DELAY;
	std::strcpy(recipient.orcpt, "rfc822;john+2B@example.org");
	REQUIRE(sink.mail(envelope));
	REQUIRE(sink_recipient(sink.it, &recipient, nullptr, &sink.reply));
	REQUIRE(sink.data("mail\r\n"));
	const std::string told = sink.told();
	CHECK(told.find("MAIL FROM:<s\xc3\xa4nder@example.net> SIZE=1234 BODY=8BITMIME SMTPUTF8"
			" RET=HDRS ENVID=QQ+2B\r\n") != std::string::npos);
	CHECK(told.find("RCPT TO:<john@example.org> NOTIFY=SUCCESS,DELAY"
			" ORCPT=rfc822;john+2B@example.org\r\n") != std::string::npos);
}

TEST_CASE("the longest envelope is replayed whole", "[front][sink]")
{
	scripted_hop hop({ { FINE, true } });
	hop_fixture sink(hop);
	envelope envelope = {};
	std::memset(envelope.sender, 's', ENVELOPE_ADDRESS_MAX);
	envelope.size_bytes = UINT64_MAX;
	envelope.body = ENVELOPE_8BITMIME;
	envelope.is_utf8 = true;
	envelope.ret = ENVELOPE_RET_FULL;
	std::memset(envelope.envid, 'e', ENVELOPE_ENVID_MAX);
	struct recipient recipient = {};
	std::memset(recipient.address, 'r', ENVELOPE_ADDRESS_MAX);
	recipient.notify = ENVELOPE_NOTIFY_ALL;
	std::memset(recipient.orcpt, 'o', ENVELOPE_ORCPT_MAX);
	REQUIRE(sink.mail(envelope));
	REQUIRE(sink_recipient(sink.it, &recipient, nullptr, &sink.reply));
	REQUIRE(sink.data("mail\r\n"));
	const std::string told = sink.told();
	CHECK(told.find(" ENVID=" + std::string(ENVELOPE_ENVID_MAX, 'e') + "\r\n") !=
	      std::string::npos);
	CHECK(told.find("NOTIFY=NEVER,SUCCESS,FAILURE,DELAY ORCPT=" +
			std::string(ENVELOPE_ORCPT_MAX, 'o') + "\r\n") != std::string::npos);
}

TEST_CASE("a missing offer refuses a mail that needs it, else the parameter is left out",
	  "[front][sink]")
{
	std::vector<std::string> plain = FINE;
	plain[1] = "250 hop.example\r\n";
	scripted_hop hop({ { plain, true } });
	hop_fixture sink(hop);
	envelope envelope = {};
	envelope.body = ENVELOPE_8BITMIME;
	CHECK_FALSE(sink.mail(envelope));
	CHECK(sink.said().substr(0, 9) == "554 5.6.3");
	envelope.body = ENVELOPE_7BIT;
	envelope.is_utf8 = true;
	CHECK_FALSE(sink.mail(envelope));
	CHECK(sink.said().substr(0, 9) == "550 5.6.7");
	envelope.is_utf8 = false;
	envelope.size_bytes = 1234;
	envelope.ret = ENVELOPE_RET_FULL;
	CHECK(sink.mail(envelope));
	CHECK(sink.told().find("MAIL FROM:<>\r\n") != std::string::npos);
}

TEST_CASE("a server that knows no EHLO is told HELO", "[front][sink]")
{
	std::vector<std::string> old = FINE;
	old[1] = "502 What?\r\n";
	old.insert(old.begin() + 2, "250 hop\r\n");
	scripted_hop hop({ { old, true } });
	hop_fixture sink(hop);
	CHECK(sink.deliver());
	CHECK(sink.told().find("HELO mx.example.org\r\nMAIL") != std::string::npos);
}

TEST_CASE("a server that refuses EHLO offers nothing, whatever it says", "[front][sink]")
{
	std::vector<std::string> old = FINE;
	old[1] = "502-What?\r\n502-SMTPUTF8\r\n502 Really?\r\n";
	old.insert(old.begin() + 2, "250 hop\r\n");
	scripted_hop hop({ { old, true } });
	hop_fixture sink(hop);
	envelope envelope = {};
	envelope.is_utf8 = true;
	CHECK_FALSE(sink.mail(envelope));
	CHECK(sink.said().substr(0, 9) == "550 5.6.7");
}

// ---- who the client is ----

TEST_CASE("XCLIENT tells what is offered in one command, and the client's EHLO follows it",
	  "[front][sink]")
{
	std::vector<std::string> telling = { "220 hop\r\n", EHLO, "220 hop\r\n", EHLO };
	telling.insert(telling.end(), FINE.begin() + 2, FINE.end());
	scripted_hop hop({ { telling, true } });
	hop_fixture sink(hop, SETUP_SINK_SMTP, SETUP_TELL_XCLIENT);
	REQUIRE(dnsblv6_ip_parse("2001:db8::7", &sink.session.facts.client_ip) == 0);
	sink.session.helo = "a=b+\xc3\xa4";
	CHECK(sink.deliver());
	CHECK(sink.trouble().empty());
	CHECK(sink.told().find("EHLO mx.example.org\r\n"
			       "XCLIENT PORT=40112 PROTO=ESMTP HELO=a+3Db+2B+C3+A4"
			       " NAME=[UNAVAILABLE] ADDR=IPV6:2001:db8::7\r\n"
			       "EHLO a=b+\xc3\xa4\r\nMAIL FROM") != std::string::npos);
}

TEST_CASE("XCLIENT that is too long for a line becomes two, and the address is in the last",
	  "[front][sink]")
{
	std::vector<std::string> telling = { "220 hop\r\n", EHLO,	   "220 hop\r\n",
					     EHLO,	    "220 hop\r\n", EHLO };
	telling.insert(telling.end(), FINE.begin() + 2, FINE.end());
	scripted_hop hop({ { telling, true } });
	hop_fixture sink(hop, SETUP_SINK_SMTP, SETUP_TELL_XCLIENT);
	const std::string helo(150, '+'); // three octets each
	sink.session.helo = helo.c_str();
	CHECK(sink.deliver());
	const std::string told = sink.told();
	size_t at = told.find("XCLIENT PORT=40112 PROTO=ESMTP HELO=+2B");
	REQUIRE(at != std::string::npos);
	CHECK(told.find("\r\n", at) + 2 - at <= 512);
	CHECK(told.find("\r\nEHLO mx.example.org\r\nXCLIENT NAME=[UNAVAILABLE]"
			" ADDR=192.0.2.7\r\nEHLO +++") != std::string::npos);
}

TEST_CASE("a next hop that was told of the client refuses its HELO in the session", "[front][sink]")
{
	struct sample {
		setup_tell tell;
		const char *said;
	};
	const auto how =
		GENERATE(sample{ SETUP_TELL_PROXY2, "550 5.7.1 No such host" },
			 sample{ SETUP_TELL_NONE,
				 "451 4.4.1 Mail system is out of reach; try again later" });
	const std::string no = "550 5.7.1 No such host\r\n";
	scripted_hop hop(
		{ { { "220 hop\r\n", no, no }, true, how.tell == SETUP_TELL_NONE ? 0U : 28U } });
	hop_fixture sink(hop, SETUP_SINK_SMTP, how.tell);
	CHECK_FALSE(sink.mail());
	CHECK(sink.said() == how.said);
	CHECK(sink.trouble().empty() == (how.tell == SETUP_TELL_PROXY2));
}

TEST_CASE("a client that says HELO anew is told anew", "[front][sink]")
{
	scripted_hop hop({ { FINE, true, 28 }, { FINE, true, 28 } });
	hop_fixture sink(hop, SETUP_SINK_SMTP, SETUP_TELL_PROXY2);
	char helo[] = "first.example.net";
	sink.session.helo = helo;
	CHECK(sink.deliver());
	std::strcpy(helo, "other.example.net");
	CHECK(sink.deliver());
	const std::string told = sink.told();
	CHECK(told.find("EHLO first.example.net\r\n") != std::string::npos);
	CHECK(told.find("EHLO other.example.net\r\n") > told.find("QUIT\r\n"));
}

TEST_CASE("XCLIENT that is refused takes the mail with it, one that is not offered does not",
	  "[front][sink]")
{
	SECTION("refused")
	{
		scripted_hop hop({ { { "220 hop\r\n", EHLO, "550 5.7.0 Not you\r\n" }, false } });
		hop_fixture sink(hop, SETUP_SINK_SMTP, SETUP_TELL_XCLIENT);
		CHECK_FALSE(sink.mail());
		CHECK(sink.reply.code == 451);
		CHECK(sink.trouble() == "XCLIENT: 550 5.7.0 Not you");
	}
	SECTION("not offered")
	{
		std::vector<std::string> plain = FINE;
		plain[1] =
			GENERATE("250 hop.example\r\n", "250-hop.example\r\n250 XCLIENT LOGIN\r\n");
		scripted_hop hop({ { plain, true } });
		hop_fixture sink(hop, SETUP_SINK_SMTP, SETUP_TELL_XCLIENT);
		CHECK(sink.deliver());
		CHECK(sink.trouble().empty());
		CHECK(std::string(sink_remark(sink.it)) ==
		      "XCLIENT: not offered, so the client is not told");
		CHECK(sink_remark(sink.it) == nullptr);
	}
}

TEST_CASE("a PROXY header comes before everything, with one family for both ends", "[front][sink]")
{
	scripted_hop hop({ { FINE, true } });
	hop_fixture sink(hop, SETUP_SINK_SMTP, SETUP_TELL_PROXY);
	SECTION("IPv4")
	{
		sink.mail();
		CHECK_THAT(sink.told(),
			   Catch::StartsWith("PROXY TCP4 192.0.2.7 198.51.100.25 40112 25\r\n"));
	}
	SECTION("both")
	{
		REQUIRE(dnsblv6_ip_parse("2001:db8::7", &sink.session.facts.client_ip) == 0);
		sink.mail();
		CHECK_THAT(sink.told(), Catch::StartsWith("PROXY TCP6 2001:db8::7"
							  " ::ffff:198.51.100.25 40112 25\r\n"));
	}
}

TEST_CASE("a PROXY header of version 2 has the same in bytes", "[front][sink]")
{
	using namespace std::string_literals;
	const std::string signature = "\r\n\r\n\0\r\nQUIT\n\x21"s;
	const bool is_ipv6 = GENERATE(false, true);
	scripted_hop hop({ { FINE, true, is_ipv6 ? 52U : 28U } });
	hop_fixture sink(hop, SETUP_SINK_SMTP, SETUP_TELL_PROXY2);
	if (is_ipv6)
		REQUIRE(dnsblv6_ip_parse("2001:db8::7", &sink.session.facts.client_ip) == 0);
	CHECK(sink.mail());
	const std::string told = sink.told();
	if (is_ipv6)
		CHECK_THAT(told,
			   Catch::StartsWith(signature +
					     "\x21\0\x24\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07"
					     "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc6\x33\x64\x19"
					     "\x9c\xb0\0\x19"
					     "EHLO "s));
	else
		CHECK_THAT(told, Catch::StartsWith(signature + "\x11\0\x0c\xc0\x00\x02\x07"
							       "\xc6\x33\x64\x19\x9c\xb0\0\x19"
							       "EHLO "s));
}
