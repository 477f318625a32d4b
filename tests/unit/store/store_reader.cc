// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/lmdb/reader.h"
#include "lib/format/record.h"
#include "lib/lmdb/verify.h"
#include "lib/store/tables.h"

#include "tests/lib/child.hh"
#include "tests/lib/pages.hh"
#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"
#include "tests/lib/stores.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <dlfcn.h>
#include <lmdb.h>
#include <pthread.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <set>

static int refused_locks; // so many more

// In place of libc's: of a mutex that another process has destroyed.
extern "C" int pthread_mutex_lock(pthread_mutex_t *mutex) noexcept
{
	static const auto lock = reinterpret_cast<int (*)(pthread_mutex_t *)>(
		dlsym(RTLD_NEXT, "pthread_mutex_lock"));
	if (refused_locks > 0) {
		refused_locks--;
		return EINVAL;
	}
	return lock(mutex);
}

TEST_CASE("a store whose mutexes have just been destroyed is opened again", "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, { { "key", "value" } });
	refused_locks = 3;
	const opened_reader opened(path);
	CHECK(refused_locks == 0);
	REQUIRE(opened.status() == STORE_OK);
	REQUIRE(reader_begin(opened.get()) == STORE_OK);
	reader_end(opened.get());
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

TEST_CASE("without its lock file a reader sees each version, and how far behind it is",
	  "[store][reader]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, { { "a", "old" } });
	const opened_reader locked(path);
	std::filesystem::remove(path + "-lock");
	reader *unlocked = nullptr;
	REQUIRE(reader_open_unlocked(path.c_str(), &zone_store, &unlocked) == STORE_OK);
	CHECK(!std::filesystem::exists(path + "-lock"));
	REQUIRE(write_in_child(path, "new") == 0);

	REQUIRE(reader_begin(locked.get()) == STORE_OK);
	CHECK(get(locked.get(), "a") == "old");
	CHECK(reader_lag(locked.get()) == 1);
	reader_end(locked.get());

	REQUIRE(reader_begin(unlocked) == STORE_OK);
	CHECK(reader_lag(unlocked) == 0);
	REQUIRE(write_in_child(path, "newer") == 0);
	CHECK(get(unlocked, "a") == "new");
	CHECK(reader_lag(unlocked) == 1);
	REQUIRE(write_in_child(path, "newest") == 0);
	CHECK(reader_lag(unlocked) == 2);
	reader_end(unlocked);
	REQUIRE(reader_begin(unlocked) == STORE_OK);
	CHECK(get(unlocked, "a") == "newest");
	reader_close(unlocked);
}

TEST_CASE("a store that was moved to the place of one that is open says so, until it is written to",
	  "[store][reader]")
{
	const int versions = GENERATE(2, 3, 4);
	CAPTURE(versions);
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	make_store(path, { { "a", "old" } });
	for (int i = 1; i < versions; i++)
		REQUIRE(write_in_child(path, "old") == 0);
	const opened_reader opened(path);
	make_store(dir.file("b.mdb"), { { "a", "moved" } });
	std::filesystem::rename(dir.file("b.mdb"), path);
	child refused([&] { return open_and_verify(path) == STORE_EMOVED ? 0 : 1; });
	CHECK(refused.wait() == 0);
	REQUIRE(write_in_child(path, "new") == 0);
	child reading([&] {
		const opened_reader moved(path);
		return moved.status() == STORE_OK && reader_begin(moved.get()) == STORE_OK &&
				       get(moved.get(), "a") == "new"
			       ? 0
			       : 1;
	});
	CHECK(reading.wait() == 0);
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
	CHECK_FALSE(std::filesystem::exists(path + "-lock"));
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
	REQUIRE(content.size() > 8 * page_size());
	const std::string cut_path = dir.file("cut.mdb");
	std::set<size_t> sizes = { 1,
				   100,
				   page_size() - 1,
				   page_size() + 1,
				   2 * page_size() - 1,
				   2 * page_size() + 1,
				   content.size() - 1 };
	for (size_t size = page_size(); size < content.size(); size += 3 * page_size())
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
		if (size < 2 * page_size() && opened != STORE_ECUT)
			CHECK(opened == STORE_ENOTSTORE);
		else
			CHECK(opened == STORE_ECUT);
	}
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

TEST_CASE("a lock file that root makes is the store's owner's, or its directory's",
	  "[store][reader]")
{
	if (!is_root()) {
		SUCCEED();
		return;
	}
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	const std::string lock = path + "-lock";
	make_store(path, { { "a", "1" } });
	auto lock_owner = [&](uid_t owner, uid_t of_directory) {
		struct stat st = {};
		unlink(lock.c_str());
		CHECK(chown(path.c_str(), owner, owner) == 0);
		CHECK(chown(dir.path().c_str(), of_directory, of_directory) == 0);
		CHECK(open_status(path) == STORE_OK);
		CHECK(stat(lock.c_str(), &st) == 0);
		return std::make_pair(st.st_uid, st.st_gid);
	};
	CHECK(lock_owner(0, 0) == std::make_pair<uid_t, gid_t>(0, 0));
	CHECK(lock_owner(1234, 0) == std::make_pair<uid_t, gid_t>(1234, 1234));
	CHECK(lock_owner(1234, 2345) == std::make_pair<uid_t, gid_t>(1234, 1234));
	CHECK(lock_owner(0, 2345) == std::make_pair<uid_t, gid_t>(2345, 2345));
}

TEST_CASE("a link in the place of the lock file gives away nothing", "[store][reader]")
{
	if (!is_root()) {
		SUCCEED();
		return;
	}
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	const std::string other = dir.file("other");
	make_store(path, { { "a", "1" } });
	REQUIRE(rename((path + "-lock").c_str(), other.c_str()) == 0);
	REQUIRE(symlink(other.c_str(), (path + "-lock").c_str()) == 0);
	REQUIRE(chown(path.c_str(), 1234, 1234) == 0);
	(void)open_status(path);
	struct stat st;
	REQUIRE(stat(other.c_str(), &st) == 0);
	CHECK(st.st_uid == 0);
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
