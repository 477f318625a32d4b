// SPDX-License-Identifier: GPL-3.0-or-later
#include "server/zone/catalog.h"
#include "server/control/totals.h"
#include "tests/lib/child.hh"
#include "tests/unit/server/fixture.hh"
#include "tests/lib/seeds.hh"

#include <catch2/catch.hpp>

#include <poll.h>

static const bytes apex_wire = dns::name("bl6.example.");

// A zone over a store that is written first.
struct open_zone {
	tmpdir directory;
	std::string path = directory.file("bl6.mdb");
	zone value;

	explicit open_zone(const store_options &options = {})
	{
		write_store(path, options);
		zone_init(&value, apex_wire.data(), apex_wire.size(), path.c_str());
	}
	~open_zone()
	{
		zone_close(&value);
	}
};

TEST_CASE("a zone that was never opened has a status and can be closed", "[server][zone]")
{
	zone value;
	zone_init(&value, apex_wire.data(), apex_wire.size(), "/nonexistent");
	CHECK(zone_begin(&value) != 0);
	zone_end(&value);
	CHECK(zone_open(&value) == -ENOENT);
	CHECK(value.status == -ENOENT);
	zone_close(&value);
	zone_close(&value);
}

TEST_CASE("a store of another zone is refused", "[server][zone]")
{
	store_options options;
	options.apex = "other.example.";
	open_zone zone(options);
	CHECK(zone_open(&zone.value) == ZONE_EAPEX);
	CHECK(zone.value.reader == nullptr);
	CHECK(std::string(zone_strerror(ZONE_EAPEX)) == "store of another zone");
}

TEST_CASE("the next begin sees the newest version, and what is kept of it", "[server][zone]")
{
	open_zone zone;
	REQUIRE(zone_open(&zone.value) == 0);
	REQUIRE(zone_begin(&zone.value) == 0);
	CHECK(zone.value.facts.serial == 7);
	CHECK(zone.value.origin_count == 3);
	CHECK(zone.value.negative_ttl == 600);
	store_options next;
	next.serial = 8;
	child writer([&] {
		write_store(zone.path, next);
		return 0;
	});
	REQUIRE(writer.wait() == 0);
	CHECK(zone_begin(&zone.value) == 0); // still the same
	CHECK(zone.value.facts.serial == 7);
	zone_end(&zone.value);
	REQUIRE(zone_begin(&zone.value) == 0);
	CHECK(zone.value.facts.serial == 8);
	CHECK(zone.value.origin_count == 3);
}

TEST_CASE("a store says when its lists were written, or nothing of that", "[server][zone]")
{
	store_options options;
	options.more = [](store_writer &out) { out.lists_time({ 0, 0, 0, 0, 0, 0, 1, 2 }); };
	open_zone zone(options);
	REQUIRE(zone_open(&zone.value) == 0);
	CHECK(zone.value.lists_s == 258);
	child writer([&] {
		write_store(zone.path);
		return 0;
	});
	REQUIRE(writer.wait() == 0);
	REQUIRE(zone_begin(&zone.value) == 0);
	CHECK(zone.value.lists_s == 0);
	CHECK_FALSE(zone.value.is_age_lost);
	zone_end(&zone.value);

	options.more = [](store_writer &out) { out.lists_time({ 1, 2 }); };
	open_zone damaged(options);
	CHECK(zone_open(&damaged.value) == 0); // no answer needs it
	CHECK(damaged.value.lists_s == 0);
	CHECK(damaged.value.is_age_lost);
}

TEST_CASE("times of files of a store go with its version, and damaged ones hinder nothing",
	  "[server][zone]")
{
	const bytes row = { 0, 0, 0, 0, 0, 0, 1, 2, 1, 'a' };
	store_options options;
	options.more = [&row](store_writer &out) { out.list_files(row); };
	open_zone zone(options);
	REQUIRE(zone_open(&zone.value) == 0);
	CHECK(bytes(zone.value.files, zone.value.files + zone.value.files_size) == row);
	child writer([&] {
		write_store(zone.path);
		return 0;
	});
	REQUIRE(writer.wait() == 0);
	REQUIRE(zone_begin(&zone.value) == 0);
	CHECK(zone.value.files_size == 0);
	zone_end(&zone.value);

	options.more = [](store_writer &out) {
		out.list_files(bytes(DNSBLV6_LIST_FILES_MAX + 1, 'a'));
	};
	open_zone damaged(options);
	REQUIRE(zone_open(&damaged.value) == 0);
	CHECK(damaged.value.files_size == 0);
}

TEST_CASE("the longest sub-zone is found at borders between labels only", "[server][zone]")
{
	open_zone zone;
	REQUIRE(zone_open(&zone.value) == 0);
	auto origin = [&](const std::string &name, size_t *rest, bool *is_above) {
		dnsblv6_labels asked = labels(name);
		return zone_find_origin(&zone.value, asked.wire, asked.size, rest, is_above);
	};
	size_t rest = 0;
	bool is_above = false;
	CHECK(origin("1.2.0.192", &rest, &is_above) == 0);
	CHECK(rest == 10);
	CHECK(origin("1.2.0.192.sub", &rest, &is_above) == 1);
	CHECK(rest == 10);
	CHECK(origin("sub", &rest, &is_above) == 1);
	CHECK(rest == 0);
	CHECK(origin("1.xsub", &rest, &is_above) == 0);
	CHECK(origin("1.deep.er", &rest, &is_above) == 2);
	CHECK(rest == 2);
	CHECK_FALSE(is_above);
	CHECK(origin("er", &rest, &is_above) == 0);
	CHECK(is_above);
}

TEST_CASE("a zone knows its apex, whatever the case", "[server][zone]")
{
	zone value;
	zone_init(&value, apex_wire.data(), apex_wire.size(), "unused");
	dnsblv6_labels name = {};
	REQUIRE(dnsblv6_name_from_text("BL6.example.", &name) == DNSBLV6_OK);
	CHECK(zone_has_apex(&value, &name));
	REQUIRE(dnsblv6_name_from_text("bl7.example.", &name) == DNSBLV6_OK);
	CHECK_FALSE(zone_has_apex(&value, &name));
	REQUIRE(dnsblv6_name_from_text("example.", &name) == DNSBLV6_OK);
	CHECK_FALSE(zone_has_apex(&value, &name));
}

// ---- counters ----

TEST_CASE("the parts of all workers are added up", "[server][counters]")
{
	counters_bank bank;
	REQUIRE(counters_open(&bank, 3, 2, 4) == 0);
	for (size_t worker = 0; worker < 3; worker++) {
		counters part = counters_of_worker(&bank, worker);
		counters_count(&part.server[COUNTERS_SERVER_DROPPED]);
		for (size_t face = 0; face <= worker; face++)
			counters_count(&counters_of_face(&part, face)[COUNTERS_FACE_TCP]);
	}
	uint64_t server[COUNTERS_SERVER_COUNT] = {};
	uint64_t faces[4 * COUNTERS_FACE_COUNT] = {};
	counters sum = { server, faces };
	counters_add(&bank, &sum);
	CHECK(server[COUNTERS_SERVER_DROPPED] == 3);
	CHECK(counters_of_face(&sum, 0)[COUNTERS_FACE_TCP] == 3);
	CHECK(counters_of_face(&sum, 2)[COUNTERS_FACE_TCP] == 1);
	CHECK(counters_of_face(&sum, 3)[COUNTERS_FACE_TCP] == 0);
	counters_close(&bank);
}

TEST_CASE("a child's counts are seen by its parent and outlive it", "[server][counters]")
{
	counters_bank bank;
	REQUIRE(counters_open(&bank, 1, 1, 1) == 0);
	for (int i = 0; i < 2; i++) {
		child worker([&] {
			counters part = counters_of_worker(&bank, 0);
			for (int n = 0; n < 1000; n++)
				counters_count(&part.server[COUNTERS_SERVER_QUERIES]);
			return 0;
		});
		REQUIRE(worker.wait() == 0);
	}
	CHECK(counters_of_worker(&bank, 0).server[COUNTERS_SERVER_QUERIES] == 2000);
	counters_close(&bank);
}

TEST_CASE("a notice that repeats is logged once", "[server][counters]")
{
	counters_bank bank;
	REQUIRE(counters_open(&bank, 2, 2, 2) == 0);
	auto note = [&](size_t zone, int status) {
		return counters_note(&bank, zone, COUNTERS_NOTICE_STORE, status);
	};
	CHECK(note(0, -5));
	CHECK_FALSE(note(0, -5));
	CHECK(note(1, -5));
	CHECK(note(0, 7));
	CHECK(note(0, -5));
	// What was noted about a store is not about its signatures.
	CHECK_FALSE(counters_note(&bank, 0, COUNTERS_NOTICE_SIGNATURES, 0));
	CHECK(counters_note(&bank, 0, COUNTERS_NOTICE_SIGNATURES, -5));
	CHECK_FALSE(note(0, -5));
	counters_close(&bank);
}

TEST_CASE("counters are named in their line", "[server][counters]")
{
	uint64_t face[COUNTERS_FACE_COUNT] = { 10, 4, 3, 2, 1, 0, 5, 6, 7 };
	char text[COUNTERS_TEXT_MAX];
	counts_format(counters_face_labels, face, COUNTERS_FACE_COUNT, true, text, sizeof(text));
	CHECK(std::string(text) == "queries=10 noerror=4 nodata=3 nxdomain=2 servfail=1 refused=0 "
				   "truncated=5 tcp=6 expiring=7 transfers=0 transfers-failed=0");
	uint64_t server[COUNTERS_SERVER_COUNT];
	for (uint64_t &value : server)
		value = UINT64_MAX; // the longest there can be
	counts_format(counters_server_labels, server, COUNTERS_SERVER_COUNT, true, text,
		      sizeof(text));
	CHECK_THAT(std::string(text),
		   Catch::Matchers::StartsWith("queries=18446744073709551615 ") &&
			   Catch::Matchers::EndsWith("driver-no-room=18446744073709551615"));
}

TEST_CASE("a totals keeps what was counted under a name through generations", "[server][totals]")
{
	auto read = [](settings *value, const std::string &text) {
		conf_error error;
		REQUIRE(settings_parse(value, text.data(), text.size(), "/", &error) == 0);
	};
	settings before, after;
	read(&before, "zone:\n  - domain: a\n    store: a\n    classic: b\n");
	read(&after, "zone:\n  - domain: c\n    store: c\n  - domain: b\n    store: b\n");
	totals sum;
	totals_init(&sum);
	for (const settings *generation : { &before, &after }) {
		counters_bank bank;
		size_t faces = catalog_count_faces(generation);
		REQUIRE(counters_open(&bank, 1, generation->zone_count, faces) == 0);
		counters part = counters_of_worker(&bank, 0);
		counters_count(&part.server[COUNTERS_SERVER_NOTIMP]);
		for (size_t i = 0; i < faces; i++)
			counters_count(&counters_of_face(&part, i)[COUNTERS_FACE_NODATA]);
		REQUIRE(totals_add_bank(&sum, &bank, generation) == 0);
		counters_close(&bank);
	}
	totals copy;
	totals_init(&copy);
	REQUIRE(totals_add(&copy, &sum) == 0);
	CHECK(copy.server[COUNTERS_SERVER_NOTIMP] == 2);
	CHECK(totals_find(&copy, "a.")[COUNTERS_FACE_NODATA] == 1);
	CHECK(totals_find(&copy, "b.")[COUNTERS_FACE_NODATA] == 2);
	CHECK(totals_find(&copy, "c.")[COUNTERS_FACE_NODATA] == 1);
	CHECK(totals_find(&copy, "d.") == nullptr);
	totals_deinit(&copy);
	totals_deinit(&sum);
	settings_deinit(&before);
	settings_deinit(&after);
}

// ---- the index ----

static std::vector<std::string> random_names(randomness &random)
{
	// No wildcard is above a name: with an empty one the index is off.
	static const char *const labels[] = { "*", "0", "1", "a", "192", "x", "00" };
	std::set<std::string> names;
	while (names.size() < 200) {
		std::string name = labels[random.below(7)];
		for (unsigned more = 1 + random.below(4); more > 0; more--)
			name += std::string(".") + labels[1 + random.below(6)];
		names.insert(name + ".more");
	}
	return { names.begin(), names.end() };
}

static int find_entry(zone *of, const std::string &name, std::string *ret_key)
{
	dnsblv6_labels wire = labels(name);
	dnsblv6_key key;
	zone_entry entry;
	REQUIRE(dnsblv6_key_from_labels(wire.wire, wire.size, &key) == DNSBLV6_OK);
	int ret = zone_find_entry(of, &key, &entry);
	ret_key->clear();
	if (ret == DNSBLV6_OK)
		ret_key->assign(reinterpret_cast<const char *>(entry.key.data), entry.key.size);
	return ret;
}

TEST_CASE("the index knows what the store knows", "[server][zone][index]")
{
	auto seed = RANDOM_SEED(4);
	CAPTURE(seed);
	randomness rnd(static_cast<unsigned>(seed));
	store_options options;
	options.more_bitmaps = random_names(rnd);
	std::map<std::string, std::set<uint16_t>> known;
	options.names = &known;
	open_zone zone(options);
	REQUIRE(zone_open(&zone.value) == 0);
	std::vector<std::string> names;
	for (const auto &entry : known)
		names.push_back(entry.first);
	std::vector<std::string> asked;
	for (int i = 0; i < 5000; i++)
		asked.push_back(near_name(rnd, names));

	REQUIRE(zone_begin(&zone.value) == 0);
	REQUIRE_FALSE(zone.value.index.is_complete); // one end was not enough
	std::vector<std::pair<int, std::string>> by_store;
	for (const std::string &name : asked) {
		std::string key;
		int ret = find_entry(&zone.value, name, &key);
		by_store.emplace_back(ret, key);
	}
	for (int ends = 0; ends < 100; ends++) {
		zone_end(&zone.value);
		REQUIRE(zone_begin(&zone.value) == 0);
	}
	REQUIRE(zone.value.index.is_complete);
	for (size_t i = 0; i < asked.size(); i++) {
		CAPTURE(asked[i]);
		std::string key;
		CHECK(find_entry(&zone.value, asked[i], &key) == by_store[i].first);
		CHECK(key == by_store[i].second);
	}
	zone_end(&zone.value);
}

TEST_CASE("an index is complete at once when that is asked", "[server][zone][index]")
{
	randomness rnd(1);
	store_options options;
	options.more_bitmaps = random_names(rnd);
	std::map<std::string, std::set<uint16_t>> known;
	options.names = &known;
	open_zone zone(options);
	zone_prepare(&zone.value); // is not open
	CHECK_FALSE(zone.value.index.is_complete);
	REQUIRE(zone_open(&zone.value) == 0);
	CHECK_FALSE(zone.value.index.is_complete);
	zone_prepare(&zone.value);
	CHECK(zone.value.index.is_complete);
	CHECK_FALSE(zone.value.is_begun);
	REQUIRE(zone_begin(&zone.value) == 0);
	for (const auto &entry : known) {
		std::string key;
		CHECK(find_entry(&zone.value, entry.first, &key) == DNSBLV6_OK);
	}
	zone_end(&zone.value);
}

TEST_CASE("a new version begins a new index", "[server][zone][index]")
{
	open_zone zone;
	REQUIRE(zone_open(&zone.value) == 0);
	for (int ends = 0; ends < 3; ends++) {
		REQUIRE(zone_begin(&zone.value) == 0);
		zone_end(&zone.value);
	}
	REQUIRE(zone.value.index.is_complete);
	store_options next;
	next.more_bitmaps = { "0.9.9.9" };
	child writer([&] {
		write_store(zone.path, next);
		return 0;
	});
	REQUIRE(writer.wait() == 0);
	std::string key;
	REQUIRE(zone_begin(&zone.value) == 0);
	CHECK_FALSE(zone.value.index.is_complete);
	CHECK(find_entry(&zone.value, "0.9.9.9", &key) == DNSBLV6_OK);
	for (int ends = 0; ends < 3; ends++) {
		zone_end(&zone.value);
		REQUIRE(zone_begin(&zone.value) == 0);
	}
	CHECK(zone.value.index.is_complete);
	CHECK(find_entry(&zone.value, "0.9.9.9", &key) == DNSBLV6_OK);
	CHECK(find_entry(&zone.value, "1.9.9.9", &key) == DNSBLV6_ENOTFOUND);
	CHECK(find_entry(&zone.value, "9.9", &key) == ZONE_EMPTY);
	zone_end(&zone.value);
}

TEST_CASE("a store with a name below a wildcard is answered without the index",
	  "[server][zone][index]")
{
	store_options options;
	options.more_bitmaps = { "0.*.9" };
	open_zone zone(options);
	REQUIRE(zone_open(&zone.value) == 0);
	std::string key;
	for (int ends = 0; ends < 3; ends++) {
		REQUIRE(zone_begin(&zone.value) == 0);
		CHECK(find_entry(&zone.value, "x.9", &key) == ZONE_EMPTY);
		CHECK(find_entry(&zone.value, "0.x.9", &key) == ZONE_EMPTY);
		CHECK(find_entry(&zone.value, "0.*.9", &key) == DNSBLV6_OK);
		zone_end(&zone.value);
	}
	CHECK(zone.value.index.is_off);
}

TEST_CASE("a store that is too large for the index is answered without", "[server][zone][index]")
{
	struct index index = {};
	index_begin(&index, INDEX_SLOTS_MAX);
	CHECK(index.is_off);
	CHECK(index.slots == nullptr);
	index_begin(&index, 10);
	CHECK_FALSE(index.is_off);
	CHECK(index.slots != nullptr);
	index_deinit(&index);
}

TEST_CASE("an index that is too small for a version keeps nothing of those before",
	  "[server][index]")
{
	struct index index = {};
	index_begin(&index, 10);
	CHECK_FALSE(index.is_off);
	CHECK(index.slots != nullptr);
	index_begin(&index, INDEX_SLOTS_MAX);
	CHECK(index.is_off);
	CHECK(index.slots == nullptr);
	index_begin(&index, 10);
	CHECK_FALSE(index.is_off);
	CHECK(index.generation == 1);
	index_deinit(&index);
}
