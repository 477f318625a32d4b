// SPDX-License-Identifier: GPL-3.0-or-later
// The lines of mails and of refusals: one line each, whatever comes from outside.
#include "integration/mail/smtp-front/facts/maillog.h"
#include "tests/lib/has.hh"

#include <catch2/catch.hpp>

#include <climits>
#include <cstring>
#include <memory>
#include <string>

namespace
{

struct lines {
	maillog_session session = {};
	struct maillog_mail mail = {};
	struct maillog_refusal refusal = {};
	std::unique_ptr<maillog_list> recipients = std::make_unique<maillog_list>();

	lines()
	{
		REQUIRE(dnsblv6_ip_parse("192.0.2.7", &session.facts.client_ip) == 0);
		session.helo = "mail.example.net";
		session.sender = "a@example.net";
		maillog_list_clear(recipients.get());
		mail.what = "accepted";
		mail.number = 1;
		mail.recipients = recipients.get();
		mail.size_bytes = 1234;
		mail.message_id = "<1@example.net>";
		refusal.what = "recipient";
		refusal.reply = "550 5.1.1 No such user here\r\n";
	}
	std::string of_mail()
	{
		char text[LOG_LINE_MAX];
		maillog_format_mail(&session, &mail, text);
		return text;
	}
	std::string of_refusal()
	{
		char text[LOG_LINE_MAX];
		const size_t size = maillog_format_refusal(&session, &refusal, text);
		REQUIRE(size == std::strlen(text));
		return text;
	}
};

} // namespace

TEST_CASE("the line of a mail has sender, recipients, the mail and the next hop's reply",
	  "[front][maillog]")
{
	lines line;
	maillog_list_add(line.recipients.get(), "bob@example.org");
	line.mail.reply = "250 2.0.0 Ok: queued as 4XyZ\r\n";
	CHECK(line.of_mail() ==
	      R"(mail accepted, number=1 client=192.0.2.7 helo="mail.example.net")"
	      R"( from="a@example.net" to="bob@example.org" recipients=1 size=1234)"
	      R"( message_id="<1@example.net>" reply="250 2.0.0 Ok: queued as 4XyZ")"
	      R"( queue_id="4XyZ")");
}

TEST_CASE("the line of a refusal has sender, recipient and reason", "[front][maillog]")
{
	lines line;
	line.refusal.recipient = "eve@example.org";
	line.refusal.zones = "bl.example";
	line.refusal.reason = "verdict";
	CHECK(line.of_refusal() ==
	      R"(recipient refused, client=192.0.2.7 helo="mail.example.net" from="a@example.net")"
	      R"( to="eve@example.org" zones="bl.example" reply="550 5.1.1 No such user here")"
	      R"( (verdict))");
}

TEST_CASE("a queue's name for a mail is found in what mail servers say", "[front][maillog]")
{
	struct sample {
		const char *reply;
		const char *id;
	};
	const auto sample = GENERATE(values<struct sample>({
		{ "250 2.0.0 Ok: queued as 4XyZ12\r\n", R"(queue_id="4XyZ12")" },
		{ "250 2.0.0 Ok: queued as 0123456789A.\r\n", R"(queue_id="0123456789A.")" },
		{ "250 2.0.0 OK id=1vMtQ5-00001X-2b\r\n", R"(queue_id="1vMtQ5-00001X-2b")" },
		{ "250 2.0.0 5AN3SxYh012 Message accepted for delivery\r\n",
		  R"(queue_id="5AN3SxYh012")" },
		{ "250 2.0.0 <bob@example.org> 0jGK+Q Saved\r\n", R"(queue_id="0jGK+Q")" },
		// The second mail of a session has a name of its own.
		{ "250 2.0.0 <bob@example.org> 0jGK+Q:T2 Saved\r\n", R"(queue_id="0jGK+Q:T2")" },
		{ "250 2.0.0 Ok: delivered\r\n", nullptr },
		{ "250 2.0.0 queued as \r\n", nullptr },
		{ "451 4.3.0 queued as X for ever\r\n", nullptr },
	}));
	CAPTURE(sample.reply);
	lines line;
	line.mail.reply = sample.reply;
	CHECK(has(line.of_mail(), "queue_id=") == (sample.id != nullptr));
	CHECK((sample.id == nullptr || has(line.of_mail(), sample.id)));
}

TEST_CASE("an address in UTF-8 is shown as such, and what is not one as bytes", "[front][maillog]")
{
	struct sample {
		const char *address;
		const char *shown;
	};
	const auto sample = GENERATE(values<struct sample>({
		{ "j\xc3\xbcrgen@b\xc3\xbc"
		  "cher.example",
		  "\"j\xc3\xbcrgen@b\xc3\xbc"
		  "cher.example\"" },
		{ "\xe7\x94\xa8\xe6\x88\xb7@example.org",
		  "\"\xe7\x94\xa8\xe6\x88\xb7@example.org\"" },
		{ "a\xff\xc3@x", R"("a\xff\xc3@x")" },
		{ "a\xc2\x85\x1b\n@x", R"("a\xc2\x85\x1b\x0a@x")" },
		{ "a\xe2\x80\xae@x", R"("a\xe2\x80\xae@x")" },
		{ "a\xe2\x81\xa6@x", R"("a\xe2\x81\xa6@x")" },
		{ "\"a\\\" b\"@x", R"("\x22a\x5c\x22 b\x22@x")" },
	}));
	CAPTURE(sample.address);
	lines line;
	line.refusal.recipient = sample.address;
	CHECK(has(line.of_refusal(), std::string(" to=") + sample.shown + " "));
}

TEST_CASE("a long text is cut between two characters, and that can be seen", "[front][maillog]")
{
	lines line;
	std::string address = "a";
	for (int i = 0; i < 100; i++)
		address += "\xc3\xbc";
	line.refusal.recipient = address.c_str();
	CHECK(has(line.of_refusal(), " to=\"" + address.substr(0, 127) + "...\" "));
}

TEST_CASE("all lines of a reply are one, without the end of the session", "[front][maillog]")
{
	lines line;
	line.refusal.reply = "550-5.7.1 Blocked\r\n550-5.7.1 See\r\n550 5.7.1 there\r\n"
			     "421 4.7.0 mx.example.org too many errors\r\n";
	CHECK(has(line.of_refusal(), R"( reply="550 5.7.1 Blocked 5.7.1 See 5.7.1 there")"));
}

TEST_CASE("recipients that do not fit into the line of the mail are counted in it",
	  "[front][maillog]")
{
	lines line;
	for (int i = 0; i < 5000; i++)
		maillog_list_add(line.recipients.get(),
				 ("user" + std::to_string(i) + "@example.org").c_str());
	const std::string text = line.of_mail();
	CHECK(has(text, R"( to="user0@example.org" to="user1@example.org" )"));
	CHECK(has(text, " recipients=5000 "));
	CHECK(line.recipients->size <= sizeof(line.recipients->bytes));
}

TEST_CASE("the longest lines fit into one of the log", "[front][maillog]")
{
	const std::string bad(2000, '\xff');
	const std::string reply = "250 2.0.0 queued as " + std::string(900, 'x') + "\r\n";
	lines line;
	std::memset(&line.session.facts.client_ip, 0xff, sizeof(line.session.facts.client_ip));
	line.session.helo = line.session.sender = line.mail.message_id = line.refusal.zones =
		bad.c_str();
	line.mail.what = "accepted";
	line.mail.number = UINT_MAX;
	line.mail.size_bytes = UINT64_MAX;
	line.mail.reply = line.refusal.reply = reply.c_str();
	line.mail.reason = line.refusal.reason = "too_large";
	maillog_list_add(line.recipients.get(), bad.c_str());
	line.recipients->count = UINT_MAX;
	const size_t around = std::strlen("info: [0123456789ab] \n");
	CHECK(has(line.of_mail(), "(too_large)"));
	CHECK(line.of_mail().size() + around < LOG_LINE_MAX - 1);
	line.refusal.recipient = bad.c_str();
	CHECK(has(line.of_refusal(), "(too_large)"));
	CHECK(line.of_refusal().size() + around < LOG_LINE_MAX - 1);
	line.refusal.recipient = nullptr;
	line.refusal.command = bad.c_str();
	line.refusal.command_size = bad.size();
	line.refusal.zones = nullptr;
	CHECK(has(line.of_refusal(), "(too_large)"));
	CHECK(line.of_refusal().size() + around < LOG_LINE_MAX - 1);
}
