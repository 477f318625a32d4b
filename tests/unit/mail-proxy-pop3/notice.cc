// SPDX-License-Identifier: GPL-3.0-or-later
// The mail in place of one that is withheld.
#include <cstring>
#include <string>

#include <catch2/catch.hpp>

#include "integration/mail/mail-proxy/pop3/popnotice.h"

namespace
{

struct popnotice_fields look(const std::string &mail)
{
	struct popnotice_fields fields;
	popnotice_look(reinterpret_cast<const uint8_t *>(mail.data()), mail.size(), &fields);
	return fields;
}

} // namespace

TEST_CASE("fields are the first of the header, without what could be looked for", "[popnotice]")
{
	const struct popnotice_fields fields =
		look("subject:  a%b$c\r\nFROM: \xc3\xa4 <a@b.c>\r\nSubject: second\r\n\r\nDate: in "
		     "the body\r\n");
	CHECK(std::string(fields.subject) == "a?b?c");
	CHECK(std::string(fields.from) == "?? <a@b.c>");
	CHECK(std::string(fields.date).empty());
	CHECK(std::string(look("\r\nFrom: x\r\n").from).empty());
	CHECK(std::strlen(look("From: " + std::string(1000, 'x')).from) == POPNOTICE_FIELD_MAX - 1);
}

TEST_CASE("a notice is a mail of short lines", "[popnotice]")
{
	struct popnotice notice = {};
	notice.hostname = "proxy.example.org";
	notice.name = "Eicar.Test in part 2";
	notice.header = "";
	notice.number = 3;
	notice.now = 1795000000;
	std::string text(POPNOTICE_ROOM, '#');
	text.resize(popnotice_write(&notice, &text[0]));
	CHECK(text.find("Date: Wed, 18 Nov 2026 11:06:40 +0000\r\n") != std::string::npos);
	CHECK(text.find("\r\n\r\n") != std::string::npos);
	for (size_t at = 0; at < text.size();) {
		const size_t end = text.find("\r\n", at);
		REQUIRE(end != std::string::npos);
		CHECK(end - at <= 998);
		CHECK(text[at] != '.');
		at = end + 2;
	}
	const std::string long_text(5000, 'x');
	notice.name = notice.hostname = notice.header = long_text.c_str();
	std::string most(POPNOTICE_ROOM, '#');
	CHECK(popnotice_write(&notice, &most[0]) < POPNOTICE_ROOM);
}
