// SPDX-License-Identifier: GPL-3.0-or-later
// How old lists are: what is read from files and from a command line, and what a store keeps of it.

#include "zone-tools/records/lists_time.h"

#include "zone-tools/chain/builder.h"
#include "zone-tools/chain/chain.h"
#include "zone-tools/chain/resign.h"
#include "zone-tools/chain/rollback.h"
#include "zone-tools/chain/updater.h"
#include "zone-tools/lists/changes.h"
#include "zone-tools/lists/sources.h"
#include "zone-tools/reading/versions.h"

#include "tests/lib/stores.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <string>
#include <vector>

namespace
{
constexpr uint64_t NOW_S = 1700000000; // or files would be of a time to come

// A list of one address that was written then.
std::string dated_list(const tmpdir &dir, const std::string &name, time_t written_s,
		       const std::string &text = "192.0.2.1\n")
{
	const auto path = dir.file(name);
	const timespec times[] = { { written_s, 0 }, { written_s, 999999999 } };
	write_file(path, text);
	REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
	return path;
}

struct dated_listing {
	listing list = {};
	findings found = {};
	sources_options options = {};

	dated_listing()
	{
		REQUIRE(listing_init(&list) == DNSBLV6_OK);
		options.now_s = NOW_S;
	}
	~dated_listing()
	{
		listing_deinit(&list);
	}
	dated_listing(const dated_listing &) = delete;

	int read(const std::string &name)
	{
		return sources_read(&list, name.c_str(), &options, &found, nullptr);
	}
};

// When the sources of an update were written.
uint64_t written_of(const std::vector<std::string> &said)
{
	std::vector<change_source> sources;
	sources_options options = {};
	findings found = {};
	pieces made = {};
	uint64_t written_s = 1;
	sources.reserve(said.size());
	for (const auto &one : said)
		sources.push_back({ one.c_str(), false });
	options.now_s = NOW_S;
	REQUIRE(changes_read(sources.data(), sources.size(), &options, &found, &made, &written_s) ==
		DNSBLV6_OK);
	pieces_deinit(&made);
	return written_s;
}

// "WRITTEN NAME,..." of a row.
std::string text_of(const uint8_t *data, size_t size)
{
	std::string text;
	size_t offset = 0;
	dnsblv6_list_file file = {};
	while (dnsblv6_list_file_next(data, size, &offset, &file) == DNSBLV6_OK)
		text += (text.empty() ? "" : ",") + std::to_string(file.written_s) + " " +
			std::string(reinterpret_cast<const char *>(file.name), file.name_size);
	CHECK(offset == size);
	return text;
}

std::string text_of(const listages &ages)
{
	return text_of(ages.bytes, ages.size);
}

// A store of one list, and what is done to it, each an hour after the last.
struct dated_store {
	tmpdir dir;
	std::string path = dir.file("bl6.mdb");
	uint64_t now_s = NOW_S;
	bool is_unchanged = false;
	bool is_dry_run = false;
	keyset set = {};

	keyset *keys()
	{
		set = {};
		now_s += 3600;
		return &set;
	}
	void build(time_t written_s, const std::string &text = "192.0.2.1\n")
	{
		dated_listing from;
		plan made = {};
		spec about = {};
		builder_job job = {};
		builder_result result = {};
		REQUIRE(from.read(dated_list(dir, "list", written_s, text)) == DNSBLV6_OK);
		REQUIRE(plan_make(&from.list, &made) == DNSBLV6_OK);
		REQUIRE(dnsblv6_name_from_text("bl6.example", &about.zone) == DNSBLV6_OK);
		about.ns[0] = "ns1.example.net.";
		about.ns_count = 1;
		REQUIRE(spec_complete(&about, &from.list.zone) == nullptr);
		job.path = path.c_str();
		job.plan = &made;
		job.listing = &from.list;
		job.spec = &about;
		job.keyset = keys();
		job.lifetime_s = SIGNER_LIFETIME_S;
		job.now_s = now_s;
		job.max_records = UINT32_MAX;
		job.is_dry_run = is_dry_run;
		CHECK(builder_write(&job, &result) == DNSBLV6_OK);
		is_unchanged = result.is_unchanged;
		plan_deinit(&made);
	}
	int update(uint32_t address, uint64_t written_s)
	{
		const guard_limits limits = { 100, 4000000000U, 100, UINT32_MAX };
		const auto at = dnsblv6_addr_from_ipv4(address);
		dnsblv6_labels apex = {};
		findings found = {};
		pieces wanted = {};
		updater_job job = {};
		updater_result result = {};
		REQUIRE(pieces_append(&wanted, at, at, PIECES_ADDED) == DNSBLV6_OK);
		job.path = path.c_str();
		job.changes = &wanted;
		job.subzone = &apex;
		job.keyset = keys();
		job.now_s = now_s;
		job.lists_s = written_s;
		job.is_dry_run = is_dry_run;
		job.max_records = UINT32_MAX;
		job.limits = &limits;
		job.findings = &found;
		const int ret = updater_run(&job, &result);
		pieces_deinit(&wanted);
		return ret;
	}
	// To the version before the last change.
	int rollback()
	{
		rollback_job job = {};
		rollback_result result = {};
		version before = {};
		{
			const opened_reader opened(path);
			uint32_t serial = 0;
			REQUIRE(reader_begin(opened.get()) == STORE_OK);
			REQUIRE(version_previous(opened.get(), &serial) == DNSBLV6_OK);
			REQUIRE(version_load(opened.get(), serial, VERSION_WHOLE, &before) ==
				DNSBLV6_OK);
			reader_end(opened.get());
		}
		job.path = path.c_str();
		job.version = &before;
		job.keyset = keys();
		job.now_s = now_s;
		const int ret = rollback_run(&job, &result);
		version_deinit(&before);
		return ret;
	}
	table facts() const
	{
		return read_table(path, STORE_FACTS);
	}
	uint32_t serial() const
	{
		dnsblv6_facts out = {};
		const auto entries = facts();
		const auto &data = entries.at(DNSBLV6_FACT_ZONE);
		REQUIRE(dnsblv6_facts_decode(reinterpret_cast<const uint8_t *>(data.data()),
					     data.size(), &out) == DNSBLV6_OK);
		return out.serial;
	}
	// 0: it says nothing of that.
	uint64_t lists_s() const
	{
		uint64_t written_s = 0;
		const auto entries = facts();
		const auto found = entries.find(DNSBLV6_FACT_LISTS);
		if (found != entries.end())
			REQUIRE(dnsblv6_lists_decode(
					reinterpret_cast<const uint8_t *>(found->second.data()),
					found->second.size(), &written_s) == DNSBLV6_OK);
		return written_s;
	}
	std::string files() const
	{
		const auto entries = facts();
		const auto found = entries.find(DNSBLV6_FACT_FILES);
		return found == entries.end()
			       ? ""
			       : text_of(reinterpret_cast<const uint8_t *>(found->second.data()),
					 found->second.size());
	}
};
} // namespace

// ---- reading ----

TEST_CASE("files are in the order of their age, each name once with its older time",
	  "[zone-tools][lists_time]")
{
	listages ages = {};
	listages_note(&ages, "/lists/c", 3000);
	listages_note(&ages, "a", 1000);
	listages_note(&ages, "/other/lists/b.gz", 2000);
	CHECK(text_of(ages) == "1000 a,2000 b.gz,3000 c");
	listages_note(&ages, "/other/c", 3001);
	listages_note(&ages, "/other/a", 1000);
	CHECK(text_of(ages) == "1000 a,2000 b.gz,3000 c");
	listages_note(&ages, "/other/c", 1500);
	listages_note(&ages, "d", 2000);
	CHECK(text_of(ages) == "1000 a,1500 c,2000 b.gz,2000 d");
	listages_note(&ages, "none", 0);
	listages_note(&ages, "/no/name/", 1);
	CHECK(text_of(ages) == "1000 a,1500 c,2000 b.gz,2000 d");
	listages_note(&ages, "\x1f\x7f\xc3\xa4 ~", 1);
	CHECK(text_of(ages) == "1 ???? ~,1000 a,1500 c,2000 b.gz,2000 d");
}

TEST_CASE("of files without room the youngest are left out", "[zone-tools][lists_time]")
{
	listages ages = {};
	const std::string tail(246, 'x'); // eight entries of 256 bytes fill it
	for (unsigned i = 1; i <= 8; i++)
		listages_note(&ages, (std::to_string(i) + tail).c_str(), 10 * i);
	CHECK(ages.size == DNSBLV6_LIST_FILES_MAX);
	const auto full = text_of(ages);
	listages_note(&ages, "young", 90);
	CHECK(text_of(ages) == full);
	listages_note(&ages, "old", 45);
	CHECK(text_of(ages) ==
	      full.substr(0, full.find("50 5")) + "45 old," +
		      full.substr(full.find("50 5"), full.find(",80 8") - full.find("50 5")));
	listages_note(&ages, std::string(300, 'l').c_str(), 1);
	CHECK(text_of(ages).substr(0, 260) == "1 " + std::string(255, 'l') + ",10");
	CHECK(ages.size <= DNSBLV6_LIST_FILES_MAX);
}

TEST_CASE("lists are as old as the newest of their files", "[zone-tools][lists_time]")
{
	const tmpdir dir;
	dated_listing from;
	CHECK(from.list.written_s == 0);
	REQUIRE(from.read(dated_list(dir, "old", 1000)) == DNSBLV6_OK);
	CHECK(from.list.written_s == 1000);
	const auto newest = dated_list(dir, "newest", 3000);
	REQUIRE(from.read("plain:" + newest + "," + dated_list(dir, "middle", 2000)) == DNSBLV6_OK);
	CHECK(from.list.written_s == 3000);
	REQUIRE(from.read("ip4set:" + dated_list(dir, "set", 4000)) == DNSBLV6_OK);
	CHECK(from.list.written_s == 4000);
	CHECK(text_of(from.list.ages) == "1000 old,2000 middle,3000 newest,4000 set");
}

TEST_CASE("what is never listed makes no list younger", "[zone-tools][lists_time]")
{
	const tmpdir dir;
	dated_listing from;
	const auto except = dated_list(dir, "except", 5000);
	REQUIRE(from.read(dated_list(dir, "list", 1000)) == DNSBLV6_OK);
	REQUIRE(sources_add_except(&from.options, except.c_str()));
	REQUIRE(sources_read_except(&from.list, &from.options, &from.found) == DNSBLV6_OK);
	CHECK(from.list.written_s == 1000);
	CHECK(text_of(from.list.ages) == "1000 list");
}

TEST_CASE("a file of the future was written now, and one of before 1970 at no time",
	  "[zone-tools][lists_time]")
{
	const tmpdir dir;
	dated_listing from;
	REQUIRE(from.read(dated_list(dir, "epoch", 0)) == DNSBLV6_OK);
	CHECK(from.list.written_s == 0);
	REQUIRE(from.read(dated_list(dir, "earlier", -1000)) == DNSBLV6_OK);
	CHECK(from.list.written_s == 0);
	REQUIRE(from.read(dated_list(dir, "future", NOW_S + 86400)) == DNSBLV6_OK);
	CHECK(from.list.written_s == NOW_S);
	CHECK(text_of(from.list.ages) == std::to_string(NOW_S) + " future");
}

TEST_CASE("an update is as old as its files, and an address was said now",
	  "[zone-tools][changes][lists_time]")
{
	const tmpdir dir;
	const auto path = dated_list(dir, "list", 1000);
	CHECK(written_of({ path }) == 1000);
	CHECK(written_of({ path, dated_list(dir, "other", 2000) }) == 2000);
	CHECK(written_of({ path, "192.0.2.7" }) == NOW_S);
}

// ---- the store ----

TEST_CASE("a build keeps how old its lists are, also when they say the same",
	  "[zone-tools][builder][lists_time]")
{
	dated_store store;
	store.build(1000);
	CHECK(store.lists_s() == 1000);
	const auto before = store.facts();
	store.build(1000);
	CHECK(store.is_unchanged);
	CHECK(store.facts() == before);

	const uint32_t serial = store.serial();
	store.is_dry_run = true;
	store.build(2000);
	CHECK(store.facts() == before);
	store.is_dry_run = false;
	store.build(2000);
	CHECK(store.is_unchanged);
	CHECK(store.serial() == serial);
	CHECK(store.lists_s() == 2000);
	CHECK(store.files() == "2000 list");
	store.build(1500); // an older file has come back
	CHECK(store.lists_s() == 1500);
	store.build(3000, "192.0.2.2\n");
	CHECK_FALSE(store.is_unchanged);
	CHECK(store.lists_s() == 3000);
	store.build(0, "192.0.2.3\n");
	CHECK(store.lists_s() == 0);
	CHECK(store.facts().count(DNSBLV6_FACT_LISTS) == 0);
	CHECK(store.facts().count(DNSBLV6_FACT_FILES) == 0);
}

TEST_CASE("signing makes no list younger", "[zone-tools][resign][lists_time]")
{
	dated_store store;
	key *active = nullptr;
	resign_job job = {};
	resign_result result = {};
	store.build(1000);
	REQUIRE(key_generate(KEY_ECDSAP256SHA256, &active) == DNSBLV6_OK);
	job.path = store.path.c_str();
	job.keyset = store.keys();
	job.keyset->keys[0] = active;
	job.keyset->key_count = 1;
	job.keyset->may_replace = true;
	job.now_s = store.now_s;
	CHECK(resign_store(&job, &result) == DNSBLV6_OK);
	CHECK(store.serial() == result.serial);
	CHECK(store.lists_s() == 1000);
	CHECK(store.files() == "1000 list");
	key_free(active);
}

TEST_CASE("an update makes lists younger and never older", "[zone-tools][updater][lists_time]")
{
	dated_store store;
	store.build(1000);
	CHECK(store.update(0xc0000207, 900) == DNSBLV6_OK);
	CHECK(store.lists_s() == 1000);
	CHECK(store.update(0xc0000208, 2000) == DNSBLV6_OK);
	CHECK(store.lists_s() == 2000);

	const uint32_t serial = store.serial();
	store.is_dry_run = true;
	CHECK(store.update(0xc0000208, 3000) == CHAIN_EUNCHANGED);
	CHECK(store.lists_s() == 2000);
	store.is_dry_run = false;
	CHECK(store.update(0xc0000208, 3000) == CHAIN_EUNCHANGED);
	CHECK(store.lists_s() == 3000);
	CHECK(store.serial() == serial);
	CHECK(store.update(0xc0000208, 2500) == CHAIN_EUNCHANGED);
	CHECK(store.lists_s() == 3000);
	CHECK(store.update(0xc0000208, 3059) == CHAIN_EUNCHANGED); // no commit for so little
	CHECK(store.lists_s() == 3000);
	CHECK(store.update(0xc0000208, 3060) == CHAIN_EUNCHANGED);
	CHECK(store.lists_s() == 3060);
	CHECK(store.files() == "1000 list");
}

TEST_CASE("a time that a clock ahead has left is none to an update",
	  "[zone-tools][updater][lists_time]")
{
	const uint64_t year_s = 365 * 86400;
	const uint32_t address = GENERATE(0xc0000201, 0xc0000207);
	CAPTURE(address);
	dated_store store;
	store.build(1000);
	store.now_s = NOW_S + year_s;
	CHECK(store.update(0xc0000201, NOW_S + year_s) == CHAIN_EUNCHANGED);
	CHECK(store.lists_s() == NOW_S + year_s);
	store.now_s = NOW_S;
	CHECK(store.update(address, NOW_S) ==
	      (address == 0xc0000201 ? CHAIN_EUNCHANGED : DNSBLV6_OK));
	CHECK(store.lists_s() == NOW_S);
}

TEST_CASE("a rollback brings back how old the lists of a version were",
	  "[zone-tools][rollback][lists_time]")
{
	dated_store store;
	store.build(1000);
	store.build(2000); // the same
	store.build(3000, "192.0.2.2\n");
	store.build(4000, "192.0.2.2\n");
	CHECK(store.rollback() == DNSBLV6_OK);
	CHECK(store.lists_s() == 2000);
	CHECK(store.files() == "2000 list");
	CHECK(store.rollback() == DNSBLV6_OK);
	CHECK(store.lists_s() == 4000);
	CHECK(store.files() == "4000 list");
}

TEST_CASE("a version from before there was such a time comes back without one",
	  "[zone-tools][rollback][lists_time]")
{
	dated_store store;
	store.build(1000);
	REQUIRE(write_store(store.path, [](writer *w) {
			const int ret = remove(w, STORE_FACTS, DNSBLV6_FACT_LISTS);
			return ret == STORE_OK ? remove(w, STORE_FACTS, DNSBLV6_FACT_FILES) : ret;
		}) == STORE_OK);
	store.build(3000, "192.0.2.2\n");
	CHECK(store.lists_s() == 3000);
	CHECK(store.files() == "3000 list");
	CHECK(store.rollback() == DNSBLV6_OK);
	CHECK(store.lists_s() == 0);
	CHECK(store.files() == "");
}

TEST_CASE("times are not put beside another version than they are of", "[zone-tools][lists_time]")
{
	dated_store store;
	listages ages = {};
	listages_note(&ages, "list", 1500);
	store.build(2000);
	CHECK(lists_time_renew(store.path.c_str(), store.serial() + 1, 2000, &ages) == DNSBLV6_OK);
	CHECK(store.files() == "2000 list");
	CHECK(lists_time_renew(store.path.c_str(), store.serial(), 2000, &ages) == DNSBLV6_OK);
	CHECK(store.lists_s() == 2000);
	CHECK(store.files() == "1500 list");
	CHECK(lists_time_renew(store.path.c_str(), store.serial(), 3000, &ages) == DNSBLV6_OK);
	CHECK(store.lists_s() == 3000);
	CHECK(store.files() == "1500 list");
}

TEST_CASE("a store from before it had times of files gets them, under the same serial",
	  "[zone-tools][builder][lists_time]")
{
	dated_store store;
	store.build(1000);
	const uint32_t serial = store.serial();
	REQUIRE(write_store(store.path, [](writer *w) {
			return remove(w, STORE_FACTS, DNSBLV6_FACT_FILES);
		}) == STORE_OK);
	store.build(1000);
	CHECK(store.is_unchanged);
	CHECK(store.serial() == serial);
	CHECK(store.files() == "1000 list");
}

TEST_CASE("a time that is none is written anew", "[zone-tools][lists_time]")
{
	dated_store store;
	store.build(1000);
	const uint32_t serial = store.serial();
	auto spoil = [&] {
		REQUIRE(write_store(store.path, [](writer *w) {
				return put(w, STORE_FACTS, DNSBLV6_FACT_LISTS, "7 bytes");
			}) == STORE_OK);
	};
	spoil();
	const listages ages = {};
	CHECK(lists_time_renew(store.path.c_str(), serial, 2000, &ages) == DNSBLV6_OK);
	CHECK(store.lists_s() == 2000);
	spoil();
	store.build(3000);
	CHECK(store.lists_s() == 3000);
	CHECK(store.serial() == serial);
	spoil();
	CHECK(store.update(0xc0000209, 4000) == DNSBLV6_OK);
	CHECK(store.lists_s() == 4000);
}
