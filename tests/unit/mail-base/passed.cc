// SPDX-License-Identifier: GPL-3.0-or-later
// Clients that are spared the pause, and what it takes.
#include "integration/mail/base/handover/passed.h"

#include "tests/lib/child.hh"

#include <catch2/catch.hpp>

#include <string>

namespace
{

constexpr uint64_t NOW_MS = 1000000;
constexpr uint64_t KEEP_MS = 86400000;

dnsblv6_ip ip_of(const std::string &text)
{
	dnsblv6_ip ip;
	REQUIRE(dnsblv6_ip_parse(text.c_str(), &ip) == 0);
	return ip;
}

// Of an IPv6 /32, the numbers in its last 64 bits.
dnsblv6_ip ip_of(uint32_t number)
{
	dnsblv6_ip ip = { { 0x20, 0x01, 0x0d, 0xb8 } };
	for (unsigned i = 0; i < 4; i++)
		ip.bytes[15 - i] = static_cast<uint8_t>(number >> 8 * i);
	return ip;
}

class table
{
      public:
	table()
	{
		REQUIRE(passed_open(NOW_MS, &it) == 0);
	}
	~table()
	{
		passed_close(it);
	}
	table(const table &) = delete;
	table &operator=(const table &) = delete;

	bool let_by(const dnsblv6_ip &ip, uint64_t now_ms = NOW_MS) const
	{
		passed_propose(it, &ip, now_ms);
		return passed_confirm(it, &ip, now_ms, KEEP_MS);
	}

	bool has(const dnsblv6_ip &ip, uint64_t now_ms = NOW_MS) const
	{
		return passed_has(it, &ip, now_ms);
	}

	passed *it = nullptr;
};

} // namespace

TEST_CASE("a client is spared the pause when it has waited and a mail was taken", "[front][passed]")
{
	const table known;
	const auto ip = ip_of(GENERATE("192.0.2.7", "2001:db8::7", "0.0.0.0", "::"));
	CHECK_FALSE(known.has(ip));
	CHECK_FALSE(passed_confirm(known.it, &ip, NOW_MS, KEEP_MS));
	CHECK_FALSE(known.has(ip));
	passed_propose(known.it, &ip, NOW_MS);
	CHECK_FALSE(known.has(ip));
	CHECK(passed_confirm(known.it, &ip, NOW_MS, KEEP_MS));
	CHECK(known.has(ip));
	CHECK_FALSE(known.has(ip_of("192.0.2.8")));
	CHECK_FALSE(known.has(ip_of("2001:db8::8")));
}

TEST_CASE("what a client does meanwhile does not prolong the time it is known for",
	  "[front][passed]")
{
	const table known;
	const auto ip = ip_of("192.0.2.7");
	REQUIRE(known.let_by(ip));
	CHECK_FALSE(known.let_by(ip, NOW_MS + KEEP_MS / 2));
	CHECK(known.has(ip, NOW_MS + KEEP_MS - 1000));
	CHECK_FALSE(known.has(ip, NOW_MS + KEEP_MS));
	CHECK(known.let_by(ip, NOW_MS + KEEP_MS));
	CHECK(known.has(ip, NOW_MS + 2 * KEEP_MS - 1000));
}

TEST_CASE("a proposal expires, and a time of zero makes none", "[front][passed]")
{
	const table known;
	const auto ip = ip_of("192.0.2.7");
	passed_propose(known.it, &ip, NOW_MS);
	CHECK_FALSE(passed_confirm(known.it, &ip, NOW_MS, 0));
	CHECK_FALSE(passed_confirm(known.it, &ip, NOW_MS + PASSED_PROPOSAL_MS, KEEP_MS));
	CHECK_FALSE(known.has(ip, NOW_MS + PASSED_PROPOSAL_MS));
}

TEST_CASE("a client that is forgotten has to wait and send again", "[front][passed]")
{
	const table known;
	const auto ip = ip_of("192.0.2.7");
	REQUIRE(known.let_by(ip));
	REQUIRE(known.let_by(ip_of("192.0.2.8")));
	passed_forget(known.it, &ip);
	CHECK_FALSE(known.has(ip));
	CHECK(known.has(ip_of("192.0.2.8")));
	CHECK_FALSE(passed_confirm(known.it, &ip, NOW_MS, KEEP_MS));
	passed_propose(known.it, &ip, NOW_MS);
	passed_forget(known.it, &ip);
	CHECK_FALSE(passed_confirm(known.it, &ip, NOW_MS, KEEP_MS));
	CHECK(known.let_by(ip));
}

TEST_CASE("proposals of any number take no place of a client that is known", "[front][passed]")
{
	const table known;
	constexpr uint32_t KNOWN = 1000;
	for (uint32_t i = 0; i < KNOWN; i++)
		REQUIRE(known.let_by(ip_of(i)));
	for (uint32_t i = KNOWN; i < 10 * PASSED_SETS * PASSED_WAYS; i++) {
		const auto ip = ip_of(i);
		passed_propose(known.it, &ip, NOW_MS);
	}
	for (uint32_t i = 0; i < KNOWN; i++)
		REQUIRE(known.has(ip_of(i)));
	const auto last = ip_of("192.0.2.7");
	CHECK(known.let_by(last));
}

TEST_CASE("a full table stays as it is until times are over", "[front][passed]")
{
	const table known;
	constexpr uint32_t MANY = 3 * PASSED_SETS * PASSED_WAYS;
	uint32_t count = 0;
	for (uint32_t i = 0; i < MANY; i++)
		count += known.let_by(ip_of(i)) ? 1 : 0;
	CHECK(count <= PASSED_SETS * PASSED_WAYS);
	CHECK(count > PASSED_SETS * PASSED_WAYS * 9 / 10);
	uint32_t found = 0;
	for (uint32_t i = 0; i < MANY; i++)
		found += known.has(ip_of(i)) ? 1 : 0;
	CHECK(found == count);
	CHECK(known.let_by(ip_of(MANY), NOW_MS + KEEP_MS));
}

TEST_CASE("what a child notes its parent knows", "[front][passed]")
{
	const table known;
	const auto ip = ip_of("192.0.2.7");
	passed_propose(known.it, &ip, NOW_MS);
	child worker([&] { return passed_confirm(known.it, &ip, NOW_MS, KEEP_MS) ? 0 : 1; });
	CHECK(worker.wait() == 0);
	CHECK(known.has(ip));
}

TEST_CASE("without a table nothing is known, and nothing happens", "[front][passed]")
{
	const auto ip = ip_of("192.0.2.7");
	passed_propose(nullptr, &ip, NOW_MS);
	CHECK_FALSE(passed_confirm(nullptr, &ip, NOW_MS, KEEP_MS));
	CHECK_FALSE(passed_has(nullptr, &ip, NOW_MS));
	passed_forget(nullptr, &ip);
	passed_close(nullptr);
}
