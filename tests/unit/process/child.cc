// SPDX-License-Identifier: GPL-3.0-or-later
// Real processes, which wait for signals: no test waits for a time.
#include "lib/process/child.h"
#include "lib/process/clock.h"

#include <catch2/catch.hpp>

#include <string>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

constexpr unsigned PATIENCE_MS = 60000;

// Blocked like in a parent, and as before when it is gone.
class blocked
{
      public:
	blocked()
	{
		child_block_signals(&waited, &before);
	}
	~blocked()
	{
		sigprocmask(SIG_SETMASK, &before, nullptr);
	}
	blocked(const blocked &) = delete;
	blocked &operator=(const blocked &) = delete;

	sigset_t waited = {};
	sigset_t before = {};
};

// A process that does as work says, and then waits to be killed.
template <typename F> pid_t make(crew_slot *slot, F work)
{
	const pid_t pid = child_fork(slot);
	if (pid == 0) {
		work();
		for (;;)
			pause();
	}
	return pid;
}

// Catch has a handler of its own.
void obey_sigterm()
{
	sigset_t none;
	signal(SIGTERM, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, nullptr);
}

std::string text_of(int status)
{
	char text[CHILD_END_TEXT_SIZE];
	return child_format_end(status, text);
}

} // namespace

TEST_CASE("a process that was made is in its slot, and its end is told", "[process][child]")
{
	const blocked signals;
	crew_slot slot = {};
	const pid_t pid = make(&slot, [] { _exit(70); });
	REQUIRE(pid > 0);
	CHECK(slot.pid == pid);
	CHECK(child_wait_signal(&signals.waited, clock_now_ms() + PATIENCE_MS) == SIGCHLD);
	const int status = child_wait(pid, PATIENCE_MS);
	CHECK(text_of(status) == "status=70");
	CHECK_FALSE(child_has_broken_filter(status));
}

TEST_CASE("a process that was killed is told from one that has ended", "[process][child]")
{
	crew_slot slot = {};
	const pid_t pid = make(&slot, [] {
		signal(SIGSYS, SIG_DFL);
		raise(SIGSYS);
	});
	REQUIRE(pid > 0);
	const int status = child_wait(pid, PATIENCE_MS);
	CHECK(text_of(status) == "signal=" + std::to_string(SIGSYS));
	CHECK(child_has_broken_filter(status));
}

TEST_CASE("a process that does not end in time is killed", "[process][child]")
{
	crew_slot slot = {};
	const pid_t pid = make(&slot, [] { signal(SIGTERM, SIG_IGN); });
	REQUIRE(pid > 0);
	CHECK(text_of(child_wait(pid, 0)) == "signal=9");
}

TEST_CASE("a process ends with its parent", "[process][child]")
{
	int ends[2];
	REQUIRE(pipe(ends) == 0);
	crew_slot parent = {};
	// Its parent ends at once; the pipe is open as long as the other one lives.
	const pid_t pid = make(&parent, [&ends] {
		crew_slot slot = {};
		close(ends[0]);
		if (child_fork(&slot) == 0) {
			obey_sigterm();
			for (;;)
				pause();
		}
		_exit(slot.pid > 0 ? 0 : 1);
	});
	REQUIRE(pid > 0);
	close(ends[1]);
	CHECK(text_of(child_wait(pid, PATIENCE_MS)) == "status=0");
	char byte = 0;
	CHECK(read(ends[0], &byte, 1) == 0);
	close(ends[0]);
}

TEST_CASE("those of a role that are told to end get SIGTERM, and SIGKILL in the end",
	  "[process][child]")
{
	const blocked signals;
	const unsigned counts[] = { 1, 1 };
	crew all = {};
	REQUIRE(crew_init(&all, counts, 2, nullptr) == 0);
	// Blocked as they are, SIGTERM does nothing to them.
	for (unsigned i = 0; i < all.count; i++)
		REQUIRE(make(&all.slots[i], [] {}) > 0);
	child_tell(&all, 0, 1000);
	child_kill_overdue(&all, 999);
	CHECK(waitpid(all.slots[0].pid, nullptr, WNOHANG) == 0);
	CHECK(crew_next_ms(&all) == 1000);
	child_kill_overdue(&all, 1000);
	CHECK(crew_next_ms(&all) == CREW_NEVER); // until its end is told
	CHECK(text_of(child_wait(all.slots[0].pid, PATIENCE_MS)) == "signal=9");
	CHECK(waitpid(all.slots[1].pid, nullptr, WNOHANG) == 0);
	CHECK(text_of(child_wait(all.slots[1].pid, 0)) == "signal=9");
	crew_deinit(&all);
}

TEST_CASE("those that are still there are hurried where they may end so, and then killed",
	  "[process][child]")
{
	const blocked signals;
	const unsigned count = 2;
	crew all = {};
	REQUIRE(crew_init(&all, &count, 1, nullptr) == 0);
	all.last_ms = 500;
	struct sigaction former = {};
	struct sigaction ignored = {};
	ignored.sa_handler = SIG_IGN;
	sigaction(SIGUSR2, &ignored, &former);
	const pid_t stuck = make(&all.slots[0], [] {});
	sigaction(SIGUSR2, &former, nullptr);
	const pid_t late = make(&all.slots[1], [] {});
	REQUIRE(stuck > 0);
	REQUIRE(late > 0);
	child_tell(&all, 0, 1000);
	child_kill_overdue(&all, 1000);
	CHECK(crew_next_ms(&all) == 1500);
	CHECK(text_of(child_wait(late, PATIENCE_MS)) == "signal=" + std::to_string(SIGUSR2));
	crew_ended(&all.slots[1], true, 1000);
	CHECK(waitpid(stuck, nullptr, WNOHANG) == 0);
	child_kill_overdue(&all, 1500);
	CHECK(crew_next_ms(&all) == CREW_NEVER);
	CHECK(text_of(child_wait(stuck, PATIENCE_MS)) == "signal=9");
	crew_deinit(&all);
}

TEST_CASE("SIGTERM ends a process that lets it through", "[process][child]")
{
	const blocked signals;
	const unsigned count = 1;
	crew one = {};
	REQUIRE(crew_init(&one, &count, 1, nullptr) == 0);
	REQUIRE(make(&one.slots[0], [] { obey_sigterm(); }) > 0);
	child_tell(&one, 0, CREW_NEVER);
	CHECK(text_of(child_wait(one.slots[0].pid, PATIENCE_MS)) == "signal=15");
	crew_deinit(&one);
}

TEST_CASE("a wait for signals ends at its time", "[process][child]")
{
	const blocked signals;
	CHECK(child_wait_signal(&signals.waited, 0) == -1);
	const uint64_t until_ms = clock_now_ms() + 20;
	CHECK(child_wait_signal(&signals.waited, until_ms) == -1);
	CHECK(clock_now_ms() >= until_ms);
	raise(SIGHUP);
	CHECK(child_wait_signal(&signals.waited, clock_now_ms() + PATIENCE_MS) == SIGHUP);
	// A reload, which takes time, holds up no other.
	for (int number : { SIGHUP, SIGTERM })
		raise(number);
	CHECK(child_wait_signal(&signals.waited, 0) == SIGTERM);
	CHECK(child_wait_signal(&signals.waited, 0) == SIGHUP);
}
