// SPDX-License-Identifier: GPL-3.0-or-later

// Versions are switched while the program answers: an answer is all of one version, or is dropped.

#include "tests/unit/server/xdp-kernel/xdp_numbered.hh"

#include <catch2/catch.hpp>

#include <atomic>
#include <sched.h>
#include <thread>

TEST_CASE("while versions are switched all the time every answer is of one version, or dropped",
	  "[xdp][versions]")
{
	xdp_memory memory(3000);
	memory.configure({ { "bl6.example.", 0 } });
	xdp_switcher switcher(memory);
	std::set<int> seen;
	unsigned answered = 0;
	unsigned dropped = 0;
	unsigned mixed = 0;
	unsigned passed = 0;
	const bytes listed = query_of("0.5.5.5");
	const bytes denied = query_of("w.7");
	for (unsigned i = 0; answered < 20000 || dropped < 20 || switcher.count() < 1000 ||
			     seen.size() < VERSION_COUNT;
	     i++) {
		bytes answer;
		long size = memory.ask(i % 2 != 0 ? listed : denied, answer);
		dropped += size == XDP_NATIVE_DROP;
		passed += size == XDP_NATIVE_PASS;
		answered += size > 0;
		int number = size > 0 ? number_of(answer) : 1;
		mixed += number < 0;
		seen.insert(number);
	}
	CAPTURE(answered, dropped, passed, switcher.count());
	CHECK(mixed == 0);
	CHECK_FALSE(switcher.has_failed());
}

// Whatever the moment, what is made of an old version is not sent.
TEST_CASE("an answer is dropped when its version is replaced, taken away or configured anew before "
	  "it is sent",
	  "[xdp][versions]")
{
	struct moment {
		xdp_memory memory{ 3000 };
		std::unique_ptr<decision> other = make_version(2);
		std::string what;
	} now;
	std::unique_ptr<decision> first = make_version(1);
	now.what = GENERATE("switch", "remove", "take away", "configure", "renew", "other zone");
	CAPTURE(now.what);
	now.memory.configure({ { "bl6.example.", 0 } });
	REQUIRE(now.memory.fill(&first->catalog.zones[0]) == FILL_OK);
	now.memory.native.on_made_data = &now;
	now.memory.native.on_made = [](void *data) {
		auto *self = static_cast<moment *>(data);
		struct tables *tables = &self->memory.tables;
		if (self->what == "switch")
			self->memory.fill(&self->other->catalog.zones[0]);
		if (self->what == "remove")
			tables_remove(tables, 0);
		if (self->what == "take away")
			tables_take_away(tables);
		if (self->what == "configure")
			self->memory.configure({ { "bl6.example.", 0 } });
		if (self->what == "renew")
			tables_renew(tables, &self->memory.time);
		if (self->what == "other zone")
			self->memory.fill(&self->other->catalog.zones[0], 1);
	};
	bytes answer;
	long size = now.memory.ask(query_of("0.5.5.5"), answer);
	bool is_kept = now.what == "renew" || now.what == "other zone";
	CHECK((size > 0) == is_kept);
	CHECK((size == XDP_NATIVE_DROP) == !is_kept);
	if (is_kept)
		CHECK(number_of(answer) == 1);
}

TEST_CASE("while the config is written all the time an answer is by one config, or dropped",
	  "[xdp][versions]")
{
	std::unique_ptr<decision> here = make_version(1);
	std::unique_ptr<decision> elsewhere = make_version(ELSEWHERE);
	xdp_memory memory(3000);
	tables_rules first = {};
	first.payload = 4000;
	memory.configure({ { "bl6.example.", 0 } }, first);
	REQUIRE(memory.fill(&here->catalog.zones[0], 0) == FILL_OK);
	REQUIRE(memory.fill(&elsewhere->catalog.zones[0], 1) == FILL_OK);
	std::atomic<bool> is_over = false;
	std::atomic<unsigned> config_count = 0;
	std::thread filler([&] {
		tables_rules rules = {};
		for (unsigned i = 0; !is_over; i++) {
			rules.payload = static_cast<uint16_t>(i % 2 != 0 ? 1232 : 4000);
			memory.configure({ { "bl6.example.", i % 2 } }, rules);
			config_count++;
			sched_yield();
		}
	});
	unsigned mixed = 0;
	std::set<int> seen;
	const bytes listed = query_of("0.5.5.5");
	for (unsigned answered = 0; answered < 5000 || config_count < 1000 || seen.size() < 2;) {
		bytes answer;
		if (memory.ask(listed, answer) <= 0)
			continue;
		answered++;
		int number = number_of(answer);
		seen.insert(number);
		mixed += (number == 1) != (dns::message(answer).payload == 4000);
	}
	is_over = true;
	filler.join();
	CHECK(mixed == 0);
	CHECK(seen == std::set<int>{ 1, ELSEWHERE });
}
