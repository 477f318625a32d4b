// SPDX-License-Identifier: GPL-3.0-or-later
#include "integration/mail/base/users/users_copy.h"

#include "tests/unit/mail-users/users.hh"

#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

using lines = std::vector<std::string>;

static const char scram[] = "scram=SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
			    "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY"
			    "=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";

static std::string copied(const std::string &path)
{
	uint8_t *text = nullptr;
	size_t size = 0;
	REQUIRE(users_copy_make(path.c_str(), &text, &size) == STORE_OK);
	std::string all(reinterpret_cast<char *>(text), size);
	free(text);
	return all;
}

struct made {
	int status;
	std::string place;
};

static made made_of(const std::string &text, const std::string &users, const std::string &logins)
{
	const char *place = nullptr;
	const int ret =
		users_copy_build(reinterpret_cast<const uint8_t *>(text.data()), text.size(),
				 users.c_str(), logins.empty() ? nullptr : logins.c_str(), &place);
	return { ret, place != nullptr ? place : "" };
}

TEST_CASE("a database that was copied answers as the first one did", "[front][users_copy]")
{
	const tmpdir dir;
	const auto fold = GENERATE(true, false);
	const auto extension = GENERATE('\0', '+', '=', '-');
	const lines list = { "Anna@example.org octets=1G", "bert@example.org to=Anna@example.org",
			     "@example.com keep=1d", "domain example.net" };
	REQUIRE(build(dir.file("users.mdb"), list, folding(fold, extension)) == STORE_OK);
	const auto text = copied(dir.file("users.mdb"));
	REQUIRE(made_of(text, dir.file("again.mdb"), "").status == STORE_OK);
	CHECK(copied(dir.file("again.mdb")) == text);
	const opened_users users(dir.file("again.mdb"));
	CHECK(users.find("ANNA@example.org") == (fold ? USERS_VALID : USERS_UNKNOWN));
	CHECK(users.find(std::string("Anna") + (extension != '\0' ? extension : '+') +
			 "x@example.org") == (extension != '\0' ? USERS_VALID : USERS_UNKNOWN));
	CHECK(users.entry("any@example.com") == "@example.com");
}

TEST_CASE("passwords are copied into the database of logins alone, for its owner alone",
	  "[front][users_copy]")
{
	const tmpdir dir;
	REQUIRE(build(dir.file("logins.mdb"), { std::string("anna@example.org ") + scram }) ==
		STORE_OK);
	const auto text = copied(dir.file("logins.mdb"));
	CHECK(text.find(scram) != std::string::npos);
	REQUIRE(made_of(text, dir.file("u.mdb"), dir.file("l.mdb")).status == STORE_OK);
	CHECK(copied(dir.file("l.mdb")) == text);
	CHECK(copied(dir.file("u.mdb")).find("scram") == std::string::npos);
	struct stat st = {};
	REQUIRE(stat(dir.file("l.mdb").c_str(), &st) == 0);
	CHECK((st.st_mode & 077) == 0);
}

TEST_CASE("a copy replaces a list of any size, also by a much shorter one", "[front][users_copy]")
{
	const tmpdir dir;
	lines many;
	for (int i = 0; i < 1000; i++)
		many.push_back("user" + std::to_string(i) + "@example.org");
	REQUIRE(build(dir.file("users.mdb"), many) == STORE_OK);
	REQUIRE(build(dir.file("few.mdb"), { "anna@example.org" }) == STORE_OK);
	const auto few = copied(dir.file("few.mdb"));
	REQUIRE(made_of(few, dir.file("users.mdb"), "").status == STORE_OK);
	CHECK(copied(dir.file("users.mdb")) == few);
}

TEST_CASE("what is no copy changes nothing, and the database is named", "[front][users_copy]")
{
	struct row {
		std::string text;
		int status;
	};
	const std::string head = "# users 1 fold=yes extension=none built=1790000000\n";
	const auto row = GENERATE_COPY(values<struct row>({
		{ "", USERS_ECOPY },
		{ "anna@example.org\n", USERS_ECOPY },
		{ "# users 2 fold=yes extension=none built=1\na@example.org\n", USERS_ECOPY },
		{ "# users 1 fold=perhaps extension=none built=1\na@example.org\n", USERS_ECOPY },
		{ "# users 1 fold=yes extension=@ built=1\na@example.org\n", USERS_ECOPY },
		{ "# users 1 fold=yes extension=++ built=1\na@example.org\n", USERS_ECOPY },
		{ "# users 1 fold=yes extension= built=1\na@example.org\n", USERS_ECOPY },
		{ "# users 1 fold=yes extension=+ built=-1\na@example.org\n", USERS_ECOPY },
		{ head.substr(0, head.size() - 1), USERS_ECOPY },
		{ head, USERS_EEMPTY },
		{ head + "a@example.org\nb@exam", USERS_ECOPY },
		{ head + "a@example.org\nb\n", USERS_EADDRESS },
		{ head + "a@example.org to=b@example.org\n", USERS_EREFUSED },
		{ head + std::string(USERS_LIST_LINE_MAX + 1, 'x') + "\n", USERS_ELINE },
	}));
	const tmpdir dir;
	CAPTURE(row.text.substr(0, 80));
	REQUIRE(build(dir.file("users.mdb"), { "anna@example.org" }) == STORE_OK);
	const auto before = copied(dir.file("users.mdb"));
	const auto made = made_of(row.text, dir.file("users.mdb"), "");
	CHECK(made.status == row.status);
	CHECK(made.place == dir.file("users.mdb"));
	CHECK(copied(dir.file("users.mdb")) == before);
}

TEST_CASE("a database that is not there, and one that cannot be written, are refused",
	  "[front][users_copy]")
{
	const tmpdir dir;
	uint8_t *text = nullptr;
	size_t size = 0;
	CHECK(users_copy_make(dir.file("none.mdb").c_str(), &text, &size) == -ENOENT);
	REQUIRE(build(dir.file("users.mdb"), { "anna@example.org" }) == STORE_OK);
	const auto made = made_of(copied(dir.file("users.mdb")), dir.file("no/users.mdb"),
				  dir.file("logins.mdb"));
	CHECK(made.status == -ENOENT);
	CHECK(made.place == dir.file("no/users.mdb"));
}

TEST_CASE("what waits for a database that is copied finds it with all of its list",
	  "[front][users_copy]")
{
	const tmpdir dir;
	std::string text = "# users 1 fold=yes extension=none built=1\n";
	for (int i = 0; i < 20000; i++)
		text += "user" + std::to_string(i) + "@example.org\n";
	const std::string path = dir.file("users.mdb");
	int status = -1;
	std::thread builder([&] { status = made_of(text, path, "").status; });
	while (access(path.c_str(), F_OK) != 0)
		std::this_thread::yield();
	struct users *users = nullptr;
	const int found = users_open(path.c_str(), &users);
	const int answer = found == 0 ? users_find(users, "user19999@example.org", 21) : found;
	users_close(users);
	builder.join();
	CHECK(status == STORE_OK);
	CHECK(found == STORE_OK);
	CHECK(answer == USERS_VALID);
}

TEST_CASE("what an interrupted copy has left is no obstacle to the next one", "[front][users_copy]")
{
	const tmpdir dir;
	const std::string path = dir.file("users.mdb");
	for (const char *end : { ".new", ".new-lock" })
		std::ofstream(path + end) << "no database";
	const std::string text =
		"# users 1 fold=yes extension=none built=1\nanna@example.org\ndomain example.org\n";
	REQUIRE(made_of(text, path, "").status == STORE_OK);
	CHECK(copied(path) == text);
	for (const char *end : { ".new", ".new-lock" })
		CHECK(access((path + end).c_str(), F_OK) != 0);
	CHECK(access((path + "-lock").c_str(), F_OK) == 0);
}
