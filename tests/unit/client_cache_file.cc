// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/client_cache.hh"

#include "tests/lib/child.hh"
#include "tests/lib/tmpdir.hh"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>

namespace
{
const char *const zones[] = { "bl6.example", "second.example" };

int create(const std::string &path, cache_ptr &ret_cache, uint64_t size_bytes = 65536)
{
	cache *table = nullptr;
	const int ret = cache_create_file(path.c_str(), size_bytes, zones, 2, &table);
	if (ret == DNSBLV6_OK)
		ret_cache.reset(table);
	return ret;
}

int map(const std::string &path, cache_ptr &ret_cache)
{
	cache *table = nullptr;
	const int ret = cache_map_file(path.c_str(), &table);
	if (ret == DNSBLV6_OK)
		ret_cache.reset(table);
	return ret;
}

// A payload that says whether it was put as it is, and under that key.
cache_entry sealed(const cache *table, cache_key key, uint64_t version)
{
	cache_entry entry = entry_of(table, 0);
	const uint64_t words[2] = { version, (version ^ key.word) * 0x2545f4914f6cdd1d };
	memcpy(entry.payload.bytes, words, sizeof(words));
	return entry;
}

bool is_sealed(cache_key key, const cache_entry &entry)
{
	uint64_t words[2];
	memcpy(words, entry.payload.bytes, sizeof(words));
	return entry.kind == CACHE_BITMAP && words[1] == (words[0] ^ key.word) * 0x2545f4914f6cdd1d;
}
} // namespace

TEST_CASE("who maps the file sees what its writer puts, and changes nothing", "[client][cache]")
{
	tmpdir dir;
	const std::string path = dir.file("cache");
	cache_ptr writer;
	cache_ptr reader;
	REQUIRE(map(path, reader) == -ENOENT);
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	REQUIRE(map(path, reader) == DNSBLV6_OK);
	const cache_key key = cache_key_block(1, ipv4(7));
	const cache_entry entry = entry_of(writer.get(), 3);
	cache_put(writer.get(), key, &entry);
	cache_set_zone_word(writer.get(), 1, 5);
	CHECK(get(reader.get(), key) == 3);
	CHECK(cache_zone_word(reader.get(), 1) == 5);
	CHECK(cache_now_s(reader.get()) >= 1);
	CHECK(cache_key_address(reader.get(), 0, { 1, 1 }).word ==
	      cache_key_address(writer.get(), 0, { 1, 1 }).word);

	const cache_entry no = entry_of(reader.get(), 4);
	cache_put(reader.get(), key, &no);
	cache_mark(reader.get(), key);
	cache_set_zone_word(reader.get(), 1, 6);
	CHECK(get(writer.get(), key) == 3);
	CHECK(cache_zone_word(writer.get(), 1) == 5);

	struct stat status = {};
	REQUIRE(stat(path.c_str(), &status) == 0);
	CHECK((status.st_mode & 07777) == 0644);
	CHECK(status.st_size == 65536);
	CHECK(status.st_blocks * 512 >= 65536);
}

TEST_CASE("a new era is one for all who map the file, and for its next writer", "[client][cache]")
{
	tmpdir dir;
	const std::string path = dir.file("cache");
	cache_ptr writer;
	cache_ptr reader;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	REQUIRE(map(path, reader) == DNSBLV6_OK);
	const cache_key key = cache_key_block(1, ipv4(7));
	const cache_key other = cache_key_block(0, ipv4(7));
	const cache_entry entry = entry_of(writer.get(), 3);
	cache_put(writer.get(), key, &entry);
	cache_put(writer.get(), other, &entry);
	cache_begin_era(reader.get(), 1);
	CHECK(get(reader.get(), key) == 3);
	cache_begin_era(writer.get(), 1);
	CHECK(cache_zone_era(reader.get(), 1) == 1);
	CHECK(get(reader.get(), key) == -1);
	CHECK(get(reader.get(), other) == 3);

	writer.reset();
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	CHECK(cache_zone_era(writer.get(), 1) == 1);
	CHECK(get(writer.get(), key) == -1);
	CHECK(get(writer.get(), other) == 3);
	const cache_entry young = entry_of(writer.get(), 4);
	cache_put(writer.get(), key, &young);
	CHECK(get(reader.get(), key) == 4);
}

TEST_CASE("zones of a file are found by name, in any case", "[client][cache]")
{
	tmpdir dir;
	cache_ptr writer;
	cache_ptr reader;
	REQUIRE(create(dir.file("cache"), writer) == DNSBLV6_OK);
	REQUIRE(map(dir.file("cache"), reader) == DNSBLV6_OK);
	CHECK(cache_zone_index(reader.get(), "bl6.example") == 0);
	CHECK(cache_zone_index(reader.get(), "Second.EXAMPLE.") == 1);
	CHECK(cache_zone_index(reader.get(), "second.exampl") == -ENOENT);
	CHECK(cache_zone_index(reader.get(), "") == -ENOENT);
	CHECK(cache_zone_index(new_cache().get(), "bl6.example") == -ENOENT);
}

TEST_CASE("a file has one writer at a time", "[client][cache]")
{
	tmpdir dir;
	cache_ptr writer;
	cache_ptr second;
	REQUIRE(create(dir.file("cache"), writer) == DNSBLV6_OK);
	CHECK(create(dir.file("cache"), second) == -EBUSY);
	child other([&] { return create(dir.file("cache"), second) == -EBUSY ? 0 : 1; });
	CHECK(other.wait() == 0);
	writer.reset();
	CHECK(create(dir.file("cache"), second) == DNSBLV6_OK);
}

TEST_CASE("the next writer finds what the last one knew, killed or not", "[client][cache]")
{
	const bool is_killed = GENERATE(false, true);
	CAPTURE(is_killed);
	tmpdir dir;
	const std::string path = dir.file("cache");
	const cache_key key = cache_key_block(1, ipv4(7));
	signal_pipe has_put;
	child first([&] {
		cache_ptr writer;
		if (create(path, writer) != DNSBLV6_OK)
			return 1;
		const cache_entry entry = entry_of(writer.get(), 3);
		cache_put(writer.get(), key, &entry);
		has_put.give();
		while (is_killed)
			pause();
		return 0; // writer ends here
	});
	has_put.take();
	cache_ptr reader;
	if (is_killed) {
		REQUIRE(map(path, reader) == DNSBLV6_OK);
		first.kill(SIGKILL);
		CHECK(first.wait() == 1000 + SIGKILL);
		CHECK(cache_is_current(reader.get(), path.c_str()));
	} else {
		CHECK(first.wait() == 0);
		REQUIRE(map(path, reader) == DNSBLV6_OK);
		CHECK_FALSE(cache_is_current(reader.get(), path.c_str()));
	}
	cache_ptr writer;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	CHECK(get(writer.get(), key) == 3);
	CHECK(cache_is_current(reader.get(), path.c_str()));
	writer.reset();
	CHECK_FALSE(cache_is_current(reader.get(), path.c_str()));
}

TEST_CASE("a file of another size or of other zones is replaced, and its readers go on",
	  "[client][cache]")
{
	const bool has_other_zones = GENERATE(false, true);
	tmpdir dir;
	const std::string path = dir.file("cache");
	const cache_key key = cache_key_block(1, ipv4(7));
	cache_ptr writer;
	cache_ptr reader;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	const cache_entry entry = entry_of(writer.get(), 3);
	cache_put(writer.get(), key, &entry);
	REQUIRE(map(path, reader) == DNSBLV6_OK);
	writer.reset();
	cache *table = nullptr;
	const char *const others[] = { "second.example", "bl6.example" };
	REQUIRE(cache_create_file(path.c_str(), has_other_zones ? 65536 : 131072,
				  has_other_zones ? others : zones, 2, &table) == DNSBLV6_OK);
	writer.reset(table);
	CHECK(get(writer.get(), key) == -1);
	CHECK(get(reader.get(), key) == 3);
	CHECK_FALSE(cache_is_current(reader.get(), path.c_str()));
	REQUIRE(map(path, reader) == DNSBLV6_OK);
	CHECK(cache_is_current(reader.get(), path.c_str()));
}

TEST_CASE("what was put before the machine started is not believed", "[client][cache]")
{
	const unsigned word = GENERATE(unsigned{ CACHE_WORD_EPOCH }, unsigned{ CACHE_WORD_BOOT });
	CAPTURE(word);
	tmpdir dir;
	const std::string path = dir.file("cache");
	cache_ptr writer;
	cache_ptr reader;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	const cache_key key = cache_key_block(1, ipv4(7));
	const cache_entry entry = entry_of(writer.get(), 3);
	cache_put(writer.get(), key, &entry);
	writer->header[word] += 1000000;
	writer.reset();
	CHECK(map(path, reader) == -EPROTO);
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	CHECK(get(writer.get(), key) == -1);
	CHECK(map(path, reader) == DNSBLV6_OK);
}

TEST_CASE("a file that is no table is refused, and replaced by a writer", "[client][cache]")
{
	const std::string what =
		GENERATE(as<std::string>{}, "empty", "cut", "longer", "version", "magic", "random",
			 "zeros", "sets", "names", "zones", "writable", "fifo", "directory");
	CAPTURE(what);
	tmpdir dir;
	const std::string path = dir.file("cache");
	cache_ptr writer;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	writer.reset();
	std::string bytes = read_file(path);
	const auto change = [&](cache_word word, char add) {
		bytes[static_cast<unsigned>(word) * 8] =
			static_cast<char>(bytes[static_cast<unsigned>(word) * 8] + add);
	};
	if (what == "empty" || what == "fifo" || what == "directory")
		bytes.clear();
	else if (what == "cut")
		bytes.resize(bytes.size() - 4096);
	else if (what == "longer")
		bytes.resize(bytes.size() + 4096);
	else if (what == "version")
		change(CACHE_WORD_VERSION, 1);
	else if (what == "magic")
		change(CACHE_WORD_MAGIC, 1);
	else if (what == "sets")
		change(CACHE_WORD_SETS, 1);
	else if (what == "names")
		change(CACHE_WORD_NAMES_SIZE, -1);
	else if (what == "zones")
		change(CACHE_WORD_ZONES, 1);
	else if (what == "zeros")
		bytes.assign(bytes.size(), '\0');
	else if (what == "random")
		for (char &byte : bytes)
			byte = static_cast<char>(rand());
	write_file(path, bytes);
	if (what == "writable")
		REQUIRE(chmod(path.c_str(), 0664) == 0);
	if (what == "fifo")
		REQUIRE((unlink(path.c_str()) == 0 && mkfifo(path.c_str(), 0644) == 0));
	if (what == "directory")
		REQUIRE((unlink(path.c_str()) == 0 && mkdir(path.c_str(), 0755) == 0));

	cache_ptr reader;
	CHECK(map(path, reader) == -EPROTO);
	CHECK(create(path, writer) == (what == "directory" ? -EISDIR : DNSBLV6_OK));
	CHECK((map(path, reader) == DNSBLV6_OK) == (what != "directory"));
}

TEST_CASE("a file of another user is believed only in a directory of that user's",
	  "[client][cache]")
{
	if (geteuid() != 0) {
		WARN("skipped: it takes root to give files away");
		SUCCEED();
		return;
	}
	enum { OTHER = 12345, THIRD = 12346 };
	tmpdir dir;
	const std::string path = dir.file("cache");
	cache_ptr writer;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	REQUIRE(chmod(dir.path().c_str(), 0755) == 0);
	const auto map_as = [&](uid_t user) {
		child reader([&] {
			cache_ptr mapped;
			if (setuid(user) != 0)
				return 2;
			const int ret = map(path, mapped);
			return ret == DNSBLV6_OK ? 0 : ret == -EPROTO ? 1 : 3;
		});
		return reader.wait();
	};
	CHECK(map_as(THIRD) == 0); // root's
	REQUIRE(chown(path.c_str(), OTHER, OTHER) == 0);
	CHECK(map_as(OTHER) == 0);
	CHECK(map_as(THIRD) == 1);
	REQUIRE(chown(dir.path().c_str(), OTHER, OTHER) == 0);
	CHECK(map_as(THIRD) == 0);
	REQUIRE(chmod(path.c_str(), 0600) == 0);
	CHECK(map_as(THIRD) == 3); // -EACCES
}

TEST_CASE("a full disk is told when the file is made, and leaves nothing", "[client][cache]")
{
	tmpdir dir;
	child other([&] {
		if (unshare(CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0 ||
		    mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
		    mount("none", dir.path().c_str(), "tmpfs", 0, "size=64k") != 0)
			return 77;
		cache_ptr writer;
		const std::string path = dir.file("cache");
		if (create(path, writer, 1u << 20) != -ENOSPC)
			return 1;
		if (access((path + ".new").c_str(), F_OK) == 0 || access(path.c_str(), F_OK) == 0)
			return 2;
		return create(path, writer, 32768) == DNSBLV6_OK ? 0 : 3;
	});
	const int status = other.wait();
	if (status == 77) {
		WARN("skipped: no file system of its own for this test");
		SUCCEED();
		return;
	}
	CHECK(status == 0);
}

TEST_CASE("a directory that is not there is told", "[client][cache]")
{
	cache_ptr table;
	CHECK(create("/nonexistent/cache", table) == -ENOENT);
	CHECK(map("/nonexistent/cache", table) == -ENOENT);
	cache *none = nullptr;
	CHECK(cache_create_file("/nonexistent/cache", 100, zones, 2, &none) == -EINVAL);
	CHECK(cache_create_file("/nonexistent/cache", 65536, zones, CACHE_ZONES_MAX + 1, &none) ==
	      -EINVAL);
}

// ---- kill -9 ----

// tests/campaign-cache asks for more.
static unsigned kill_rounds()
{
	const char *text = getenv("DNSBLV6_KILLS");
	return text != nullptr ? static_cast<unsigned>(atoi(text)) : 1000;
}

static uint32_t key_number(uint64_t random)
{
	return static_cast<uint32_t>(random * 0x9e3779b97f4a7c15 >> 55) << 7;
}

struct findings {
	uint64_t hits = 0, wrong = 0;
};

// As many look-ups as chance wants, up to 20,000.
static void look_around(const cache *table, findings &found)
{
	for (unsigned left = static_cast<unsigned>(rand()) % 20000; left > 0; left--) {
		const cache_key key = cache_key_block(0, ipv4(key_number(left)));
		cache_entry entry = {};
		if (cache_get(table, key, &entry) != DNSBLV6_OK)
			continue;
		found.hits++;
		found.wrong += !is_sealed(key, entry);
	}
}

// Puts sealed answers about keys of a small range until it is killed.
[[noreturn]] static void write_on(cache *table, uint64_t version)
{
	for (;; version++) {
		const cache_key key = cache_key_block(0, ipv4(key_number(version)));
		const cache_entry entry = sealed(table, key, version);
		cache_put(table, key, &entry);
		cache_mark(table, key);
	}
}

TEST_CASE("readers see whole answers whenever the writer of a file is killed", "[client][cache]")
{
	const unsigned rounds = kill_rounds();
	tmpdir dir;
	const std::string path = dir.file("cache");
	cache_ptr reader;
	findings found;
	uint64_t version = 1;
	for (unsigned round = 0; round < rounds; round++, version += 1u << 24) {
		child writer([&] {
			cache_ptr table;
			if (create(path, table, CACHE_SIZE_MIN) != DNSBLV6_OK)
				return 1;
			write_on(table.get(), version);
		});
		while (reader == nullptr)
			if (map(path, reader) != DNSBLV6_OK)
				sched_yield();
		look_around(reader.get(), found);
		writer.kill(SIGKILL);
		REQUIRE(writer.wait() == 1000 + SIGKILL);
		// The next one takes over what it finds.
		REQUIRE(cache_is_current(reader.get(), path.c_str()));
	}
	CAPTURE(rounds, found.hits);
	CHECK(found.wrong == 0);
	CHECK(found.hits > rounds);
	cache_ptr last;
	REQUIRE(create(path, last, CACHE_SIZE_MIN) == DNSBLV6_OK);
	look_around(last.get(), found);
	CHECK(found.wrong == 0);
}

TEST_CASE("answers shared with children are whole whenever those are killed", "[client][cache]")
{
	const unsigned rounds = kill_rounds() / 2;
	cache_ptr table = new_cache();
	findings found;
	uint64_t version = 1;
	for (unsigned round = 0; round < rounds; round++, version += 1u << 24) {
		child one([&]() -> int { write_on(table.get(), version); });
		child other([&]() -> int { write_on(table.get(), version + (1u << 23)); });
		look_around(table.get(), found);
		one.kill(SIGKILL);
		other.kill(SIGKILL);
		REQUIRE(one.wait() == 1000 + SIGKILL);
		REQUIRE(other.wait() == 1000 + SIGKILL);
	}
	CAPTURE(rounds, found.hits);
	CHECK(found.wrong == 0);
	CHECK(found.hits > rounds);
}
