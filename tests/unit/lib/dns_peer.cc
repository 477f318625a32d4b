// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/dns/peer.h"

#include <catch2/catch.hpp>

#include <arpa/inet.h>

#include <cstring>
#include <set>
#include <string>

static sockaddr_storage address(const char *text)
{
	sockaddr_storage out = {};
	auto *four = reinterpret_cast<sockaddr_in *>(&out);
	auto *six = reinterpret_cast<sockaddr_in6 *>(&out);
	if (inet_pton(AF_INET, text, &four->sin_addr) == 1)
		out.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1)
		out.ss_family = AF_INET6;
	return out;
}

static uint64_t network(const char *text)
{
	sockaddr_storage from = address(text);
	return peer_network(reinterpret_cast<sockaddr *>(&from));
}

TEST_CASE("a network is a /24 or a /56, and every family has its own", "[dns][peer]")
{
	CHECK(network("192.0.2.1") == network("192.0.2.255"));
	CHECK(network("192.0.2.1") == network("::ffff:192.0.2.77"));
	CHECK(network("192.0.2.1") != network("192.0.3.1"));
	CHECK(network("2001:db8:0:1::1") == network("2001:db8:0:ff::2"));
	CHECK(network("2001:db8:0:1::1") != network("2001:db8:0:100::1"));
	CHECK(network("::1") == network("::2"));
	CHECK(peer_network(nullptr) == 0);
	CHECK(network("nobody") == 0);
	std::set<uint64_t> all = { network("0.0.0.0"),	     network("::"),
				   network("255.255.255.0"), network("fe80::1"),
				   network("2001:db8::"),    network("192.0.2.0") };
	CHECK(all.size() == 6);
	for (uint64_t one : all) {
		CHECK(one != 0);
		CHECK((one & 255) == 0);
	}
}

TEST_CASE("a peer is said as text with its port, at any even address", "[dns][peer]")
{
	alignas(4) char buffer[2 + sizeof(sockaddr_in6)];
	char text[PEER_TEXT_SIZE];
	sockaddr_in four = {};
	four.sin_family = AF_INET;
	four.sin_port = htons(53);
	inet_pton(AF_INET, "192.0.2.66", &four.sin_addr);
	CHECK(peer_format(reinterpret_cast<sockaddr *>(&four), text) == 53);
	CHECK(std::string(text) == "192.0.2.66");
	sockaddr_in6 six = {};
	six.sin6_family = AF_INET6;
	six.sin6_port = htons(65535);
	inet_pton(AF_INET6, "2001:db8:ffff:ffff:ffff:ffff:255.255.255.255", &six.sin6_addr);
	memcpy(buffer + 2, &six, sizeof(six));
	CHECK(peer_format(reinterpret_cast<sockaddr *>(buffer + 2), text) == 65535);
	CHECK(std::string(text) == "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff");
}
