// SPDX-License-Identifier: GPL-3.0-or-later
// Interfaces and addresses of this machine, whatever it has: loopback there always is.
#include "server/xdp-kernel/links.h"

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <string>
#include <vector>

namespace
{

sockaddr_storage address_of(const char *text, uint16_t port)
{
	sockaddr_storage out = {};
	if (strchr(text, ':') != nullptr) {
		auto *ipv6 = reinterpret_cast<sockaddr_in6 *>(&out);
		ipv6->sin6_family = AF_INET6;
		ipv6->sin6_port = htons(port);
		REQUIRE(inet_pton(AF_INET6, text, &ipv6->sin6_addr) == 1);
	} else {
		auto *ipv4 = reinterpret_cast<sockaddr_in *>(&out);
		ipv4->sin_family = AF_INET;
		ipv4->sin_port = htons(port);
		REQUIRE(inet_pton(AF_INET, text, &ipv4->sin_addr) == 1);
	}
	return out;
}

std::string text_of(const sockaddr_storage &address)
{
	std::array<char, INET6_ADDRSTRLEN> text = {};
	const auto *ipv6 = reinterpret_cast<const sockaddr_in6 *>(&address);
	const auto *ipv4 = reinterpret_cast<const sockaddr_in *>(&address);
	const bool is_ipv6 = address.ss_family == AF_INET6;
	inet_ntop(address.ss_family,
		  is_ipv6 ? static_cast<const void *>(&ipv6->sin6_addr) : &ipv4->sin_addr,
		  text.data(), text.size());
	return std::string(text.data()) + " " +
	       std::to_string(ntohs(is_ipv6 ? ipv6->sin6_port : ipv4->sin_port));
}

std::vector<std::string> expand(const std::vector<sockaddr_storage> &listen, size_t max = 64)
{
	std::vector<sockaddr_storage> found(max);
	const int count = links_expand(listen.data(), listen.size(), found.data(), max);
	REQUIRE(count >= 0);
	std::vector<std::string> out;
	for (size_t i = 0; i < max && i < static_cast<size_t>(count); i++)
		out.push_back(text_of(found[i]));
	return out;
}

using texts = std::vector<std::string>;

} // namespace

TEST_CASE("an interface that is not there is none", "[xdp][links]")
{
	xdp_link link = {};
	CHECK(links_find("no-interface", &link) == -ENODEV);
	CHECK(links_find("", &link) == -ENODEV);
	CHECK(links_find("a-name-that-is-longer-than-any", &link) == -ENODEV);
	CHECK(link.index == 0);
}

TEST_CASE("loopback is no Ethernet", "[xdp][links]")
{
	xdp_link link = {};
	CHECK(links_find("lo", &link) == -EPROTONOSUPPORT);
	CHECK(link.index == 0);
}

TEST_CASE("addresses that are written stay as they are, each once", "[xdp][links]")
{
	CHECK(expand({ address_of("192.0.2.1", 53), address_of("2001:db8::1", 5353),
		       address_of("192.0.2.1", 53), address_of("192.0.2.1", 54) }) ==
	      texts{ "192.0.2.1 53", "2001:db8::1 5353", "192.0.2.1 54" });
}

TEST_CASE("addresses of loopback are left out, written or not", "[xdp][links]")
{
	CHECK(expand({ address_of("127.0.0.1", 53), address_of("127.9.9.9", 53),
		       address_of("::1", 53) })
		      .empty());
	for (const std::string &text :
	     expand({ address_of("0.0.0.0", 53), address_of("::", 53) })) {
		CHECK(text.rfind("127.", 0) != 0);
		CHECK(text != "::1 53");
	}
}

TEST_CASE("a wildcard is addresses of its own family, with its port", "[xdp][links]")
{
	for (const std::string &text : expand({ address_of("0.0.0.0", 5353) })) {
		CHECK(text.find(':') == std::string::npos);
		CHECK(text.substr(text.find(' ')) == " 5353");
	}
	for (const std::string &text : expand({ address_of("::", 5354) })) {
		CHECK(text.find(':') != std::string::npos);
		CHECK(text.substr(text.find(' ')) == " 5354");
	}
}

TEST_CASE("addresses that there is no room for are counted and not written", "[xdp][links]")
{
	const std::array<sockaddr_storage, 3> listen = { address_of("192.0.2.1", 53),
							 address_of("192.0.2.2", 53),
							 address_of("192.0.2.3", 53) };
	std::array<sockaddr_storage, 3> found = {};
	CHECK(links_expand(listen.data(), listen.size(), found.data(), 2) == 3);
	CHECK(text_of(found[1]) == "192.0.2.2 53");
	CHECK(found[2].ss_family == AF_UNSPEC);
}
