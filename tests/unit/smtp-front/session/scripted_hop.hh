// SPDX-License-Identifier: GPL-3.0-or-later
// A next hop that says what the test has it say, and goes away when the test wants.
#pragma once

#include "integration/mail/smtp-front/sinks/remote_smtp.h"
#include "integration/mail/smtp-front/sinks/sink.h"

#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

// What it says, in order: the greeting first, then one for each command, and for the mail itself.
// Behind the last one it hangs up: at once, or when it has read what it will not answer.
struct script {
	std::vector<std::string> replies;
	bool reads_on = false;
	size_t header_size = 0; // of bytes before the greeting
};

inline const std::string EHLO =
	"250-hop.example\r\n250-SIZE 1000\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n"
	"250-DSN\r\n250-XCLIENT NAME ADDR PORT PROTO HELO\r\n250 PIPELINING\r\n";

class scripted_hop
{
      public:
	explicit scripted_hop(std::vector<script> scripts) : scripts_(std::move(scripts))
	{
		listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		address.sin_family = AF_INET;
		address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		socklen_t size = sizeof(address);
		REQUIRE(bind(listener_, (struct sockaddr *)&address, sizeof(address)) == 0);
		REQUIRE(getsockname(listener_, (struct sockaddr *)&address, &size) == 0);
		REQUIRE(listen(listener_, 8) == 0);
		thread_ = std::thread([this] { serve(); });
	}
	~scripted_hop()
	{
		end();
	}
	scripted_hop(const scripted_hop &) = delete;
	scripted_hop &operator=(const scripted_hop &) = delete;

	// All that it was told, once there is no connection any more.
	std::string told()
	{
		end();
		return told_;
	}

	struct sockaddr_in address = {};

      private:
	void end()
	{
		if (!thread_.joinable())
			return;
		shutdown(listener_, SHUT_RDWR); // accept() returns
		thread_.join();
		close(listener_);
	}

	void serve()
	{
		for (const script &script : scripts_) {
			const int fd = accept(listener_, nullptr, nullptr);
			if (fd < 0)
				return;
			follow(fd, script);
			close(fd);
		}
	}

	void follow(int fd, const script &script)
	{
		std::string header(script.header_size, '\0');
		if (script.header_size > 0 &&
		    recv(fd, header.data(), header.size(), MSG_WAITALL) != (ssize_t)header.size())
			return;
		told_ += header;
		for (size_t i = 0; i < script.replies.size(); i++) {
			const std::string &reply = script.replies[i];
			if (send(fd, reply.data(), reply.size(), MSG_NOSIGNAL) < 0)
				return;
			const bool is_last = i + 1 == script.replies.size();
			if (is_last && !script.reads_on)
				return;
			if (!read_until(fd, reply.substr(0, 3) == "354" ? "\r\n.\r\n" : "\r\n"))
				return;
		}
	}

	bool read_until(int fd, const std::string &end)
	{
		std::string text;
		char byte = 0;
		while (text.size() < end.size() ||
		       text.compare(text.size() - end.size(), end.size(), end) != 0) {
			// The mail "." ends at its first line.
			if (end.size() > 2 && text == ".\r\n")
				break;
			if (recv(fd, &byte, 1, 0) != 1) {
				told_ += text;
				return false;
			}
			text += byte;
		}
		told_ += text;
		return true;
	}

	std::vector<script> scripts_;
	std::string told_;
	int listener_ = -1;
	std::thread thread_;
};

class hop_fixture
{
      public:
	explicit hop_fixture(scripted_hop &hop, setup_sink_kind kind = SETUP_SINK_SMTP,
			     setup_tell tell = SETUP_TELL_NONE)
	    : hop_(hop)
	{
		setup_.kind = kind;
		setup_.tell = tell;
		setup_.timeout_ms = setup_.connect_timeout_ms = setup_.end_timeout_ms = 20000;
		std::memcpy(&setup_.to.address, &hop.address, sizeof(hop.address));
		setup_.to.address_size = sizeof(hop.address);
		REQUIRE(sink_open(&setup_, "mx.example.org", &it) == 0);
		REQUIRE(dnsblv6_ip_parse("192.0.2.7", &session.facts.client_ip) == 0);
		REQUIRE(dnsblv6_ip_parse("198.51.100.25", &session.facts.local_ip) == 0);
		session.facts.client_port = 40112;
		session.facts.local_port = 25;
		session.helo = "mail.example.net";
		session.is_esmtp = true;
		sink_enter(it, &session);
	}
	~hop_fixture()
	{
		sink_close(it);
	}
	hop_fixture(const hop_fixture &) = delete;
	hop_fixture &operator=(const hop_fixture &) = delete;

	bool mail(const envelope &envelope)
	{
		return sink_mail(it, &envelope, &reply);
	}
	bool mail(const char *sender = "sender@example.net")
	{
		envelope envelope = {};
		std::strcpy(envelope.sender, sender);
		return mail(envelope);
	}
	bool recipient(const char *address)
	{
		struct recipient recipient = {};
		std::strcpy(recipient.address, address);
		return sink_recipient(it, &recipient, nullptr, &reply);
	}
	bool data(const std::string &text)
	{
		return sink_begin(it, &reply) &&
		       sink_append(it, (const uint8_t *)text.data(), text.size(), &reply) &&
		       sink_commit(it, &reply);
	}
	bool deliver(const std::string &text = "mail\r\n")
	{
		return mail() && recipient("john@example.org") && data(text);
	}
	void set_timeouts(unsigned timeout_ms, unsigned end_timeout_ms)
	{
		setup_.timeout_ms = setup_.connect_timeout_ms = timeout_ms;
		setup_.end_timeout_ms = end_timeout_ms;
	}
	// All that the next hop was told, once the session has ended.
	std::string told()
	{
		sink_leave(it);
		return hop_.told();
	}
	std::string said() const
	{
		return std::to_string(reply.code) + " " + reply.text;
	}
	std::string trouble()
	{
		char text[SINK_TROUBLE_MAX];
		sink_trouble(it, text);
		return text;
	}

	sink *it = nullptr;
	sink_session session = {};
	sink_reply reply = {};

      private:
	scripted_hop &hop_;
	setup_sink setup_ = {};
};

inline const std::vector<std::string> FINE = {
	"220 hop\r\n",	    EHLO,	  "250 2.1.0 Ok\r\n",
	"250 2.1.5 Ok\r\n", "354 Go\r\n", "250 2.0.0 Ok: queued as 4711\r\n"
};

inline script upto(size_t count, bool reads_on)
{
	return { { FINE.begin(), FINE.begin() + (std::ptrdiff_t)count }, reads_on };
}
