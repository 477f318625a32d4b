// SPDX-License-Identifier: GPL-3.0-or-later
// A worker that tries to do more than a worker does. Each attempt is made in a
// child that confine_worker() has been called in; what real workers need is
// shown by the integration tests, all of which run confined.
#include "server/confine/confine.h"
#include "tests/lib/child.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <functional>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(cases) (sizeof(cases) / sizeof((cases)[0]))

namespace
{

enum : int { EXIT_DONE = 0, EXIT_REFUSED = 1, EXIT_NOT_CONFINED = 2 };

// Made in the parent of those who load it.
struct worker_filter {
	callfilter value = {};

	explicit worker_filter(const settings *settings)
	{
		REQUIRE(confine_make_filter(settings, &value) == 0);
	}
	~worker_filter()
	{
		callfilter_deinit(&value);
	}
	worker_filter(const worker_filter &) = delete;
	worker_filter &operator=(const worker_filter &) = delete;
};

// Settings with one zone; the store does not have to be there.
struct confined {
	tmpdir directory;
	tmpdir elsewhere;
	settings value = {};
	std::string store = directory.file("bl6.mdb");

	explicit confined(const std::string &server_lines = "")
	{
		const std::string text = "server:\n    confine: auto\n" + server_lines +
					 "zone:\n  - domain: bl6.example.\n    store: " + store +
					 "\n";
		conf_error error = {};
		REQUIRE(settings_parse(&value, text.data(), text.size(), "/", &error) == 0);
	}
	~confined()
	{
		settings_deinit(&value);
	}
	confined(const confined &) = delete;
	confined &operator=(const confined &) = delete;

	// How a confined child that calls attempt ends: a status of waitpid().
	int run(const std::function<bool()> &attempt) const
	{
		const worker_filter filter(&value);
		const pid_t pid = fork();
		if (pid == 0) {
			const char *step = nullptr;
			if (confine_worker(&value, &filter.value, &step) != 0)
				_exit(EXIT_NOT_CONFINED);
			_exit(attempt() ? EXIT_DONE : EXIT_REFUSED);
		}
		int status = -1;
		REQUIRE(pid > 0);
		REQUIRE(waitpid(pid, &status, 0) == pid);
		return status;
	}

	// Its exit status; -1 when it was killed.
	int exit_of(const std::function<bool()> &attempt) const
	{
		const int status = run(attempt);
		return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	}
};

bool can_open(const std::string &path, int flags)
{
	const int fd = open(path.c_str(), flags | O_CLOEXEC, 0600);
	return fd >= 0;
}

bool can_make_socket(int domain, int type, int protocol = 0)
{
	return socket(domain, type, protocol) >= 0;
}

struct attempt {
	const char *what;
	std::function<bool()> act; // true when it was not refused
};

bool has_landlock(int version)
{
	return confine_look().landlock >= version;
}

} // namespace

TEST_CASE("a confined worker opens no file but those beside its stores", "[server][confine]")
{
	if (!has_landlock(1)) {
		SUCCEED("no Landlock here");
		return;
	}
	confined worker;
	write_file(worker.elsewhere.file("secret"), "x");
	write_file(worker.store, "x");
	const std::string outside = worker.elsewhere.file("secret");
	const std::string new_outside = worker.elsewhere.file("new");
	const attempt cases[] = {
		{ "read /etc/passwd", [] { return can_open("/etc/passwd", O_RDONLY); } },
		{ "write /etc/passwd", [] { return can_open("/etc/passwd", O_WRONLY); } },
		{ "read /proc/self/environ",
		  [] { return can_open("/proc/self/environ", O_RDONLY); } },
		{ "write the memory of its parent",
		  [] {
			  return can_open("/proc/" + std::to_string(getppid()) + "/mem", O_WRONLY);
		  } },
		{ "read a file elsewhere", [&] { return can_open(outside, O_RDONLY); } },
		{ "make a file elsewhere",
		  [&] { return can_open(new_outside, O_WRONLY | O_CREAT); } },
		{ "remove a file elsewhere", [&] { return unlink(outside.c_str()) == 0; } },
		{ "remove its store", [&] { return unlink(worker.store.c_str()) == 0; } },
		{ "rename its store",
		  [&] { return rename(worker.store.c_str(), (worker.store + "2").c_str()) == 0; } },
		{ "make a link to the outside",
		  [&] { return symlink("/etc/passwd", (worker.store + "2").c_str()) == 0; } },
		{ "make a directory",
		  [&] { return mkdir((worker.store + "2").c_str(), 0700) == 0; } },
		{ "list a directory", [] { return opendir("/") != nullptr; } },
	};
	const size_t index = GENERATE(range(size_t(0), COUNT(cases)));
	CAPTURE(cases[index].what);
	CHECK(worker.exit_of(cases[index].act) == EXIT_REFUSED);
	struct stat status = {};
	CHECK(stat(outside.c_str(), &status) == 0);
	CHECK(stat(worker.store.c_str(), &status) == 0);
	CHECK(stat(new_outside.c_str(), &status) != 0);
}

TEST_CASE("a confined worker has its stores, its lock files, UDP and children", "[server][confine]")
{
	confined worker;
	write_file(worker.store, "x");
	const attempt cases[] = {
		{ "read its store", [&] { return can_open(worker.store, O_RDONLY); } },
		{ "make a lock file",
		  [&] { return can_open(worker.store + "-lock", O_RDWR | O_CREAT); } },
		{ "cut a lock file",
		  [&] {
			  const int fd =
				  open((worker.store + "-lock").c_str(), O_RDWR | O_CREAT, 0600);
			  return fd >= 0 && ftruncate(fd, 8192) == 0;
		  } },
		{ "share a lock file with its group",
		  [&] {
			  const int fd = open(worker.store.c_str(), O_RDWR);
			  return fd >= 0 && fchmod(fd, 0664) == 0;
		  } },
		{ "send a datagram", [] { return can_make_socket(AF_INET, SOCK_DGRAM); } },
		{ "have a child, and end it",
		  [] {
			  const pid_t pid = fork();
			  if (pid == 0) {
				  for (;;)
					  sleep(60);
			  }
			  int status = 0;
			  return pid > 0 && kill(pid, SIGKILL) == 0 &&
				 waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
		  } },
	};
	const size_t index = GENERATE(range(size_t(0), COUNT(cases)));
	CAPTURE(cases[index].what);
	CHECK(worker.exit_of(cases[index].act) == EXIT_DONE);
}

TEST_CASE("a confined worker is refused what it has no use for", "[server][confine]")
{
	if (!confine_look().has_seccomp) {
		SUCCEED("no filter of system calls here");
		return;
	}
	confined worker;
	write_file(worker.store, "x");
	const attempt cases[] = {
		{ "a raw socket", [] { return can_make_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP); } },
		{ "a packet socket", [] { return can_make_socket(AF_PACKET, SOCK_RAW); } },
		{ "a TCP socket", [] { return can_make_socket(AF_INET6, SOCK_STREAM); } },
		{ "a UNIX socket", [] { return can_make_socket(AF_UNIX, SOCK_DGRAM); } },
		{ "a netlink socket", [] { return can_make_socket(AF_NETLINK, SOCK_DGRAM); } },
		{ "to be root", [] { return setuid(0) == 0; } },
		{ "another group", [] { return setgid(0) == 0; } },
		{ "capabilities",
		  [] {
			  __user_cap_header_struct header = {};
			  __user_cap_data_struct data[2] = {};
			  header.version = _LINUX_CAPABILITY_VERSION_3;
			  data[0].effective = data[0].permitted = 1u << CAP_NET_RAW;
			  return syscall(SYS_capset, &header, data) == 0;
		  } },
		{ "to stop its parent", [] { return kill(getppid(), SIGSTOP) == 0; } },
		{ "to test for its parent", [] { return kill(getppid(), 0) == 0; } },
		{ "new code in memory",
		  [] {
			  return mmap(nullptr, 4096, PROT_READ | PROT_EXEC,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
		  } },
		{ "a thread",
		  [] {
			  return syscall(SYS_clone, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD,
					 nullptr, nullptr, nullptr, nullptr) >= 0;
		  } },
		{ "a user namespace",
		  [] {
			  return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr,
					 nullptr, nullptr) >= 0;
		  } },
		{ "io_uring", [] { return syscall(SYS_io_uring_setup, 1, nullptr) >= 0; } },
		{ "a set-user-ID file",
		  [&] {
			  const int fd = open(worker.store.c_str(), O_RDWR);
			  return fd >= 0 && fchmod(fd, 04755) == 0;
		  } },
		{ "permissions by a path", [&] { return chmod(worker.store.c_str(), 0664) == 0; } },
		{ "core files again", [] { return prctl(PR_SET_DUMPABLE, 1) == 0; } },
	};
	const size_t index = GENERATE(range(size_t(0), COUNT(cases)));
	CAPTURE(cases[index].what);
	CHECK(worker.exit_of(cases[index].act) == EXIT_REFUSED);
}

TEST_CASE("a confined worker that does what no server does is killed", "[server][confine]")
{
	if (!confine_look().has_seccomp) {
		SUCCEED("no filter of system calls here");
		return;
	}
	confined worker;
	const attempt cases[] = {
		{ "run a program",
		  [] { return execl("/bin/true", "true", static_cast<char *>(nullptr)) == 0; } },
		{ "trace its parent", [] { return ptrace(PTRACE_ATTACH, getppid(), 0, 0) == 0; } },
		{ "read its parent's memory",
		  [] {
			  char byte = 0;
			  iovec here = { &byte, 1 };
			  iovec there = { &byte, 1 };
			  return process_vm_readv(getppid(), &here, 1, &there, 1, 0) == 1;
		  } },
		{ "mount", [] { return mount("none", "/mnt", "tmpfs", 0, nullptr) == 0; } },
		{ "have namespaces", [] { return unshare(CLONE_NEWUSER) == 0; } },
		{ "change its root", [] { return chroot("/") == 0; } },
		{ "load code into the kernel",
		  [] { return syscall(SYS_bpf, 0, nullptr, 0) >= 0; } },
		{ "read the kernel's keys",
		  [] { return syscall(SYS_keyctl, 0, 0, 0, 0, 0) >= 0; } },
	};
	const size_t index = GENERATE(range(size_t(0), COUNT(cases)));
	CAPTURE(cases[index].what);
	const int status = worker.run(cases[index].act);
	REQUIRE(WIFSIGNALED(status));
	CHECK(WTERMSIG(status) == SIGSYS);
}

TEST_CASE("a confined worker cannot kill a process that is not its child", "[server][confine]")
{
	if (!has_landlock(6)) {
		SUCCEED("no Landlock here that knows of signals");
		return;
	}
	confined worker;
	const pid_t sibling = fork();
	if (sibling == 0) {
		for (;;)
			pause();
	}
	REQUIRE(sibling > 0);
	CHECK(worker.exit_of([sibling] { return kill(sibling, SIGKILL) == 0; }) == EXIT_REFUSED);
	int status = 0;
	CHECK(waitpid(sibling, &status, WNOHANG) == 0);
	kill(sibling, SIGKILL);
	CHECK(waitpid(sibling, &status, 0) == sibling);
}

TEST_CASE("a confined worker has no capability and no way to one", "[server][confine]")
{
	confined worker;
	int ends[2];
	REQUIRE(pipe(ends) == 0);
	const worker_filter filter(&worker.value);
	const pid_t pid = fork();
	if (pid == 0) {
		const char *step = nullptr;
		const bool is_confined = confine_worker(&worker.value, &filter.value, &step) == 0;
		if (is_confined && write(ends[1], "x", 1) == 1)
			sleep(60);
		_exit(EXIT_NOT_CONFINED);
	}
	REQUIRE(pid > 0);
	close(ends[1]);
	char byte = 0;
	CHECK(read(ends[0], &byte, 1) == 1);
	const std::string status = read_file("/proc/" + std::to_string(pid) + "/status");
	kill(pid, SIGKILL);
	waitpid(pid, nullptr, 0);
	close(ends[0]);
	CAPTURE(status);
	for (const char *set : { "CapInh", "CapPrm", "CapEff", "CapAmb" }) {
		CAPTURE(set);
		CHECK(status.find(std::string(set) + ":\t0000000000000000\n") != std::string::npos);
	}
	// Only root can empty it, and for nobody else is there a way to it.
	if (geteuid() == 0)
		CHECK(status.find("CapBnd:\t0000000000000000\n") != std::string::npos);
	CHECK(status.find("NoNewPrivs:\t1\n") != std::string::npos);
	if (confine_look().has_seccomp)
		CHECK(status.find("Seccomp:\t2\n") != std::string::npos);
}

TEST_CASE("a worker whose filter was not made is not confined, and says so", "[server][confine]")
{
	if (!confine_look().has_seccomp) {
		SUCCEED("no filter of system calls here");
		return;
	}
	confined worker;
	child other([&worker] {
		const callfilter none = {};
		const char *step = "";
		return confine_worker(&worker.value, &none, &step) == -EINVAL &&
				       strcmp(step, "seccomp") == 0
			       ? EXIT_REFUSED
			       : EXIT_DONE;
	});
	CHECK(other.wait() == EXIT_REFUSED);
}

TEST_CASE("with confine: off a worker has the files that its user has", "[server][confine]")
{
	confined worker;
	worker.value.confine = SETTINGS_CONFINE_OFF;
	CHECK(worker.exit_of([] { return can_open("/etc/passwd", O_RDONLY); }) == EXIT_DONE);
}

TEST_CASE("below chroot a worker has stores and nothing else, by paths without it",
	  "[server][confine]")
{
	if (geteuid() != 0) {
		SUCCEED("only root changes its root directory");
		return;
	}
	confined worker;
	write_file(worker.store, "x");
	strncpy(worker.value.chroot_path, worker.directory.path().c_str(),
		sizeof(worker.value.chroot_path) - 1);
	worker.value.confine = GENERATE(SETTINGS_CONFINE_OFF, SETTINGS_CONFINE_AUTO);
	CAPTURE(worker.value.confine);
	CHECK(std::string(settings_store_path(&worker.value, 0)) == "/bl6.mdb");
	CHECK(worker.exit_of([&] {
		return can_open(settings_store_path(&worker.value, 0), O_RDONLY);
	}) == EXIT_DONE);
	CHECK(worker.exit_of([] { return can_open("/etc/passwd", O_RDONLY); }) == EXIT_REFUSED);
	CHECK(worker.exit_of([] { return can_open("/../../etc/passwd", O_RDONLY); }) ==
	      EXIT_REFUSED);
}

TEST_CASE("confine: on wants both Landlock and a filter, auto takes what there is",
	  "[server][confine]")
{
	settings value = {};
	const confine_means all = { 1, true };
	const confine_means no_landlock = { 0, true };
	const confine_means no_filter = { 1, false };
	value.confine = SETTINGS_CONFINE_ON;
	CHECK(confine_is_enough(&value, &all));
	CHECK_FALSE(confine_is_enough(&value, &no_landlock));
	CHECK_FALSE(confine_is_enough(&value, &no_filter));
	value.confine = SETTINGS_CONFINE_AUTO;
	CHECK(confine_is_enough(&value, &no_landlock));
	CHECK(confine_is_enough(&value, &no_filter));
}
