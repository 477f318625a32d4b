// SPDX-License-Identifier: GPL-3.0-or-later

// The program in the kernel answers as its core does natively, which xdp_oracle.cc holds against the
// server, and while versions are switched in its maps.

#include "tests/unit/server/xdp-kernel/xdp_both.hh"
#include "tests/unit/server/xdp-kernel/xdp_numbered.hh"
#include "tests/unit/server/xdp-kernel/xdp_program.hh"
#include "tests/lib/seeds.hh"

#include <catch2/catch.hpp>

#include <ctime>

static bool is_here(const xdp_program &program)
{
	if (!program.is_loaded())
		WARN("skipped: " + program.reason());
	return program.is_loaded();
}

TEST_CASE("the program in the kernel answers as its core does, whatever is asked", "[xdp][oracle]")
{
	xdp_program program;
	REQUIRE(program.is_loaded() == program.reason().empty());
	if (!is_here(program))
		return;
	auto style = GENERATE(DNSBLV6_STYLE_DOTTED, DNSBLV6_STYLE_FLAT, DNSBLV6_STYLE_BOTH6);
	auto is_signed = GENERATE(false, true);
	auto seed = random_seed(static_cast<unsigned>(style) * 2 + is_signed);
	CAPTURE(style, is_signed, seed);
	const cookie_setup cookies;
	tables_rules rules = {};
	rules.has_cookies = is_signed;
	rules.secrets = &cookies.secrets;
	store_options options = odd_store(style, is_signed);
	options.has_wide = is_signed; // with these few names are answered by their hosts
	both zone(options, rules);
	REQUIRE(zone.fill() == FILL_OK);
	program.fill(zone.memory);
	xdp_asker asker(seed, all_names(zone.known), "bl6.example.");
	unsigned answered = 0;
	for (unsigned i = 0; i < question_count() / 6; i++) {
		xdp_frame frame({});
		if (i % 2 != 0)
			frame.six();
		asker.cookie = cookie_setup::good(frame.from);
		const bytes wire = asker.any();
		frame.message = wire;
		bytes native;
		bytes answer;
		long native_size = zone.memory.ask(wire, native, frame.from);
		xdp_program::outcome outcome = program.run(frame.packet());
		if (outcome.action == XDP_TX)
			answer = message_of(frame, outcome.packet);
		bool is_same = answer == native && outcome.action != XDP_DROP;
		bool is_passed = native_size == XDP_NATIVE_PASS && outcome.packet == frame.packet();
		if (!is_same || (outcome.action == XDP_PASS) != is_passed) {
			CAPTURE(i, hex(wire), hex(answer), hex(native), outcome.action);
			REQUIRE(is_same);
			REQUIRE((outcome.action == XDP_PASS) == is_passed);
		}
		answered += outcome.action == XDP_TX;
	}
	CAPTURE(answered);
	CHECK(answered > question_count() / 6 / 3);
}

static uint64_t now_ns()
{
	timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

// Rules that take packets of xdp_frame.
struct frame_rules {
	xdp_link link = { XDP_LOOPBACK, 1500, { 2, 0, 0, 0, 0, 1 }, {} };
	sockaddr_storage address = {};
	tables_rules rules = {};

	frame_rules()
	{
		auto *four = reinterpret_cast<sockaddr_in *>(&address);
		four->sin_family = AF_INET;
		four->sin_port = htons(XDP_PORT);
		inet_pton(AF_INET, "192.0.2.53", &four->sin_addr);
		rules.links = &link;
		rules.link_count = 1;
		rules.addresses = &address;
		rules.address_count = 1;
	}
};

TEST_CASE("while versions are switched in the maps every answer of the kernel is of one version, "
	  "or dropped",
	  "[xdp][versions]")
{
	const uint32_t line_count = 3000;
	xdp_program program(line_count);
	REQUIRE(program.is_loaded() == program.reason().empty());
	if (!is_here(program))
		return;
	xdp_memory memory(program.map(line_count));
	memory.time = { now_ns(), XDP_NOW_S, UINT64_C(1000000000000) };
	const frame_rules frames;
	REQUIRE(memory.configure({ { "bl6.example.", 0 } }, frames.rules) == 0);
	xdp_switcher switcher(memory);
	std::set<int> seen;
	unsigned answered = 0;
	unsigned dropped = 0;
	unsigned mixed = 0;
	const bytes listed = query_of("0.5.5.5");
	const bytes denied = query_of("w.7");
	for (unsigned i = 0;
	     answered < 20000 || switcher.count() < 1000 || seen.size() < VERSION_COUNT; i++) {
		bytes answer;
		long size = program.ask(i % 2 != 0 ? listed : denied, answer);
		dropped += size == XDP_NATIVE_DROP;
		answered += size > 0;
		int number = size > 0 ? number_of(answer) : 1;
		mixed += number < 0;
		seen.insert(number);
	}
	CAPTURE(answered, dropped, switcher.count());
	CHECK(mixed == 0);
	CHECK_FALSE(switcher.has_failed());
	CHECK(seen.size() == VERSION_COUNT);
	const xdp_counts counts = program.counts(XDP_ZONES_MAX);
	xdp_other_counts others;
	memcpy(&others, &counts, sizeof(others));
	CHECK(others.changed == dropped);
}
