/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "client-lib/dnsblv6.h"

#include <arpa/inet.h>
#include <cerrno>
#include <string>
#include <sys/socket.h>

#include <catch2/catch.hpp>

namespace
{
dnsblv6_ip ip(const char *text)
{
	dnsblv6_ip parsed = {};
	REQUIRE(dnsblv6_ip_parse(text, &parsed) == 0);
	return parsed;
}

std::string qname(const char *address, const char *kind)
{
	char name[256];
	dnsblv6_ip parsed = ip(address);
	int length = dnsblv6_qname(&parsed, kind, "bl6.example.", name, sizeof(name));
	REQUIRE(length > 0);
	return std::string(name, static_cast<size_t>(length));
}
} // namespace

TEST_CASE("an IPv4-mapped address is the IPv4 address in it", "[client][ip]")
{
	dnsblv6_ip mapped = ip("::ffff:192.0.2.66");
	char text[DNSBLV6_IP_TEXT_SIZE];

	CHECK(dnsblv6_ip_format(&mapped, text) == 10);
	CHECK(std::string(text) == "192.0.2.66");
}

TEST_CASE("what is no address is refused", "[client][ip]")
{
	auto text = GENERATE("", "192.0.2", "192.0.2.300", "192.0.2.01", "::g", "[::1]",
			     "fe80::1%lo", " 192.0.2.1");
	CAPTURE(text);
	dnsblv6_ip parsed;
	CHECK(dnsblv6_ip_parse(text, &parsed) == -EINVAL);
}

TEST_CASE("a socket address of another family is refused", "[client][ip]")
{
	sockaddr_in in = {};
	dnsblv6_ip parsed = {};
	char text[DNSBLV6_IP_TEXT_SIZE];

	in.sin_family = AF_INET;
	in.sin_addr.s_addr = htonl(0xc0000242);
	REQUIRE(dnsblv6_ip_from_sockaddr(reinterpret_cast<sockaddr *>(&in), &parsed) == 0);
	dnsblv6_ip_format(&parsed, text);
	CHECK(std::string(text) == "192.0.2.66");
	in.sin_family = AF_UNIX;
	CHECK(dnsblv6_ip_from_sockaddr(reinterpret_cast<sockaddr *>(&in), &parsed) ==
	      -EAFNOSUPPORT);
}

TEST_CASE("a pointer that is missing is refused, and nothing is written", "[client][ip]")
{
	sockaddr_in in = {};
	const dnsblv6_ip address = ip("192.0.2.66");
	dnsblv6_ip parsed = {};
	char text[DNSBLV6_IP_TEXT_SIZE] = "as it was";

	in.sin_family = AF_INET;
	CHECK(dnsblv6_ip_parse("192.0.2.66", nullptr) == -EINVAL);
	CHECK(dnsblv6_ip_parse(nullptr, &parsed) == -EINVAL);
	// As of getifaddrs(), of an interface without an address.
	CHECK(dnsblv6_ip_from_sockaddr(nullptr, &parsed) == -EINVAL);
	CHECK(dnsblv6_ip_from_sockaddr(reinterpret_cast<sockaddr *>(&in), nullptr) == -EINVAL);
	CHECK(dnsblv6_ip_format(nullptr, text) == 0);
	CHECK(std::string(text) == "as it was");
	CHECK(dnsblv6_ip_format(&address, nullptr) == 0);
	CHECK(dnsblv6_qname(&address, "flat", "bl6.example", nullptr, 256) == -EINVAL);
}

TEST_CASE("the name asked for an address follows the kind of zone", "[client][ip]")
{
	CHECK(qname("192.0.2.66", "dotted") == "0.2.0.192.bl6.example");
	CHECK(qname("192.0.2.166", "flat") == "c000021.bl6.example");
	CHECK(qname("127.0.0.2", "classic") == "2.0.0.127.bl6.example");
	CHECK(qname("2001:db8:aabb:cc80::7", "dotted") == "1.cc.aabb.0db8.2001.ip6.bl6.example");
}

TEST_CASE("a name that does not fit, or has no such kind, is refused", "[client][ip]")
{
	dnsblv6_ip address = ip("192.0.2.66");
	char name[21];

	CHECK(dnsblv6_qname(&address, "dotted", "bl6.example", name, sizeof(name)) == -ENOSPC);
	CHECK(dnsblv6_qname(&address, "round", "bl6.example", name, sizeof(name)) == -EINVAL);
	CHECK(dnsblv6_qname(&address, "dotted", "bl6..example", name, sizeof(name)) == -EINVAL);
}

TEST_CASE("verdicts and states have names, and other numbers do not", "[client][ip]")
{
	CHECK(std::string(dnsblv6_verdict_name(DNSBLV6_DEFER)) == "defer");
	CHECK(std::string(dnsblv6_verdict_name(99)) == "invalid");
	CHECK(std::string(dnsblv6_zone_state_name(DNSBLV6_ZONE_BLOCKED)) == "blocked");
	CHECK(std::string(dnsblv6_zone_state_name(-1)) == "invalid");
	CHECK(std::string(dnsblv6_zone_state_name(DNSBLV6_ZONE_INSECURE)) == "insecure");
	CHECK(std::string(dnsblv6_zone_state_name(8)) == "invalid");
}
