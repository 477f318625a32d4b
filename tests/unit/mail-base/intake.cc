// SPDX-License-Identifier: GPL-3.0-or-later
// How a worker waits for its next session, and learns that it is to end.
#include "integration/mail/base/worker/intake.h"

#include "tests/lib/child.hh"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace
{

// A queue, a scoreboard, and a worker that is process 1 of 3.
class bench
{
      public:
	bench()
	{
		REQUIRE(handover_open(65536, ends_) == 0);
		REQUIRE(scoreboard_open(3, &board) == 0);
		intake = { ends_[1], board, 1, -1 };
	}
	~bench()
	{
		intake_let_go(&intake);
		scoreboard_close(board);
		hang_up();
		close(ends_[1]);
	}
	bench(const bench &) = delete;
	bench &operator=(const bench &) = delete;

	// One session; the reading end of its hold, or -1.
	int send(const std::string &text, bool is_counted = true)
	{
		int pair[2];
		int hold[2] = { -1, -1 };
		REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
		if (is_counted)
			REQUIRE(pipe2(hold, O_CLOEXEC) == 0);
		const handover_fds fds = { pair[0], hold[1] };
		REQUIRE(handover_send(ends_[0], reinterpret_cast<const uint8_t *>(text.data()),
				      text.size(), &fds) == 0);
		close(pair[0]);
		close(pair[1]);
		if (is_counted)
			close(hold[1]);
		return hold[0];
	}
	int receive()
	{
		size_t size = 0;
		int fd = -1;
		const int ret = intake_receive(&intake, room_, &size, &fd);
		text.assign(reinterpret_cast<char *>(room_), ret == 0 ? size : 0);
		if (fd >= 0)
			close(fd);
		return ret;
	}
	// Has an edge been called, which waits for sessions' workers?
	bool is_called() const
	{
		pollfd poller = { ends_[0], POLLIN, 0 };
		return poll(&poller, 1, 0) == 1;
	}
	void hang_up()
	{
		if (ends_[0] >= 0)
			close(ends_[0]);
		ends_[0] = -1;
	}

	scoreboard *board = nullptr;
	struct intake intake = {};
	std::string text;

      private:
	int ends_[2];
	uint8_t room_[HANDOVER_SIZE_MAX];
};

bool has_ended(int hold)
{
	pollfd poller = { hold, POLLIN, 0 };
	return poll(&poller, 1, 0) == 1 && (poller.revents & POLLHUP) != 0;
}

} // namespace

TEST_CASE("a message comes as it was sent, and the worker is not idle then", "[mail][intake]")
{
	bench with;
	const int hold = with.send("first");
	with.send("second", false);
	REQUIRE(with.receive() == 0);
	CHECK(with.text == "first");
	CHECK(with.intake.hold_fd >= 0);
	CHECK(scoreboard_count(with.board, SCOREBOARD_IDLE) == 0);
	CHECK_FALSE(has_ended(hold));
	REQUIRE(with.receive() == 0);
	CHECK(with.text == "second");
	// Its edge learned that the first is over before the second was waited for.
	CHECK(has_ended(hold));
	CHECK(with.intake.hold_fd == -1);
	close(hold);
}

TEST_CASE("a session is let go once, also before the next is waited for", "[mail][intake]")
{
	bench with;
	const int hold = with.send("first");
	REQUIRE(with.receive() == 0);
	intake_let_go(&with.intake);
	CHECK(has_ended(hold));
	intake_let_go(&with.intake);
	CHECK(with.intake.hold_fd == -1);
	close(hold);
}

TEST_CASE("an edge is called where sessions wait, and only then", "[mail][intake]")
{
	bench with;
	with.send("first", false);
	REQUIRE(with.receive() == 0);
	CHECK_FALSE(with.is_called());
	scoreboard_set(with.board, SCOREBOARD_WAITING, 0, true);
	with.send("second", false);
	REQUIRE(with.receive() == 0);
	CHECK(with.is_called());
}

TEST_CASE("a queue that has no sending end is told", "[mail][intake]")
{
	bench with;
	with.hang_up();
	CHECK(with.receive() == -EPIPE);
	CHECK(scoreboard_count(with.board, SCOREBOARD_IDLE) == 0);
}

TEST_CASE("a worker that waits is idle, and SIGTERM ends its wait and is remembered",
	  "[mail][intake]")
{
	bench with;
	child worker([&] {
		intake_set_signals();
		if (*intake_told() != 0)
			return 1;
		const int ret = with.receive();
		if (ret != -EINTR)
			return 2;
		return *intake_told() != 0 ? 0 : 3;
	});
	while (scoreboard_count(with.board, SCOREBOARD_IDLE) == 0)
		usleep(1000);
	worker.kill(SIGTERM);
	CHECK(worker.wait() == 0);
}

TEST_CASE("a SIGTERM that comes before the wait ends it all the same", "[mail][intake]")
{
	bench with;
	child worker([&] {
		intake_set_signals();
		raise(SIGTERM);
		// By the alarm that its handler sets.
		return with.receive() == -EINTR && *intake_told() != 0 ? 0 : 1;
	});
	CHECK(worker.wait() == 0);
}

TEST_CASE("a worker whose time to end is over has no client any more", "[mail][intake]")
{
	bench with;
	with.send("session", false);
	child worker([&] {
		uint8_t room[HANDOVER_SIZE_MAX];
		size_t size = 0;
		int fd = -1;
		char byte = 0;
		intake_set_signals();
		if (intake_receive(&with.intake, room, &size, &fd) != 0)
			return 1;
		int pair[2];
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || dup2(pair[0], fd) != fd)
			return 2;
		raise(SIGTERM);
		raise(SIGTERM);
		if (send(fd, "x", 1, 0) != 1 || *intake_told() == INTAKE_CUT)
			return 3;
		errno = ERANGE;
		raise(SIGUSR2);
		raise(SIGTERM);
		if (errno != ERANGE || *intake_told() != INTAKE_CUT)
			return 4;
		if (recv(fd, &byte, 1, 0) != 0 || send(fd, "x", 1, 0) != -1 || errno != EPIPE)
			return 5;
		// What has its number then is another's.
		intake_close(fd);
		if (dup2(pair[1], fd) != fd || recv(fd, &byte, 1, 0) != 1)
			return 6;
		close(pair[0]);
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || dup2(pair[0], fd) != fd)
			return 7;
		raise(SIGUSR2);
		return send(fd, "x", 1, 0) == 1 ? 0 : 8;
	});
	CHECK(worker.wait() == 0);
}

TEST_CASE("a worker is not killed by a client that has gone", "[mail][intake]")
{
	child worker([] {
		int pair[2];
		intake_set_signals();
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
			return 1;
		close(pair[1]);
		return write(pair[0], "x", 1) == -1 && errno == EPIPE ? 0 : 2;
	});
	CHECK(worker.wait() == 0);
}
