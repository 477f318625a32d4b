// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// dns_fixture.hh - both engines on loopback, with a program behind them that does as the
// first byte of a question's name says, and clients.
//
//     program running;
//     client asker(running, SOCK_STREAM);
//     asker.send(query('l', 7));
//     running.run_until([&] { return running.late.size() == 1; });
//     running.answer_late(0);

#include "lib/dns/listener.h"
#include "lib/dns/tcp.h"
#include "lib/dns/udp.h"
#include "tests/unit/lib/bytes.hh"

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

// 'n' is answered now, 'l' later, 's' never, 'h' wants the connection. Answers repeat the query
// and have size bytes.
inline bytes query(char what, uint8_t id, size_t size = 16)
{
	return { 0,
		 id,
		 0,
		 0,
		 0,
		 1,
		 0,
		 0,
		 0,
		 0,
		 0,
		 0,
		 static_cast<uint8_t>(what),
		 id,
		 static_cast<uint8_t>(size >> 8),
		 static_cast<uint8_t>(size) };
}

inline bytes response(const bytes &asked)
{
	bytes out = asked;
	out[2] |= 0x80;
	out.resize(asked[14] * 256U + asked[15], asked[1]);
	return out;
}

inline bytes framed(const bytes &message)
{
	bytes out = { static_cast<uint8_t>(message.size() >> 8),
		      static_cast<uint8_t>(message.size()) };
	out.insert(out.end(), message.begin(), message.end());
	return out;
}

struct late_question {
	bytes asked;
	bool is_tcp = false;
	udp_asker udp = {};
	tcp_asker tcp = {};
};

class program
{
      public:
	listener_addresses addresses = {};
	listener sockets = {};
	uv_loop_t loop = {};
	struct udp *udp = nullptr;
	struct tcp *tcp = nullptr;
	std::vector<late_question> late;
	std::vector<uint8_t> asked;    // ids, in the order of answer()
	std::vector<uint8_t> foreseen; // ids, of a batch before it is answered
	std::vector<int> taken;	       // connections handed over
	std::vector<tcp_asker> lenders;
	unsigned events[4] = {};
	unsigned batches = 0;

	explicit program(const char *address = "127.0.0.1",
			 tcp_limits limits = { 16, 0, 30, 30, 1 })
	{
		signal(SIGPIPE, SIG_IGN);
		add_address(address);
		listener_error error = {};
		REQUIRE(listener_open(&sockets, &addresses, 1, &error) == 0);
		REQUIRE(uv_loop_init(&loop) == 0);
		REQUIRE(uv_timer_init(&loop, &tick_) == 0);
		uv_timer_start(
			&tick_, [](uv_timer_t *) {}, 1, 1);
		const responder itself = { this,   on_foresee,	  on_query,
					   on_end, on_connection, on_event };
		REQUIRE(udp_new(&loop, listener_udp(&sockets, 0), 1, &itself, &udp) == 0);
		REQUIRE(tcp_new(&loop, listener_tcp(&sockets, 0), 1, &limits, &itself, &tcp) == 0);
		REQUIRE(udp_start(udp) == 0);
		REQUIRE(tcp_start(tcp) == 0);
	}
	~program()
	{
		drain();
		stop();
		uv_close(reinterpret_cast<uv_handle_t *>(&tick_), nullptr);
		uv_run(&loop, UV_RUN_DEFAULT);
		CHECK(uv_loop_close(&loop) == 0);
		udp_free(udp);
		tcp_free(tcp);
		listener_close(&sockets);
		for (int fd : taken)
			close(fd);
	}
	program(const program &) = delete;
	program &operator=(const program &) = delete;

	void drain()
	{
		if (!is_draining_) {
			udp_drain(udp);
			tcp_drain(tcp);
		}
		is_draining_ = true;
	}

	// After drain().
	void stop()
	{
		if (!is_stopped_)
			tcp_stop(tcp);
		is_stopped_ = true;
	}

	// Rounds of the loop until it is so; a machine that is busy gets half a minute.
	void run_until(const std::function<bool()> &is_so)
	{
		auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
		while (!is_so()) {
			REQUIRE(std::chrono::steady_clock::now() < end);
			uv_run(&loop, UV_RUN_ONCE);
		}
	}

	void answer_late(size_t index)
	{
		const late_question &question = late[index];
		bytes out = response(question.asked);
		if (question.is_tcp)
			tcp_send(tcp, &question.tcp, out.data(), out.size());
		else
			udp_send(udp, &question.udp, out.data(), out.size());
	}

      private:
	uv_timer_t tick_ = {};
	bool is_draining_ = false;
	bool is_stopped_ = false;

	void add_address(const char *text)
	{
		auto *four = reinterpret_cast<sockaddr_in *>(&addresses.all[0]);
		auto *six = reinterpret_cast<sockaddr_in6 *>(&addresses.all[0]);
		addresses.count = 1;
		if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
			four->sin_family = AF_INET;
			return;
		}
		REQUIRE(inet_pton(AF_INET6, text, &six->sin6_addr) == 1);
		six->sin6_family = AF_INET6;
	}

	static void on_foresee(void *self, const responder_query *queries, size_t count)
	{
		auto *program = static_cast<class program *>(self);
		CHECK(program->foreseen.size() == program->asked.size());
		for (size_t i = 0; i < count; i++)
			program->foreseen.push_back(queries[i].wire[1]);
	}
	void defer(const bytes &wire, bool is_tcp)
	{
		late_question question;
		question.asked = wire;
		question.is_tcp = is_tcp;
		if (is_tcp)
			tcp_defer(tcp, &question.tcp);
		else
			udp_defer(udp, &question.udp);
		late.push_back(question);
	}

	static size_t on_query(void *context, const responder_query *query, uint8_t *ret_wire,
			       size_t wire_max)
	{
		auto *self = static_cast<program *>(context);
		bytes wire(query->wire, query->wire + query->size);
		self->asked.push_back(wire[1]);
		if (wire[12] == 'l')
			self->defer(wire, query->is_tcp);
		if (wire[12] == 'h')
			tcp_hand_over(self->tcp);
		if (wire[12] != 'n')
			return 0;
		bytes out = response(wire);
		REQUIRE(out.size() <= wire_max);
		std::copy(out.begin(), out.end(), ret_wire);
		return out.size();
	}
	static void on_end(void *context)
	{
		static_cast<program *>(context)->batches++;
	}
	static void on_connection(void *context, int fd, const tcp_asker *asker)
	{
		static_cast<program *>(context)->taken.push_back(dup(fd));
		static_cast<program *>(context)->lenders.push_back(*asker);
	}
	static void on_event(void *context, responder_event event)
	{
		static_cast<program *>(context)->events[event]++;
	}
};

// A connected socket, which takes nothing from another address than the one that it asks.
class client
{
      public:
	client(program &asked, int type, const char *address = nullptr) : program_(asked)
	{
		sockaddr_storage to = asked.addresses.all[0];
		if (address != nullptr)
			REQUIRE(inet_pton(AF_INET, address,
					  &reinterpret_cast<sockaddr_in *>(&to)->sin_addr) == 1);
		socklen_t size =
			to.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
		fd_ = socket(to.ss_family, type | SOCK_CLOEXEC, 0);
		REQUIRE(fd_ >= 0);
		int small = 4096;
		if (type == SOCK_STREAM)
			setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
		REQUIRE(connect(fd_, reinterpret_cast<sockaddr *>(&to), size) == 0);
		REQUIRE(fcntl(fd_, F_SETFL, O_NONBLOCK) == 0);
	}
	~client()
	{
		close(fd_);
	}
	client(const client &) = delete;
	client &operator=(const client &) = delete;

	void send(const bytes &data)
	{
		REQUIRE(write(fd_, data.data(), data.size()) == static_cast<ssize_t>(data.size()));
	}

	void end_sending()
	{
		REQUIRE(shutdown(fd_, SHUT_WR) == 0);
	}

	// So many bytes of what comes, or one datagram of that size.
	bytes read(size_t size)
	{
		bytes out;
		program_.run_until([&] {
			uint8_t buffer[65536];
			ssize_t got =
				::read(fd_, buffer, std::min(sizeof(buffer), size - out.size()));
			if (got > 0)
				out.insert(out.end(), buffer, buffer + got);
			REQUIRE(got != 0);
			return out.size() == size;
		});
		return out;
	}

	// What is in flight has come by the time an answer to a later question has.
	bool has_input() const
	{
		pollfd polled = { fd_, POLLIN, 0 };
		return poll(&polled, 1, 0) > 0;
	}

	// With nothing to read before.
	void wait_for_end()
	{
		program_.run_until([&] {
			uint8_t byte = 0;
			ssize_t got = ::read(fd_, &byte, 1);
			REQUIRE(got <= 0);
			return got == 0 || errno == ECONNRESET;
		});
	}

      private:
	program &program_;
	int fd_ = -1;
};
