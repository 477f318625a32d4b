// SPDX-License-Identifier: GPL-3.0-or-later
// The keeper of a program that is attached nowhere: when it ends, and what it has open. What it
// detaches is in tests/integration/server/test_xdp.py, which wants root.
#include "server/xdp-kernel/keeper.h"
#include "tests/lib/child.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <memory>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

constexpr unsigned LONG_S = 100000; // nothing here waits for its end

// A process with a keeper, which waits to be killed.
class Parent
{
      public:
	Parent()
	{
		REQUIRE(pipe2(ends_, O_CLOEXEC) == 0);
		self_ = std::make_unique<child>([this] { return run(); });
		REQUIRE(read(ends_[0], &keeper_pid_, sizeof(keeper_pid_)) == sizeof(keeper_pid_));
	}
	~Parent()
	{
		close(ends_[0]);
		close(ends_[1]);
	}
	Parent(const Parent &) = delete;
	Parent &operator=(const Parent &) = delete;

	pid_t keeper_pid() const
	{
		return keeper_pid_;
	}
	void kill_it()
	{
		self_->kill(SIGKILL);
		self_->wait();
	}

      private:
	int run() const
	{
		const load nothing = {};
		keeper kept = {};
		if (keeper_start(&nothing, 0, &kept) != 0 ||
		    write(ends_[1], &kept.pid, sizeof(kept.pid)) != sizeof(kept.pid))
			return 1;
		for (;;)
			pause();
	}

	int ends_[2] = { -1, -1 };
	pid_t keeper_pid_ = 0;
	std::unique_ptr<child> self_;
};

// The exit status of a process that has become a child of this one; it has to end by itself.
int status_of(pid_t pid)
{
	int status = -1;
	REQUIRE(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool lives(pid_t pid)
{
	return waitpid(pid, nullptr, WNOHANG) == 0;
}

} // namespace

TEST_CASE("a keeper ends after its parent has", "[xdp][keeper]")
{
	const load nothing = {};
	keeper kept = {};
	REQUIRE(keeper_start(&nothing, 0, &kept) == 0);
	const pid_t pid = kept.pid;
	CHECK(kill(pid, 0) == 0);
	keeper_end(&kept);
	CHECK(waitpid(pid, nullptr, WNOHANG) == -1);
	CHECK(errno == ECHILD);
	CHECK(kept.pid == 0);
	CHECK(kept.fd == -1);
}

TEST_CASE("a keeper ends after its parent was killed", "[xdp][keeper]")
{
	REQUIRE(prctl(PR_SET_CHILD_SUBREAPER, 1ul, 0ul, 0ul, 0ul) == 0);
	Parent parent;
	parent.kill_it();
	CHECK(status_of(parent.keeper_pid()) == 0);
}

TEST_CASE("a keeper that is to wait ends at the second SIGTERM, and hears no other signal",
	  "[xdp][keeper]")
{
	const load nothing = {};
	keeper kept = {};
	REQUIRE(keeper_start(&nothing, LONG_S, &kept) == 0);
	for (const int number : { SIGINT, SIGHUP, SIGUSR1, SIGQUIT })
		REQUIRE(kill(kept.pid, number) == 0);
	const pid_t pid = kept.pid;
	keeper_end(&kept);
	CHECK(lives(pid));
	// Signals of one kind are one while it has not looked: so until it has ended.
	int status = -1;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		kill(pid, SIGTERM);
		usleep(1000);
	}
	REQUIRE(WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a keeper has no socket of its parent open", "[xdp][keeper]")
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	sockaddr_in address = {};
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	socklen_t size = sizeof(address);
	REQUIRE(bind(fd, reinterpret_cast<sockaddr *>(&address), size) == 0);
	REQUIRE(listen(fd, 1) == 0);
	REQUIRE(getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size) == 0);

	const load nothing = {};
	keeper kept = {};
	REQUIRE(keeper_start(&nothing, LONG_S, &kept) == 0);
	close(fd);
	// Without SO_REUSEADDR: it works when the socket above is open nowhere.
	int ret = -1;
	for (int i = 0; i < 60000 && ret != 0; i++) {
		const int again = socket(AF_INET, SOCK_STREAM, 0);
		ret = bind(again, reinterpret_cast<sockaddr *>(&address), sizeof(address));
		close(again);
		usleep(1000);
	}
	CHECK(ret == 0);
	CHECK(lives(kept.pid));
	REQUIRE(kill(kept.pid, SIGKILL) == 0);
	int status = -1;
	REQUIRE(waitpid(kept.pid, &status, 0) == kept.pid);
	CHECK(keeper_note_end(&kept, kept.pid, status));
	CHECK_FALSE(keeper_note_end(&kept, kept.pid, status));
	keeper_end(&kept);
}

TEST_CASE("no keeper is forgotten, noted as ended and ended like one", "[xdp][keeper]")
{
	keeper none = {};
	none.fd = -1;
	keeper_forget(&none);
	CHECK_FALSE(keeper_note_end(&none, 1, 0));
	keeper_end(&none);
	CHECK(none.fd == -1);
}
