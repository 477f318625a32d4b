// SPDX-License-Identifier: GPL-3.0-or-later
// Times of very many sessions.
#include "integration/mail/base/loop/wheel.h"

#include <catch2/catch.hpp>

#include <memory>
#include <random>
#include <set>
#include <vector>

namespace
{

// One that was set says when it came.
std::vector<uint64_t> run(struct wheel *wheel, uint64_t from_ms, uint64_t to_ms, uint64_t step_ms)
{
	std::vector<uint64_t> when;
	for (uint64_t now_ms = from_ms; now_ms <= to_ms; now_ms += step_ms)
		while (wheel_take(wheel, now_ms) != nullptr)
			when.push_back(now_ms);
	return when;
}

} // namespace

TEST_CASE("an entry comes once, at its time or within a tick after it", "[front][wheel]")
{
	const uint64_t wait_ms =
		GENERATE(as<uint64_t>(), 0, 1, 49, 50, 51, 2000, 25599, 25600, 25601, 300000);
	CAPTURE(wait_ms);
	auto wheel = std::make_unique<struct wheel>();
	wheel_init(wheel.get(), 1234567);
	wheel_entry entry = {};
	wheel_set(wheel.get(), &entry, 1234567 + wait_ms);
	CHECK(wheel_is_set(&entry));
	const auto when = run(wheel.get(), 1234567, 1234567 + 400000, 1);
	REQUIRE(when.size() == 1);
	CHECK(when[0] >= 1234567 + wait_ms);
	CHECK(when[0] < 1234567 + wait_ms + WHEEL_TICK_MS);
	CHECK(!wheel_is_set(&entry));
}

TEST_CASE("one that is cleared does not come, one that is set again comes later", "[front][wheel]")
{
	auto wheel = std::make_unique<struct wheel>();
	wheel_init(wheel.get(), 1000);
	wheel_entry cleared = {};
	wheel_entry moved = {};
	wheel_clear(&cleared);
	wheel_set(wheel.get(), &cleared, 1500);
	wheel_set(wheel.get(), &moved, 1500);
	wheel_clear(&cleared);
	wheel_set(wheel.get(), &moved, 3000);
	const auto when = run(wheel.get(), 1000, 5000, 10);
	REQUIRE(when.size() == 1);
	CHECK(when[0] >= 3000);
}

TEST_CASE("a callback of one due entry may clear any other", "[front][wheel]")
{
	auto wheel = std::make_unique<struct wheel>();
	wheel_init(wheel.get(), 1000);
	std::vector<wheel_entry> entries(10);
	for (auto &entry : entries)
		wheel_set(wheel.get(), &entry, 2000);
	CHECK(wheel_take(wheel.get(), 2000) != nullptr);
	for (auto &entry : entries)
		wheel_clear(&entry);
	CHECK(wheel_take(wheel.get(), 2000) == nullptr);
}

TEST_CASE("a past time comes with the next tick, and after a long sleep all have come",
	  "[front][wheel]")
{
	auto wheel = std::make_unique<struct wheel>();
	wheel_init(wheel.get(), 100000);
	wheel_entry past = {};
	wheel_set(wheel.get(), &past, 1);
	CHECK(run(wheel.get(), 100000, 100100, 10).size() == 1);
	std::vector<wheel_entry> entries(1000);
	for (size_t i = 0; i < entries.size(); i++)
		wheel_set(wheel.get(), &entries[i], 100200 + i * 37);
	wheel_entry later = {};
	wheel_set(wheel.get(), &later, 5000000);
	CHECK(run(wheel.get(), 4000000, 4000000, 1).size() == 1000);
	CHECK(run(wheel.get(), 4000050, 6000000, 50).size() == 1);
}

TEST_CASE("ten thousand entries at random all come, none early", "[front][wheel]")
{
	std::mt19937 random(7); // NOLINT: the same each time
	auto wheel = std::make_unique<struct wheel>();
	wheel_init(wheel.get(), 0);
	std::vector<wheel_entry> entries(10000);
	std::vector<uint64_t> due(entries.size());
	for (size_t i = 0; i < entries.size(); i++) {
		due[i] = 1 + random() % 100000;
		wheel_set(wheel.get(), &entries[i], due[i]);
	}
	std::set<size_t> seen;
	bool is_early = false;
	for (uint64_t now_ms = 0; now_ms <= 100100; now_ms += random() % 200)
		while (const wheel_entry *entry = wheel_take(wheel.get(), now_ms)) {
			const auto index = static_cast<size_t>(entry - entries.data());
			is_early |= due[index] > now_ms;
			seen.insert(index);
		}
	while (const wheel_entry *entry = wheel_take(wheel.get(), 200000))
		seen.insert(static_cast<size_t>(entry - entries.data()));
	CHECK(seen.size() == entries.size());
	CHECK(!is_early);
}
