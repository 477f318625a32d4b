// SPDX-License-Identifier: GPL-3.0-or-later
// The words of a service manager, said by this test; real sockets and a real
// server are in tests/integration/server/test_systemd.py.
#include "lib/process/systemd.h"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace
{

int take(const std::string &pid, const std::string &count)
{
	setenv("LISTEN_PID", pid.c_str(), 1);
	setenv("LISTEN_FDS", count.c_str(), 1);
	return systemd_take_sockets();
}

// What systemd_notify() says goes here; the name is abstract, so nothing is left behind.
class Manager
{
      public:
	Manager()
	{
		fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		sockaddr_un address = {};
		address.sun_family = AF_UNIX;
		const std::string name = "dnsblv6-test-" + std::to_string(getpid());
		memcpy(address.sun_path + 1, name.data(), name.size());
		REQUIRE(bind(fd_, reinterpret_cast<sockaddr *>(&address),
			     static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
						    name.size())) == 0);
		setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
	}
	~Manager()
	{
		unsetenv("NOTIFY_SOCKET");
		close(fd_);
	}
	Manager(const Manager &) = delete;
	Manager &operator=(const Manager &) = delete;

	std::string receive() const
	{
		char text[256];
		const ssize_t size = recv(fd_, text, sizeof(text), MSG_DONTWAIT);
		return size < 0 ? "" : std::string(text, static_cast<size_t>(size));
	}

      private:
	int fd_ = -1;
};

} // namespace

TEST_CASE("without a service manager there are no sockets, and notices go nowhere",
	  "[common][systemd]")
{
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("NOTIFY_SOCKET");
	CHECK(systemd_take_sockets() == 0);
	CHECK(systemd_notify("READY=1") == 0);
}

TEST_CASE("sockets for another process are not ours", "[common][systemd]")
{
	CHECK(take(std::to_string(getppid()), "2") == 0);
	CHECK(take("", "2") == 0);
	CHECK(take("x", "2") == 0);
}

TEST_CASE("a LISTEN_FDS that is no number is refused", "[common][systemd]")
{
	const std::string own = std::to_string(getpid());
	CHECK(take(own, "") == -EINVAL);
	CHECK(take(own, "-1") == -EINVAL);
	CHECK(take(own, "2x") == -EINVAL);
	CHECK(take(own, "99999999999999999999") == -EINVAL);
	CHECK(take(own, std::to_string(SYSTEMD_SOCKETS_MAX + 1)) == -E2BIG);
	CHECK(take(own, "0") == 0);
}

TEST_CASE("sockets are passed once, and to no program that is run later", "[common][systemd]")
{
	const int before = fcntl(SYSTEMD_FIRST_FD, F_GETFD);
	int made = -1;
	if (before < 0) {
		made = fcntl(STDERR_FILENO, F_DUPFD, SYSTEMD_FIRST_FD);
		REQUIRE(made == SYSTEMD_FIRST_FD);
	} else {
		REQUIRE(fcntl(SYSTEMD_FIRST_FD, F_SETFD, 0) == 0);
	}
	CHECK(take(std::to_string(getpid()), "1") == 1);
	CHECK((fcntl(SYSTEMD_FIRST_FD, F_GETFD) & FD_CLOEXEC) != 0);
	CHECK(getenv("LISTEN_PID") == nullptr);
	CHECK(getenv("LISTEN_FDS") == nullptr);
	CHECK(systemd_take_sockets() == 0);
	if (made >= 0)
		close(made);
	else
		fcntl(SYSTEMD_FIRST_FD, F_SETFD, before);
}

TEST_CASE("sockets that are not there are an error", "[common][systemd]")
{
	CHECK(take(std::to_string(getpid()), std::to_string(SYSTEMD_SOCKETS_MAX)) == -EBADF);
}

TEST_CASE("the service manager hears every state in one datagram", "[common][systemd]")
{
	const Manager manager;
	CHECK(systemd_notify("READY=1\nSTATUS=zones=2") == 0);
	CHECK(manager.receive() == "READY=1\nSTATUS=zones=2");
	CHECK(systemd_notify_reloading() == 0);
	const std::string text = manager.receive();
	CHECK_THAT(text, Catch::Matchers::Matches("RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]*"));
	CHECK(manager.receive().empty());
}

TEST_CASE("a service manager that is not there is an error, and not waited for",
	  "[common][systemd]")
{
	for (const char *path :
	     { "/nonexistent/notify", "@dnsblv6-nobody", "relative", "@", "/" }) {
		CAPTURE(path);
		setenv("NOTIFY_SOCKET", path, 1);
		CHECK(systemd_notify("READY=1") < 0);
	}
	setenv("NOTIFY_SOCKET", ("/" + std::string(200, 'x')).c_str(), 1);
	CHECK(systemd_notify("READY=1") == -ENAMETOOLONG);
	unsetenv("NOTIFY_SOCKET");
}
