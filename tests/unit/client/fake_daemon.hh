// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// fake_daemon.hh - dnsblv6-cached, played by a test.
//
//     fake_daemon played(directory);
//     played.accept_client();
//     played.say(bytes_of(reply));

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include <catch2/catch.hpp>

#include "client-lib/shared/cached.h"

inline std::string bytes_of(const cached_reply &reply)
{
	uint8_t bytes[CACHED_REPLY_SIZE];
	cached_encode_reply(&reply, bytes);
	return std::string(reinterpret_cast<char *>(bytes), sizeof(bytes));
}

// A place where clients connect, and the last client that did.
class fake_daemon
{
      public:
	explicit fake_daemon(const std::string &directory) : path_(directory + "/" CACHED_SOCKET)
	{
		sockaddr_un address = {};
		address.sun_family = AF_UNIX;
		memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
		unlink(path_.c_str());
		listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		REQUIRE(bind(listener_, reinterpret_cast<sockaddr *>(&address), sizeof(address)) ==
			0);
		REQUIRE(listen(listener_, 4) == 0);
	}
	~fake_daemon()
	{
		hang_up();
		close(listener_);
	}
	fake_daemon(const fake_daemon &) = delete;
	fake_daemon &operator=(const fake_daemon &) = delete;

	bool has_caller() const
	{
		pollfd polled = { listener_, POLLIN, 0 };
		return poll(&polled, 1, 0) == 1;
	}
	void accept_client()
	{
		hang_up();
		REQUIRE(has_caller());
		client_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
		REQUIRE(client_ >= 0);
		if (greets)
			say(CACHED_GREETING);
	}
	bool greets = true;
	// What has come in, or nothing.
	std::optional<cached_request> read()
	{
		const ssize_t size = recv(client_, bytes_, sizeof(bytes_), MSG_DONTWAIT);
		if (size <= 0)
			return std::nullopt;
		cached_request request = {};
		REQUIRE(cached_decode_request(bytes_, static_cast<size_t>(size), &request) == 0);
		return request;
	}
	void say(const std::string &packet)
	{
		REQUIRE(send(client_, packet.data(), packet.size(), MSG_NOSIGNAL) ==
			static_cast<ssize_t>(packet.size()));
	}
	void say_with(const std::string &packet, const std::array<int, 2> &fds)
	{
		std::string bytes = packet;
		iovec part = { bytes.data(), bytes.size() };
		alignas(cmsghdr) char control[CMSG_SPACE(sizeof(fds))] = {};
		msghdr message = {};
		message.msg_iov = &part;
		message.msg_iovlen = 1;
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		const size_t size = (fds[1] < 0 ? 1 : 2) * sizeof(fds[0]);
		cmsghdr *head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(head), fds.data(), size);
		REQUIRE(sendmsg(client_, &message, MSG_NOSIGNAL) ==
			static_cast<ssize_t>(packet.size()));
	}
	bool client_is_gone() const
	{
		char byte;
		return recv(client_, &byte, 1, MSG_DONTWAIT) == 0;
	}
	void hang_up()
	{
		if (client_ >= 0)
			close(client_);
		client_ = -1;
	}

      private:
	std::string path_;
	int listener_ = -1;
	int client_ = -1;
	uint8_t bytes_[CACHED_REQUEST_MAX + 1];
};
