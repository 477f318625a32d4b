// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/server/xdp-kernel/xdp_fixture.hh"
#include "tests/lib/seeds.hh"

#include <catch2/catch.hpp>

#include <algorithm>

// ---- reading lines as layout.h says, and by no other code ----

static std::array<uint64_t, XDP_KEY_WORDS> words_of(const dnsblv6_key &key)
{
	std::array<uint64_t, XDP_KEY_WORDS> out = {};
	for (size_t i = 0; i < XDP_KEY_MAX; i++)
		out[i / 8] = out[i / 8] << 8 | (i < key.size ? key.bytes[i] : 0);
	return out;
}

static const xdp_line &line_at(const xdp_memory &memory, uint64_t where)
{
	return memory.native.lines[memory.current().first_line + where];
}

// Where the name of key is; 0 when it is not there. What lies in front of it must be full.
static uint32_t find(const xdp_memory &memory, const dnsblv6_key &key)
{
	const auto words = words_of(key);
	const uint64_t hash = xdp_hash(words.data());
	for (unsigned probe = 0; probe < XDP_PROBES_MAX; probe++) {
		uint64_t at = (hash + probe) & (memory.current().bucket_count - 1);
		for (const xdp_slot &slot : line_at(memory, at).u.bucket.slots) {
			if (slot.where == 0)
				return 0;
			const xdp_name &name = line_at(memory, slot.where).u.name;
			if (slot.tag == hash >> 32 &&
			    std::equal(words.begin(), words.end(), name.key))
				return slot.where;
		}
	}
	return 0;
}

static uint32_t links_begin(const xdp_memory &memory)
{
	return memory.current().bucket_count;
}

static uint32_t stride_of(const xdp_version &version)
{
	return version.flags & XDP_ZONE_SIGNED ? XDP_SIGNED_STRIDE : XDP_UNSIGNED_STRIDE;
}

static uint32_t empties_begin(const xdp_memory &memory)
{
	const xdp_version &version = memory.current();
	return version.bucket_count + version.link_count * stride_of(version);
}

static uint32_t orders_begin(const xdp_memory &memory)
{
	return empties_begin(memory) + memory.current().empty_count;
}

static uint32_t order_count(const xdp_memory &memory)
{
	const xdp_version &version = memory.current();
	const bool is_signed = (version.flags & XDP_ZONE_SIGNED) != 0;
	return is_signed ? (version.link_count + XDP_ORDER_LINKS - 1) / XDP_ORDER_LINKS : 0;
}

static bool is_canonically_less(const label_list &a, const label_list &b)
{
	const dnsblv6_key left = key_of(a);
	const dnsblv6_key right = key_of(b);
	return dnsblv6_key_compare(left.bytes, left.size, right.bytes, right.size) < 0;
}

struct filled {
	std::map<std::string, std::set<uint16_t>> known;
	decision server;
	xdp_memory memory;

	explicit filled(store_options options) : server(remember(options, known))
	{
	}
	zone *open_zone()
	{
		return &server.catalog.zones[0];
	}
	// Names with data in their order.
	std::vector<label_list> chain() const
	{
		std::vector<label_list> out;
		for (const auto &entry : known)
			out.push_back(split(labels(entry.first)));
		std::sort(out.begin(), out.end(), is_canonically_less);
		return out;
	}

      private:
	static store_options &remember(store_options &options,
				       std::map<std::string, std::set<uint16_t>> &known)
	{
		options.names = &known;
		return options;
	}
};

// ---- names ----

TEST_CASE("every name that can be asked for is found by its hash, and no other", "[xdp][fill]")
{
	auto style = GENERATE(DNSBLV6_STYLE_DOTTED, DNSBLV6_STYLE_FLAT, DNSBLV6_STYLE_BOTH6);
	auto is_signed = GENERATE(false, true);
	CAPTURE(style, is_signed);
	filled zone(odd_store(style, is_signed));
	REQUIRE(zone.memory.fill(zone.open_zone()) == FILL_OK);
	const std::vector<label_list> chain = zone.chain();
	size_t empty_count = 0;
	for (const label_list &name : all_names(zone.known)) {
		const dnsblv6_key key = key_of(name);
		auto link = std::find(chain.begin(), chain.end(), name);
		CAPTURE(name);
		if (key.size > XDP_ASKED_KEY_MAX)
			continue;
		const uint32_t where = find(zone.memory, key);
		REQUIRE(where != 0);
		const xdp_name &found = line_at(zone.memory, where).u.name;
		CHECK(found.key_size == (name.empty() ? 0 : key.size));
		const auto index = static_cast<uint32_t>(link - chain.begin());
		if (link != chain.end()) {
			CHECK(where ==
			      links_begin(zone.memory) + index * stride_of(zone.memory.current()));
			CHECK(found.kind != XDP_KIND_EMPTY);
			continue;
		}
		empty_count++;
		CHECK(found.kind == XDP_KIND_EMPTY);
		CHECK(where >= empties_begin(zone.memory));
		auto behind =
			std::upper_bound(chain.begin(), chain.end(), name, is_canonically_less);
		CHECK(found.u.before == static_cast<uint32_t>(behind - chain.begin()) - 1);
		label_list other = name;
		other.insert(other.begin(), bytes{ 'q', 'q' });
		if (key_of(other).size <= XDP_ASKED_KEY_MAX)
			CHECK(find(zone.memory, key_of(other)) == 0);
	}
	CHECK(empty_count == zone.memory.current().empty_count);
	CHECK(empty_count > 10);
	CHECK(zone.memory.current().link_count == chain.size());
	CHECK(zone.memory.current().first_hosts ==
	      orders_begin(zone.memory) + order_count(zone.memory));
	CHECK(zone.memory.line_count ==
	      zone.memory.current().first_hosts + zone.memory.current().hosts_count);
}

TEST_CASE("orders have the first word of the key of each link", "[xdp][fill]")
{
	filled zone(odd_store(DNSBLV6_STYLE_DOTTED, true));
	REQUIRE(zone.memory.fill(zone.open_zone()) == FILL_OK);
	const xdp_version &version = zone.memory.current();
	const xdp_line *lines = zone.memory.native.lines + version.first_line;
	for (uint32_t i = 0; i < version.link_count; i++) {
		const xdp_line &link = lines[links_begin(zone.memory) + i * XDP_SIGNED_STRIDE];
		const xdp_line &line = lines[orders_begin(zone.memory) + i / XDP_ORDER_LINKS];
		CHECK(line.u.order.first[i % XDP_ORDER_LINKS] == link.u.name.key[0]);
	}
}

TEST_CASE("links have the names in canonical order, with their bitmaps", "[xdp][fill]")
{
	auto is_signed = GENERATE(false, true);
	filled zone(odd_store(DNSBLV6_STYLE_DOTTED, is_signed));
	REQUIRE(zone.memory.fill(zone.open_zone()) == FILL_OK);
	const xdp_version &version = zone.memory.current();
	CHECK(stride_of(version) == (is_signed ? XDP_SIGNED_STRIDE : XDP_UNSIGNED_STRIDE));
	const uint8_t full[16] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
				   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	uint32_t where = links_begin(zone.memory);
	for (const label_list &name : zone.chain()) {
		const xdp_name &found = line_at(zone.memory, where).u.name;
		const auto words = words_of(key_of(name));
		const bytes wire = join(name);
		CAPTURE(name, where);
		CHECK(std::equal(words.begin(), words.end(), found.key));
		CHECK(((found.flags & XDP_NAME_LONG) != 0) == (wire.size() > XDP_NAME_MAX));
		if ((found.flags & XDP_NAME_LONG) == 0)
			CHECK(found.name_size == wire.size());
		if (wire == join(split(labels("*.100.51.198"))))
			CHECK(memcmp(found.u.bitmap, full, sizeof(full)) == 0);
		if (is_signed && (found.flags & XDP_NAME_LONG) == 0) {
			const xdp_signed &rest =
				line_at(zone.memory, where + XDP_LINE_SIGNED).u.rest;
			CHECK(memcmp(rest.name, wire.data(), wire.size()) == 0);
			CHECK((found.flags & XDP_NSEC_OTHER) == 0);
		}
		where += stride_of(version);
	}
}

// What is read of it must not depend on what was in the memory before.
static std::vector<uint64_t> lines_of(const xdp_memory &memory)
{
	const auto *words = reinterpret_cast<const uint64_t *>(memory.native.lines +
							       memory.current().first_line);
	return { words, words + memory.line_count * size_t{ XDP_LINE_SIZE / 8 } };
}

TEST_CASE("lines are the same whatever steps are made, and whatever was in their place",
	  "[xdp][fill]")
{
	auto is_signed = GENERATE(false, true);
	filled zone(odd_store(DNSBLV6_STYLE_BOTH, is_signed));
	REQUIRE(zone.memory.fill(zone.open_zone(), 0, false, 1) == FILL_OK);
	const std::vector<uint64_t> first = lines_of(zone.memory);
	xdp_version version = zone.memory.current();
	for (size_t step : { 2U, 100U, 1000000U }) {
		REQUIRE(zone.memory.fill(zone.open_zone(), 0, false, step) == FILL_OK);
		CHECK((lines_of(zone.memory) == first));
		version.first_line = zone.memory.current().first_line;
		CHECK(memcmp(&version, &zone.memory.current(), sizeof(version)) == 0);
	}
}

static store_options flat_blocks(unsigned count)
{
	store_options options;
	options.style = DNSBLV6_STYLE_FLAT;
	for (unsigned i = 0; i < count; i++) {
		char name[16];
		snprintf(name, sizeof(name), "%06x%c", i * 37, i % 2 != 0 ? '8' : '0');
		options.more_bitmaps.emplace_back(name);
	}
	return options;
}

TEST_CASE("names are found at every load that buckets have", "[xdp][fill]")
{
	auto count = GENERATE(5U, 60U, 750U, 1525U, 6130U);
	CAPTURE(count);
	filled zone(flat_blocks(count));
	REQUIRE(zone.memory.fill(zone.open_zone(), 0, false, 1000) == FILL_OK);
	size_t missing = 0;
	for (const label_list &name : all_names(zone.known))
		missing += find(zone.memory, key_of(name)) == 0;
	CHECK(missing == 0);
	const xdp_version &version = zone.memory.current();
	CHECK((version.link_count + version.empty_count) * 8 <= version.bucket_count * 6 * 8);
}

TEST_CASE("a zone whose names have one hash stays with the sockets", "[xdp][fill]")
{
	store_options options;
	options.style = DNSBLV6_STYLE_FLAT;
	const uint64_t bucket_mask = 15;
	for (unsigned i = 0; options.more_bitmaps.size() < 40; i++) {
		char name[16];
		snprintf(name, sizeof(name), "%06x0", i);
		const auto words = words_of(key_of(split(labels(name))));
		if ((xdp_hash(words.data()) & bucket_mask) == 3)
			options.more_bitmaps.emplace_back(name);
	}
	filled zone(options);
	CHECK(zone.memory.fill(zone.open_zone()) == FILL_CROWDED);
	CHECK(zone.memory.zone().until_ns == 0);
}

// ---- the version ----

TEST_CASE("the version has what answers need of the zone", "[xdp][fill]")
{
	auto is_signed = GENERATE(false, true);
	filled zone(odd_store(DNSBLV6_STYLE_FLAT, is_signed));
	REQUIRE(zone.memory.fill(zone.open_zone(), 0, true) == FILL_OK);
	const xdp_version &version = zone.memory.current();
	CHECK(version.ttl == 2100);
	CHECK(version.negative_ttl == 600);
	CHECK(version.apex_size == 13);
	CHECK(memcmp(version.apex, "\3bl6\7example", 13) == 0);
	CHECK(version.algorithm == (is_signed ? 13 : 0));
	CHECK(version.flags ==
	      (XDP_ZONE_WILDCARDS | (is_signed ? XDP_ZONE_SIGNED | XDP_ZONE_NEIGHBOURS : 0)));
	// The owner, and the ends of both names; behind them the owner of the RRSIG.
	const uint16_t pointers[] = { 0, 12 + 4, 12 + 6 + 11, version.soa_size };
	CHECK(std::equal(pointers, pointers + 3, version.soa_pointers));
	CHECK(version.soa_size == 12 + 6 + 13 + 20);
	if (is_signed) {
		CHECK(version.soa_pointers[3] == version.soa_size);
		CHECK(version.soa_signed_size == version.soa_size + 12 + 18 + 13 + 64);
	} else {
		CHECK(version.soa_pointers[3] == 0xffff);
		CHECK(version.soa_signed_size == version.soa_size);
	}
}

TEST_CASE("a zone without wildcards is known to have none", "[xdp][fill]")
{
	store_options options;
	options.style = DNSBLV6_STYLE_FLAT;
	options.more_bitmaps =
		GENERATE(std::vector<std::string>{}, std::vector<std::string>{ "x*" },
			 std::vector<std::string>{ "*" }, std::vector<std::string>{ "a.*.b" });
	const bool is_wild = !options.more_bitmaps.empty() && options.more_bitmaps[0] != "x*";
	filled zone(options);
	REQUIRE(zone.memory.fill(zone.open_zone()) == FILL_OK);
	CHECK(((zone.memory.current().flags & XDP_ZONE_WILDCARDS) != 0) == is_wild);
}

TEST_CASE("proofs that the program would make otherwise are marked", "[xdp][fill]")
{
	store_options options;
	options.is_signed = true;
	options.more = [](store_writer &out) {
		// A type beyond those that there is room for.
		out.rrs("srv", { { 99, 60, { 1, 'x' } } });
	};
	options.unsigned_names = { "ns2" };
	filled zone(options);
	REQUIRE(zone.memory.fill(zone.open_zone()) == FILL_OK);
	auto flags = [&](const std::string &name) {
		return line_at(zone.memory, find(zone.memory, key_of(split(labels(name)))))
			.u.name.flags;
	};
	CHECK(flags("srv") == XDP_NSEC_OTHER);
	CHECK(flags("ns2") == XDP_NSEC_OTHER);
	CHECK(flags("ns1") == 0);
	CHECK(flags("") == 0);
	CHECK(flags("0.2.0.192") == 0);
}

// ---- reasons ----

TEST_CASE("a zone that cannot be here stays with the sockets, for a reason", "[xdp][fill]")
{
	store_options options;
	const auto expected = GENERATE(FILL_CLASSIC, FILL_CLIENTS, FILL_UNSIGNED,
				       FILL_TWO_ALGORITHMS, FILL_DAMAGED, FILL_OK);
	CAPTURE(fill_reason_text(expected));
	options.is_signed = expected != FILL_OK;
	if (expected == FILL_CLASSIC)
		options.style = DNSBLV6_STYLE_CLASSIC;
	if (expected == FILL_UNSIGNED)
		options.unsigned_names = { "0.2.0.192" };
	options.is_signed_twice = expected == FILL_TWO_ALGORITHMS;
	options.more = [&](store_writer &out) {
		if (expected == FILL_CLIENTS)
			out.segment(DNSBLV6_ORIGIN_ACL, "192.0.2.1", "192.0.2.9", 1);
		const uint8_t cut[5] = { DNSBLV6_RECORD_BITMAP };
		if (expected == FILL_DAMAGED)
			out.record("cut", cut, sizeof(cut));
	};
	filled zone(options);
	CHECK(zone.memory.fill(zone.open_zone()) == expected);
	CHECK((zone.memory.zone().until_ns == 0) == (expected != FILL_OK));
}

TEST_CASE("a zone whose store was found damaged stays with the sockets, though it can be read",
	  "[xdp][fill]")
{
	filled zone({});
	struct zone *found = zone.open_zone();
	found->damage = STORE_ECORRUPT;
	CHECK(zone.memory.fill(found) == FILL_DAMAGED);
	found->damage = 0;
	CHECK(zone.memory.fill(found) == FILL_OK);
}

TEST_CASE("names of the zone that are too long for the program are a reason", "[xdp][fill]")
{
	store_options options;
	const std::string label(40, 'x');
	tmpdir directory;
	std::string path = directory.file("store");
	options.apex = GENERATE(as<std::string>{},
				"0123456789012345678901234567890123456789.0123456789012345678901.",
				"0123456789012345678901234567890123456789.012345678901234567890.");
	write_store(path, options);
	decision server("zone:\n  - domain: " + options.apex + "\n    store: " + path + "\n",
			directory);
	xdp_memory memory;
	CHECK(memory.fill(&server.catalog.zones[0]) ==
	      (options.apex.size() + 1 > XDP_APEX_MAX ? FILL_APEX : FILL_OK));
}

TEST_CASE("a zone that changes between steps is given up", "[xdp][fill]")
{
	filled zone(odd_store(DNSBLV6_STYLE_DOTTED, true));
	auto is_counting = GENERATE(false, true);
	auto is_changed = GENERATE(false, true);
	CAPTURE(is_counting, is_changed);
	struct zone *open = zone.open_zone();
	struct fill fill;
	tables_place place;
	auto change = [&] {
		zone_end(open);
		store_options other = odd_store(DNSBLV6_STYLE_DOTTED, true);
		other.serial = 8;
		if (is_changed)
			write_elsewhere(zone.server.path(), other);
		REQUIRE(zone_begin(open) == 0);
	};
	REQUIRE(zone_begin(open) == 0);
	fill_begin(&fill, open, false);
	REQUIRE(fill_count(&fill, 5));
	if (is_counting)
		change();
	while (fill_count(&fill, 5))
		continue;
	if (fill.reason == FILL_OK) {
		REQUIRE(tables_reserve(&zone.memory.tables, 0, fill.line_count, &place) == 0);
		fill_place(&fill, &place);
		REQUIRE(fill_write(&fill, 5));
		if (!is_counting)
			change();
		while (fill_write(&fill, 5))
			continue;
	}
	CHECK(fill.reason == (is_changed ? FILL_CHANGED : FILL_OK));
	zone_end(open);
	fill_begin(&fill, open, false);
	CHECK(fill.reason == FILL_CLOSED);
	CHECK_FALSE(fill_count(&fill, 5));
}

TEST_CASE("every reason has a text of its own", "[xdp][fill]")
{
	std::set<std::string> texts;
	for (int reason = FILL_OK; reason <= FILL_CROWDED; reason++)
		texts.insert(fill_reason_text(static_cast<fill_reason>(reason)));
	CHECK(texts.size() == FILL_CROWDED + 1);
}
