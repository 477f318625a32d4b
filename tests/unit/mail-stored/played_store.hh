// SPDX-License-Identifier: GPL-3.0-or-later
// The store's end of a connection to its socket, played.
#pragma once

#include "integration/mail/base/store/storewire.h"
#include "lib/process/listening.h"
#include "lib/process/packet.h"

#include <catch2/catch.hpp>

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

class played_store
{
      public:
	std::vector<uint64_t> serials; // of requests, as they came
	std::vector<uint8_t> types;
	size_t memory_size = 0;

	explicit played_store(const std::string &path)
	{
		REQUIRE(listening_bind_path(path.c_str(), SOCK_SEQPACKET, &door) == 0);
		REQUIRE(chmod(path.c_str(), 0600) == 0);
		REQUIRE(listen(door, 8) == 0);
	}
	played_store(const played_store &) = delete;
	played_store &operator=(const played_store &) = delete;
	~played_store()
	{
		hang_up();
		close(door);
	}

	bool accept_one()
	{
		hang_up();
		client = listening_accept(door, nullptr);
		return client >= 0;
	}

	void say(uint8_t type, uint64_t serial, int status, uint64_t number = 0) const
	{
		storewire_reply reply = {};
		reply.type = type;
		reply.serial = serial;
		reply.status = status;
		reply.number = number;
		uint8_t bytes[STOREWIRE_REPLY_HEAD];
		storewire_encode_reply(&reply, bytes);
		const iovec part = { bytes, sizeof(bytes) };
		REQUIRE(packet_send(client, &part, 1, nullptr, 0) > 0);
	}

	void greet(uint64_t number = 0) const
	{
		say(STOREWIRE_HELLO, 0, 0, number);
	}

	void take_all()
	{
		std::vector<uint8_t> bytes(STOREWIRE_PACKET_MAX);
		packet got = {};
		while (packet_receive(client, bytes.data(), bytes.size(), &got) > 0) {
			storewire_request request = {};
			REQUIRE(storewire_decode_request(bytes.data(), got.size, &request) == 0);
			serials.push_back(request.serial);
			types.push_back(request.type);
			memory_size += request.memory_size;
			packet_close(&got);
		}
	}

	void answer(size_t at, int status) const
	{
		say(types.at(at), serials.at(at), status);
	}

	// Rows that are too many for a packet.
	void answer_rows(size_t at, const std::string &rows, uint32_t count) const
	{
		storewire_reply reply = {};
		reply.type = types.at(at);
		reply.serial = serials.at(at);
		reply.count = count;
		uint8_t bytes[STOREWIRE_REPLY_HEAD];
		storewire_encode_reply(&reply, bytes);
		const iovec part = { bytes, sizeof(bytes) };
		const int fd = memfd_create("rows", MFD_CLOEXEC);
		REQUIRE(write(fd, rows.data(), rows.size()) == static_cast<ssize_t>(rows.size()));
		REQUIRE(packet_send(client, &part, 1, &fd, 1) > 0);
		close(fd);
	}

	void hang_up()
	{
		if (client >= 0)
			close(client);
		client = -1;
	}

	int client = -1;

      private:
	int door = -1;
};
