// SPDX-License-Identifier: GPL-3.0-or-later
#include "zone-tools/chain/builder.h"
#include "zone-tools/chain/chain.h"
#include "zone-tools/records/before.h"
#include "zone-tools/reading/contents.h"
#include "zone-tools/chain/resign.h"

#include "lib/format/wellknown.h"
#include "lib/store/tables.h"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace
{
dnsblv6_prefix prefix(const std::string &text)
{
	dnsblv6_prefix result = {};
	REQUIRE(dnsblv6_prefix_parse(text.data(), text.size(), &result) == DNSBLV6_OK);
	return result;
}

dnsblv6_labels labels(const char *text)
{
	dnsblv6_labels result = {};
	REQUIRE(dnsblv6_name_from_text(text, &result) == DNSBLV6_OK);
	return result;
}

keyset keyset_of(const std::vector<const key *> &given,
		 const std::vector<const key *> &withdrawn = {})
{
	keyset set = {};
	for (const key *one : given)
		set.keys[set.key_count++] = one;
	for (const key *one : withdrawn)
		set.withdrawn[set.withdrawn_count++] = key_tag(one);
	return set;
}

// A zone being made, and what its store then holds.
struct zone {
	tmpdir dir;
	std::string path = dir.path() + "/bl6.mdb";
	listing list = {};
	plan made = {};
	spec about = {};
	builder_result result = {};
	uint64_t max_records = UINT32_MAX;
	std::vector<const key *> keys;
	std::vector<const key *> withdrawn;
	bool may_unsign = false;
	bool trusts_clock = false;
	keyset set = {};
	const guard_limits *limits = nullptr;
	struct findings findings = {};

	zone()
	{
		REQUIRE(listing_init(&list) == DNSBLV6_OK);
		about.zone = labels("bl6.example");
		about.ns[0] = "ns1.example.net.";
		about.ns_count = 1;
	}
	zone(const zone &) = delete;
	~zone()
	{
		plan_deinit(&made);
		listing_deinit(&list);
	}

	uint32_t value(uint32_t a, const std::string &text)
	{
		dnsblv6_value one = { a, 300, static_cast<uint8_t>(text.size()),
				      reinterpret_cast<const uint8_t *>(text.data()) };
		uint32_t number = 0;
		REQUIRE(value_pool_add(&list.pool, &one, &number) == DNSBLV6_OK);
		return number;
	}
	void add(const std::string &where, uint32_t number, const char *origin = "@")
	{
		dataset *set = nullptr;
		uint16_t origin_number = 0;
		auto name = labels(origin);
		REQUIRE(listing_add_origin(&list, &name, &origin_number) == DNSBLV6_OK);
		REQUIRE(listing_add_dataset(&list, DUPLICATE_FIRST, &set) == DNSBLV6_OK);
		REQUIRE(listing_connect(&list, origin_number) == DNSBLV6_OK);
		REQUIRE(dataset_add_entry(set, prefix(where), number) == DNSBLV6_OK);
	}
	int write(uint64_t now_s = 1000)
	{
		plan_deinit(&made);
		REQUIRE(plan_make(&list, &made) == DNSBLV6_OK);
		spec complete = about;
		REQUIRE(spec_complete(&complete, &list.zone) == nullptr);
		builder_job job = {};
		job.path = path.c_str();
		job.plan = &made;
		job.listing = &list;
		job.spec = &complete;
		set = keyset_of(keys, withdrawn);
		set.may_replace = may_unsign;
		job.keyset = &set;
		job.lifetime_s = SIGNER_LIFETIME_S;
		job.now_s = now_s;
		job.trusts_clock = trusts_clock;
		job.max_records = max_records;
		job.limits = limits;
		job.findings = &findings;
		return builder_write(&job, &result);
	}
};

// What a store lists: "prefix[ origin]" -> first A of its values.
int collect(void *context, const contents_origin *origin, dnsblv6_addr first, dnsblv6_addr last,
	    uint32_t set)
{
	auto *lines = static_cast<std::vector<std::string> *>(context);
	char text[DNSBLV6_NAME_TEXT_SIZE];
	dnsblv6_name_format(origin->origin.name.wire, origin->origin.name.size, text);
	std::string line = text;
	dnsblv6_addr_format(first, text);
	line += std::string(" ") + text;
	dnsblv6_addr_format(last, text);
	line += std::string("-") + text + " " +
		(set == origin->origin.default_set ? "default" : "other");
	lines->push_back(line);
	return DNSBLV6_OK;
}

struct opened {
	reader *handle = nullptr;
	explicit opened(const std::string &path)
	{
		REQUIRE(reader_open(path.c_str(), &zone_store, &handle) == STORE_OK);
		REQUIRE(reader_begin(handle) == STORE_OK);
	}
	opened(const opened &) = delete;
	~opened()
	{
		reader_end(handle);
		reader_close(handle);
	}
	std::vector<std::string> contents()
	{
		std::vector<std::string> lines;
		dnsblv6_facts facts;
		contents_origin origin;
		REQUIRE(contents_read_facts(handle, &facts) == DNSBLV6_OK);
		for (uint16_t i = 0; contents_read_origin(handle, i, &origin) == DNSBLV6_OK; i++)
			REQUIRE(contents_walk(handle, &facts, &origin, collect, &lines) ==
				DNSBLV6_OK);
		return lines;
	}
	// The bitmap under an owner name; empty map and false when there is no record.
	bool bitmap(const char *name, dnsblv6_bitmap &map)
	{
		auto owner = labels(name);
		dnsblv6_key key;
		store_bytes value = {};
		REQUIRE(dnsblv6_key_from_labels(owner.wire, owner.size, &key) == DNSBLV6_OK);
		return reader_get(handle, STORE_RECORDS, key.bytes, key.size, &value) == STORE_OK &&
		       dnsblv6_record_decode_bitmap(value.data, value.size, &map) == DNSBLV6_OK;
	}
};
} // namespace

TEST_CASE("what the store holds when it is written is what limits hold against",
	  "[zone-tools][builder]")
{
	zone large;
	large.add("44.0.0.0/20", large.value(0x7f000002, ""));
	REQUIRE(large.write() == DNSBLV6_OK);
	const auto before = opened(large.path).contents();
	zone small;
	small.path = large.path;
	small.add("44.0.0.1/32", small.value(0x7f000002, ""));
	const guard_limits limits = { 50, 200, 20, GUARD_LISTED6_MAX };
	small.limits = &limits;
	CHECK(small.write(2000) == CHAIN_EREFUSED);
	CHECK(small.findings.refusal_count == 1);
	CHECK(opened(large.path).contents() == before);
}

TEST_CASE("every zone has the test points and the canaries, and lists neither",
	  "[zone-tools][builder]")
{
	zone z;
	z.add("192.0.2.7", z.value(0x7f000002, ""));
	REQUIRE(z.write() == DNSBLV6_OK);
	opened store(z.path);
	dnsblv6_bitmap map = {};
	REQUIRE(store.bitmap("0.0.0.127", map));
	CHECK(dnsblv6_bitmap_count(&map) == 1);
	CHECK(dnsblv6_bitmap_get(&map, 2));
	REQUIRE(store.bitmap("0.00.7f00.0db8.2001.ip6", map));
	CHECK(dnsblv6_bitmap_count(&map) == 1);
	CHECK(dnsblv6_bitmap_get(&map, 2));
	for (size_t i = 0; i < DNSBLV6_CANARY_COUNT; i++) {
		std::string name = "0." + std::to_string(i + 1) + ".0.127";
		CAPTURE(name);
		REQUIRE(store.bitmap(name.c_str(), map));
		CHECK(memcmp(&map, &dnsblv6_canary_get(i)->map, sizeof(map)) == 0);
	}
	CHECK(store.contents() == std::vector<std::string>{ "@ 192.0.2.7-192.0.2.7 default" });
	CHECK(z.made.counts.ipv4 == 1);
	CHECK(z.made.counts.ipv6 == 0);
	CHECK(z.made.counts.blocks == 1);
}

TEST_CASE("the metadata name the families of the list, not those of the test points",
	  "[zone-tools][builder]")
{
	auto where = GENERATE("192.0.2.7", "2001:db8::/64");
	zone z;
	z.add(where, z.value(0x7f000002, ""));
	REQUIRE(z.write() == DNSBLV6_OK);
	opened store(z.path);
	auto owner = labels(DNSBLV6_METADATA_LABEL);
	dnsblv6_key key;
	store_bytes value = {};
	dnsblv6_rr rr = {};
	size_t offset = 0;
	REQUIRE(dnsblv6_key_from_labels(owner.wire, owner.size, &key) == DNSBLV6_OK);
	REQUIRE(reader_get(store.handle, STORE_RECORDS, key.bytes, key.size, &value) == STORE_OK);
	REQUIRE(dnsblv6_record_next_rr(value.data, value.size, &offset, &rr) == DNSBLV6_OK);
	dnsblv6_metadata metadata = {};
	REQUIRE(dnsblv6_metadata_decode(rr.rdata, rr.rdata_size, &metadata) == DNSBLV6_OK);
	CHECK(metadata.has_ipv4 == (std::string(where) == "192.0.2.7"));
	CHECK(metadata.has_ipv6 != metadata.has_ipv4);
}

TEST_CASE("a list that covers the canaries cannot change them", "[zone-tools][builder]")
{
	zone z;
	z.add("127.0.2.0/23", z.value(0x7f000002, ""));
	REQUIRE(z.write() == DNSBLV6_OK);
	opened store(z.path);
	dnsblv6_bitmap map = {};
	REQUIRE(store.bitmap("0.2.0.127", map));
	CHECK(memcmp(&map, &dnsblv6_canary_get(1)->map, sizeof(map)) == 0);
	CHECK(store.contents() == std::vector<std::string>{ "@ 127.0.2.128-127.0.2.255 default",
							    "@ 127.0.3.128-127.0.3.255 default" });
}

TEST_CASE("an IPv6 listing narrower than a /64 sets the bit of its /64 and stays exact in segments",
	  "[zone-tools][builder]")
{
	zone z;
	uint32_t number = z.value(0x7f000002, "");
	z.add("2001:db8:1:2::7", number);
	z.add("2001:db8:1:3::/64", number);
	REQUIRE(z.write() == DNSBLV6_OK);
	opened store(z.path);
	dnsblv6_bitmap map = {};
	REQUIRE(store.bitmap("0.00.0001.0db8.2001.ip6", map));
	CHECK(dnsblv6_bitmap_count(&map) == 2);
	CHECK(store.contents() ==
	      std::vector<std::string>{
		      "@ 2001:db8:1:2::7-2001:db8:1:2::7 default",
		      "@ 2001:db8:1:3::-2001:db8:1:3:ffff:ffff:ffff:ffff default" });
}

TEST_CASE("other values than the usual ones stand in segments", "[zone-tools][builder]")
{
	zone z;
	uint32_t usual = z.value(0x7f000002, "usual");
	z.add("192.0.2.1", usual);
	z.add("192.0.2.3", usual);
	z.add("192.0.2.5", z.value(0x7f000003, "rare"));
	REQUIRE(z.write() == DNSBLV6_OK);
	opened store(z.path);
	CHECK(store.contents() == std::vector<std::string>{ "@ 192.0.2.1-192.0.2.1 default",
							    "@ 192.0.2.3-192.0.2.3 default",
							    "@ 192.0.2.5-192.0.2.5 other" });
}

TEST_CASE("a sub-zone has its own list, test points and metadata", "[zone-tools][builder]")
{
	zone z;
	uint32_t number = z.value(0x7f000002, "");
	z.add("192.0.2.1", number);
	z.add("198.51.100.0/24", number, "dialups");
	REQUIRE(z.write() == DNSBLV6_OK);
	opened store(z.path);
	dnsblv6_bitmap map = {};
	CHECK(store.bitmap("*.100.51.198.dialups", map));
	CHECK(store.bitmap("0.0.0.127.dialups", map));
	CHECK_FALSE(store.bitmap("*.100.51.198", map));
	CHECK(store.contents() ==
	      std::vector<std::string>{ "@ 192.0.2.1-192.0.2.1 default",
					"dialups 198.51.100.0-198.51.100.255 default" });
}

TEST_CASE("the serial is the time, or what was asked for, and always newer than before",
	  "[zone-tools][builder]")
{
	zone z;
	z.add("192.0.2.1", z.value(0x7f000002, ""));
	REQUIRE(z.write(1000) == DNSBLV6_OK);
	CHECK(z.result.serial == 1000);
	z.add("192.0.2.2", z.value(0x7f000002, ""));
	REQUIRE(z.write(1000) == DNSBLV6_OK);
	CHECK(z.result.serial == 1001);
	z.add("192.0.2.3", z.value(0x7f000002, ""));
	REQUIRE(z.write(900) == DNSBLV6_OK);
	CHECK(z.result.serial == 1002);
	// A list's own may be what it was before; one that is asked for may not.
	z.about.serial = 1002;
	z.add("192.0.2.4", z.value(0x7f000002, ""));
	REQUIRE(z.write(900) == DNSBLV6_OK);
	CHECK(z.result.serial == 1003);
	z.about.has_serial = true;
	z.about.serial = 2000;
	REQUIRE(z.write(900) == DNSBLV6_OK);
	CHECK(z.result.serial == 2000);
	CHECK(z.write(900) == BEFORE_ESERIAL);
	z.about.serial = 0x80000000u;
	REQUIRE(z.write(900) == DNSBLV6_OK);
	z.about.serial = 0xf0000000u;
	REQUIRE(z.write(900) == DNSBLV6_OK);
	z.about.serial = 5; // RFC 1982: round the corner
	REQUIRE(z.write(900) == DNSBLV6_OK);
	CHECK(z.result.serial == 5);
}

TEST_CASE("a store of another zone is refused and stays as it is", "[zone-tools][builder]")
{
	zone z;
	z.add("192.0.2.1", z.value(0x7f000002, ""));
	REQUIRE(z.write() == DNSBLV6_OK);
	z.about.zone = labels("other.example");
	CHECK(z.write() == BEFORE_EZONE);
	dnsblv6_facts facts;
	opened store(z.path);
	REQUIRE(contents_read_facts(store.handle, &facts) == DNSBLV6_OK);
	CHECK(facts.serial == 1000);
}

TEST_CASE("a zone of more records than allowed is refused", "[zone-tools][builder]")
{
	zone z;
	z.about.style = DNSBLV6_STYLE_FLAT;
	z.add("2001:db8::/32", z.value(0x7f000002, ""));
	z.max_records = 1000;
	CHECK(z.write() == CHAIN_ERECORDS);
}

TEST_CASE("random lists come back from the store as they were resolved", "[zone-tools][builder]")
{
	unsigned seed = std::random_device{}();
	CAPTURE(seed);
	std::mt19937 random(seed);
	auto style = GENERATE(DNSBLV6_STYLE_DOTTED, DNSBLV6_STYLE_FLAT);
	for (int round = 0; round < 25; round++) {
		zone z;
		z.about.style = style;
		dataset *set = nullptr;
		REQUIRE(listing_add_dataset(&z.list, DUPLICATE_ALL, &set) == DNSBLV6_OK);
		REQUIRE(listing_connect(&z.list, 0) == DNSBLV6_OK);
		for (int i = 0; i < 60; i++) {
			bool is_ipv4 = random() % 2 == 0;
			auto base =
				is_ipv4 ? dnsblv6_addr_from_ipv4(0xc0000200u | (random() & 1023))
					: dnsblv6_addr{ 0x20010db800000000u | (random() & 511),
							random() & 7 };
			unsigned len = is_ipv4 ? 118 + random() % 11 : 54 + random() % 75;
			uint32_t number = z.value(0x7f000002 + random() % 3, "");
			REQUIRE(dataset_add_entry(set, dnsblv6_prefix_make(base, len),
						  random() % 4 ? number : ENTRY_EXCLUDED) ==
				DNSBLV6_OK);
		}
		REQUIRE(z.write() == DNSBLV6_OK);

		const plan_origin &origin = z.made.origins[0];
		pieces planned = {};
		REQUIRE(plan_load_pieces(&z.made, 0, &planned) == DNSBLV6_OK);
		std::vector<std::string> expected;
		contents_origin apex = {};
		apex.origin.default_set = origin.default_set;
		for (size_t i = 0; i < planned.count; i++) {
			const auto &piece = planned.items[i];
			bool is_testpoint = piece.first.hi == 0x20010db87f000002u ||
					    dnsblv6_addr_ipv4(piece.first) == 0x7f000002u;
			if (!is_testpoint)
				collect(&expected, &apex, piece.first, piece.last, piece.set);
		}
		pieces_deinit(&planned);
		opened store(z.path);
		CAPTURE(round);
		REQUIRE(store.contents() == expected);
		REQUIRE(reader_verify(store.handle) == STORE_OK);
	}
}

// ---- signed zones ----

namespace
{
struct signing_key {
	key *handle = nullptr;
	signing_key()
	{
		REQUIRE(key_generate(KEY_ECDSAP256SHA256, &handle) == DNSBLV6_OK);
	}
	signing_key(const signing_key &) = delete;
	~signing_key()
	{
		key_free(handle);
	}
};

// The bytes of all records, by key.
std::map<std::string, std::string> records_of(const std::string &path)
{
	std::map<std::string, std::string> records;
	opened store(path);
	store_bytes found = {};
	store_bytes value = {};
	int ret = reader_seek(store.handle, STORE_RECORDS, nullptr, 0, &found, &value);
	while (ret == STORE_OK) {
		records[std::string(reinterpret_cast<const char *>(found.data), found.size)] =
			std::string(reinterpret_cast<const char *>(value.data), value.size);
		ret = reader_next(store.handle, STORE_RECORDS, &found, &value);
	}
	return records;
}

size_t count_differences(const std::map<std::string, std::string> &a,
			 const std::map<std::string, std::string> &b)
{
	size_t count = 0;
	for (const auto &one : a) {
		auto other = b.find(one.first);
		count += other == b.end() || other->second != one.second;
	}
	for (const auto &one : b)
		count += a.find(one.first) == a.end();
	return count;
}
} // namespace

TEST_CASE("what a build has changed is published, however little it is", "[zone-tools][unchanged]")
{
	struct change {
		const char *what;
		std::function<void(zone &)> make;
	};
	static const std::array<change, 6> changes = { {
		{ "the mailbox", [](zone &z) { z.about.mailbox = "dns.example.net."; } },
		{ "the negative TTL", [](zone &z) { z.about.negative_ttl = 60; } },
		{ "a digest", [](zone &z) { z.about.has_zonemd = true; } },
		{ "the text of the classic zone",
		  [](zone &z) { z.add("192.0.2.1", z.value(0x7f000002, "more text")); } },
		{ "the time at which the list ends",
		  [](zone &z) { z.list.zone.expires_s = 5000; } },
		{ "a serial of the list that is newer", [](zone &z) { z.about.serial = 1002; } },
	} };
	auto index = GENERATE(0U, 1U, 2U, 3U, 4U, 5U);
	const change &change = changes.at(index);
	CAPTURE(change.what);
	zone z;
	z.add("192.0.2.1", z.value(0x7f000002, "text"));
	REQUIRE(z.write(1000) == DNSBLV6_OK);
	REQUIRE(z.write(1001) == DNSBLV6_OK);
	REQUIRE(z.result.is_unchanged);
	change.make(z);
	REQUIRE(z.write(1002) == DNSBLV6_OK);
	CHECK_FALSE(z.result.is_unchanged);
	CHECK(z.result.serial == 1002);
	z.about.serial = 0;
	REQUIRE(z.write(1003) == DNSBLV6_OK);
	CHECK(z.result.is_unchanged);
}

TEST_CASE("a signed zone built again publishes nothing, and on request its SOA alone",
	  "[zone-tools][chain]")
{
	signing_key active;
	zone z;
	z.keys = { active.handle };
	uint32_t number = z.value(0x7f000002, "");
	for (unsigned i = 0; i < 300; i++)
		z.add("192.0." + std::to_string(i % 250) + "." + std::to_string(i % 256), number);
	REQUIRE(z.write(1800000000) == DNSBLV6_OK);
	CHECK(z.result.signature_count >= 2 * z.result.record_count);
	auto before = records_of(z.path);
	REQUIRE(z.write(1800000060) == DNSBLV6_OK);
	CHECK(z.result.is_unchanged);
	CHECK(z.result.serial == 1800000000);
	CHECK(records_of(z.path) == before);
	z.about.serial = 1800000060;
	z.about.has_serial = true;
	REQUIRE(z.write(1800000060) == DNSBLV6_OK);
	CHECK_FALSE(z.result.is_unchanged);
	CHECK(z.result.signature_count == 1);
	CHECK(z.result.changed_count == 1);
	CHECK(count_differences(before, records_of(z.path)) == 1);
}

TEST_CASE("one more address costs at most four signatures besides the SOA's", "[zone-tools][chain]")
{
	auto more = GENERATE("192.0.2.200", "192.0.3.1", "198.51.100.1", "0.255.255.1",
			     "2001:db8:ffff::/64", "192.0.2.0/25");
	CAPTURE(more);
	signing_key active;
	zone z;
	z.keys = { active.handle };
	uint32_t number = z.value(0x7f000002, "");
	z.add("192.0.2.1", number);
	z.add("192.0.2.129", number);
	z.add("203.0.113.7", number);
	REQUIRE(z.write(1800000000) == DNSBLV6_OK);
	z.add(more, number);
	REQUIRE(z.write(1800000060) == DNSBLV6_OK);
	CHECK(z.result.signature_count <= 1 + 4);
	CHECK(z.result.signature_count >= 2);
	// A removed name leaves a gap that its neighbour's NSEC closes.
	zone fresh;
	fresh.keys = { active.handle };
	fresh.path = z.path;
	uint32_t same = fresh.value(0x7f000002, "");
	fresh.add("192.0.2.1", same);
	fresh.add("192.0.2.129", same);
	fresh.add("203.0.113.7", same);
	REQUIRE(fresh.write(1800000120) == DNSBLV6_OK);
	CHECK(fresh.result.signature_count <= 1 + 4);
}

TEST_CASE("every name is signed again once in half a lifetime, on a day of its own",
	  "[zone-tools][chain]")
{
	signing_key active;
	zone z;
	z.keys = { active.handle };
	for (unsigned i = 0; i < 100; i++)
		z.add("192.0." + std::to_string(i) + ".1", z.value(0x7f000002, ""));
	REQUIRE(z.write(1800000000) == DNSBLV6_OK); // at eight in the morning
	uint64_t all = z.result.signature_count;
	uint64_t renewed = 0;
	for (unsigned day = 1; day <= 7; day++) {
		REQUIRE(z.write(1800000000 + day * 86400) == DNSBLV6_OK);
		CHECK(z.result.signature_count > all / 21);
		CHECK(z.result.signature_count < all / 7 * 2);
		renewed += z.result.signature_count - 1; // the SOA's is made each day
		REQUIRE(z.write(1800000000 + day * 86400 + 57599) == DNSBLV6_OK);
		CHECK(z.result.is_unchanged); // to the end of the day
	}
	CHECK(renewed == all - 1);
}

TEST_CASE("what is signed in the evening is not signed again behind midnight",
	  "[zone-tools][chain]")
{
	signing_key active;
	zone z;
	z.keys = { active.handle };
	for (unsigned i = 0; i < 100; i++)
		z.add("192.0." + std::to_string(i) + ".1", z.value(0x7f000002, ""));
	REQUIRE(z.write(1800000000 + 57000) == DNSBLV6_OK);
	REQUIRE(z.write(1800000000 + 58000) == DNSBLV6_OK);
	CHECK(z.result.is_unchanged);
}

TEST_CASE("signatures are renewed when they near their end, and those that have not begun",
	  "[zone-tools][chain]")
{
	signing_key active;
	zone z;
	z.keys = { active.handle };
	z.add("192.0.2.1", z.value(0x7f000002, ""));
	REQUIRE(z.write(1800000000) == DNSBLV6_OK);
	uint64_t all = z.result.signature_count;
	REQUIRE(z.write(1800000000 + 3600) == DNSBLV6_OK);
	CHECK(z.result.is_unchanged);
	REQUIRE(z.write(1800000000 + 10 * 86400) == DNSBLV6_OK);
	CHECK(z.result.signature_count == all);
	// A clock that was an hour ahead made signatures that have not begun.
	CHECK(z.write(1800000000 + 10 * 86400 - 7200) == CHAIN_EREFUSED);
	z.trusts_clock = true;
	REQUIRE(z.write(1800000000 + 10 * 86400 - 7200) == DNSBLV6_OK);
	CHECK(z.result.signature_count == all);
}

TEST_CASE("a signed zone keeps its keys unless told otherwise", "[zone-tools][chain]")
{
	signing_key active;
	signing_key other;
	zone z;
	z.keys = { active.handle };
	z.add("192.0.2.1", z.value(0x7f000002, ""));
	REQUIRE(z.write(1800000000) == DNSBLV6_OK);
	z.keys = {};
	CHECK(z.write(1800000060) == KEYSET_ESIGNED);
	z.keys = { other.handle };
	CHECK(z.write(1800000060) == KEYSET_EKEY);
	// The way of a rollover: published, then signing, then alone.
	z.keys = { active.handle, other.handle };
	REQUIRE(z.write(1800000060) == DNSBLV6_OK);
	CHECK(z.result.signature_count == 1 + 2); // the SOA, and the DNSKEY RRset by both
	z.keys = { other.handle, active.handle };
	REQUIRE(z.write(1800000120) == DNSBLV6_OK);
	CHECK(z.result.signature_count > 2 * z.result.record_count);
	z.keys = { other.handle };
	z.withdrawn = { active.handle };
	REQUIRE(z.write(1800000180) == DNSBLV6_OK);
	CHECK(z.set.dnskey_count == 1);
	z.keys = {};
	z.withdrawn = {};
	z.may_unsign = true;
	REQUIRE(z.write(1800000240) == DNSBLV6_OK);
	CHECK(z.result.changed_count == z.result.record_count);
}

TEST_CASE("signing again renews what is due and leaves the list alone", "[zone-tools][resign]")
{
	signing_key active;
	signing_key next;
	zone z;
	z.keys = { active.handle };
	z.about.ns[0] = "ns1.bl6.example.";
	z.about.glue[0] = { 0, prefix("192.0.2.53").first };
	z.about.glue_count = 1;
	z.add("192.0.2.1", z.value(0x7f000002, "text"));
	REQUIRE(z.write(1800000000) == DNSBLV6_OK);
	uint64_t all = z.result.signature_count;
	std::vector<std::string> list;
	{
		opened store(z.path);
		list = store.contents();
	}

	resign_job job = {};
	resign_result result = {};
	job.path = z.path.c_str();
	keyset set = keyset_of(z.keys);
	job.keyset = &set;
	job.lifetime_s = SIGNER_LIFETIME_S;
	job.now_s = 1800000000 + 3600;
	REQUIRE(resign_store(&job, &result) == DNSBLV6_OK);
	CHECK(result.signature_count == 1);
	CHECK(result.serial == 1800003600);
	job.now_s = 1800000000 + 10 * 86400;
	REQUIRE(resign_store(&job, &result) == DNSBLV6_OK);
	CHECK(result.signature_count == all);
	CHECK(result.expires_s > job.now_s + 12 * 86400);
	job.now_s += 3600;
	job.lifetime_s = 40 * 86400; // of which less than five fourteenths are left
	REQUIRE(resign_store(&job, &result) == DNSBLV6_OK);
	CHECK(result.signature_count == all);
	{
		opened store(z.path);
		CHECK(store.contents() == list);
		CHECK(reader_verify(store.handle) == STORE_OK);
	}

	set = keyset_of({ next.handle });
	CHECK(resign_store(&job, &result) == KEYSET_EKEY);
	set = keyset_of({ active.handle, next.handle });
	REQUIRE(resign_store(&job, &result) == DNSBLV6_OK);
	CHECK(result.signature_count == 3);
	set = keyset_of({ next.handle });
	REQUIRE(resign_store(&job, &result) == DNSBLV6_OK);
	CHECK(result.signature_count == all - 1); // all but the one over the DNSKEY RRset
	CHECK(set.dnskey_count == 2);		  // the one not given stays
}

namespace
{
// Key tags that have signed the DNSKEY RRset of a store, in the order of the record.
std::vector<unsigned> signers_of_dnskeys(const std::string &path)
{
	const auto apex = dnsblv6_key_of_apex();
	const std::string value = records_of(
		path)[std::string(reinterpret_cast<const char *>(apex.bytes), apex.size)];
	const auto *data = reinterpret_cast<const uint8_t *>(value.data());
	std::vector<unsigned> tags;
	size_t offset = 0;
	dnsblv6_rr rr = {};
	while (dnsblv6_record_next_rr(data, value.size(), &offset, &rr) == DNSBLV6_OK) {
		dnsblv6_signature signature = {};
		if (rr.type == DNSBLV6_TYPE_RRSIG &&
		    dnsblv6_rrsig_decode(rr.rdata, rr.rdata_size, DNSBLV6_TYPE_DNSKEY,
					 &signature) == DNSBLV6_OK)
			tags.push_back(signature.key_tag);
	}
	return tags;
}
} // namespace

TEST_CASE("a published key that is not given stays, and its signature with it",
	  "[zone-tools][keyset]")
{
	signing_key active;
	signing_key next;
	zone z;
	z.keys = { active.handle, next.handle };
	z.add("192.0.2.1", z.value(0x7f000002, ""));
	REQUIRE(z.write(1800000000) == DNSBLV6_OK);
	const std::vector<unsigned> both = { key_tag(active.handle), key_tag(next.handle) };
	CHECK(signers_of_dnskeys(z.path) == both);
	z.keys = { active.handle };
	// Also when the other's signature nears its end, and has ended.
	for (uint64_t days : { 1, 10, 20 }) {
		CAPTURE(days);
		REQUIRE(z.write(1800000000 + days * 86400) == DNSBLV6_OK);
		CHECK(signers_of_dnskeys(z.path) == both);
		REQUIRE(z.set.dnskey_count == 2);
		CHECK_FALSE(z.set.dnskeys[1].is_given);
		CHECK(z.set.dnskeys[1].signature_s > 1800000000 + 12 * 86400);
		CHECK(z.set.dnskeys[1].signature_s < 1800000000 + 15 * 86400);
	}
	z.keys = { next.handle };
	REQUIRE(z.write(1800000000 + 21 * 86400) == DNSBLV6_OK);
	const std::vector<unsigned> swapped = { key_tag(next.handle), key_tag(active.handle) };
	CHECK(signers_of_dnskeys(z.path) == swapped);
}

TEST_CASE("the DNSKEY records do not change unless each that stays can sign them",
	  "[zone-tools][keyset]")
{
	signing_key active;
	signing_key next;
	signing_key third;
	zone z;
	z.keys = { active.handle, next.handle };
	z.add("192.0.2.1", z.value(0x7f000002, ""));
	REQUIRE(z.write(1800000000) == DNSBLV6_OK);
	const auto before = records_of(z.path);
	SECTION("a third key")
	{
		z.keys = { active.handle, third.handle };
		CHECK(z.write(1800000060) == KEYSET_EKEYS);
	}
	SECTION("another TTL")
	{
		z.keys = { active.handle };
		z.about.ttl = 60;
		CHECK(z.write(1800000060) == KEYSET_EKEYS);
	}
	SECTION("a key withdrawn while it signs, or is given, or is not there")
	{
		z.keys = { next.handle };
		z.withdrawn = { active.handle };
		CHECK(z.write(1800000060) == KEYSET_EACTIVE);
		z.keys = { next.handle, active.handle };
		CHECK(z.write(1800000060) == KEYSET_EGIVEN);
		z.withdrawn = { third.handle };
		CHECK(z.write(1800000060) == KEYSET_EABSENT);
	}
	char text[KEYSET_TEXT_SIZE];
	keyset_describe(&z.set, KEYSET_EKEYS, text);
	CHECK(std::string(text).rfind("published=" + std::to_string(key_tag(active.handle)) + "," +
					      std::to_string(key_tag(next.handle)) + " given=",
				      0) == 0);
	CHECK(records_of(z.path) == before);
}

TEST_CASE("an option to change keys at once takes none away that need not go",
	  "[zone-tools][keyset]")
{
	signing_key active;
	signing_key next;
	signing_key other;
	zone z;
	z.may_unsign = true;
	z.keys = { active.handle, next.handle };
	z.add("192.0.2.1", z.value(0x7f000002, ""));
	REQUIRE(z.write(1800000000) == DNSBLV6_OK);
	z.keys = { active.handle };
	REQUIRE(z.write(1800000060) == DNSBLV6_OK);
	CHECK(z.set.dnskey_count == 2);
	z.keys = { other.handle };
	REQUIRE(z.write(1800000120) == DNSBLV6_OK);
	CHECK(z.set.dnskey_count == 1);
}

TEST_CASE("an unsigned store is not signed by accident", "[zone-tools][resign]")
{
	signing_key active;
	keyset set = keyset_of({ active.handle });
	zone z;
	z.add("192.0.2.1", z.value(0x7f000002, ""));
	REQUIRE(z.write(1800000000) == DNSBLV6_OK);
	resign_job job = {};
	resign_result result = {};
	job.path = z.path.c_str();
	job.keyset = &set;
	job.lifetime_s = SIGNER_LIFETIME_S;
	job.now_s = 1800000060;
	CHECK(resign_store(&job, &result) == KEYSET_EUNSIGNED);
	set.may_replace = true;
	REQUIRE(resign_store(&job, &result) == DNSBLV6_OK);
	CHECK(result.signature_count >= 2 * result.record_count);
}

TEST_CASE("whatever stands between flat names, the chain is in the order of the keys",
	  "[zone-tools][builder]")
{
	auto style = GENERATE(DNSBLV6_STYLE_FLAT, DNSBLV6_STYLE_DOTTED);
	auto server = GENERATE("ns1.bl6.example.", "dns.bl6.example.", "cafe.bl6.example.",
			       "zzz.bl6.example.");
	signing_key active;
	zone z;
	z.about.style = style;
	z.about.ns[0] = server;
	z.about.glue[0] = { 0, prefix("192.0.2.53").first };
	z.about.glue_count = 1;
	z.keys = { active.handle };
	uint32_t number = z.value(0x7f000002, "");
	for (const char *where : { "9.9.9.9", "159.224.97.1", "160.1.2.3", "202.254.1.1",
				   "203.0.113.7", "222.1.1.1", "2001:db8::/64" }) {
		z.add(where, number);
		z.add(where, number, "dialups");
		z.add(where, number, "cafe-list");
		z.add(where, number, "deep.dialups");
	}
	REQUIRE(z.write(1800000000) == DNSBLV6_OK);
	CHECK(z.result.signature_count == 2 * z.result.record_count + 2);
	CHECK(records_of(z.path).size() == z.result.record_count);
}

TEST_CASE("a zone whose block names would be too long is refused", "[zone-tools][builder]")
{
	zone z;
	std::string label(63, 'a');
	z.about.zone =
		labels((label + "." + label + "." + label + "." + std::string(61, 'b')).c_str());
	z.add("192.0.2.1", z.value(0x7f000002, ""));
	CHECK(z.write() == DNSBLV6_ENAMESIZE);
	z.about.zone =
		labels((label + "." + label + "." + label + "." + std::string(36, 'b')).c_str());
	CHECK(z.write() == DNSBLV6_OK);
}

TEST_CASE("a signature is not kept for another key of the same tag", "[zone-tools][chain]")
{
	// Keys with equal tags are rare; that no old key is known is the same case.
	signing_key active;
	signing_key other;
	zone z;
	z.keys = { active.handle };
	z.may_unsign = true;
	z.add("192.0.2.1", z.value(0x7f000002, ""));
	REQUIRE(z.write(1800000000) == DNSBLV6_OK);
	uint64_t all = z.result.signature_count;
	z.keys = { other.handle };
	REQUIRE(z.write(1800000060) == DNSBLV6_OK);
	CHECK(z.result.signature_count == all);
}
