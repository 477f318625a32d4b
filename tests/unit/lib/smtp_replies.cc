// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/smtp/replies.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace
{

struct heard {
	replies_status status;
	int code;
	std::string text;
};

bool operator==(const heard &a, const heard &b)
{
	return a.status == b.status && a.code == b.code && a.text == b.text;
}

// All lines of bytes, which come in pieces of that size, up to what is no reply.
std::vector<heard> hear(const std::string &bytes, size_t piece = SIZE_MAX)
{
	struct replies replies;
	std::vector<heard> all;
	replies_begin(&replies);
	for (size_t at = 0; at < bytes.size();) {
		size_t taken = 4711;
		const size_t size = std::min(piece, bytes.size() - at);
		const replies_status status =
			replies_feed(&replies, bytes.data() + at, size, &taken);
		at += taken;
		if (status == REPLIES_BROKEN) {
			all.push_back({ status, 0, "" });
			return all;
		}
		if (status == REPLIES_MORE)
			CHECK(taken == size);
		else
			all.push_back({ status, replies.code, replies.text });
	}
	return all;
}

replies_status last_of(const std::string &bytes)
{
	const auto all = hear(bytes);
	return all.empty() ? REPLIES_MORE : all.back().status;
}

} // namespace

TEST_CASE("a reply has a code and the texts of its lines, wherever it is cut", "[smtp][replies]")
{
	const std::string said = "250-mx.example.com\r\n250-PIPELINING\r\n250-\r\n250 SIZE 1\r\n"
				 "550 5.1.1 No\r\n";
	const std::vector<heard> expected = {
		{ REPLIES_LINE, 250, "mx.example.com" },
		{ REPLIES_LINE, 250, "PIPELINING" },
		{ REPLIES_LINE, 250, "" },
		{ REPLIES_END, 250, "SIZE 1" },
		{ REPLIES_END, 550, "5.1.1 No" },
	};
	for (size_t piece = 1; piece <= said.size(); piece++) {
		CAPTURE(piece);
		CHECK(hear(said, piece) == expected);
	}
}

TEST_CASE("a code alone is a reply, and a CR in front of LF may be missing", "[smtp][replies]")
{
	const std::string said = GENERATE("250\r\n", "250\n", "250 \r\n", "250 \n");
	const size_t piece = GENERATE(1, 3, 64);
	CAPTURE(said);
	CHECK(hear(said, piece) == std::vector<heard>{ { REPLIES_END, 250, "" } });
}

TEST_CASE("lines are counted in each reply anew", "[smtp][replies]")
{
	struct replies replies;
	const std::string said = "250-a\r\n250 b\r\n";
	replies_begin(&replies);
	for (int round = 0; round < 2; round++) {
		size_t first = 0;
		size_t second = 0;
		CHECK(replies_feed(&replies, said.data(), said.size(), &first) == REPLIES_LINE);
		CHECK(replies.line_count == 1);
		CHECK(replies_feed(&replies, said.data() + first, said.size() - first, &second) ==
		      REPLIES_END);
		CHECK(replies.line_count == 2);
		CHECK(first + second == said.size());
	}
}

TEST_CASE("no bytes are more to come", "[smtp][replies]")
{
	struct replies replies;
	size_t taken = 4711;
	replies_begin(&replies);
	CHECK(replies_feed(&replies, nullptr, 0, &taken) == REPLIES_MORE);
	CHECK(taken == 0);
}

TEST_CASE("what is no reply is broken, and stays so", "[smtp][replies]")
{
	using namespace std::string_literals;
	const std::string said =
		GENERATE("\r\n"s, "25\r\n"s, "150 x\r\n"s, "650 x\r\n"s, "2x0 x\r\n"s, "25x x\r\n"s,
			 "250x\r\n"s, "250\0x\r\n"s, "\0\r\n"s, "250-a\r\n251 b\r\n"s,
			 "550-a\r\n250 b\r\n"s, "250-a\r\n\r\n"s, "HTTP/1.1 200 OK\r\n"s);
	CAPTURE(said);
	CHECK(last_of(said) == REPLIES_BROKEN);

	struct replies replies;
	size_t taken = 0;
	replies_begin(&replies);
	CHECK(replies_feed(&replies, "x\n", 2, &taken) == REPLIES_BROKEN);
	CHECK(replies_feed(&replies, "250 x\r\n", 7, &taken) == REPLIES_BROKEN);
	CHECK(taken == 0);
}

TEST_CASE("a line is long, and not longer", "[smtp][replies]")
{
	const std::string head = "250 ";
	const std::string longest = head + std::string(REPLIES_LINE_MAX - 5, 'x');
	const auto all = hear(longest + "\r\n");
	REQUIRE(all.size() == 1);
	CHECK(all[0].status == REPLIES_END);
	CHECK(all[0].text == std::string(REPLIES_TEXT_SIZE - 1, 'x'));
	CHECK(last_of(longest + "x\r\n") == REPLIES_BROKEN);
	// It need not have ended.
	CHECK(last_of(longest + "xx") == REPLIES_BROKEN);
	CHECK(last_of(longest + "x") == REPLIES_MORE);
	// A CR behind a text that is just kept is not kept.
	const std::string kept(REPLIES_TEXT_SIZE - 1, 'y');
	CHECK(hear(head + kept + "\r\n")[0].text == kept);
	CHECK(hear(head + kept.substr(1) + "\r\n")[0].text == kept.substr(1));
}

TEST_CASE("a reply has many lines, and not more", "[smtp][replies]")
{
	std::string lines;
	for (unsigned i = 1; i < REPLIES_LINES_MAX; i++)
		lines += "250-x\r\n";
	CHECK(last_of(lines + "250 x\r\n") == REPLIES_END);
	CHECK(last_of(lines) == REPLIES_LINE);
	CHECK(last_of(lines + "250-x\r\n") == REPLIES_BROKEN);
}

TEST_CASE("a NUL in a text is said as a question mark", "[smtp][replies]")
{
	using namespace std::string_literals;
	CHECK(hear("250 a\0b\r\n"s) == std::vector<heard>{ { REPLIES_END, 250, "a?b" } });
}
