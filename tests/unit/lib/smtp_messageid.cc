// SPDX-License-Identifier: GPL-3.0-or-later
// The Message-ID of a mail that goes by.
#include "lib/smtp/messageid.h"

#include <catch2/catch.hpp>

#include <string>

namespace
{

// As the mail comes in pieces.
std::string found_in(const std::string &mail, size_t piece = 1)
{
	messageid found;
	messageid_init(&found);
	for (size_t at = 0; at < mail.size(); at += piece)
		messageid_take(&found, (const uint8_t *)mail.data() + at,
			       std::min(piece, mail.size() - at));
	return found.text;
}

} // namespace

TEST_CASE("the first Message-ID of the header is found, however the mail is cut",
	  "[front][messageid]")
{
	const std::string mail = "Received: from x\r\n\tby y\r\nMessage-ID: <1@example.net>\r\n"
				 "Message-ID: <2@example.net>\r\n\r\nbody\r\n";
	const size_t piece = GENERATE_COPY(range(size_t{ 1 }, mail.size() + 1));
	CAPTURE(piece);
	CHECK(found_in(mail, piece) == "<1@example.net>");
}

TEST_CASE("a Message-ID is unfolded, and its name may be written in any way", "[front][messageid]")
{
	CHECK(found_in("message-id:\r\n <1@example.net>\r\n\r\n") == "<1@example.net>");
	CHECK(found_in("MESSAGE-ID \t: \t<1@x>  (by\r\n\thand) \r\nA: b\r\n") == "<1@x> (by hand)");
	CHECK(found_in("Message-Id:<1@x>") == "<1@x>");
}

TEST_CASE("what only looks like a Message-ID is none", "[front][messageid]")
{
	const std::string mail =
		GENERATE("Subject: x\r\n\r\nMessage-ID: <1@x>\r\n", "\r\nMessage-ID: <1@x>\r\n",
			 "Message-IDs: <1@x>\r\n", "X-Message-ID: <1@x>\r\n",
			 "Subject: x\r\n Message-ID: <1@x>\r\n", "Message-ID\r\n: <1@x>\r\n",
			 "Message\r\n", "Message-ID: \r\nA: b\r\n", "");
	CAPTURE(mail);
	CHECK(found_in(mail).empty());
}

TEST_CASE("a Message-ID without an end is cut", "[front][messageid]")
{
	CHECK(found_in("Message-ID: " + std::string(5000, 'x')) == std::string(MESSAGEID_MAX, 'x'));
}

TEST_CASE("a header without an end is not looked at for ever", "[front][messageid]")
{
	const std::string before = std::string(MESSAGEID_LOOK_MAX - 17, 'x');
	CHECK(found_in(before + "\r\nMessage-ID: <1@x>\r\n", 1000) == "<1@");
	CHECK(found_in(before + std::string(20, 'x') + "\r\nMessage-ID: <1@x>\r\n", 1000).empty());
}
