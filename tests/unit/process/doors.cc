// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/process/doors.h"
#include "lib/process/listening.h"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace
{

// A program with two sockets, and what it was told.
class program
{
      public:
	program()
	{
		REQUIRE(uv_loop_init(&loop) == 0);
		for (int &fd : fds) {
			const std::string path = path_of(&fd - fds);
			REQUIRE(listening_bind_path(path.c_str(), SOCK_STREAM, &fd) == 0);
			REQUIRE(chmod(path.c_str(), 0600) == 0);
			REQUIRE(listen(fd, 16) == 0);
		}
		REQUIRE(doors_open(&loop, fds, 2, &rules, this, &doors) == 0);
	}
	~program()
	{
		doors_close(doors);
		uv_run(&loop, UV_RUN_DEFAULT);
		CHECK(uv_loop_close(&loop) == 0);
		for (const int fd : clients)
			close(fd);
		for (const int fd : fds)
			close(fd);
	}
	program(const program &) = delete;
	program &operator=(const program &) = delete;

	std::string path_of(ptrdiff_t door) const
	{
		return directory.file(std::to_string(door));
	}
	void connect_to(ptrdiff_t door)
	{
		sockaddr_un address = {};
		address.sun_family = AF_UNIX;
		strncpy(address.sun_path, path_of(door).c_str(), sizeof(address.sun_path) - 1);
		const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		REQUIRE(fd >= 0);
		clients.push_back(fd);
		REQUIRE(connect(fd, (const sockaddr *)&address, sizeof(address)) == 0);
	}
	// Until it has taken so many, whatever time that takes.
	void run_until_taken(size_t count)
	{
		while (taken.size() < count)
			uv_run(&loop, UV_RUN_ONCE);
	}

	uv_loop_t loop = {};
	int fds[2] = { -1, -1 };
	struct doors *doors = nullptr;
	std::vector<unsigned> taken; // the door of each client
	std::vector<int> errors;
	unsigned begun = 0;
	std::vector<int> clients; // both ends
	bool closes = false;	  // with the first client

      private:
	static void begin(void *owner)
	{
		static_cast<program *>(owner)->begun++;
	}
	static void take(void *owner, unsigned door, int fd, const sockaddr *peer)
	{
		auto *self = static_cast<program *>(owner);
		CHECK(peer->sa_family == AF_UNIX);
		CHECK((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
		CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
		self->clients.push_back(fd);
		self->taken.push_back(door);
		if (self->closes) {
			doors_close(self->doors);
			self->doors = nullptr;
		}
	}
	static void wait(void *owner, int error)
	{
		static_cast<program *>(owner)->errors.push_back(error);
	}

	tmpdir directory;
	const doors_rules rules = { 1, begin, take, wait };
};

// No descriptor is left beside those that are open.
class shortage
{
      public:
	shortage()
	{
		const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
		close(next);
		getrlimit(RLIMIT_NOFILE, &before);
		rlimit less = before;
		less.rlim_cur = static_cast<rlim_t>(next);
		setrlimit(RLIMIT_NOFILE, &less);
	}
	~shortage()
	{
		setrlimit(RLIMIT_NOFILE, &before);
	}
	shortage(const shortage &) = delete;
	shortage &operator=(const shortage &) = delete;

	rlimit before = {};
};

} // namespace

TEST_CASE("clients are taken at the door that they came to", "[process][doors]")
{
	program one;
	one.connect_to(1);
	one.connect_to(0);
	one.connect_to(1);
	uv_run(&one.loop, UV_RUN_NOWAIT);
	CHECK(one.taken.empty());
	REQUIRE(doors_watch(one.doors) == 0);
	one.run_until_taken(3);
	CHECK(std::count(one.taken.begin(), one.taken.end(), 1u) == 2);
	CHECK(one.begun == 2);
	CHECK(one.errors.empty());
}

TEST_CASE("without a descriptor clients wait, which is said once", "[process][doors]")
{
	program one;
	one.connect_to(0);
	one.connect_to(1);
	REQUIRE(doors_watch(one.doors) == 0);
	{
		const shortage none;
		// Several pauses of a millisecond each.
		while (one.begun < 4)
			uv_run(&one.loop, UV_RUN_ONCE);
		CHECK(one.taken.empty());
		CHECK(one.errors == std::vector<int>{ EMFILE });
	}
	one.run_until_taken(2);
	one.connect_to(0);
	{
		const shortage again;
		while (one.errors.size() < 2)
			uv_run(&one.loop, UV_RUN_ONCE);
	}
	one.run_until_taken(3);
	CHECK(one.errors == std::vector<int>{ EMFILE, EMFILE });
}

TEST_CASE("what waits is taken before the end", "[process][doors]")
{
	program one;
	for (int i = 0; i < 5; i++)
		one.connect_to(i % 2);
	doors_take_last(one.doors);
	CHECK(one.taken.size() == 5);
}

TEST_CASE("doors may be closed while a client is taken", "[process][doors]")
{
	program one;
	one.closes = true;
	one.connect_to(0);
	one.connect_to(0);
	REQUIRE(doors_watch(one.doors) == 0);
	uv_run(&one.loop, UV_RUN_DEFAULT);
	CHECK(one.taken.size() == 1);
}

TEST_CASE("a socket that no loop can watch opens no door", "[process][doors]")
{
	uv_loop_t loop;
	struct doors *doors = nullptr;
	const doors_rules rules = {};
	const int fds[] = { -1 };
	REQUIRE(uv_loop_init(&loop) == 0);
	CHECK(doors_open(&loop, fds, 1, &rules, nullptr, &doors) < 0);
	CHECK(doors == nullptr);
	uv_run(&loop, UV_RUN_DEFAULT);
	CHECK(uv_loop_close(&loop) == 0);
	doors_close(nullptr);
}
