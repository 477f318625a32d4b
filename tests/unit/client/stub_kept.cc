/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/client/stub_fixture.hh"

#include <unistd.h>

#include <algorithm>
#include <set>
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

TEST_CASE("a server on loopback is asked the next question from the same port", "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	client.server(server);
	CHECK(sockets_to(server).empty());
	for (unsigned i = 0; i < 5; i++)
		ask_one(client, "n" + std::to_string(i) + ".example");
	std::set<unsigned> ids;
	const auto queries = server.queries();
	for (const auto &query : queries) {
		CHECK(query.source_port == queries[0].source_port);
		ids.insert(query.id());
	}
	CHECK(ids.size() > 1);
	const auto kept = sockets_to(server);
	REQUIRE(kept.size() == 1);
	CHECK(kept[0].port == queries[0].source_port);
	CHECK(!client.is_readable());
}

TEST_CASE("of many sockets that were open at once a few are kept", "[client][stub]")
{
	constexpr unsigned COUNT = 20;
	resolver server(say_listed);
	asking client;
	client.server(server);
	std::vector<outcome> told(COUNT);
	for (unsigned i = 0; i < COUNT; i++)
		client.ask("n" + std::to_string(i) + ".example", told[i]);
	client.until([&] {
		return std::all_of(told.begin(), told.end(),
				   [](const outcome &one) { return one.is_listed(); });
	});
	CHECK(sockets_to(server).size() == 8);
}

TEST_CASE("a kept socket that hears something before the next question is closed", "[client][stub]")
{
	resolver server([](query &asked) {
		say_listed(asked);
		asked.reply_after(50, asked.answer_a({ 127, 0, 0, 9 }));
	});
	asking client;
	client.server(server);
	ask_one(client, "first.example");
	client.until([&] { return sockets_to(server).empty(); });
	CHECK(!client.is_readable());
	ask_one(client, "second.example");
	CHECK(sockets_to(server).size() == 1);
}

TEST_CASE("what comes late on a kept socket answers no other question", "[client][stub]")
{
	std::vector<query> before;
	resolver server([&](query &asked) {
		for (const query &other : before)
			other.reply(other.answer_a({ 127, 0, 0, 9 }));
		before.push_back(asked);
		say_listed(asked);
	});
	asking client;
	client.server(server);
	for (unsigned i = 0; i < 4; i++)
		ask_one(client, "n" + std::to_string(i) + ".example");
	CHECK(client.stats().dropped == 0 + 1 + 2 + 3);
}

TEST_CASE("a server in the place of another one has a socket of its own", "[client][stub]")
{
	resolver server(say_listed);
	resolver other(say_listed);
	asking client;
	client.server(server);
	ask_one(client, "first.example");
	client.config.servers[0].address = other.address();
	ask_one(client, "second.example");
	CHECK(sockets_to(server).empty());
	CHECK(sockets_to(other).size() == 1);
	stub_renew_servers(client.get(), 0);
	CHECK(sockets_to(other).empty());
}

TEST_CASE("a child has no socket that its parent keeps", "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	client.server(server);
	ask_one(client, "first.example");
	child other([&] {
		if (stub_after_fork(client.get()) != 0)
			return 99;
		return static_cast<int>(sockets_to(server).size());
	});
	CHECK(other.wait() == 0);
	CHECK(sockets_to(server).size() == 1);
	ask_one(client, "second.example");
}
