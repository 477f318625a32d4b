// SPDX-License-Identifier: GPL-3.0-or-later
// What a server says, in words and in responses, however its bytes are cut.
#include "bench/users-load/imap/imapreader.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace
{

struct heard {
	std::vector<imapreader_response> responses;
	std::vector<std::string> texts;	 // of the reader, with each response
	std::vector<std::string> states; // of the word, with each response
	imapreader_status status = IMAPREADER_MORE;
	unsigned error = 0;
};

// In pieces of memory of exactly their size, so that a read of one byte too many is seen.
heard hear(const std::string &said, size_t piece, uint64_t literal_max = 0)
{
	heard all;
	imapreader reader;
	imapreader_init(&reader, literal_max);
	for (size_t at = 0; at < said.size() && all.status != IMAPREADER_BROKEN;) {
		const size_t size = std::min(piece, said.size() - at);
		const std::unique_ptr<char[]> bytes(new char[size]);
		std::memcpy(bytes.get(), said.data() + at, size);
		size_t used = 0;
		while (used < size && all.status != IMAPREADER_BROKEN) {
			size_t taken = 0;
			all.status =
				imapreader_feed(&reader, bytes.get() + used, size - used, &taken);
			used += taken;
			if (all.status != IMAPREADER_RESPONSE)
				break;
			all.responses.push_back(reader.response);
			all.texts.emplace_back(reader.text);
			all.states.emplace_back(reader.token.text);
		}
		at += size;
	}
	all.error = reader.error;
	return all;
}

bool is_same(const heard &one, const heard &other)
{
	if (one.responses.size() != other.responses.size() || one.texts != other.texts ||
	    one.error != other.error)
		return false;
	for (size_t i = 0; i < one.responses.size(); i++) {
		if (std::memcmp(&one.responses[i], &other.responses[i], sizeof(one.responses[i])) !=
		    0)
			return false;
	}
	return true;
}

// The same in pieces of each size.
heard hear_all(const std::string &said, uint64_t literal_max = 0)
{
	const heard whole = hear(said, said.size(), literal_max);
	for (size_t piece = 1; piece < said.size() && piece < 80; piece++) {
		CAPTURE(said, piece);
		REQUIRE(is_same(hear(said, piece, literal_max), whole));
	}
	return whole;
}

imapreader_response hear_one(const std::string &said)
{
	const heard all = hear_all(said);
	CAPTURE(said);
	REQUIRE(all.responses.size() == 1);
	REQUIRE(all.error == 0);
	return all.responses[0];
}

} // namespace

TEST_CASE("a greeting has its capabilities in a code", "[users-load][imapreader]")
{
	const auto response =
		hear_one("* OK [CAPABILITY IMAP4rev1 LITERAL+ IDLE AUTH=PLAIN] Dovecot ready.\r\n");
	CHECK(response.kind == IMAPREADER_STATE);
	CHECK(response.word == IMAPREADER_OK);
	CHECK(response.code == IMAPREADER_CODE_CAPABILITY);
	CHECK(response.capabilities ==
	      (IMAPREADER_CAN_IMAP4REV1 | IMAPREADER_CAN_LITERAL_PLUS | IMAPREADER_CAN_IDLE));
}

TEST_CASE("a tag of ours is a number, and any other is 0", "[users-load][imapreader]")
{
	CHECK(hear_one("A17 OK done\r\n").tag == 17);
	CHECK(hear_one("A17 OK\r\n").tag == 17);
	CHECK(hear_one("A17 NO [ALREADYEXISTS] it is there\r\n").code ==
	      IMAPREADER_CODE_ALREADYEXISTS);
	for (const char *other : { "B17 OK x\r\n", "A OK x\r\n", "A017 OK x\r\n", "A0 OK x\r\n",
				   "A99999999999 OK x\r\n", "a17 OK x\r\n", "+17 OK x\r\n" })
		CHECK(hear_one(other).tag == 0);
}

TEST_CASE("a text behind a status may have what no word may have", "[users-load][imapreader]")
{
	CHECK(hear_one("* OK it's {12} \"half (open\r\n").word == IMAPREADER_OK);
	CHECK(hear_one("* BAD [UNKNOWN \"a (b\" c] no ]\r\n").code == IMAPREADER_CODE_OTHER);
	CHECK(hear_one("* NO [never closed\r\n").word == IMAPREADER_NO);
	CHECK(hear_one("* BYE shutting down\r\n").word == IMAPREADER_BYE);
	CHECK(hear("A1 NO [TRYCREATE] no such folder\r\n", 9).states[0] == " no such folder");
}

TEST_CASE("codes have their numbers", "[users-load][imapreader]")
{
	CHECK(hear_one("* OK [UIDVALIDITY 1234567890] UIDs valid\r\n").number == 1234567890);
	CHECK(hear_one("* OK [UIDNEXT 4294967295] .\r\n").number == 4294967295);
	CHECK(hear_one("* OK [HIGHESTMODSEQ 9223372036854775807] .\r\n").modseq == INT64_MAX);
	CHECK(hear_one("* OK [PERMANENTFLAGS (\\Answered \\Seen \\*)] .\r\n").code ==
	      IMAPREADER_CODE_OTHER);
	CHECK(hear_all("* OK [UIDNEXT x] .\r\n").error == IMAPTOKEN_ESYNTAX);
	CHECK(hear_all("* OK [UIDNEXT 4294967296] .\r\n").error == IMAPTOKEN_ESYNTAX);
}

TEST_CASE("mails come, go and are counted", "[users-load][imapreader]")
{
	const heard all =
		hear_all("* 23 EXISTS\r\n* 2 RECENT\r\n* 7 EXPUNGE\r\n* FLAGS (\\Seen x)\r\n");
	REQUIRE(all.responses.size() == 4);
	CHECK(all.responses[0].kind == IMAPREADER_EXISTS);
	CHECK(all.responses[0].number == 23);
	CHECK(all.responses[1].kind == IMAPREADER_RECENT);
	CHECK(all.responses[2].kind == IMAPREADER_EXPUNGE);
	CHECK(all.responses[2].number == 7);
	CHECK(all.responses[3].kind == IMAPREADER_FLAGS);
	CHECK(all.responses[3].flags == (IMAPREADER_SEEN | IMAPREADER_KEYWORD));
}

TEST_CASE("FETCH has a header whose Message-ID is kept, and folded lines with it",
	  "[users-load][imapreader]")
{
	const std::string header =
		"Subject: Message-ID: <no>\r\nMessage-Id:\r\n <a@b>\r\nX: y\r\n\r\n";
	const std::string said =
		"* 12 FETCH (UID 77 FLAGS (\\Seen \\Deleted $x) INTERNALDATE \"17-Jul-1996 "
		"02:44:25 "
		"-0700\" RFC822.SIZE 4286 MODSEQ (624140003) BODY[HEADER.FIELDS (\"SUBJECT\" "
		"MESSAGE-ID)] {" +
		std::to_string(header.size()) + "}\r\n" + header + ")\r\n";
	const auto response = hear_one(said);
	CHECK(response.kind == IMAPREADER_FETCH);
	CHECK(response.number == 12);
	CHECK(response.uid == 77);
	CHECK(response.flags == (IMAPREADER_SEEN | IMAPREADER_DELETED | IMAPREADER_KEYWORD));
	CHECK(response.has_flags);
	CHECK(response.internal_s == 837596665);
	CHECK(response.size_bytes == 4286);
	CHECK(response.modseq == 624140003);
	CHECK(response.has_header);
	CHECK(hear(said, said.size()).texts[0] == "Message-Id:<a@b>");
}

TEST_CASE("a header without Message-ID has none, nor has one whose name is cut",
	  "[users-load][imapreader]")
{
	for (const std::string header : { "\r\n", "X-Message-ID: <a>\r\n\r\n", "message-id",
					  "message-\r\nid: x\r\n\r\n", "" }) {
		const heard all =
			hear_all("* 1 FETCH (BODY[HEADER.FIELDS (X)] {" +
				 std::to_string(header.size()) + "}\r\n" + header + ")\r\n");
		CAPTURE(header);
		REQUIRE(all.responses.size() == 1);
		CHECK(all.responses[0].has_header);
		CHECK(all.texts[0].empty());
	}
}

TEST_CASE("bodies are counted, whatever is in them", "[users-load][imapreader]")
{
	std::string body("* 1 EXISTS\r\nA1 OK\r\n");
	body.push_back('\0');
	const std::string size = std::to_string(body.size());
	const auto literal = hear_one("* 1 FETCH (RFC822.SIZE 20 BODY[] {" + size + "}\r\n" + body +
				      " UID 5)\r\n");
	CHECK(literal.has_body);
	CHECK(literal.body_bytes == body.size());
	CHECK(literal.uid == 5);
	CHECK(hear_one("* 1 FETCH (BODY[] ~{" + size + "}\r\n" + body + ")\r\n").body_bytes ==
	      body.size());
	CHECK(hear_one("* 1 FETCH (BODY[] \"a \\\"b\\\\\")\r\n").body_bytes == 5);
	CHECK_FALSE(hear_one("* 1 FETCH (BODY[] NIL)\r\n").has_body);
	CHECK(hear_one("* 1 FETCH (BODY[] {0}\r\n)\r\n").has_body);
}

TEST_CASE("structures of any depth are passed over", "[users-load][imapreader]")
{
	const auto response = hear_one(
		"* 3 FETCH (BODYSTRUCTURE ((\"text\" \"plain\" (\"charset\" {5}\r\nutf-8) NIL NIL "
		"\"7bit\" 12 1)(\"a\" \"b\" NIL NIL NIL \"base64\" 7) \"mixed\" (\"boundary\" "
		"\"(\")) "
		"ENVELOPE (NIL \"{3}\" ((NIL NIL \"a\" \"b\"))) UID 9 X-GM-LABELS "
		"(\"\\\\Inbox\"))\r\n");
	CHECK(response.uid == 9);
	CHECK(response.number == 3);
	std::string deep(300, '(');
	CHECK(hear_all("* 1 FETCH (X " + deep).error == IMAPTOKEN_ELONG);
}

TEST_CASE("LIST has a delimiter and a name in each form", "[users-load][imapreader]")
{
	CHECK(hear_all("* LIST (\\HasNoChildren) \".\" INBOX.Sent\r\n").texts[0] == "INBOX.Sent");
	CHECK(hear_all("* LIST () \"/\" \"a \\\"b\\\"\"\r\n").texts[0] == "a \"b\"");
	CHECK(hear_all("* LIST () NIL {3}\r\na\r\n\r\n").texts[0] == "a\r\n");
	CHECK(hear_one("* LIST () \"\\\\\" x\r\n").delimiter == '\\');
	CHECK(hear_one("* LIST () NIL x\r\n").delimiter == '\0');
	CHECK(hear_one("* LIST () \"/\" x (CHILDINFO (\"SUBSCRIBED\"))\r\n").can_select);
	CHECK_FALSE(hear_one("* LIST (\\NoSelect) \"/\" x\r\n").can_select);
}

TEST_CASE("STATUS has its numbers and passes over others", "[users-load][imapreader]")
{
	const auto response =
		hear_one("* STATUS \"a b\" (MESSAGES 231 X ((1)(2)) UIDNEXT 44292 UNSEEN "
			 "3 UIDVALIDITY 9)\r\n");
	CHECK(response.messages == 231);
	CHECK(response.uid_next == 44292);
	CHECK(response.unseen == 3);
	CHECK(response.uid_validity == 9);
}

TEST_CASE("SEARCH of 100,000 numbers is one after the other", "[users-load][imapreader]")
{
	std::string said = "* SEARCH";
	for (unsigned i = 1; i <= 100000; i++)
		said += " " + std::to_string(4000000000U + i);
	said += " (MODSEQ 917162500)\r\n* SEARCH\r\n* SEARCH \r\n";
	const heard all = hear(said, 4096);
	REQUIRE(all.error == 0);
	REQUIRE(all.responses.size() == 100003);
	CHECK(all.responses[99999].kind == IMAPREADER_FOUND);
	CHECK(all.responses[99999].number == 4000100000U);
	CHECK(all.responses[100000].kind == IMAPREADER_SEARCH);
	CHECK(all.responses[100002].kind == IMAPREADER_SEARCH);
	CHECK(hear_all("* SEARCH 0\r\n").error == IMAPTOKEN_ESYNTAX);
}

TEST_CASE("what is unknown is passed over", "[users-load][imapreader]")
{
	for (const char *other :
	     { "* ESEARCH (TAG \"A1\") UID COUNT 5 ALL 4:19,21\r\n", "* VANISHED (EARLIER) 1:5\r\n",
	       "* ENABLED CONDSTORE\r\n", "* NAMESPACE ((\"\" \"/\")) NIL NIL\r\n",
	       "* ID (\"name\" \"x\")\r\n", "* 5 SOMETHING {1}\r\nx\r\n",
	       "* QUOTA \"\" (STORAGE 1 2)\r\n" })
		CHECK(hear_one(other).kind == IMAPREADER_OTHER);
}

TEST_CASE("a continuation has any text or none", "[users-load][imapreader]")
{
	CHECK(hear_one("+ idling\r\n").kind == IMAPREADER_CONTINUE);
	CHECK(hear_one("+ \r\n").kind == IMAPREADER_CONTINUE);
	CHECK(hear_one("+\r\n").kind == IMAPREADER_CONTINUE);
	CHECK(hear_one("+ [x] ({\r\n").kind == IMAPREADER_CONTINUE);
}

TEST_CASE("what is not IMAP is an error and nothing behind it is read", "[users-load][imapreader]")
{
	const std::string nul(1, '\0');
	const std::string said = GENERATE_COPY(
		std::string("\r\n"), std::string("HTTP/1.1 400 Bad Request\r\n"),
		std::string("* 1 EXISTS\n"), std::string("* 1 EXISTS\r* 2"),
		std::string("* OK a\nb\r\n"), std::string(" * OK\r\n"), std::string("* \r\n"),
		std::string("* 1 EXISTS x\r\n"), std::string("* 1\r\n"),
		std::string("* 1 FETCH\r\n"), std::string("* 1 FETCH (UID)\r\n"),
		std::string("* 1 FETCH (UID 0)\r\n"), std::string("* 1 FETCH (UID 1\r\n"),
		std::string("* 1 FETCH (UID 1))\r\n"), std::string("* 1 FETCH (FLAGS \\Seen)\r\n"),
		std::string("* 1 FETCH (FLAGS (\"x\"))\r\n"),
		std::string("* 1 FETCH (BODY[] {5}\r\nabcdefgh)\r\n"),
		std::string("* 1 FETCH (BODY[] {2}\r\nabcd)\r\n"),
		std::string("* 1 FETCH (BODY[] {}\r\n)\r\n"),
		std::string("* 1 FETCH (BODY[] {-1}\r\n)\r\n"),
		std::string("* 1 FETCH (BODY[] {1} \r\nx)\r\n"),
		std::string("* 1 FETCH (BODY[] {1+}\r\nx)\r\n"),
		std::string("* 1 FETCH (BODY[HEADER.FIELDS (A\r\n"),
		std::string("* 1 FETCH (X \"a\r\nb\")\r\n"),
		std::string("* 1 FETCH (X \"a\\b\")\r\n"), std::string("* 1 FETCH (X \"a\"b)\r\n"),
		std::string("* 1 FETCH (INTERNALDATE \"today\")\r\n"),
		std::string("* LIST \"/\" x\r\n"), std::string("* LIST () \"//\" x\r\n"),
		std::string("* CAPABILITY (x)\r\n"), "* OK a" + nul + "\r\n", "* " + nul + "\r\n",
		"A" + nul + " OK\r\n", std::string("A1 PREAUTH x\r\n"),
		std::string("A1 {3}\r\nabc\r\n"), std::string("* 99999999999 EXISTS\r\nx"),
		std::string("* STATUS x (MESSAGES x)\r\n"));
	const heard all = hear_all(said + "* 5 EXISTS\r\n");
	CAPTURE(said);
	// A number that is none is a word that is unknown, and its line is passed over.
	if (said.find("99999999999") != std::string::npos)
		CHECK(all.responses[0].kind == IMAPREADER_OTHER);
	else
		CHECK(all.responses.empty());
	CHECK(all.error == IMAPTOKEN_ESYNTAX);
}

TEST_CASE("a line, a word and a literal have an end or are cut off", "[users-load][imapreader]")
{
	CHECK(hear("* OK " + std::string(IMAPTOKEN_WORD_MAX + 9, 'x'), 1 << 16).error ==
	      IMAPTOKEN_ELONG);
	CHECK(hear("* 1 FETCH (X \"" + std::string(IMAPTOKEN_WORD_MAX + 9, 'x'), 1 << 16).error ==
	      IMAPTOKEN_ELONG);
	CHECK(hear(std::string(IMAPTOKEN_WORD_MAX + 9, 'x'), 1 << 16).error == IMAPTOKEN_ELONG);
	std::string blanks = "* SEARCH";
	blanks.append(IMAPTOKEN_LINE_MAX, ' ');
	CHECK(hear(blanks, 1 << 16).error == IMAPTOKEN_ELONG);
	CHECK(hear_all("* 1 FETCH (BODY[] {101}\r\n", 100).error == IMAPTOKEN_ELONG);
	CHECK(hear_all("* 1 FETCH (BODY[] {99999999999999999999999}\r\n").error == IMAPTOKEN_ELONG);
	CHECK(hear_all("* 1 FETCH (BODY[] {100}\r\n", 100).error == 0);
	// What is as long as it may be goes on.
	const heard fine = hear("* OK " + std::string(60000, 'x') + "\r\n", 1 << 16);
	REQUIRE(fine.responses.size() == 1);
	CHECK(fine.states[0].size() == IMAPTOKEN_TEXT_SIZE - 1);
}

TEST_CASE("a date of IMAP is a time", "[users-load][imapreader]")
{
	int64_t time_s = 0;
	CHECK(imapreader_parse_date("01-Jan-1970 00:00:00 +0000", &time_s));
	CHECK(time_s == 0);
	CHECK(imapreader_parse_date(" 1-Jan-1970 01:30:00 +0130", &time_s));
	CHECK(time_s == 0);
	CHECK(imapreader_parse_date("29-feb-2024 23:59:60 -1200", &time_s));
	CHECK(time_s == 1709294400);
	for (const char *wrong : { "", "1-Jan-1970 00:00:00 +0000", "00-Jan-1970 00:00:00 +0000",
				   "01-Foo-1970 00:00:00 +0000", "01-Jan-1970 24:00:00 +0000",
				   "01-Jan-1970 00:00:00 00000", "01-Jan-1970 00:0 :00 +0000",
				   "01-Jan-1970 00:00:00 +0000 " }) {
		CAPTURE(wrong);
		CHECK_FALSE(imapreader_parse_date(wrong, &time_s));
	}
}
