/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// client_engine_fixture.hh - an engine, the world it asks, and who waits for it.
//
//     inquiry client("bl6.example");
//     dnsblv6_result result = client.check("192.0.2.1");
//
// Replies are waited for in real time. A deadline is the test's own: until
// something happens, time stands still; expire() lets it pass.

#include "client-lib/engine/engine.h"
#include "client-lib/engine/look.h"

#include <poll.h>

#include <chrono>
#include <cctype>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/unit/client/world.hh"

struct told {
	unsigned calls = 0;
	dnsblv6_result result = {};
};

inline void keep_result(void *context, const dnsblv6_result *result)
{
	auto *kept = static_cast<told *>(context);
	kept->calls++;
	kept->result = *result;
}

inline dnsblv6_ip ip(const std::string &text)
{
	dnsblv6_ip parsed = {};
	REQUIRE(dnsblv6_ip_parse(text.c_str(), &parsed) == 0);
	return parsed;
}

inline topic about(const std::string &address)
{
	const dnsblv6_ip parsed = ip(address);
	topic asked = {};
	topic_of_ip(&parsed, &asked);
	return asked;
}

class inquiry
{
      public:
	world dns;
	std::vector<std::string> lines; // of the log, but those of level 7
	int64_t now_ms = 100000;

	~inquiry()
	{
		engine_free(engine_);
	}
	inquiry() = default;
	inquiry(const inquiry &) = delete;
	inquiry &operator=(const inquiry &) = delete;

	inquiry &set(const char *key, const std::string &value)
	{
		options_.push_back({ key, value });
		return *this;
	}
	resolver &server()
	{
		if (server_ == nullptr)
			server_ = std::make_unique<resolver>(dns.script());
		return *server_;
	}
	engine *get()
	{
		if (engine_ == nullptr)
			start();
		return engine_;
	}
	uint64_t ask(const std::string &address, told &kept, int64_t timeout_ms = 4000,
		     uint64_t entries = 0)
	{
		return ask(about(address), kept, timeout_ms, entries);
	}
	uint64_t ask(const topic &asked, told &kept, int64_t timeout_ms, uint64_t entries)
	{
		uint64_t id = 0;
		REQUIRE(engine_start(get(), &asked, entries, now_ms, now_ms + timeout_ms,
				     keep_result, &kept, &id) == 0);
		CHECK(kept.calls == 0);
		return id;
	}
	// Until it is told, or nothing more comes.
	void until_told(const told &kept)
	{
		const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
		while (kept.calls == 0 && std::chrono::steady_clock::now() < end) {
			engine_process(get(), now_ms);
			if (kept.calls > 0)
				break;
			pollfd waiting = { engine_fd(get()), POLLIN, 0 };
			poll(&waiting, 1, 100);
		}
		REQUIRE(kept.calls == 1);
	}
	// What is on the way comes in. For what nobody waits for.
	void until_quiet(bool (*is_quiet)(engine *))
	{
		const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
		while (!is_quiet(get()) && std::chrono::steady_clock::now() < end) {
			pollfd waiting = { engine_fd(get()), POLLIN, 0 };
			poll(&waiting, 1, 100);
			engine_process(get(), now_ms);
		}
		REQUIRE(is_quiet(get()));
	}
	dnsblv6_result check(const std::string &address, uint64_t entries = 0)
	{
		told kept;
		ask(address, kept, 4000, entries);
		until_told(kept);
		return kept.result;
	}
	dnsblv6_result check_name(const std::string &name, uint64_t entries = 0)
	{
		topic asked = {};
		told kept;
		REQUIRE(topic_parse(name.c_str(), &asked) == 0);
		ask(asked, kept, 4000, entries);
		until_told(kept);
		return kept.result;
	}
	// The question stays without a reply until the time is over.
	dnsblv6_result check_in_vain(const std::string &address, int64_t timeout_ms = 4000)
	{
		told kept;
		ask(address, kept, timeout_ms);
		for (int64_t left_ms = timeout_ms; left_ms > 0 && kept.calls == 0; left_ms -= 500)
			pass(500);
		REQUIRE(kept.calls == 1);
		return kept.result;
	}
	void pass(int64_t ms)
	{
		now_ms += ms;
		engine_process(get(), now_ms);
	}
	int look(const std::string &address, dnsblv6_result &result)
	{
		const dnsblv6_ip parsed = ip(address);
		return look_address(&get()->all, &parsed, 0, &result);
	}
	dnsblv6_zone_state state(unsigned entry = 0)
	{
		dnsblv6_zone_info info;
		REQUIRE(engine_zone_get(get(), entry, &info) == 0);
		return static_cast<dnsblv6_zone_state>(info.state);
	}
	uint64_t stat(const std::string &name)
	{
		const char *found;
		uint64_t value;
		for (unsigned i = 0; engine_stat_get(get(), i, &found, &value) == 0; i++) {
			if (name == found)
				return value;
		}
		FAIL("no such counter: " << name);
		return 0;
	}
	// Questions for a name, in any case.
	size_t asked(const std::string &name)
	{
		size_t count = 0;
		for (const resolver::query &query : server().queries()) {
			std::string text = query.name();
			for (char &c : text)
				c = static_cast<char>(tolower(c));
			count += text == name + ".";
		}
		return count;
	}

      private:
	std::vector<std::pair<std::string, std::string>> options_;
	std::unique_ptr<resolver> server_;
	config config_ = {};
	engine *engine_ = nullptr;

	static void keep_line(void *context, int level, const char *line)
	{
		auto *self = static_cast<inquiry *>(context);
		if (level < 7)
			self->lines.push_back(std::to_string(level) + " " + line);
	}
	void option(const std::string &key, const std::string &value)
	{
		char error[CONFIG_ERROR_MAX] = "";
		CAPTURE(key, value, error);
		REQUIRE(config_set(&config_, key.c_str(), value.c_str(), error) == 0);
	}
	void start()
	{
		char error[CONFIG_ERROR_MAX] = "";
		config_init(&config_);
		option("servers",
		       "127.0.0.1@" + std::to_string(ntohs(server().address().sin6_port)));
		for (const auto &pair : options_)
			option(pair.first, pair.second);
		REQUIRE(config_finish(&config_, error) == 0);
		REQUIRE(engine_new(&config_, keep_line, this, &engine_) == 0);
	}
};
