// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers, permissions, addresses and places of configurations.
#include "lib/common/values.h"

#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <sys/un.h>

#include <string>

namespace
{

int64_t number_of(const std::string &text, values_unit unit)
{
	int64_t number = -1;
	REQUIRE(values_parse_number(text.c_str(), unit, 0, INT64_MAX, &number));
	return number;
}

std::string explain(values_unit unit, int64_t min, int64_t max)
{
	char reason[VALUES_REASON_MAX];
	return values_explain_number(unit, min, max, reason);
}

} // namespace

TEST_CASE("a time has a unit, and is in seconds without one", "[common][values]")
{
	CHECK(number_of("0", VALUES_MS) == 0);
	CHECK(number_of("6", VALUES_MS) == 6000);
	CHECK(number_of("250ms", VALUES_MS) == 250);
	CHECK(number_of("6s", VALUES_MS) == 6000);
	CHECK(number_of("10m", VALUES_MS) == 600000);
	CHECK(number_of("1h", VALUES_MS) == 3600000);
	CHECK(number_of("1d", VALUES_MS) == 86400000);
	CHECK(number_of("10", VALUES_SECONDS) == 10);
	CHECK(number_of("1m", VALUES_SECONDS) == 60);
	CHECK(number_of("7d", VALUES_SECONDS) == 604800);
}

TEST_CASE("a time that is none, or too long or short, is told what would be permitted",
	  "[common][values]")
{
	const char *text = GENERATE("", "s", "-1s", "1 s", "1x", "1sx", "99ms", "61m", "0x10s",
				    " 1s", "99999999999999999999s", "18446744073709551615d");
	CAPTURE(text);
	int64_t ms = 7;
	CHECK_FALSE(values_parse_number(text, VALUES_MS, 100, 3600000, &ms));
	CHECK(ms == 7);
	CHECK(explain(VALUES_MS, 100, 3600000) ==
	      "permitted are 100ms to 1h, with ms, s, m, h or d");
	CHECK(explain(VALUES_SECONDS, 0, 90) == "permitted are 0 to 90s, with s, m, h or d");
}

TEST_CASE("an age has a unit unless it is 0", "[common][values]")
{
	CHECK(number_of("0", VALUES_AGE) == 0);
	CHECK(number_of("365d", VALUES_AGE) == 31536000);
	CHECK(number_of("1s", VALUES_AGE) == 1);
	int64_t age_s = 7;
	CHECK_FALSE(values_parse_number("365", VALUES_AGE, 0, INT64_MAX, &age_s));
	CHECK(age_s == 7);
	CHECK(explain(VALUES_AGE, 0, 31536000) ==
	      "permitted are 0 to 365d, with s, m, h or d behind the number, such as 365d");
}

TEST_CASE("a size has K, M or G, or is in bytes", "[common][values]")
{
	CHECK(number_of("17", VALUES_BYTES) == 17);
	CHECK(number_of("512K", VALUES_BYTES) == 512 << 10);
	CHECK(number_of("50M", VALUES_BYTES) == 50 << 20);
	CHECK(number_of("2G", VALUES_BYTES) == UINT64_C(2) << 30);

	int64_t bytes = 7;
	CHECK_FALSE(values_parse_number("2T", VALUES_BYTES, 1024, INT64_C(1) << 40, &bytes));
	CHECK(bytes == 7);
	CHECK(explain(VALUES_BYTES, 1024, INT64_C(1) << 40) ==
	      "permitted are 1K to 1024G, with K, M or G");
}

TEST_CASE("a number has no unit", "[common][values]")
{
	int64_t number = 7;
	CHECK(values_parse_number("-5", VALUES_COUNT, -5, 5, &number));
	CHECK(number == -5);
	const char *text = GENERATE("", "-", "-6", "6", "5s", "+5", " 5", "5 ", "0x5");
	CAPTURE(text);
	CHECK_FALSE(values_parse_number(text, VALUES_COUNT, -5, 5, &number));
	CHECK(number == -5);
	CHECK(explain(VALUES_COUNT, -5, 5) == "permitted are whole numbers from -5 to 5");
}

TEST_CASE("a number is printed with its largest unit, and reads back", "[common][values]")
{
	const auto [unit, number, text] = GENERATE(table<values_unit, int64_t, const char *>({
		{ VALUES_COUNT, 0, "0" },
		{ VALUES_COUNT, 86400, "86400" },
		{ VALUES_COUNT, INT64_MAX, "9223372036854775807" },
		{ VALUES_SECONDS, 0, "0" },
		{ VALUES_SECONDS, 59, "59s" },
		{ VALUES_SECONDS, 60, "1m" },
		{ VALUES_SECONDS, 61, "61s" },
		{ VALUES_SECONDS, 7200, "2h" },
		{ VALUES_SECONDS, INT64_C(90) * 86400, "90d" },
		{ VALUES_AGE, 0, "0" },
		{ VALUES_AGE, 61, "61s" },
		{ VALUES_AGE, INT64_C(365) * 86400, "365d" },
		{ VALUES_MS, 1500, "1500ms" },
		{ VALUES_MS, 2000, "2s" },
		{ VALUES_BYTES, 1023, "1023" },
		{ VALUES_BYTES, 1024, "1K" },
		{ VALUES_BYTES, INT64_C(500) << 20, "500M" },
		{ VALUES_BYTES, INT64_C(2) << 40, "2048G" },
	}));
	char printed[VALUES_NUMBER_MAX];
	CAPTURE(unit, number);
	CHECK(std::string(values_print_number(unit, number, printed)) == text);
	CHECK(number_of(printed, unit) == number);
}

TEST_CASE("permissions are three octal digits", "[common][values]")
{
	int64_t mode = 1;
	CHECK(values_parse_mode("660", &mode));
	CHECK(mode == 0660);
	CHECK(values_parse_mode("0600", &mode));
	CHECK(mode == 0600);
	const auto *text = GENERATE("", "60", "668", "1000", "-660", "660 ", "rw-");
	CAPTURE(text);
	CHECK_FALSE(values_parse_mode(text, &mode));
	CHECK(mode == 0600);
}

TEST_CASE("an address has its port, or where there is one the default", "[common][values]")
{
	sockaddr_storage address = {};
	const auto port = [&address] {
		return ntohs(reinterpret_cast<sockaddr_in6 *>(&address)->sin6_port);
	};
	CHECK(values_parse_address("192.0.2.1", 53, 0, &address));
	CHECK(port() == 53);
	CHECK(values_address_size(&address) == sizeof(sockaddr_in));
	CHECK(values_parse_address("2001:db8::1@0", 53, 0, &address));
	CHECK(port() == 0);
	CHECK(values_address_size(&address) == sizeof(sockaddr_in6));
	CHECK_FALSE(values_parse_address("192.0.2.1", 0, 1, &address));
	CHECK_FALSE(values_parse_address("192.0.2.1@0", 0, 1, &address));
	CHECK_FALSE(values_parse_address("192.0.2.1@", 53, 0, &address));
	CHECK_FALSE(values_parse_address("192.0.2.1@0", 53, 1, &address));
	CHECK_FALSE(values_parse_address("192.0.2.1@65536", 53, 1, &address));
	CHECK(address.ss_family == AF_INET6);
}

TEST_CASE("a place is an address with a port, or a path", "[common][values]")
{
	struct place place = {};
	REQUIRE(values_parse_place("192.0.2.1@2525", &place) == nullptr);
	CHECK(place.address.ss_family == AF_INET);
	CHECK(ntohs(reinterpret_cast<sockaddr_in *>(&place.address)->sin_port) == 2525);
	CHECK(std::string(place.text) == "192.0.2.1@2525");

	REQUIRE(values_parse_place("::1@25", &place) == nullptr);
	CHECK(place.address.ss_family == AF_INET6);
	CHECK(place.address_size == sizeof(sockaddr_in6));

	REQUIRE(values_parse_place("/run/dovecot/lmtp", &place) == nullptr);
	CHECK(place.address.ss_family == AF_UNIX);
	CHECK(std::string(reinterpret_cast<sockaddr_un *>(&place.address)->sun_path) ==
	      "/run/dovecot/lmtp");

	REQUIRE(values_parse_place(("/" + std::string(200, 'x')).c_str(), &place) == nullptr);
	CHECK(place.address.ss_family == AF_UNSPEC);
}

TEST_CASE("what is no place is refused and changes nothing", "[common][values]")
{
	const char *text =
		GENERATE("192.0.2.1", "192.0.2.1@", "192.0.2.1@0", "192.0.2.1@65536",
			 "192.0.2.1@25x", "192.0.2.256@25", "localhost@25", "@25", "run/x",
			 "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000@25");
	CAPTURE(text);
	struct place place = {};
	CHECK(values_parse_place(text, &place) != nullptr);
	CHECK(place.text[0] == '\0');
}
