// SPDX-License-Identifier: GPL-3.0-or-later
#include "integration/mail/base/scan/template.h"

#include <catch2/catch.hpp>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <cerrno>

namespace
{

constexpr int PATIENCE_MS = 60000;

// Says a byte that it has read once more, or ends as the byte says.
void decode(void *, int fd)
{
	struct pollfd poller = { fd, POLLIN, 0 };
	char byte = 0;
	while (poll(&poller, 1, PATIENCE_MS) == 1 && read(fd, &byte, 1) == 1) {
		if (byte == 'k')
			raise(SIGKILL);
		if (byte == 'x')
			_exit(3);
		if (write(fd, &byte, 1) != 1)
			break;
	}
}

class running_template
{
      public:
	int ends[TEMPLATE_ENDS] = { -1, -1 };
	pid_t pid = -1;

	explicit running_template(unsigned decoders_max)
	{
		REQUIRE(template_pair(ends) == 0);
		pid = fork();
		if (pid == 0) {
			close(ends[TEMPLATE_ASK]);
			const struct template_start start = { ends[TEMPLATE_OWN],
							      decoders_max,
							      "test",
							      decode,
							      nullptr,
							      nullptr,
							      false };
			_exit(template_run(&start));
		}
		close(ends[TEMPLATE_OWN]);
	}

	~running_template()
	{
		stop_asking();
		if (pid > 0) {
			kill(pid, SIGKILL);
			waitpid(pid, nullptr, 0);
		}
	}

	void stop_asking()
	{
		if (ends[TEMPLATE_ASK] >= 0)
			close(ends[TEMPLATE_ASK]);
		ends[TEMPLATE_ASK] = -1;
	}

	int wait()
	{
		int status = -1;
		waitpid(pid, &status, 0);
		pid = -1;
		return status;
	}
};

class asker
{
      public:
	struct template_link ends = { -1, -1 };

	explicit asker(const running_template &parent)
	{
		REQUIRE(template_ask(parent.ends[TEMPLATE_ASK], &ends) == 0);
	}

	~asker()
	{
		template_link_close(&ends);
	}

	void say(char byte) const
	{
		REQUIRE(write(ends.fd, &byte, 1) == 1);
	}

	// The next byte; -1 at the end, -2 when there is none yet.
	int hear(int patience_ms = PATIENCE_MS) const
	{
		struct pollfd poller = { ends.fd, POLLIN, 0 };
		char byte = 0;
		if (poll(&poller, 1, patience_ms) != 1)
			return -2;
		return read(ends.fd, &byte, 1) == 1 ? byte : -1;
	}
};

} // namespace

TEST_CASE("each that asks has a process of its own", "[scan][template]")
{
	const running_template parent(4);
	const asker one(parent);
	const asker other(parent);
	one.say('1');
	other.say('2');
	CHECK(other.hear() == '2');
	CHECK(one.hear() == '1');
}

TEST_CASE("a template says how a process has ended", "[scan][template]")
{
	const running_template parent(4);
	const asker killed(parent);
	killed.say('k');
	CHECK(killed.hear() == -1);
	const int by_signal = template_status(&killed.ends);
	CHECK(WIFSIGNALED(by_signal));
	CHECK(WTERMSIG(by_signal) == SIGKILL);

	const asker left(parent);
	left.say('x');
	CHECK(left.hear() == -1);
	const int by_itself = template_status(&left.ends);
	CHECK(WIFEXITED(by_itself));
	CHECK(WEXITSTATUS(by_itself) == 3);
}

TEST_CASE("who asks for one too many waits until another has ended", "[scan][template]")
{
	const running_template parent(1);
	asker first(parent);
	first.say('1');
	REQUIRE(first.hear() == '1');
	const asker second(parent);
	second.say('2');
	CHECK(second.hear(100) == -2);
	template_link_close(&first.ends);
	CHECK(second.hear() == '2');
}

TEST_CASE("a template ends behind the last that could ask it, and its processes first",
	  "[scan][template]")
{
	running_template parent(2);
	asker last(parent);
	last.say('1');
	REQUIRE(last.hear() == '1');
	parent.stop_asking();
	last.say('2');
	CHECK(last.hear() == '2');
	template_link_close(&last.ends);
	const int status = parent.wait();
	CHECK(WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == EX_OK);
}

TEST_CASE("a template that is killed takes its processes along", "[scan][template]")
{
	running_template parent(2);
	const asker one(parent);
	one.say('1');
	REQUIRE(one.hear() == '1');
	kill(parent.pid, SIGKILL);
	parent.wait();
	CHECK(one.hear() == -1);
	CHECK(template_status(&one.ends) == -1);
	struct template_link none = { -1, -1 };
	CHECK(template_ask(parent.ends[TEMPLATE_ASK], &none) == -EPIPE);
}
