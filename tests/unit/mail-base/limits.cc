// SPDX-License-Identifier: GPL-3.0-or-later
// Connections and their rate, for each network.
#include "integration/mail/base/loop/limits.h"

#include <catch2/catch.hpp>

#include <string>

namespace
{

dnsblv6_ip ip(const std::string &text)
{
	dnsblv6_ip parsed = {};
	REQUIRE(dnsblv6_ip_parse(text.c_str(), &parsed) == 0);
	return parsed;
}

class networks_table
{
      public:
	networks_table(unsigned connections_max, unsigned rate_max, size_t place_count = 1024,
		       unsigned prefix_ipv4 = 24, unsigned prefix_ipv6 = 56, unsigned held_max = 0,
		       unsigned prefix_site = 0)
	{
		const limits_rules rules = { connections_max, held_max,	   rate_max, prefix_ipv4,
					     prefix_ipv6,     prefix_site, 2 };
		REQUIRE(limits_new(place_count, 4711, &rules, &limits) == 0);
	}
	~networks_table()
	{
		limits_free(limits);
	}
	networks_table(const networks_table &) = delete;
	networks_table &operator=(const networks_table &) = delete;

	limits_answer enter(const std::string &text, uint64_t now_ms = 1000000)
	{
		const dnsblv6_ip address = ip(text);
		bool is_counted = false;
		const limits_answer answer = limits_enter(limits, &address, now_ms, &is_counted);
		was_counted = is_counted;
		return answer;
	}
	void leave(const std::string &text)
	{
		const dnsblv6_ip address = ip(text);
		limits_leave(limits, &address);
	}
	bool hold(const std::string &text)
	{
		const dnsblv6_ip address = ip(text);
		return limits_hold(limits, &address);
	}
	void release(const std::string &text)
	{
		const dnsblv6_ip address = ip(text);
		limits_release(limits, &address);
	}

	bool may_enter(const std::string &text, uint64_t now_ms = 1000000) const
	{
		const dnsblv6_ip address = ip(text);
		return limits_may_enter(limits, &address, now_ms);
	}
	uint64_t network(const std::string &text) const
	{
		const dnsblv6_ip address = ip(text);
		return limits_network(limits, &address);
	}

	bool was_counted = false; // what entered last

      private:
	struct limits *limits = nullptr;
};

} // namespace

TEST_CASE("a /24 and a /56 may have so many connections, and their neighbours theirs",
	  "[front][limits]")
{
	networks_table limits(2, 0);
	const auto [one, same, other] = GENERATE(table<std::string, std::string, std::string>(
		{ { "192.0.2.1", "192.0.2.255", "192.0.3.1" },
		  { "2001:db8:0:100::1", "2001:db8:0:1ff::2", "2001:db8:0:200::1" },
		  { "::ffff:198.51.100.1", "198.51.100.2", "198.51.101.1" } }));
	CHECK(limits.enter(one) == LIMITS_FINE);
	CHECK(limits.enter(same) == LIMITS_FINE);
	CHECK(limits.enter(one) == LIMITS_CONNECTIONS);
	CHECK(limits.enter(other) == LIMITS_FINE);
	limits.leave(same);
	CHECK(limits.enter(one) == LIMITS_FINE);
	CHECK(limits.enter(same) == LIMITS_CONNECTIONS);
}

TEST_CASE("prefixes may be as short or as long as an address", "[front][limits]")
{
	networks_table whole(1, 0, 1024, 32, 128);
	CHECK(whole.enter("192.0.2.1") == LIMITS_FINE);
	CHECK(whole.enter("192.0.2.1") == LIMITS_CONNECTIONS);
	CHECK(whole.enter("192.0.2.2") == LIMITS_FINE);
	CHECK(whole.enter("2001:db8::1") == LIMITS_FINE);
	CHECK(whole.enter("2001:db8::1") == LIMITS_CONNECTIONS);
	CHECK(whole.enter("2001:db8::2") == LIMITS_FINE);
	networks_table wide(1, 0, 1024, 8, 16);
	CHECK(wide.enter("10.0.0.1") == LIMITS_FINE);
	CHECK(wide.enter("10.255.0.1") == LIMITS_CONNECTIONS);
	CHECK(wide.enter("2001::1") == LIMITS_FINE);
	CHECK(wide.enter("2001:ffff::1") == LIMITS_CONNECTIONS);
	CHECK(wide.enter("::1") == LIMITS_FINE);
}

TEST_CASE("a minute's connections may come at once, and then as fast as they are refilled",
	  "[front][limits]")
{
	networks_table limits(0, 6);
	uint64_t now_ms = 5000;
	for (int i = 0; i < 6; i++)
		CHECK(limits.enter("192.0.2.1", now_ms) == LIMITS_FINE);
	CHECK(limits.enter("192.0.2.2", now_ms) == LIMITS_RATE);
	CHECK(limits.enter("192.0.2.2", now_ms + 9999) == LIMITS_RATE);
	CHECK(limits.enter("192.0.2.2", now_ms + 10000) == LIMITS_FINE);
	CHECK(limits.enter("192.0.2.2", now_ms + 10000) == LIMITS_RATE);
	now_ms += 10000 + 60000;
	for (int i = 0; i < 6; i++)
		CHECK(limits.enter("192.0.2.1", now_ms) == LIMITS_FINE);
	CHECK(limits.enter("192.0.2.1", now_ms) == LIMITS_RATE);
}

TEST_CASE("a rate that does not divide a minute is reached, not passed", "[front][limits]")
{
	const unsigned rate = GENERATE(1U, 7U, 59U, 61U, 1000U, 200003U);
	CAPTURE(rate);
	networks_table limits(0, rate);
	unsigned fine = 0;
	while (fine <= rate && limits.enter("192.0.2.1") == LIMITS_FINE)
		fine++;
	CHECK(fine == rate);
}

TEST_CASE("without limits nothing is refused", "[front][limits]")
{
	networks_table limits(0, 0);
	unsigned fine = 0;
	for (int i = 0; i < 10000; i++)
		fine += limits.enter("192.0.2.1", 0) == LIMITS_FINE ? 1 : 0;
	CHECK(fine == 10000);
}

TEST_CASE("a network with a connection keeps its place whatever else comes", "[front][limits]")
{
	networks_table limits(1, 0, 16);
	REQUIRE(limits.enter("192.0.2.1") == LIMITS_FINE);
	for (int i = 0; i < 65536; i++) {
		const std::string other =
			"10." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".1";
		REQUIRE(limits.enter(other) == LIMITS_FINE);
		limits.leave(other);
	}
	CHECK(limits.enter("192.0.2.2") == LIMITS_CONNECTIONS);
	limits.leave("192.0.2.1");
	CHECK(limits.enter("192.0.2.2") == LIMITS_FINE);
}

TEST_CASE("when connections hold all places, a new one is let in uncounted", "[front][limits]")
{
	networks_table limits(1, 0, 16);
	for (int i = 0; i < 65536; i++)
		REQUIRE(limits.enter("10." + std::to_string(i / 256) + "." +
				     std::to_string(i % 256) + ".1") == LIMITS_FINE);
	CHECK(limits.enter("192.0.2.1") == LIMITS_FINE);
	CHECK(limits.enter("192.0.2.1") == LIMITS_FINE);
	limits.leave("192.0.2.1");
	limits.leave("192.0.2.1");
	limits.leave("192.0.2.1");
	CHECK(limits.enter("192.0.2.1") == LIMITS_FINE);
}

TEST_CASE("a connection that was not counted takes no count of others with it", "[front][limits]")
{
	networks_table limits(1, 0, 16);
	const auto other = [](int i) {
		return "10." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".1";
	};
	for (int i = 0; i < 65536; i++)
		REQUIRE(limits.enter(other(i)) == LIMITS_FINE);
	CHECK_FALSE(limits.was_counted); // all places are held
	REQUIRE(limits.enter("192.0.2.1") == LIMITS_FINE);
	const bool is_first_counted = limits.was_counted;
	for (int i = 0; i < 65536; i++)
		limits.leave(other(i));
	REQUIRE(limits.enter("192.0.2.2") == LIMITS_FINE);
	CHECK(limits.was_counted);
	if (is_first_counted)
		limits.leave("192.0.2.1");
	CHECK(limits.enter("192.0.2.3") == LIMITS_CONNECTIONS);
}

TEST_CASE("of its connections a network may have so many held, and others theirs",
	  "[front][limits]")
{
	networks_table limits(0, 0, 1024, 24, 56, 2);
	for (const char *address : { "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.3.1" })
		REQUIRE(limits.enter(address) == LIMITS_FINE);
	CHECK(limits.hold("192.0.2.1"));
	CHECK(limits.hold("192.0.2.2"));
	CHECK_FALSE(limits.hold("192.0.2.3"));
	CHECK(limits.hold("192.0.3.1"));
	limits.release("192.0.2.1");
	limits.leave("192.0.2.1");
	CHECK(limits.hold("192.0.2.3"));
	CHECK_FALSE(limits.hold("192.0.2.1"));
}

TEST_CASE("a held connection counts as a connection too", "[front][limits]")
{
	networks_table limits(1, 0);
	REQUIRE(limits.enter("192.0.2.1") == LIMITS_FINE);
	REQUIRE(limits.hold("192.0.2.1"));
	CHECK(limits.enter("192.0.2.2") == LIMITS_CONNECTIONS);
	limits.release("192.0.2.1");
	CHECK(limits.enter("192.0.2.2") == LIMITS_CONNECTIONS);
	limits.leave("192.0.2.1");
	CHECK(limits.enter("192.0.2.2") == LIMITS_FINE);
}

TEST_CASE("held connections of a network without a place are not counted", "[front][limits]")
{
	networks_table limits(1, 0, 16, 24, 56, 1);
	for (int i = 0; i < 3; i++) {
		CHECK(limits.hold("192.0.2.1"));
		limits.release("192.0.2.1");
	}
	REQUIRE(limits.enter("192.0.2.1") == LIMITS_FINE);
	limits.release("192.0.2.1");
	CHECK(limits.hold("192.0.2.1"));
	CHECK_FALSE(limits.hold("192.0.2.1"));
}

TEST_CASE("a site has twice what its networks have, in connections", "[front][limits]")
{
	networks_table limits(1, 0, 1024, 24, 56, 0, 48);
	CHECK(limits.enter("2001:db8:0:100::1") == LIMITS_FINE);
	CHECK(limits.enter("2001:db8:0:100::2") == LIMITS_CONNECTIONS); // its network has one
	CHECK(limits.enter("2001:db8:0:200::1") == LIMITS_FINE);
	CHECK(limits.enter("2001:db8:0:300::1") == LIMITS_CONNECTIONS);
	CHECK(limits.enter("2001:db8:1:100::1") == LIMITS_FINE);
	for (int i = 0; i < 5; i++) // IPv4 has no sites
		CHECK(limits.enter("192.0." + std::to_string(i) + ".1") == LIMITS_FINE);
	limits.leave("2001:db8:0:100::1");
	CHECK(limits.enter("2001:db8:0:300::1") == LIMITS_FINE);
	CHECK(limits.enter("2001:db8:0:400::1") == LIMITS_CONNECTIONS);
}

TEST_CASE("a site has twice what its networks have, held and new", "[front][limits]")
{
	networks_table held(0, 0, 1024, 24, 56, 1, 48);
	for (const char *one : { "2001:db8:0:100::1", "2001:db8:0:200::1", "2001:db8:0:300::1" })
		REQUIRE(held.enter(one) == LIMITS_FINE);
	CHECK(held.hold("2001:db8:0:100::1"));
	CHECK(held.hold("2001:db8:0:200::1"));
	CHECK_FALSE(held.hold("2001:db8:0:300::1"));
	held.release("2001:db8:0:100::1");
	CHECK(held.hold("2001:db8:0:300::1"));
	networks_table rate(0, 1, 1024, 24, 56, 0, 48);
	CHECK(rate.enter("2001:db8:0:100::1") == LIMITS_FINE);
	CHECK(rate.enter("2001:db8:0:200::1") == LIMITS_FINE);
	CHECK(rate.enter("2001:db8:0:300::1") == LIMITS_RATE);
	CHECK(rate.enter("2001:db8:1:300::1") == LIMITS_FINE);
}

TEST_CASE("a site of no bits, or of no fewer than a network has, is none", "[front][limits]")
{
	networks_table limits(1, 0, 1024, 24, 56, 0, GENERATE(0U, 56U, 64U));
	for (int i = 1; i < 100; i++)
		CHECK(limits.enter("2001:db8:0:" + std::to_string(i) + "00::1") == LIMITS_FINE);
}

TEST_CASE("all that a site has counted is given back", "[front][limits]")
{
	networks_table limits(1, 0, 16, 24, 56, 0, 48);
	for (int i = 0; i < 10000; i++) {
		const std::string one = "2001:db8:" + std::to_string(i % 7) + ":" +
					std::to_string(i % 97) + "00::1";
		REQUIRE(limits.enter(one) == LIMITS_FINE);
		REQUIRE(limits.was_counted);
		limits.leave(one);
	}
}

TEST_CASE("a question whether a connection may come counts none", "[front][limits]")
{
	networks_table limits(1, 0);
	for (int i = 0; i < 100; i++)
		CHECK(limits.may_enter("192.0.2.1"));
	CHECK(limits.enter("192.0.2.1") == LIMITS_FINE);
	CHECK_FALSE(limits.may_enter("192.0.2.2"));
	CHECK(limits.may_enter("192.0.3.1"));
	limits.leave("192.0.2.1");
	CHECK(limits.may_enter("192.0.2.2"));
}

// Wrong logins are counted so.
TEST_CASE("a rate whose connections end at once is one that a question knows", "[front][limits]")
{
	networks_table limits(0, 6);
	const uint64_t now_ms = 5000;
	for (int i = 0; i < 6; i++) {
		CHECK(limits.may_enter("192.0.2.1", now_ms));
		CHECK(limits.enter("192.0.2.1", now_ms) == LIMITS_FINE);
		limits.leave("192.0.2.1");
	}
	CHECK_FALSE(limits.may_enter("192.0.2.2", now_ms));
	CHECK_FALSE(limits.may_enter("192.0.2.2", now_ms + 9999));
	CHECK(limits.may_enter("192.0.2.2", now_ms + 10000));
	CHECK(limits.may_enter("198.51.100.1", now_ms));
}

TEST_CASE("a question whether a connection may come is also one of its site", "[front][limits]")
{
	networks_table limits(1, 0, 1024, 24, 56, 0, 48);
	CHECK(limits.enter("2001:db8:0:100::1") == LIMITS_FINE);
	CHECK_FALSE(limits.may_enter("2001:db8:0:100::2"));
	CHECK(limits.may_enter("2001:db8:0:200::1"));
	CHECK(limits.enter("2001:db8:0:200::1") == LIMITS_FINE);
	CHECK_FALSE(limits.may_enter("2001:db8:0:300::1")); // twice as much
	CHECK(limits.may_enter("2001:db8:1:100::1"));
}

TEST_CASE("all addresses of a network have one number, and no other has it", "[front][limits]")
{
	networks_table limits(0, 0);
	const auto [one, same, other] = GENERATE(table<std::string, std::string, std::string>(
		{ { "192.0.2.1", "192.0.2.255", "192.0.3.1" },
		  { "2001:db8:0:100::1", "2001:db8:0:1ff::2", "2001:db8:0:200::1" },
		  { "::ffff:198.51.100.1", "198.51.100.2", "::198.51.100.1" },
		  { "0.0.0.0", "0.0.0.1", "::" } }));
	CHECK(limits.network(one) == limits.network(same));
	CHECK(limits.network(one) != limits.network(other));
	networks_table whole(0, 0, 1024, 32, 128);
	CHECK(whole.network(one) != whole.network(same));
}
