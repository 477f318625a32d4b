// SPDX-License-Identifier: GPL-3.0-or-later

#include "tests/lib/lists.hh"

#include "zone-tools/names/names.h"

#include "lib/format/dnssec.h"

#include <catch2/catch.hpp>

// ---- what lines say ----

TEST_CASE("a dnset lists names, what is below them, or both", "[zone-tools][names]")
{
	lists read;
	read.add("dnset",
		 "Example.COM.\n.b.example :3:three $\n*.c.example\tsome text # more\n"
		 "! .d.example\n!*.e.example ignored\n:5\na\\.b.example\n\\000.fx # comment\n");
	CHECK(read.findings() == "");
	CHECK(read.names() == lines{
				      "example.com 127.0.0.2 2100",
				      ".b.example 127.0.0.3 2100 three $",
				      "*.c.example 127.0.0.2 2100 some text # more",
				      "!.d.example",
				      "!*.e.example",
				      "a\\046b.example 127.0.0.5 2100",
				      "\\000.fx 127.0.0.5 2100",
			      });
}

TEST_CASE("a generic dataset holds A, TXT and MX records", "[zone-tools][names]")
{
	lists read;
	read.add("generic",
		 "$TTL 600\n@ A 192.0.2.1;now\nwww 1h in a 127.1 # one\nwww TXT \"two words\"\n"
		 "mail.example 0 MX 10 mx.example.net\nnull MX 0 .\nx tXt \"\n");
	CHECK(read.findings() == "");
	CHECK(read.names() == lines{
				      "@ 600 1 4",
				      "www 3600 1 4",
				      "www 600 16 10",
				      "mail.example 600 15 18",
				      "null 600 15 3",
				      "x 600 16 2",
			      });
	CHECK(read.listing.records[1].rdata[3] == 1);
}

TEST_CASE("lines of names that cannot be are refused with their place", "[zone-tools][names]")
{
	struct sample {
		const char *type;
		std::string text;
		std::string reason;
	};
	const std::string long_label(64, 'x');
	const std::string label(63, 'x');
	const char reserved[] = "a name that addresses need, or the zone itself";
	const char asterisk[] = "an asterisk would be a wildcard in the zone";
	const char mx[] = "MX takes a number and a name";
	auto s = GENERATE_COPY(
		sample{ "dnset", "@", "not a domain name" },
		sample{ "dnset", ".", "not a domain name" },
		sample{ "dnset", "!", "not a domain name" },
		sample{ "dnset", "a..b", "not a domain name" },
		sample{ "dnset", "..a", "not a domain name" },
		sample{ "dnset", "a\\256", "not a domain name" },
		sample{ "dnset", "b\u00e9.example",
			"not a domain name: in ASCII, with A-labels (xn--...)" },
		sample{ "dnset", "a\\", "not a domain name" },
		sample{ "dnset", long_label, "too long" },
		sample{ "dnset", label + "." + label + "." + label + "." + label, "too long" },
		sample{ "dnset", std::string(4000, 'x'), "too long" },
		sample{ "dnset", "x.*.example", asterisk }, sample{ "dnset", ".*", asterisk },
		sample{ "dnset", "*.*.x", asterisk },
		sample{ "generic", "*.x A 1.2.3.4", asterisk },
		sample{ "dnset", "1.2.3.4", reserved }, sample{ "dnset", ".255", reserved },
		sample{ "dnset", "x.ip6", reserved }, sample{ "dnset", "_dnsblv6", reserved },
		sample{ "dnset", "*.c000020", reserved }, sample{ "generic", "f TXT x", reserved },
		sample{ "dnset", "invalid", "must not be listed (RFC 5782)" },
		sample{ "dnset", ".INVALID", "must not be listed (RFC 5782)" },
		sample{ "dnset", "!test", "must be listed (RFC 5782)" },
		sample{ "dnset", "x :0.0.0.0", "A value is zero" },
		sample{ "dnset", "x :3 # why", "no colon between A value and text" },
		sample{ "generic", "www", "not a type" },
		sample{ "generic", "www AAAA ::1", "not a type" },
		sample{ "generic", "www A", "a record without data" },
		sample{ "generic", "www A 192.0.2.256", "not an IPv4 address" },
		sample{ "generic", "www A 192.0.2.1x", "not an IPv4 address" },
		sample{ "generic", "www A 192.0.2.1 192.0.2.2", "what follows the address" },
		sample{ "generic", "www 1y A 192.0.2.1", "not a TTL" },
		sample{ "generic", "www 3000000000 A 192.0.2.1", "not a TTL" },
		sample{ "generic", "www MX mx.example", mx },
		sample{ "generic", "www MX 10 @", mx },
		sample{ "generic", "www MX 65536 mx.example", "MX takes a number up to 65535" },
		sample{ "generic", "www MX 10 a..b", "not a domain name" },
		sample{ "generic", "www MX 10 a b", "what follows the name" },
		sample{ "generic", ":3:text", "not a type" });
	CAPTURE(s.text);
	lists read;
	read.add(s.type, s.text + "\n");
	CHECK_THAT(read.findings(), Catch::StartsWith("error: [list0:1] line refused, text="));
	CHECK_THAT(read.findings(), Catch::Contains(s.reason));
	CHECK(read.names().empty());
}

TEST_CASE("a file without a name is refused", "[zone-tools][names]")
{
	const char *type = GENERATE("dnset", "generic", "acl");
	const char *text = GENERATE("", "# nothing\n", "$TTL 5\n");
	lists read;
	read.add(type, text);
	CHECK(read.findings() ==
	      "error: [" + std::string(type) +
		      ":list0] list refused (list is empty: not one entry in it; --allow-empty)\n");
}

// ---- what names a zone has of them ----

static std::string rdata_text(const dnsblv6_rr &rr)
{
	if (rr.type == DNSBLV6_TYPE_A)
		return "A " + std::to_string(rr.rdata[3]);
	if (rr.type == DNSBLV6_TYPE_TXT)
		return "TXT " +
		       std::string(reinterpret_cast<const char *>(rr.rdata) + 1, rr.rdata[0]);
	return rr.type == DNSBLV6_TYPE_HINFO ? "none" : std::to_string(rr.type);
}

// "name A 2 TXT text", in the order in which they are put.
static lines zone_of(lists &read)
{
	names_plan names = {};
	lines result;
	spec spec = {};
	REQUIRE(dnsblv6_name_from_text("bl6.example", &spec.zone) == DNSBLV6_OK);
	REQUIRE(names_make(&read.listing, &spec, &read.counts, &names) == DNSBLV6_OK);
	dnsblv6_key before = {};
	for (size_t i = 0; i < names.count; i++) {
		names_rrs rrs;
		dnsblv6_labels name;
		char text[DNSBLV6_NAME_TEXT_SIZE];
		const dnsblv6_key key = names_key(&names, i);
		const std::string bytes(reinterpret_cast<const char *>(key.bytes), key.size);
		CHECK(bytes >
		      std::string(reinterpret_cast<const char *>(before.bytes), before.size));
		before = key;
		names_get(&names, i, 60, &rrs);
		REQUIRE(dnsblv6_key_to_labels(key.bytes, key.size, &name) == DNSBLV6_OK);
		dnsblv6_name_format(name.wire, name.size, text);
		std::string line = text;
		for (size_t j = 0; j < rrs.count; j++)
			line += " " + rdata_text(rrs.rrs[j]);
		result.push_back(line);
	}
	names_deinit(&names);
	return result;
}

static lines zone_of(const std::string &dnset)
{
	lists read;
	read.add("dnset", "test :9\n" + dnset);
	CHECK(read.findings() == "");
	lines result = zone_of(read);
	REQUIRE(!result.empty());
	REQUIRE(result.back() == "test A 9");
	result.pop_back();
	return result;
}

TEST_CASE("a name below a wildcard brings the wildcard along", "[zone-tools][names]")
{
	CHECK(zone_of(".com :3\nx.y.com :4\n") == lines{ "com A 3", "*.com A 3", "y.com A 3",
							 "*.y.com A 3", "x.y.com A 4",
							 "*.x.y.com A 3" });
}

TEST_CASE("an exclusion is a name without records, and so is what is below", "[zone-tools][names]")
{
	CHECK(zone_of("*.com :3\n!.x.com\n") == lines{ "*.com A 3", "x.com none" });
	CHECK(zone_of("*.com :3\n!x.com\n") == lines{ "*.com A 3", "*.x.com A 3" });
	CHECK(zone_of("*.com :3\n!*.x.com\n") == lines{ "*.com A 3", "x.com A 3" });
	CHECK(zone_of("*.com :3\n!.x.com\ny.x.com\n") == lines{ "*.com A 3", "y.x.com A 2" });
}

TEST_CASE("what answers like the wildcard above is left out", "[zone-tools][names]")
{
	CHECK(zone_of(".com :3\n.x.com :3\ny.com :3\n") == lines{ "com A 3", "*.com A 3" });
	CHECK(zone_of("!x.com\n!.net\n").empty());
	// Whether one line says it or several.
	CHECK(zone_of("*.com :3\n*.com :3\n.x.com :3\n") == lines{ "*.com A 3" });
	CHECK(zone_of("*.com :3:t\n.x.com :3:t\n.x.com :3\n") == lines{ "*.com A 3 TXT t" });
	// But not when its text has its name in it.
	CHECK(zone_of("*.com on $\n.x.com on $\n") == lines{ "*.com A 2 TXT on com",
							     "x.com A 2 TXT on x.com",
							     "*.x.com A 2 TXT on x.com" });
}

TEST_CASE("a wildcard stands among its siblings", "[zone-tools][names]")
{
	CHECK(zone_of("*.com :3\n!.\\033.com\n(.com\n+.com\n") ==
	      lines{ "!.com none", "\\040.com A 2", "*.\\040.com A 3", "*.com A 3", "+.com A 2",
		     "*.+.com A 3" });
}

TEST_CASE("two lists of one zone are asked each for itself", "[zone-tools][names]")
{
	lists read;
	read.add("dnset", "test\n.com :3\n!.x.com\n");
	read.add("dnset", "y.com :4\n.x.com :5\n");
	read.add("generic", "x.com TXT words\n");
	CHECK(zone_of(read) == lines{ "com A 3", "*.com A 3", "x.com A 5 TXT words", "*.x.com A 5",
				      "y.com A 3 A 4", "*.y.com A 3", "test A 2" });
	CHECK(read.findings() == "");
}

TEST_CASE("a name that two lists give what one gives above it is left out", "[zone-tools][names]")
{
	lists read;
	read.add("dnset", "test\n.com :3\n");
	read.add("dnset", ".x.com :3\n.y.com :4\n");
	CHECK(zone_of(read) ==
	      lines{ "com A 3", "*.com A 3", "y.com A 3 A 4", "*.y.com A 3 A 4", "test A 2" });
	CHECK(read.findings() == "");
}

TEST_CASE("a list of names has a test point, and records alone have none", "[zone-tools][names]")
{
	lists read;
	read.add("generic", "x.com TXT words\n");
	CHECK(zone_of(read) == lines{ "x.com TXT words" });
	read.add("dnset", "y.com\n");
	CHECK(zone_of(read) == lines{ "x.com TXT words", "y.com A 2", "test A 2" });
}

TEST_CASE("a list ends where a sub-zone begins", "[zone-tools][names]")
{
	lists read;
	read.add("combined", "$DATASET dnset @\ntest\n.com :3\n"
			     "$DATASET dnset sub.x.com\ntest\n.net :4:on $\n$DATASET generic "
			     "sub.x.com\n@ TXT t\n");
	CHECK(zone_of(read) == lines{ "com A 3", "*.com A 3", "x.com A 3", "*.x.com A 3",
				      "sub.x.com TXT t", "net.sub.x.com A 4 TXT on net",
				      "*.net.sub.x.com A 4 TXT on net", "test.sub.x.com A 2",
				      "test A 2" });
	CHECK(read.findings() == "");
}

TEST_CASE("names that a sub-zone or a name server has are refused", "[zone-tools][names]")
{
	lists read;
	read.add("combined", "$DATASET dnset @\nx.sub\n.sub\nns1\n$DATASET dnset sub\nx\n");
	CHECK(read.findings() == "");
	names_plan names = {};
	spec spec = {};
	char ns[] = "ns1.bl6.example.,192.0.2.53";
	REQUIRE(dnsblv6_name_from_text("bl6.example", &spec.zone) == DNSBLV6_OK);
	REQUIRE(spec_add_ns(&spec, ns) == nullptr);
	REQUIRE(names_make(&read.listing, &spec, &read.counts, &names) == DNSBLV6_OK);
	names_deinit(&names);
	const char sub[] = " (in a sub-zone, which has lists of its own)\n";
	CHECK(read.findings() ==
	      std::string("error: name refused, text=\"ns1\" (a name server of the zone, whose"
			  " addresses --ns gives)\nerror: name refused, text=\"sub\"") +
		      sub + "error: name refused, text=\"x.sub\"" + sub);
}

TEST_CASE("a name has as many values as fit a message", "[zone-tools][names]")
{
	std::string text;
	for (int i = 1; i <= 49; i++)
		text += "x.com :" + std::to_string(i) + "\nx.com :" + std::to_string(i) + "\n";
	lists read;
	read.add("dnset", text);
	zone_of(read);
	CHECK(read.findings() ==
	      "error: name refused, text=\"x.com\" (more than 48 values for one name)\n");
}

TEST_CASE("names that are too long below the zone are refused", "[zone-tools][names]")
{
	const std::string label = std::string(60, 'x') + ".";
	lists read;
	read.add("dnset", "." + label + label + label + std::string(59, 'x') + "\n*." + label +
				  label + label + std::string(57, 'y') + "\n");
	CHECK(read.findings() == "");
	zone_of(read);
	CHECK_THAT(read.findings(), Catch::Contains("(too long for the zone)"));
}
