// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/mail-users/users.hh"

#include "tests/lib/fault.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <cerrno>

// What parses prints; "" where there is no entry.
static std::string print(const std::string &line, const users_facts &facts = folding())
{
	users_key key = {};
	users_value value = {};
	REQUIRE(users_list_parse(line.data(), line.size(), &facts, &key, &value) == STORE_OK);
	char text[USERS_LIST_PRINT_MAX];
	const store_bytes bytes = { reinterpret_cast<const uint8_t *>(key.bytes), key.size };
	return std::string(text, users_list_print(bytes, &value, text));
}

static int status_of(const std::string &line)
{
	const users_facts facts = folding();
	users_key key = {};
	users_value value = {};
	return users_list_parse(line.data(), line.size(), &facts, &key, &value);
}

using lines = std::vector<std::string>;

TEST_CASE("a list is kept in order, each entry once, with its domains", "[front][users_list]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	struct users_builder made = {};
	made.max_shrink_percent = 100;
	REQUIRE(build(path,
		      { "mary@example.org", "John@Example.org # the boss", "\tjohn@example.org\r",
			"", "   ", "# nothing", "@example.com", "domain\texample.net",
			"mary@example.org", "\"a b\"@example.org" },
		      folding(), &made) == STORE_OK);
	CHECK(opened_users(path).lines() ==
	      lines{ "\"a b\"@example.org", "john@example.org", "mary@example.org", "@example.com",
		     "domain example.com", "domain example.net", "domain example.org" });
	CHECK(made.facts.address_count == 3);
	CHECK(made.facts.catchall_count == 1);
	CHECK(made.facts.domain_count == 3);
}

TEST_CASE("a line that is refused adds nothing, and others may follow", "[front][users_list]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	struct users_builder made = {};
	made.facts = folding();
	REQUIRE(users_build(
			path.c_str(), &made,
			[](users_builder *build, void *) {
				CHECK(users_build_add(build, "john", 4) == USERS_EADDRESS);
				CHECK(users_build_add(build, "john@a..b", 9) == USERS_EDOMAIN);
				return users_build_add(build, "mary@example.org", 16);
			},
			nullptr) == STORE_OK);
	CHECK(opened_users(path).lines() == lines{ "mary@example.org", "domain example.org" });
}

TEST_CASE("what is printed reads back as the same", "[front][users_list]")
{
	const std::string local =
		GENERATE(as<std::string>{}, "john", "john.doe", "\"john doe\"", "\"#john\"",
			 "\".john\"", "\"jo..hn\"", "\"jo\\\"hn\"", "\"jo\\\\hn\"", "\"a@b\"",
			 "jürgen", "a#b", "!#$%&'*+-/=?^_`{|}~", "\"domain\"", "\"john.\"");
	CAPTURE(local);
	const auto first = print(local + "@example.org");
	CHECK_FALSE(first.empty());
	CHECK(print(first) == first);
}

TEST_CASE("a line that is no entry is refused with its reason, and changes nothing",
	  "[front][users_list]")
{
	const auto [line, status] = GENERATE(table<std::string, int>({
		{ "john", USERS_EADDRESS },
		{ "john@", USERS_EDOMAIN },
		{ "@", USERS_EDOMAIN },
		{ "domain", USERS_EDOMAIN },
		{ "domain example.org example.net", USERS_EWORDS },
		{ "domain a@example.org", USERS_EDOMAIN },
		{ "domain example.org messages=1", USERS_EWORDS },
		{ "john@example.org OK", USERS_ESETTING },
		{ "john doe@example.org", USERS_EADDRESS },
		{ "john@example..org", USERS_EDOMAIN },
		{ "john@.example.org", USERS_EDOMAIN },
		{ "john@example.org.", USERS_EDOMAIN },
		{ "john@exa$mple.org", USERS_EDOMAIN },
		{ "john@[192.0.2.1", USERS_EDOMAIN },
		{ "john@[]", USERS_EDOMAIN },
		{ "john@[a b]", USERS_EDOMAIN },
		{ ".john@example.org", USERS_ELOCAL },
		{ "john.@example.org", USERS_ELOCAL },
		{ "jo..hn@example.org", USERS_ELOCAL },
		{ "jo@hn@example.org", USERS_ELOCAL },
		{ "<john@example.org>", USERS_EDOMAIN },
		{ "\"\"@example.org", USERS_ELOCAL },
		{ "\"john@example.org", USERS_ELOCAL },
		{ "\"jo\"hn\"@example.org", USERS_ELOCAL },
		{ "\"john\\\"@example.org", USERS_ELOCAL },
		{ "\"jo\thn\"@example.org", USERS_ELOCAL },
		{ std::string("jo\0hn@example.org", 17), USERS_ELOCAL },
		{ std::string("john@exam\0ple.org", 17), USERS_EDOMAIN },
		{ std::string(65, 'x') + "@example.org", USERS_ELOCALSIZE },
		{ "\"" + std::string(65, 'x') + "\"@example.org", USERS_ELOCALSIZE },
		{ "john@" + std::string(64, 'x') + ".org", USERS_EDOMAINSIZE },
		{ "john@" + std::string(256, 'x'), USERS_EDOMAINSIZE },
		{ "j\xfchn@example.org", USERS_EUTF8 },
		{ "john@\xc0\xafx.org", USERS_EUTF8 },
		{ "john\xed\xa0\x80@example.org", USERS_EUTF8 },
		{ "john@example.org\xe2\x82", USERS_EUTF8 },
	}));
	CAPTURE(line);
	CHECK(status_of(line) == status);
}

TEST_CASE("what an address may be is accepted", "[front][users_list]")
{
	const std::string line =
		GENERATE(as<std::string>{}, "a@b", "john@[192.0.2.1]", "john@[IPv6:2001:db8::1]",
			 "john@xn--bcher-kva.example", "john@bücher.example", "john@_x.example.org",
			 "\"john doe\"@example.org # his name", "\"a # b\"@example.org",
			 "@[192.0.2.1]", "domain [192.0.2.1]", "domain org");
	CAPTURE(line);
	CHECK(status_of(line) == STORE_OK);
	CHECK(status_of(std::string(64, 'x') + "@example.org") == STORE_OK);
	CHECK(status_of("\"" + std::string(64, 'x') + "\"@example.org") == STORE_OK);
}

TEST_CASE("a line without an entry is no fault", "[front][users_list]")
{
	for (const char *line : { "", "   ", "\t\r", "# nothing", "  # nothing" })
		CHECK(print(line).empty());
}

TEST_CASE("each status of a list has a text of its own", "[front][users_list]")
{
	CHECK(std::string(users_strerror(USERS_EADDRESS)) == "no \"@\" in the address");
	CHECK(std::string(users_strerror(STORE_ECUT)) == "file is cut short");
	CHECK(std::string(users_strerror(-ENOENT)) == "No such file or directory");
	CHECK(std::string(users_strerror(STORE_ECORRUPT)) == "damaged store");
}

TEST_CASE("a database that is opened without memory says so at every allocation", "[front][users]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "john@example.org" }) == STORE_OK);
	unsigned number = 1;
	for (;; number++) {
		users *opened = nullptr;
		fault::fail_at(number);
		const int ret = users_open(path.c_str(), &opened);
		users_close(opened);
		if (!fault::end())
			break;
		CHECK(ret == -ENOMEM);
	}
	CHECK(number > 2);
}
