// SPDX-License-Identifier: GPL-3.0-or-later
// What is a character beyond ASCII, and what only looks like one (RFC 3629).
#include "lib/wire/utf8.h"

#include "tests/lib/guarded.hh"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace
{

// In memory that ends where the text does.
size_t size_of(const std::string &text)
{
	const guarded bytes({ text.begin(), text.end() });
	return utf8_size(bytes.text(), bytes.size());
}

// By the table of RFC 3629, part 4, and the control characters of Latin-1 left out.
size_t expected(const std::vector<uint8_t> &b)
{
	const auto is_tail = [&](size_t at, unsigned least = 0x80, unsigned most = 0xbf) {
		return b[at] >= least && b[at] <= most;
	};
	if (b[0] >= 0xc2 && b[0] <= 0xdf)
		return is_tail(1) && (b[0] != 0xc2 || b[1] >= 0xa0) ? 2 : 0;
	if (b[0] >= 0xe0 && b[0] <= 0xef) {
		const unsigned least = b[0] == 0xe0 ? 0xa0 : 0x80;
		const unsigned most = b[0] == 0xed ? 0x9f : 0xbf;
		return is_tail(1, least, most) && is_tail(2) ? 3 : 0;
	}
	if (b[0] >= 0xf0 && b[0] <= 0xf4) {
		const unsigned least = b[0] == 0xf0 ? 0x90 : 0x80;
		const unsigned most = b[0] == 0xf4 ? 0x8f : 0xbf;
		return is_tail(1, least, most) && is_tail(2) && is_tail(3) ? 4 : 0;
	}
	return 0;
}

} // namespace

TEST_CASE("the first and the last character of each size are one", "[wire][utf8]")
{
	const auto row = GENERATE(table<std::string, size_t>({
		{ "\xc2\xa0", 2 },
		{ "\xdf\xbf", 2 },
		{ "\xe0\xa0\x80", 3 },
		{ "\xed\x9f\xbf", 3 },
		{ "\xee\x80\x80", 3 },
		{ "\xef\xbf\xbf", 3 },
		{ "\xf0\x90\x80\x80", 4 },
		{ "\xf4\x8f\xbf\xbf", 4 },
	}));
	CAPTURE(std::get<0>(row));
	const std::string &text = std::get<0>(row);
	CHECK(size_of(text) == std::get<1>(row));
	CHECK(size_of(text + "\x80") == std::get<1>(row));
	for (size_t cut = 0; cut < text.size(); cut++)
		CHECK(size_of(text.substr(0, cut)) == 0);
}

TEST_CASE("what is ASCII, a control character, overlong, a surrogate or beyond is none",
	  "[wire][utf8]")
{
	const auto text = GENERATE(
		as<std::string>(), "", "a", "ab", "\x7f\x80", "\x80\x80", "\xbf\xbf", "\xc0\x80",
		"\xc1\xbf", "\xc2\x80", "\xc2\x9f", "\xc3\x7f", "\xc3\xc0", "\xe0\x80\x80",
		"\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xe1\x80\x7f", "\xf0\x80\x80\x80",
		"\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf8\x88\x80\x80\x80",
		"\xf1\x80\x80\xc0", "\xfe\xfe\xff\xff", "\xff");
	CAPTURE(text);
	CHECK(size_of(text) == 0);
}

TEST_CASE("every four bytes begin with what RFC 3629 says", "[wire][utf8]")
{
	// Where something changes, on both sides.
	static const uint8_t tails[] = { 0x00, 0x7f, 0x80, 0x81, 0x8f, 0x90,
					 0x9f, 0xa0, 0xbf, 0xc0, 0xff };
	unsigned wrong = 0;
	unsigned characters = 0;
	for (unsigned first = 0; first < 256; first++) {
		for (unsigned second = 0; second < 256; second++) {
			for (const uint8_t third : tails) {
				for (const uint8_t fourth : tails) {
					const std::vector<uint8_t> all = {
						static_cast<uint8_t>(first),
						static_cast<uint8_t>(second), third, fourth
					};
					const size_t size = utf8_size(
						reinterpret_cast<const char *>(all.data()), 4);
					wrong += size != expected(all);
					characters += size > 0;
				}
			}
		}
	}
	CHECK(wrong == 0);
	CHECK(characters > 0);
}
