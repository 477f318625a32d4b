// SPDX-License-Identifier: GPL-3.0-or-later
#include "zone-tools/base/findings.h"

#include "tests/lib/lists.hh"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace
{
// A value whose text is in an object that outlives it.
dnsblv6_value make_value(uint32_t a, const std::string &text)
{
	dnsblv6_value value = {};
	value.a = a;
	value.ttl = 60;
	value.text = reinterpret_cast<const uint8_t *>(text.data());
	value.text_size = static_cast<uint8_t>(text.size());
	return value;
}

dnsblv6_labels make_name(const char *text)
{
	dnsblv6_labels name = {};
	REQUIRE(dnsblv6_name_from_text(text, &name) == DNSBLV6_OK);
	return name;
}
} // namespace

TEST_CASE("a finding names file, line, text and reason", "[zone-tools][findings]")
{
	lists read;
	const findings_place at = { "list.txt", 4711 };
	findings_add_bad_line(&read.counts, at, "300.1.1.1/24", 12, "octet above 255");
	CHECK(read.findings() ==
	      "error: [list.txt:4711] line refused, text=\"300.1.1.1/24\" (octet above 255)\n");
	CHECK(read.counts.refusal_count == 1);
}

TEST_CASE("a finding leaves out what it does not have", "[zone-tools][findings]")
{
	lists read;
	findings_add(&read.counts, FINDING_WARNING, { "list.txt", 0 }, "list odd", nullptr, 0,
		     nullptr);
	findings_add(&read.counts, FINDING_REFUSAL, { nullptr, 0 }, "zone odd", "a\n\x1b", 3,
		     "why");
	CHECK(read.findings() == "warning: [list.txt] list odd\n"
				 "error: zone odd, text=\"a\\x0a\\x1b\" (why)\n");
}

TEST_CASE("findings above the limit are counted, each grade for itself", "[zone-tools][findings]")
{
	lists read;
	read.counts.limit = 2;
	for (uint64_t line = 1; line <= 3; line++) {
		findings_add(&read.counts, FINDING_WARNING, { "l", line }, "odd", nullptr, 0,
			     nullptr);
		findings_add(&read.counts, FINDING_REFUSAL, { "l", line }, "bad", nullptr, 0,
			     nullptr);
	}
	findings_add(&read.counts, FINDING_REFUSAL, { "l", 4 }, "bad", nullptr, 0, nullptr);
	findings_end(&read.counts);
	CHECK(read.findings() == "warning: [l:1] odd\nerror: [l:1] bad\n"
				 "warning: [l:2] odd\nerror: [l:2] bad\n"
				 "warning: 1 more finding not shown\n"
				 "error: 2 more findings not shown\n");
}

TEST_CASE("bad lines are warnings while the allowance lasts", "[zone-tools][findings]")
{
	lists read;
	read.counts.bad_lines_allowed = 1;
	CHECK(read.add(nullptr, "192.0.2.1\nbad\nworse\n") == DNSBLV6_OK);
	CHECK(read.findings() ==
	      "warning: [list0:2] line ignored, text=\"bad\" (not an IP address)\n"
	      "error: [list0:3] line refused, text=\"worse\" (not an IP address)\n");
	CHECK(read.counts.warning_count == 1);
	CHECK(read.counts.refusal_count == 1);
}

TEST_CASE("nothing is said at the end when everything was shown", "[zone-tools][findings]")
{
	lists read;
	read.counts.limit = 1;
	findings_add(&read.counts, FINDING_REFUSAL, { "l", 1 }, "bad", nullptr, 0, nullptr);
	findings_end(&read.counts);
	CHECK(read.findings() == "error: [l:1] bad\n");
}

TEST_CASE("equal values have one number, others have their own", "[zone-tools][listing]")
{
	value_pool pool = {};
	const std::string text = "listed";
	uint32_t first = 99, again = 99, other = 99;
	const dnsblv6_value value = make_value(0x7f000002, text);
	REQUIRE(value_pool_add(&pool, &value, &first) == DNSBLV6_OK);
	dnsblv6_value changed = value;
	const auto part = GENERATE(0, 1, 2, 3);
	CAPTURE(part);
	changed.a += part == 0;
	changed.ttl += part == 1;
	changed.text_size = static_cast<uint8_t>(changed.text_size - (part == 2));
	changed.text += part == 3 ? 1 : 0;
	changed.text_size = static_cast<uint8_t>(changed.text_size - (part == 3));
	REQUIRE(value_pool_add(&pool, &changed, &other) == DNSBLV6_OK);
	REQUIRE(value_pool_add(&pool, &value, &again) == DNSBLV6_OK);
	CHECK(first == 0);
	CHECK(other == 1);
	CHECK(again == 0);
	value_pool_deinit(&pool);
}

TEST_CASE("ten thousand values keep their numbers and texts", "[zone-tools][listing]")
{
	value_pool pool = {};
	bool is_right = true;
	for (unsigned round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 10000; i++) {
			const std::string text(i % 256, static_cast<char>('a' + i % 26));
			const dnsblv6_value value = make_value(i, text);
			uint32_t number = UINT32_MAX;
			is_right &= value_pool_add(&pool, &value, &number) == DNSBLV6_OK;
			is_right &= number == i;
			is_right &= memcmp(pool.values[i].text, text.data(), text.size()) == 0;
		}
	}
	CHECK(is_right);
	CHECK(pool.count == 10000);
	value_pool_deinit(&pool);
}

TEST_CASE("an origin is found again, and the apex is number 0", "[zone-tools][listing]")
{
	lists read;
	uint16_t number = 99;
	const dnsblv6_labels apex = {};
	const dnsblv6_labels name = make_name("spam.old");
	CHECK(listing_add_origin(&read.listing, &apex, &number) == DNSBLV6_OK);
	CHECK(number == 0);
	CHECK(listing_add_origin(&read.listing, &name, &number) == DNSBLV6_OK);
	CHECK(number == 1);
	CHECK(listing_add_origin(&read.listing, &name, &number) == DNSBLV6_OK);
	CHECK(number == 1);
	CHECK(read.listing.origin_count == 2);
}

TEST_CASE("an origin has the datasets that belong to it, in their order", "[zone-tools][listing]")
{
	lists read;
	auto connected = [&read](uint16_t origin) {
		const struct connected *found = listing_connected(&read.listing, origin);
		return std::vector<uint32_t>(found->datasets, found->datasets + found->count);
	};
	CHECK(connected(0).empty());
	CHECK(connected(DNSBLV6_ORIGIN_ACL).empty());
	read.add("combined",
		 "$DATASET ip4set spam @ spam\n192.0.2.1\n$DATASET ip4set old\n192.0.2.2\n"
		 "$DATASET dnset @ @ old\na.example\n");
	read.add("acl", "192.0.2.0/24 :pass\n");
	CHECK(connected(0) == std::vector<uint32_t>{ 0, 2 });
	CHECK(connected(1) == std::vector<uint32_t>{ 0 });
	CHECK(connected(2) == std::vector<uint32_t>{ 1, 2 });
	CHECK(connected(DNSBLV6_ORIGIN_ACL) == std::vector<uint32_t>{ 3 });
	CHECK(read.origins(2) == lines{ "@", "old" });
}

TEST_CASE("there is an end to the sub-zones of a zone", "[zone-tools][listing]")
{
	lists read;
	uint16_t number = 0;
	bool is_right = true;
	for (unsigned i = 1; i < LISTING_ORIGINS_MAX; i++) {
		const dnsblv6_labels name = make_name(("z" + std::to_string(i)).c_str());
		is_right &= listing_add_origin(&read.listing, &name, &number) == DNSBLV6_OK;
	}
	CHECK(is_right);
	const dnsblv6_labels name = make_name("one-more");
	CHECK(listing_add_origin(&read.listing, &name, &number) == -E2BIG);
}
