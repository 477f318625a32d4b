// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/format/status.h"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstring>
#include <set>
#include <string>

TEST_CASE("every status has a number of its own and a text of its own", "[format][status]")
{
	std::set<int> codes;
	std::set<std::string> texts;
#define X(name, code, text)                                                                        \
	CHECK((name) <= -2000);                                                                    \
	CHECK((name) > -2100);                                                                     \
	CHECK(std::string(dnsblv6_strerror(name)) == (text));                                      \
	CHECK(codes.insert(name).second);                                                          \
	CHECK(texts.insert(dnsblv6_strerror(name)).second);
	DNSBLV6_STATUS_MAP(X)
#undef X
}

TEST_CASE("a status of the system has the system's text", "[format][status]")
{
	CHECK(std::string(dnsblv6_strerror(-ENOENT)) == strerror(ENOENT));
	CHECK(std::string(dnsblv6_strerror(-ENOSPC)) == strerror(ENOSPC));
}

TEST_CASE("every number has some text", "[format][status]")
{
	const int status = GENERATE(0, 1, 4711, -1999, -2099, -3000, -999999, INT32_MIN, INT32_MAX);
	CAPTURE(status);
	REQUIRE(dnsblv6_strerror(status) != nullptr);
	CHECK(strlen(dnsblv6_strerror(status)) > 0);
}
