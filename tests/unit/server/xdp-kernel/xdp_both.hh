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
	     const std::string &zone_lines = "")
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
