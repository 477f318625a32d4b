// SPDX-License-Identifier: GPL-3.0-or-later
// When sessions and mails are due.
#include "bench/users-load/counts/mails.h"
#include "bench/users-load/counts/users.h"

#include <catch2/catch.hpp>

#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace
{

constexpr uint64_t HOUR = 3600000000000;

const workload &enterprise()
{
	static workload read = [] {
		workload made = {};
		workload_error error = {};
		FILE *file = fopen("bench/enterprise.workload", "r");
		REQUIRE(file != nullptr);
		INFO(error.reason);
		REQUIRE(workload_read(file, &made, &error) == 0);
		fclose(file);
		return made;
	}();
	return read;
}

using heap = std::unique_ptr<users, decltype(&users_free)>;

heap heap_of(uint32_t count, uint64_t seed = 1, double rate = 1)
{
	users *made = nullptr;
	const users_rules rules = { &enterprise(), seed, count, rate };
	REQUIRE(users_new(&rules, &made) == 0);
	return heap(made, users_free);
}

std::vector<users_arrival> arrivals_of(uint32_t count, uint64_t until_ns, uint64_t seed = 1,
				       double rate = 1)
{
	auto all = heap_of(count, seed, rate);
	std::vector<users_arrival> arrivals;
	while (users_due_ns(all.get()) < until_ns) {
		users_arrival arrival = {};
		users_take(all.get(), &arrival);
		arrivals.push_back(arrival);
	}
	return arrivals;
}

std::vector<mail> mails_of(uint32_t count, uint64_t until_ns, uint64_t seed = 1, double rate = 1)
{
	mails all = {};
	mails_begin(&all, &enterprise(), seed, count, rate);
	std::vector<mail> made;
	while (all.due_ns < until_ns) {
		mail next = {};
		mails_next(&all, &next);
		made.push_back(next);
	}
	return made;
}

} // namespace

TEST_CASE("sessions come in order, of active users alone, each user's numbered",
	  "[users-load][users]")
{
	const auto arrivals = arrivals_of(200, HOUR);
	std::map<uint32_t, uint32_t> numbers;
	uint64_t last_ns = 0;
	bool is_ordered = true, is_active = true, is_numbered = true;
	for (const auto &arrival : arrivals) {
		is_ordered = is_ordered && arrival.due_ns >= last_ns;
		is_active = is_active && workload_is_active(&enterprise(), arrival.user);
		is_numbered = is_numbered && arrival.number == numbers[arrival.user]++;
		last_ns = arrival.due_ns;
	}
	CHECK(is_ordered);
	CHECK(is_active);
	CHECK(is_numbered);
}

TEST_CASE("an hour has as many sessions as the workload says, and so many times more at a rate",
	  "[users-load][users]")
{
	const double rate = GENERATE(1.0, 10.0);
	const double wanted = rate * workload_sessions_h(&enterprise(), 1000);
	const auto got = double(arrivals_of(1000, HOUR, 7, rate).size());
	CAPTURE(rate, wanted, got);
	CHECK(got > wanted * 0.9);
	CHECK(got < wanted * 1.1);
}

TEST_CASE("one seed gives a user the same sessions, however many others there are",
	  "[users-load][users]")
{
	auto times_of = [](uint32_t count, uint64_t seed) {
		std::vector<uint64_t> times;
		for (const auto &arrival : arrivals_of(count, HOUR, seed))
			if (arrival.user == 17)
				times.push_back(arrival.due_ns);
		return times;
	};
	const auto times = times_of(20, 1);
	REQUIRE(!times.empty());
	CHECK(times_of(20, 1) == times);
	CHECK(times_of(500, 1) == times);
	CHECK(times_of(20, 2) != times);
}

TEST_CASE("without users nothing is due", "[users-load][users]")
{
	CHECK(users_due_ns(heap_of(0).get()) == UINT64_MAX);
	mails all = {};
	mails_begin(&all, &enterprise(), 1, 0, 1);
	CHECK(all.due_ns == UINT64_MAX);
}

TEST_CASE("each session has random numbers of its own", "[users-load][users]")
{
	const users_rules rules = { &enterprise(), 1, 100, 1 };
	std::set<uint64_t> firsts;
	for (const users_arrival &arrival :
	     { users_arrival{ 0, 1, 0 }, users_arrival{ 0, 1, 1 }, users_arrival{ 0, 2, 0 } }) {
		dice stream = {};
		users_session_dice(&rules, &arrival, &stream);
		firsts.insert(dice_next(&stream));
	}
	CHECK(firsts.size() == 3);
}

TEST_CASE("an hour has as many mails as the workload says, in its flows", "[users-load][mails]")
{
	const auto all = mails_of(2000, HOUR);
	std::vector<double> flows(WORKLOAD_FLOWS);
	double local = 0;
	for (const mail &one : all) {
		flows[one.flow]++;
		if (one.flow != WORKLOAD_LOCAL_REMOTE)
			local += one.recipient_count;
	}
	for (int flow = 0; flow < WORKLOAD_FLOWS; flow++) {
		const double wanted = workload_mails_h(&enterprise(), workload_flow(flow), 2000);
		CAPTURE(flow, wanted, flows[flow]);
		CHECK(flows[flow] > wanted * 0.85);
		CHECK(flows[flow] < wanted * 1.15);
	}
	// Each active user gets 5.06 of them.
	const double wanted = 2000 * enterprise().active_share * enterprise().mails_received_h;
	CHECK(local > wanted * 0.9);
	CHECK(local < wanted * 1.1);
}

TEST_CASE("recipients are active users, none of them twice", "[users-load][mails]")
{
	bool is_active = true, is_once = true, has_some = true;
	for (const mail &one : mails_of(30, 200 * HOUR)) {
		const std::set<uint32_t> all(one.recipients, one.recipients + one.recipient_count);
		is_once = is_once && all.size() == one.recipient_count;
		has_some = has_some && !all.empty();
		for (uint32_t user : all)
			is_active = is_active && (one.flow == WORKLOAD_LOCAL_REMOTE ||
						  workload_is_active(&enterprise(), user));
	}
	CHECK(is_active);
	CHECK(is_once);
	CHECK(has_some);
}

TEST_CASE("a mail has no more recipients than there are users", "[users-load][mails]")
{
	unsigned most = 0;
	for (const mail &one : mails_of(3, 2000 * HOUR))
		if (one.flow != WORKLOAD_LOCAL_REMOTE)
			most = std::max(most, one.recipient_count);
	CHECK(most > 0);
	CHECK(most <= 3);
}

TEST_CASE("mails are counted before they are made", "[users-load][mails]")
{
	mails all = {};
	uint64_t count = 0, recipients = 0, wanted = 0;
	mails_begin(&all, &enterprise(), 3, 100, 1);
	mails_count(&all, 10 * HOUR, &count, &recipients);
	const auto made = mails_of(100, 10 * HOUR, 3);
	for (const mail &one : made)
		wanted += one.recipient_count;
	CHECK(count == made.size());
	CHECK(recipients == wanted);
	CHECK(count > 0);
}
