// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// xdp_both.hh - a server of one store, and the tables of the network driver for the same, to be asked
// the same questions.

#include "tests/unit/server/xdp-kernel/xdp_questions.hh"

#include <cstdlib>

// Of a test: those of ./check, or those of tests/campaign-xdp.
inline unsigned question_count()
{
	const char *text = getenv("DNSBLV6_XDP_QUESTIONS");
	return text != nullptr ? static_cast<unsigned>(strtoul(text, nullptr, 10)) : 50000;
}

// A server of one store, and the program's tables of the same.
struct both {
	std::map<std::string, std::set<uint16_t>> known;
	tmpdir directory;
	std::unique_ptr<decision> server;
	xdp_memory memory;
	unsigned passed = 0;
	unsigned answered = 0;

	both(store_options options, tables_rules rules = {}, const std::string &server_lines = "",
	     const std::string &zone_lines = "    neighbours: 0\n")
	{
		options.names = &known;
		std::string path = directory.file("store");
		write_store(path, options);
		if (rules.payload == 0)
			rules.payload = 1232;
		server = std::make_unique<decision>(
			"server:\n    udp-max-payload: " + std::to_string(rules.payload) + "\n" +
				server_lines + "zone:\n  - domain: " + options.apex +
				"\n    store: " + path +
				"\n    also: [ other.example., deeper.sub." + options.apex +
				" ]\n" + zone_lines,
			directory, rules.payload);
		memory.configure({ { options.apex, 0 },
				   { "other.example.", XDP_ZONES_MAX },
				   { "deeper.sub." + options.apex, XDP_ZONES_MAX } },
				 rules);
	}
	fill_reason fill(bool has_neighbours = false)
	{
		return memory.fill(&server->catalog.zones[0], 0, has_neighbours);
	}
	// False when the two differ.
	bool is_same(const bytes &wire, const std::string &client = "192.0.2.1")
	{
		bytes quick;
		long size = memory.ask(wire, quick, client);
		if (size == XDP_NATIVE_PASS) {
			passed++;
			return true;
		}
		answered++;
		server->client = client;
		server->now_ms = memory.time.now_ns / 1000000;
		return quick == server->make(wire, false, memory.time.now_s);
	}
};

// ---- cookies ----

enum : uint32_t { XDP_COOKIE_AGE_S = 300 };

// Of the secret that is made no cookies of any more, which is one that is good all the same.
struct cookie_setup {
	cookie_secrets secrets = {};
	std::string lines = "    cookie-secret: [ e5e973e5a6b2a43f48e7dc849e37bfcf, "
			    "445536bcd2513298075a5d379663c962 ]\n";

	cookie_setup()
	{
		if (!cookie_add_secret(&secrets, "e5e973e5a6b2a43f48e7dc849e37bfcf") ||
		    !cookie_add_secret(&secrets, "445536bcd2513298075a5d379663c962"))
			throw std::runtime_error("no secrets");
	}
	static bytes good(const std::string &client)
	{
		cookie_secrets before = {};
		sockaddr_storage from = {};
		auto *four = reinterpret_cast<sockaddr_in *>(&from);
		auto *six = reinterpret_cast<sockaddr_in6 *>(&from);
		bytes out(COOKIE_SIZE);
		bool is_ipv4 = inet_pton(AF_INET, client.c_str(), &four->sin_addr) == 1;
		if (!is_ipv4)
			inet_pton(AF_INET6, client.c_str(), &six->sin6_addr);
		from.ss_family = is_ipv4 ? AF_INET : AF_INET6;
		if (!cookie_add_secret(&before, "445536bcd2513298075a5d379663c962") ||
		    !cookie_make(&before, reinterpret_cast<sockaddr *>(&from),
				 XDP_NOW_S - XDP_COOKIE_AGE_S, bytes(8, 9).data(), out.data()))
			throw std::runtime_error("no cookie");
		return out;
	}
};

inline std::string hex(const bytes &wire)
{
	std::string out;
	char text[3];
	for (uint8_t byte : wire) {
		snprintf(text, sizeof(text), "%02x", byte);
		out += text;
	}
	return out;
}
