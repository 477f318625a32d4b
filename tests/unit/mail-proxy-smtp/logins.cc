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
