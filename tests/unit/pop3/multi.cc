// SPDX-License-Identifier: GPL-3.0-or-later
// Answers of several lines: dots undone and done, and one end for every reader.
#include <string>

#include <catch2/catch.hpp>

#include "lib/pop3/pop3_multi.h"
#include "tests/lib/bytes_of.hh"

namespace
{

// The mail; rest is what stands behind its end, or "more".
std::string take(const std::string &answer, size_t piece, size_t room, std::string &rest)
{
	struct pop3_multi multi;
	std::string mail;
	size_t at = 0;
	pop3_multi_init(&multi);
	while (at < answer.size()) {
		const std::string part = answer.substr(at, piece);
		std::string out(room, '#');
		size_t used = 0;
		size_t out_size = 0;
		const enum pop3_multi_status status =
			pop3_multi_take(&multi, bytes_of(part), part.size(), &used,
					reinterpret_cast<uint8_t *>(&out[0]), room, &out_size);
		mail += out.substr(0, out_size);
		at += used;
		if (status == POP3_MULTI_END) {
			rest = answer.substr(at);
			return mail;
		}
	}
	rest = "more";
	return mail;
}

std::string put(const std::string &mail, size_t piece, size_t room)
{
	struct pop3_multi_put state;
	std::string answer;
	pop3_multi_put_init(&state);
	for (size_t at = 0; at < mail.size();) {
		const std::string part = mail.substr(at, piece);
		std::string out(room, '#');
		size_t used = 0;
		answer += out.substr(0, pop3_multi_put(&state, bytes_of(part), part.size(), &used,
						       reinterpret_cast<uint8_t *>(&out[0]), room));
		at += used;
	}
	std::string end(POP3_MULTI_END_MAX, '#');
	return answer +
	       end.substr(0, pop3_multi_close(&state, reinterpret_cast<uint8_t *>(&end[0])));
}

void check_taken(const std::string &answer, const std::string &mail, const std::string &rest)
{
	for (const size_t piece : { 1U, 2U, 3U, 1000U })
		for (const size_t room : { 3U, 4U, 1000U }) {
			std::string found;
			CAPTURE(answer, piece, room);
			CHECK(take(answer, piece, room, found) == mail);
			CHECK(found == rest);
		}
}

} // namespace

TEST_CASE("a mail ends at CR LF . CR LF and nowhere else", "[pop3][multi]")
{
	check_taken(".\r\n+OK\r\n", "", "+OK\r\n");
	check_taken("a\r\n..\r\n.b\r\n...c\r\n.\r\n", "a\r\n.\r\nb\r\n..c\r\n", "");
	check_taken("a\r\n.", "a\r\n", "more");
	check_taken("a.\r\n.\r\nb", "a.\r\n", "b");
}

TEST_CASE("a lone LF is the end of a line, and a dot behind it is text", "[pop3][multi]")
{
	check_taken("a\n.\r\nb\r\n.\r\n", "a\r\n.\r\nb\r\n", "");
	check_taken("a\r\n.\nb\r\n.\r\n", "a\r\n.\r\nb\r\n", "");
	check_taken("a\n.\n.\r\n.\r\n", "a\r\n.\r\n.\r\n", "");
}

TEST_CASE("a lone CR and a NUL are text", "[pop3][multi]")
{
	const std::string nul("a\0b\r\n.\r\n", 8);
	check_taken(nul, nul.substr(0, 5), "");
	check_taken("a\r.\r\r\n.\rb\r\n.\r\n", "a\r.\r\r\n\rb\r\n", "");
}

TEST_CASE("dots are doubled, and the last line is ended where it is not", "[pop3][multi]")
{
	for (const size_t piece : { 1U, 2U, 1000U })
		for (const size_t room : { 2U, 3U, 1000U }) {
			CAPTURE(piece, room);
			CHECK(put("", piece, room) == ".\r\n");
			CHECK(put(".\r\n..x\r\n", piece, room) == "..\r\n...x\r\n.\r\n");
			CHECK(put("a", piece, room) == "a\r\n.\r\n");
		}
}
