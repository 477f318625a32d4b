// SPDX-License-Identifier: GPL-3.0-or-later
// Lines, commands, lists of many mails, and the end of TOP.
#include <cstring>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "lib/pop3/pop3_command.h"
#include "lib/wire/lines.h"
#include "lib/pop3/pop3_maildrop.h"
#include "lib/pop3/pop3_top.h"
#include "tests/lib/bytes_of.hh"

namespace
{

std::string top(const std::string &wire, uint64_t lines, size_t piece)
{
	struct pop3_top state;
	std::string made;
	pop3_top_init(&state, lines);
	for (size_t at = 0; at < wire.size() && !state.is_done; at += piece) {
		const std::string part = wire.substr(at, piece);
		made += part.substr(0, pop3_top_take(&state, bytes_of(part), part.size()));
	}
	return made;
}

// The same by a search.
std::string top_of(const std::string &wire, uint64_t lines)
{
	size_t end = wire.compare(0, 2, "\r\n") == 0 ? 0 : wire.find("\r\n\r\n");
	if (end == std::string::npos)
		return wire;
	end += end == 0 && wire.compare(0, 2, "\r\n") == 0 ? 2 : 4;
	for (; lines > 0; lines--) {
		const size_t next = wire.find("\r\n", end);
		if (next == std::string::npos)
			return wire;
		end = next + 2;
	}
	return wire.substr(0, end);
}

std::string fill(const struct pop3_maildrop &maildrop, bool is_uidl, size_t room)
{
	struct pop3_list list = { is_uidl, false, 0 };
	std::vector<char> out(room);
	std::string made;
	size_t size = 0;
	while ((size = pop3_list_fill(&list, &maildrop, out.data(), out.size())) > 0) {
		REQUIRE(size <= room);
		REQUIRE(out[size - 1] == '\n');
		made.append(out.data(), size);
	}
	REQUIRE(pop3_list_fill(&list, &maildrop, out.data(), out.size()) == 0);
	return made;
}

} // namespace

TEST_CASE("a verb is known in any case, and a password keeps its blanks", "[pop3][command]")
{
	struct pop3_command command;
	const std::string line = "pAsS  a b ";
	pop3_command_parse(line.data(), line.size(), &command);
	CHECK(command.verb == POP3_VERB_PASS);
	CHECK(std::string(command.raw.at, command.raw.size) == " a b ");
	CHECK(std::string(command.arguments.at, command.arguments.size) == "a b");
	struct pop3_text rest = command.arguments;
	const struct pop3_text word = pop3_command_word(&rest);
	CHECK(std::string(word.at, word.size) == "a");
	CHECK(std::string(rest.at, rest.size) == "b");
	for (const char *other : { "PAS", "PASSS", "PASS\x01", "P\xc3SS", "\tPASS" }) {
		pop3_command_parse(other, std::strlen(other), &command);
		CHECK(command.verb == POP3_VERB_UNKNOWN);
	}
}

TEST_CASE("a list is made of whole lines in any room", "[pop3][maildrop]")
{
	std::vector<struct pop3_message> messages(300);
	std::string sizes;
	std::string uids;
	for (size_t i = 0; i < messages.size(); i++) {
		messages[i].octets = i % 7 == 0 ? 999999999999999999 : i;
		std::memset(messages[i].uid, static_cast<char>('!' + i % 90),
			    i % 2 == 0 ? POP3_UID_MAX : 1);
	}
	struct pop3_maildrop maildrop;
	pop3_maildrop_init(messages.data(), messages.size(), &maildrop);
	for (size_t i = 1; i < messages.size(); i += 3)
		pop3_maildrop_delete(&maildrop, i);
	for (size_t i = 0; i < messages.size(); i++) {
		if (i % 3 == 1)
			continue;
		sizes += std::to_string(i + 1) + " " + std::to_string(messages[i].octets) + "\r\n";
		uids += std::to_string(i + 1) + " " + messages[i].uid + "\r\n";
	}
	for (size_t room : { 128, 129, 200, 1000, 100000 }) {
		CHECK(fill(maildrop, false, room) == sizes + ".\r\n");
		CHECK(fill(maildrop, true, room) == uids + ".\r\n");
	}
	CHECK(maildrop.left_count == 200);
}

TEST_CASE("a list of deleted mails is as long as it should be", "[pop3][maildrop]")
{
	std::vector<struct pop3_message> messages(100000);
	struct pop3_maildrop maildrop;
	pop3_maildrop_init(messages.data(), messages.size(), &maildrop);
	CHECK(fill(maildrop, false, 4096).size() == 488895 + 4 * 100000 + 3);
	for (size_t i = 0; i < messages.size(); i++)
		pop3_maildrop_delete(&maildrop, i);
	CHECK(fill(maildrop, false, 128) == ".\r\n");
	pop3_maildrop_reset(&maildrop);
	CHECK(maildrop.left_count == messages.size());
}

TEST_CASE("TOP ends behind the header and so many lines, wherever it is cut", "[pop3][top]")
{
	const std::string wire = GENERATE(
		std::string("A: b\r\n c\r\n\r\none\r\n..two\r\n\r\n\r\nthree\r\n"),
		std::string("\r\none\r\ntwo\r\n"), std::string("A: b\r\n"),
		std::string("A: b\r\n\r\n"), std::string(""), std::string("\r\n\r\n\r\n"),
		std::string("A:\r\r\n\r\r\n\r\nx\r\r\ny\r\n"),
		std::string("\n\r\n\n\r\nA\nB\r\n\r\nx\ny\r\nz\r\n"), std::string("no end"));
	for (uint64_t lines = 0; lines < 8; lines++)
		for (size_t piece = 1; piece < wire.size() + 2; piece++) {
			CAPTURE(wire, lines, piece);
			REQUIRE(top(wire, lines, piece) == top_of(wire, lines));
		}
	CHECK(top(wire, UINT64_MAX, 3) == wire);
}

TEST_CASE("TOP of all streams of CR, LF, dot and a letter is what a search finds", "[pop3][top]")
{
	const char alphabet[] = { '\r', '\n', '.', 'a' };
	const size_t length = GENERATE(range<size_t>(0, 9));
	for (size_t number = 0; number < size_t{ 1 } << 2 * length; number++) {
		std::string wire;
		for (size_t i = 0; i < length; i++)
			wire += alphabet[number >> 2 * i & 3];
		for (uint64_t lines = 0; lines < 3; lines++)
			if (top(wire, lines, SIZE_MAX / 2) != top_of(wire, lines) ||
			    top(wire, lines, 1) != top_of(wire, lines)) {
				CAPTURE(wire, lines);
				FAIL();
			}
	}
	SUCCEED();
}
