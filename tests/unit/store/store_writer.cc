// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/lmdb/writer.h"
#include "lib/store/tables.h"

#include "tests/lib/child.hh"
#include "tests/lib/pages.hh"
#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"
#include "tests/lib/stores.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <lmdb.h>
#include <sys/stat.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>

static mode_t mode_of(const std::string &path)
{
	struct stat st;
	REQUIRE(stat(path.c_str(), &st) == 0);
	return st.st_mode & 07777;
}

// ---- creating ----

TEST_CASE("a store is created with its lock file, for the group to write", "[store][writer]")
{
	const tmpdir dir;
	const std::string path = dir.file("new.mdb");
	const mode_t old_mask = umask(0002);
	bool was_new = false;
	const int ret = write_store(path, [&](writer *w) {
		was_new = writer_is_new(w);
		return put(w, STORE_RECORDS, "a", "1");
	});
	umask(old_mask);
	REQUIRE(ret == STORE_OK);
	CHECK(was_new);
	CHECK(mode_of(path) == 0664);
	CHECK(mode_of(path + "-lock") == 0664);
	CHECK(read_table(path, STORE_RECORDS) == table{ { "a", "1" } });
}

TEST_CASE("in a setgid directory the group can write the lock file whatever umask says",
	  "[store][writer]")
{
	const tmpdir dir;
	const auto path = dir.file("a.mdb");
	const auto write_one = [&] {
		return write_store(path, [](writer *w) { return put(w, STORE_RECORDS, "a", "1"); });
	};
	const mode_t old_mask = umask(0022);
	CHECK(write_one() == STORE_OK);
	CHECK(mode_of(path + "-lock") == 0644);

	const auto parent = std::filesystem::path(path).parent_path();
	REQUIRE(chmod(parent.c_str(), 02700) == 0);
	CHECK(write_one() == STORE_OK);
	CHECK(mode_of(path + "-lock") == 0664);
	CHECK(mode_of(path) == 0644);

	umask(0077);
	std::filesystem::remove(path + "-lock");
	reader *handle = nullptr;
	CHECK(reader_open(path.c_str(), &zone_store, &handle) == STORE_OK);
	reader_close(handle);
	umask(old_mask);
	CHECK(mode_of(path + "-lock") == 0660);
}

TEST_CASE("a store is new until its first commit", "[store][writer]")
{
	const tmpdir dir;
	const std::string path = dir.file("new.mdb");
	std::vector<bool> was_new;
	for (int wanted : { -EPERM, 0, 0 }) {
		const int ret = write_store(path, [&](writer *w) {
			was_new.push_back(writer_is_new(w));
			return wanted;
		});
		CHECK(ret == wanted);
	}
	CHECK(was_new == std::vector<bool>{ true, true, false });
}

TEST_CASE("a new store whose function fails leaves no file", "[store][writer]")
{
	const tmpdir dir;
	const std::string path = dir.file("new.mdb");
	const int ret = write_store(path, [](writer *w) {
		const int put_ret = put(w, STORE_RECORDS, "a", "1");
		return put_ret != STORE_OK ? put_ret : DNSBLV6_EMETADATA;
	});
	CHECK(ret == DNSBLV6_EMETADATA);
	CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("an empty file becomes a store", "[store][writer]")
{
	const tmpdir dir;
	const std::string path = dir.file("empty.mdb");
	write_file(path, "");
	REQUIRE(write_store(path, [](writer *w) { return put(w, STORE_SETS, "a", "1"); }) ==
		STORE_OK);
	CHECK(read_table(path, STORE_SETS) == table{ { "a", "1" } });
}

TEST_CASE("what is no store is not written to", "[store][writer]")
{
	const tmpdir dir;
	const std::string path = dir.file("list.txt");
	const size_t size = GENERATE(1u, 100u, 4096u, 100000u);
	CAPTURE(size);
	std::string content;
	while (content.size() < size)
		content += "192.0.2.1 # listed\n";
	content.resize(size);
	write_file(path, content);
	bool was_called = false;
	const int ret = write_store(path, [&](writer *) {
		was_called = true;
		return 0;
	});
	CHECK(ret == STORE_ENOTSTORE);
	CHECK_FALSE(was_called);
	CHECK(read_file(path) == content);
	CHECK(access((path + "-lock").c_str(), F_OK) != 0);
}

TEST_CASE("a store without a name is refused, and has no lock file", "[store][writer]")
{
	REQUIRE(access("-lock", F_OK) != 0);
	CHECK(write_store("", [](writer *) { return 0; }) == -ENOENT);
	const bool has_lock = access("-lock", F_OK) == 0;
	CHECK_FALSE(has_lock);
	if (has_lock)
		unlink("-lock");
}

TEST_CASE("a path that cannot be a store is refused with its reason", "[store][writer]")
{
	const tmpdir dir;
	const auto nothing = [](writer *) { return 0; };
	CHECK(write_store(dir.path(), nothing) == -EISDIR);
	CHECK(write_store(dir.file("none/new.mdb"), nothing) == -ENOENT);
	write_file(dir.file("file"), "x");
	CHECK(write_store(dir.file("file/new.mdb"), nothing) == -ENOTDIR);
	REQUIRE(mkfifo(dir.file("fifo").c_str(), 0600) == 0);
	CHECK(write_store(dir.file("fifo"), nothing) == STORE_ENOTSTORE);
}

// ---- entries ----

TEST_CASE("a transaction sees what it has done so far", "[store][writer]")
{
	const tmpdir dir;
	const int ret = write_store(dir.file("a.mdb"), [](writer *w) {
		store_bytes value;
		CHECK(writer_get(w, STORE_RECORDS, "a", 1, &value) == DNSBLV6_ENOTFOUND);
		CHECK(remove(w, STORE_RECORDS, "a") == DNSBLV6_ENOTFOUND);
		CHECK(put(w, STORE_RECORDS, "a", "1") == STORE_OK);
		CHECK(writer_get(w, STORE_RECORDS, "a", 1, &value) == STORE_OK);
		CHECK(text_of(value) == "1");
		CHECK(put(w, STORE_RECORDS, "a", "two") == STORE_OK);
		CHECK(writer_get(w, STORE_RECORDS, "a", 1, &value) == STORE_OK);
		CHECK(text_of(value) == "two");
		CHECK(writer_get(w, STORE_SETS, "a", 1, &value) == DNSBLV6_ENOTFOUND);
		CHECK(remove(w, STORE_RECORDS, "a") == STORE_OK);
		CHECK(writer_get(w, STORE_RECORDS, "a", 1, &value) == DNSBLV6_ENOTFOUND);
		return 0;
	});
	CHECK(ret == STORE_OK);
}

TEST_CASE("clearing a table leaves the others alone", "[store][writer]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	REQUIRE(write_store(path, [](writer *w) {
			put(w, STORE_RECORDS, "a", "1");
			put(w, STORE_SEGMENTS, "b", "2");
			return put(w, STORE_SETS, "c", "3");
		}) == STORE_OK);
	REQUIRE(write_store(path, [](writer *w) {
			const int ret = writer_clear(w, STORE_SEGMENTS);
			return ret != STORE_OK ? ret : put(w, STORE_SEGMENTS, "d", "4");
		}) == STORE_OK);
	CHECK(read_table(path, STORE_RECORDS) == table{ { "a", "1" } });
	CHECK(read_table(path, STORE_SEGMENTS) == table{ { "d", "4" } });
	CHECK(read_table(path, STORE_SETS) == table{ { "c", "3" } });
	CHECK(open_and_verify(path) == STORE_OK);
}

TEST_CASE("a store stays whole when its facts are cleared", "[store][writer]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	for (const char *value : { "1", "2" }) {
		const int ret = write_store(path, [&](writer *w) {
			const int clear_ret = writer_clear(w, STORE_FACTS);
			return clear_ret != STORE_OK ? clear_ret
						     : put(w, STORE_FACTS, "zone", value);
		});
		REQUIRE(ret == STORE_OK);
		CHECK(open_and_verify(path) == STORE_OK);
	}
	CHECK(read_table(path, STORE_FACTS).at("zone") == "2");
}

TEST_CASE("a key that LMDB cannot keep is refused", "[store][writer]")
{
	const tmpdir dir;
	const int ret = write_store(dir.file("a.mdb"), [](writer *w) {
		CHECK(put(w, STORE_RECORDS, "", "x") == DNSBLV6_EKEY);
		CHECK(put(w, STORE_RECORDS, std::string(512, 'k'), "x") == DNSBLV6_EKEY);
		return put(w, STORE_RECORDS, std::string(511, 'k'), "x");
	});
	CHECK(ret == STORE_OK);
}

// Some puts, deletes and clears, on the store and on its model.
static int change(writer *w, randomness &rnd, table *model)
{
	int ret = STORE_OK;
	if (rnd.one_in(3)) {
		ret = writer_clear(w, STORE_RECORDS);
		model->clear();
	}
	const bool in_order = rnd.one_in(2);
	unsigned number = 0;
	for (unsigned i = 0; ret == STORE_OK && i < 300; i++) {
		number = in_order ? number + 1 + rnd.below(3) : rnd.below(500);
		char key[16];
		snprintf(key, sizeof(key), "%05u", number);
		if (rnd.one_in(5)) {
			const int wanted =
				model->erase(key) > 0 ? int{ STORE_OK } : int{ DNSBLV6_ENOTFOUND };
			if (remove(w, STORE_RECORDS, key) != wanted)
				return STORE_ECORRUPT;
			continue;
		}
		const unsigned size = rnd.one_in(40) ? 3000 + rnd.below(9000) : rnd.below(40);
		const std::string value(size, static_cast<char>('a' + rnd.below(26)));
		(*model)[key] = value;
		ret = put(w, STORE_RECORDS, key, value);
	}
	return ret;
}

TEST_CASE("a store has what was put into it, in any order, over many commits", "[store][writer]")
{
	const auto seed = RANDOM_SEED(15);
	CAPTURE(seed);
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	randomness rnd(seed);
	table model;
	for (int commit = 0; commit < 8; commit++) {
		CAPTURE(commit);
		table changed = model;
		const bool fails = rnd.one_in(4);
		const int ret = write_store(path, [&](writer *w) {
			changed = model; // it may be called again
			const int change_ret = change(w, rnd, &changed);
			return change_ret == STORE_OK && fails ? -ECANCELED : change_ret;
		});
		REQUIRE(ret == (fails ? -ECANCELED : 0));
		if (!fails)
			model = changed;
		if (std::filesystem::exists(path)) {
			REQUIRE(open_and_verify(path) == STORE_OK);
			CHECK(read_table(path, STORE_RECORDS) == model);
		}
	}
}

TEST_CASE("a store whose last pages were freed unwritten is whole", "[store][writer]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	const bool is_new = GENERATE(true, false);
	CAPTURE(is_new);
	if (!is_new)
		REQUIRE(write_store(path, [](writer *w) {
				return put(w, STORE_RECORDS, "a", "1");
			}) == STORE_OK);
	// LMDB never writes a page that is allocated and freed in one transaction:
	// here the last one, behind everything else.
	const int status = write_store(path, [&](writer *w) {
		int ret = put(w, STORE_RECORDS, "b", "2");
		if (ret == STORE_OK)
			ret = put(w, STORE_RECORDS, "big", std::string(500000, 'x'));
		// Long enough before the commit: nobody sees it too short, whoever is killed.
		CHECK(std::filesystem::file_size(path) > 500000);
		return ret == STORE_OK ? remove(w, STORE_RECORDS, "big") : ret;
	});
	REQUIRE(status == STORE_OK);
	CHECK(open_and_verify(path) == STORE_OK);
	CHECK(write_store(path, [](writer *w) { return put(w, STORE_RECORDS, "c", "3"); }) ==
	      STORE_OK);
	CHECK(read_table(path, STORE_RECORDS).at("c") == "3");
}

// ---- all or nothing ----

TEST_CASE("a function that fails commits nothing", "[store][writer]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	REQUIRE(write_store(path, [](writer *w) { return put(w, STORE_RECORDS, "a", "old"); }) ==
		STORE_OK);
	const int wanted = GENERATE(-ENOMEM, int{ DNSBLV6_ERECORD }, int{ STORE_ECORRUPT }, 1);
	CAPTURE(wanted);
	const int ret = write_store(path, [&](writer *w) {
		CHECK_FALSE(writer_is_new(w));
		CHECK(writer_clear(w, STORE_RECORDS) == STORE_OK);
		CHECK(put(w, STORE_RECORDS, "a", "new") == STORE_OK);
		CHECK(put(w, STORE_SETS, "b", "new") == STORE_OK);
		return wanted;
	});
	CHECK(ret == wanted);
	CHECK(read_table(path, STORE_RECORDS) == table{ { "a", "old" } });
	CHECK(read_table(path, STORE_SETS).empty());
	CHECK(open_and_verify(path) == STORE_OK);
}

TEST_CASE("the size limit grows by itself, under a reader too", "[store][writer]")
{
	const tmpdir dir;
	const std::string path = dir.file("big.mdb");
	REQUIRE(write_store(path, [](writer *w) { return put(w, STORE_RECORDS, "a", "1"); }) ==
		STORE_OK);
	const opened_reader opened(path);
	REQUIRE(opened.status() == STORE_OK);
	REQUIRE(reader_begin(opened.get()) == STORE_OK);
	reader_end(opened.get());

	child writing([&] {
		int calls = 0;
		const int ret = write_store(path, [&](writer *w) {
			calls++;
			return put_much(w);
		});
		return ret == STORE_OK && calls > 1 ? 0 : 1;
	});
	REQUIRE(writing.wait() == 0);

	REQUIRE(reader_begin(opened.get()) == STORE_OK);
	store_bytes value;
	CHECK(reader_get(opened.get(), STORE_RECORDS, "001199", 6, &value) == STORE_OK);
	CHECK(value.size == 240000);
	CHECK(reader_get(opened.get(), STORE_RECORDS, "a", 1, &value) == STORE_OK);
	CHECK(reader_verify(opened.get()) == STORE_OK);
	reader_end(opened.get());
}

TEST_CASE("a writer that is killed at work leaves the version before", "[store][writer]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	const bool is_new = GENERATE(false, true);
	CAPTURE(is_new);
	if (!is_new)
		REQUIRE(write_store(path, [](writer *w) {
				return put(w, STORE_RECORDS, "a", "old");
			}) == STORE_OK);

	signal_pipe at_work;
	child killed([&] {
		return write_store(path, [&](writer *w) {
			put(w, STORE_RECORDS, "a", "new");
			put_much(w);
			at_work.give();
			pause();
			return 0;
		});
	});
	at_work.take();
	killed.kill(SIGKILL);
	REQUIRE(killed.wait() == 1000 + SIGKILL);

	if (is_new) {
		CHECK(open_and_verify(path) == STORE_EUNFINISHED);
	} else {
		CHECK(open_and_verify(path) == STORE_OK);
		CHECK(read_table(path, STORE_RECORDS) == table{ { "a", "old" } });
	}
	REQUIRE(write_store(path, [&](writer *w) {
			CHECK(writer_is_new(w) == is_new);
			return put(w, STORE_RECORDS, "a", "next");
		}) == STORE_OK);
	CHECK(read_table(path, STORE_RECORDS) == table{ { "a", "next" } });
}

TEST_CASE("a store is no longer than its pages, after a killed writer too", "[store][writer]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	const auto write_one = [&] {
		return write_store(path, [](writer *w) { return put(w, STORE_RECORDS, "a", "1"); });
	};
	REQUIRE(write_one() == STORE_OK);
	CHECK(std::filesystem::file_size(path) < 24 * page_size());

	signal_pipe at_work;
	child killed([&] {
		return write_store(path, [&](writer *) {
			at_work.give();
			pause();
			return 0;
		});
	});
	at_work.take();
	killed.kill(SIGKILL);
	REQUIRE(killed.wait() == 1000 + SIGKILL);
	CHECK(open_and_verify(path) == STORE_OK);
	REQUIRE(write_one() == STORE_OK);
	CHECK(std::filesystem::file_size(path) < 24 * page_size());

	CHECK(write_store(path, [](writer *w) {
		      const int ret = put_much(w);
		      return ret == STORE_OK ? -ECANCELED : ret;
	      }) == -ECANCELED);
	CHECK(std::filesystem::file_size(path) < 24 * page_size());
	CHECK(open_and_verify(path) == STORE_OK);
}

// Version number in every one of many entries.
static int put_version(writer *w, unsigned version)
{
	for (int i = 0; i < 300; i++) {
		const int ret = put(w, STORE_RECORDS, "key" + std::to_string(i),
				    std::to_string(version) + std::string(50, '.'));
		if (ret != STORE_OK)
			return ret;
	}
	return STORE_OK;
}

TEST_CASE("a writer that is killed at any moment leaves one whole version", "[store][writer]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	REQUIRE(write_store(path, [](writer *w) { return put_version(w, 0); }) == STORE_OK);
	// The moment is wherever the child is when so many commits are done.
	const unsigned commits = GENERATE(range(0u, 20u));
	CAPTURE(commits);
	signal_pipe committed;
	child killed([&] {
		for (unsigned version = 1;; version++) {
			if (write_store(path, [&](writer *w) { return put_version(w, version); }) !=
			    STORE_OK)
				return 1;
			committed.give();
		}
	});
	for (unsigned i = 0; i < commits; i++)
		committed.take();
	killed.kill(SIGKILL);
	REQUIRE(killed.wait() == 1000 + SIGKILL);

	REQUIRE(open_and_verify(path) == STORE_OK);
	const table entries = read_table(path, STORE_RECORDS);
	REQUIRE(entries.size() == 300);
	CHECK(std::stoul(entries.begin()->second) >= commits);
	for (const auto &[key, value] : entries)
		REQUIRE(value == entries.begin()->second);
}

// ---- several writers ----

TEST_CASE("a second writer waits for the first", "[store][writer]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	REQUIRE(write_store(path, [](writer *w) { return put(w, STORE_RECORDS, "a", ""); }) ==
		STORE_OK);
	const auto append = [&](const char *word) {
		return write_store(path, [&](writer *w) {
			store_bytes value;
			const int ret = writer_get(w, STORE_RECORDS, "a", 1, &value);
			return ret != STORE_OK ? ret
					       : put(w, STORE_RECORDS, "a", text_of(value) + word);
		});
	};
	std::vector<std::unique_ptr<child>> writers;
	for (int i = 0; i < 4; i++)
		writers.push_back(std::make_unique<child>([&] {
			for (int j = 0; j < 25; j++) {
				if (append("x") != STORE_OK)
					return 1;
			}
			return 0;
		}));
	for (auto &one : writers)
		CHECK(one->wait() == 0);
	CHECK(read_table(path, STORE_RECORDS).at("a").size() == 100);
}

// Does process pid have file mapped?
static bool has_mapped(pid_t pid, const std::string &file)
{
	std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
	const std::string name = std::filesystem::canonical(file).string();
	for (std::string line; std::getline(maps, line);) {
		if (line.size() > name.size() &&
		    line.compare(line.size() - name.size(), name.size(), name) == 0)
			return true;
	}
	return false;
}

TEST_CASE("a writer that waited takes over the limit that was raised meanwhile", "[store][writer]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	REQUIRE(write_store(path, [](writer *w) { return put(w, STORE_RECORDS, "a", "1"); }) ==
		STORE_OK);
	signal_pipe has_lock;
	signal_pipe go_on;
	child raising([&] {
		MDB_env *env = nullptr;
		MDB_txn *txn = nullptr;
		MDB_dbi dbi;
		mdb_env_create(&env);
		mdb_env_set_maxdbs(env, 8);
		mdb_env_set_mapsize(env, size_t{ 512 } << 20);
		if (mdb_env_open(env, path.c_str(), MDB_NOSUBDIR, 0600) != 0 ||
		    mdb_txn_begin(env, nullptr, 0, &txn) != 0 ||
		    mdb_dbi_open(txn, "large", MDB_CREATE, &dbi) != 0)
			return 1;
		has_lock.give();
		go_on.take();
		MDB_val key = { 1, const_cast<char *>("k") };
		MDB_val value = { size_t{ 100 } << 20, nullptr };
		if (mdb_put(txn, dbi, &key, &value, MDB_RESERVE) != 0)
			return 2;
		memset(value.mv_data, 'x', value.mv_size);
		return mdb_txn_commit(txn) == 0 ? 0 : 3;
	});
	has_lock.take();
	child waiting([&] {
		return write_store(path,
				   [](writer *w) { return put(w, STORE_RECORDS, "b", "2"); }) ==
				       STORE_OK
			       ? 0
			       : 1;
	});
	const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
	while (!has_mapped(waiting.pid(), path) && std::chrono::steady_clock::now() < deadline)
		sched_yield();
	go_on.give();
	CHECK(raising.wait() == 0);
	CHECK(waiting.wait() == 0);
	CHECK(read_table(path, STORE_RECORDS) == table{ { "a", "1" }, { "b", "2" } });
}

TEST_CASE("a writer that fails never takes away what another has committed", "[store][writer]")
{
	const unsigned round = GENERATE(range(0u, 60u));
	CAPTURE(round);
	const tmpdir dir;
	const std::string path = dir.file("new.mdb");
	signal_pipe start;
	const auto run = [&](int wanted) {
		start.take();
		return write_store(path,
				   [&](writer *w) {
					   const int ret = put(w, STORE_RECORDS, "a", "1");
					   return ret != STORE_OK ? ret : wanted;
				   }) == wanted
			       ? 0
			       : 1;
	};
	child failing([&] { return run(-ECANCELED); });
	child good([&] { return run(STORE_OK); });
	start.give();
	start.give();
	CHECK(failing.wait() == 0);
	if (good.wait() == 0) // else it said that its commit was lost
		CHECK(open_and_verify(path) == STORE_OK);
}

TEST_CASE("a store that was moved away meanwhile is reported", "[store][writer]")
{
	const tmpdir dir;
	const std::string path = dir.file("a.mdb");
	const bool is_deleted = GENERATE(true, false);
	CAPTURE(is_deleted);
	REQUIRE(write_store(path, [](writer *w) { return put(w, STORE_RECORDS, "a", "1"); }) ==
		STORE_OK);
	const int ret = write_store(path, [&](writer *w) {
		if (is_deleted)
			unlink(path.c_str());
		else
			rename(path.c_str(), dir.file("b.mdb").c_str());
		return put(w, STORE_RECORDS, "a", "2");
	});
	CHECK(ret == STORE_EREPLACED);
}

// ---- beside the writer ----

namespace
{
// What the old version says while the new one is being written.
struct old_seen {
	std::string before;
	int status_behind = 0;
};

int write_over(writer *handle, void *context)
{
	auto *seen = static_cast<old_seen *>(context);
	store_bytes key = {};
	store_bytes value = {};
	int ret = writer_clear(handle, STORE_RECORDS);
	if (ret == STORE_OK)
		ret = writer_put(handle, STORE_RECORDS, "b", 1, "new", 3);
	if (ret != STORE_OK)
		return ret;
	seen->before.clear();
	writer_walk *walk = nullptr;
	ret = writer_walk_open(handle, STORE_RECORDS, &walk);
	if (ret != STORE_OK)
		return ret;
	ret = writer_walk_seek(walk, nullptr, 0, &key, &value);
	while (ret == STORE_OK) {
		seen->before +=
			std::string(reinterpret_cast<const char *>(key.data), key.size) + "=" +
			std::string(reinterpret_cast<const char *>(value.data), value.size) + " ";
		ret = writer_walk_next(walk, &key, &value);
	}
	seen->status_behind = ret;
	writer_walk_close(walk);
	return STORE_OK;
}
} // namespace

TEST_CASE("a writer can read the version before beside the one it makes", "[store][writer]")
{
	tmpdir dir;
	auto path = dir.file("old.mdb");
	old_seen seen;
	REQUIRE(writer_run(path.c_str(), &zone_store, write_over, &seen) == STORE_OK);
	CHECK(seen.before.empty());
	CHECK(seen.status_behind == DNSBLV6_ENOTFOUND);
	auto first = [](writer *handle, void *) {
		int ret = writer_put(handle, STORE_RECORDS, "a", 1, "1", 1);
		return ret == STORE_OK ? writer_put(handle, STORE_RECORDS, "b", 1, "2", 1) : ret;
	};
	REQUIRE(writer_run(path.c_str(), &zone_store, first, nullptr) == STORE_OK);
	REQUIRE(writer_run(path.c_str(), &zone_store, write_over, &seen) == STORE_OK);
	CHECK(seen.before == "a=1 b=2 ");
	REQUIRE(writer_run(path.c_str(), &zone_store, write_over, &seen) == STORE_OK);
	CHECK(seen.before == "b=new ");
}

TEST_CASE("a symbolic link to a store has no lock file of its own", "[store][writer]")
{
	tmpdir dir;
	auto path = dir.file("real.mdb");
	auto link = dir.file("link.mdb");
	auto first = [](writer *handle, void *) {
		return writer_put(handle, STORE_RECORDS, "a", 1, "1", 1);
	};
	std::filesystem::create_symlink(path, link);
	CHECK(writer_run(link.c_str(), &zone_store, first, nullptr) == -ENOENT);
	REQUIRE(writer_run(path.c_str(), &zone_store, first, nullptr) == STORE_OK);
	REQUIRE(writer_run(link.c_str(), &zone_store, first, nullptr) == STORE_OK);
	reader *handle = nullptr;
	REQUIRE(reader_open(link.c_str(), &zone_store, &handle) == STORE_OK);
	CHECK(reader_is_current(handle));
	CHECK_FALSE(std::filesystem::exists(link + "-lock"));
	std::filesystem::remove(link);
	std::filesystem::create_symlink(dir.file("other.mdb"), link);
	CHECK_FALSE(reader_is_current(handle));
	reader_close(handle);
}
