/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// api.hh - a handle of the client library, as programs have it, and the world that it asks.
//
//     handle bl;
//     bl.start();
//     CHECK(bl.check("192.0.0.1").verdict == DNSBLV6_LISTED);

#include "client-lib/dnsblv6.h"

#include <poll.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/unit/client/world.hh"

inline dnsblv6_ip ip(const std::string &text)
{
	dnsblv6_ip parsed = {};
	if (dnsblv6_ip_parse(text.c_str(), &parsed) != 0)
		throw std::runtime_error(text);
	return parsed;
}

// A handle, and the world that it asks.
struct handle {
	world dns;
	std::unique_ptr<resolver> server;
	dnsblv6 *client = nullptr;
	std::vector<std::string> lines;

	handle()
	{
		REQUIRE(dnsblv6_new(&client) == 0);
		dns.add_bitmap_zone("bl6.example", DNSBLV6_STYLE_DOTTED, "bl.example");
		dns.add_classic_zone("bl.example");
		for (int i = 0; i < 256; i += 3) {
			const std::string address = "192.0." + std::to_string(i) + ".1";
			dns.list("bl6.example", address);
			dns.list_classic("bl.example", address, { 127, 0, 0, 2 });
			dns.add(std::to_string(1) + "." + std::to_string(i) + ".0.192.bl.example",
				16, { 5, 'b', 'a', 'd', '\n', '!' });
		}
		set("zones", "bl6.example");
		set("attempt-timeout", "30s"); // a busy machine is no reason to ask twice
		dnsblv6_set_log(client, keep_line, this);
	}
	~handle()
	{
		dnsblv6_free(client);
	}
	handle(const handle &) = delete;
	handle &operator=(const handle &) = delete;

	handle &set(const char *key, const std::string &value)
	{
		REQUIRE(dnsblv6_set(client, key, value.c_str()) == 0);
		return *this;
	}
	handle &start()
	{
		server = std::make_unique<resolver>(dns.script());
		set("servers", "127.0.0.1@" + std::to_string(ntohs(server->address().sin6_port)));
		REQUIRE(dnsblv6_start(client) == 0);
		return *this;
	}
	dnsblv6_result check(const std::string &address, int timeout_ms = 20000) const
	{
		const dnsblv6_ip parsed = ip(address);
		dnsblv6_result result = {};
		if (dnsblv6_check(client, &parsed, timeout_ms, &result) != 0)
			throw std::runtime_error("dnsblv6_check");
		return result;
	}
	uint64_t stat(const std::string &name) const
	{
		const char *found;
		uint64_t value;
		for (unsigned i = 0; dnsblv6_stat_get(client, i, &found, &value) == 0; i++) {
			if (name == found)
				return value;
		}
		throw std::runtime_error(name);
	}
	// As an event loop does, until count callbacks have come.
	void run(const unsigned &calls, unsigned count) const
	{
		const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
		while (calls < count && std::chrono::steady_clock::now() < end) {
			pollfd waiting = { dnsblv6_fd(client), POLLIN, 0 };
			const int timeout_ms = dnsblv6_timeout_ms(client);
			poll(&waiting, 1, timeout_ms < 0 || timeout_ms > 1000 ? 1000 : timeout_ms);
			dnsblv6_process(client);
		}
		REQUIRE(calls == count);
	}

      private:
	static void keep_line(void *context, int level, const char *line)
	{
		auto *self = static_cast<handle *>(context);
		if (level < 7)
			self->lines.push_back(std::to_string(level) + " " + line);
	}
};

struct call {
	unsigned *calls;
	dnsblv6_result result = {};
	dnsblv6 *client = nullptr; // submits once more from its callback
};

inline void keep_call(void *context, const dnsblv6_result *result)
{
	auto *kept = static_cast<call *>(context);
	(*kept->calls)++;
	kept->result = *result;
	if (kept->client == nullptr)
		return;
	dnsblv6 *client = kept->client;
	const dnsblv6_ip again = ip("192.0.0.1");
	kept->client = nullptr;
	dnsblv6_submit(client, &again, 0, 20000, keep_call, kept, nullptr);
}

inline bool is_readable(const handle &bl)
{
	pollfd waiting = { dnsblv6_fd(bl.client), POLLIN, 0 };
	return poll(&waiting, 1, 0) == 1;
}
