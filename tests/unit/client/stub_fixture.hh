/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// client_stub_fixture.hh - a stub, who asks it, and what resolvers say.
//
//     resolver server(say_listed);
//     asking client;
//     outcome kept;
//     client.server(server);
//     client.ask("abc.example", kept);
//     client.until_told(kept);
//
// Time is the test's own: it stands still unless pass() moves it. What has to
// come from a resolver is waited for in real time.

#include "client-lib/resolver/stub.h"

#include <poll.h>

#include <cstdint>
#include <functional>
#include <string>

#include <catch2/catch.hpp>

#include "tests/lib/resolver.hh"

using bytes = resolver::bytes;
using query = resolver::query;

inline constexpr int64_t LONG_MS = 1000000;

struct outcome {
	unsigned calls = 0;
	int status = 1;
	bool has_reply = false;
	bool is_trusted = false;
	message_reply reply = {};
	std::function<void()> then; // called by the callback

	bool is_listed() const
	{
		return has_reply && status == 0 && reply.kind == MESSAGE_ANSWER &&
		       reply.a_count == 1 && reply.a[0][0] == 127;
	}
};

inline void keep(void *context, int status, const message_reply *reply, bool is_trusted)
{
	auto *kept = static_cast<outcome *>(context);
	kept->calls++;
	kept->status = status;
	kept->has_reply = reply != nullptr;
	kept->is_trusted = is_trusted;
	if (reply != nullptr)
		kept->reply = *reply;
	if (kept->then)
		kept->then();
}

inline dnsblv6_labels labels(const std::string &text)
{
	dnsblv6_labels name = {};
	REQUIRE(dnsblv6_name_from_text(text.c_str(), &name) == DNSBLV6_OK);
	return name;
}

class asking
{
      public:
	struct config config = {};
	int64_t now_ms = 5000;
	int64_t life_ms = 0; // of questions, from when they are sent

	asking()
	{
		config.max_requests = 100;
		config.max_sockets = 512;
		config.attempt_timeout_ms = 1000;
	}
	~asking()
	{
		stub_free(stub_);
	}
	asking(const asking &) = delete;
	asking &operator=(const asking &) = delete;

	asking &server(const sockaddr_in6 &address, bool is_trusted = false)
	{
		config.servers[config.server_count].address = address;
		config.servers[config.server_count++].is_trusted = is_trusted;
		return *this;
	}
	asking &server(const resolver &other)
	{
		return server(other.address());
	}
	stub *get()
	{
		if (stub_ == nullptr)
			REQUIRE(stub_new(&config, &stub_) == 0);
		return stub_;
	}
	int try_to_ask(unsigned zone, const std::string &name, outcome &kept, int64_t timeout_ms,
		       uint16_t type, uint64_t *ret_id)
	{
		const dnsblv6_labels wire = labels(name);
		const stub_what what = { zone, &wire, type, now_ms + timeout_ms, life_ms };
		return stub_ask(get(), &what, now_ms, keep, &kept, ret_id);
	}
	uint64_t ask_zone(unsigned zone, const std::string &name, outcome &kept,
			  int64_t timeout_ms = LONG_MS, uint16_t type = MESSAGE_A)
	{
		uint64_t id = 0;
		REQUIRE(try_to_ask(zone, name, kept, timeout_ms, type, &id) == 0);
		CHECK(id != 0);
		return id;
	}
	uint64_t ask(const std::string &name, outcome &kept, int64_t timeout_ms = LONG_MS,
		     uint16_t type = MESSAGE_A)
	{
		return ask_zone(0, name, kept, timeout_ms, type);
	}
	void process()
	{
		stub_process(get(), now_ms);
	}
	void pass(int64_t ms)
	{
		now_ms += ms;
		process();
	}
	// In how many ms the stub wants to be called.
	int64_t next() const
	{
		return stub_next_ms(stub_) - now_ms;
	}
	bool is_idle() const
	{
		return stub_next_ms(stub_) == INT64_MAX;
	}
	// Is there something to read, without waiting for it?
	bool is_readable() const
	{
		pollfd polled = { stub_fd(stub_), POLLIN, 0 };
		return poll(&polled, 1, 0) == 1;
	}
	template <typename Condition> void until(Condition is_met)
	{
		for (int i = 0; i < 30000 && !is_met(); i++) {
			pollfd polled = { stub_fd(get()), POLLIN, 0 };
			poll(&polled, 1, 2);
			process();
		}
		REQUIRE(is_met());
	}
	void until_told(const outcome &kept)
	{
		until([&] { return kept.calls > 0; });
	}
	// The resolver has seen that many queries.
	void until_seen(const resolver &other, size_t count)
	{
		until([&] { return other.count() >= count; });
	}
	stub_stats stats()
	{
		stub_stats counted = {};
		stub_get_stats(get(), &counted);
		return counted;
	}

      private:
	stub *stub_ = nullptr;
};

inline void say_listed(query &asked)
{
	asked.reply(asked.answer_a({ 127, 0, 0, 2 }));
}

inline void say_nothing(query &)
{
}

inline resolver::script say_rcode(uint8_t rcode)
{
	return [rcode](query &asked) { asked.reply(asked.empty(rcode)); };
}

// UDP is not enough.
inline void say_truncated(query &asked)
{
	if (asked.is_tcp)
		say_listed(asked);
	else
		asked.reply(asked.empty(0, true));
}

// ICMP says so at once: nobody has this port of that address.
inline sockaddr_in6 closed_port()
{
	return mapped_address("127.99.0.1", 1);
}

inline bytes wrong_id(const query &asked)
{
	bytes reply = asked.answer_a({ 127, 0, 0, 66 });
	reply[0] = static_cast<uint8_t>(reply[0] ^ 1);
	return reply;
}

// Its question is right, and it promises a record that it does not have.
inline bytes cut_answer(const query &asked)
{
	bytes reply = asked.answer_a({ 127, 0, 0, 66 });
	reply.resize(reply.size() - 3);
	return reply;
}
