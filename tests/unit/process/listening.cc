// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/process/listening.h"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace
{

// Closed with its owner.
struct held {
	int fd = -1;
	held() = default;
	held(const held &) = delete;
	held &operator=(const held &) = delete;
	~held()
	{
		if (fd >= 0)
			close(fd);
	}
};

sockaddr_in loopback(uint16_t port)
{
	sockaddr_in address = {};
	address.sin_family = AF_INET;
	address.sin_port = htons(port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

int bind_loopback(uint16_t port, unsigned options, held &socket)
{
	const sockaddr_in address = loopback(port);
	return listening_bind_port((const sockaddr *)&address, sizeof(address), options,
				   &socket.fd);
}

uint16_t port_of(const held &socket)
{
	sockaddr_in address = {};
	socklen_t size = sizeof(address);
	getsockname(socket.fd, (sockaddr *)&address, &size);
	return ntohs(address.sin_port);
}

bool is_ipv6_only(const held &socket)
{
	int is_only = 0;
	socklen_t size = sizeof(is_only);
	return getsockopt(socket.fd, IPPROTO_IPV6, IPV6_V6ONLY, &is_only, &size) == 0 &&
	       is_only != 0;
}

mode_t mode_of(const std::string &path)
{
	struct stat status = {};
	return lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : ~0u;
}

bool is_there(const std::string &path)
{
	return mode_of(path) != (mode_t)~0u;
}

} // namespace

TEST_CASE("a socket at a path has no mode before it is given one", "[process][listening]")
{
	tmpdir directory;
	const std::string path = directory.file("socket");
	held bound;
	const mode_t before = umask(022);
	REQUIRE(listening_bind_path(path.c_str(), SOCK_STREAM, &bound.fd) == 0);
	CHECK(umask(before) == 022);
	CHECK(mode_of(path) == 0);
}

TEST_CASE("what a process that was killed has left at a path is replaced", "[process][listening]")
{
	const int type = GENERATE(as<int>{}, SOCK_STREAM, SOCK_SEQPACKET);
	tmpdir directory;
	const std::string path = directory.file("socket");
	{
		held gone;
		REQUIRE(listening_bind_path(path.c_str(), type, &gone.fd) == 0);
		REQUIRE(listen(gone.fd, 1) == 0);
	}
	REQUIRE(is_there(path));
	held bound;
	CHECK(listening_bind_path(path.c_str(), type, &bound.fd) == 0);
	CHECK(bound.fd >= 0);
}

TEST_CASE("a path at which a process listens is left alone", "[process][listening]")
{
	const int type = GENERATE(as<int>{}, SOCK_STREAM, SOCK_SEQPACKET);
	tmpdir directory;
	const std::string path = directory.file("socket");
	held listening;
	REQUIRE(listening_bind_path(path.c_str(), SOCK_STREAM, &listening.fd) == 0);
	REQUIRE(listen(listening.fd, 0) == 0);
	REQUIRE(chmod(path.c_str(), 0600) == 0);
	held other;
	CHECK(listening_bind_path(path.c_str(), type, &other.fd) == -EADDRINUSE);
	// Its queue is full of the first of them.
	CHECK(listening_clear_path(path.c_str(), type) == -EADDRINUSE);
	CHECK(listening_clear_path(path.c_str(), type) == -EADDRINUSE);
	CHECK(other.fd == -1);
	CHECK(is_there(path));
}

TEST_CASE("a file that is no socket is left alone", "[process][listening]")
{
	tmpdir directory;
	const std::string path = directory.file("list.txt");
	write_file(path, "192.0.2.1\n");
	held bound;
	CHECK(listening_bind_path(path.c_str(), SOCK_STREAM, &bound.fd) == -EEXIST);
	CHECK(is_there(path));
	const std::string link = directory.file("link");
	REQUIRE(symlink(path.c_str(), link.c_str()) == 0);
	CHECK(listening_clear_path(link.c_str(), SOCK_STREAM) == -EEXIST);
	CHECK(is_there(link));
}

TEST_CASE("a path that no address has room for is refused", "[process][listening]")
{
	tmpdir directory;
	held bound;
	const std::string path = directory.file(std::string(sizeof(sockaddr_un::sun_path), 'a'));
	CHECK(listening_bind_path(path.c_str(), SOCK_STREAM, &bound.fd) == -ENAMETOOLONG);
	CHECK(listening_bind_path(directory.file("none/socket").c_str(), SOCK_STREAM, &bound.fd) ==
	      -ENOENT);
	CHECK(bound.fd == -1);
}

TEST_CASE("a port is shared with sockets that share it alone", "[process][listening]")
{
	held first;
	held second;
	held alone;
	REQUIRE(bind_loopback(0, LISTENING_SHARED, first) == 0);
	const uint16_t port = port_of(first);
	CHECK(bind_loopback(port, LISTENING_SHARED, second) == 0);
	REQUIRE(listen(first.fd, 1) == 0);
	CHECK(bind_loopback(port, 0, alone) == -EADDRINUSE);
	CHECK(alone.fd == -1);
}

TEST_CASE("an IPv6 socket takes IPv4 clients unless it is told not to", "[process][listening]")
{
	const unsigned options = GENERATE(0u, (unsigned)LISTENING_IPV6_ONLY);
	CAPTURE(options);
	sockaddr_in6 any = {};
	any.sin6_family = AF_INET6;
	held bound;
	const int ret =
		listening_bind_port((const sockaddr *)&any, sizeof(any), options, &bound.fd);
	if (ret == -EAFNOSUPPORT) {
		SUCCEED("no IPv6 here");
		return;
	}
	REQUIRE(ret == 0);
	held plain;
	plain.fd = socket(AF_INET6, SOCK_STREAM, 0);
	CHECK(is_ipv6_only(bound) == (options != 0 || is_ipv6_only(plain)));
}

TEST_CASE("a socket that is none to accept from is an error, not one without clients",
	  "[process][listening]")
{
	held bound;
	REQUIRE(bind_loopback(0, 0, bound) == 0);
	CHECK(listening_accept(bound.fd, nullptr) == -EINVAL); /* listen() was not called */
	CHECK(listening_accept(-1, nullptr) == -EBADF);
}
