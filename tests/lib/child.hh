// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// child.hh - a function run in a process of its own.
//
// For what must not happen in the test's process: a crash, another user, a
// second opening of one store. Every child has an alarm and so an end.
//
//     child other([] { return reader_open(path, &zone_store, &reader) == STORE_OK ? 0 : 1; });
//     CHECK(other.wait() == 0);
//
// The child must not use Catch2: it says what it found by its exit status.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <stdexcept>

#include <catch2/catch.hpp>

class child
{
      public:
	static constexpr unsigned DEADLINE_S = 60;

	template <typename Function> explicit child(Function function)
	{
		fflush(nullptr); // what is in our buffers is no output of the child
		pid_ = fork();
		if (pid_ < 0)
			throw std::runtime_error("cannot fork");
		if (pid_ == 0) {
			signal(SIGALRM, SIG_DFL);
			// Catch2's handlers would report a crash that is expected here.
			for (int number : { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM })
				signal(number, SIG_DFL);
			alarm(DEADLINE_S);
			_exit(function());
		}
	}
	~child()
	{
		if (pid_ > 0) {
			::kill(pid_, SIGKILL);
			wait();
		}
	}
	child(const child &) = delete;
	child &operator=(const child &) = delete;

	pid_t pid() const
	{
		return pid_;
	}
	void kill(int number)
	{
		::kill(pid_, number);
	}

	// Its exit status, or 1000 and the number of the signal that ended it.
	int wait()
	{
		int status = 0;
		while (waitpid(pid_, &status, 0) < 0) {
			if (errno != EINTR)
				throw std::runtime_error("cannot wait");
		}
		pid_ = -1;
		return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
	}

      private:
	pid_t pid_;
};

// In a child: what it says on its way down is expected. The descriptor stays
// open, or the next file to be opened would get the messages.
inline void silence()
{
	const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (nowhere >= 0)
		dup2(nowhere, STDERR_FILENO);
}

// One byte from one process to another: "I have got that far".
class signal_pipe
{
      public:
	signal_pipe()
	{
		if (pipe(ends_) != 0)
			throw std::runtime_error("no pipe");
	}
	~signal_pipe()
	{
		close(ends_[0]);
		close(ends_[1]);
	}
	signal_pipe(const signal_pipe &) = delete;
	signal_pipe &operator=(const signal_pipe &) = delete;

	void give()
	{
		const char byte = 1;
		while (write(ends_[1], &byte, 1) < 0 && errno == EINTR)
			;
	}
	// Ends with the process that waits: children have an alarm, tests a limit.
	void take()
	{
		char byte;
		while (read(ends_[0], &byte, 1) < 0 && errno == EINTR)
			;
	}

      private:
	int ends_[2];
};

// For what only root can do: become another user, or mount a disk. Else that is said.
inline bool is_root()
{
	if (geteuid() == 0)
		return true;
	WARN("skipped: only root can become another user or mount a disk");
	return false;
}

// What function returns as a user who may do nothing special; 99 when nobody can be that.
template <typename Function> int as_nobody(Function function)
{
	child other([&] {
		if (setgid(65534) != 0 || setuid(65534) != 0)
			return 99;
		return function();
	});
	return other.wait();
}
