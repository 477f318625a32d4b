// SPDX-License-Identifier: GPL-3.0-or-later
// Where lines end, and how replies are written.
#include "lib/wire/lines.h"
#include "lib/smtp/dialogue.h"
#include "lib/smtp/reply.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <string>
#include <vector>

namespace
{

struct taken {
	lines_status status;
	size_t line_size;
};

// In memory of exactly that size, for the sanitizer.
taken take(const std::string &text, size_t limit = DIALOGUE_LINE_MAX)
{
	const std::vector<uint8_t> bytes(text.begin(), text.end());
	taken made = { LINES_MORE, 4711 };
	made.status = lines_take(bytes.data(), bytes.size(), limit, &made.line_size);
	return made;
}

std::string reply(int code, const std::string &text)
{
	std::vector<char> made(REPLY_MAX, 'x');
	const size_t size = reply_make(code, text.c_str(), made.data());
	REQUIRE(size == std::strlen(made.data()));
	return made.data();
}

} // namespace

TEST_CASE("a line ends at CR LF, and what follows it does not matter", "[front][lines]")
{
	const auto rest = GENERATE(as<std::string>(), "", "\r", "\n", "x", "\r\n",
				   std::string("\0", 1), "MAIL FROM:<>\r\n");
	const taken line = take("NOOP\r\n" + rest);
	CHECK(line.status == LINES_READY);
	CHECK(line.line_size == 4);
	CHECK(take("\r\n" + rest).line_size == 0);
}

TEST_CASE("a line cut anywhere wants more", "[front][lines]")
{
	const std::string line = "MAIL FROM:<a@example.org>\r\n";
	for (size_t cut = 0; cut < line.size(); cut++) {
		CAPTURE(cut);
		const taken part = take(line.substr(0, cut));
		REQUIRE(part.status == LINES_MORE);
		REQUIRE(part.line_size == 4711);
	}
}

TEST_CASE("a malformed end is refused at its byte, wherever it stands", "[front][lines]")
{
	struct row {
		std::string end;
		lines_status status;
	};
	const row bad = GENERATE(values<row>({
		{ "\n", LINES_LONE_LF },
		{ "\n\r", LINES_LONE_LF },
		{ "\n\n", LINES_LONE_LF },
		{ "\n\r\n", LINES_LONE_LF },
		{ "\r\r", LINES_LONE_CR },
		{ "\r\r\n", LINES_LONE_CR },
		{ "\rx", LINES_LONE_CR },
		{ std::string("\r\0", 2), LINES_LONE_CR },
		{ std::string("\r\0\n", 3), LINES_LONE_CR },
		{ std::string("\0", 1), LINES_NUL },
		{ std::string("\0\r\n", 3), LINES_NUL },
		{ std::string("\0\n", 2), LINES_NUL },
	}));
	const std::string line = "RCPT TO:<a@b>";
	for (size_t place = 0; place <= line.size(); place++) {
		CAPTURE(place, bad.end);
		std::string text = line;
		text.insert(place, bad.end);
		REQUIRE(take(text + "\r\n").status == bad.status);
		// With nothing behind it the same, or nothing known yet: never a line.
		const lines_status cut = take(text.substr(0, place + 1)).status;
		REQUIRE((cut == bad.status || (cut == LINES_MORE && bad.end[0] == '\r')));
	}
}

TEST_CASE("the text before a lone LF is known, for a setting that accepts it as a line",
	  "[front][lines]")
{
	const auto rest = GENERATE(as<std::string>(), "", "\n", "\r\n", "NOOP\r\n");
	const taken line = take("NOOP\n" + rest);
	CHECK(line.status == LINES_LONE_LF);
	CHECK(line.line_size == 4);
	CHECK(take("\n" + rest).line_size == 0);
}

TEST_CASE("a line may be as long as the limit, CR LF included", "[front][lines]")
{
	const std::string longest(10, 'x');
	CHECK(take(longest + "\r\n", 12).status == LINES_READY);
	CHECK(take(longest + "\r\n", 11).status == LINES_TOO_LONG);
	CHECK(take(longest + "\r\n", 10).status == LINES_TOO_LONG);
	CHECK(take(longest + "\r", 12).status == LINES_MORE);
	CHECK(take(longest + "xx", 12).status == LINES_TOO_LONG);
	CHECK(take(longest + "x", 12).status == LINES_MORE);
	CHECK(take(longest + "x\r\n", 12).status == LINES_TOO_LONG);
}

TEST_CASE("the end of a line that was too long is found in pieces of any size", "[front][lines]")
{
	const std::string rest = "QUIT\r\n";
	const bool takes_lf = GENERATE(false, true);
	const auto junk = takes_lf ? GENERATE(as<std::string>(), "", "xxx", "x\rx", "\r\r",
					      std::string("\0\r\0", 3))
				   : GENERATE(as<std::string>(), "", "xxx", "x\rx\nx", "\r\r",
					      "\n\n\r", std::string("\0\r\0", 3));
	const auto end = takes_lf ? GENERATE(as<std::string>(), "\r\n", "\n") : "\r\n";
	const std::string all = junk + end + rest;
	const size_t piece = GENERATE(range(1, 12));
	CAPTURE(junk, piece);
	std::string unread;
	size_t fed = 0;
	bool is_ready = false;
	while (!is_ready && fed < all.size()) {
		unread += all.substr(fed, piece);
		fed = std::min(all.size(), fed + piece);
		const std::vector<uint8_t> bytes(unread.begin(), unread.end());
		size_t used = 0;
		is_ready = lines_skip(bytes.data(), bytes.size(), takes_lf, &used) == LINES_READY;
		unread.erase(0, used);
		REQUIRE((is_ready || unread.size() <= 1));
	}
	CHECK(is_ready);
	CHECK(unread + all.substr(fed) == rest);
}

TEST_CASE("a reply has the code in each of its lines", "[front][reply]")
{
	CHECK(reply(250, "2.1.5 Ok") == "250 2.1.5 Ok\r\n");
	CHECK(reply(250, "") == "250 \r\n");
	CHECK(reply(250, "mx\nSIZE 1\nDSN") == "250-mx\r\n250-SIZE 1\r\n250 DSN\r\n");
	CHECK(reply(550, "a\n") == "550 a\r\n");
}

TEST_CASE("foreign text in a reply begins no line and no other reply", "[front][reply]")
{
	CHECK(reply(550, "a\r\n250 b") == "550-a\r\n550 250 b\r\n");
	CHECK(reply(550, "a\r250 b") == "550 a250 b\r\n");
	CHECK(reply(550, "\x1b[2J\t\xc3\xbc") == "550 ?[2J???\r\n");
	CHECK(reply(50, "a").substr(0, 3) == "451");
	CHECK(reply(600, "a").substr(0, 3) == "451");
}

TEST_CASE("a reply too long is cut, and whole", "[front][reply]")
{
	const std::string wide(5000, 'x');
	CHECK(reply(550, wide).size() == REPLY_LINE_MAX + 2);
	std::string high;
	for (int i = 0; i < 1000; i++)
		high += "x\n";
	const auto text = GENERATE_COPY(as<std::string>(), wide, high,
					wide + "\n" + wide + "\n" + wide, high + wide);
	const std::string made = reply(550, text);
	CHECK(made.size() < REPLY_MAX);
	const size_t last = made.rfind("\r\n", made.size() - 3);
	CHECK(made.substr(made.size() - 2) == "\r\n");
	CHECK(made.substr(last == std::string::npos ? 0 : last + 2, 4) == "550 ");
}
