// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/lmdb/reader.h"
#include "lib/format/record.h"
#include "lib/lmdb/verify.h"
#include "lib/store/tables.h"

#include "tests/lib/child.hh"
#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"
#include "tests/lib/stores.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <poll.h>
#include <sys/wait.h>

#include <lmdb.h>
#include <sys/stat.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <set>

static void make_store(const std::string &path, const table &records)
{
	REQUIRE(write_store(path, [&](writer *w) { return put_all(w, STORE_RECORDS, records); }) ==
		STORE_OK);
}

static size_t word_at(const std::string &content, size_t at)
{
	uint16_t word = 0;
	memcpy(&word, content.data() + at, sizeof(word));
	return word;
}

// Enough entries for a tree of some depth, a few of them with pages of their own.
static table many_entries()
{
	table entries;
	for (int i = 0; i < 1500; i++)
		entries["key" + std::to_string(i)] =
			std::string(i % 300 == 7 ? 9000 : 17, static_cast<char>('a' + i % 26));
	return entries;
}

// ---- finding entries ----

TEST_CASE("entries are found as in a sorted map", "[store][reader]")
{
	const auto seed = RANDOM_SEED(20);
	CAPTURE(seed);
	randomness rnd(seed);
	const auto some_key = [&] {
		std::string key;
		for (unsigned size = 1 + rnd.below(3); size > 0; size--)
			key += static_cast<char>(rnd.one_in(3) ? rnd.below(256) : rnd.below(3));
		return key;
	};
	table model;
	for (unsigned count = rnd.below(60); count > 0; count--)
		model[some_key()] = std::to_string(count);
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, model);

	const opened_reader opened(path);
	REQUIRE(opened.status() == STORE_OK);
	REQUIRE(reader_begin(opened.get()) == STORE_OK);
	for (int i = 0; i < 100; i++) {
		const std::string wanted = some_key();
		store_bytes key;
		store_bytes value;
		const int got = reader_get(opened.get(), STORE_RECORDS, wanted.data(),
					   wanted.size(), &value);
		const auto exact = model.find(wanted);
		REQUIRE(got == (exact != model.end() ? int{ STORE_OK } : int{ DNSBLV6_ENOTFOUND }));
		if (got == STORE_OK)
			CHECK(text_of(value) == exact->second);

		auto at = model.lower_bound(wanted);
		const int before = reader_seek_before(opened.get(), STORE_RECORDS, wanted.data(),
						      wanted.size(), &key, &value);
		REQUIRE(before ==
			(at != model.begin() ? int{ STORE_OK } : int{ DNSBLV6_ENOTFOUND }));
		if (before == STORE_OK) {
			CHECK(text_of(key) == std::prev(at)->first);
			CHECK(text_of(value) == std::prev(at)->second);
			const int next = reader_next(opened.get(), STORE_RECORDS, &key, &value);
			REQUIRE(next ==
				(at != model.end() ? int{ STORE_OK } : int{ DNSBLV6_ENOTFOUND }));
			if (next == STORE_OK)
				CHECK(text_of(key) == at->first);
		}
		int found = reader_seek(opened.get(), STORE_RECORDS, wanted.data(), wanted.size(),
					&key, &value);
		for (; found == STORE_OK && at != model.end(); ++at) {
			CHECK(text_of(key) == at->first);
			CHECK(text_of(value) == at->second);
			found = reader_next(opened.get(), STORE_RECORDS, &key, &value);
		}
		CHECK(found == DNSBLV6_ENOTFOUND);
		CHECK(at == model.end());
	}
	reader_end(opened.get());
}

TEST_CASE("getting an entry does not move the walk through its table", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, { { "a", "1" }, { "b", "2" }, { "c", "3" }, { "d", "4" } });
	const opened_reader opened(path);
	REQUIRE(opened.status() == STORE_OK);
	REQUIRE(reader_begin(opened.get()) == STORE_OK);
	store_bytes key;
	store_bytes value;
	REQUIRE(reader_seek(opened.get(), STORE_RECORDS, "a", 1, &key, &value) == STORE_OK);
	REQUIRE(reader_get(opened.get(), STORE_RECORDS, "d", 1, &value) == STORE_OK);
	REQUIRE(reader_next(opened.get(), STORE_RECORDS, &key, &value) == STORE_OK);
	CHECK(text_of(key) == "b");
	REQUIRE(reader_get(opened.get(), STORE_RECORDS, "bb", 2, &value) == DNSBLV6_ENOTFOUND);
	REQUIRE(reader_next(opened.get(), STORE_RECORDS, &key, &value) == STORE_OK);
	CHECK(text_of(key) == "c");
	reader_end(opened.get());
}

TEST_CASE("an empty table has nothing to find", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, {});
	const opened_reader opened(path);
	REQUIRE(opened.status() == STORE_OK);
	REQUIRE(reader_begin(opened.get()) == STORE_OK);
	store_bytes key;
	store_bytes value;
	CHECK(reader_get(opened.get(), STORE_SETS, "a", 1, &value) == DNSBLV6_ENOTFOUND);
	CHECK(reader_seek(opened.get(), STORE_SETS, "a", 1, &key, &value) == DNSBLV6_ENOTFOUND);
	CHECK(reader_seek(opened.get(), STORE_SETS, nullptr, 0, &key, &value) == DNSBLV6_ENOTFOUND);
	CHECK(reader_seek_before(opened.get(), STORE_SETS, "a", 1, &key, &value) ==
	      DNSBLV6_ENOTFOUND);
	reader_end(opened.get());
}

TEST_CASE("a key longer than any stored is not found", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, { { "k", "1" } });
	const opened_reader opened(path);
	REQUIRE(reader_begin(opened.get()) == STORE_OK);
	const std::string wanted(2000, 'k');
	store_bytes key;
	store_bytes value;
	CHECK(reader_get(opened.get(), STORE_RECORDS, wanted.data(), wanted.size(), &value) ==
	      DNSBLV6_ENOTFOUND);
	CHECK(reader_seek(opened.get(), STORE_RECORDS, wanted.data(), wanted.size(), &key,
			  &value) == DNSBLV6_ENOTFOUND);
	CHECK(reader_seek_before(opened.get(), STORE_RECORDS, wanted.data(), wanted.size(), &key,
				 &value) == STORE_OK);
	reader_end(opened.get());
}

// ---- versions ----

static std::string get(reader *r, const std::string &key)
{
	store_bytes value;
	const int ret = reader_get(r, STORE_RECORDS, key.data(), key.size(), &value);
	return ret == STORE_OK ? text_of(value) : store_strerror(ret);
}

static int write_in_child(const std::string &path, const std::string &value)
{
	child writing([&] {
		return write_store(path,
				   [&](writer *w) { return put(w, STORE_RECORDS, "a", value); }) ==
				       STORE_OK
			       ? 0
			       : 1;
	});
	return writing.wait();
}

TEST_CASE("a reader sees one version from begin to end, and then the newest", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, { { "a", "old" } });
	const opened_reader opened(path);
	reader *r = opened.get();
	REQUIRE(reader_begin(r) == STORE_OK);
	const uint64_t old_version = reader_version(r);
	CHECK(get(r, "a") == "old");

	REQUIRE(write_in_child(path, "new") == 0);
	CHECK(get(r, "a") == "old");
	CHECK(reader_version(r) == old_version);
	reader_end(r);

	REQUIRE(reader_begin(r) == STORE_OK);
	const uint64_t new_version = reader_version(r);
	CHECK(get(r, "a") == "new");
	CHECK(new_version > old_version);
	reader_end(r);

	REQUIRE(reader_begin(r) == STORE_OK);
	CHECK(reader_version(r) == new_version);
	reader_end(r);
}

TEST_CASE("a version number outlives a failed change", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, { { "a", "1" } });
	const opened_reader opened(path);
	REQUIRE(reader_begin(opened.get()) == STORE_OK);
	const uint64_t version = reader_version(opened.get());
	reader_end(opened.get());
	child failing([&] {
		return write_store(path,
				   [](writer *w) {
					   put(w, STORE_RECORDS, "a", "2");
					   return -ECANCELED;
				   }) == -ECANCELED
			       ? 0
			       : 1;
	});
	REQUIRE(failing.wait() == 0);
	REQUIRE(reader_begin(opened.get()) == STORE_OK);
	CHECK(reader_version(opened.get()) == version);
	reader_end(opened.get());
}

TEST_CASE("while versions are committed every view is one of them, whole", "[store][reader]")
{
	enum { VERSIONS = 50, ENTRIES = 200 };
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	const auto write_version = [&](int version) {
		return write_store(path, [&](writer *w) {
			int ret = writer_clear(w, STORE_RECORDS);
			for (int i = 0; ret == STORE_OK && i < ENTRIES; i++)
				ret = put(w, STORE_RECORDS, "key" + std::to_string(1000 + i),
					  std::to_string(version));
			return ret;
		});
	};
	REQUIRE(write_version(0) == STORE_OK);
	const opened_reader opened(path);
	child writing([&] {
		for (int version = 1; version <= VERSIONS; version++) {
			if (write_version(version) != STORE_OK)
				return 1;
		}
		return 0;
	});

	int newest = -1;
	uint64_t newest_number = 0;
	const auto deadline = time(nullptr) + 50;
	while (newest < VERSIONS && time(nullptr) < deadline) {
		table entries;
		REQUIRE(reader_begin(opened.get()) == STORE_OK);
		const uint64_t number = reader_version(opened.get());
		REQUIRE(walk(opened.get(), STORE_RECORDS, &entries) == STORE_OK);
		reader_end(opened.get());
		REQUIRE(entries.size() == ENTRIES);
		std::set<std::string> values;
		for (const auto &[key, value] : entries)
			values.insert(value);
		REQUIRE(values.size() == 1);
		const int version = std::stoi(*values.begin());
		REQUIRE(version >= newest);
		REQUIRE((number > newest_number) == (version > newest));
		newest = version;
		newest_number = number;
	}
	CHECK(newest == VERSIONS);
	CHECK(writing.wait() == 0);
}

TEST_CASE("a file that was deleted or replaced is no longer current", "[store][reader]")
{
	const bool is_deleted = GENERATE(true, false);
	CAPTURE(is_deleted);
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, { { "a", "1" } });
	make_store(dir.file("b.mdb"), { { "a", "2" } });
	const opened_reader opened(path);
	REQUIRE(opened.status() == STORE_OK);
	CHECK(reader_is_current(opened.get()));
	REQUIRE(write_in_child(path, "1") == 0);
	CHECK(reader_is_current(opened.get()));

	if (is_deleted)
		REQUIRE(unlink(path.c_str()) == 0);
	else
		REQUIRE(rename(dir.file("b.mdb").c_str(), path.c_str()) == 0);
	CHECK_FALSE(reader_is_current(opened.get()));
	REQUIRE(reader_begin(opened.get()) == STORE_OK); // and can still be read
	CHECK(get(opened.get(), "a") == "1");
	reader_end(opened.get());
}

// ---- what cannot be opened ----

static int open_status(const std::string &path)
{
	return opened_reader(path).status();
}

TEST_CASE("what is no file with bytes is refused with its reason", "[store][reader]")
{
	const tmpdir dir;
	CHECK(open_status(dir.file("none.mdb")) == -ENOENT);
	CHECK(open_status(dir.path()) == -EISDIR);
	write_file(dir.file("empty"), "");
	CHECK(open_status(dir.file("empty")) == STORE_EUNFINISHED);
	CHECK(open_status(dir.file("empty/a.mdb")) == -ENOTDIR);
	REQUIRE(mkfifo(dir.file("fifo").c_str(), 0600) == 0);
	CHECK(open_status(dir.file("fifo")) == STORE_ENOTSTORE);
	CHECK(std::filesystem::file_size(dir.file("empty")) == 0);
}

TEST_CASE("a file of another kind is no store", "[store][reader]")
{
	const size_t size = GENERATE(1u, 15u, 152u, 4095u, 4096u, 8192u, 100000u);
	const bool is_text = GENERATE(true, false);
	CAPTURE(size, is_text);
	randomness rnd(static_cast<unsigned>(size));
	std::string content;
	while (content.size() < size)
		content += is_text ? '#' : static_cast<char>(rnd.below(256));
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	write_file(path, content);
	CHECK(open_status(path) == STORE_ENOTSTORE);
	CHECK(read_file(path) == content);
}

TEST_CASE("an LMDB file of another program is no finished store", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("other.mdb");
	MDB_env *env = nullptr;
	REQUIRE(mdb_env_create(&env) == 0);
	REQUIRE(mdb_env_open(env, path.c_str(), MDB_NOSUBDIR, 0600) == 0);
	mdb_env_close(env);
	CHECK(open_status(path) == STORE_EUNFINISHED);
}

TEST_CASE("a store that is cut short is refused before it is read", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, many_entries());
	const std::string content = read_file(path);
	REQUIRE(content.size() > 20 * 4096);
	const std::string cut_path = dir.file("cut.mdb");
	std::set<size_t> sizes = { 1, 100, 4095, 4097, 8191, 8193, content.size() - 1 };
	for (size_t size = 4096; size < content.size(); size += 3 * 4096)
		sizes.insert(size);
	for (size_t size : sizes) {
		CAPTURE(size, content.size());
		write_file(cut_path, content.substr(0, size));
		child opening([&] { return -open_status(cut_path) - 2000; });
		const int opened = -2000 - opening.wait();
		dnsblv6_facts facts;
		const int verified = verify_store(cut_path.c_str(), &zone_store, &facts);
		CHECK(verified == opened);
		// Less than the two pages that say what the file is: perhaps not even that.
		if (size < 2 * 4096 && opened != STORE_ECUT)
			CHECK(opened == STORE_ENOTSTORE);
		else
			CHECK(opened == STORE_ECUT);
	}
}

// ---- damage ----

// What reading all of a damaged store in a child comes to.
enum { READ_REFUSED = 10, READ_SAME = 11, READ_OTHER = 12 };

static int read_damaged(const std::string &path, const table &wanted)
{
	child reading([&] {
		silence(); // LMDB's assertions, the sanitizer's report
		if (open_and_verify(path) != STORE_OK)
			return int{ READ_REFUSED };
		return read_table(path, STORE_RECORDS) == wanted ? int{ READ_SAME }
								 : int{ READ_OTHER };
	});
	return reading.wait();
}

TEST_CASE("a page that was overwritten is found, or is not in use", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	const table entries = many_entries();
	make_store(path, entries);
	const std::string content = read_file(path);
	const char filling = GENERATE('\0', '\xff', 'x');
	CAPTURE(int{ filling });
	unsigned found = 0;
	const std::string damaged_path = dir.file("damaged.mdb");
	for (size_t page = 2; page < content.size() / 4096; page++) {
		CAPTURE(page);
		std::string damaged = content;
		damaged.replace(page * 4096, 4096, 4096, filling);
		write_file(damaged_path, damaged);
		const int result = read_damaged(damaged_path, entries);
		CHECK(result != READ_OTHER);
		found += result != READ_SAME; // refused or crashed: the child says either
	}
	CHECK(found > content.size() / 4096 / 2);
}

TEST_CASE("verifying in a child survives what is found there", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, many_entries());
	const std::string content = read_file(path);
	const std::string damaged_path = dir.file("damaged.mdb");
	int crashed_or_refused = 0;
	for (size_t page = 2; page < content.size() / 4096; page++) {
		std::string damaged = content;
		dnsblv6_facts facts;
		damaged.replace(page * 4096, 4096, 4096, '\xff');
		write_file(damaged_path, damaged);
		crashed_or_refused +=
			verify_store(damaged_path.c_str(), &zone_store, &facts) != DNSBLV6_OK;
	}
	CHECK(crashed_or_refused > 0);
}

TEST_CASE("a verification can be waited for elsewhere, and cancelled", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, many_entries());
	struct verify run;
	dnsblv6_facts facts;
	REQUIRE(verify_start(&run, path.c_str(), &zone_store, VERIFY_SOON) == DNSBLV6_OK);
	pollfd waiting = { run.fd, POLLIN, 0 };
	REQUIRE(poll(&waiting, 1, 60000) == 1);
	CHECK(verify_finish(&run, &facts) == STORE_ECORRUPT); // it has no facts
	REQUIRE(verify_start(&run, path.c_str(), &zone_store, VERIFY_SOON) == DNSBLV6_OK);
	verify_cancel(&run);
	CHECK(waitpid(run.pid, nullptr, WNOHANG) == -1);
}

TEST_CASE("a verifier that is killed says nothing about the store", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, many_entries());
	struct verify run;
	dnsblv6_facts facts;
	int ret = STORE_ECORRUPT; // it has no facts; so it is when one was done before the signal
	for (int tries = 0; tries < 1000 && ret == STORE_ECORRUPT; tries++) {
		REQUIRE(verify_start(&run, path.c_str(), &zone_store, VERIFY_IDLE) == DNSBLV6_OK);
		verify_kill(&run);
		do {
			ret = verify_try_finish(&run, &facts);
		} while (ret == -EAGAIN);
	}
	CHECK(ret == STORE_EVERIFIER);
}

TEST_CASE("a verifier that crashes has found damage", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, many_entries());
	struct verify run;
	dnsblv6_facts facts;
	REQUIRE(verify_start(&run, path.c_str(), &zone_store, VERIFY_SOON) == DNSBLV6_OK);
	kill(run.pid, SIGSEGV);
	CHECK(verify_finish(&run, &facts) == STORE_ECORRUPT);
}

TEST_CASE("verifying hands out the facts of a whole store", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	dnsblv6_facts facts = {};
	facts.zone = { 8, { 7, 'e', 'x', 'a', 'm', 'p', 'l', 'e' } };
	facts.serial = 4711;
	facts.ipv4_count = 1234567;
	uint8_t encoded[DNSBLV6_FACTS_MAX];
	const size_t size = dnsblv6_facts_encode(&facts, encoded);
	REQUIRE(write_store(path, [&](writer *w) {
			return put(w, STORE_FACTS, DNSBLV6_FACT_ZONE,
				   { reinterpret_cast<char *>(encoded), size });
		}) == STORE_OK);
	dnsblv6_facts found = {};
	REQUIRE(verify_store(path.c_str(), &zone_store, &found) == DNSBLV6_OK);
	CHECK(found.serial == 4711);
	CHECK(found.ipv4_count == 1234567);
	CHECK(verify_store(dir.file("none.mdb").c_str(), &zone_store, &found) == -ENOENT);

	make_store(dir.file("factless.mdb"), { { "a", "1" } });
	CHECK(verify_store(dir.file("factless.mdb").c_str(), &zone_store, &found) ==
	      STORE_ECORRUPT);
}

TEST_CASE("one changed byte of a value is found", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, { { "a", "MARKED-VALUE-ONE" }, { "MARKED-KEY", "x" } });
	std::string content = read_file(path);
	const std::string mark = GENERATE(as<std::string>{}, "MARKED-VALUE", "MARKED-KEY");
	CAPTURE(mark);
	size_t count = 0;
	for (size_t at = content.find(mark); at != std::string::npos;
	     at = content.find(mark, at + 1)) {
		content[at + 3] ^= 0x20;
		count++;
	}
	REQUIRE(count > 0);
	write_file(path, content);
	CHECK(open_and_verify(path) == STORE_ECORRUPT);
}

static uint64_t number_at(const std::string &content, size_t at)
{
	uint64_t number = 0;
	memcpy(&number, content.data() + at, sizeof(number));
	return number;
}

// Where the root of LMDB's table of freed pages is, in the newest version.
static size_t freed_pages_of(const std::string &content)
{
	const size_t version = 16 + 128;
	const size_t newest =
		number_at(content, version) > number_at(content, 4096 + version) ? 0 : 4096;
	return number_at(content, newest + 16 + 24 + 40) * 4096;
}

TEST_CASE("freed pages that cannot be are damage, before a writer takes them", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	for (const char *value : { "1", "2", "3" })
		make_store(path, { { "a", value } });
	std::string content = read_file(path);
	const size_t freed = freed_pages_of(content);
	REQUIRE(freed >= 2 * 4096);
	REQUIRE(freed < content.size());
	uint16_t entry = 0;
	memcpy(&entry, content.data() + freed + 16, sizeof(entry));
	const size_t pages = freed + entry + 8 + 8; // behind the entry's head and its key

	const table entries = { { "a", "3" } };
	REQUIRE(read_damaged(path, entries) == READ_SAME);
	SECTION("LMDB leaves room for some that there are not")
	{
		const size_t left = GENERATE(as<size_t>{}, 0, 1);
		REQUIRE(left < number_at(content, pages));
		memcpy(&content[pages], &left, sizeof(left));
		write_file(path, content);
		CHECK(read_damaged(path, entries) == READ_SAME);
	}
	SECTION("what is there cannot be")
	{
		struct sample {
			const char *what;
			size_t at, size;
			char byte;
		};
		const size_t first = pages + 8 * number_at(content, pages);
		const sample one = GENERATE_COPY(values<sample>({
			{ "none can be read", freed, 4096, '\xff' },
			{ "a page that says it is another one", freed, 1, '\x05' },
			{ "a page of another kind", freed + 10, 1, '\x0a' },
			{ "a place less than there are entries", freed + 12, 1, '\x10' },
			{ "room where an entry is", freed + 14, 2, '\x0f' },
			{ "a number of them that is too large", pages, 8, '\x01' },
			{ "one behind the last", pages + 8, 8, '\x01' },
			{ "the first page, in which LMDB keeps what there is", first, 8, '\0' },
		}));
		CAPTURE(one.what);
		content.replace(one.at, one.size, one.size, one.byte);
		write_file(path, content);
		// Refused, or it crashed: the child says either.
		CHECK(read_damaged(path, entries) != READ_SAME);
	}
}

TEST_CASE("pages that lead to freed pages twice, or past some, are damage", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, { { "a", "1" } });
	{
		// Keeps pages that are freed from being taken again.
		const opened_reader opened(path);
		REQUIRE(opened.status() == STORE_OK);
		REQUIRE(reader_begin(opened.get()) == STORE_OK);
		child writer([&] {
			int ret = STORE_OK;
			for (int i = 0; ret == STORE_OK && i < 200; i++)
				ret = write_store(path, [&](struct writer *w) {
					return put(w, STORE_RECORDS, "a", std::to_string(i));
				});
			return ret == STORE_OK ? 0 : 1;
		});
		REQUIRE(writer.wait() == 0);
	}
	std::string content = read_file(path);
	const size_t branch = freed_pages_of(content);
	REQUIRE(content[branch + 10] == 1);
	const size_t first = branch + word_at(content, branch + 16);
	const size_t second = branch + word_at(content, branch + 18);
	const table entries = { { "a", "199" } };
	REQUIRE(read_damaged(path, entries) == READ_SAME);
	const auto is_found = [&] {
		write_file(path, content);
		return read_damaged(path, entries) != READ_SAME;
	};
	SECTION("twice")
	{
		content.replace(second, 4, content.substr(first, 4));
		CHECK(is_found());
	}
	SECTION("past the last")
	{
		content[branch + 12] = static_cast<char>(content[branch + 12] - 2);
		CHECK(is_found());
	}
}

TEST_CASE("a head of a page that is not as its entries are is damage", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	table entries;
	for (int i = 0; i < 300; i++)
		entries["key" + std::to_string(i)] = std::string(60, 'x');
	make_store(path, entries);
	std::string content = read_file(path);
	size_t page = content.find("key299") / 4096 * 4096;
	REQUIRE(read_damaged(path, entries) == READ_SAME);
	// Number, flags, end of the places, begin of the entries.
	const size_t at = GENERATE(as<size_t>{}, 7, 10, 12, 14, 15);
	CAPTURE(at);
	content[page + at] ^= 4;
	write_file(path, content);
	CHECK(read_damaged(path, entries) != READ_SAME);
}

// A place in the branch above the leaves of what make_store() made of so many.
static size_t find_branch(const std::string &content)
{
	size_t page = 2 * 4096;
	while (page < content.size() && word_at(content, page + 10) != 1)
		page += 4096;
	REQUIRE(page < content.size());
	return page;
}

TEST_CASE("a branch that leads to another page than the key's is damage", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	table entries;
	for (int i = 100; i < 400; i++)
		entries["key" + std::to_string(i)] = std::string(60, 'x');
	make_store(path, entries);
	std::string content = read_file(path);
	const size_t page = find_branch(content);
	const size_t last = page + word_at(content, page + 12) - 2;
	const size_t place = GENERATE_COPY(page + 18, last); // the first entry has no key
	const size_t key = page + word_at(content, place) + 8;
	REQUIRE(content.substr(key, 3) == "key");
	REQUIRE(read_damaged(path, entries) == READ_SAME);
	content[key] = GENERATE('a', 'z');
	write_file(path, content);
	CHECK(read_damaged(path, entries) != READ_SAME);
}

TEST_CASE("a head of a branch that is not as its entries are is damage", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	table entries;
	for (int i = 100; i < 400; i++)
		entries["key" + std::to_string(i)] = std::string(60, 'x');
	make_store(path, entries);
	std::string content = read_file(path);
	const size_t page = find_branch(content);
	REQUIRE(read_damaged(path, entries) == READ_SAME);
	// Number, flags, end of the places, begin of the entries.
	const size_t at = GENERATE(as<size_t>{}, 7, 10, 12, 14, 15);
	CAPTURE(at);
	content[page + at] ^= 4;
	write_file(path, content);
	CHECK(read_damaged(path, entries) != READ_SAME);
}

TEST_CASE("a walk over pages that lead to the same entries again has an end", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	table entries;
	for (int i = 0; i < 200; i++) {
		entries["a" + std::to_string(i)] = "";			   // all in one page
		entries["b" + std::to_string(i)] = std::string(1900, 'x'); // two in a page
	}
	make_store(path, entries);
	std::string content = read_file(path);
	const size_t page = find_branch(content);
	const size_t first = page + word_at(content, page + 16);
	for (size_t at = page + 16; at < page + word_at(content, page + 12); at += 2)
		content.replace(page + word_at(content, at), 4, content.substr(first, 4));
	write_file(path, content);

	const opened_reader opened(path);
	REQUIRE(opened.status() == STORE_OK);
	REQUIRE(reader_begin(opened.get()) == STORE_OK);
	store_bytes key;
	store_bytes value;
	int ret = reader_seek(opened.get(), STORE_RECORDS, nullptr, 0, &key, &value);
	while (ret == STORE_OK)
		ret = reader_next(opened.get(), STORE_RECORDS, &key, &value);
	CHECK(ret == STORE_ECORRUPT);
	reader_end(opened.get());
}

TEST_CASE("sizes in LMDB's heads that cannot be are damage", "[store][reader]")
{
	struct sample {
		size_t at; // in a page, behind its header and the magic number
		std::string bytes;
	};
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, { { "a", "1" } });
	const size_t page = GENERATE(0, 1);
	const auto s = GENERATE(sample{ 32, std::string(8, '\xff') },
				sample{ 32, std::string("\0\0\0\0\0\x80\0\0", 8) },
				sample{ 40, std::string(4, '\0') },
				sample{ 40, std::string("\0\0\0\x80", 4) });
	CAPTURE(page, s.at, s.bytes);
	std::string content = read_file(path);
	content.replace(page * 4096 + s.at, s.bytes.size(), s.bytes);
	write_file(path, content);
	reader *opened = nullptr;
	CHECK(reader_open(path.c_str(), &zone_store, &opened) == STORE_ECORRUPT);
	CHECK(write_store(path, [](writer *) { return 0; }) == STORE_ECORRUPT);
	CHECK(read_file(path) == content);
}

// ---- permissions and readers ----

TEST_CASE("without permission the file or its lock file is named", "[store][reader]")
{
	if (!is_root()) {
		SUCCEED();
		return;
	}
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, { { "a", "1" } });
	chmod(dir.path().c_str(), 0755);
	chmod(path.c_str(), 0644);
	chmod((path + "-lock").c_str(), 0666);
	CHECK(as_nobody([&] { return open_status(path) == STORE_OK ? 0 : 1; }) == 0);

	chmod((path + "-lock").c_str(), 0644);
	CHECK(as_nobody([&] { return open_status(path) == STORE_ELOCK ? 0 : 1; }) == 0);

	chmod(path.c_str(), 0600);
	chmod((path + "-lock").c_str(), 0666);
	CHECK(as_nobody([&] { return open_status(path) == -EACCES ? 0 : 1; }) == 0);
}

TEST_CASE("a reader that makes the lock file makes one that others can use", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, { { "a", "1" } });
	REQUIRE(unlink((path + "-lock").c_str()) == 0); // as after copying the store alone
	const mode_t old_mask = umask(0002);
	const int status = open_status(path);
	umask(old_mask);
	REQUIRE(status == STORE_OK);
	struct stat st;
	REQUIRE(stat((path + "-lock").c_str(), &st) == 0);
	CHECK((st.st_mode & 0777) == 0664);
	CHECK(st.st_size >= 512 * 64); // a place for each reader, as a writer's has
}

// Takes reader slots in this process until there are none.
static MDB_env *take_all_slots(const std::string &path)
{
	MDB_env *env = nullptr;
	mdb_env_create(&env);
	if (mdb_env_open(env, path.c_str(), MDB_NOSUBDIR | MDB_RDONLY | MDB_NOTLS, 0) != 0)
		_exit(90);
	MDB_txn *txn = nullptr;
	int code;
	while ((code = mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn)) == 0)
		;
	if (code != MDB_READERS_FULL)
		_exit(91);
	return env;
}

TEST_CASE("a reader above the maximum is refused and told so", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, { { "a", "1" } });
	signal_pipe has_all;
	child greedy([&] {
		take_all_slots(path);
		has_all.give();
		pause();
		return 0;
	});
	has_all.take();
	CHECK(open_status(path) == STORE_EREADERS);
	greedy.kill(SIGKILL);
	greedy.wait();
}

TEST_CASE("readers that were killed leave their places to others", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, { { "a", "1" } });
	// LMDB forgets all readers when nobody has the store open: somebody has.
	const opened_reader alive(path);
	REQUIRE(alive.status() == STORE_OK);
	signal_pipe has_all;
	child greedy([&] {
		take_all_slots(path);
		has_all.give();
		pause();
		return 0;
	});
	has_all.take();
	greedy.kill(SIGKILL);
	REQUIRE(greedy.wait() == 1000 + SIGKILL);
	child next([&] { return open_status(path) == STORE_OK ? 0 : 1; });
	CHECK(next.wait() == 0);
}

TEST_CASE("closing nothing does nothing", "[store][reader]")
{
	reader_close(nullptr);
	SUCCEED();
}
