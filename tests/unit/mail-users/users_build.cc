// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/mail-users/users.hh"

#include "tests/lib/child.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

using lines = std::vector<std::string>;

static lines many(const std::string &prefix, int count)
{
	lines all;
	for (int i = 0; i < count; i++)
		all.push_back(prefix + std::to_string(i) + "@example.org");
	return all;
}

static int build_in_child(const std::string &path, const lines &list)
{
	child building([&] { return build(path, list) == STORE_OK ? 0 : 1; });
	return building.wait();
}

TEST_CASE("a database is made with its lock file, and has what the list said",
	  "[front][users_build]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "john@example.org", "@example.com" }) == STORE_OK);
	CHECK(std::filesystem::exists(path + "-lock"));
	const opened_users users(path);
	CHECK(users.lines() == lines{ "john@example.org", "@example.com", "domain example.com",
				      "domain example.org" });
}

TEST_CASE("an empty list empties a database", "[front][users_build]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "john@example.org" }) == STORE_OK);
	REQUIRE(build(path, {}) == STORE_OK);
	const opened_users users(path);
	CHECK(users.lines().empty());
	CHECK(users.find("john@example.org") == USERS_NOT_OURS);
}

TEST_CASE("a list that would shrink too much changes nothing", "[front][users_build]")
{
	struct row {
		lines before;
		lines now;
		unsigned max_shrink_percent;
		int status;
	};
	const auto domains = [](int count) {
		lines all{ "john@example.org" };
		for (int i = 1; i < count; i++)
			all.push_back("domain " + std::to_string(i) + ".example");
		return all;
	};
	const auto row = GENERATE_COPY(values<struct row>({
		{ many("u", 100), many("u", 50), 50, STORE_OK },
		{ many("u", 100), many("u", 49), 50, USERS_ESHRINK },
		{ many("u", 100), many("other", 100), 0, STORE_OK },
		{ many("u", 100), many("u", 90), 0, USERS_ESHRINK },
		{ many("u", 100), many("u", 91), 0, STORE_OK },
		{ many("u", 100), {}, 100, STORE_OK },
		{ many("u", 100), many("u", 1000), 0, STORE_OK },
		{ many("u", 10), many("u", 1), 90, STORE_OK },
		{ many("u", 10), many("u", 1), 50, USERS_ESHRINK },
		{ many("u", 10), many("u", 5), 0, STORE_OK },
		{ many("u", 10), many("u", 4), 0, USERS_ESHRINK },
		{ many("u", 2), many("u", 1), 0, STORE_OK },
		{ many("u", 11), many("u", 1), 50, USERS_ESHRINK },
		{ domains(20), domains(10), 50, STORE_OK },
		{ domains(20), domains(9), 50, USERS_ESHRINK },
	}));
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	struct users_builder guard = {};
	guard.max_shrink_percent = row.max_shrink_percent;
	CAPTURE(row.before.size(), row.now.size(), row.max_shrink_percent);
	// There is nothing to compare the first one with.
	REQUIRE(build(path, row.before, folding(), &guard) == STORE_OK);
	CHECK(build(path, row.now, folding(), &guard) == row.status);
	const auto &kept = row.status == STORE_OK ? row.now : row.before;
	users_facts found = {};
	REQUIRE(users_verify(path.c_str(), &found) == STORE_OK);
	CHECK(opened_users(path).find(kept.empty() ? "postmaster" : kept[0]) >= 0);
	const auto has_domain_list = row.before.size() == 20;
	CHECK(found.address_count == (has_domain_list ? 1 : kept.size()));
	CHECK(found.domain_count == (has_domain_list ? kept.size() : kept.empty() ? 0 : 1));
	if (row.status != STORE_OK) {
		CHECK(guard.before > guard.now);
		CHECK(guard.unit ==
		      std::string(row.before.size() == 20 ? "domains" : "recipients"));
		// It is written when it is meant.
		CHECK(build(path, row.now) == STORE_OK);
	}
}

TEST_CASE("a process that has a database open sees the new list at its next question",
	  "[front][users_build]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "john@example.org" }) == STORE_OK);
	const opened_users users(path);
	REQUIRE(users.find("john@example.org") == USERS_VALID);
	REQUIRE(users.find("mary@example.org") == USERS_UNKNOWN);

	REQUIRE(build_in_child(path, { "mary@example.org", "@example.com" }) == 0);
	CHECK(users.find("john@example.org") == USERS_UNKNOWN);
	CHECK(users.find("mary@example.org") == USERS_VALID);
	CHECK(users.find("mary@example.com") == USERS_VALID);

	// Much larger than before: nothing is mapped anew.
	REQUIRE(build_in_child(path, many("user", 20000)) == 0);
	CHECK(users.find("user19999@example.org") == USERS_VALID);
	CHECK(users.find("mary@example.org") == USERS_UNKNOWN);
}

TEST_CASE("a walk sees one list from its beginning to its end", "[front][users_build]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, many("old", 1000)) == STORE_OK);
	const opened_users users(path);
	struct state {
		std::string path;
		int count = 0;
		bool is_old = true;
	} state = { path };
	REQUIRE(users_walk(
			users.get(),
			[](void *context, const char *line, size_t size) {
				auto &s = *static_cast<struct state *>(context);
				// Three builds use again every page that nobody holds.
				if (s.count % 300 == 0 && s.count < 900)
					s.is_old = s.is_old &&
						   build_in_child(s.path, many("new", 1000)) == 0;
				const std::string text(line, size);
				s.is_old = s.is_old && (text.rfind("old", 0) == 0 ||
							text.rfind("domain", 0) == 0);
				s.count++;
				return 0;
			},
			&state) == STORE_OK);
	CHECK(state.is_old);
	CHECK(state.count == 1001);
	CHECK(users.find("new1@example.org") == USERS_VALID);
}

TEST_CASE("many builds do not let the file grow", "[front][users_build]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	const opened_users *reader = nullptr;
	REQUIRE(build(path, many("user", 5000)) == STORE_OK);
	const opened_users users(path);
	reader = &users;
	REQUIRE(build_in_child(path, many("user", 5000)) == 0);
	REQUIRE(build_in_child(path, many("user", 5000)) == 0);
	const auto size = std::filesystem::file_size(path);
	for (int i = 0; i < 20; i++) {
		REQUIRE(build_in_child(path, many("user" + std::to_string(i), 4000)) == 0);
		CHECK(reader->find("user" + std::to_string(i) + "7@example.org") == USERS_VALID);
	}
	CHECK(std::filesystem::file_size(path) <= size + size / 2);
}

TEST_CASE("a reader that was killed amid its questions keeps no pages", "[front][users_build]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, many("user", 3000)) == STORE_OK);
	uintmax_t size = 0;
	for (int i = 0; i < 12; i++) {
		signal_pipe has_begun;
		child walking([&] {
			const opened_users users(path);
			users_walk(
				users.get(),
				[](void *context, const char *, size_t) -> int {
					static_cast<signal_pipe *>(context)->give();
					for (;;)
						pause();
				},
				&has_begun);
			return 1;
		});
		has_begun.take();
		walking.kill(SIGKILL);
		REQUIRE(walking.wait() == 1000 + SIGKILL);
		REQUIRE(build_in_child(path, many("user", 3000)) == 0);
		if (i == 3)
			size = std::filesystem::file_size(path);
	}
	CHECK(std::filesystem::file_size(path) <= size);
}

TEST_CASE("a builder that is killed at any time leaves the list before or the new one, whole",
	  "[front][users_build]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, many("list0-", 4000)) == STORE_OK);
	const opened_users users(path);
	unsigned killed = 0;
	for (int round = 1; round <= 40; round++) {
		CAPTURE(round);
		child building([&] {
			for (int i = 0;; i++) {
				const auto list = many("list" + std::to_string(i) + "-", 4000);
				if (build(path, list) != STORE_OK)
					return 1;
			}
		});
		std::this_thread::sleep_for(std::chrono::microseconds(1000 + 977 * round));
		building.kill(SIGKILL);
		killed += building.wait() == 1000 + SIGKILL;
		const auto found = users.lines();
		REQUIRE(found.size() == 4001);
		// All of one list: its prefix is that of the first.
		const auto prefix = found[0].substr(0, found[0].find('-') + 1);
		unsigned of_it = 0;
		for (const auto &line : found)
			of_it += line.rfind(prefix, 0) == 0;
		CHECK(of_it == 4000);
		child verifying([&] {
			users_facts facts = {};
			return users_verify(path.c_str(), &facts) == STORE_OK ? 0 : 1;
		});
		CHECK(verifying.wait() == 0);
	}
	CHECK(killed == 40);
	REQUIRE(build_in_child(path, { "last@example.org" }) == 0);
	CHECK(users.find("last@example.org") == USERS_VALID);
}

TEST_CASE("two builders take turns", "[front][users_build]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	const auto building = [&](const char *name) {
		return [&path, name] {
			for (int i = 0; i < 20; i++) {
				if (build(path, many(name, 500)) != STORE_OK)
					return 1;
			}
			return 0;
		};
	};
	child one(building("one"));
	child other(building("other"));
	CHECK(one.wait() == 0);
	CHECK(other.wait() == 0);
	users_facts facts = {};
	CHECK(users_verify(path.c_str(), &facts) == STORE_OK);
	CHECK(facts.address_count == 500);
}

// ---- what the system refuses ----

TEST_CASE("a path that cannot be a database is refused with its reason", "[front][users_build]")
{
	const tmpdir dir;
	const lines list = { "john@example.org" };
	CHECK(build(dir.path(), list) == -EISDIR);
	CHECK(build(dir.file("none/users.mdb"), list) == -ENOENT);
	write_file(dir.file("text"), "mary@example.org\n");
	CHECK(build(dir.file("text"), list) == STORE_ENOTSTORE);
	CHECK(read_file(dir.file("text")) == "mary@example.org\n");
	CHECK(build(dir.file("text/users.mdb"), list) == -ENOTDIR);
	std::filesystem::create_symlink("nowhere", dir.file("dangling"));
	CHECK(build(dir.file("dangling"), list) == -ENOENT);
	write_file(dir.file("empty"), "");
	CHECK(build(dir.file("empty"), list) == STORE_OK);
}

static bool mount_small_disk(const std::string &directory)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
	       mount("tmpfs", directory.c_str(), "tmpfs", 0, "size=1m") == 0;
}

enum { NO_DISK = 50 };

static bool has_john(const std::string &path)
{
	users_facts facts = {};
	return users_verify(path.c_str(), &facts) == STORE_OK && facts.address_count == 1 &&
	       opened_users(path).find("john@example.org") == USERS_VALID;
}

static int fill_disk(const tmpdir &dir)
{
	const auto path = dir.file("users.mdb");
	const auto much = many("a-user-of-a-long-name-", 40000);
	if (!mount_small_disk(dir.path()))
		return NO_DISK;
	if (build(path, much) != -ENOSPC)
		return 1;
	if (!std::filesystem::is_empty(dir.path()))
		return 2;
	if (build(path, { "john@example.org" }) != STORE_OK)
		return 3;
	if (build(path, much) != -ENOSPC)
		return 4;
	if (!has_john(path))
		return 5;
	if (build(path, { "mary@example.org" }) != STORE_OK)
		return 6;
	return opened_users(path).find("mary@example.org") == USERS_VALID ? 0 : 7;
}

TEST_CASE("a full disk is said to be full, and leaves the list before", "[front][users_build]")
{
	if (geteuid() != 0) {
		SUCCEED();
		return;
	}
	const tmpdir dir;
	child building([&] { return fill_disk(dir); });
	const int status = building.wait();
	if (status == NO_DISK) {
		WARN("skipped: no mount namespace here");
		SUCCEED();
		return;
	}
	CHECK(status == 0);
}

TEST_CASE("a limit of the file size is an error, and leaves the list before",
	  "[front][users_build]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "john@example.org" }) == STORE_OK);
	child building([&] {
		signal(SIGXFSZ, SIG_IGN);
		const rlimit limit = { 100000, 100000 };
		setrlimit(RLIMIT_FSIZE, &limit);
		return build(path, many("user", 20000)) == -EFBIG ? 0 : 1;
	});
	CHECK(building.wait() == 0);
	CHECK(has_john(path));
}
