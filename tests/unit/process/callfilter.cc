// SPDX-License-Identifier: GPL-3.0-or-later
// Filters are made here and loaded in children; what each program's lists say is in
// server_confine.cc and front_confine.cc.
#include "lib/process/callfilter.h"
#include "lib/process/capabilities.h"
#include "tests/lib/child.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <csignal>
#include <functional>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace
{

constexpr int NOT_LOADED = 250;

const char *const mkdir_name[] = { "mkdir", "mkdirat" };
const callfilter_call unix_sockets[] = {
	{ "socket", 2, { CALLFILTER_EQUAL(0, AF_UNIX), CALLFILTER_MASKED(1, 0xf, SOCK_DGRAM) } },
};

class Filter
{
      public:
	explicit Filter(callfilter_verdict otherwise,
			const std::vector<callfilter_list> &lists = {})
	{
		status_ = callfilter_make(otherwise, lists.data(), lists.size(), &value_);
	}
	~Filter()
	{
		callfilter_deinit(&value_);
	}
	Filter(const Filter &) = delete;
	Filter &operator=(const Filter &) = delete;

	int status() const
	{
		return status_;
	}

	// How a child ends that has loaded it: as child.hh says, with what attempt returned.
	int run(const std::function<int()> &attempt) const
	{
		child other([&] {
			if (prctl(PR_SET_NO_NEW_PRIVS, 1ul, 0ul, 0ul, 0ul) != 0 ||
			    callfilter_load(&value_) != 0)
				return NOT_LOADED;
			return attempt();
		});
		return other.wait();
	}

      private:
	callfilter value_ = {};
	int status_;
};

int make_directory()
{
	return mkdir("/nowhere/at/all", 0700) == 0 ? 0 : errno;
}

int make_socket(int family, int type)
{
	return socket(family, type, 0) >= 0 ? 0 : errno;
}

int run_program()
{
	char name[] = "/bin/true";
	char *const arguments[] = { name, nullptr };
	execv(name, arguments);
	return errno;
}

bool lacks_filters()
{
	if (!callfilter_can_load())
		SUCCEED("no filter of system calls here");
	return !callfilter_can_load();
}

} // namespace

TEST_CASE("a call that is in no list is what all others are", "[common][callfilter]")
{
	if (lacks_filters())
		return;
	const Filter closed(CALLFILTER_REFUSE);
	const Filter open(CALLFILTER_ALLOW);
	CHECK(closed.run(make_directory) == ENOSYS);
	CHECK(open.run(make_directory) == ENOENT);
}

TEST_CASE("a call that is listed is what the list says", "[common][callfilter]")
{
	if (lacks_filters())
		return;
	const Filter closed(CALLFILTER_REFUSE,
			    { { true, CALLFILTER_ALLOW, CALLFILTER_NAMES(mkdir_name) } });
	const Filter refusing(CALLFILTER_ALLOW,
			      { { true, CALLFILTER_REFUSE, CALLFILTER_NAMES(mkdir_name) } });
	const Filter killing(CALLFILTER_ALLOW,
			     { { true, CALLFILTER_KILL, CALLFILTER_NAMES(mkdir_name) } });
	CHECK(closed.run(make_directory) == ENOENT);
	CHECK(refusing.run(make_directory) == ENOSYS);
	CHECK(killing.run(make_directory) == 1000 + SIGSYS);
}

TEST_CASE("rules that are switched off permit nothing", "[common][callfilter]")
{
	if (lacks_filters())
		return;
	const Filter closed(CALLFILTER_REFUSE,
			    { { false, CALLFILTER_ALLOW, CALLFILTER_NAMES(mkdir_name) } });
	CHECK(closed.run(make_directory) == ENOSYS);
}

TEST_CASE("a rule matches when all its arguments do", "[common][callfilter]")
{
	if (lacks_filters())
		return;
	const Filter closed(CALLFILTER_REFUSE,
			    { { true, CALLFILTER_ALLOW, CALLFILTER_CALLS(unix_sockets) } });
	CHECK(closed.run([] { return make_socket(AF_UNIX, SOCK_DGRAM); }) == 0);
	CHECK(closed.run([] { return make_socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC); }) == 0);
	CHECK(closed.run([] { return make_socket(AF_UNIX, SOCK_STREAM); }) == ENOSYS);
	CHECK(closed.run([] { return make_socket(AF_INET, SOCK_DGRAM); }) == ENOSYS);
}

TEST_CASE("a call that no daemon makes kills the process, listed or not", "[common][callfilter]")
{
	if (lacks_filters())
		return;
	CHECK(Filter(CALLFILTER_REFUSE).run(run_program) == 1000 + SIGSYS);
	CHECK(Filter(CALLFILTER_ALLOW).run(run_program) == 1000 + SIGSYS);
}

TEST_CASE("no filter lets a ring be made", "[common][callfilter]")
{
	if (lacks_filters())
		return;
	const auto make_ring = [] {
		return syscall(SYS_io_uring_setup, 1, nullptr) < 0 ? errno : 0;
	};
	CHECK(Filter(CALLFILTER_REFUSE).run(make_ring) == ENOSYS);
	CHECK(Filter(CALLFILTER_ALLOW).run(make_ring) == ENOSYS);
}

TEST_CASE("one filter holds for many children and not for the parent that made it",
	  "[common][callfilter]")
{
	if (lacks_filters())
		return;
	const Filter closed(CALLFILTER_REFUSE);
	CHECK(closed.run(make_directory) == ENOSYS);
	CHECK(closed.run(make_directory) == ENOSYS);
	CHECK(make_directory() == ENOENT);
}

TEST_CASE("a call that the system does not know is left out", "[common][callfilter]")
{
	const char *const names[] = { "no_call_of_this_name", "mkdir", "mkdirat" };
	const Filter closed(CALLFILTER_REFUSE,
			    { { true, CALLFILTER_ALLOW, CALLFILTER_NAMES(names) } });
	if (closed.status() == -ENOSYS || lacks_filters()) {
		SUCCEED("no filter of system calls here");
		return;
	}
	REQUIRE(closed.status() == 0);
	CHECK(closed.run(make_directory) != ENOSYS);
}

TEST_CASE("a process without capabilities gives up none, where a filter refuses that call, too",
	  "[common][capabilities]")
{
	const char *const names[] = { "capset" };
	const Filter refusing(CALLFILTER_ALLOW,
			      { { true, CALLFILTER_REFUSE, CALLFILTER_NAMES(names) } });
	if (lacks_filters())
		return;
	child other([&] {
		return capabilities_keep(0) == 0 &&
				       refusing.run([] { return capabilities_keep(0); }) == 0
			       ? 0
			       : 1;
	});
	CHECK(other.wait() == 0);
}

TEST_CASE("an invalid filter is not loaded", "[common][callfilter]")
{
	const callfilter none = {};
	child other([&] {
		prctl(PR_SET_NO_NEW_PRIVS, 1ul, 0ul, 0ul, 0ul);
		return -callfilter_load(&none);
	});
	CHECK(other.wait() == EINVAL);
}
