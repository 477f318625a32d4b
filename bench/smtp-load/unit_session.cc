// SPDX-License-Identifier: GPL-3.0-or-later
// What a client says, to servers of all kinds, however its bytes are cut.
#include "bench/smtp-load/message.h"
#include "bench/smtp-load/session.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace
{

session_rules default_rules()
{
	session_rules rules = {};
	std::strcpy(rules.helo, "client.example.net");
	std::strcpy(rules.sender, "sender@example.net");
	REQUIRE(session_parse_template("user%d@example.com", &rules.valid) == 0);
	REQUIRE(session_parse_template("nouser%d@example.com", &rules.invalid) == 0);
	rules.users = 1000;
	return rules;
}

trace_session plan_of(trace_kind kind, unsigned recipients)
{
	trace_session plan = {};
	plan.kind = kind;
	plan.recipients = recipients;
	plan.first_user = 7;
	plan.size_bytes = 100;
	return plan;
}

dnsblv6_addr addr_of(const std::string &text)
{
	dnsblv6_addr addr;
	REQUIRE(dnsblv6_addr_parse(text.data(), text.size(), &addr) == 0);
	return addr;
}

// What a server says to a line; "" when nothing.
using server = std::function<std::string(const std::string &)>;

std::string friendly(const std::string &line)
{
	if (line.rfind("EHLO", 0) == 0)
		return "250-mx.example.com\r\n250-PIPELINING\r\n250 SIZE 1000\r\n";
	if (line == "DATA")
		return "354 go on\r\n";
	if (line == "QUIT")
		return "221 bye\r\n";
	if (line.rfind("XCLIENT", 0) == 0)
		return "220 mx.example.com\r\n";
	return "250 ok\r\n";
}

// One that has no nouser*.
std::string strict(const std::string &line)
{
	return line.rfind("RCPT TO:<nouser", 0) == 0 ? "550 no such user\r\n" : friendly(line);
}

// A session against a server, over a connection that takes and gives so many bytes at a time.
struct played {
	std::string said;		  // by the client, all of it
	std::vector<std::string> flights; // and what of it without waiting
	struct session session;
	bool is_over = false;
};

class player
{
      public:
	player(const session_rules &rules, const trace_session &plan, server server,
	       size_t chunk = 4096)
	    : rules_(rules), server_(std::move(server)), chunk_(chunk), buffer_(SESSION_OUTPUT_MAX)
	{
		session_begin(&played_.session, &rules_, &plan);
	}

	played run(const std::string &greeting = "220 mx.example.com ESMTP\r\n")
	{
		talk();
		hear(greeting);
		for (unsigned turn = 0; turn < 1000 && !played_.is_over; turn++) {
			const size_t before = played_.said.size();
			talk();
			if (played_.said.size() == before)
				break;
			played_.flights.push_back(played_.said.substr(before));
			answer();
		}
		return played_;
	}

      private:
	void talk()
	{
		for (;;) {
			const size_t size =
				session_output(&played_.session, &rules_, buffer_.data());
			if (size == 0)
				return;
			const size_t taken = std::min(size, chunk_);
			played_.said.append(buffer_.data(), taken);
			session_sent(&played_.session, taken);
		}
	}

	void hear(const std::string &text)
	{
		for (size_t at = 0; at < text.size() && !played_.is_over; at += chunk_) {
			const std::string part = text.substr(at, chunk_);
			played_.is_over = session_input(&played_.session, &rules_, part.data(),
							part.size()) == SESSION_OVER;
		}
	}

	void answer()
	{
		std::string replies;
		for (size_t end; (end = played_.said.find("\r\n", at_)) != std::string::npos;
		     at_ = end + 2) {
			const std::string line = played_.said.substr(at_, end - at_);
			if (in_message_ && line != ".")
				continue;
			const std::string reply = server_(line);
			in_message_ = line == "DATA" && reply[0] == '3';
			replies += reply;
		}
		hear(replies);
	}

	session_rules rules_;
	server server_;
	size_t chunk_;
	std::vector<char> buffer_;
	size_t at_ = 0;
	bool in_message_ = false;
	played played_;
};

played play(const session_rules &rules, const trace_session &plan, server server = strict)
{
	return player(rules, plan, std::move(server)).run();
}

std::string message_of(size_t size, uint64_t number = 0)
{
	std::string text(message_wire_size(size), '\0');
	REQUIRE(message_copy(number, size, 0, &text[0], text.size() + 10) == text.size());
	return text;
}

} // namespace

// ---- replies ----

TEST_CASE("a session pipelines when its server says the word, and says it alone",
	  "[smtp-load][reply]")
{
	const auto [text, has] =
		GENERATE(table<std::string, bool>({ { "250-mx\r\n250 PIPELINING\r\n", true },
						    { "250-mx\n250 pipelining\n", true },
						    { "250-mx\r\n250 PIPELININGS\r\n", false },
						    { "250 PIPELINING\r\n", false },
						    { "250-mx\r\n250 X\r\n", false } }));
	CAPTURE(text);
	const server server = [text = text](const std::string &line) {
		return line.rfind("EHLO", 0) == 0 ? text : friendly(line);
	};
	session_rules rules = default_rules();
	rules.has_pipelining = true;
	const played played = play(rules, plan_of(TRACE_MAIL, 1), server);
	CHECK(played.session.has_server_piping == has);
	CHECK(played.session.outcome == SESSION_DELIVERED);
}

TEST_CASE("a session ends with what is no reply", "[smtp-load][reply]")
{
	const auto text = GENERATE(as<std::string>(), "\r\n", "HTTP/1.1 400\r\n", "999 no\r\n",
				   "250-a\r\n550 b\r\n");
	CAPTURE(text);
	const server server = [&text](const std::string &) { return text; };
	CHECK(play(default_rules(), plan_of(TRACE_MAIL, 1), server).session.outcome ==
	      SESSION_BROKEN);
}

// ---- messages ----

TEST_CASE("a message of any size has that size, whole lines and one dot", "[smtp-load][message]")
{
	for (size_t size = MESSAGE_SIZE_MIN; size < 400; size++) {
		const std::string text = message_of(size, 4711);
		CAPTURE(size, text);
		REQUIRE(text.size() == size + 3);
		REQUIRE(text.rfind("Subject: smtp-load 0000004711\r\n\r\n", 0) == 0);
		REQUIRE(text.find("\r\n.\r\n") == size - 2);
		for (size_t i = 0; i < text.size(); i++) {
			const bool ends = text[i] == '\r';
			REQUIRE(ends == (i + 1 < text.size() && text[i + 1] == '\n'));
		}
	}
}

TEST_CASE("any part of a message is that part of it", "[smtp-load][message]")
{
	const size_t size = GENERATE(64u, 97u, 98u, 161u, 5000u);
	const size_t room = GENERATE(1u, 7u, 64u, 4096u);
	const std::string whole = message_of(size);
	std::string parts;
	std::vector<char> part(room);
	while (const size_t got = message_copy(0, size, parts.size(), part.data(), room))
		parts.append(part.data(), got);
	CHECK(parts == whole);
}

// ---- sessions ----

TEST_CASE("a message is delivered by the commands of RFC 5321, one by one", "[smtp-load][session]")
{
	const auto done = play(default_rules(), plan_of(TRACE_MAIL, 2));
	CHECK(done.flights == std::vector<std::string>{ "EHLO client.example.net\r\n",
							"MAIL FROM:<sender@example.net>\r\n",
							"RCPT TO:<user7@example.com>\r\n",
							"RCPT TO:<user8@example.com>\r\n",
							"DATA\r\n", message_of(100), "QUIT\r\n" });
	CHECK(done.is_over);
	CHECK(done.session.outcome == SESSION_DELIVERED);
	CHECK(done.session.accepted == 2);
}

TEST_CASE("with pipelining MAIL, RCPT and DATA are one flight", "[smtp-load][session]")
{
	auto rules = default_rules();
	rules.has_pipelining = true;
	const auto done = play(rules, plan_of(TRACE_MAIL, 2));
	CHECK(done.flights == std::vector<std::string>{ "EHLO client.example.net\r\n",
							"MAIL FROM:<sender@example.net>\r\n"
							"RCPT TO:<user7@example.com>\r\n"
							"RCPT TO:<user8@example.com>\r\nDATA\r\n",
							message_of(100), "QUIT\r\n" });
	CHECK(done.session.outcome == SESSION_DELIVERED);
}

TEST_CASE("a server that does not have pipelining gets none", "[smtp-load][session]")
{
	auto rules = default_rules();
	rules.has_pipelining = true;
	const auto done = play(rules, plan_of(TRACE_MAIL, 1), [](const std::string &line) {
		return line.rfind("EHLO", 0) == 0 ? std::string("250 mx\r\n") : friendly(line);
	});
	CHECK(done.flights.size() == 6);
	CHECK(done.session.outcome == SESSION_DELIVERED);
}

TEST_CASE("a session whose recipients are all refused has bounced, and says QUIT",
	  "[smtp-load][session]")
{
	auto rules = default_rules();
	rules.has_pipelining = GENERATE(false, true);
	// RFC 2920: with pipelining DATA comes behind it, and is refused or takes a dot.
	const auto to_data =
		GENERATE(as<std::string>(), "554 no valid recipients\r\n", "354 go on\r\n");
	const auto done = play(rules, plan_of(TRACE_BOUNCE, 3), [&](const std::string &line) {
		if (line == "DATA")
			return to_data;
		return line == "." ? std::string("554 no valid recipients\r\n") : strict(line);
	});
	CAPTURE(rules.has_pipelining, to_data, done.said);
	CHECK(done.is_over);
	CHECK(done.session.outcome == SESSION_BOUNCED);
	CHECK(done.session.rejected == 3);
	CHECK(done.said.find("RCPT TO:<nouser9@example.com>\r\n") != std::string::npos);
	CHECK(done.flights.back() == "QUIT\r\n");
	CHECK(done.said.find("Subject") == std::string::npos);
}

TEST_CASE("one recipient that is accepted is enough", "[smtp-load][session]")
{
	const auto done =
		play(default_rules(), plan_of(TRACE_MAIL, 3), [](const std::string &line) {
			return line.rfind("RCPT TO:<user8", 0) == 0 ? friendly(line)
			       : line.rfind("RCPT", 0) == 0	    ? std::string("450 later\r\n")
								    : friendly(line);
		});
	CHECK(done.session.outcome == SESSION_DELIVERED);
	CHECK(done.session.accepted == 1);
	CHECK(done.session.deferred == 2);
}

TEST_CASE("a refusal is told apart by its class, wherever it comes", "[smtp-load][session]")
{
	const auto word = GENERATE(as<std::string>(), "EHLO", "MAIL", "RCPT", "DATA", ".");
	const bool is_later = GENERATE(false, true);
	auto rules = default_rules();
	rules.has_pipelining = GENERATE(false, true);
	const auto done = play(rules, plan_of(TRACE_MAIL, 2), [&](const std::string &line) {
		if (line.rfind(word, 0) == 0)
			return std::string(is_later ? "451 later\r\n" : "554 no\r\n");
		return friendly(line);
	});
	CAPTURE(word, is_later, rules.has_pipelining, done.said);
	CHECK(done.is_over);
	if (is_later)
		CHECK(done.session.outcome == SESSION_DEFERRED);
	else
		CHECK(done.session.outcome == (word == "RCPT" ? SESSION_BOUNCED : SESSION_REFUSED));
	CHECK(done.flights.back() == "QUIT\r\n");
}

TEST_CASE("a session whose server refuses at once ends with QUIT", "[smtp-load][session]")
{
	const auto done =
		player(default_rules(), plan_of(TRACE_MAIL, 1), friendly).run("554 no\r\n");
	CHECK(done.said == "QUIT\r\n");
	CHECK(done.session.outcome == SESSION_REFUSED);
}

TEST_CASE("421 ends a session wherever it comes", "[smtp-load][session]")
{
	const auto word = GENERATE(as<std::string>(), "EHLO", "MAIL", "RCPT", "DATA", ".");
	const auto done =
		play(default_rules(), plan_of(TRACE_MAIL, 3), [&](const std::string &line) {
			return line.rfind(word, 0) == 0 ? std::string("421 too busy\r\n")
							: friendly(line);
		});
	CHECK(done.is_over);
	CHECK(done.session.outcome == SESSION_DEFERRED);
}

TEST_CASE("a client that leaves does so after the reply it has chosen", "[smtp-load][session]")
{
	auto rules = default_rules();
	rules.has_pipelining = GENERATE(false, true);
	auto plan = plan_of(TRACE_UNFINISHED, 2);
	const auto [point, last] = GENERATE(table<trace_point, std::string>(
		{ { TRACE_AFTER_CONNECT, "" },
		  { TRACE_AFTER_HELO, "EHLO client.example.net\r\n" },
		  { TRACE_AFTER_MAIL, "MAIL FROM:<sender@example.net>\r\n" },
		  { TRACE_AFTER_RCPT, "RCPT TO:<user8@example.com>\r\n" } }));
	plan.point = point;
	const auto done = play(rules, plan);
	CHECK(done.is_over);
	CHECK(done.session.outcome == SESSION_LEFT);
	CHECK((done.flights.empty() ? "" : done.flights.back()) == last);
	CHECK(session_is_greeted(&done.session));
}

TEST_CASE("what is no SMTP breaks a session", "[smtp-load][session]")
{
	const auto reply =
		GENERATE(as<std::string>(), "HTTP/1.1 400 Bad Request\r\n", "250 not to DATA\r\n");
	const auto done =
		play(default_rules(), plan_of(TRACE_MAIL, 1), [&](const std::string &line) {
			return line == "DATA" ? reply : friendly(line);
		});
	CHECK(done.is_over);
	CHECK(done.session.outcome == SESSION_BROKEN);
}

TEST_CASE("bytes one at a time, both ways, make the same session", "[smtp-load][session]")
{
	auto rules = default_rules();
	rules.has_pipelining = GENERATE(false, true);
	rules.tell = SESSION_TELL_PROXY1;
	auto plan = plan_of(GENERATE(TRACE_MAIL, TRACE_BOUNCE), 3);
	plan.client = addr_of("192.0.2.1");
	const auto whole = player(rules, plan, strict).run();
	const auto cut = player(rules, plan, strict, 1).run();
	CHECK(cut.said == whole.said);
	CHECK(cut.session.outcome == whole.session.outcome);
	CHECK(cut.is_over);
}

TEST_CASE("XCLIENT says the client's address and begins the session anew", "[smtp-load][session]")
{
	auto rules = default_rules();
	rules.tell = SESSION_TELL_XCLIENT;
	auto plan = plan_of(TRACE_MAIL, 1);
	const auto [client, said] = GENERATE(table<std::string, std::string>(
		{ { "192.0.2.1", "192.0.2.1" }, { "2001:db8::1", "IPV6:2001:db8::1" } }));
	plan.client = addr_of(client);
	const auto done = play(rules, plan);
	REQUIRE(done.flights.size() == 8);
	CHECK(done.flights[1] == "XCLIENT ADDR=" + said + " NAME=[UNAVAILABLE]\r\n");
	CHECK(done.flights[2] == done.flights[0]);
	CHECK(done.session.outcome == SESSION_DELIVERED);
}

TEST_CASE("a PROXY header comes before the greeting", "[smtp-load][session]")
{
	auto rules = default_rules();
	auto plan = plan_of(TRACE_MAIL, 1);
	rules.tell = SESSION_TELL_PROXY1;
	plan.client = addr_of("192.0.2.1");
	CHECK(play(rules, plan)
		      .said.rfind("PROXY TCP4 192.0.2.1 192.0.2.25 41234 25\r\nEHLO client", 0) ==
	      0);
	plan.client = addr_of("2001:db8::1");
	CHECK(play(rules, plan)
		      .said.rfind("PROXY TCP6 2001:db8::1 2001:db8::25 41234 25\r\nEHLO client",
				  0) == 0);
}

TEST_CASE("a binary PROXY header has the bytes of its specification", "[smtp-load][session]")
{
	auto rules = default_rules();
	auto plan = plan_of(TRACE_MAIL, 1);
	rules.tell = SESSION_TELL_PROXY2;
	plan.client = addr_of("192.0.2.1");
	const std::string start("\r\n\r\n\0\r\nQUIT\n", 12);
	const std::string four("\x21\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\x19\xa1\x12\0\x19", 16);
	CHECK(play(rules, plan).said.substr(0, 28) == start + four);
	plan.client = addr_of("2001:db8::1");
	const auto said = play(rules, plan).said;
	CHECK(said.substr(0, 16) == start + std::string("\x21\x21\0\x24", 4));
	CHECK(said.substr(52, 4) == "EHLO");
}

// What a server of LMTP says behind a message for two recipients.
struct lmtp_case {
	const char *replies;
	session_outcome outcome;
};

TEST_CASE("by LMTP each recipient that was accepted has a reply of its own", "[smtp-load][session]")
{
	const auto wanted = GENERATE(lmtp_case{ "250 ok\r\n250 ok\r\n", SESSION_DELIVERED },
				     lmtp_case{ "250 ok\r\n452 full\r\n", SESSION_DEFERRED },
				     lmtp_case{ "552 no\r\n250 ok\r\n", SESSION_REFUSED },
				     lmtp_case{ "250 ok\r\n", SESSION_OPEN });
	const size_t chunk = GENERATE(1u, 4096u);
	const bool is_piping = GENERATE(false, true);
	CAPTURE(wanted.replies, chunk, is_piping);
	const server server = [&wanted](const std::string &line) -> std::string {
		if (line.rfind("LHLO", 0) == 0)
			return friendly("EHLO");
		if (line.rfind("EHLO", 0) == 0)
			return "500 this is LMTP\r\n";
		if (line == "RCPT TO:<user8@example.com>")
			return "550 no such user\r\n";
		return line == "." ? wanted.replies : friendly(line);
	};
	session_rules rules = default_rules();
	rules.is_lmtp = true;
	rules.has_pipelining = is_piping;
	const played played = player(rules, plan_of(TRACE_MAIL, 3), server, chunk).run();
	CHECK(played.session.outcome == wanted.outcome);
	CHECK(played.session.accepted == 2);
	CHECK(played.is_over == (wanted.outcome != SESSION_OPEN));
}

TEST_CASE("a session may follow one that was delivered on its connection", "[smtp-load][session]")
{
	session_rules rules = default_rules();
	rules.has_pipelining = true;
	rules.reuse = 1;
	const trace_session plan = plan_of(TRACE_MAIL, 2);
	session session;
	std::vector<char> buffer(SESSION_OUTPUT_MAX);
	const auto hear = [&](const std::string &text) {
		return session_input(&session, &rules, text.data(), text.size());
	};
	const auto say = [&] {
		std::string said;
		while (const size_t size = session_output(&session, &rules, buffer.data())) {
			said.append(buffer.data(), size);
			session_sent(&session, size);
		}
		return said;
	};
	session_begin(&session, &rules, &plan);
	hear("220 mx\r\n");
	say();
	hear(friendly("EHLO"));
	const std::string envelope = say();
	CHECK(envelope.rfind("MAIL FROM:", 0) == 0);
	CHECK(hear("250 ok\r\n250 ok\r\n250 ok\r\n354 go on\r\n") == SESSION_GOES_ON);
	const std::string message = say();
	REQUIRE(hear("250 ok\r\n") == SESSION_DONE);
	CHECK(session.outcome == SESSION_DELIVERED);

	session_again(&session, &rules, &plan);
	CHECK(session.outcome == SESSION_OPEN);
	CHECK(session_is_greeted(&session));
	CHECK(say() == envelope);
	CHECK(hear("250 ok\r\n250 ok\r\n250 ok\r\n354 go on\r\n") == SESSION_GOES_ON);
	CHECK(say() == message);
	CHECK(hear("250 ok\r\n") == SESSION_GOES_ON); // one may follow, and has
	CHECK(say() == "QUIT\r\n");
	CHECK(hear("221 bye\r\n") == SESSION_OVER);
}

TEST_CASE("a template has one %d", "[smtp-load][session]")
{
	session_template made = {};
	CHECK(session_parse_template("%d", &made) == 0);
	const auto text = GENERATE(as<std::string>(), "user@example.com", "u%d%d@example.com",
				   "%s%d@example.com", "100%@example.com",
				   std::string(SESSION_TEXT_MAX, 'x') + "%d");
	CAPTURE(text);
	CHECK(session_parse_template(text.c_str(), &made) != 0);
}
