// SPDX-License-Identifier: GPL-3.0-or-later
// The keeper of decoders, with a template that the test itself is.
#include "integration/mail/scan-milter/scankeeper.h"

#include "integration/mail/base/scan/scanner.h"

#include <catch2/catch.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

namespace
{

constexpr int DEADLINE_MS = 60000;

bool is_readable(int fd)
{
	pollfd poller = { fd, POLLIN, 0 };
	return poll(&poller, 1, DEADLINE_MS) == 1;
}

// Of the template that has taken this packet.
pid_t ask(int fd)
{
	pid_t pid = 0;
	REQUIRE(send(fd, "p", 1, MSG_NOSIGNAL) == 1);
	REQUIRE(is_readable(fd));
	REQUIRE(recv(fd, &pid, sizeof(pid), 0) == sizeof(pid));
	return pid;
}

} // namespace

// It says who it is, or dies; and ends when nothing is left that could ask.
int scanner_run_template(const scan_settings *, const char *, int ask_fd, int (*)(void *), void *)
{
	while (is_readable(ask_fd)) {
		char word = 0;
		const pid_t pid = getpid();
		if (recv(ask_fd, &word, 1, 0) != 1)
			return EX_OK;
		if (word == 'd')
			_exit(EX_SOFTWARE);
		if (send(ask_fd, &pid, sizeof(pid), MSG_NOSIGNAL) != sizeof(pid))
			return EX_OSERR;
	}
	return EX_OSERR;
}

TEST_CASE("a template that dies is made again, and nothing that was asked is lost",
	  "[scan][scankeeper]")
{
	const scan_settings settings = {};
	const owner nobody = {};
	int fd = -1;
	REQUIRE(scankeeper_begin(&settings, &nobody, "test", &fd) == EX_OK);
	const pid_t first = ask(fd);
	CHECK(ask(fd) == first);
	for (unsigned i = 0; i < 2; i++) {
		const pid_t before = ask(fd);
		REQUIRE(send(fd, "d", 1, MSG_NOSIGNAL) == 1);
		CHECK(ask(fd) != before);
	}
	close(fd);
	int status = -1;
	CHECK(waitpid(-1, &status, 0) > 0);
	CHECK(WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == EX_OK);
}
