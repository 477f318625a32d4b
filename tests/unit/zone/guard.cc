// SPDX-License-Identifier: GPL-3.0-or-later
#include "zone-tools/plan/guard.h"
#include "zone-tools/plan/plan.h"
#include "zone-tools/base/spec.h"

#include <catch2/catch.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace
{
const char *guard(const std::string &text, bool is_exclusion = false, bool allow_reserved = false)
{
	dnsblv6_prefix prefix = {};
	REQUIRE(dnsblv6_prefix_parse(text.data(), text.size(), &prefix) == DNSBLV6_OK);
	return guard_entry(prefix.first, dnsblv6_prefix_last(prefix), is_exclusion, allow_reserved);
}

// What guard_totals() prints for zones of these sizes.
std::string totals(uint64_t ipv4_before, uint64_t ipv4_now, bool has_before = true)
{
	char *text = nullptr;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	findings found = {};
	found.stream = stream;
	found.limit = FINDINGS_SHOWN;
	plan_counts now = {};
	now.ipv4 = ipv4_now;
	dnsblv6_facts before = {};
	before.ipv4_count = ipv4_before;
	guard_limits limits = { 50, 200, 20, GUARD_LISTED6_MAX };
	guard_totals(&now, has_before ? &before : nullptr, "bl6.mdb", &limits, &found);
	fclose(stream);
	std::string printed(text, size);
	free(text);
	CHECK(printed.empty() == (found.refusal_count == 0));
	return printed;
}
} // namespace

TEST_CASE("reserved space is not listed without being told", "[zone-tools][guard]")
{
	auto text = GENERATE("0.0.0.0/0", "0.1.2.3", "10.1.0.0/16", "100.64.0.1", "127.0.0.3",
			     "127.0.0.0/30", "169.254.1.1", "172.31.255.255", "192.168.7.0/24",
			     "224.0.0.1", "255.255.255.255", "8.0.0.0/5", "::1", "::/0",
			     "64:ff9b::1", "fd00::/8", "fe80::1", "ff02::1");
	CAPTURE(text);
	CHECK(guard(text) != nullptr);
	CHECK(guard(text, false, true) == nullptr);
	CHECK(guard("192.0.2.1") == nullptr);
}

TEST_CASE("addresses that mail comes from are fine", "[zone-tools][guard]")
{
	auto text = GENERATE("1.0.0.0/8", "9.255.255.255", "11.0.0.0", "100.63.255.255",
			     "100.128.0.0", "126.0.0.0/8", "128.0.0.0", "172.32.0.0/16",
			     "192.0.2.0/24", "223.255.255.255", "2001:db8::/48", "2600::/12");
	CAPTURE(text);
	CHECK(guard(text) == nullptr);
}

TEST_CASE("a list may carry the listed test point and may not touch the clear one",
	  "[zone-tools][guard]")
{
	CHECK(guard("127.0.0.2") == nullptr);
	CHECK(guard("127.0.0.1") != nullptr);
	CHECK(guard("127.0.0.2/31") != nullptr);
	CHECK(guard("2001:db8:7f00:1::/64") != nullptr);
	CHECK(guard("127.0.0.2", true) != nullptr);
	CHECK(guard("127.0.0.1", true) == nullptr);
	CHECK(guard("10.0.0.0/8", true) == nullptr);
}

TEST_CASE("a zone may not shrink, grow or list the world by accident", "[zone-tools][guard]")
{
	CHECK(totals(100000, 50000).empty());
	CHECK(totals(100000, 49999).find("shrink") != std::string::npos);
	CHECK(totals(100000, 0).find("shrink") != std::string::npos);
	CHECK(totals(100000, 300000).empty());
	CHECK(totals(100000, 300001).find("grow") != std::string::npos);
	CHECK(totals(0, 300001).empty());
	CHECK(totals(5, 900).empty());
	CHECK(totals(900, 0).empty());
	CHECK(totals(0, 858993459, false).empty());
	CHECK(totals(0, 858993460, false).find("too much of IPv4") != std::string::npos);
}

TEST_CASE("name servers come from the command line or the list, with addresses when inside",
	  "[zone-tools][spec]")
{
	spec about = {};
	zone_lines lines = {};
	REQUIRE(dnsblv6_name_from_text("bl6.example.", &about.zone) == DNSBLV6_OK);

	SECTION("none")
	{
		CHECK(spec_complete(&about, &lines) != nullptr);
	}
	SECTION("outside")
	{
		char text[] = "ns1.example.net.";
		REQUIRE(spec_add_ns(&about, text) == nullptr);
		REQUIRE(spec_complete(&about, &lines) == nullptr);
		CHECK(std::string(about.primary) == "ns1.example.net.");
		CHECK(about.ttl == LISTING_TTL_DEFAULT);
	}
	SECTION("inside without an address")
	{
		char text[] = "ns1.BL6.example.";
		REQUIRE(spec_add_ns(&about, text) == nullptr);
		CHECK(spec_complete(&about, &lines) != nullptr);
	}
	SECTION("inside with addresses")
	{
		char text[] = "ns1.bl6.example.,192.0.2.53,2001:db8::53";
		REQUIRE(spec_add_ns(&about, text) == nullptr);
		CHECK(spec_complete(&about, &lines) == nullptr);
		CHECK(about.glue_count == 2);
	}
	SECTION("inside with an address that is there already")
	{
		char text[] = "ns1.bl6.example.,192.0.2.53,2001:db8::53,2001:DB8:0::53";
		const char *fault = spec_add_ns(&about, text);
		REQUIRE(fault != nullptr);
		CHECK(std::string(fault) == "address given twice");
		char other[] = "ns2.bl6.example.,192.0.2.53";
		CHECK(spec_add_ns(&about, other) == nullptr);
	}
	SECTION("inside, with the name of an address")
	{
		char text[] = "0.2.0.192.bl6.example.,192.0.2.53";
		REQUIRE(spec_add_ns(&about, text) == nullptr);
		CHECK(spec_complete(&about, &lines) != nullptr);
	}
	SECTION("outside with an address")
	{
		char text[] = "ns1.example.net.,192.0.2.53";
		REQUIRE(spec_add_ns(&about, text) == nullptr);
		CHECK(spec_complete(&about, &lines) != nullptr);
	}
	SECTION("not a name, not an address")
	{
		char bad_name[] = "ns1..example.";
		char bad_address[] = "ns1.bl6.example.,192.0.2.300";
		CHECK(spec_add_ns(&about, bad_name) != nullptr);
		CHECK(std::string(spec_add_ns(&about, bad_address)) == "octet above 255");
	}
}

TEST_CASE("no option lists what a canary hides", "[zone-tools][guard]")
{
	for (const char *text : { "127.0.1.0/25", "127.0.2.10", "127.0.5.127" }) {
		CAPTURE(text);
		CHECK(guard(text, false, true) != nullptr);
		CHECK(guard(text, true, true) == nullptr);
	}
	for (const char *text :
	     { "127.0.2.0/24", "127.0.2.128", "127.0.0.3", "::1", "0.0.0.0/0" }) {
		CAPTURE(text);
		CHECK(guard(text, false, true) == nullptr);
	}
}

TEST_CASE("a zone may not list a large part of IPv6 by accident", "[zone-tools][guard]")
{
	const auto refusals = [](uint64_t units) {
		guard_limits limits = { 50, 200, 20, GUARD_LISTED6_MAX };
		struct findings findings = {};
		plan_counts counts = {};
		counts.ipv6 = units;
		guard_totals(&counts, nullptr, "store", &limits, &findings);
		return findings.refusal_count;
	};
	CHECK(refusals(uint64_t{ 6736 } << 32) == 0); // all data centres of a real list
	CHECK(refusals(uint64_t{ 50000 } << 32) == 0);
	CHECK(refusals(uint64_t{ 50001 } << 32) == 1);
	CHECK(refusals(UINT64_MAX) == 1);
}

TEST_CASE("a list of all of IPv6 does not overflow its count to zero", "[zone-tools][ranges]")
{
	ranges all = {};
	REQUIRE(ranges_add(&all, 0, UINT64_MAX) == DNSBLV6_OK);
	ranges_normalise(&all);
	CHECK(ranges_unit_count(&all) == UINT64_MAX);
	ranges_deinit(&all);
}
