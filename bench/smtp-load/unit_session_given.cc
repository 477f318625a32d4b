// SPDX-License-Identifier: GPL-3.0-or-later
// Sessions with a mail of the caller's own, and TLS in the middle of one.
#include "bench/smtp-load/session.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace
{

// A mail of so many bytes, for three recipients.
struct given {
	std::string text;
	std::vector<int> codes = { 0, 0, 0 };
};

const session_source source = {
	[](const void *mail) { return static_cast<const given *>(mail)->text.size(); },
	[](const void *mail, size_t offset, char *ret_bytes, size_t room) {
		return static_cast<const given *>(mail)->text.copy(ret_bytes, room, offset);
	},
	[](const void *, unsigned index, char *ret_address) {
		std::snprintf(ret_address, SESSION_TEXT_MAX, "to%u@example.com", index);
	},
	[](const void *) { return "from@example.net"; },
	[](void *mail, unsigned index, int code) {
		static_cast<given *>(mail)->codes.at(index) = code;
	},
};

session_rules rules_of(bool has_starttls = false)
{
	session_rules rules = {};
	std::strcpy(rules.helo, "client.example.net");
	rules.has_pipelining = true;
	rules.has_starttls = has_starttls;
	rules.source = &source;
	return rules;
}

// A session that is heard and told in pieces of so many bytes.
class talk
{
      public:
	talk(const session_rules &rules, given &mail, size_t chunk)
	    : rules_(rules), chunk_(chunk), buffer_(SESSION_OUTPUT_MAX)
	{
		trace_session plan = {};
		plan.recipients = 3;
		session_begin(&session, &rules_, &plan);
		session_give(&session, &mail);
	}

	std::string say()
	{
		std::string said;
		while (const size_t size = session_output(&session, &rules_, buffer_.data())) {
			const size_t taken = std::min(size, chunk_);
			said.append(buffer_.data(), taken);
			session_sent(&session, taken);
		}
		return said;
	}

	session_status hear(const std::string &text)
	{
		return session_input(&session, &rules_, text.data(), text.size());
	}

	void secured()
	{
		session_secured(&session, &rules_);
	}

	struct session session;

      private:
	session_rules rules_;
	size_t chunk_;
	std::vector<char> buffer_;
};

const char offer[] = "250-mx\r\n250-STARTTLS\r\n250 PIPELINING\r\n";

} // namespace

TEST_CASE("a session sends the mail that it is given, however it is cut", "[smtp-load][session]")
{
	const size_t size = GENERATE(2, 100, SESSION_OUTPUT_MAX - 3, SESSION_OUTPUT_MAX - 2,
				     SESSION_OUTPUT_MAX, 3 * SESSION_OUTPUT_MAX);
	const size_t chunk = GENERATE(1000, 1 << 20);
	CAPTURE(size, chunk);
	given mail;
	mail.text = std::string(size - 2, 'x') + "\r\n";
	talk one(rules_of(), mail, chunk);
	one.hear("220 mx\r\n");
	CHECK(one.say() == "EHLO client.example.net\r\n");
	one.hear(offer);
	CHECK(one.say() == "MAIL FROM:<from@example.net>\r\nRCPT TO:<to0@example.com>\r\n"
			   "RCPT TO:<to1@example.com>\r\nRCPT TO:<to2@example.com>\r\nDATA\r\n");
	one.hear("250 ok\r\n250 ok\r\n550 no\r\n250 ok\r\n354 go on\r\n");
	CHECK(mail.codes == std::vector<int>{ 250, 550, 250 });
	CHECK(one.say() == mail.text + ".\r\n");
	one.hear("250 ok\r\n");
	CHECK(one.session.outcome == SESSION_DELIVERED);
}

TEST_CASE("where no recipient was taken there is a dot alone, whatever the mail",
	  "[smtp-load][session]")
{
	given mail;
	mail.text = "Subject: x\r\n\r\nx\r\n";
	talk one(rules_of(), mail, 1 << 20);
	one.hear("220 mx\r\n");
	one.say();
	one.hear(offer);
	one.say();
	one.hear("250 ok\r\n550 no\r\n550 no\r\n550 no\r\n354 go on\r\n");
	CHECK(one.say() == ".\r\n");
}

TEST_CASE("TLS begins behind the first EHLO, and all is said once more", "[smtp-load][session]")
{
	given mail;
	mail.text = "Subject: x\r\n\r\nx\r\n";
	talk one(rules_of(true), mail, 1 << 20);
	one.hear("220 mx\r\n");
	CHECK(one.say() == "EHLO client.example.net\r\n");
	CHECK(one.hear(offer) == SESSION_GOES_ON);
	CHECK(one.say() == "STARTTLS\r\n");
	CHECK(one.hear("220 go on\r\n") == SESSION_SECURE);
	one.secured();
	CHECK(one.say() == "EHLO client.example.net\r\n");
	CHECK(one.hear("250 mx\r\n") == SESSION_GOES_ON);
	CHECK(one.say() == "MAIL FROM:<from@example.net>\r\n"); // PIPELINING was said in the clear
}

TEST_CASE("a server that has no TLS, or speaks before it, ends the session", "[smtp-load][session]")
{
	given mail;
	const auto [text, outcome] = GENERATE(table<std::string, session_outcome>(
		{ { "454 not now\r\n", SESSION_DEFERRED },
		  { "502 what\r\n", SESSION_REFUSED },
		  { "220 go on\r\n250 said in the clear\r\n", SESSION_BROKEN } }));
	CAPTURE(text);
	talk one(rules_of(true), mail, 1 << 20);
	one.hear("220 mx\r\n");
	one.say();
	one.hear(offer);
	one.say();
	CHECK(one.hear(text) != SESSION_SECURE);
	CHECK(one.session.outcome == outcome);
}
