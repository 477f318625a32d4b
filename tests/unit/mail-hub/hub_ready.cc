// SPDX-License-Identifier: GPL-3.0-or-later
// What programs say over their sockets, with the function that they say it with.
#include "integration/mail/mail-hub/hub_ready.h"

#include "integration/common/program.h"
#include "lib/process/systemd.h"

#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace
{
class heard
{
      public:
	heard()
	{
		setenv("NOTIFY_SOCKET", path.c_str(), 1);
	}
	~heard()
	{
		unsetenv("NOTIFY_SOCKET");
		if (fd >= 0)
			close(fd);
	}
	heard(const heard &) = delete;
	heard &operator=(const heard &) = delete;

	tmpdir dir;
	const std::string path = dir.file("notify");
	const owner own{};
	int fd = -1;
};
} // namespace

TEST_CASE("a program is ready when one of its words says so", "[mail-hub][hub_ready]")
{
	heard p;
	REQUIRE(hub_ready_open(p.path.c_str(), &p.own, &p.fd) == 0);
	CHECK_FALSE(hub_ready_take(p.fd).is_ready);
	for (const char *word : { "READY=1", "STATUS=x\nREADY=1", "READY=1\nSTATUS=x" }) {
		CAPTURE(word);
		REQUIRE(systemd_notify("STOPPING=1") == 0);
		REQUIRE(systemd_notify(word) == 0);
		REQUIRE(systemd_notify("RELOADING=1") == 0);
		CHECK(hub_ready_take(p.fd).is_ready);
		CHECK_FALSE(hub_ready_take(p.fd).is_ready);
	}
}

TEST_CASE("other words are not taken for it", "[mail-hub][hub_ready]")
{
	heard p;
	REQUIRE(hub_ready_open(p.path.c_str(), &p.own, &p.fd) == 0);
	for (const std::string &word :
	     { std::string("READY=10"), std::string("XREADY=1"), std::string("READY=0"),
	       std::string("STATUS=READY=1"), std::string(), std::string(5000, 'x') }) {
		CAPTURE(word);
		REQUIRE(systemd_notify(word.c_str()) == 0);
		CHECK_FALSE(hub_ready_take(p.fd).is_ready);
	}
}

TEST_CASE("a program that has refused to reload is heard, beside its being ready",
	  "[mail-hub][hub_ready]")
{
	heard p;
	REQUIRE(hub_ready_open(p.path.c_str(), &p.own, &p.fd) == 0);
	program_tell_reloaded();
	CHECK_FALSE(hub_ready_take(p.fd).has_refused);
	program_tell_not_reloaded();
	program_tell_ready("a-program");
	const hub_ready_words words = hub_ready_take(p.fd);
	CHECK(words.has_refused);
	CHECK(words.is_ready);
	CHECK_FALSE(hub_ready_take(p.fd).has_refused);
}

TEST_CASE("a program that never stops speaking has its turn, and no more", "[mail-hub][hub_ready]")
{
	static const char word[] = "STATUS=x";
	static const char ready[] = "READY=1";
	int ends[2] = { -1, -1 };
	REQUIRE(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
	for (unsigned i = 0; i < 150; i++)
		REQUIRE(send(ends[1], word, strlen(word), 0) == (ssize_t)strlen(word));
	REQUIRE(send(ends[1], ready, strlen(ready), 0) == (ssize_t)strlen(ready));
	CHECK_FALSE(hub_ready_take(ends[0]).is_ready);
	unsigned calls = 1;
	while (calls < 100 && !hub_ready_take(ends[0]).is_ready)
		calls++;
	CHECK(calls > 1);
	CHECK(calls < 100);
	close(ends[0]);
	close(ends[1]);
}

TEST_CASE("what an earlier process has left at the path is no obstacle", "[mail-hub][hub_ready]")
{
	heard p;
	int before = -1;
	REQUIRE(hub_ready_open(p.path.c_str(), &p.own, &before) == 0);
	close(before);
	REQUIRE(hub_ready_open(p.path.c_str(), &p.own, &p.fd) == 0);
	REQUIRE(systemd_notify("READY=1") == 0);
	CHECK(hub_ready_take(p.fd).is_ready);
	int none = 5;
	CHECK(hub_ready_open(std::string(200, '/').c_str(), &p.own, &none) == -ENAMETOOLONG);
	CHECK(none == -1);
	CHECK(hub_ready_open(p.dir.file("missing/notify").c_str(), &p.own, &none) == -ENOENT);
	CHECK(none == -1);
}
