// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// resolver.hh - a resolver on loopback that does what a test tells it to.
//
//     resolver server([](resolver::query &query) {
//             if (query.number == 1)
//                     return; // silence
//             query.reply(query.answer_a({ 127, 0, 0, 2 }));
//     });
//     config.servers[0].address = server.address(); // 127.0.0.1, or what was asked for
//
// The script is run for every query, UDP and TCP, by the resolver's own thread:
// it must not use Catch2, and what it shares with the test is atomic. Its
// replies go out in the order of their times. queries() tells what came.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

// 192.0.2.1 becomes ::ffff:192.0.2.1, as struct config has it.
inline sockaddr_in6 mapped_address(const char *text, uint16_t port)
{
	sockaddr_in6 address = {};
	address.sin6_family = AF_INET6;
	address.sin6_port = htons(port);
	if (inet_pton(AF_INET6, text, &address.sin6_addr) == 1)
		return address;
	address.sin6_addr.s6_addr[10] = address.sin6_addr.s6_addr[11] = 0xff;
	if (inet_pton(AF_INET, text, address.sin6_addr.s6_addr + 12) != 1)
		throw std::runtime_error(std::string("no address: ") + text);
	return address;
}

// For the family it is of: a sockaddr_in6 has room for a sockaddr_in.
inline socklen_t native_address(sockaddr_in6 *address)
{
	sockaddr_in in = {};
	if (!IN6_IS_ADDR_V4MAPPED(&address->sin6_addr))
		return sizeof(*address);
	in.sin_family = AF_INET;
	in.sin_port = address->sin6_port;
	memcpy(&in.sin_addr, address->sin6_addr.s6_addr + 12, 4);
	memcpy(address, &in, sizeof(in));
	return sizeof(in);
}

class resolver
{
      public:
	using bytes = std::vector<uint8_t>;
	using clock = std::chrono::steady_clock;

	class query
	{
	      public:
		unsigned number; // from 1, over UDP and TCP
		bool is_tcp;
		uint16_t source_port;
		bytes message;

		uint16_t id() const
		{
			return static_cast<uint16_t>(message[0] << 8 | message[1]);
		}
		// In the case it came in, with a dot behind each label.
		std::string name() const
		{
			std::string text;
			for (size_t at = 12; at < message.size() && message[at] != 0;
			     at += message[at] + 1u)
				text += std::string(message.begin() + static_cast<long>(at) + 1,
						    message.begin() + static_cast<long>(at) + 1 +
							    message[at]) +
					".";
			return text;
		}
		uint16_t type() const
		{
			const size_t at = question_end() - 4;
			return static_cast<uint16_t>(message[at] << 8 | message[at + 1]);
		}

		// ---- replies to make ----

		bytes empty(uint8_t rcode, bool is_truncated = false) const
		{
			bytes reply(message.begin(),
				    message.begin() + static_cast<long>(question_end()));
			reply[2] = static_cast<uint8_t>(0x81 | (is_truncated ? 2 : 0));
			reply[3] = static_cast<uint8_t>(0x80 | rcode);
			for (size_t i = 6; i < 12; i++)
				reply[i] = 0;
			return reply;
		}
		bytes answer_a(std::array<uint8_t, 4> a) const
		{
			bytes reply = empty(0);
			const uint8_t record[] = { 0xc0, 12, 0, 1, 0,	 1,    0,    0,
						   1,	 44, 0, 4, a[0], a[1], a[2], a[3] };
			reply[7] = 1;
			reply.insert(reply.end(), std::begin(record), std::end(record));
			return reply;
		}

		// ---- replies to send ----

		void reply(const bytes &reply) const
		{
			reply_after(0, reply);
		}
		// Over TCP the size goes in front.
		void reply_after(int delay_ms, const bytes &reply) const
		{
			bytes sent = reply;
			if (is_tcp) {
				const auto size = static_cast<uint16_t>(reply.size());
				sent.insert(sent.begin(), { static_cast<uint8_t>(size >> 8),
							    static_cast<uint8_t>(size) });
			}
			send_after(delay_ms, sent);
		}
		// As it is.
		void send_after(int delay_ms, const bytes &sent) const
		{
			server->later(delay_ms, fd, peer, sent, !is_tcp);
		}
		// TCP: the connection ends when what was to be sent before is sent.
		void close_after(int delay_ms) const
		{
			server->later(delay_ms, fd, peer, {}, false);
		}
		// UDP, from a socket of its own: another port, and another address if text says so.
		void reply_from(const char *text, const bytes &reply) const
		{
			sockaddr_in6 from = mapped_address(text, 0);
			const socklen_t size = native_address(&from);
			const int other = socket(from.sin6_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
			if (bind(other, reinterpret_cast<sockaddr *>(&from), size) == 0)
				sendto(other, reply.data(), reply.size(), 0,
				       reinterpret_cast<const sockaddr *>(&peer), size);
			close(other);
		}

	      private:
		friend class resolver;
		resolver *server;
		int fd;
		sockaddr_in6 peer;

		size_t question_end() const
		{
			size_t at = 12;
			while (at < message.size() && message[at] != 0)
				at += message[at] + 1u;
			return at + 5;
		}
	};
	using script = std::function<void(query &)>;

	explicit resolver(script what, bool has_tcp = true, const char *address = "127.0.0.1")
	    : script_(std::move(what)), address_(mapped_address(address, 0))
	{
		// One port for both; another process may have the TCP one of a free UDP one.
		for (int tries = 0; tries < 100 && !open_both(); tries++)
			;
		if (tcp_ < 0)
			throw std::runtime_error("no port for a resolver");
		has_tcp_ = has_tcp;
		if (!has_tcp)
			shutdown(tcp_, SHUT_RDWR); // its port stays ours, and refuses
		wake_ = eventfd(0, EFD_CLOEXEC);
		thread_ = std::thread([this] { run(); });
	}
	~resolver()
	{
		is_over_ = true;
		wake();
		thread_.join();
		for (const auto &connection : connections_)
			close(connection.first);
		for (int fd : { udp_, tcp_, wake_ })
			close(fd);
	}
	resolver(const resolver &) = delete;
	resolver &operator=(const resolver &) = delete;

	sockaddr_in6 address() const
	{
		return address_;
	}
	std::vector<query> queries() const
	{
		const std::lock_guard<std::mutex> guard(lock_);
		return queries_;
	}
	size_t count() const
	{
		const std::lock_guard<std::mutex> guard(lock_);
		return queries_.size();
	}
	// What waits is sent now, whatever its time, and so is all that follows.
	void hurry()
	{
		is_hurried_ = true;
		wake();
	}

      private:
	struct sending {
		int fd;
		sockaddr_in6 peer;
		bytes sent;
		bool is_udp;
	};

	script script_;
	int udp_ = -1, tcp_ = -1, wake_ = -1;
	sockaddr_in6 address_; // mapped; with the port, which is the same for both
	bool has_tcp_ = true;
	std::atomic<bool> is_over_{ false }, is_hurried_{ false };
	mutable std::mutex lock_;
	std::vector<query> queries_;
	std::map<int, bytes> connections_; // what came so far
	std::multimap<clock::time_point, sending> sendings_;
	std::thread thread_;

	bool open_both()
	{
		sockaddr_in6 any = address_;
		socklen_t size = native_address(&any);
		auto *const local = reinterpret_cast<sockaddr *>(&any);
		const int more = 1 << 20;
		udp_ = socket(any.sin6_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		tcp_ = socket(any.sin6_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		setsockopt(udp_, SOL_SOCKET, SO_RCVBUF, &more, sizeof(more));
		if (bind(udp_, local, size) == 0 && getsockname(udp_, local, &size) == 0 &&
		    bind(tcp_, local, size) == 0 && listen(tcp_, 64) == 0) {
			address_.sin6_port = any.sin6_port;
			return true;
		}
		close(udp_);
		close(tcp_);
		udp_ = tcp_ = -1;
		return false;
	}

	void later(int delay_ms, int fd, const sockaddr_in6 &peer, const bytes &sent, bool is_udp)
	{
		sendings_.emplace(clock::now() + std::chrono::milliseconds(delay_ms),
				  sending{ fd, peer, sent, is_udp });
	}

	void wake() const
	{
		const uint64_t one = 1;
		if (write(wake_, &one, sizeof(one)) != sizeof(one))
			std::terminate();
	}

	void run()
	{
		for (;;) {
			uint64_t wakes;
			std::vector<pollfd> polled = { { wake_, POLLIN, 0 },
						       { udp_, POLLIN, 0 },
						       { has_tcp_ ? tcp_ : -1, POLLIN, 0 } };
			for (const auto &connection : connections_)
				polled.push_back({ connection.first, POLLIN, 0 });
			poll(polled.data(), polled.size(), timeout_ms());
			if (is_over_)
				return;
			if (polled[0].revents != 0 &&
			    read(wake_, &wakes, sizeof(wakes)) != sizeof(wakes))
				std::terminate();
			if (polled[1].revents != 0)
				read_udp();
			if (polled[2].revents != 0)
				accept_one();
			for (size_t i = 3; i < polled.size(); i++) {
				if (polled[i].revents != 0)
					read_tcp(polled[i].fd);
			}
			send_due();
		}
	}

	int timeout_ms() const
	{
		if (sendings_.empty())
			return -1;
		const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
			sendings_.begin()->first - clock::now());
		return left.count() < 0 ? 0 : static_cast<int>(left.count()) + 1;
	}

	void send_due()
	{
		while (!sendings_.empty() &&
		       (is_hurried_ || sendings_.begin()->first <= clock::now())) {
			const sending next = sendings_.begin()->second;
			sendings_.erase(sendings_.begin());
			if (next.is_udp)
				sendto(next.fd, next.sent.data(), next.sent.size(), 0,
				       reinterpret_cast<const sockaddr *>(&next.peer),
				       next.peer.sin6_family == AF_INET ? sizeof(sockaddr_in)
									: sizeof(sockaddr_in6));
			else if (connections_.count(next.fd) == 0)
				continue;
			else if (next.sent.empty())
				close_connection(next.fd);
			else
				send(next.fd, next.sent.data(), next.sent.size(), MSG_NOSIGNAL);
		}
	}

	void close_connection(int fd)
	{
		close(fd);
		connections_.erase(fd);
		for (auto at = sendings_.begin(); at != sendings_.end();)
			at = at->second.fd == fd ? sendings_.erase(at) : std::next(at);
	}

	void handle(int fd, const sockaddr_in6 &peer, bool is_tcp, const bytes &message)
	{
		query came;
		came.is_tcp = is_tcp;
		came.source_port = ntohs(peer.sin6_port);
		came.message = message;
		came.server = this;
		came.fd = fd;
		came.peer = peer;
		{
			const std::lock_guard<std::mutex> guard(lock_);
			came.number = static_cast<unsigned>(queries_.size() + 1);
			queries_.push_back(came);
		}
		script_(came);
	}

	void read_udp()
	{
		uint8_t packet[1024];
		sockaddr_in6 peer = {};
		socklen_t peer_size = sizeof(peer);
		ssize_t size;
		while ((size = recvfrom(udp_, packet, sizeof(packet), 0,
					reinterpret_cast<sockaddr *>(&peer), &peer_size)) > 12)
			handle(udp_, peer, false, { packet, packet + size });
	}

	void accept_one()
	{
		const int fd = accept4(tcp_, nullptr, nullptr, SOCK_CLOEXEC);
		const int on = 1;
		if (fd < 0)
			return;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		connections_[fd] = {};
	}

	void read_tcp(int fd)
	{
		uint8_t part[1024];
		const ssize_t size = recv(fd, part, sizeof(part), MSG_DONTWAIT);
		if (size <= 0) {
			close_connection(fd);
			return;
		}
		bytes &came = connections_[fd];
		came.insert(came.end(), part, part + size);
		if (came.size() < 2 || came.size() < 2u + (came[0] << 8 | came[1]))
			return;
		const bytes message(came.begin() + 2, came.end());
		came.clear();
		sockaddr_in6 peer = {};
		socklen_t peer_size = sizeof(peer);
		getpeername(fd, reinterpret_cast<sockaddr *>(&peer), &peer_size);
		handle(fd, peer, true, message);
	}
};
