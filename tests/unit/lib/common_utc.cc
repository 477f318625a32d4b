// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/common/utc.h"

#include <catch2/catch.hpp>

#include <string>

TEST_CASE("a time is written in UTC", "[common][utc]")
{
	char text[UTC_TEXT_SIZE];
	CHECK(utc_format(0, text) == std::string("1970-01-01T00:00:00Z"));
	CHECK(utc_format(1795180217, text) == std::string("2026-11-20T13:10:17Z"));
	CHECK(utc_format(253402300799, text) == std::string("9999-12-31T23:59:59Z"));
}

TEST_CASE("a time that has no text is a dash", "[common][utc]")
{
	char text[UTC_TEXT_SIZE];
	CHECK(utc_format(UINT64_MAX / 2, text) == std::string("-"));
}
