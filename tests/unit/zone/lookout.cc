// SPDX-License-Identifier: GPL-3.0-or-later
#include "zone-tools/zones/lookout.h"

#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace
{
void write(const std::string &path, const std::string &text)
{
	std::ofstream(path) << text;
}

bool has_seen(const lookout &watched)
{
	pollfd poller = { watched.fd, POLLIN, 0 };
	return poll(&poller, 1, 0) == 1;
}
} // namespace

TEST_CASE("a file that is written, replaced or gone looks otherwise", "[zone-tools][lookout]")
{
	const tmpdir dir;
	const auto path = dir.file("list");
	const uint64_t absent = lookout_print(1, path.c_str());
	write(path, "192.0.2.1\n");
	const uint64_t first = lookout_print(1, path.c_str());
	CHECK(first != absent);
	CHECK(lookout_print(1, path.c_str()) == first);
	CHECK(lookout_print(2, path.c_str()) != first);
	write(path, "192.0.2.1\n192.0.2.2\n");
	const uint64_t second = lookout_print(1, path.c_str());
	CHECK(second != first);
	write(dir.file("new"), "192.0.2.1\n192.0.2.3\n");
	REQUIRE(rename(dir.file("new").c_str(), path.c_str()) == 0);
	CHECK(lookout_print(1, path.c_str()) != second);
	REQUIRE(remove(path.c_str()) == 0);
	CHECK(lookout_print(1, path.c_str()) == absent);
}

TEST_CASE("a directory tells of files that are written and renamed in it", "[zone-tools][lookout]")
{
	const tmpdir dir;
	const auto path = dir.file("list");
	lookout watched = {};
	lookout_open(&watched);
	lookout_watch(&watched, path.c_str());
	REQUIRE_FALSE(watched.is_blind);
	CHECK_FALSE(has_seen(watched));
	write(path, "a");
	CHECK(has_seen(watched));
	lookout_renew(&watched);
	lookout_watch(&watched, path.c_str());
	CHECK_FALSE(has_seen(watched));
	REQUIRE(rename(path.c_str(), dir.file("other").c_str()) == 0);
	CHECK(has_seen(watched));
	lookout_close(&watched);
}

TEST_CASE("a directory that is itself replaced is watched anew", "[zone-tools][lookout]")
{
	const tmpdir dir;
	const bool is_link = GENERATE(false, true);
	const auto lists = dir.file("lists");
	const auto path = lists + "/of/list";
	for (const char *name : { "one", "one/of", "two", "two/of" })
		REQUIRE(mkdir(dir.file(name).c_str(), 0777) == 0);
	const auto publish = [&](const char *name) {
		if (is_link)
			REQUIRE(symlink(dir.file(name).c_str(), dir.file("new").c_str()) == 0);
		REQUIRE(rename(dir.file(is_link ? "new" : name).c_str(), lists.c_str()) == 0);
	};
	publish("one");
	lookout watched = {};
	lookout_open(&watched);
	lookout_watch(&watched, path.c_str());
	REQUIRE_FALSE(watched.is_blind);
	if (!is_link)
		REQUIRE(rename(lists.c_str(), dir.file("old").c_str()) == 0);
	write(dir.file("beside"), "a");
	CHECK(lookout_is_replaced(&watched) != is_link);
	CHECK_FALSE(lookout_is_replaced(&watched));
	publish("two");
	CHECK(lookout_is_replaced(&watched));
	lookout_renew(&watched);
	lookout_watch(&watched, path.c_str());
	REQUIRE_FALSE(watched.is_blind);
	CHECK_FALSE(has_seen(watched));
	write(path, "a");
	CHECK(has_seen(watched));
	lookout_close(&watched);
}

TEST_CASE("a directory that is moved away is watched no more", "[zone-tools][lookout]")
{
	const tmpdir dir;
	const auto path = dir.file("lists/list");
	REQUIRE(mkdir(dir.file("lists").c_str(), 0777) == 0);
	lookout watched = {};
	lookout_open(&watched);
	lookout_watch(&watched, path.c_str());
	REQUIRE(rename(dir.file("lists").c_str(), dir.file("old").c_str()) == 0);
	CHECK(lookout_is_replaced(&watched));
	lookout_renew(&watched);
	lookout_watch(&watched, path.c_str());
	CHECK(watched.is_blind);
	write(dir.file("old/list"), "a");
	CHECK_FALSE(has_seen(watched));
	CHECK_FALSE(lookout_is_replaced(&watched));
	REQUIRE(rename(dir.file("old").c_str(), dir.file("lists").c_str()) == 0);
	CHECK(lookout_is_replaced(&watched));
	lookout_renew(&watched);
	lookout_watch(&watched, path.c_str());
	CHECK_FALSE(watched.is_blind);
	lookout_close(&watched);
}

TEST_CASE("a directory that a link has led to is watched no more", "[zone-tools][lookout]")
{
	const tmpdir dir;
	const auto path = dir.file("lists/list");
	for (const char *name : { "one", "two" })
		REQUIRE(mkdir(dir.file(name).c_str(), 0777) == 0);
	REQUIRE(symlink("one", dir.file("lists").c_str()) == 0);
	lookout watched = {};
	lookout_open(&watched);
	lookout_watch(&watched, path.c_str());
	REQUIRE(remove(dir.file("lists").c_str()) == 0);
	REQUIRE(symlink("two", dir.file("lists").c_str()) == 0);
	lookout_renew(&watched);
	lookout_watch(&watched, path.c_str());
	write(dir.file("one/list"), "a");
	CHECK_FALSE(has_seen(watched));
	write(path, "a");
	CHECK(has_seen(watched));
	lookout_close(&watched);
}

TEST_CASE("what cannot be watched is looked at now and then", "[zone-tools][lookout]")
{
	const tmpdir dir;
	lookout watched = {};
	lookout_open(&watched);
	lookout_watch(&watched, dir.file("absent/list").c_str());
	CHECK(watched.is_blind);
	lookout_close(&watched);
	CHECK(watched.fd == -1);
	lookout_close(&watched);
}
