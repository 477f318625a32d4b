// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/mailstore/dnsblv6-mail.h"
#include "lib/mailstore/filedisk.h"

#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>
#include <sys/uio.h>
#include <vector>

// What fsync() was called for: paths, without that of the test's directory.
static std::vector<std::string> synced;

extern "C" int __real_fsync(int fd);
extern "C" int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	synced.push_back(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)));
	return __real_fsync(fd);
}

namespace
{
bool was_synced(const std::string &path)
{
	const std::string real = std::filesystem::canonical(path);
	for (const std::string &one : synced)
		if (one == real)
			return true;
	return false;
}

bool is_open(const std::string &path)
{
	const std::string real = std::filesystem::canonical(path);
	for (const auto &one : std::filesystem::directory_iterator("/proc/self/fd")) {
		std::error_code gone; // the iterator's own
		if (std::filesystem::read_symlink(one.path(), gone) == real)
			return true;
	}
	return false;
}

struct disk_of {
	disk *it = nullptr;
	explicit disk_of(const std::string &path)
	{
		REQUIRE(filedisk_open(path.c_str(), &it) == 0);
	}
	~disk_of()
	{
		it->ops->close(it);
	}
	disk_of(const disk_of &) = delete;
	disk_of &operator=(const disk_of &) = delete;
};
} // namespace

TEST_CASE("the directories of a new store are on disk before its first mail", "[mailstore][files]")
{
	const tmpdir directory;
	const std::string path = directory.file("store");
	mail_store *store = nullptr;
	synced.clear();
	REQUIRE(mail_store_open(path.c_str(), MAIL_STORE_CREATE, &store) == 0);
	CHECK(was_synced(directory.path()));
	CHECK(was_synced(path));
	CHECK(was_synced(path + "/log"));
	mail_store_close(store);
}

// Since when a store is there is told by its identity.
TEST_CASE("a store with a mail leaves its identity as it is when it is opened again",
	  "[mailstore][files]")
{
	const tmpdir directory;
	const std::string path = directory.file("store");
	const std::filesystem::path identity = path + "/log/0000000000000000";
	const auto before = std::filesystem::file_time_type::clock::now() - std::chrono::hours(48);
	mail_store *store = nullptr;
	mail_file *box = nullptr;
	REQUIRE(mail_store_open(path.c_str(), MAIL_STORE_CREATE, &store) == 0);
	REQUIRE(mail_open(store, "a", &box) == 0);
	REQUIRE(mail_nwrite(&box, 1, "x\r\n", 3, nullptr) == 0);
	mail_close(box);
	mail_store_close(store);
	std::filesystem::last_write_time(identity, before);
	const auto set = std::filesystem::last_write_time(identity);
	REQUIRE(mail_store_open(path.c_str(), 0, &store) == 0);
	mail_store_close(store);
	CHECK(std::filesystem::last_write_time(identity) == set);
}

TEST_CASE("a name that a killed process has left is on disk with the next sync",
	  "[mailstore][files]")
{
	const tmpdir directory;
	const std::string path = directory.file("log");
	REQUIRE(filedisk_make(path.c_str()) == 0);
	{
		const disk_of before(path);
		REQUIRE(before.it->ops->create(before.it, 1) == 0);
	}
	const disk_of after(path);
	synced.clear();
	REQUIRE(after.it->ops->sync(after.it, 1) == 0);
	CHECK(was_synced(path));
	// Once is enough.
	synced.clear();
	REQUIRE(after.it->ops->sync(after.it, 1) == 0);
	CHECK(synced.empty());
}

TEST_CASE("a file that is written stays open until it is synced, whatever is read beside it",
	  "[mailstore][files]")
{
	const tmpdir directory;
	const std::string path = directory.file("log");
	REQUIRE(filedisk_make(path.c_str()) == 0);
	const disk_of log(path);
	const disk_ops *ops = log.it->ops;
	uint8_t byte = 'x';
	const iovec part{ &byte, 1 };
	constexpr uint64_t count = 20;
	for (uint64_t object = 1; object <= count; object++) {
		REQUIRE(ops->create(log.it, object) == 0);
		REQUIRE(ops->append(log.it, object, 0, &part, 1) == 0);
		REQUIRE(ops->sync(log.it, object) == 0);
	}
	const auto read_others = [&] {
		for (uint64_t object = 2; object <= count; object++)
			REQUIRE(ops->read(log.it, object, 0, &byte, 1) == 0);
	};
	SECTION("appended to")
	{
		REQUIRE(ops->append(log.it, 1, 1, &part, 1) == 0);
	}
	SECTION("written once more")
	{
		REQUIRE(ops->renew(log.it, 1, 0, 1) == 0);
	}
	read_others();
	CHECK(is_open(path + "/0000000000000001"));
	REQUIRE(ops->sync(log.it, 1) == 0);
	read_others();
	CHECK_FALSE(is_open(path + "/0000000000000001"));
}

TEST_CASE("a directory has one writer, until that closes it", "[mailstore][files]")
{
	const tmpdir directory;
	disk *second = nullptr;
	{
		const disk_of first(directory.path());
		CHECK(filedisk_open(directory.path().c_str(), &second) == -EBUSY);
	}
	REQUIRE(filedisk_open(directory.path().c_str(), &second) == 0);
	second->ops->close(second);
}

TEST_CASE("a directory is made once, and not within one that is not there", "[mailstore][files]")
{
	const tmpdir directory;
	CHECK(filedisk_make(directory.file("log").c_str()) == 0);
	CHECK(filedisk_make(directory.file("log").c_str()) == 0);
	CHECK(filedisk_make(directory.file("absent/log").c_str()) == -ENOENT);
}
