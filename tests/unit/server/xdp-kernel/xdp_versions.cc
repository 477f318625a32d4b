// SPDX-License-Identifier: GPL-3.0-or-later

// Versions are switched while the program answers: an answer is all of one version, or is dropped.

#include "tests/unit/server/xdp-kernel/xdp_questions.hh"

#include <catch2/catch.hpp>

#include <atomic>
#include <sched.h>
#include <thread>

enum : unsigned { VERSION_COUNT = 6, ELSEWHERE = 100, TTL_BASE = 1000 };

// Everything in version number says its number: bits, TTL, serial, and a name that proofs have.
static store_options numbered(unsigned number)
{
	store_options options;
	options.is_signed = true;
	options.serial = number;
	options.ttl = TTL_BASE + number;
	options.more = [number](store_writer &out) {
		dnsblv6_bitmap map;
		memset(map.bytes, static_cast<int>(number), sizeof(map.bytes));
		out.bitmap("0.5.5.5", map);
		out.full("v" + std::to_string(number) + ".7");
		// Lines of one version lie where others are of another.
		for (unsigned i = 0; i < number % 5; i++)
			out.full("x" + std::to_string(i) + ".8");
	};
	return options;
}

// A server of one version, which is only read.
static std::unique_ptr<decision> make_version(unsigned number)
{
	return std::make_unique<decision>(numbered(number));
}

static bytes query_of(const std::string &name)
{
	xdp_question asked;
	asked.name = split(labels(name + ".bl6.example."));
	asked.payload = 1232;
	asked.edns_flags = 0x8000;
	return asked.wire();
}

// The number that all of an answer has; -1: it is a mixture.
static int number_of(const bytes &wire)
{
	dns::message answer(wire);
	if (answer.answer.size() == 2) {
		const dns::record &rr = answer.answer[0];
		const unsigned number = rr.ttl - TTL_BASE;
		const bool is_one = rr.rdata == bytes(16, static_cast<uint8_t>(number)) &&
				    answer.answer[1].ttl == rr.ttl;
		return is_one ? static_cast<int>(number) : -1;
	}
	// The SOA, an NSEC of the name that has the number, and their RRSIGs.
	if (answer.rcode != 3 || answer.authority.size() < 4)
		return -1;
	const bytes &soa = answer.authority[0].rdata;
	const unsigned number = soa[soa.size() - 17];
	const std::string owner = "v" + std::to_string(number) + ".7.bl6.example.";
	for (const dns::record &rr : answer.authority) {
		if (rr.type == dns::NSEC && rr.owner == owner)
			return static_cast<int>(number);
	}
	return -1;
}

// What the other thread does while a question is answered: it waits for a switch, now and then.
struct interrupted {
	const xdp_memory *memory;
	unsigned made = 0;
};

static void wait_for_switch(void *data)
{
	auto *self = static_cast<interrupted *>(data);
	const uint64_t *changes = &self->memory->zone().changes;
	const uint64_t before = __atomic_load_n(changes, __ATOMIC_RELAXED);
	if (++self->made % 16 != 0)
		return;
	for (unsigned i = 0; i < 100000 && __atomic_load_n(changes, __ATOMIC_RELAXED) == before;
	     i++)
		sched_yield();
}

TEST_CASE("while versions are switched all the time every answer is of one version, or dropped",
	  "[xdp][versions]")
{
	std::vector<std::unique_ptr<decision>> versions;
	for (unsigned i = 1; i <= VERSION_COUNT; i++)
		versions.push_back(make_version(i));
	xdp_memory memory(3000);
	memory.configure({ { "bl6.example.", 0 } });
	REQUIRE(memory.fill(&versions[0]->catalog.zones[0]) == FILL_OK);
	interrupted hook = { &memory };
	memory.native.on_made = wait_for_switch;
	memory.native.on_made_data = &hook;

	std::atomic<bool> is_over = false;
	std::atomic<unsigned> switch_count = 0;
	std::atomic<unsigned> failure_count = 0;
	std::thread filler([&] {
		for (unsigned i = 0; !is_over; i++) {
			zone *next = &versions[i % VERSION_COUNT]->catalog.zones[0];
			failure_count += memory.fill(next) != FILL_OK;
			switch_count++;
			if (i % 7 == 0)
				sched_yield();
		}
	});
	std::set<int> seen;
	unsigned answered = 0;
	unsigned dropped = 0;
	unsigned mixed = 0;
	unsigned passed = 0;
	const bytes listed = query_of("0.5.5.5");
	const bytes denied = query_of("w.7");
	for (unsigned i = 0; answered < 20000 || dropped < 20 || switch_count < 1000; i++) {
		bytes answer;
		long size = memory.ask(i % 2 != 0 ? listed : denied, answer);
		dropped += size == XDP_NATIVE_DROP;
		passed += size == XDP_NATIVE_PASS;
		answered += size > 0;
		int number = size > 0 ? number_of(answer) : 1;
		mixed += number < 0;
		seen.insert(number);
	}
	is_over = true;
	filler.join();
	CAPTURE(answered, dropped, passed, switch_count);
	CHECK(mixed == 0);
	CHECK(failure_count == 0);
	CHECK(seen.size() == VERSION_COUNT);
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
