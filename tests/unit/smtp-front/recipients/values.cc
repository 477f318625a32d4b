// SPDX-License-Identifier: GPL-3.0-or-later
// Times, sizes and places of front.conf; counters in shared memory.
#include "integration/mail/smtp-front/facts/tally.h"
#include "integration/mail/smtp-front/setup/values.h"

#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace
{

unsigned time_of(const std::string &text)
{
	char reason[VALUES_REASON_MAX];
	unsigned ms = 0;
	REQUIRE(values_parse_time(text.c_str(), 0, 86400000, &ms, reason) == nullptr);
	return ms;
}

uint64_t size_of(const std::string &text)
{
	char reason[VALUES_REASON_MAX];
	uint64_t bytes = 0;
	REQUIRE(values_parse_size(text.c_str(), 0, UINT64_MAX, &bytes, reason) == nullptr);
	return bytes;
}

} // namespace

TEST_CASE("a time has a unit, and is in seconds without one", "[front][values]")
{
	CHECK(time_of("0") == 0);
	CHECK(time_of("6") == 6000);
	CHECK(time_of("250ms") == 250);
	CHECK(time_of("6s") == 6000);
	CHECK(time_of("10m") == 600000);
	CHECK(time_of("1h") == 3600000);
	CHECK(time_of("1d") == 86400000);
}

TEST_CASE("a time that is none, or too long or short, is told what would be permitted",
	  "[front][values]")
{
	const char *text = GENERATE("", "s", "-1s", "1 s", "1x", "1sx", "99ms", "61m", "0x10s",
				    " 1s", "99999999999999999999s", "18446744073709551615d");
	CAPTURE(text);
	char reason[VALUES_REASON_MAX] = "";
	unsigned ms = 7;
	const char *why = values_parse_time(text, 100, 3600000, &ms, reason);
	REQUIRE(why != nullptr);
	CHECK(std::string(why) == "permitted are 100ms to 1h, with ms, s, m, h or d");
	CHECK(ms == 7);
}

TEST_CASE("a size has K, M or G, or is in bytes", "[front][values]")
{
	CHECK(size_of("17") == 17);
	CHECK(size_of("512K") == 512 << 10);
	CHECK(size_of("50M") == 50 << 20);
	CHECK(size_of("2G") == UINT64_C(2) << 30);

	char reason[VALUES_REASON_MAX] = "";
	uint64_t bytes = 7;
	CHECK(std::string(values_parse_size("2T", 1024, UINT64_C(1) << 40, &bytes, reason)) ==
	      "permitted are 1K to 1024G, with K, M or G");
	CHECK(bytes == 7);
}

TEST_CASE("a place is an address with a port, or a path", "[front][values]")
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

TEST_CASE("a text that is neither address nor path is refused and changes nothing",
	  "[front][values]")
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

TEST_CASE("what several processes have counted is one sum", "[front][tally]")
{
	struct tally_bank bank = {};
	struct tally sum = {};
	REQUIRE(tally_open(2, &bank) == 0);
	const pid_t child = fork();
	if (child == 0) {
		tally_add(&bank.slots[1], TALLY_ACCEPTED, 2);
		tally_set(&bank.slots[1], TALLY_SESSIONS, 1);
		_exit(0);
	}
	int status = -1;
	REQUIRE(waitpid(child, &status, 0) == child);
	tally_add(&bank.slots[0], TALLY_ACCEPTED, 3);
	tally_set(&bank.slots[0], TALLY_SESSIONS, 4);
	tally_sum(&bank, &sum);
	CHECK(sum.values[TALLY_ACCEPTED] == 5);
	CHECK(sum.values[TALLY_RELOADS_REFUSED] == 0);
	CHECK(sum.gauges[TALLY_SESSIONS] == 5);

	tally_clear_gauges(&bank.slots[1]);
	tally_sum(&bank, &sum);
	CHECK(sum.gauges[TALLY_SESSIONS] == 4);
	CHECK(sum.values[TALLY_ACCEPTED] == 5);
	tally_add(nullptr, TALLY_ACCEPTED, 1);
	tally_close(&bank);
}
