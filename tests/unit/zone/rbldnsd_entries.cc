// SPDX-License-Identifier: GPL-3.0-or-later
// One entry of a dataset: its address and its value.

#include "tests/unit/zone/rbldnsd.hh"

#include "zone-tools/lists/rbldnsd.h"
#include "zone-tools/lists/rbldnsd_address.h"
#include "zone-tools/lists/rbldnsd_value.h"

#include <catch2/catch.hpp>

#include <string>

namespace
{
std::string text_of(const dnsblv6_addr &addr)
{
	char text[DNSBLV6_ADDR_TEXT_SIZE];
	dnsblv6_addr_format(addr, text);
	return text;
}

// "first-last" and "+tail" for what is left behind the address; else the fault.
std::string parse_address(rbldnsd_type type, const char *text, bool is_exclusion = false)
{
	rbldnsd_range range = {};
	const char *at = text;
	const char *fault = rbldnsd_address_parse(type, is_exclusion, &at, &range);
	if (fault != nullptr)
		return fault;
	return text_of(range.first) + "-" + text_of(range.last) +
	       (range.has_host_bits ? " host bits" : "") +
	       (*at != '\0' ? "+" + std::string(at) : "");
}
} // namespace

// ---- addresses ----

TEST_CASE("ip4set takes octets, prefixes and ranges of octets", "[zone-tools][rbldnsd]")
{
	auto s = GENERATE(sample{ "127.0.0.0/24", "127.0.0.0-127.0.0.255" },
			  sample{ "127.0.0", "127.0.0.0-127.0.0.255" },
			  sample{ "127/24", "127.0.0.0-127.0.0.255" },
			  sample{ "127.0.0.0-127.0.0.255", "127.0.0.0-127.0.0.255" },
			  sample{ "127.0.0.1-255", "127.0.0.1-127.0.0.255" },
			  sample{ "127.16.0.0-127.31.255.255", "127.16.0.0-127.31.255.255" },
			  sample{ "127.16.0-127.31.255", "127.16.0.0-127.31.255.255" },
			  sample{ "127.16-127.31", "127.16.0.0-127.31.255.255" },
			  sample{ "127.16-31", "127.16.0.0-127.31.255.255" },
			  sample{ "127.16.0-31", "127.16.0.0-127.16.31.255" },
			  sample{ "127.16/12", "127.16.0.0-127.31.255.255" },
			  sample{ "127-128", "127.0.0.0-128.255.255.255" },
			  sample{ "0-255", "0.0.0.0-255.255.255.255" },
			  sample{ "1.2.3.4", "1.2.3.4-1.2.3.4" },
			  sample{ "001.002.0000003.4", "1.2.3.4-1.2.3.4" },
			  sample{ "1.2.3.4 text", "1.2.3.4-1.2.3.4+ text" },
			  sample{ "1.2.3.4:2", "1.2.3.4-1.2.3.4+:2" },
			  sample{ "1.2.3.4.5", "1.2.3.4-1.2.3.4+.5" },
			  sample{ "1.2.3.4 - 1.2.3.9", "1.2.3.4-1.2.3.4+ - 1.2.3.9" },
			  sample{ "1.2.3.4/24", "1.2.3.0-1.2.3.255 host bits" },
			  sample{ "1.2.3/8", "1.0.0.0-1.255.255.255 host bits" });
	CAPTURE(s.text);
	CHECK(parse_address(RBLDNSD_IP4SET, s.text) == s.meaning);
}

TEST_CASE("ip4set refuses what rbldnsd warns about", "[zone-tools][rbldnsd]")
{
	auto s = GENERATE(sample{ "127", "one octet alone; write it with /8" },
			  sample{ "127-127.0.0", ENDS }, sample{ "1.2.3.4-1.2.4", ENDS },
			  sample{ "1.2.3.9-1.2.3.4", "range ends before it begins" },
			  sample{ "1.2.3.4-3", "range ends before it begins" },
			  sample{ "1.2.3.4-", NOT_IPV4 },
			  sample{ "300.1.1.1/24", "octet above 255" },
			  sample{ "1.2.3.4-256", "octet above 255" },
			  sample{ "1.2.3.0/33", "prefix length out of range" },
			  sample{ "1.2.3.0/", "prefix length out of range" },
			  sample{ "0/0", "ip4set takes no /0" }, sample{ "1.2.3.", NOT_IPV4 },
			  sample{ "", NOT_IPV4 }, sample{ "x", NOT_IPV4 },
			  sample{ "2001:db8::1", NOT_IPV4 }, sample{ "300a:db8::1", NOT_IPV4 });
	CAPTURE(s.text);
	CHECK(parse_address(RBLDNSD_IP4SET, s.text) == s.meaning);
}

TEST_CASE("an address of the other family is not taken for a part of one", "[zone-tools][rbldnsd]")
{
	CHECK(parse_address(RBLDNSD_IP4SET, "2a03:2880::1") == NOT_IPV4);
	CHECK(parse_address(RBLDNSD_IP4TRIE, "20::1") == NOT_IPV4);
	CHECK(parse_address(RBLDNSD_IP4SET, "127:2") == "one octet alone; write it with /8");
	CHECK(parse_address(RBLDNSD_IP6TRIE, "44.0.0.1") == NOT_IPV6);
}

TEST_CASE("ip4trie takes prefixes, ip4tset whole addresses", "[zone-tools][rbldnsd]")
{
	CHECK(parse_address(RBLDNSD_IP4TRIE, "10.0.0") == "10.0.0.0-10.0.0.255");
	CHECK(parse_address(RBLDNSD_IP4TRIE, "0/0") == "0.0.0.0-255.255.255.255");
	CHECK(parse_address(RBLDNSD_IP4TRIE, "10") == "one octet alone; write it with /8");
	CHECK(parse_address(RBLDNSD_IP4TRIE, "1.2.3.4-9") == "1.2.3.4-1.2.3.4+-9");
	CHECK(parse_address(RBLDNSD_IP4TSET, "1.2.3.4") == "1.2.3.4-1.2.3.4");
	CHECK(parse_address(RBLDNSD_IP4TSET, "1.2.3.4/32") == "1.2.3.4-1.2.3.4+/32");
	CHECK(parse_address(RBLDNSD_IP4TSET, "1.2.3") == "ip4tset takes whole addresses only");
}

TEST_CASE("ip6trie takes groups, two colons and prefixes", "[zone-tools][rbldnsd]")
{
	auto s = GENERATE(
		sample{ "2001:db8", "2001:db8::-2001:db8:ffff:ffff:ffff:ffff:ffff:ffff" },
		sample{ "2001:21ab:c000/36",
			"2001:21ab:c000::-2001:21ab:cfff:ffff:ffff:ffff:ffff:ffff" },
		sample{ "2605:6001:42::/52",
			"2605:6001:42::-2605:6001:42:fff:ffff:ffff:ffff:ffff" },
		sample{ "::1", "::1-::1" }, sample{ "::", "::-::" }, sample{ "1::", "1::-1::" },
		sample{ "2001:DB8::BeAd", "2001:db8::bead-2001:db8::bead" },
		sample{ "00002001:0db8::1", "2001:db8::1-2001:db8::1" },
		sample{ "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8-1:2:3:4:5:6:7:8" },
		sample{ "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8-1:2:3:4:5:6:7:8+:9" },
		sample{ "2001:db8::1:", "2001:db8::1-2001:db8::1" },
		sample{ "2001:db8::1::2", "2001:db8::1-2001:db8::1+:2" },
		sample{ "2001:db8::1/64", "2001:db8::-2001:db8::ffff:ffff:ffff:ffff host bits" },
		sample{ "2001:db8::1 :3:x", "2001:db8::1-2001:db8::1+ :3:x" });
	CAPTURE(s.text);
	CHECK(parse_address(RBLDNSD_IP6TRIE, s.text) == s.meaning);
}

TEST_CASE("ip6trie refuses what rbldnsd warns about, and mapped IPv4", "[zone-tools][rbldnsd]")
{
	auto s = GENERATE(sample{ "2001", "one group alone; write it with /16" },
			  sample{ "2001:", NOT_IPV6 }, sample{ "", NOT_IPV6 },
			  sample{ "x", NOT_IPV6 }, sample{ "12345::", NOT_IPV6 },
			  sample{ "1:2:3:4:5:6::7:8", NOT_IPV6 },
			  sample{ "2001:db8::/129", "prefix length out of range" },
			  sample{ "2001:db8::/", "prefix length out of range" },
			  sample{ "::ffff:c000:201", MAPPED }, sample{ "::ffff:0:0/96", MAPPED });
	CAPTURE(s.text);
	CHECK(parse_address(RBLDNSD_IP6TRIE, s.text) == s.meaning);
}

TEST_CASE("ip6tset takes a /64 as four groups and whole addresses as exclusions",
	  "[zone-tools][rbldnsd]")
{
	const auto type = RBLDNSD_IP6TSET;
	CHECK(parse_address(type, "2001:20fe:23:41ed") ==
	      "2001:20fe:23:41ed::-2001:20fe:23:41ed:ffff:ffff:ffff:ffff");
	CHECK(parse_address(type, "2001:db8::") == "an entry of ip6tset is four groups, a /64");
	CHECK(parse_address(type, "2001:db8:1") == "an entry of ip6tset is four groups, a /64");
	CHECK(parse_address(type, "2001:db8:1:2::9", true) == "2001:db8:1:2::9-2001:db8:1:2::9");
	CHECK(parse_address(type, "2001:db8:1:2", true) ==
	      "an exclusion of ip6tset is a whole address");
}

// ---- values ----

namespace
{
// "A text" for a value behind an entry, with a default of 127.0.0.9 and text "default".
std::string parse_value(const std::string &text)
{
	dnsblv6_value fallback = {};
	fallback.a = 0x7f000009;
	fallback.text = reinterpret_cast<const uint8_t *>("default");
	fallback.text_size = 7;
	dnsblv6_value value = {};
	bool is_cut = false;
	const char *fault = rbldnsd_value_parse(text.c_str(), &fallback, &value, &is_cut);
	if (fault != nullptr)
		return fault;
	return text_of(dnsblv6_addr_from_ipv4(value.a)) + " " +
	       std::string(reinterpret_cast<const char *>(value.text), value.text_size) +
	       (is_cut ? " cut" : "");
}

// The text of an entry, with "<>" where the address goes.
std::string compile(const std::string &raw, const char *base = nullptr, const char *one = nullptr)
{
	rbldnsd_scope scope = {};
	std::string base_copy = base != nullptr ? base : "", one_copy = one != nullptr ? one : "";
	scope.variables[RBLDNSD_VARIABLE_BASE] = base != nullptr ? base_copy.data() : nullptr;
	scope.variables[1] = one != nullptr ? one_copy.data() : nullptr;
	dnsblv6_value value = {};
	value.text = reinterpret_cast<const uint8_t *>(raw.data());
	value.text_size = static_cast<uint8_t>(raw.size());
	uint8_t text[RBLDNSD_TEXT_MAX];
	value = rbldnsd_value_compile(&value, &scope, text);
	std::string result;
	for (size_t i = 0; i < value.text_size; i++)
		result += value.text[i] == DNSBLV6_TEXT_ADDRESS
				  ? "<>"
				  : std::string(1, static_cast<char>(value.text[i]));
	return result;
}
} // namespace

TEST_CASE("a value is A and text in all their short forms", "[zone-tools][rbldnsd]")
{
	auto s = GENERATE(sample{ "text $", "127.0.0.9 text $" },
			  sample{ ":127.0.0.3:text", "127.0.0.3 text" },
			  sample{ ":3:text", "127.0.0.3 text" },
			  sample{ ":3: text", "127.0.0.3 text" },
			  sample{ ":3 : text", "127.0.0.3 text" },
			  sample{ ":3", "127.0.0.3 default" }, sample{ ":3:", "127.0.0.3 " },
			  sample{ ":3:a:b", "127.0.0.3 a:b" }, sample{ ":3:#x", "127.0.0.3 #x" },
			  sample{ ":10.5:x", "10.0.0.5 x" }, sample{ ":10.1.5:x", "10.1.0.5 x" },
			  sample{ ":010:x", "127.0.0.10 x" }, sample{ ":255:x", "127.0.0.255 x" },
			  sample{ "text # not a comment", "127.0.0.9 text # not a comment" });
	CAPTURE(s.text);
	CHECK(parse_value(s.text) == s.meaning);
}

TEST_CASE("a value with a bad A is refused", "[zone-tools][rbldnsd]")
{
	auto s =
		GENERATE(sample{ "::text", "not an A value" }, sample{ ":", "not an A value" },
			 sample{ ": text", "not an A value" }, sample{ ":256:x", "not an A value" },
			 sample{ ":0:x", "A value is zero" }, sample{ ":0", "A value is zero" },
			 sample{ ":0.0.0.0:x", "A value is zero" },
			 sample{ ":3 text", "no colon between A value and text" },
			 sample{ ":3 # x", "no colon between A value and text" },
			 sample{ ":1.2.3.4.5:x", "no colon between A value and text" });
	CAPTURE(s.text);
	CHECK(parse_value(s.text) == s.meaning);
}

TEST_CASE("a text in a file is cut at 255 bytes, in an answer at 254", "[zone-tools][rbldnsd]")
{
	CHECK(parse_value(std::string(255, 'x')) == "127.0.0.9 " + std::string(255, 'x'));
	CHECK(parse_value(std::string(256, 'x')) == "127.0.0.9 " + std::string(255, 'x') + " cut");
	CHECK(compile(std::string(255, 'x')) == std::string(254, 'x'));
	CHECK(compile(std::string(253, 'x') + "$1", nullptr, "abc") == std::string(253, 'x') + "a");
	CHECK(compile("$1$1$1", nullptr, std::string(100, 'y').c_str()) == std::string(254, 'y'));
}

TEST_CASE("a dollar sign in a text stands for the address or a variable", "[zone-tools][rbldnsd]")
{
	auto s = GENERATE(sample{ "a $ b", "a <> b" }, sample{ "$", "<>" }, sample{ "$$", "$" },
			  sample{ "$$$", "$<>" }, sample{ "$$$$", "$$" }, sample{ "$x", "<>x" },
			  sample{ "$1/$", "ONE $ $2/<>" }, sample{ "$2", "$2" },
			  sample{ "$12", "ONE $ $22" }, sample{ "a$=b", "aa$=bb" },
			  sample{ "=a$=b", "aa$=bb" }, sample{ "", "" }, sample{ "=", "" },
			  sample{ "\xfc $", "\xfc <>" });
	CAPTURE(s.text);
	CHECK(compile(s.text, nullptr, "ONE $ $2") == s.meaning);
}

TEST_CASE("a base template surrounds the text of each entry", "[zone-tools][rbldnsd]")
{
	const char base[] = "See http://example/?$= ($) $1";
	auto s = GENERATE(sample{ "r123", "See http://example/?r123 (<>) 1$" },
			  sample{ "", "See http://example/?<> (<>) 1$" },
			  sample{ "r$", "See http://example/?r$ (<>) 1$" },
			  sample{ "=other $ $=", "other <> other $ $=" }, sample{ "=", "" });
	CAPTURE(s.text);
	CHECK(compile(s.text, base, "1$") == s.meaning);
}
