// SPDX-License-Identifier: GPL-3.0-or-later
// A store that is connected to and says nothing: its answer is waited for as long as is configured.
#include "integration/mail/pop-front/worker/maildrop.h"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

TEST_CASE("a store that says nothing is given up when its time is over", "[pop-front][maildrop]")
{
	const tmpdir directory;
	const std::string path = directory.file("socket");
	sockaddr_un address = {};
	address.sun_family = AF_UNIX;
	REQUIRE(path.size() < sizeof(address.sun_path));
	memcpy(address.sun_path, path.c_str(), path.size() + 1);
	const int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	REQUIRE(bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0);
	REQUIRE(listen(listener, 8) == 0);

	maildrop drop;
	maildrop_init(path.c_str(), &drop);
	drop.timeout_ms = 1;
	// The minute that a connection has without it would be the end of this process.
	alarm(50);
	CHECK(maildrop_open(&drop, "anna@example.org", 10) == -ETIMEDOUT);
	alarm(0);
	CHECK(drop.layer == nullptr);
	maildrop_deinit(&drop);
	close(listener);
}
