/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "client-lib/config/topic.h"

#include <cstring>
#include <string>

#include <catch2/catch.hpp>

namespace
{
std::string digest(const std::string &text)
{
	uint8_t bytes[TOPIC_SHA256_SIZE];
	std::string hex;
	topic_sha256(reinterpret_cast<const uint8_t *>(text.data()), text.size(), bytes);
	for (const uint8_t byte : bytes) {
		const char digits[] = "0123456789abcdef";
		hex += digits[byte >> 4];
		hex += digits[byte & 15];
	}
	return hex;
}

// "" when it is refused.
std::string parsed(const std::string &text)
{
	topic found = {};
	char name[CONFIG_TEXT_MAX];
	if (topic_parse(text.c_str(), &found) != DNSBLV6_OK)
		return "";
	topic_format(&found, name);
	return std::to_string(found.kind) + " " + name;
}
} // namespace

TEST_CASE("digests are those of FIPS 180-4", "[client][topic]")
{
	CHECK(digest("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	CHECK(digest("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	CHECK(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
	      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	CHECK(digest(std::string(1000000, 'a')) ==
	      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("a name is kept in lower case and without its final dot", "[client][topic]")
{
	CHECK(parsed("Example.COM") == "1 example.com");
	CHECK(parsed("a_b-c.example.") == "1 a_b-c.example");
	CHECK(parsed("xn--bcher-kva.example") == "1 xn--bcher-kva.example");
	CHECK(parsed("c160f8cc69a4f0bf2b0362752353d060") == "1 c160f8cc69a4f0bf2b0362752353d060");
	CHECK(parsed("1.2.3.4.5") == "1 1.2.3.4.5");
	const std::string label(63, 'a'), longest = label + "." + label + "." + label + ".";
	CHECK(parsed(longest + std::string(61, 'b')) == "1 " + longest + std::string(61, 'b'));
}

TEST_CASE("an IPv4 address in place of a name is one", "[client][topic]")
{
	topic found = {};
	CHECK(parsed("192.0.2.7") == "2 192.0.2.7");
	CHECK(parsed("192.0.2.7.") == "2 192.0.2.7");
	REQUIRE(topic_parse("192.0.2.7", &found) == DNSBLV6_OK);
	CHECK(dnsblv6_addr_ipv4(found.addr) == 0xc0000207);
	CHECK(found.name.size == 0);
}

TEST_CASE("what is no name is refused", "[client][topic]")
{
	const std::string label(63, 'a'), long_name = label + "." + label + "." + label + ".";
	const std::string text = GENERATE_COPY(
		std::string(), std::string("."), std::string(".com"), std::string("a..com"),
		std::string("a.com.."), std::string("a b.com"), std::string("b\xc3\xbc.com"),
		std::string("2001:db8::1"), std::string("[192.0.2.1]"), std::string("192.0.2.1.."),
		std::string("2001:db8::1."), std::string("a.com/"), std::string("user@a.com"),
		std::string("*.com"), std::string("a\\.com"), std::string("a\ncom"),
		label + "a.com", long_name + std::string(62, 'b'), std::string(100000, 'a'));
	CAPTURE(text);
	CHECK(parsed(text).empty());
}

TEST_CASE("a name is kept where no address is", "[client][topic]")
{
	topic one = {}, two = {}, other = {}, address = {};
	uint8_t bytes[16];
	REQUIRE(topic_parse("bad.com", &one) == DNSBLV6_OK);
	REQUIRE(topic_parse("BAD.com.", &two) == DNSBLV6_OK);
	REQUIRE(topic_parse("ba.dcom", &other) == DNSBLV6_OK);
	CHECK(dnsblv6_addr_compare(one.addr, two.addr) == 0);
	CHECK(dnsblv6_addr_compare(one.addr, other.addr) != 0);
	dnsblv6_addr_to_bytes(one.addr, bytes);
	CHECK(bytes[0] == 0xff);
	const dnsblv6_ip ip = { { 0x20, 1, 0xd, 0xb8 } };
	topic_of_ip(&ip, &address);
	CHECK(address.kind == CONFIG_ADDRESS);
	CHECK(address.name.size == 0);
}
