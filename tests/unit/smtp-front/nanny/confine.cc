// SPDX-License-Identifier: GPL-3.0-or-later
// What a process of smtp-front can still do after confine_process().
#include "integration/mail/smtp-front/nanny/front.h"
#include "lib/process/callfilter.h"

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

constexpr int CANNOT = 99;

// What the child returns with that role, as wait status; it has become nobody else.
template <typename Function> int run_as(unsigned role, enum setup_sink_kind kind, Function function)
{
	const pid_t child = fork();
	if (child == 0) {
		const auto setup = std::make_unique<struct setup>();
		const char *step = "";
		setup->sink.kind = kind;
		const struct confine_rights rights = front_rights(setup.get(), role);
		if (confine_process(&rights, &step) != 0)
			_exit(CANNOT);
		_exit(function());
	}
	int status = -1;
	REQUIRE(waitpid(child, &status, 0) == child);
	return status;
}

int try_execute()
{
	char name[] = "/bin/true";
	char *const arguments[] = { name, nullptr };
	execv(name, arguments);
	return 1;
}

int try_socket(int family)
{
	const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd >= 0 ? 0 : errno;
}

int try_open(int flags)
{
	const int fd = open("/tmp", flags | O_CLOEXEC, 0600);
	return fd >= 0 ? 0 : errno;
}

int try_fork()
{
	const pid_t child = fork();
	if (child == 0)
		_exit(0);
	return child > 0 ? 0 : errno;
}

bool is_exit(int status, int code)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

// Sanitizers look at the process in ways that a filter would forbid.
bool lacks_filter()
{
	if (!callfilter_can_load())
		SUCCEED("no filter of system calls in this build");
	return !callfilter_can_load();
}

} // namespace

TEST_CASE("every role can be taken, and has no new privileges", "[front][confine]")
{
	const auto role = GENERATE(NANNY_EDGE, NANNY_WORKER, NANNY_KEYHOLDER);
	const auto kind = GENERATE(SETUP_SINK_SMTP, SETUP_SINK_MAILDIR, SETUP_SINK_NULL);
	const int status =
		run_as(role, kind, [] { return static_cast<int>(getpid() > 0 ? 0 : 1); });
	CHECK(is_exit(status, 0));
}

TEST_CASE("no process of smtp-front can run a program", "[front][confine]")
{
	if (lacks_filter())
		return;
	const auto role = GENERATE(NANNY_EDGE, NANNY_WORKER, NANNY_KEYHOLDER);
	const int status = run_as(role, SETUP_SINK_MAILDIR, try_execute);
	REQUIRE(WIFSIGNALED(status));
	CHECK(WTERMSIG(status) == SIGSYS);
}

TEST_CASE("no process of smtp-front can make another", "[front][confine]")
{
	if (lacks_filter())
		return;
	const auto role = GENERATE(NANNY_EDGE, NANNY_WORKER, NANNY_KEYHOLDER);
	CHECK(is_exit(run_as(role, SETUP_SINK_SMTP, try_fork), ENOSYS));
}

TEST_CASE("the template of decoders makes processes, and no socket", "[front][confine]")
{
	if (lacks_filter())
		return;
	CHECK(is_exit(run_as(NANNY_CHECKER, SETUP_SINK_SMTP, try_fork), 0));
	CHECK(is_exit(run_as(NANNY_CHECKER, SETUP_SINK_SMTP, [] { return try_socket(AF_INET6); }),
		      ENOSYS));
	// Signatures anew, and nothing is written.
	CHECK(is_exit(run_as(NANNY_CHECKER, SETUP_SINK_SMTP, [] { return try_open(O_RDONLY); }),
		      0));
	CHECK(is_exit(run_as(NANNY_CHECKER, SETUP_SINK_MAILDIR,
			     [] { return try_open(O_WRONLY | O_CREAT); }),
		      ENOSYS));
	const int status = run_as(NANNY_CHECKER, SETUP_SINK_SMTP, try_execute);
	REQUIRE(WIFSIGNALED(status));
	CHECK(WTERMSIG(status) == SIGSYS);
}

TEST_CASE("the keyholder makes no socket and opens no file; the others do", "[front][confine]")
{
	if (lacks_filter())
		return;
	const auto inet = [] { return try_socket(AF_INET6); };
	const auto read = [] { return try_open(O_RDONLY); };
	CHECK(is_exit(run_as(NANNY_KEYHOLDER, SETUP_SINK_SMTP, inet), ENOSYS));
	CHECK(is_exit(run_as(NANNY_KEYHOLDER, SETUP_SINK_SMTP, read), ENOSYS));
	CHECK(is_exit(run_as(NANNY_EDGE, SETUP_SINK_SMTP, inet), 0));
	CHECK(is_exit(run_as(NANNY_WORKER, SETUP_SINK_SMTP, inet), 0));
	CHECK(is_exit(run_as(NANNY_EDGE, SETUP_SINK_SMTP, read), 0));
}

TEST_CASE("no process of smtp-front can open a raw socket", "[front][confine]")
{
	if (lacks_filter())
		return;
	const auto raw = [] { return try_socket(AF_PACKET); };
	CHECK(is_exit(run_as(NANNY_EDGE, SETUP_SINK_SMTP, raw), ENOSYS));
	CHECK(is_exit(run_as(NANNY_WORKER, SETUP_SINK_SMTP, raw), ENOSYS));
}

TEST_CASE("only a worker with maildirs writes files", "[front][confine]")
{
	if (lacks_filter())
		return;
	// A directory: what the kernel says when it lets us try.
	const auto write = [] { return try_open(O_WRONLY | O_CREAT); };
	CHECK(is_exit(run_as(NANNY_EDGE, SETUP_SINK_MAILDIR, write), ENOSYS));
	CHECK(is_exit(run_as(NANNY_WORKER, SETUP_SINK_SMTP, write), ENOSYS));
	CHECK(is_exit(run_as(NANNY_WORKER, SETUP_SINK_MAILDIR, write), EISDIR));
}
