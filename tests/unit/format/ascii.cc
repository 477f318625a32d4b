// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/format/ascii.h"
#include "lib/format/hex.h"

#include <catch2/catch.hpp>

#include <string>

namespace
{

int64_t whole(const std::string &text, int64_t max = INT64_MAX)
{
	return ascii_number(text.data(), text.size(), max);
}

} // namespace

TEST_CASE("a number is digits alone, and not above its limit", "[format][ascii]")
{
	CHECK(whole("0") == 0);
	CHECK(whole("007") == 7);
	CHECK(whole("255", 255) == 255);
	CHECK(whole("256", 255) == -1);
	CHECK(whole("9223372036854775807") == INT64_MAX);
	const auto text = GENERATE(as<std::string>(), "", "-1", "+1", " 1", "1 ", "1x", "0x1",
				   "9223372036854775808", "10000000000000000000",
				   "99999999999999999999999999");
	CAPTURE(text);
	CHECK(whole(text) == -1);
}

TEST_CASE("a number is taken up to the first byte that is no digit, or to the end",
	  "[format][ascii]")
{
	const char *text = "192.0";
	const char *at = text;
	CHECK(ascii_take_number(&at, nullptr, 255) == 192);
	CHECK(at == text + 3);
	CHECK(ascii_take_number(&at, nullptr, 255) == -1);
	CHECK(at == text + 3);
	at = text;
	CHECK(ascii_take_number(&at, text + 2, 255) == 19);
	CHECK(at == text + 2);
	at = text;
	CHECK(ascii_take_number(&at, nullptr, 191) == -1);
	CHECK(at == text);
	CHECK(ascii_take_number(&at, text, 255) == -1);
}

TEST_CASE("a hexadecimal number has digits of either case, and nothing else", "[format][hex]")
{
	uint64_t number = 1;
	REQUIRE(hex_number("00fF", 4, &number));
	CHECK(number == 255);
	REQUIRE(hex_number("ffffffffffffffff", 16, &number));
	CHECK(number == UINT64_MAX);
	CHECK_FALSE(hex_number("0g", 2, &number));
	CHECK_FALSE(hex_number("0 ", 2, &number));
	CHECK(number == UINT64_MAX);
}
