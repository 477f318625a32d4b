// SPDX-License-Identifier: GPL-3.0-or-later
// Which sockets an edge has, and of which place each is.
#include "integration/mail/base/nanny/listeners.h"
#include "tests/lib/child.hh"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>

#include <cstdio>
#include <string>
#include <vector>

namespace
{

// Places that bind wherever there is room: the address tells one from the other.
struct places {
	place list[2] = {};

	places(const char *one, const char *other)
	{
		REQUIRE(values_parse_place(one, &list[0]) == nullptr);
		REQUIRE(values_parse_place(other, &list[1]) == nullptr);
		for (place &each : list)
			reinterpret_cast<sockaddr_in *>(&each.address)->sin_port = 0;
	}
};

std::string address_of(int fd)
{
	sockaddr_in bound = {};
	socklen_t size = sizeof(bound);
	char text[INET_ADDRSTRLEN] = "";
	if (getsockname(fd, reinterpret_cast<sockaddr *>(&bound), &size) == 0)
		inet_ntop(AF_INET, &bound.sin_addr, text, sizeof(text));
	return text;
}

// In a process of its own, as it closes what is others'. 0, or what is wrong.
int check_shared(listeners *opened, int edge, const std::vector<std::string> &wanted)
{
	listeners_shared shared = {};
	listeners_share(opened, edge, &shared);
	if (shared.count != wanted.size())
		return 1;
	for (unsigned i = 0; i < shared.count; i++) {
		char place[32];
		snprintf(place, sizeof(place), "%u %s", shared.places[i],
			 address_of(shared.fds[i]).c_str());
		if (place != wanted[i])
			return 2;
	}
	unsigned open_count = 0;
	for (unsigned row = 0; row < LISTENERS_EDGES_MAX; row++) {
		for (unsigned i = 0; i < opened->place_count; i++) {
			const int fd = opened->fds[row][i];
			open_count += fd >= 0 && fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
		}
	}
	return open_count == shared.count ? 0 : 3;
}

const std::string FIRST = "127.0.0.1";
const std::string OTHER = "127.0.0.2";

} // namespace

TEST_CASE("an edge has its own sockets alone, and knows the place of each", "[mail][listeners]")
{
	places named("127.0.0.1@1", "127.0.0.2@1");
	const listeners_wanted wanted = { named.list, 2, 3 };
	const place *failed = nullptr;
	listeners opened;
	REQUIRE(listeners_open(&wanted, nullptr, &opened, &failed) == 0);
	for (int edge = 0; edge < 3; edge++) {
		child process([&] {
			return check_shared(&opened, edge, { "0 " + FIRST, "1 " + OTHER });
		});
		CHECK(process.wait() == 0);
	}
	child worker([&] { return check_shared(&opened, -1, {}); });
	CHECK(worker.wait() == 0);
	listeners_close(&opened, nullptr);
}

TEST_CASE("what is left of more edges is of the place that it was bound for", "[mail][listeners]")
{
	places before("127.0.0.1@1", "127.0.0.3@1");
	places after("127.0.0.2@1", "127.0.0.1@1");
	const listeners_wanted wanted = { before.list, 1, 3 };
	const listeners_wanted later = { after.list, 2, 2 };
	const place *failed = nullptr;
	listeners opened;
	listeners again;
	REQUIRE(listeners_open(&wanted, nullptr, &opened, &failed) == 0);
	REQUIRE(listeners_open(&later, &opened, &again, &failed) == 0);
	child first([&] {
		return check_shared(&again, 0, { "0 " + OTHER, "1 " + FIRST, "1 " + FIRST });
	});
	child second([&] { return check_shared(&again, 1, { "0 " + OTHER, "1 " + FIRST }); });
	CHECK(first.wait() == 0);
	CHECK(second.wait() == 0);
	listeners_close(&again, nullptr);
}
