/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/client/stub_fixture.hh"

#include <unistd.h>

#include <string>
#include <vector>

#include "tests/lib/child.hh"

namespace
{
struct found_socket {
	int fd;
	uint16_t port;
};

// Those of this process that are connected to the resolver.
std::vector<found_socket> sockets_to(const resolver &server)
{
	std::vector<found_socket> found;
	for (int fd = 0; fd < 1024; fd++) {
		sockaddr_in own = {};
		sockaddr_in peer = {};
		socklen_t size = sizeof(peer);
		if (getpeername(fd, reinterpret_cast<sockaddr *>(&peer), &size) != 0 ||
		    peer.sin_family != AF_INET || peer.sin_port != server.address().sin6_port)
			continue;
		size = sizeof(own);
		if (getsockname(fd, reinterpret_cast<sockaddr *>(&own), &size) == 0)
			found.push_back({ fd, ntohs(own.sin_port) });
	}
	return found;
}

void ask_one(asking &client, const std::string &name)
{
	outcome kept;
	client.ask(name, kept);
	client.until_told(kept);
	CHECK(kept.is_listed());
	CHECK(kept.reply.a[0][3] == 2);
}
} // namespace

TEST_CASE("a socket whose reply came stays open until what was put off is done", "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	client.server(server);
	stub_hold(client.get());
	ask_one(client, "first.example");
	const std::vector<found_socket> held = sockets_to(server);
	REQUIRE(held.size() == 1);
	const uint16_t port = server.queries()[0].source_port;
	CHECK(held[0].port == port);
	stub_release(client.get());
	CHECK(sockets_to(server).empty());
	CHECK(!client.is_readable());
}

TEST_CASE("sockets beyond those that may be held are closed at once", "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	client.server(server);
	stub_hold(client.get());
	for (unsigned i = 0; i < 20; i++)
		ask_one(client, "n" + std::to_string(i) + ".example");
	CHECK(sockets_to(server).size() == 8);
	stub_release(client.get());
	CHECK(sockets_to(server).empty());
}

TEST_CASE("a child has no socket that its parent holds", "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	client.server(server);
	stub_hold(client.get());
	ask_one(client, "first.example");
	child other([&] {
		if (stub_after_fork(client.get()) != 0)
			return 99;
		return static_cast<int>(sockets_to(server).size());
	});
	CHECK(other.wait() == 0);
	CHECK(sockets_to(server).size() == 1);
	stub_release(client.get());
	CHECK(sockets_to(server).empty());
}
