// SPDX-License-Identifier: GPL-3.0-or-later
// What balancers say about their clients, and what others say.
#include "lib/wire/proxy.h"

#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <string>
#include <vector>

namespace
{

const std::string MAGIC("\r\n\r\n\0\r\nQUIT\n", 12);

std::string binary(int command, int family, const std::string &rest)
{
	std::string made = MAGIC;
	made += static_cast<char>(command);
	made += static_cast<char>(family);
	made += static_cast<char>(rest.size() >> 8);
	made += static_cast<char>(rest.size());
	return made + rest;
}

const std::string IPV4("\xc0\x00\x02\x07\xc6\x33\x64\x01\xc8\x22\x00\x19", 12);
const std::string IPV6("\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07"
		       "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"
		       "\xc8\x22\x00\x19",
		       36);

struct parsed {
	explicit parsed(const std::string &text)
	{
		const std::vector<uint8_t> bytes(text.begin(), text.end());
		status = proxy_parse(bytes.data(), bytes.size(), &proxy, &used);
	}

	std::string client() const
	{
		char text[DNSBLV6_ADDR_TEXT_SIZE];
		dnsblv6_addr_format(proxy.client_addr, text);
		return std::string(text) + " " + std::to_string(proxy.client_port);
	}

	std::string local() const
	{
		char text[DNSBLV6_ADDR_TEXT_SIZE];
		dnsblv6_addr_format(proxy.local_addr, text);
		return std::string(text) + " " + std::to_string(proxy.local_port);
	}

	struct proxy proxy = {};
	size_t used = 4711;
	proxy_status status;
};

} // namespace

TEST_CASE("both versions tell both ends of a connection, in both families", "[wire][proxy]")
{
	struct row {
		std::string text;
		const char *client, *local;
	};
	const row tried = GENERATE(values<row>({
		{ "PROXY TCP4 192.0.2.7 198.51.100.1 51234 25\r\n", "192.0.2.7 51234",
		  "198.51.100.1 25" },
		{ "PROXY TCP6 2001:db8::7 2001:db8::1 51234 25\r\n", "2001:db8::7 51234",
		  "2001:db8::1 25" },
		{ "PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe 65535 65535\r\n",
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535",
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe 65535" },
		{ "PROXY TCP4 0.0.0.0 255.255.255.255 0 1\r\n", "0.0.0.0 0", "255.255.255.255 1" },
		{ binary(0x21, 0x11, IPV4), "192.0.2.7 51234", "198.51.100.1 25" },
		{ binary(0x21, 0x21, IPV6), "2001:db8::7 51234", "2001:db8::1 25" },
		{ binary(0x21, 0x11, IPV4 + std::string(996, 'x')), "192.0.2.7 51234",
		  "198.51.100.1 25" },
	}));
	CAPTURE(tried.text);
	const auto rest = GENERATE(as<std::string>(), "", "EHLO x\r\n", "\n");
	const parsed made(tried.text + rest);
	REQUIRE(made.status == PROXY_DONE);
	CHECK(made.used == tried.text.size());
	CHECK_FALSE(made.proxy.is_local);
	CHECK(made.client() == tried.client);
	CHECK(made.local() == tried.local);
	const unsigned version = GENERATE(1U, 2U);
	uint8_t header[PROXY_MADE_MAX];
	const size_t size = proxy_make(version, &made.proxy, header);
	REQUIRE(size <= PROXY_MADE_MAX);
	const parsed again(std::string(header, header + size));
	REQUIRE(again.status == PROXY_DONE);
	CHECK(again.used == size);
	CHECK(again.client() == tried.client);
	CHECK(again.local() == tried.local);
	for (size_t cut = 0; cut < tried.text.size(); cut++) {
		CAPTURE(cut);
		const parsed part(tried.text.substr(0, cut));
		REQUIRE(part.status == PROXY_MORE);
		REQUIRE(part.used == 4711);
	}
}

TEST_CASE("a balancer may speak for itself", "[wire][proxy]")
{
	const auto text = GENERATE_COPY(as<std::string>(), "PROXY UNKNOWN\r\n",
					"PROXY UNKNOWN a b c d\r\n", binary(0x20, 0x00, ""),
					binary(0x20, 0x11, IPV4), binary(0x20, 0x31, "unix"),
					binary(0x21, 0x00, ""), binary(0x21, 0x00, "something"));
	CAPTURE(text);
	const parsed made(text + "x");
	REQUIRE(made.status == PROXY_DONE);
	CHECK(made.proxy.is_local);
	CHECK(made.used == text.size());
	CHECK(made.client() == ":: 0");
}

TEST_CASE("whatever else is said is bad, and at the first byte that shows it", "[wire][proxy]")
{
	struct row {
		std::string text;
		size_t bad_at; // the byte that shows it, counted from 1
	};
	const row tried = GENERATE(values<row>({
		{ "EHLO x\r\n", 1 },
		{ "proxy TCP4", 1 },
		{ "PROXYTCP4", 6 },
		{ "PROXY \n", 7 },
		{ std::string("PROXY TCP4\0", 11), 11 },
		{ "PROXY \r\n", 8 },
		{ "PROXY TCP4\r\n", 12 },
		{ "PROXY TCP4 \r\n", 13 },
		{ "PROXY TCP4 192.0.2.7 198.51.100.1 51234 25\n", 43 },
		{ "PROXY TCP4 192.0.2.7 198.51.100.1 51234 25\rx", 44 },
		{ "PROXY TCP4 192.0.2.7 198.51.100.1 51234\r\n", 41 },
		{ "PROXY TCP4 192.0.2.7 198.51.100.1 51234 25 \r\n", 45 },
		{ "PROXY TCP4 192.0.2.7 198.51.100.1 51234 25 1\r\n", 46 },
		{ "PROXY TCP4 192.0.2.7  198.51.100.1 51234 25\r\n", 45 },
		{ "PROXY TCP4 192.0.2.7 198.51.100.1 65536 25\r\n", 44 },
		{ "PROXY TCP4 192.0.2.7 198.51.100.1 -1 25\r\n", 41 },
		{ "PROXY TCP4 192.0.2.7 198.51.100.1 01 25\r\n", 41 },
		{ "PROXY TCP4 192.0.2.7 198.51.100.1 1234567 25\r\n", 46 },
		{ "PROXY TCP4 192.0.2.256 198.51.100.1 1 25\r\n", 42 },
		{ "PROXY TCP4 2001:db8::7 2001:db8::1 1 25\r\n", 41 },
		{ "PROXY TCP6 192.0.2.7 198.51.100.1 1 25\r\n", 40 },
		{ "PROXY TCP5 192.0.2.7 198.51.100.1 1 25\r\n", 40 },
		{ "PROXY UNKNOWNX\r\n", 16 },
		{ "PROXY " + std::string(200, 'x'), 107 },
		{ "PROXY UNKNOWN " + std::string(92, 'x') + "\r\n", 107 },
		{ "\r\nEHLO", 3 },
		{ "\r\n\r\nx", 5 },
		{ binary(0x22, 0x11, IPV4), 13 },
		{ binary(0x11, 0x11, IPV4), 13 },
		{ binary(0x01, 0x11, IPV4), 13 },
		{ binary(0x21, 0x12, IPV4), 14 },
		{ binary(0x21, 0x31, std::string(216, 'u')), 14 },
		{ binary(0x21, 0x11, IPV4.substr(0, 11)), 27 },
		{ binary(0x21, 0x21, IPV6.substr(0, 35)), 51 },
		{ binary(0x21, 0x11, ""), 16 },
		{ binary(0x21, 0x11, IPV4 + std::string(997, 'x')), 16 },
		{ binary(0x20, 0x00, std::string(65535, 'x')), 16 },
	}));
	CAPTURE(tried.text, tried.bad_at);
	CHECK(parsed(tried.text).status == PROXY_BAD);
	CHECK(parsed(tried.text.substr(0, tried.bad_at)).status == PROXY_BAD);
	CHECK(parsed(tried.text.substr(0, tried.bad_at - 1)).status == PROXY_MORE);
}

TEST_CASE("a process may speak for itself by the ends of its socket", "[wire][proxy]")
{
	struct proxy own = {};
	uint8_t header[PROXY_MADE_MAX];
	const auto make = [&](const auto &from, const auto &to) {
		proxy_of_socket(reinterpret_cast<const sockaddr *>(&from),
				reinterpret_cast<const sockaddr *>(&to), &own);
		const size_t size = proxy_make(1, &own, header);
		return std::string(header, header + size);
	};
	SECTION("IPv4")
	{
		sockaddr_in from = {}, to = {};
		from.sin_family = to.sin_family = AF_INET;
		from.sin_addr.s_addr = htonl(0xc0000207);
		to.sin_addr.s_addr = htonl(0xc0000208);
		from.sin_port = htons(40000);
		to.sin_port = htons(25);
		CHECK(make(from, to) == "PROXY TCP4 192.0.2.7 192.0.2.8 40000 25\r\n");
	}
	SECTION("IPv6")
	{
		sockaddr_in6 from = {}, to = {};
		from.sin6_family = to.sin6_family = AF_INET6;
		from.sin6_addr = to.sin6_addr = in6addr_loopback;
		from.sin6_port = htons(40000);
		to.sin6_port = htons(25);
		CHECK(make(from, to) == "PROXY TCP6 ::1 ::1 40000 25\r\n");
	}
	SECTION("a path")
	{
		sockaddr_storage path = {};
		path.ss_family = AF_UNIX;
		CHECK(make(path, path) == "PROXY TCP4 127.0.0.1 127.0.0.1 0 0\r\n");
	}
}
