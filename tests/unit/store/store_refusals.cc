// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/lmdb/writer.h"
#include "lib/store/tables.h"

#include "tests/lib/child.hh"
#include "tests/lib/stores.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <lmdb.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

// ---- refusals of the system ----

TEST_CASE("a store that may not be written is refused with its reason", "[store][writer]")
{
	if (!is_root()) {
		SUCCEED();
		return;
	}
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	REQUIRE(write_store(path, [](writer *w) { return put(w, STORE_RECORDS, "a", "1"); }) ==
		STORE_OK);
	chmod(dir.path().c_str(), 0755);
	const auto write_as_nobody = [&](const std::string &file) {
		return as_nobody([&] {
			return -write_store(file, [](writer *) { return 0; }) == EACCES ? 0 : 1;
		});
	};
	CHECK(write_as_nobody(path) == 0);
	CHECK(write_as_nobody(dir.file("new.mdb")) == 0);
	CHECK_FALSE(std::filesystem::exists(dir.file("new.mdb")));
	CHECK(read_table(path, STORE_RECORDS) == table{ { "a", "1" } });
}

TEST_CASE("a lock file that may not be written is named as the reason", "[store][writer]")
{
	if (!is_root()) {
		SUCCEED();
		return;
	}
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	REQUIRE(write_store(path, [](writer *w) { return put(w, STORE_RECORDS, "a", "1"); }) ==
		STORE_OK);
	chmod(dir.path().c_str(), 0755);
	chmod(path.c_str(), 0666);
	chmod((path + "-lock").c_str(), 0644);
	CHECK(as_nobody([&] {
		      return write_store(path, [](writer *) { return 0; }) == STORE_ELOCK ? 0 : 1;
	      }) == 0);
}

// A disk of 1 MB at directory, seen by this process and its children alone.
static bool mount_small_disk(const std::string &directory)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
	       mount("tmpfs", directory.c_str(), "tmpfs", 0, "size=1m") == 0;
}

enum { NO_DISK = 50 };

TEST_CASE("a full disk is said to be full, and leaves the version before", "[store][writer]")
{
	if (!is_root()) {
		SUCCEED();
		return;
	}
	const tmpdir dir;
	child writing([&] {
		if (!mount_small_disk(dir.path()))
			return int{ NO_DISK };
		const std::string path = dir.file("a.mdb");
		if (write_store(path, put_much) != -ENOSPC)
			return 1;
		if (std::filesystem::exists(path) || std::filesystem::exists(path + "-lock"))
			return 2;
		if (write_store(path, [](writer *w) {
			    return put(w, STORE_RECORDS, "a", "old");
		    }) != STORE_OK)
			return 3;
		if (write_store(path, put_much) != -ENOSPC)
			return 4;
		if (open_and_verify(path) != STORE_OK ||
		    read_table(path, STORE_RECORDS) != table{ { "a", "old" } })
			return 5;
		if (write_store(path, [](writer *w) {
			    return put(w, STORE_RECORDS, "b", "new");
		    }) != STORE_OK)
			return 6;
		return open_and_verify(path) == STORE_OK ? 0 : 7;
	});
	const int status = writing.wait();
	if (status == NO_DISK) {
		WARN("skipped: no mount namespace here");
		SUCCEED();
		return;
	}
	CHECK(status == 0);
}

TEST_CASE("a first version that has not all of its room leaves nothing, page by page",
	  "[store][writer]")
{
	if (!is_root()) {
		SUCCEED();
		return;
	}
	const tmpdir dir;
	child writing([&] {
		if (!mount_small_disk(dir.path()))
			return int{ NO_DISK };
		const std::string path = dir.file("a.mdb");
		const std::string filler = dir.file("filler");
		const off_t page = sysconf(_SC_PAGESIZE);
		for (off_t size = 1024 * 1024; size > 0; size -= page) {
			std::ofstream(filler).close();
			const int fd = open(filler.c_str(), O_WRONLY | O_CLOEXEC);
			const int full = posix_fallocate(fd, 0, size);
			close(fd);
			const int ret = full != 0 ? -full : write_store(path, [](writer *w) {
				return put(w, STORE_RECORDS, "a", "1");
			});
			if (ret == STORE_OK)
				return size < 1024 * 1024 ? 0 : 1;
			if (ret != -ENOSPC)
				return 2;
			if (std::filesystem::exists(path) ||
			    std::filesystem::exists(path + "-lock"))
				return 3;
			std::filesystem::remove(filler);
		}
		return 4;
	});
	const int status = writing.wait();
	if (status == NO_DISK) {
		WARN("skipped: no mount namespace here");
		SUCCEED();
		return;
	}
	CHECK(status == 0);
}

// ---- other versions ----

// Changes one fact behind the library's back.
static void put_raw_fact(const std::string &path, const std::string &key, const std::string &value)
{
	MDB_env *env = nullptr;
	MDB_txn *txn = nullptr;
	MDB_dbi dbi;
	REQUIRE(mdb_env_create(&env) == 0);
	REQUIRE(mdb_env_set_maxdbs(env, 8) == 0);
	REQUIRE(mdb_env_open(env, path.c_str(), MDB_NOSUBDIR, 0600) == 0);
	REQUIRE(mdb_txn_begin(env, nullptr, 0, &txn) == 0);
	REQUIRE(mdb_dbi_open(txn, "facts", 0, &dbi) == 0);
	MDB_val k = { key.size(), const_cast<char *>(key.data()) };
	MDB_val v = { value.size(), const_cast<char *>(value.data()) };
	REQUIRE(mdb_put(txn, dbi, &k, &v, 0) == 0);
	REQUIRE(mdb_txn_commit(txn) == 0);
	mdb_env_close(env);
}

TEST_CASE("a store of another schema is neither written nor read", "[store][writer][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	REQUIRE(write_store(path, [](writer *w) { return put(w, STORE_RECORDS, "a", "1"); }) ==
		STORE_OK);
	const std::string schema = read_table(path, STORE_FACTS).at("schema");
	REQUIRE(schema == std::string("\0\0\0\3", 4));

	put_raw_fact(path, "schema", std::string("\0\0\0\1", 4));
	bool was_called = false;
	CHECK(write_store(path, [&](writer *) {
		      was_called = true;
		      return 0;
	      }) == STORE_ESCHEMA);
	CHECK_FALSE(was_called);
	CHECK(opened_reader(path).status() == STORE_ESCHEMA);

	put_raw_fact(path, "schema", "jun");
	CHECK(write_store(path, [](writer *) { return 0; }) == STORE_ECORRUPT);
	CHECK(opened_reader(path).status() == STORE_ECORRUPT);
}

TEST_CASE("a status of lib/store has a number and a text of its own", "[store][writer]")
{
#define X(name, code, text)                                                                        \
	CHECK((name) <= -2100);                                                                    \
	CHECK((name) > -2200);                                                                     \
	CHECK(std::string(store_strerror(name)) == (text));
	STORE_STATUS_MAP(X)
#undef X
	CHECK(std::string(store_strerror(DNSBLV6_EKEY)) == dnsblv6_strerror(DNSBLV6_EKEY));
	CHECK(std::string(store_strerror(-ENOSPC)) == dnsblv6_strerror(-ENOSPC));
}

TEST_CASE("a file of another program is refused and keeps its bytes", "[store][writer]")
{
	tmpdir dir;
	auto path = dir.file("foreign.mdb");
	MDB_env *env = nullptr;
	MDB_txn *txn = nullptr;
	MDB_dbi table = 0;
	MDB_val key = { 3, const_cast<char *>("key") };
	REQUIRE(mdb_env_create(&env) == MDB_SUCCESS);
	REQUIRE(mdb_env_open(env, path.c_str(), MDB_NOSUBDIR, 0600) == MDB_SUCCESS);
	REQUIRE(mdb_txn_begin(env, nullptr, 0, &txn) == MDB_SUCCESS);
	REQUIRE(mdb_dbi_open(txn, nullptr, 0, &table) == MDB_SUCCESS);
	REQUIRE(mdb_put(txn, table, &key, &key, 0) == MDB_SUCCESS);
	REQUIRE(mdb_txn_commit(txn) == MDB_SUCCESS);
	mdb_env_close(env);

	// As behind the end of what is committed, while that program writes.
	auto length = std::filesystem::file_size(path) + 40960;
	std::filesystem::resize_file(path, length);
	auto nothing = [](writer *, void *) { return 0; };
	CHECK(writer_run(path.c_str(), &zone_store, nothing, nullptr) == STORE_ENOTSTORE);
	CHECK(opened_reader(path).status() == STORE_ENOTSTORE);
	CHECK(std::filesystem::file_size(path) == length);

	REQUIRE(mdb_env_create(&env) == MDB_SUCCESS);
	REQUIRE(mdb_env_open(env, path.c_str(), MDB_NOSUBDIR, 0600) == MDB_SUCCESS);
	REQUIRE(mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn) == MDB_SUCCESS);
	REQUIRE(mdb_dbi_open(txn, nullptr, 0, &table) == MDB_SUCCESS);
	MDB_stat count = {};
	CHECK(mdb_stat(txn, table, &count) == MDB_SUCCESS);
	CHECK(count.ms_entries == 1);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}
