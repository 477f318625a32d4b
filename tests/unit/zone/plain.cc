// SPDX-License-Identifier: GPL-3.0-or-later
#include "zone-tools/lists/plain.h"

#include "tests/lib/guarded.hh"
#include "tests/lib/lists.hh"

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

// "first-last", with "!" before an exclusion; "" for a blank line; else the fault.
std::string parse(const std::string &line, const sources_options &options = {})
{
	plain_entry entry = {};
	guarded bytes(std::vector<uint8_t>(line.begin(), line.end()));
	const char *fault = plain_parse(bytes.text(), bytes.size(), &options, &entry);
	if (fault != nullptr)
		return fault;
	if (entry.kind == PLAIN_BLANK)
		return "";
	return (entry.kind == PLAIN_EXCLUDED ? "!" : "") + text_of(entry.first) + "-" +
	       text_of(entry.last);
}

struct sample {
	const char *line;
	const char *meaning;
};

const char COLUMNS[] = "more than an address in the line; --ignore-columns takes the first column";
const char OF_RBLDNSD[] = "a line of rbldnsd's: its lists are named TYPE:FILE, such as ip4set:FILE";
} // namespace

TEST_CASE("a plain line is an address, a prefix or a range, with a comment behind it",
	  "[zone-tools][plain]")
{
	auto s = GENERATE(
		sample{ "192.0.2.1", "192.0.2.1-192.0.2.1" },
		sample{ "  192.0.2.1\t ", "192.0.2.1-192.0.2.1" },
		sample{ "192.0.2.0/24", "192.0.2.0-192.0.2.255" },
		sample{ "0.0.0.0/0", "0.0.0.0-255.255.255.255" },
		sample{ "192.0.2.3-192.0.2.9", "192.0.2.3-192.0.2.9" },
		sample{ "192.0.2.3 - 192.0.2.9", "192.0.2.3-192.0.2.9" },
		sample{ "192.0.2.3 -192.0.2.3", "192.0.2.3-192.0.2.3" },
		sample{ "2001:db8::1", "2001:db8::1-2001:db8::1" },
		sample{ "2001:DB8::/32", "2001:db8::-2001:db8:ffff:ffff:ffff:ffff:ffff:ffff" },
		sample{ "2001:db8::1 - 2001:db8::4", "2001:db8::1-2001:db8::4" },
		sample{ "::ffff:192.0.2.1", "192.0.2.1-192.0.2.1" },
		sample{ "::ffff:192.0.2.0/120", "192.0.2.0-192.0.2.255" },
		sample{ "!192.0.2.7", "!192.0.2.7-192.0.2.7" },
		sample{ "! 192.0.2.0/30", "!192.0.2.0-192.0.2.3" },
		sample{ "192.0.2.1#why", "192.0.2.1-192.0.2.1" },
		sample{ "192.0.2.1 ; why", "192.0.2.1-192.0.2.1" }, sample{ "", "" },
		sample{ " \t", "" }, sample{ "# comment", "" }, sample{ "  ;comment", "" });
	CAPTURE(s.line);
	CHECK(parse(s.line) == s.meaning);
}

TEST_CASE("a plain line that says anything else is refused with the reason", "[zone-tools][plain]")
{
	auto s = GENERATE(
		sample{ "300.1.1.1/24", "octet above 255" },
		sample{ "192.0.2.256", "octet above 255" },
		sample{ "192.0.2.0/33", "prefix length out of range" },
		sample{ "192.0.2.0/", "prefix length out of range" },
		sample{ "192.0.2.0/x", "prefix length out of range" },
		sample{ "2001:db8::/129", "prefix length out of range" },
		sample{ "192.0.2.1/24", "host bits set below the prefix length" },
		sample{ "2001:db8::1/64", "host bits set below the prefix length" },
		sample{ "192.0.2.010", "number with a leading zero" },
		sample{ "192.0.2", "not an IP address" },
		sample{ "192.0.2.1.5", "not an IP address" },
		sample{ "example.org", "not an IP address" }, sample{ "-", "not an IP address" },
		sample{ "!", "not an IP address" }, sample{ "!!192.0.2.1", "not an IP address" },
		sample{ "[2001:db8::1]", "not an IP address" },
		sample{ "2001:db8::1::2", "not an IP address" },
		sample{ "\xff\xfe", "not an IP address" }, sample{ ":", "not an IP address" },
		sample{ "$NS 1h ns1.example.net", OF_RBLDNSD },
		sample{ " :127.0.0.2:text", OF_RBLDNSD },
		sample{ "192.0.2.9-192.0.2.3", "range ends before it begins" },
		sample{ "2001:db8::2-2001:db8::1", "range ends before it begins" },
		sample{ "192.0.2.1-2001:db8::1", "range from one address family to the other" },
		sample{ "192.0.2.0/24-192.0.3.0", "not an IP address" },
		sample{ "192.0.2.1-9", "not an IP address" },
		sample{ "192.0.2.1-", "not an IP address" }, sample{ "192.0.2.1\t10", COLUMNS },
		sample{ "192.0.2.1,spam", COLUMNS }, sample{ "192.0.2.1 192.0.2.2", COLUMNS },
		sample{ "192.0.2.1-192.0.2.3-192.0.2.5", COLUMNS },
		sample{ "192.0.2.1 IN", COLUMNS }, sample{ "192.0.2.1 IN A", COLUMNS },
		sample{ "192.0.2.1 3600 A+", COLUMNS });
	CAPTURE(s.line);
	CHECK(parse(s.line) == s.meaning);
}

TEST_CASE("a record of a zone file is no address and something behind it", "[zone-tools][plain]")
{
	auto line = GENERATE("1.2.0.192 IN A 127.0.0.2", "1.2.0.192\tA\t127.0.0.4",
			     "1.2.0.192  2100  in  a 127.0.0.2", "1.2.0.192 1h A 127.0.0.2 ; x",
			     "1.2.0.192 IN TXT \"listed\"", "1.2.0.192 300 IN CNAME @");
	CAPTURE(line);
	sources_options options = {};
	options.ignore_columns = GENERATE(false, true);
	CHECK(parse(line, options) == "a record of a zone file, where the address is reversed");
}

TEST_CASE("with ignore_columns only the first column counts", "[zone-tools][plain]")
{
	sources_options options = {};
	options.ignore_columns = true;
	auto s = GENERATE(sample{ "192.0.2.1\t10", "192.0.2.1-192.0.2.1" },
			  sample{ "192.0.2.0/24,AS64500,\"a, b\"", "192.0.2.0-192.0.2.255" },
			  sample{ "2001:db8::/64 x y", "2001:db8::-2001:db8::ffff:ffff:ffff:ffff" },
			  sample{ "192.0.2.1-192.0.2.3 10", "192.0.2.1-192.0.2.3" },
			  sample{ "192.0.2.1\t-\t192.0.2.200", "192.0.2.1-192.0.2.1" },
			  sample{ "10\t192.0.2.1", "not an IP address" });
	CAPTURE(s.line);
	CHECK(parse(s.line, options) == s.meaning);
}

TEST_CASE("with cut_host_bits a prefix may be written with any of its addresses",
	  "[zone-tools][plain]")
{
	sources_options options = {};
	options.cut_host_bits = true;
	auto s = GENERATE(sample{ "192.0.2.77/24", "192.0.2.0-192.0.2.255" },
			  sample{ "2001:db8::5/126", "2001:db8::4-2001:db8::7" },
			  sample{ "::ffff:192.0.2.77/120", "192.0.2.0-192.0.2.255" },
			  sample{ "192.0.2.77/33", "prefix length out of range" });
	CAPTURE(s.line);
	CHECK(parse(s.line, options) == s.meaning);
}

TEST_CASE("a plain line cut after every byte is read or refused, never misread",
	  "[zone-tools][plain]")
{
	const std::string line = "! 2001:db8::1 - 2001:db8:1::ffff ; why";
	for (size_t size = 0; size <= line.size(); size++) {
		const std::string cut = line.substr(0, size);
		CAPTURE(cut);
		const std::string meaning = parse(cut);
		const bool is_whole = size >= line.find(" ;");
		CHECK((meaning == "!2001:db8::1-2001:db8:1::ffff") == is_whole);
		CHECK_FALSE(meaning.substr(0, 1) == "2");
	}
}

TEST_CASE("a plain list is one dataset of the zone itself, with rbldnsd's default value",
	  "[zone-tools][plain]")
{
	lists read;
	CHECK(read.add(nullptr, "192.0.2.5-192.0.2.8\n!192.0.2.6\n2001:db8::/32\n") == DNSBLV6_OK);
	CHECK(read.entries() == lines{ "192.0.2.5 127.0.0.2 2100", "192.0.2.6/31 127.0.0.2 2100",
				       "!192.0.2.6", "192.0.2.8 127.0.0.2 2100",
				       "2001:db8::/32 127.0.0.2 2100" });
	CHECK(read.origins(0) == lines{ "@" });
	CHECK(read.findings() == "");
	CHECK(read.listing.line_count == 3);
}

TEST_CASE("blanks at the end of a line, or alone in it, are nothing", "[zone-tools][plain]")
{
	lists read;
	CHECK(read.add(nullptr, "192.0.2.1 \n192.0.2.2\t\r\n \n\t\n192.0.2.0/24 \n") == DNSBLV6_OK);
	CHECK(read.findings() == "");
	CHECK(read.entries() == lines{ "192.0.2.1 127.0.0.2 2100", "192.0.2.2 127.0.0.2 2100",
				       "192.0.2.0/24 127.0.0.2 2100" });
}

TEST_CASE("an IPv6 range that runs over the mapped addresses does not list IPv4",
	  "[zone-tools][plain]")
{
	lists read;
	CHECK(read.add(nullptr, "::fffe:ffff:ffff-::1:0:0:0\n") == DNSBLV6_OK);
	CHECK(read.entries() ==
	      lines{ "::fffe:ffff:ffff 127.0.0.2 2100", "::1:0:0:0 127.0.0.2 2100" });
}
