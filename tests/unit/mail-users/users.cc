// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/mail-users/users.hh"

#include "integration/mail/base/users/users_file.h"

#include "lib/lmdb/writer.h"

#include "tests/lib/child.hh"
#include "tests/lib/pages.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <grp.h>
#include <linux/seccomp.h>
#include <lmdb.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

// ---- answers ----

TEST_CASE("an address is valid, unknown in a domain of ours, or not ours", "[front][users]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "john@example.org", "domain example.net" }) == STORE_OK);
	const opened_users users(path);
	REQUIRE(users.status() == STORE_OK);
	const auto [address, answer] = GENERATE(table<const char *, int>({
		{ "john@example.org", USERS_VALID },
		{ "John@Example.ORG", USERS_VALID },
		{ "\"john\"@example.org", USERS_VALID },
		{ "\"jo\\hn\"@example.org", USERS_VALID },
		{ "joh@example.org", USERS_UNKNOWN },
		{ "johnn@example.org", USERS_UNKNOWN },
		{ "john@example.net", USERS_UNKNOWN },
		{ "john@example.com", USERS_NOT_OURS },
		{ "john@mail.example.org", USERS_NOT_OURS },
		{ "john@xexample.org", USERS_NOT_OURS },
		{ "john@example.org.", USERS_NOT_OURS },
		{ "john+list@example.org", USERS_UNKNOWN },
		{ "john@example.com@example.org", USERS_UNKNOWN },
		{ "postmaster", USERS_VALID },
		{ "PostMaster", USERS_VALID },
		{ "postmaster@example.org", USERS_UNKNOWN },
		{ "john", USERS_NOT_OURS },
		{ "", USERS_NOT_OURS },
		{ "@", USERS_NOT_OURS },
		{ "@example.org", USERS_NOT_OURS },
		{ "john@", USERS_NOT_OURS },
		{ "\"@example.org", USERS_NOT_OURS },
		{ "\"\\\"@example.org", USERS_NOT_OURS },
	}));
	CAPTURE(address);
	CHECK(users.find(address) == answer);
}

TEST_CASE("a catch-all makes each address of its domain valid, and of no other", "[front][users]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "@example.org", "john@example.net" }) == STORE_OK);
	const opened_users users(path);
	CHECK(users.find("anybody@example.org") == USERS_VALID);
	CHECK(users.find("anybody+else@EXAMPLE.org") == USERS_VALID);
	CHECK(users.find("anybody@example.net") == USERS_UNKNOWN);
	CHECK(users.find("anybody@sub.example.org") == USERS_NOT_OURS);
}

TEST_CASE("an extension is cut off only where the list says which character begins it",
	  "[front][users]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "john@example.org", "mary-ann@example.org", "a+b@example.org" },
		      folding(true, '+')) == STORE_OK);
	const opened_users users(path);
	CHECK(users.find("john+lists@example.org") == USERS_VALID);
	CHECK(users.find("john+@example.org") == USERS_VALID);
	CHECK(users.find("john+a+b@example.org") == USERS_VALID);
	CHECK(users.find("a+b@example.org") == USERS_VALID);
	CHECK(users.find("a+c@example.org") == USERS_UNKNOWN);
	CHECK(users.find("+john@example.org") == USERS_UNKNOWN);
	CHECK(users.find("john-lists@example.org") == USERS_UNKNOWN);
	CHECK(users.find("john+lists@example.com") == USERS_NOT_OURS);
}

TEST_CASE("the entry that makes an address valid has one name, however the address is written",
	  "[front][users]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path,
		      { "bob@example.org", "\"john doe\"@example.org", "\"a@b\"@example.org",
			"@example.net", "ann@example.net", "domain example.com" },
		      folding(true, '+')) == STORE_OK);
	const opened_users users(path);
	REQUIRE(users.status() == STORE_OK);
	const auto [address, entry] = GENERATE(table<const char *, const char *>({
		{ "bob@example.org", "bob@example.org" },
		{ "BOB@Example.ORG", "bob@example.org" },
		{ "\"bob\"@example.org", "bob@example.org" },
		{ "\"b\\ob\"@example.org", "bob@example.org" },
		{ "bob+x@example.org", "bob@example.org" },
		{ "\"bob+x y\"@example.org", "bob@example.org" },
		{ "\"john doe\"@example.org", "john doe@example.org" },
		{ "\"A@B\"@example.org", "a@b@example.org" },
		{ "ann+x@example.net", "ann@example.net" },
		{ "any@example.net", "@example.net" },
		{ "any+x@Example.NET", "@example.net" },
		{ "\"an y\"@example.net", "@example.net" },
		{ "Postmaster", "postmaster" },
		{ "eve@example.org", "" },
		{ "bob@example.com", "" },
		{ "bob@elsewhere.example", "" },
		{ "", "" },
	}));
	CAPTURE(address);
	CHECK(users.entry(address) == entry);
}

TEST_CASE("an entry keeps the case that the list keeps", "[front][users]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "Bob@example.org", "bob@example.org" }, folding(false)) == STORE_OK);
	const opened_users users(path);
	CHECK(users.entry("\"Bob\"@EXAMPLE.org") == "Bob@example.org");
	CHECK(users.entry("bob@example.org") == "bob@example.org");
	CHECK(users.entry("BOB@example.org").empty());
}

TEST_CASE("without a list an entry is the address without quotes, in lower case", "[front][users]")
{
	char entry[USERS_ENTRY_SIZE] = "";
	const std::string address = "\"B\\ob+X\"@Example.ORG";
	CHECK(users_make_entry(address.data(), address.size(), entry));
	CHECK(std::string(entry) == "bob+x@example.org");
	CHECK(users_make_entry("Postmaster", 10, entry));
	CHECK(std::string(entry) == "postmaster");
	const std::string longest = std::string(308, 'a') + "@example.org";
	CHECK(users_make_entry(longest.data(), longest.size(), entry));
	CHECK(entry == longest);
	const std::string longer = "a" + longest;
	CHECK_FALSE(users_make_entry(longer.data(), longer.size(), entry));
	CHECK_FALSE(users_make_entry("bob", 3, entry));
}

TEST_CASE("local parts keep their case when the list says so, domains never", "[front][users]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "John@Example.org" }, folding(false)) == STORE_OK);
	const opened_users users(path);
	CHECK(users.find("John@eXample.org") == USERS_VALID);
	CHECK(users.find("john@example.org") == USERS_UNKNOWN);
}

TEST_CASE("an address of any size is answered", "[front][users]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	const std::string domain = std::string(63, 'd') + "." + std::string(63, 'e') + "." +
				   std::string(63, 'f') + "." + std::string(60, 'g');
	const std::string longest = std::string(64, 'l') + "@" + domain;
	REQUIRE(build(path, { longest }) == STORE_OK);
	const opened_users users(path);
	CHECK(users.find(longest) == USERS_VALID);
	for (size_t size = 0; size < 1000; size++) {
		CAPTURE(size);
		CHECK(users.find(std::string(size, 'x') + "@example.org") == USERS_NOT_OURS);
		CHECK(users.find("x@" + std::string(size, 'x')) == USERS_NOT_OURS);
	}
}

TEST_CASE("addresses in UTF-8 are found as they were written", "[front][users]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "jürgen@bücher.example" }) == STORE_OK);
	const opened_users users(path);
	CHECK(users.find("jürgen@bücher.example") == USERS_VALID);
	CHECK(users.find("jurgen@bücher.example") == USERS_UNKNOWN);
	CHECK(users.find("jürgen@bucher.example") == USERS_NOT_OURS);
}

// ---- a process that is confined ----

static bool is_valid(const opened_users &users, const char *address)
{
	return users.find(address) == USERS_VALID;
}

// Nothing but read(), write() and the end of the thread is permitted: more than that kills.
static int ask_confined(const std::string &path, signal_pipe &is_open, signal_pipe &is_built)
{
	const opened_users users(path);
	bool is_right = users.status() == STORE_OK &&
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0 &&
			is_valid(users, "john@example.org");
	is_open.give();
	is_built.take();
	is_right = is_right && is_valid(users, "user49999@example.org") &&
		   !is_valid(users, "john@example.org");
	syscall(SYS_exit, is_right ? 0 : 2);
	return 3;
}

TEST_CASE("a question makes no system call, also of a list that is new and much larger",
	  "[front][users]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "john@example.org" }) == STORE_OK);
	signal_pipe is_open;
	signal_pipe is_built;
	child confined([&] { return ask_confined(path, is_open, is_built); });
	is_open.take();
	std::vector<std::string> lines;
	for (int i = 0; i < 50000; i++)
		lines.push_back("user" + std::to_string(i) + "@example.org");
	REQUIRE(build(path, lines) == STORE_OK);
	is_built.give();
	CHECK(confined.wait() == 0);
}

TEST_CASE("a chrooted process without privileges sees the new list", "[front][users]")
{
	if (geteuid() != 0) {
		SUCCEED();
		return;
	}
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	std::filesystem::create_directory(dir.file("empty"));
	REQUIRE(build(path, { "john@example.org" }) == STORE_OK);
	signal_pipe is_open;
	signal_pipe is_built;
	child confined([&] {
		const opened_users users(path);
		is_open.give();
		if (users.status() != STORE_OK || chroot(dir.file("empty").c_str()) != 0 ||
		    chdir("/") != 0 || setgroups(0, nullptr) != 0 || setgid(65534) != 0 ||
		    setuid(65534) != 0)
			return 1;
		is_built.take();
		return is_valid(users, "mary@example.org") ? 0 : 2;
	});
	is_open.take();
	REQUIRE(build(path, { "mary@example.org" }) == STORE_OK);
	is_built.give();
	CHECK(confined.wait() == 0);
}

TEST_CASE("lists are seen behind a lock file that was deleted or replaced, without a system call",
	  "[front][users]")
{
	const bool is_replaced = GENERATE(false, true);
	CAPTURE(is_replaced);
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "john@example.org" }) == STORE_OK);
	signal_pipe is_open;
	signal_pipe is_built;
	child confined([&] { return ask_confined(path, is_open, is_built); });
	is_open.take();
	if (is_replaced) {
		std::filesystem::copy(path + "-lock", path + "-other");
		std::filesystem::rename(path + "-other", path + "-lock");
	} else {
		std::filesystem::remove(path + "-lock");
	}
	// By an even number of lists LMDB would come to the newest by chance.
	for (const char *last : { "anna", "mary", "user49999" })
		REQUIRE(build(path, { std::string(last) + "@example.org" }) == STORE_OK);
	is_built.give();
	CHECK(confined.wait() == 0);
}

// ---- opening ----

static int status_of(const std::string &path)
{
	return opened_users(path).status();
}

TEST_CASE("what is no database of recipients is refused with its reason", "[front][users]")
{
	const tmpdir dir;
	CHECK(status_of(dir.file("none")) == -ENOENT);
	CHECK(status_of(dir.path()) == -EISDIR);
	write_file(dir.file("text"), "john@example.org\n");
	CHECK(status_of(dir.file("text")) == STORE_ENOTSTORE);
	write_file(dir.file("big"), std::string(100000, 'x'));
	CHECK(status_of(dir.file("big")) == STORE_ENOTSTORE);
	write_file(dir.file("empty"), "");
	CHECK(status_of(dir.file("empty")) == STORE_EUNFINISHED);
	REQUIRE(mkfifo(dir.file("fifo").c_str(), 0600) == 0);
	CHECK(status_of(dir.file("fifo")) == STORE_ENOTSTORE);
}

// One entry in LMDB's unnamed table, as another program might have it.
static void write_entry(const std::string &path, const std::string &key, const std::string &value)
{
	MDB_env *env = nullptr;
	REQUIRE(mdb_env_create(&env) == 0);
	REQUIRE(mdb_env_open(env, path.c_str(), MDB_NOSUBDIR, 0600) == 0);
	MDB_txn *txn = nullptr;
	MDB_dbi table = 0;
	REQUIRE(mdb_txn_begin(env, nullptr, 0, &txn) == 0);
	REQUIRE(mdb_dbi_open(txn, nullptr, 0, &table) == 0);
	MDB_val k = { key.size(), const_cast<char *>(key.data()) };
	MDB_val v = { value.size(), const_cast<char *>(value.data()) };
	REQUIRE(mdb_put(txn, table, &k, &v, 0) == 0);
	REQUIRE(mdb_txn_commit(txn) == 0);
	mdb_env_close(env);
}

TEST_CASE("another program's LMDB file is neither read nor written", "[front][users]")
{
	const tmpdir dir;
	const auto path = dir.file("other.mdb");
	write_entry(path, "john", "somebody");
	const auto before = read_file(path);
	CHECK(status_of(path) == STORE_ENOTSTORE);
	CHECK(build(path, { "john@example.org" }) == STORE_ENOTSTORE);
	CHECK(read_file(path) == before);
}

TEST_CASE("a database of another version of the format is refused, and not written over",
	  "[front][users]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "john@example.org" }) == STORE_OK);
	std::string meta(USERS_FILE_FACTS_SIZE, '\0');
	for (const char version : { 1, 3 }) {
		meta[3] = version;
		write_entry(path, "m", meta);
		CHECK(status_of(path) == STORE_ESCHEMA);
		CHECK(build(path, { "john@example.org" }) == STORE_ESCHEMA);
	}
	meta[3] = 2;
	meta.resize(USERS_FILE_FACTS_SIZE - 1);
	write_entry(path, "m", meta);
	CHECK(status_of(path) == STORE_ECORRUPT);
}

TEST_CASE("a file that is cut short is refused at every page", "[front][users]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	std::vector<std::string> lines;
	for (int i = 0; i < 2000; i++)
		lines.push_back("user" + std::to_string(i) + "@example.org");
	REQUIRE(build(path, lines) == STORE_OK);
	const auto whole = read_file(path);
	REQUIRE(whole.size() > 10 * 4096);
	CHECK(status_of(path) == STORE_OK);
	for (size_t size = 4096; size < whole.size(); size += 4096) {
		CAPTURE(size);
		const auto cut = dir.file("cut");
		write_file(cut, whole.substr(0, size));
		const int status = status_of(cut);
		CHECK((status == STORE_ECUT || status == STORE_ENOTSTORE ||
		       status == STORE_ECORRUPT));
		std::filesystem::remove(cut + "-lock");
	}
}

TEST_CASE("a symbolic link leads to the one file and its one lock file", "[front][users]")
{
	const tmpdir dir;
	REQUIRE(build(dir.file("users.mdb"), { "john@example.org" }) == STORE_OK);
	std::filesystem::create_symlink("users.mdb", dir.file("link"));
	{
		const opened_users users(dir.file("link"));
		CHECK(users.find("john@example.org") == USERS_VALID);
	}
	CHECK(build(dir.file("link"), { "mary@example.org" }) == STORE_OK);
	CHECK_FALSE(std::filesystem::exists(dir.file("link-lock")));
	CHECK(opened_users(dir.file("users.mdb")).find("mary@example.org") == USERS_VALID);
}

// ---- every byte of it ----

TEST_CASE("all of a database is read and compared with its sum", "[front][users]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	std::vector<std::string> lines = { "@example.net messages=4096", "domain example.com" };
	for (int i = 0; i < 1000; i++)
		lines.push_back("user" + std::to_string(i) + "@example.org");
	REQUIRE(build(path, lines) == STORE_OK);
	users_facts facts = {};
	REQUIRE(users_verify(path.c_str(), &facts) == STORE_OK);
	CHECK(facts.address_count == 1000);
	CHECK(facts.catchall_count == 1);
	CHECK(facts.domain_count == 3);
	CHECK(facts.built_at_s == 1700000000);
	CHECK(facts.folds_case);
	CHECK(facts.extension == '\0');

	// One letter of each address, wherever it stands: the page is still a page.
	auto bytes = read_file(path);
	const auto at = bytes.find("user77@example.org");
	REQUIRE(at != std::string::npos);
	bytes[at] = 'v';
	write_file(path, bytes);
	CHECK(users_verify(path.c_str(), &facts) == STORE_ECORRUPT);

	// And one bit of a setting, which is another setting as good as the first.
	bytes[at] = 'u';
	write_file(path, bytes);
	REQUIRE(users_verify(path.c_str(), &facts) == STORE_OK);
	const auto setting = bytes.find(std::string("\1\0\x8\0\0\0\0\0\0\x10\0", 11));
	REQUIRE(setting != std::string::npos);
	bytes[setting + 9] = 0x11;
	write_file(path, bytes);
	CHECK(users_verify(path.c_str(), &facts) == STORE_ECORRUPT);
}

TEST_CASE("a database whose pages were overwritten is damaged and crashes nothing",
	  "[front][users]")
{
	const tmpdir dir;
	std::vector<std::string> lines;
	for (int i = 0; i < 1000; i++)
		lines.push_back("user" + std::to_string(i) + "@example.org");
	REQUIRE(build(dir.file("users.mdb"), lines) == STORE_OK);
	const auto whole = read_file(dir.file("users.mdb"));
	const auto path = dir.file("damaged.mdb");
	for (size_t page = 2; page < whole.size() / page_size(); page++) {
		CAPTURE(page);
		auto bytes = whole;
		memset(&bytes[page * page_size()], 0x5a, page_size());
		write_file(path, bytes);
		users_facts facts = {};
		CHECK(users_verify(path.c_str(), &facts) < 0);
		std::filesystem::remove(path + "-lock");
	}
}

TEST_CASE("a walk stops where its function says so", "[front][users]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "a@example.org", "b@example.org", "c@example.org" }) == STORE_OK);
	const opened_users users(path);
	int calls = 0;
	const int ret = users_walk(
		users.get(),
		[](void *context, const char *, size_t) {
			return ++*static_cast<int *>(context) == 2 ? 7 : 0;
		},
		&calls);
	CHECK(ret == 7);
	CHECK(calls == 2);
	CHECK(users.lines().size() == 4);
}
