// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/mail-base/users.hh"

#include "integration/mail/base/users/users_file.h"

#include "tests/lib/fault.hh"

#include <catch2/catch.hpp>

#include <cerrno>

static std::vector<std::string> lines_of(const users_list *list)
{
	std::vector<std::string> all;
	for (size_t i = 0; i < users_list_count(list); i++) {
		size_t size = 0;
		const char *key = users_list_key(list, i, &size);
		char line[USERS_FILE_LINE_MAX];
		all.emplace_back(line, users_file_line(key, size, line));
	}
	return all;
}

static int status_of(const std::string &line)
{
	const auto list = make_list({});
	const int ret = users_list_add(list.get(), line.data(), line.size());
	if (ret != USERS_OK)
		CHECK(users_list_count(list.get()) == 0);
	return ret;
}

using lines = std::vector<std::string>;

TEST_CASE("a list is kept in order, each entry once, with its domains", "[front][users_list]")
{
	const auto list =
		make_list({ "mary@example.org", "John@Example.org # the boss",
			    "\tjohn@example.org\r", "", "   ", "# nothing", "@example.com",
			    "domain\texample.net", "mary@example.org", "\"a b\"@example.org" });
	CHECK(lines_of(list.get()) ==
	      lines{ "\"a b\"@example.org", "john@example.org", "mary@example.org", "@example.com",
		     "domain example.com", "domain example.net", "domain example.org" });
}

TEST_CASE("what is printed reads back as the same", "[front][users_list]")
{
	const std::string local =
		GENERATE(as<std::string>{}, "john", "john.doe", "\"john doe\"", "\"#john\"",
			 "\".john\"", "\"jo..hn\"", "\"jo\\\"hn\"", "\"jo\\\\hn\"", "\"a@b\"",
			 "jürgen", "a#b", "!#$%&'*+-/=?^_`{|}~", "\"domain\"", "\"john.\"");
	CAPTURE(local);
	const auto list = make_list({ local + "@example.org" });
	const auto first = lines_of(list.get());
	CHECK(first.size() == 2);
	CHECK(lines_of(make_list(first).get()) == first);
}

TEST_CASE("a line that is no entry is refused with its reason, and changes nothing",
	  "[front][users_list]")
{
	const auto [line, status] = GENERATE(table<std::string, int>({
		{ "john", USERS_LIST_EADDRESS },
		{ "john@", USERS_LIST_EDOMAIN },
		{ "@", USERS_LIST_EDOMAIN },
		{ "domain", USERS_LIST_EDOMAIN },
		{ "domain example.org example.net", USERS_LIST_EWORDS },
		{ "domain a@example.org", USERS_LIST_EDOMAIN },
		{ "john@example.org OK", USERS_LIST_EWORDS },
		{ "john doe@example.org", USERS_LIST_EWORDS },
		{ "john@example..org", USERS_LIST_EDOMAIN },
		{ "john@.example.org", USERS_LIST_EDOMAIN },
		{ "john@example.org.", USERS_LIST_EDOMAIN },
		{ "john@exa$mple.org", USERS_LIST_EDOMAIN },
		{ "john@[192.0.2.1", USERS_LIST_EDOMAIN },
		{ "john@[]", USERS_LIST_EDOMAIN },
		{ "john@[a b]", USERS_LIST_EWORDS },
		{ ".john@example.org", USERS_LIST_ELOCAL },
		{ "john.@example.org", USERS_LIST_ELOCAL },
		{ "jo..hn@example.org", USERS_LIST_ELOCAL },
		{ "jo@hn@example.org", USERS_LIST_ELOCAL },
		{ "<john@example.org>", USERS_LIST_EDOMAIN },
		{ "\"\"@example.org", USERS_LIST_ELOCAL },
		{ "\"john@example.org", USERS_LIST_ELOCAL },
		{ "\"jo\"hn\"@example.org", USERS_LIST_ELOCAL },
		{ "\"john\\\"@example.org", USERS_LIST_ELOCAL },
		{ "\"jo\thn\"@example.org", USERS_LIST_ELOCAL },
		{ std::string("jo\0hn@example.org", 17), USERS_LIST_ELOCAL },
		{ std::string("john@exam\0ple.org", 17), USERS_LIST_EDOMAIN },
		{ std::string(65, 'x') + "@example.org", USERS_LIST_ELOCALSIZE },
		{ "\"" + std::string(65, 'x') + "\"@example.org", USERS_LIST_ELOCALSIZE },
		{ "john@" + std::string(64, 'x') + ".org", USERS_LIST_EDOMAINSIZE },
		{ "john@" + std::string(256, 'x'), USERS_LIST_EDOMAINSIZE },
		{ "j\xfchn@example.org", USERS_LIST_EUTF8 },
		{ "john@\xc0\xafx.org", USERS_LIST_EUTF8 },
		{ "john\xed\xa0\x80@example.org", USERS_LIST_EUTF8 },
		{ "john@example.org\xe2\x82", USERS_LIST_EUTF8 },
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
	CHECK(status_of(line) == USERS_OK);
	CHECK(status_of(std::string(64, 'x') + "@example.org") == USERS_OK);
	CHECK(status_of("\"" + std::string(64, 'x') + "\"@example.org") == USERS_OK);
}

TEST_CASE("a line like those of passwd has a name before the first colon", "[front][users_list]")
{
	const auto list = make_list({});
	const users_passwd passwd = { "Example.org", 0 };
	const auto add = [&](const std::string &line) {
		return users_list_add_passwd(list.get(), line.data(), line.size(), &passwd);
	};
	CHECK(add("root:x:0:0:root:/root:/bin/bash") == USERS_OK);
	CHECK(add("john:x:1000:1000:John, @ home:/home/john:/bin/sh") == USERS_OK);
	CHECK(add("mary:") == USERS_OK);
	CHECK(add("") == USERS_OK);
	CHECK(add("# comment") == USERS_OK);
	CHECK(add("john") == USERS_LIST_ENAME);
	CHECK(add(":x:0:0") == USERS_LIST_ENAME);
	CHECK(add("+::::::") == USERS_LIST_ENAME);
	CHECK(add("a@b:x") == USERS_LIST_ENAME);
	CHECK(add("a b:x") == USERS_LIST_ENAME);
	CHECK(add(std::string(65, 'x') + ":x") == USERS_LIST_ENAME);
	CHECK(add("j\xfc:x") == USERS_LIST_EUTF8);
	users_list_sort(list.get());
	CHECK(lines_of(list.get()) == lines{ "john@example.org", "mary@example.org",
					     "root@example.org", "domain example.org" });
}

TEST_CASE("accounts of the system are left out by their user id", "[front][users_list]")
{
	const auto list = make_list({});
	const users_passwd passwd = { "example.org", 1000 };
	const auto add = [&](const std::string &line) {
		return users_list_add_passwd(list.get(), line.data(), line.size(), &passwd);
	};
	for (const char *line : { "root:x:0:0:root:/root:/bin/bash", "daemon:x:999:1::/:/bin/sh",
				  "games:x:000000000999", "nobody:x:65534:65534::/:/bin/sh" })
		CHECK(add(line) == USERS_OK);
	CHECK(users_list_left_out(list.get()) == 4);
	for (const char *line : { "john:x:1000:1000::/home/john:/bin/sh", "mary:x:4294967295:1",
				  "anna:x:01000", "plain:", "open:{PLAIN}secret", "empty:x::" })
		CHECK(add(line) == USERS_OK);
	CHECK(users_list_left_out(list.get()) == 4);
	for (const char *line : { "a:x:vmail:vmail", "a:x:-1:0", "a:x:1000 :0", "a:x:4294967296:0",
				  "a:x:18446744073709552616:0", "a:x:0x3e8:0" })
		CHECK(add(line) == USERS_LIST_EUID);
	// What is no name is none whatever its user id.
	CHECK(add("+::0") == USERS_LIST_ENAME);
	users_list_sort(list.get());
	CHECK(lines_of(list.get()) == lines{ "anna@example.org", "empty@example.org",
					     "john@example.org", "mary@example.org",
					     "open@example.org", "plain@example.org",
					     "domain example.org" });
}

TEST_CASE("no account is left out where user ids do not count", "[front][users_list]")
{
	const auto list = make_list({});
	const users_passwd passwd = { "example.org", 0 };
	for (const std::string line : { "root:x:0", "nobody:x:65534", "mary:x:vmail" })
		CHECK(users_list_add_passwd(list.get(), line.data(), line.size(), &passwd) ==
		      USERS_OK);
	CHECK(users_list_left_out(list.get()) == 0);
	CHECK(users_list_count(list.get()) == 4);
}

TEST_CASE("a domain of a command line is one or not", "[front][users_list]")
{
	CHECK(users_list_check_domain("example.org") == USERS_OK);
	CHECK(users_list_check_domain("") == USERS_LIST_EDOMAIN);
	CHECK(users_list_check_domain("a b") == USERS_LIST_EDOMAIN);
	CHECK(users_list_check_domain("\xff") == USERS_LIST_EUTF8);
}

TEST_CASE("equal lists have equal sums, in whatever order they were said", "[front][users_list]")
{
	users_facts one = {};
	users_facts other = {};
	users_list_facts(make_list({ "a@x.org", "b@x.org", "a@y.org" }).get(), &one);
	users_list_facts(make_list({ "A@Y.org", "b@x.org", "a@x.org", "a@x.org" }).get(), &other);
	CHECK(one.sum == other.sum);
	CHECK(one.address_count == 3);
	CHECK(one.domain_count == 2);
	users_list_facts(make_list({ "a@x.org", "b@x.org", "b@y.org" }).get(), &other);
	CHECK(one.sum != other.sum);
}

TEST_CASE("each status of a list has a text of its own", "[front][users_list]")
{
	CHECK(std::string(users_list_strerror(USERS_LIST_EWORDS)) ==
	      "more than one word in the line");
	CHECK(std::string(users_list_strerror(USERS_ECUT)) == "file is cut short");
	CHECK(std::string(users_list_strerror(-ENOENT)) == "No such file or directory");
	CHECK(std::string(users_strerror(USERS_OK)) == "success");
}

TEST_CASE("a list without memory says so at every allocation", "[front][users_list]")
{
	const users_facts facts = folding();
	unsigned number = 1;
	for (;; number++) {
		fault::fail_at(number);
		users_list *list = nullptr;
		int ret = users_list_new(&facts, &list);
		for (int i = 0; ret == USERS_OK && i < 9000; i++) {
			const char name[] = { static_cast<char>('a' + i % 26),
					      static_cast<char>('a' + i / 26 % 26), '@', 'x' };
			ret = users_list_add(list, name, sizeof(name));
		}
		users_list_free(list);
		if (!fault::end())
			break;
		CHECK(ret == -ENOMEM);
	}
	CHECK(number > 5);
}
