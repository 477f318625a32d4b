// SPDX-License-Identifier: GPL-3.0-or-later
#include "zone-tools/chain/updater.h"
#include "zone-tools/chain/chain.h"

#include "zone-tools/records/before.h"
#include "zone-tools/chain/builder.h"
#include "zone-tools/lists/changes.h"
#include "zone-tools/records/recorder.h"
#include "zone-tools/chain/region.h"

#include "lib/store/history.h"
#include "lib/store/tables.h"
#include "tests/lib/fault.hh"
#include "tests/lib/stores.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace
{
using words = std::vector<std::string>;

dnsblv6_prefix prefix(const std::string &text)
{
	dnsblv6_prefix result = {};
	REQUIRE(dnsblv6_prefix_parse(text.data(), text.size(), &result) == DNSBLV6_OK);
	return result;
}

std::string text_of(dnsblv6_prefix where)
{
	char text[DNSBLV6_PREFIX_TEXT_SIZE];
	dnsblv6_prefix_format(where, text);
	return text;
}

dnsblv6_labels labels(const char *text)
{
	dnsblv6_labels result = {};
	REQUIRE(dnsblv6_name_from_text(text, &result) == DNSBLV6_OK);
	return result;
}

// What "+192.0.2.1 -10.0.0.0/8" means, one word each, and what was said about it.
struct changes {
	pieces result = {};
	findings found = {};
	int status;

	explicit changes(const words &said, const char *except = nullptr)
	{
		std::vector<change_source> sources;
		uint64_t written_s = 0;
		for (const auto &word : said)
			sources.push_back({ word.c_str() + 1, word[0] == '-' });
		sources_options options = {};
		options.allow_reserved = true;
		if (except != nullptr)
			REQUIRE(sources_add_except(&options, except));
		found.stream = open_memstream(&text_, &text_size_);
		found.limit = UINT64_MAX;
		status = changes_read(sources.data(), sources.size(), &options, &found, &result,
				      &written_s);
	}
	~changes()
	{
		pieces_deinit(&result);
		fclose(found.stream);
		free(text_);
	}
	changes(const changes &) = delete;

	// "+first-last" and "-first-last".
	words text() const
	{
		words out;
		for (size_t i = 0; i < result.count; i++) {
			const auto &piece = result.items[i];
			char first[DNSBLV6_ADDR_TEXT_SIZE];
			char last[DNSBLV6_ADDR_TEXT_SIZE];
			dnsblv6_addr_format(piece.first, first);
			dnsblv6_addr_format(piece.last, last);
			const char *sign = piece.set == PIECES_ADDED	 ? "+"
					   : piece.set == PIECES_REMOVED ? "-"
									 : "?";
			out.push_back(std::string(sign) + first + "-" + last);
		}
		return out;
	}

      private:
	char *text_ = nullptr;
	size_t text_size_ = 0;
};

// A store with a list of its own, and what is done to it.
struct zone {
	tmpdir dir;
	std::string path = dir.path() + "/bl6.mdb";
	key *signing = nullptr;
	uint64_t now_s = 1800000000;
	updater_result result = {};
	guard_limits limits = { 100, 4000000000u, 100, UINT32_MAX };

	explicit zone(const words &listed, bool is_signed = false,
		      dnsblv6_style style = DNSBLV6_STYLE_DOTTED)
	{
		listing list = {};
		plan made = {};
		spec about = {};
		dataset *set = nullptr;
		if (is_signed)
			REQUIRE(key_generate(KEY_ECDSAP256SHA256, &signing) == DNSBLV6_OK);
		REQUIRE(listing_init(&list) == DNSBLV6_OK);
		REQUIRE(listing_add_dataset(&list, DUPLICATE_ALL, &set) == DNSBLV6_OK);
		REQUIRE(listing_connect(&list, 0) == DNSBLV6_OK);
		dnsblv6_value value = {};
		value.a = 0x7f000002;
		value.ttl = 2100;
		uint32_t number = 0;
		REQUIRE(value_pool_add(&list.pool, &value, &number) == DNSBLV6_OK);
		for (const auto &where : listed)
			REQUIRE(dataset_add_entry(set, prefix(where), number) == DNSBLV6_OK);
		REQUIRE(plan_make(&list, &made) == DNSBLV6_OK);
		about.zone = labels("bl6.example");
		about.ns[0] = "ns1.example.net.";
		about.ns_count = 1;
		about.style = style;
		REQUIRE(spec_complete(&about, &list.zone) == nullptr);
		builder_job job = {};
		builder_result built = {};
		keyset given = {};
		given.keys[0] = signing;
		given.key_count = is_signed ? 1 : 0;
		job.path = path.c_str();
		job.plan = &made;
		job.listing = &list;
		job.spec = &about;
		job.keyset = &given;
		job.lifetime_s = SIGNER_LIFETIME_S;
		job.now_s = now_s;
		job.max_records = UINT32_MAX;
		REQUIRE(builder_write(&job, &built) == DNSBLV6_OK);
		plan_deinit(&made);
		listing_deinit(&list);
	}
	~zone()
	{
		key_free(signing);
	}
	zone(const zone &) = delete;

	int update(const words &said, findings *found = nullptr)
	{
		const changes wanted(said);
		REQUIRE(wanted.status == DNSBLV6_OK);
		return update(&wanted.result, found);
	}
	int update(const pieces *wanted, findings *found = nullptr)
	{
		findings silent = {};
		dnsblv6_labels apex = {};
		keyset set = {};
		set.keys[0] = signing;
		set.key_count = signing != nullptr ? 1 : 0;
		set.may_not_add = true;
		updater_job job = {};
		job.path = path.c_str();
		job.changes = wanted;
		job.subzone = &apex;
		job.keyset = &set;
		job.lifetime_s = SIGNER_LIFETIME_S;
		job.now_s = now_s;
		job.max_records = UINT32_MAX;
		job.limits = &limits;
		job.findings = found != nullptr ? found : &silent;
		return updater_run(&job, &result);
	}
	table records() const
	{
		return read_table(path, STORE_RECORDS);
	}
	dnsblv6_facts facts() const
	{
		dnsblv6_facts out = {};
		const auto entries = read_table(path, STORE_FACTS);
		const auto &data = entries.at(DNSBLV6_FACT_ZONE);
		REQUIRE(dnsblv6_facts_decode(reinterpret_cast<const uint8_t *>(data.data()),
					     data.size(), &out) == DNSBLV6_OK);
		return out;
	}
};

std::string bytes_of(const uint8_t *data, size_t size)
{
	return { reinterpret_cast<const char *>(data), size };
}

// One change of a journal: its header, and key -> (before, after), each "record|next".
struct journal_change {
	struct state {
		std::string record;
		std::string next;
	};
	dnsblv6_change header = {};
	std::map<std::string, std::pair<state, state>> names;
	std::string first_key;

	static state state_of(const dnsblv6_name_state &stored)
	{
		return { bytes_of(stored.record, stored.record_size),
			 bytes_of(stored.next, stored.next_size) };
	}
	// back 0: the newest.
	explicit journal_change(const std::string &path, uint64_t back = 0)
	{
		const opened_reader opened(path);
		REQUIRE(opened.status() == STORE_OK);
		reader *r = opened.get();
		REQUIRE(reader_begin(r) == STORE_OK);
		uint64_t number = 0;
		REQUIRE(history_newest(r, &number) == STORE_OK);
		number -= back;
		REQUIRE(history_get(r, number, &header) == STORE_OK);
		history_names walk = {};
		walk.reader = r;
		walk.number = number;
		dnsblv6_name_change change;
		int ret;
		while ((ret = history_next_name(&walk, &change)) == DNSBLV6_OK) {
			const auto key = bytes_of(change.key, change.key_size);
			if (names.empty())
				first_key = key;
			CHECK(names.count(key) == 0);
			names[key] = { state_of(change.before), state_of(change.after) };
		}
		CHECK(ret == DNSBLV6_ENOTFOUND);
		reader_end(r);
	}
};

// The key behind each one, around the end to the apex.
std::string next_of(const table &records, const std::string &key)
{
	auto found = records.upper_bound(key);
	return found == records.end() ? std::string(1, '\0') : found->first;
}

// RFC 1995: what is deleted was there just so, and with what is added it is the new version.
void check_history(const table &old, const table &now, const journal_change &change, bool is_signed)
{
	table made = old;
	uint64_t added = 0;
	uint64_t removed = 0;
	for (const auto &[key, states] : change.names) {
		const auto &[before, after] = states;
		CHECK(before.record == (old.count(key) ? old.at(key) : ""));
		CHECK(after.record == (now.count(key) ? now.at(key) : ""));
		if (is_signed && !before.record.empty())
			CHECK(before.next == next_of(old, key));
		if (is_signed && !after.record.empty())
			CHECK(after.next == next_of(now, key));
		added += before.record.empty();
		removed += after.record.empty();
		if (after.record.empty())
			made.erase(key);
		else
			made[key] = after.record;
	}
	CHECK(made == now);
	CHECK(change.header.added_count == added);
	CHECK(change.header.removed_count == removed);
	CHECK(change.header.changed_count == change.names.size() - added - removed);
	for (const auto &[key, record] : now) {
		if (is_signed && old.count(key) && next_of(old, key) != next_of(now, key))
			CHECK(change.names.count(key) == 1);
	}
}
} // namespace

TEST_CASE("of two changes that hold an address the longer prefix decides", "[zone-tools][changes]")
{
	CHECK(changes({ "-192.0.2.0/29", "+192.0.2.4" }).text() ==
	      words{ "-192.0.2.0-192.0.2.3", "+192.0.2.4-192.0.2.4", "-192.0.2.5-192.0.2.7" });
	CHECK(changes({ "+192.0.2.4", "-192.0.2.0/29" }).text() ==
	      changes({ "-192.0.2.0/29", "+192.0.2.4" }).text());
	CHECK(changes({ "+2001:db8::/32", "+192.0.2.1", "+192.0.2.2" }).text() ==
	      words{ "+192.0.2.1-192.0.2.2",
		     "+2001:db8::-2001:db8:ffff:ffff:ffff:ffff:ffff:ffff" });
}

TEST_CASE("the same prefix added and removed is refused, and an identical one is not",
	  "[zone-tools][changes]")
{
	const changes contradiction({ "+192.0.2.4", "-192.0.2.4" });
	CHECK(contradiction.status == DNSBLV6_OK);
	CHECK(contradiction.found.refusal_count == 1);
	CHECK(changes({ "+192.0.2.4", "+192.0.2.4" }).found.refusal_count == 0);
}

TEST_CASE("what is excepted is removed, of both families, whether a change speaks of it or not",
	  "[zone-tools][changes]")
{
	tmpdir dir;
	const std::string own = dir.path() + "/own";
	const words all = { "-192.0.2.0-192.0.2.7", "-198.51.100.0-198.51.100.0",
			    "-2001:db8::-2001:db8:0:ffff:ffff:ffff:ffff:ffff" };
	std::ofstream(own) << "192.0.2.0/29\n198.51.100.0\n2001:db8::/48\n";
	CHECK(changes({}, own.c_str()).text() == all);
	CHECK(changes({ "+192.0.2.4", "-198.51.100.0", "+2001:db8:0:9::/64" }, own.c_str())
		      .text() == all);
	CHECK(changes({ "+192.0.2.0/28", "-198.51.100.1", "+2001:db8::/47" }, own.c_str()).text() ==
	      words{ all[0], "+192.0.2.8-192.0.2.15", "-198.51.100.0-198.51.100.1", all[2],
		     "+2001:db8:1::-2001:db8:1:ffff:ffff:ffff:ffff:ffff" });
}

TEST_CASE("pieces change where they are told to, and keep their sets elsewhere",
	  "[zone-tools][resolve]")
{
	const unsigned seed = std::random_device{}();
	CAPTURE(seed);
	std::mt19937 random(seed);
	const auto base = dnsblv6_addr_from_ipv4(0xc0000200);
	for (int round = 0; round < 300; round++) {
		std::vector<uint32_t> before(64);
		std::vector<uint32_t> wanted(64);
		for (uint32_t &set : before)
			set = random() % 3 ? 0 : 5 + random() % 2;
		for (size_t i = 0; i < wanted.size(); i++) // runs
			wanted[i] = i % 7 ? wanted[i - 1] : random() % 3;
		const auto pieces_of = [&](const std::vector<uint32_t> &sets, pieces *out) {
			for (size_t i = 0; i < sets.size(); i++) {
				const dnsblv6_addr at = { base.hi, base.lo + i };
				REQUIRE(pieces_append(out, at, at, sets[i]) == DNSBLV6_OK);
			}
		};
		pieces left = {};
		pieces right = {};
		pieces made = {};
		pieces_of(before, &left);
		pieces_of(wanted, &right);
		REQUIRE(pieces_change(&left, &right, 9, &made) == DNSBLV6_OK);
		for (size_t i = 0; i < before.size(); i++) {
			uint32_t set = before[i];
			if (wanted[i] == PIECES_REMOVED)
				set = DNSBLV6_SET_NONE;
			else if (wanted[i] == PIECES_ADDED && set == DNSBLV6_SET_NONE)
				set = 9;
			CHECK(pieces_find(&made, { base.hi, base.lo + i }) == set);
		}
		pieces_deinit(&left);
		pieces_deinit(&right);
		pieces_deinit(&made);
	}
}

TEST_CASE("a difference of ranges is what the left one has alone", "[zone-tools][ranges]")
{
	const unsigned seed = std::random_device{}();
	CAPTURE(seed);
	std::mt19937_64 random(seed);
	// Around either end of the space, where the next unit does not exist.
	const auto base = GENERATE(uint64_t{ 0 }, UINT64_MAX - 63);
	for (int round = 0; round < 300; round++) {
		ranges sides[2] = {};
		bool has[2][64] = {};
		for (int side = 0; side < 2; side++) {
			for (unsigned i = 0; i < random() % 8; i++) {
				const uint64_t first = random() % 64;
				const uint64_t last = std::min<uint64_t>(63, first + random() % 9);
				REQUIRE(ranges_add(&sides[side], base + first, base + last) ==
					DNSBLV6_OK);
				std::fill(has[side] + first, has[side] + last + 1, true);
			}
			ranges_normalise(&sides[side]);
		}
		ranges rest = {};
		REQUIRE(ranges_add_difference(&rest, &sides[0], &sides[1]) == DNSBLV6_OK);
		bool found[64] = {};
		for (size_t i = 0; i < rest.count; i++) {
			REQUIRE(rest.items[i].first <= rest.items[i].last);
			for (uint64_t at = rest.items[i].first - base;
			     at <= rest.items[i].last - base; at++)
				found[at] = true;
		}
		for (unsigned i = 0; i < 64; i++)
			CHECK(found[i] == (has[0][i] && !has[1][i]));
		ranges_deinit(&rest);
		ranges_deinit(&sides[0]);
		ranges_deinit(&sides[1]);
	}
}

// ---- regions ----

namespace
{
struct region_run {
	const pieces *wanted;
	words prefixes; // with "!" where nothing changes
	plan_counts before = {};
	plan_counts after = {};
};

int make_regions(writer *w, void *context)
{
	auto *run = static_cast<region_run *>(context);
	before old = {};
	keyset given = {};
	REQUIRE(before_load(w, &given, 0, &old) == DNSBLV6_OK);
	contents_origin origin = {};
	uint8_t key[DNSBLV6_ORIGIN_KEY_SIZE];
	store_bytes value = {};
	dnsblv6_origin_make_key(0, key);
	REQUIRE(writer_get(w, STORE_FACTS, key, sizeof(key), &value) == DNSBLV6_OK);
	REQUIRE(dnsblv6_origin_decode(value.data, value.size, &origin.origin) == DNSBLV6_OK);
	writer_walk *records = nullptr;
	writer_walk *segments = nullptr;
	REQUIRE(writer_walk_open(w, STORE_RECORDS, &records) == DNSBLV6_OK);
	REQUIRE(writer_walk_open(w, STORE_SEGMENTS, &segments) == DNSBLV6_OK);
	regions_job job = {};
	job.set = origin.origin.default_set;
	job.records = records;
	job.segments = segments;
	job.facts = &old.facts;
	job.origin = &origin;
	job.changes = run->wanted;
	regions made = {};
	CHECK(regions_make(&job, &made) == DNSBLV6_OK);
	for (size_t i = 0; i < made.count; i++)
		run->prefixes.push_back((made.items[i].is_changed ? "" : "!") +
					text_of(made.items[i].prefix));
	run->before = made.before;
	run->after = made.after;
	regions_deinit(&made);
	writer_walk_close(records);
	writer_walk_close(segments);
	return -ECANCELED; // nothing to commit
}

region_run regions_of(const zone &z, const words &said)
{
	const changes wanted(said);
	region_run run = {};
	run.wanted = &wanted.result;
	CHECK(writer_run(z.path.c_str(), &zone_store, make_regions, &run) == -ECANCELED);
	run.wanted = nullptr;
	return run;
}
} // namespace

TEST_CASE("a region is the /24 or /56 of a change, or what the change covers whole",
	  "[zone-tools][region]")
{
	const zone z({ "192.0.2.1", "198.51.100.0/24", "2a00:1:2:3::/64" });
	CHECK(regions_of(z, { "+192.0.2.7" }).prefixes == words{ "192.0.2.0/24" });
	CHECK(regions_of(z, { "+192.0.2.1" }).prefixes == words{ "!192.0.2.0/24" });
	CHECK(regions_of(z, { "+192.0.2.255", "+192.0.3.0" }).prefixes ==
	      words{ "192.0.2.0/24", "192.0.3.0/24" });
	CHECK(regions_of(z, { "-192.0.0.0/15" }).prefixes ==
	      words{ "192.0.0.0/16", "!192.1.0.0/16" });
	CHECK(regions_of(z, { "+2a00:1:2:4::/64" }).prefixes == words{ "2a00:1:2::/56" });
	CHECK(regions_of(z, { "-2a00::/16", "-198.0.0.0/8" }).prefixes ==
	      words{ "198.0.0.0/8", "2a00::/16" });
}

TEST_CASE("where a wildcard is, or will be, the region is as wide as it", "[zone-tools][region]")
{
	const zone z({ "192.0.0.0/16", "198.51.0.0/17", "198.51.128.0/18", "198.51.192.0/19" });
	CHECK(regions_of(z, { "-192.0.2.7" }).prefixes == words{ "192.0.0.0/16" });
	CHECK(regions_of(z, { "-192.0.2.7", "-192.0.200.7" }).prefixes == words{ "192.0.0.0/16" });
	// Full, so the next wider one is looked at; not full, so it ends there.
	CHECK(regions_of(z, { "+203.0.113.0/24" }).prefixes == words{ "203.0.0.0/16" });
	CHECK(regions_of(z, { "+198.51.224.0/19" }).prefixes == words{ "198.0.0.0/8" });
}

TEST_CASE("flat names have no wildcards to climb to", "[zone-tools][region]")
{
	const zone z({ "192.0.0.0/20" }, false, DNSBLV6_STYLE_FLAT);
	CHECK(regions_of(z, { "-192.0.2.7" }).prefixes == words{ "192.0.2.0/24" });
	CHECK(regions_of(z, { "+203.0.113.0/24" }).prefixes == words{ "203.0.113.0/24" });
}

TEST_CASE("counts before and after are of the regions' lists, without test points",
	  "[zone-tools][region]")
{
	const zone z({ "192.0.2.1", "192.0.2.200", "127.0.0.5" });
	const auto run =
		regions_of(z, { "+192.0.2.2", "-192.0.2.200", "+127.0.0.2", "-127.0.0.5" });
	CHECK(run.prefixes == words{ "127.0.0.0/24", "192.0.2.0/24" });
	CHECK(run.before.ipv4 - run.after.ipv4 == 1);
	CHECK(run.before.blocks - run.after.blocks == 1);
	CHECK(regions_of(z, { "+127.0.0.2" }).prefixes == words{ "!127.0.0.0/24" });
	CHECK(regions_of(z, { "-127.0.0.2" }).prefixes == words{ "!127.0.0.0/24" });
	CHECK(regions_of(z, { "-127.0.1.0/24" }).prefixes == words{ "!127.0.1.0/24" });
}

TEST_CASE("an IPv6 region around ::ffff:0:0/96 leaves IPv4 alone", "[zone-tools][region]")
{
	const zone z({ "192.0.2.1", "::/57" });
	const auto run = regions_of(z, { "-192.0.0.0/8", "-::/8" });
	CHECK(run.prefixes.front() == "192.0.0.0/8");
	CHECK(std::count(run.prefixes.begin(), run.prefixes.end(), "::/56") == 1);
	CHECK(run.before.ipv4 == 1);
	CHECK(run.before.ipv6 == 128);
	CHECK(run.after.ipv4 == 0);
	CHECK(run.after.ipv6 == 0);
}

// ---- the whole ----

TEST_CASE("an update is recorded so that the old version and its changes are the new one",
	  "[zone-tools][updater][history]")
{
	const unsigned seed = std::random_device{}();
	CAPTURE(seed);
	std::mt19937 random(seed);
	const bool is_signed = GENERATE(false, true);
	const auto style = GENERATE(DNSBLV6_STYLE_DOTTED, DNSBLV6_STYLE_FLAT);
	zone z({ "192.0.2.1", "192.0.3.0/24", "198.51.0.0/20", "2a00:1:2::/52" }, is_signed, style);
	auto old = z.records();
	for (int round = 0; round < 25; round++) {
		words said;
		for (unsigned i = 0; i <= random() % 4; i++) {
			const char *sign = random() % 2 ? "+" : "-";
			auto where = prefix(random() % 3 ? "192.0.0.0" : "2a00:1:2::");
			const bool is_ipv4 = dnsblv6_addr_is_ipv4(where.first);
			where.first.lo += is_ipv4 ? random() % 2048 : 0;
			where.first.hi += is_ipv4 ? 0 : random() % 2048;
			const unsigned len = is_ipv4 ? 117 + random() % 12 : 53 + random() % 12;
			said.push_back(sign + text_of(dnsblv6_prefix_make(where.first, len)));
		}
		const changes wanted(said);
		if (wanted.found.refusal_count > 0)
			continue;
		const int ret = z.update(&wanted.result);
		if (ret == CHAIN_EUNCHANGED) {
			CHECK(z.records() == old);
			continue;
		}
		REQUIRE(ret == DNSBLV6_OK);
		const auto now = z.records();
		const journal_change change(z.path);
		check_history(old, now, change, is_signed);
		CHECK(change.first_key == std::string(1, '\0')); // the apex
		CHECK(change.header.verb == DNSBLV6_CHANGE_UPDATE);
		CHECK(change.header.to_serial == z.result.serial);
		CHECK(change.header.ipv4_count == z.result.ipv4_count);
		CHECK(change.header.ipv6_count == z.result.ipv6_count);
		const auto facts = z.facts();
		CHECK(facts.record_count == now.size());
		CHECK(facts.ipv4_count == z.result.ipv4_count);
		CHECK(facts.serial == z.result.serial);
		CHECK(z.result.changed_count == change.names.size());
		old = now;
	}
	CHECK(open_and_verify(z.path) == STORE_OK);
}

TEST_CASE("block counts of an updated store are those of one built so", "[zone-tools][updater]")
{
	zone z({ "192.0.2.1", "2a00:1:2::/56" });
	REQUIRE(z.update({ "+192.0.2.200", "+20.0.0.0/20", "-2a00:1:2::/57" }) == DNSBLV6_OK);
	const zone fresh({ "192.0.2.1", "192.0.2.200", "20.0.0.0/20", "2a00:1:2:80::/57" });
	CHECK(z.facts().block_count == fresh.facts().block_count);
	CHECK(z.facts().ipv4_count == fresh.facts().ipv4_count);
	CHECK(z.facts().ipv6_count == fresh.facts().ipv6_count);
	CHECK(z.facts().record_count == fresh.facts().record_count);
}

TEST_CASE("one address more in a block is one signature beside that of the SOA",
	  "[zone-tools][updater]")
{
	zone z({ "192.0.2.1", "198.51.100.1", "203.0.113.1" }, true);
	REQUIRE(z.update({ "+198.51.100.2" }) == DNSBLV6_OK);
	CHECK(z.result.signature_count == 2);
	CHECK(z.result.changed_count == 2);
	REQUIRE(z.update({ "+198.51.101.2" }) == DNSBLV6_OK); // a name more
	CHECK(z.result.signature_count == 4);
	CHECK(z.result.changed_count == 3);
	REQUIRE(z.update({ "-198.51.101.2" }) == DNSBLV6_OK);
	CHECK(z.result.signature_count == 2);
}

TEST_CASE("a refused update leaves the store as it was", "[zone-tools][updater]")
{
	zone z({ "192.0.2.1", "20.0.0.0/20" });
	const auto before = read_file(z.path);
	findings found = {};
	z.limits.max_shrink_percent = 10;
	CHECK(z.update({ "-20.0.0.0/8" }, &found) == CHAIN_EREFUSED);
	CHECK(found.refusal_count == 1);
	CHECK(read_file(z.path) == before);
	CHECK(z.update({ "+192.0.2.1" }) == CHAIN_EUNCHANGED);
	CHECK(read_file(z.path) == before);
}

TEST_CASE("when memory runs out an update changes nothing", "[zone-tools][updater]")
{
	const bool is_signed = GENERATE(false, true);
	zone z({ "192.0.2.1", "20.0.0.0/20", "2a00::/56" }, is_signed);
	const changes wanted({ "+192.0.2.7", "-20.0.1.0/24", "+2a00:0:0:1ff::/64" });
	const auto before = read_table(z.path, STORE_RECORDS);
	for (unsigned n = 1;; n++) {
		CAPTURE(n);
		fault::fail_at(n);
		const int ret = z.update(&wanted.result);
		if (!fault::end()) {
			CHECK(ret == DNSBLV6_OK);
			CHECK(n > 10);
			break;
		}
		CHECK(ret == -ENOMEM);
		REQUIRE(read_table(z.path, STORE_RECORDS) == before);
	}
	CHECK(z.records() != before);
}

// ---- what is kept ----

namespace
{
// A change that has name_count names, each with a record of record_size bytes.
struct made_change {
	struct before before = {};
	unsigned name_count = 1;
	unsigned record_size = 100;
	bool has_apex = true;
	uint32_t serial = 0;
};

int record(writer *w, void *context)
{
	const auto *made = static_cast<made_change *>(context);
	const std::string bytes(made->record_size, 'r');
	recorder *journal = nullptr;
	int ret = recorder_new(w, &made->before, DNSBLV6_CHANGE_UPDATE, true, &journal);
	const auto add = [&](const std::string &key) {
		dnsblv6_name_change change = {};
		change.key = reinterpret_cast<const uint8_t *>(key.data());
		change.key_size = static_cast<uint16_t>(key.size());
		change.after.record = reinterpret_cast<const uint8_t *>(bytes.data());
		change.after.record_size = static_cast<uint16_t>(bytes.size());
		return recorder_add(journal, &change);
	};
	for (unsigned i = 0; ret == DNSBLV6_OK && i < made->name_count; i++)
		ret = add("n" + std::to_string(i));
	if (ret == DNSBLV6_OK && made->has_apex)
		ret = add(std::string(1, '\0')); // behind others: parts keep it first
	dnsblv6_facts facts = {};
	dnsblv6_change change = {};
	facts.serial = made->serial;
	if (ret == DNSBLV6_OK)
		ret = recorder_end(journal, &facts, &change);
	recorder_free(journal);
	return ret;
}

int record_change(const std::string &path, made_change made, uint32_t serial)
{
	made.before.facts.serial = serial - 1;
	made.serial = serial;
	return writer_run(path.c_str(), &zone_store, record, &made);
}

// Serials of the headers, the newest first; negative when the names are not kept.
std::vector<int> kept(const std::string &path)
{
	const opened_reader opened(path);
	std::vector<int> out;
	uint64_t number = 0;
	dnsblv6_change change;
	REQUIRE(reader_begin(opened.get()) == STORE_OK);
	REQUIRE(history_newest(opened.get(), &number) == STORE_OK);
	for (; history_get(opened.get(), number, &change) == STORE_OK; number--)
		out.push_back(static_cast<int>(change.to_serial) * (change.has_names ? 1 : -1));
	reader_end(opened.get());
	return out;
}

int find(const std::string &path, uint32_t serial, uint64_t *ret_number)
{
	const opened_reader opened(path);
	REQUIRE(reader_begin(opened.get()) == STORE_OK);
	const int ret = history_find(opened.get(), serial, ret_number);
	reader_end(opened.get());
	return ret;
}
} // namespace

TEST_CASE("an apex that comes last is the first name of its change",
	  "[zone-tools][recorder][history]")
{
	const tmpdir dir;
	made_change made;
	made.name_count = 2000; // several parts
	REQUIRE(record_change(dir.file("s"), made, 10) == DNSBLV6_OK);
	const journal_change change(dir.file("s"));
	CHECK(change.first_key == std::string(1, '\0'));
	CHECK(change.names.size() == 2001);
	CHECK(change.header.part_count > 2);
}

TEST_CASE("a change without the apex keeps no names", "[zone-tools][recorder]")
{
	const tmpdir dir;
	made_change made;
	made.has_apex = false;
	REQUIRE(record_change(dir.file("s"), made, 10) == DNSBLV6_OK);
	CHECK(kept(dir.file("s")) == std::vector<int>{ -10 });
}

TEST_CASE("too large a change loses its names, and cuts off those before it",
	  "[zone-tools][recorder][history]")
{
	const tmpdir dir;
	const auto path = dir.file("s");
	made_change small;
	made_change large;
	large.name_count = RECORDER_SIZE_MIN / 100;
	uint64_t number = 0;
	REQUIRE(record_change(path, small, 10) == DNSBLV6_OK);
	CHECK(find(path, 9, &number) == STORE_OK);
	REQUIRE(record_change(path, large, 11) == DNSBLV6_OK);
	REQUIRE(record_change(path, small, 12) == DNSBLV6_OK);
	CHECK(kept(path) == std::vector<int>{ 12, -11, -10 });
	CHECK(find(path, 9, &number) == DNSBLV6_ENOTFOUND);
	CHECK(find(path, 10, &number) == DNSBLV6_ENOTFOUND);
	CHECK(find(path, 12, &number) == DNSBLV6_ENOTFOUND); // nothing to tell
	REQUIRE(find(path, 11, &number) == STORE_OK);
	CHECK(number == 3);
	// Nothing of the dropped names is left behind.
	CHECK(read_table(path, STORE_JOURNAL).size() == 3 + small.name_count + 1);
}

TEST_CASE("a large zone keeps larger changes", "[zone-tools][recorder]")
{
	const tmpdir dir;
	made_change large;
	large.name_count = RECORDER_SIZE_MIN / 100;
	large.before.facts.record_count = 400000;
	REQUIRE(record_change(dir.file("s"), large, 10) == DNSBLV6_OK);
	CHECK(kept(dir.file("s")) == std::vector<int>{ 10 });
}

TEST_CASE("all changes together have a limit: the oldest lose their names",
	  "[zone-tools][recorder]")
{
	const tmpdir dir;
	made_change third; // of the limit, and a bit more
	third.record_size = 30000;
	third.name_count = RECORDER_SIZE_MIN / 3 / 30000;
	for (uint32_t serial = 10; serial < 15; serial++)
		REQUIRE(record_change(dir.file("s"), third, serial) == DNSBLV6_OK);
	CHECK(kept(dir.file("s")) == std::vector<int>{ 14, 13, -12, -11, -10 });
}

TEST_CASE("a record too large for a part loses the names of its change", "[zone-tools][recorder]")
{
	const tmpdir dir;
	made_change huge;
	huge.record_size = 65535;
	REQUIRE(record_change(dir.file("s"), huge, 10) == DNSBLV6_OK);
	CHECK(kept(dir.file("s")) == std::vector<int>{ -10 });
}

TEST_CASE("after a thousand changes the oldest are forgotten, names and all",
	  "[zone-tools][recorder][history]")
{
	const tmpdir dir;
	const auto path = dir.file("s");
	// All but the last few at once: each would take a write to the disk.
	REQUIRE(write_store(path, [](writer *w) {
			dnsblv6_change change = {};
			uint8_t key[DNSBLV6_JOURNAL_KEY_SIZE];
			uint8_t data[DNSBLV6_CHANGE_SIZE];
			int ret = DNSBLV6_OK;
			change.verb = DNSBLV6_CHANGE_UPDATE;
			change.has_names = true;
			change.part_count = 2;
			change.size = 2;
			for (unsigned i = 1; ret == DNSBLV6_OK && i < RECORDER_CHANGES_MAX; i++) {
				change.from_serial = i - 1;
				change.to_serial = i;
				dnsblv6_change_encode(&change, data);
				for (unsigned part = 0; ret == DNSBLV6_OK && part <= 2; part++) {
					dnsblv6_journal_make_key(i, part, key);
					ret = writer_put(w, STORE_JOURNAL, key, sizeof(key), data,
							 part == 0 ? sizeof(data) : 1);
				}
			}
			return ret;
		}) == STORE_OK);
	const made_change small;
	for (uint32_t serial = RECORDER_CHANGES_MAX; serial <= RECORDER_CHANGES_MAX + 3; serial++)
		REQUIRE(record_change(path, small, serial) == DNSBLV6_OK);
	const auto serials = kept(path);
	CHECK(serials.size() == RECORDER_CHANGES_MAX);
	CHECK(serials.front() == RECORDER_CHANGES_MAX + 3);
	CHECK(serials.back() == 4);
	// A header, the apex and another part each.
	CHECK(read_table(path, STORE_JOURNAL).size() == size_t{ 3 } * RECORDER_CHANGES_MAX);
	uint64_t number = 0;
	CHECK(find(path, 3, &number) == STORE_OK);
	CHECK(find(path, 2, &number) == DNSBLV6_ENOTFOUND);
}
