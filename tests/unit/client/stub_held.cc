/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/client/stub_fixture.hh"

#include <unistd.h>

#include <atomic>
#include <memory>
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

// As a loop does: the answer, and what is put off behind it.
found_socket open_ahead(asking &client, const resolver &server)
{
	stub_hold(client.get());
	ask_one(client, "first.example");
	stub_release(client.get(), client.now_ms);
	const std::vector<found_socket> found = sockets_to(server);
	REQUIRE(found.size() == 1);
	return found[0];
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
	stub_release(client.get(), client.now_ms);
	const std::vector<found_socket> ahead = sockets_to(server);
	REQUIRE(ahead.size() == 1);
	CHECK(ahead[0].port != port);
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
	stub_release(client.get(), client.now_ms);
	CHECK(sockets_to(server).size() == 1);
	ask_one(client, "last.example");
	CHECK(sockets_to(server).empty());
}

TEST_CASE("a socket that was opened ahead is that of the next question and of no other",
	  "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	client.server(server);
	const uint16_t port = open_ahead(client, server).port;
	client.now_ms += 49;
	ask_one(client, "second.example");
	CHECK(server.queries()[1].source_port == port);
	CHECK(sockets_to(server).empty());
}

TEST_CASE("a socket that was opened ahead is given up when it is old, or something came before",
	  "[client][stub]")
{
	auto port = std::make_shared<std::atomic<uint16_t>>(uint16_t{ 0 });
	resolver server([port](query &asked) {
		if (asked.name() == "early.example.")
			asked.send_to_port(*port, asked.answer_a({ 127, 0, 0, 66 }));
		else
			say_listed(asked);
	});
	asking client;
	client.server(server);
	const found_socket ahead = open_ahead(client, server);
	// As long as it has this one too, no other socket gets the port.
	const int too = dup(ahead.fd);
	const std::string why = GENERATE(as<std::string>{}, "old", "early", "servers");
	CAPTURE(why);
	if (why == "old")
		client.now_ms += 50;
	if (why == "early") {
		asking other;
		outcome kept;
		*port = ahead.port;
		other.server(server).ask("early.example", kept);
		pollfd polled = { too, POLLIN, 0 };
		REQUIRE(poll(&polled, 1, 120000) == 1);
	}
	if (why == "servers")
		stub_renew_servers(client.get(), client.now_ms);
	ask_one(client, "second.example");
	CHECK(server.queries().back().source_port != ahead.port);
	close(too);
	CHECK(sockets_to(server).empty());
}

TEST_CASE("a child has no socket that its parent opened ahead", "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	client.server(server);
	const uint16_t port = open_ahead(client, server).port;
	child other([&] {
		if (stub_after_fork(client.get()) != 0)
			return 99;
		return static_cast<int>(sockets_to(server).size());
	});
	CHECK(other.wait() == 0);
	ask_one(client, "second.example");
	CHECK(server.queries()[1].source_port == port);
}
