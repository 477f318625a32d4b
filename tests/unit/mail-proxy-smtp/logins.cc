// SPDX-License-Identifier: GPL-3.0-or-later
#include <string>

#include <catch2/catch.hpp>

#include "tests/unit/mail-proxy-smtp/talked.hh"

TEST_CASE("mechanisms that may wrap what follows are not offered, and not begun", "[mailtalk]")
{
	Talked talked;
	talked.begin();
	talked.server("220 hop\r\n");
	talked.client("EHLO c.test\r\n");
	CHECK(talked.server(
		      "250-hop\r\n250 AUTH GSSAPI plain DIGEST-MD5 SCRAM-SHA-1-PLUS LOGIN\r\n") ==
	      "250-hop\r\n250-AUTH PLAIN LOGIN\r\n250-PIPELINING\r\n250 CHUNKING\r\n");
	(void)talked.heard();
	CHECK(talked.client("AUTH GSSAPI YII=\r\n") == "504 5.5.4 Mechanism not passed on\r\n");
	CHECK(talked.heard().empty());
	talked.client("auth plain AGEAYg==\r\n");
	CHECK(talked.heard() == "AUTH plain AGEAYg==\r\n");

	Talked none;
	none.begin();
	none.server("220 hop\r\n");
	none.client("EHLO c.test\r\n");
	CHECK(none.server("250-hop\r\n250 AUTH GSSAPI\r\n") ==
	      "250-hop\r\n250-PIPELINING\r\n250 CHUNKING\r\n");
	CHECK(none.client("AUTH GSSAPI\r\n").substr(0, 3) == "502");
}

TEST_CASE("a challenge that is not kept whole is not passed on", "[mailtalk]")
{
	for (const size_t size : { 508U, 512U, 800U }) {
		CAPTURE(size);
		const std::string challenge = "334 " + std::string(size, 'A') + "\r\n";
		Talked talked;
		talked.greet("250-hop\r\n250 AUTH XOAUTH2\r\n");
		talked.client("AUTH XOAUTH2 AA==\r\n");
		if (size < REPLIES_TEXT_SIZE) {
			CHECK(talked.server(challenge) == challenge);
			continue;
		}
		CHECK(talked.server(challenge) ==
		      "421 4.7.0 Challenge longer than is passed on\r\n");
		CHECK(talked.is_closed);
		CHECK_FALSE(talked.is_connected);
		CHECK(talked.talk.has_long_challenge);
	}
}

TEST_CASE("a login in the clear is neither offered nor passed on where TLS ends here", "[mailtalk]")
{
	const bool has_plain_logins = GENERATE(false, true);
	const std::string offers = "250-hop\r\n250 AUTH PLAIN\r\n";
	const std::string rest = "250-PIPELINING\r\n250 CHUNKING\r\n";
	Talked talked;
	talked.rules.offers_tls = true;
	talked.rules.has_plain_logins = has_plain_logins;
	talked.begin();
	talked.server("220 hop\r\n");
	talked.client("EHLO c.test\r\n");
	CHECK(talked.server(offers) ==
	      "250-hop\r\n" + std::string(has_plain_logins ? "250-AUTH PLAIN\r\n" : "") +
		      "250-STARTTLS\r\n" + rest);
	(void)talked.heard();
	const std::string said = talked.client("AUTH PLAIN AGEAYg==\r\n");
	CHECK(said == (has_plain_logins ? "" : "530 5.7.0 Send STARTTLS first\r\n"));
	CHECK(talked.heard() == (has_plain_logins ? "AUTH PLAIN AGEAYg==\r\n" : ""));
	if (has_plain_logins)
		return;
	talked.client("STARTTLS\r\n");
	talked.client("EHLO c.test\r\n");
	CHECK(talked.server(offers) == "250-hop\r\n250-AUTH PLAIN\r\n" + rest);
	(void)talked.heard();
	talked.client("AUTH PLAIN AGEAYg==\r\n");
	CHECK(talked.heard() == "AUTH PLAIN AGEAYg==\r\n");
}
