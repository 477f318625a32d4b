// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/process/packet.h"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace
{
size_t open_count()
{
	size_t count = 0;
	for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
		(void)entry;
		count++;
	}
	return count;
}

class fixture
{
      public:
	explicit fixture(int type = SOCK_SEQPACKET)
	{
		REQUIRE(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) == 0);
		REQUIRE(pipe2(pipe_ends, O_CLOEXEC) == 0);
		before = open_count();
	}
	~fixture()
	{
		close_end(0);
		close_end(1);
		close(pipe_ends[0]);
		close(pipe_ends[1]);
	}
	fixture(const fixture &) = delete;
	fixture &operator=(const fixture &) = delete;

	void close_end(int end)
	{
		if (ends[end] >= 0)
			close(ends[end]);
		ends[end] = -1;
	}
	ssize_t send(const std::string &text, const std::vector<int> &fds = {})
	{
		const iovec part = { const_cast<char *>(text.data()), text.size() };
		return packet_send(ends[0], &part, 1, fds.data(),
				   static_cast<unsigned>(fds.size()));
	}
	// More than packet_send() does.
	void send_many(const std::string &text, size_t count)
	{
		std::vector<int> fds(count, pipe_ends[0]);
		std::vector<char> control(CMSG_SPACE(count * sizeof(int)), 0);
		iovec part = { const_cast<char *>(text.data()), text.size() };
		msghdr message{};
		message.msg_iov = &part;
		message.msg_iovlen = 1;
		message.msg_control = control.data();
		message.msg_controllen = control.size();
		cmsghdr *header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(header), fds.data(), count * sizeof(int));
		REQUIRE(sendmsg(ends[0], &message, 0) == static_cast<ssize_t>(text.size()));
	}
	int receive(size_t room = 100)
	{
		std::vector<char> bytes(room);
		packet = {};
		text.clear();
		const int ret = packet_receive(ends[1], bytes.data(), room, &packet);
		if (ret == 1)
			text.assign(bytes.data(), packet.size);
		return ret;
	}
	bool is_of_pipe(int fd) const
	{
		struct stat one {
		};
		struct stat other {
		};
		return fstat(fd, &one) == 0 && fstat(pipe_ends[0], &other) == 0 &&
		       one.st_ino == other.st_ino;
	}

	int ends[2];
	int pipe_ends[2];
	size_t before;
	struct packet packet {
	};
	std::string text;
};

// As many descriptors may be open as are, and more.
class few_descriptors
{
      public:
	explicit few_descriptors(rlim_t more)
	{
		REQUIRE(getrlimit(RLIMIT_NOFILE, &kept_) == 0);
		const int lowest = dup(0);
		REQUIRE(lowest >= 0);
		close(lowest);
		rlimit limit = kept_;
		limit.rlim_cur = static_cast<rlim_t>(lowest) + more;
		REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	}
	~few_descriptors()
	{
		setrlimit(RLIMIT_NOFILE, &kept_);
	}
	few_descriptors(const few_descriptors &) = delete;
	few_descriptors &operator=(const few_descriptors &) = delete;

      private:
	rlimit kept_{};
};
} // namespace

TEST_CASE("a packet comes with as many descriptors as it was sent with", "[process][packet]")
{
	const size_t count = GENERATE(0, 1, 2);
	CAPTURE(count);
	fixture f(GENERATE(SOCK_SEQPACKET, SOCK_STREAM));
	REQUIRE(f.send("hello", std::vector<int>(count, f.pipe_ends[0])) == 5);
	REQUIRE(f.receive() == 1);
	CHECK(f.text == "hello");
	REQUIRE(f.packet.fd_count == count);
	CHECK(open_count() == f.before + count);
	for (size_t i = 0; i < count; i++) {
		CHECK(f.is_of_pipe(f.packet.fds[i]));
		CHECK(fcntl(f.packet.fds[i], F_GETFD) == FD_CLOEXEC);
	}
	packet_close(&f.packet);
	CHECK(f.packet.fd_count == 0);
	packet_close(&f.packet);
	CHECK(open_count() == f.before);
	CHECK(f.receive() == -EAGAIN);
}

TEST_CASE("parts are one packet, and packets stay apart", "[process][packet]")
{
	fixture f;
	char text[] = "abcdef";
	const iovec parts[] = { { text, 2 }, { text + 2, 0 }, { text + 2, 4 } };
	REQUIRE(packet_send(f.ends[0], parts, 3, nullptr, 0) == 6);
	REQUIRE(f.send("next", { f.pipe_ends[1] }) == 4);
	REQUIRE(f.receive() == 1);
	CHECK(f.text == "abcdef");
	CHECK(f.packet.fd_count == 0);
	REQUIRE(f.receive(4) == 1);
	CHECK(f.text == "next");
	CHECK(f.packet.fd_count == 1);
	packet_close(&f.packet);
}

TEST_CASE("a packet of too many descriptors is gone, and they are closed", "[process][packet]")
{
	// Of nine, the kernel closes one itself.
	const size_t count = GENERATE(3, 8, 9, 100);
	CAPTURE(count);
	fixture f;
	f.send_many("many", count);
	REQUIRE(f.send("next") == 4);
	CHECK(f.receive() == -EBADMSG);
	CHECK(open_count() == f.before);
	REQUIRE(f.receive() == 1);
	CHECK(f.text == "next");
}

TEST_CASE("a packet of too many bytes is gone, and its descriptors are closed", "[process][packet]")
{
	fixture f;
	const std::vector<int> fds(GENERATE(0, 1, 2), f.pipe_ends[0]);
	REQUIRE(f.send("12345", fds) == 5);
	REQUIRE(f.send("next") == 4);
	CHECK(f.receive(4) == -EBADMSG);
	CHECK(open_count() == f.before);
	REQUIRE(f.receive(4) == 1);
	CHECK(f.text == "next");
}

TEST_CASE("a process without room for a descriptor is told so, and keeps none of the packet's",
	  "[process][packet]")
{
	fixture f;
	const rlim_t more = GENERATE(0, 1);
	REQUIRE(f.send("12345", { f.pipe_ends[0], f.pipe_ends[1] }) == 5);
	REQUIRE(f.send("next") == 4);
	{
		few_descriptors limit(more);
		CHECK(f.receive() == -EMFILE);
		REQUIRE(f.receive() == 1);
	}
	CHECK(f.text == "next");
	CHECK(open_count() == f.before);
}

TEST_CASE("an end that is closed is told after what it had sent", "[process][packet]")
{
	fixture f(GENERATE(SOCK_SEQPACKET, SOCK_STREAM));
	REQUIRE(f.send("last", { f.pipe_ends[0] }) == 4);
	f.close_end(0);
	REQUIRE(f.receive() == 1);
	packet_close(&f.packet);
	CHECK(f.receive() == 0);
	CHECK(f.receive() == 0);
}

TEST_CASE("sending to an end that is closed is a status and no signal", "[process][packet]")
{
	fixture f;
	f.close_end(1);
	CHECK(f.send("x", { f.pipe_ends[0] }) == -EPIPE);
	CHECK(fcntl(f.pipe_ends[0], F_GETFD) >= 0);
}

TEST_CASE("a socket that is full does not make its sender wait", "[process][packet]")
{
	fixture f;
	const std::string text(1000, 'x');
	size_t sent = 0;
	while (f.send(text) == 1000)
		sent++;
	CHECK(f.send(text) == -EAGAIN);
	CHECK(sent > 0);
	for (size_t i = 0; i < sent; i++)
		REQUIRE(f.receive(1000) == 1);
	CHECK(f.receive() == -EAGAIN);
	CHECK(f.send(text) == 1000);
}

TEST_CASE("what is no socket is a status", "[process][packet]")
{
	fixture f;
	char byte = 0;
	struct packet packet {
	};
	const iovec part = { &byte, 1 };
	CHECK(packet_send(f.pipe_ends[1], &part, 1, nullptr, 0) == -ENOTSOCK);
	CHECK(packet_receive(f.pipe_ends[0], &byte, 1, &packet) == -ENOTSOCK);
}
