// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/zone/rbldnsd.hh"

#include "zone-tools/lists/rbldnsd.h"

#include "tests/lib/fault.hh"
#include "tests/lib/lists.hh"

#include <catch2/catch.hpp>

#include <ctime>
#include <string>

// ---- datasets ----

TEST_CASE("entries have the default value above them, or their own", "[zone-tools][rbldnsd]")
{
	lists read;
	read.add("ip4set", "192.0.2.1\n:3:three $\n192.0.2.2\n192.0.2.3 :4\n192.0.2.4 :5:\n"
			   "192.0.2.5 own # text\n192.0.2.6 # comment\n192.0.2.7;comment\n"
			   "192.0.2.8:6:six\n:7\n192.0.2.9\n");
	CHECK(read.findings() == "");
	CHECK(read.entries() ==
	      lines{ "192.0.2.1 127.0.0.2 2100", "192.0.2.2 127.0.0.3 2100 three $",
		     "192.0.2.3 127.0.0.4 2100 three $", "192.0.2.4 127.0.0.5 2100",
		     "192.0.2.5 127.0.0.3 2100 own # text", "192.0.2.6 127.0.0.3 2100 three $",
		     "192.0.2.7 127.0.0.3 2100 three $", "192.0.2.8 127.0.0.6 2100 six",
		     "192.0.2.9 127.0.0.7 2100" });
	CHECK(read.listing.datasets[0].policy == DUPLICATE_ALL);
}

TEST_CASE("ranges of an ip4set become /32, /24, /16 and /8", "[zone-tools][rbldnsd]")
{
	struct ranges {
		const char *text;
		lines prefixes;
	};
	auto s = GENERATE(
		ranges{ "198.51.100.0/24", { "198.51.100.0/24" } },
		ranges{ "198.51.100.254-198.51.101.1",
			{ "198.51.100.254", "198.51.100.255", "198.51.101.0", "198.51.101.1" } },
		ranges{ "198.51.100.255-198.51.102.0",
			{ "198.51.100.255", "198.51.101.0/24", "198.51.102.0" } },
		ranges{ "198.50.255-198.52.0",
			{ "198.50.255.0/24", "198.51.0.0/16", "198.52.0.0/24" } },
		ranges{ "198.48/14",
			{ "198.48.0.0/16", "198.49.0.0/16", "198.50.0.0/16", "198.51.0.0/16" } },
		ranges{ "198-199", { "198.0.0.0/8", "199.0.0.0/8" } },
		ranges{ "255.255.255.254-255", { "255.255.255.254", "255.255.255.255" } });
	CAPTURE(s.text);
	lists read;
	read.add("ip4set", "!" + std::string(s.text) + "\n192.0.2.1\n");
	lines expected{ "192.0.2.1 127.0.0.2 2100" }; // by /8
	for (const std::string &prefix : s.prefixes)
		expected.push_back("!" + prefix);
	CHECK(read.entries() == expected);
	CHECK(read.findings() == "");
}

TEST_CASE("all of IPv4 as a range is 256 entries of an ip4set", "[zone-tools][rbldnsd]")
{
	lists read;
	read.add("ip4set", "0-255\n");
	REQUIRE(read.entries().size() == 256);
	CHECK(read.entries().front() == "0.0.0.0/8 127.0.0.2 2100");
	CHECK(read.entries().back() == "255.0.0.0/8 127.0.0.2 2100");
}

TEST_CASE("TTL and variables count for entries above them too", "[zone-tools][rbldnsd]")
{
	lists read;
	read.add("ip4set", "192.0.2.1 $1\n$TTL 60\n$1 one\n$1 other\n#$ttl 2m\n");
	CHECK(read.entries() == lines{ "192.0.2.1 127.0.0.2 120 one" });
	CHECK(read.findings() == "");
}

TEST_CASE("default values end with their file, other settings with the list",
	  "[zone-tools][rbldnsd]")
{
	const char *type = GENERATE("ip4set", "ip4trie");
	lists read;
	read.add(type, lines{ ":3:three\n$TTL 60\n192.0.2.1\n", "192.0.2.2\n192.0.2.3 :4\n" });
	CHECK(read.entries() == lines{ "192.0.2.1 127.0.0.3 60 three", "192.0.2.2 127.0.0.2 60",
				       "192.0.2.3 127.0.0.4 60" });
}

TEST_CASE("a tset has the first default value for all its entries", "[zone-tools][rbldnsd]")
{
	lists read;
	read.add("ip4tset",
		 lines{ "192.0.2.1\n:3:three\n192.0.2.2 :9:ignored\n", ":4:four\n192.0.2.3\n" });
	CHECK(read.entries() == lines{ "192.0.2.1 127.0.0.3 2100 three",
				       "192.0.2.2 127.0.0.3 2100 three",
				       "192.0.2.3 127.0.0.3 2100 three" });
	CHECK(read.findings() == "warning: [list1:1] line ignored, text=\":4:four\""
				 " (only the first default value of this dataset counts)\n");
	CHECK(read.listing.datasets[0].policy == DUPLICATE_FIRST);
}

TEST_CASE("a tset without a default line has rbldnsd's own value", "[zone-tools][rbldnsd]")
{
	lists read;
	read.add("ip6tset", "2001:db8:0:1 text\n!2001:db8:0:1::5\n");
	CHECK(read.entries() == lines{ "2001:db8:0:1::/64 127.0.0.2 2100", "!2001:db8:0:1::5" });
}

TEST_CASE("an ip4tset has no exclusions", "[zone-tools][rbldnsd]")
{
	lists read;
	read.add("ip4tset", "192.0.2.1\n!192.0.2.2\n");
	CHECK(read.findings() ==
	      "error: [list0:2] line refused, text=\"!192.0.2.2\" (not an IPv4 address)\n");
}

TEST_CASE("in a trie the first of equal prefixes counts and the second is told",
	  "[zone-tools][rbldnsd]")
{
	lists read;
	SECTION("IPv4")
	{
		read.add("ip4trie",
			 "192.0.2.0/24 a\n192.0.2.0/25 b\n192.0.2/24 c\n!192.0.2.0/25\n");
		CHECK(read.entries() ==
		      lines{ "192.0.2.0/24 127.0.0.2 2100 a", "192.0.2.0/25 127.0.0.2 2100 b" });
	}
	SECTION("IPv6")
	{
		read.add("ip6trie", "2001:db8 a\n2001:db8:: b\n2001:db8::/32 c\n!2001:db8::\n");
		CHECK(read.entries() ==
		      lines{ "2001:db8::/32 127.0.0.2 2100 a", "2001:db8:: 127.0.0.2 2100 b" });
	}
	CHECK(read.counts.warning_count == 2);
	CHECK(read.counts.refusal_count == 0);
	CHECK_THAT(read.findings(), Catch::Contains("warning: [list0:3] line ignored, text=\"") &&
					    Catch::Contains("\" (prefix is listed before)\n"));
}

TEST_CASE("a trie knows equal prefixes among ten thousand", "[zone-tools][rbldnsd]")
{
	std::string content;
	for (unsigned i = 0; i < 10000; i++)
		content +=
			"198.18." + std::to_string(i / 250) + "." + std::to_string(i % 250) + "\n";
	lists read;
	read.add("ip4trie", content + content);
	CHECK(read.entries().size() == 10000);
	CHECK(read.counts.warning_count == 10000);
}

TEST_CASE("in ip6trie two colons begin an address, in ip6tset a default value",
	  "[zone-tools][rbldnsd]")
{
	lists read;
	read.add("ip6trie", "::1 a\n:3:three\n::2\n");
	CHECK(read.entries() == lines{ "::1 127.0.0.2 2100 a", "::2 127.0.0.3 2100 three" });
	read.add("ip6tset", "::1:2:3\n2001:db8:0:1\n");
	CHECK(read.findings() ==
	      "error: [list1:1] line refused, text=\"::1:2:3\" (not an A value)\n");
}

TEST_CASE("host bits are refused or cut off", "[zone-tools][rbldnsd]")
{
	const bool is_cut = GENERATE(false, true);
	struct sample {
		const char *type;
		const char *line;
		const char *entry;
	};
	auto s = GENERATE(sample{ "ip4set", "198.51.100.77/24", "198.51.100.0/24" },
			  sample{ "ip4trie", "198.51.100.77/25", "198.51.100.0/25" },
			  sample{ "ip6trie", "2001:db8::1/64", "2001:db8::/64" });
	CAPTURE(is_cut, s.line);
	lists read;
	read.options.cut_host_bits = is_cut;
	read.add(s.type, std::string(s.line) + "\n");
	if (is_cut) {
		CHECK(read.entries() == lines{ std::string(s.entry) + " 127.0.0.2 2100" });
	} else {
		CHECK(read.findings() == std::string("error: [list0:1] line refused, text=\"") +
						 s.line +
						 "\" (host bits set below the prefix length)\n");
	}
}

TEST_CASE("what rbldnsd would skip with a warning is a bad line", "[zone-tools][rbldnsd]")
{
	auto s = GENERATE(
		sample{ "300.1.1.1", "octet above 255" },
		sample{ "198.51.100.1.5", "what follows the address does not belong there" },
		sample{ "198.51.100.1-3x", "what follows the address does not belong there" },
		sample{ "198.51.100.1,text", "what follows the address does not belong there" },
		sample{ "198.51.100.1 :3 x", "no colon between A value and text" },
		sample{ ":0:zero", "A value is zero" }, sample{ "!", NOT_IPV4 },
		sample{ "$", "unknown special entry" },
		sample{ "$FOO bar", "unknown special entry" },
		sample{ "$1", "unknown special entry" }, sample{ "$10 x", "unknown special entry" },
		sample{ "$TTL", "$TTL takes a time" }, sample{ "$TTL 1y", "$TTL takes a time" },
		sample{ "$TTL 60 60", "$TTL takes a time" },
		sample{ "$TTL 2147483648", "$TTL takes a time" },
		sample{ "$TTL 99999999999", "$TTL takes a time" },
		sample{ "$TTL 65536w", "$TTL takes a time" },
		sample{ "$MAXRANGE4 0", "$MAXRANGE4 takes a number of addresses, or /len" },
		sample{ "$MAXRANGE4 /33", "$MAXRANGE4 takes a number of addresses, or /len" },
		sample{ "$MAXRANGE4 256x", "$MAXRANGE4 takes a number of addresses, or /len" },
		sample{ "$NS 1w", "$NS takes ttl and names" },
		sample{ "$NS ns.example.net", "$NS takes ttl and names" },
		sample{ "$NS 1w a..b", "not a domain name" },
		sample{ "$NS 1w @", "not a domain name" },
		sample{ "$SOA 1w a b 1 2 3 4",
			"$SOA takes ttl, origin, person, serial, refresh, retry, expire, minttl" },
		sample{ "$SOA 1 a b 1 1 1 1 2147483648",
			"$SOA takes times of at most 2147483647 seconds" },
		sample{ "$SOA 1w a b 1 2 3 4 5 6",
			"$SOA takes ttl, origin, person, serial, refresh, retry, expire, minttl" },
		sample{ "$SOA 1w a.. b 1 2 3 4 5", "not a domain name" },
		sample{ "$DATASET ip4set @", "$DATASET belongs in a combined list" });
	CAPTURE(s.text);
	lists read;
	read.add("ip4set", "192.0.2.1\n" + std::string(s.text) + "\n");
	CHECK(read.findings() == std::string("error: [list0:2] line refused, text=\"") + s.text +
					 "\" (" + s.meaning + ")\n");
	CHECK(read.entries() == lines{ "192.0.2.1 127.0.0.2 2100" });
}

TEST_CASE("a comment that looks like a special entry is a warning", "[zone-tools][rbldnsd]")
{
	lists read;
	read.add("ip4set", "#$Id: list $\n;$ x\n# $TTL 60\n192.0.2.1\n");
	CHECK(read.counts.warning_count == 2);
	CHECK(read.counts.refusal_count == 0);
	CHECK(read.entries() == lines{ "192.0.2.1 127.0.0.2 2100" });
}

TEST_CASE("a text above 255 bytes is cut with a warning", "[zone-tools][rbldnsd]")
{
	lists read;
	read.add("ip4set", "192.0.2.1 " + std::string(300, 'x') + "\n");
	CHECK(read.counts.warning_count == 1);
	CHECK(read.entries() == lines{ "192.0.2.1 127.0.0.2 2100 " + std::string(254, 'x') });
}

TEST_CASE("ranges above $MAXRANGE4 are ignored with a warning", "[zone-tools][rbldnsd]")
{
	const char *limit = GENERATE("$MAXRANGE4 256", ":$MAXRANGE4 /24",
				     "$maxrange4 /16\n$MAXRANGE4 /24", "$MAXRANGE4 256 \t");
	const char *type = GENERATE("ip4set", "ip4trie");
	CAPTURE(limit, type);
	lists read;
	read.add(type, std::string(limit) + "\n198.51.100/24\n198.51.100.0/23\n!198.18/15\n");
	CHECK(read.entries() == lines{ "198.51.100.0/24 127.0.0.2 2100" });
	CHECK(read.counts.warning_count == 2);
	CHECK_THAT(read.findings(), Catch::Contains("(range larger than $MAXRANGE4)"));
}

TEST_CASE("$MAXRANGE4 cannot be raised", "[zone-tools][rbldnsd]")
{
	lists read;
	read.add("ip4set", "$MAXRANGE4 1\n$MAXRANGE4 256\n198.51.100.1\n198.51.100.2-3\n");
	CHECK(read.entries() == lines{ "198.51.100.1 127.0.0.2 2100" });
	CHECK(read.counts.warning_count == 2);
}

// ---- the zone ----

TEST_CASE("the first $SOA and $NS of all lists count", "[zone-tools][rbldnsd]")
{
	lists read;
	read.add("ip4set", "$TTL 1h\n$SOA 0 ns1.example.net. admin.example.net 7 1h 2m 3d 4W\n"
			   "$SOA 1 x y 1 1 1 1 1\n$NS 0 ns1.example.net -ns2.example.net"
			   "\tns3.example.net NS1.example.net.\n192.0.2.1\n");
	read.add("ip4set", "$SOA 1 x y 1 1 1 1 1\n;$NAMESERVER 1 x\n192.0.2.2\n");
	const zone_lines &zone = read.listing.zone;
	CHECK(read.findings() == "");
	REQUIRE(zone.has_soa);
	CHECK(zone.soa_ttl == 3600);
	CHECK(zone.soa_primary == std::string("ns1.example.net."));
	CHECK(zone.soa_mailbox == std::string("admin.example.net."));
	CHECK(zone.soa_serial == 7);
	CHECK(zone.soa_refresh == 3600);
	CHECK(zone.soa_retry == 120);
	CHECK(zone.soa_expire == 3 * 86400);
	CHECK(zone.soa_minimum == 4 * 604800);
	CHECK(zone.ns_ttl == 3600);
	REQUIRE(zone.ns_count == 2);
	CHECK(zone.ns[0] == std::string("ns1.example.net."));
	CHECK(zone.ns[1] == std::string("ns3.example.net."));
}

TEST_CASE("without $TTL, SOA and NS have the zone's own", "[zone-tools][rbldnsd]")
{
	lists read;
	read.add("ip4set", "$SOA 0 a b 0 1 1 1 1\n:$NameServer 0 x\n192.0.2.1\n");
	CHECK(read.listing.zone.soa_ttl == 0);
	CHECK(read.listing.zone.ns_ttl == 0);
	CHECK(read.listing.zone.ns_count == 1);
}

TEST_CASE("a $NS line with nothing but names taken out leaves the next one its place",
	  "[zone-tools][rbldnsd]")
{
	lists read;
	read.add("ip4set", "$NS 1h -a -b\n$NS 2h c\n192.0.2.1\n");
	CHECK(read.findings() == "");
	CHECK(read.listing.zone.ns_ttl == 7200);
	REQUIRE(read.listing.zone.ns_count == 1);
	CHECK(read.listing.zone.ns[0] == std::string("c."));
}

TEST_CASE("only 32 name servers are taken", "[zone-tools][rbldnsd]")
{
	std::string line = "$NS 1h";
	for (unsigned i = 0; i < 34; i++)
		line += " ns" + std::to_string(i) + ".example.net";
	lists read;
	read.add("ip4set", line + "\n192.0.2.1\n");
	CHECK(read.listing.zone.ns_count == LISTING_NS_MAX);
	CHECK(read.counts.warning_count == 2);
}

TEST_CASE("a time stamp is read in all its forms", "[zone-tools][rbldnsd]")
{
	struct stamp {
		const char *line;
		uint64_t expires_s;
	};
	auto s = GENERATE(stamp{ "$TIMESTAMP 2026:12:31", 0 }, stamp{ "$TIMESTAMP 0", 0 },
			  stamp{ "$TIMESTAMP - 2027:02:01", 1801440000 },
			  stamp{ "$TIMESTAMP 0 2028-02-29-23-59-59", 1835481599 },
			  stamp{ "$TIMESTAMP 2027:01:15:08:00:00 +1d", 1800086400 },
			  stamp{ "$TIMESTAMP 20270115080000 +10", 1800000010 },
			  stamp{ "$TIMESTAMP 2027:1:15:7 20270115:0801", 1800000060 },
			  stamp{ "$TIMESTAMP : 2027:01:16:", 1800057600 },
			  stamp{ "$TIMESTAMP 0 -", 0 });
	CAPTURE(s.line);
	lists read;
	read.add("ip4set", std::string(s.line) + "\n192.0.2.1\n");
	CHECK(read.findings() == "");
	CHECK(read.listing.zone.expires_s == s.expires_s);
}

TEST_CASE("time stamps count days as the C library does", "[zone-tools][rbldnsd]")
{
	const int year = GENERATE(1970, 1972, 1999, 2000, 2001, 2024, 2027, 2028, 2037, 2038);
	for (int month = 1; month <= 12; month++) {
		tm date = {};
		date.tm_year = year - 1900;
		date.tm_mon = month - 1;
		date.tm_mday = 28;
		const auto expected = static_cast<uint64_t>(timegm(&date));
		char line[64];
		snprintf(line, sizeof(line), "$TIMESTAMP 0 %d:%d:28\n192.0.2.1\n", year, month);
		lists read;
		read.options.now_s = 0;
		read.add("ip4set", line);
		CAPTURE(line);
		CHECK(read.listing.zone.expires_s == expected);
	}
}

TEST_CASE("the earliest of several expiries counts", "[zone-tools][rbldnsd]")
{
	lists read;
	read.add("ip4set",
		 "$TIMESTAMP 0 2028:01:01\n$TIMESTAMP 0 2027:02:01\n$TIMESTAMP 0 2029:01:01\n"
		 "192.0.2.1\n");
	CHECK(read.listing.zone.expires_s == 1801440000);
}

TEST_CASE("a time stamp that is wrong is a bad line", "[zone-tools][rbldnsd]")
{
	const char *line = GENERATE("$TIMESTAMP x", "$TIMESTAMP 2027", "$TIMESTAMP 2027:13:01",
				    "$TIMESTAMP 2027:02:29", "$TIMESTAMP 1969:01:01",
				    "$TIMESTAMP 2027:01:01:24", "$TIMESTAMP 2027:01:01 +0",
				    "$TIMESTAMP 0 +1d", "$TIMESTAMP 2027:01:01 +1y",
				    "$TIMESTAMP 2027:01:01 2028:01:01 x", "$TIMESTAMP 2027:01:01x");
	CAPTURE(line);
	lists read;
	read.add("ip4set", std::string(line) + "\n192.0.2.1\n");
	CHECK_THAT(read.findings(), Catch::Contains("($TIMESTAMP takes yyyy:mm:dd"));
	CHECK(read.counts.refusal_count == 1);
}

TEST_CASE("a list from the future or an expired one is refused as a whole", "[zone-tools][rbldnsd]")
{
	auto s = GENERATE(
		sample{ "$TIMESTAMP 2027:01:15:08:00:01", "time stamp lies in the future" },
		sample{ "$TIMESTAMP 0 2027:01:15:08:00:00", "list expired" });
	lists read;
	read.counts.bad_lines_allowed = 100;
	read.add("ip4set", std::string(s.text) + "\n192.0.2.1\n");
	CHECK(read.findings() == std::string("error: [list0:1] list refused, text=\"") + s.text +
					 "\" (" + s.meaning + ")\n");
}

// ---- combined ----

TEST_CASE("a combined list puts datasets into sub-zones", "[zone-tools][rbldnsd]")
{
	lists read;
	read.add("combined", "$TTL 60\n$1 one\n"
			     "$DATASET ip4set:proxy proxies @ # all\n:3:$1 $2\n192.0.2.1\n$2 two\n"
			     "$DATASET ip6trie Old.Relays\n$TTL 90\n2001:db8::/32 $1 $2\n"
			     "$DATASET ip4set\tproxies\n192.0.2.9\n");
	CHECK(read.findings() == "");
	REQUIRE(read.listing.dataset_count == 3);
	CHECK(read.entries(0) == lines{ "192.0.2.1 127.0.0.3 60 one two" });
	CHECK(read.entries(1) == lines{ "2001:db8::/32 127.0.0.2 90 one $2" });
	CHECK(read.entries(2) == lines{ "192.0.2.9 127.0.0.2 60" });
	CHECK(read.origins(0) == lines{ "proxies", "@" });
	CHECK(read.origins(1) == lines{ "old.relays" });
	CHECK(read.origins(2) == lines{ "proxies" });
}

TEST_CASE("a variable of the whole combined list cannot be set again in a dataset",
	  "[zone-tools][rbldnsd]")
{
	lists read;
	read.add("combined", "$1 all\n$DATASET ip4set @\n$1 mine\n192.0.2.1 $1\n");
	CHECK(read.entries() == lines{ "192.0.2.1 127.0.0.2 2100 all" });
}

TEST_CASE("SOA and NS inside a dataset belong to the zone, with the TTL of the whole list",
	  "[zone-tools][rbldnsd]")
{
	lists read;
	read.add("combined", "$TTL 60\n$DATASET ip4set x\n$TTL 90\n$NS 0 ns.example.net\n"
			     "$SOA 0 a b 1 1 1 1 1\n192.0.2.1\n");
	CHECK(read.listing.zone.ns_ttl == 60);
	CHECK(read.listing.zone.soa_ttl == 60);
	CHECK(read.entries() == lines{ "192.0.2.1 127.0.0.2 90" });
}

TEST_CASE("entries outside of any dataset refuse a combined list, once", "[zone-tools][rbldnsd]")
{
	lists read;
	read.counts.bad_lines_allowed = 100;
	read.add("combined", "192.0.2.1\n192.0.2.2\n$DATASET ip4set @\n192.0.2.3\n");
	CHECK(read.findings() == "error: [list0:1] line refused, text=\"192.0.2.1\""
				 " (no $DATASET before it in this file)\n");
	CHECK(read.entries() == lines{ "192.0.2.3 127.0.0.2 2100" });
}

TEST_CASE("in the next file the last dataset goes on behind a special entry",
	  "[zone-tools][rbldnsd]")
{
	lists read;
	SECTION("not without one")
	{
		read.add("combined",
			 lines{ "$DATASET ip4set x\n:5:five\n192.0.2.1\n", "192.0.2.2\n" });
		CHECK(read.counts.refusal_count == 1);
		CHECK(read.entries() == lines{ "192.0.2.1 127.0.0.5 2100 five" });
	}
	SECTION("with its default value")
	{
		read.add("combined", lines{ "$DATASET ip4set x\n:5:five\n192.0.2.1\n",
					    "$TTL 77\n192.0.2.2\n" });
		CHECK(read.findings() == "");
		CHECK(read.entries() ==
		      lines{ "192.0.2.1 127.0.0.5 77 five", "192.0.2.2 127.0.0.5 77 five" });
	}
}

TEST_CASE("a $DATASET line that is wrong says so", "[zone-tools][rbldnsd]")
{
	const char foreign[] = "a dataset of this type has no place in a combined list";
	struct sample {
		const char *text;
		const char *what;
		std::string reason;
	};
	auto s = GENERATE_COPY(
		sample{ "$DATASET foo @", "list refused", "unknown dataset type" },
		sample{ "$DATASET IP4SET @", "list refused", "unknown dataset type" },
		sample{ "$DATASET acl @", "list refused", foreign },
		sample{ "$DATASET combined @", "list refused", foreign },
		sample{ "$DATASET # x", "list refused", "$DATASET takes a type and sub-zones" },
		sample{ "$DATASET ip4set", "line refused",
			"no sub-zone; \"@\" is the zone itself" },
		sample{ "$DATASET ip4set a..b", "line refused", "sub-zone is not a domain name" });
	CAPTURE(s.text);
	lists read;
	read.add("combined",
		 "$DATASET ip4set @\n192.0.2.1\n" + std::string(s.text) + "\n192.0.2.2\n");
	CHECK(read.findings() == std::string("error: [list0:3] ") + s.what + ", text=\"" + s.text +
					 "\" (" + s.reason + ")\n");
}

TEST_CASE("a sub-zone of a sub-zone does not take the names of its addresses",
	  "[zone-tools][rbldnsd]")
{
	const char *inner = GENERATE("a.sub", "10.SUB", "x.a.sub", "ip6.sub");
	const bool is_inner_first = GENERATE(true, false);
	CAPTURE(inner, is_inner_first);
	const std::string second = is_inner_first ? "Sub" : inner;
	lists read;
	read.add("combined", "$DATASET ip4set @ " + std::string(is_inner_first ? inner : "Sub") +
				     "\n192.0.2.1\n$DATASET ip4set " + second + "\n192.0.2.2\n");
	CHECK(read.findings() == "error: [list0:3] line refused, text=\"$DATASET ip4set " + second +
					 "\" (sub-zone has a name that addresses need)\n");
	// Nothing is there that they could take: no list has that name.
	lists apart;
	apart.add("combined", "$DATASET ip4set w.sub a.subs a.other sub\n192.0.2.1\n");
	CHECK(apart.findings() == "");
}

TEST_CASE("a sub-zone does not take the names of addresses", "[zone-tools][rbldnsd]")
{
	const char *name = GENERATE("127", "x.127", "255", "0", "F", "x.a", "IP6", "x.ip6", "*",
				    "x.*", "_dnsblv6", "_x", "c000020");
	CAPTURE(name);
	lists read;
	read.add("combined", "$DATASET ip4set " + std::string(name) + " @\n192.0.2.1\n");
	CHECK(read.findings() ==
	      std::string("error: [list0:1] line refused, text=\"$DATASET ip4set ") + name +
		      " @\" (sub-zone has a name that addresses need)\n");
	CHECK(read.origins(0) == lines{ "@" });
}

TEST_CASE("a sub-zone may have any other name", "[zone-tools][rbldnsd]")
{
	const char *name =
		GENERATE("spam", "127.x", "a.spam", "300", "1a", "gg", "ip6.x", "c000022");
	CAPTURE(name);
	lists read;
	read.add("combined", "$DATASET ip4set " + std::string(name) + "\n192.0.2.1\n");
	CHECK(read.findings() == "");
	CHECK(read.origins(0) == lines{ name });
}

// ---- all at once ----

namespace
{
const char ALL_FEATURES[] =
	"# comment \xfc\n$SOA 1h ns.example.net admin.example.net 0 1h 1h 1w 1h\n"
	"#$NS 1h ns1.example.net -ns2.example.net\n$TTL 10m\n$TIMESTAMP 0 2030:01:01\n"
	"$MAXRANGE4 /8\n$0 zero $\n;$= base $= $0\n$DATASET ip4set:one old.spam @\n:3:text $1\n"
	"192.0.2.1\n!192.0.2.128/25\n198.51.100.16-31 =own\n198.51 :4\n:$1 one\n"
	"$DATASET ip4trie trie\n198.51.100.0/25 :5:x\n!198.51.100.7\n198.51.100.0/25\n"
	"$DATASET ip4tset tset\n203.0.113.9 text\n$DATASET ip6trie six\n::/0\n2001:db8:: y\n"
	"$DATASET ip6tset tset\n:6:six\n2001:db8:0:1\n!2001:db8:0:1::1\n";
} // namespace

TEST_CASE("a combined list cut after every byte is read or refused, and then let go",
	  "[zone-tools][rbldnsd]")
{
	const std::string whole = ALL_FEATURES;
	lists uncut;
	REQUIRE(uncut.add("combined", whole) == DNSBLV6_OK);
	CHECK(uncut.counts.refusal_count == 0);
	CHECK(uncut.counts.warning_count == 1);
	CHECK(uncut.listing.dataset_count == 5);
	uint64_t lines_before = 0;
	for (size_t size = 0; size < whole.size(); size++) {
		lists read;
		CAPTURE(whole.substr(0, size));
		REQUIRE(read.add("combined", whole.substr(0, size)) == DNSBLV6_OK);
		CHECK(read.listing.line_count >= lines_before);
		CHECK(read.listing.dataset_count <= 5);
		// One line may be cut into something wrong; the lines above it stay right.
		CHECK(read.counts.refusal_count <= 1);
		lines_before = read.listing.line_count;
	}
}

TEST_CASE("reading fails cleanly whichever allocation fails", "[zone-tools][rbldnsd]")
{
	tmpdir dir;
	write_file(dir.file("list"), ALL_FEATURES);
	write_file(dir.file("plain"), "192.0.2.1\n192.0.2.4-192.0.2.9\n::/0\n");
	for (unsigned number = 1;; number++) {
		lists read;
		CAPTURE(number);
		// The path must be whole before, for std::string is not under test.
		const std::string combined = "combined:" + dir.file("list");
		const std::string plain = dir.file("plain");
		fault::fail_at(number);
		int ret = read.add_path(combined);
		if (ret == DNSBLV6_OK)
			ret = read.add_path(plain);
		if (!fault::end()) {
			CHECK(ret == DNSBLV6_OK);
			CHECK(number > 30);
			break;
		}
		CHECK(ret == -ENOMEM);
	}
}
