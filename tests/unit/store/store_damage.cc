// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/lmdb/reader.h"
#include "lib/format/record.h"
#include "lib/lmdb/verify.h"
#include "lib/store/tables.h"

#include "tests/lib/child.hh"
#include "tests/lib/pages.hh"
#include "tests/lib/stores.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <poll.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>

static size_t word_at(const std::string &content, size_t at)
{
	uint16_t word = 0;
	memcpy(&word, content.data() + at, sizeof(word));
	return word;
}

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
	for (size_t page = 2; page < content.size() / page_size(); page++) {
		CAPTURE(page);
		std::string damaged = content;
		damaged.replace(page * page_size(), page_size(), page_size(), filling);
		write_file(damaged_path, damaged);
		const int result = read_damaged(damaged_path, entries);
		CHECK(result != READ_OTHER);
		found += result != READ_SAME; // refused or crashed: the child says either
	}
	CHECK(found > content.size() / page_size() / 2);
}

TEST_CASE("verifying in a child survives what is found there", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, many_entries());
	const std::string content = read_file(path);
	const std::string damaged_path = dir.file("damaged.mdb");
	int crashed_or_refused = 0;
	for (size_t page = 2; page < content.size() / page_size(); page++) {
		std::string damaged = content;
		dnsblv6_facts facts;
		damaged.replace(page * page_size(), page_size(), page_size(), '\xff');
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
		number_at(content, version) > number_at(content, page_size() + version)
			? 0
			: page_size();
	return number_at(content, newest + 16 + 24 + 40) * page_size();
}

TEST_CASE("freed pages that cannot be are damage, before a writer takes them", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	for (const char *value : { "1", "2", "3" })
		make_store(path, { { "a", value } });
	std::string content = read_file(path);
	const size_t freed = freed_pages_of(content);
	REQUIRE(freed >= 2 * page_size());
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
			{ "none can be read", freed, page_size(), '\xff' },
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
	size_t page = content.find("key299") / page_size() * page_size();
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
	size_t page = 2 * page_size();
	while (page < content.size() && word_at(content, page + 10) != 1)
		page += page_size();
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
	content.replace(page * page_size() + s.at, s.bytes.size(), s.bytes);
	write_file(path, content);
	reader *opened = nullptr;
	CHECK(reader_open(path.c_str(), &zone_store, &opened) == STORE_ECORRUPT);
	CHECK(write_store(path, [](writer *) { return 0; }) == STORE_ECORRUPT);
	CHECK(read_file(path) == content);
}
