// SPDX-License-Identifier: GPL-3.0-or-later
// Which mails have been seen, when and how often.
#include "bench/users-load/counts/tracking.h"

#include <catch2/catch.hpp>

#include <memory>
#include <vector>

namespace
{

constexpr uint64_t SECOND = 1000000000;
constexpr uint64_t LIMIT = 60 * SECOND;

using table = std::unique_ptr<tracking, decltype(&tracking_free)>;

table table_of(uint64_t mails, uint64_t deliveries)
{
	tracking *made = nullptr;
	REQUIRE(tracking_new(mails, deliveries, &made) == 0);
	return table(made, tracking_free);
}

tracking_deliveries sum_of(const table &all, bool is_remote = false)
{
	tracking_deliveries sum = {};
	tracking_sum(all.get(), is_remote, LIMIT, &sum);
	return sum;
}

} // namespace

TEST_CASE("a mail is sent when the server has taken it, and seen when it is there",
	  "[users-load][tracking]")
{
	auto all = table_of(10, 10);
	tracking_expect(all.get(), 3, 7);
	CHECK(sum_of(all).sent == 0);
	tracking_taken(all.get(), 3, 10 * SECOND, true);
	CHECK(sum_of(all).sent == 1);
	CHECK(sum_of(all).lost == 1);
	CHECK(tracking_waiting_count(all.get()) == 1);
	tracking_seen(all.get(), 3, 7, 100, 12 * SECOND);
	const auto sum = sum_of(all);
	CHECK(sum.seen == 1);
	CHECK(sum.lost == 0);
	CHECK(sum.within == 1);
	CHECK(figures_quantile_ns(&sum.took, 1) >= 2 * SECOND);
	CHECK(tracking_waiting_count(all.get()) == 0);
}

TEST_CASE("what comes behind the limit is seen, and not in time", "[users-load][tracking]")
{
	auto all = table_of(10, 10);
	for (uint32_t user : { 1, 2 })
		tracking_expect(all.get(), 0, user);
	tracking_taken(all.get(), 0, 0, true);
	tracking_seen(all.get(), 0, 1, 1, LIMIT);
	tracking_seen(all.get(), 0, 2, 1, LIMIT + SECOND / 1000);
	CHECK(sum_of(all).seen == 2);
	CHECK(sum_of(all).within == 1);
}

TEST_CASE("a mail that is seen before the answer took no time", "[users-load][tracking]")
{
	auto all = table_of(10, 10);
	tracking_expect(all.get(), 0, 1);
	tracking_seen(all.get(), 0, 1, 5, 3 * SECOND);
	tracking_taken(all.get(), 0, 4 * SECOND, true);
	const auto sum = sum_of(all);
	CHECK(sum.seen == 1);
	CHECK(figures_quantile_ns(&sum.took, 1) == 0);
}

TEST_CASE("one UID is one mail, another of the same mailbox is the mail twice",
	  "[users-load][tracking]")
{
	auto all = table_of(10, 10);
	tracking_expect(all.get(), 0, 1);
	tracking_expect(all.get(), 0, 2);
	tracking_taken(all.get(), 0, 0, true);
	tracking_seen(all.get(), 0, 1, 5, 2 * SECOND);
	tracking_seen(all.get(), 0, 1, 5, 9 * SECOND);
	tracking_seen(all.get(), 0, 2, 6, 2 * SECOND);
	CHECK(sum_of(all).twice == 0);
	tracking_seen(all.get(), 0, 1, 7, 9 * SECOND);
	tracking_seen(all.get(), 0, 1, 8, 9 * SECOND);
	const auto sum = sum_of(all);
	CHECK(sum.twice == 1);
	CHECK(sum.seen == 2);
	CHECK(figures_quantile_ns(&sum.took, 1) < 3 * SECOND);
}

TEST_CASE("a recipient that was refused is not waited for, and what was not sent is not seen",
	  "[users-load][tracking]")
{
	auto all = table_of(10, 10);
	tracking_expect(all.get(), 0, 1);
	tracking_expect(all.get(), 0, 2);
	tracking_drop(all.get(), 0, 1);
	tracking_taken(all.get(), 0, 0, true);
	tracking_seen(all.get(), 0, 1, 5, SECOND);  // it came all the same
	tracking_seen(all.get(), 0, 9, 5, SECOND);  // to another mailbox
	tracking_seen(all.get(), 99, 2, 5, SECOND); // of no mail
	CHECK(sum_of(all).sent == 1);
	CHECK(sum_of(all).seen == 0);
	CHECK(tracking_waiting_count(all.get()) == 1);
}

TEST_CASE("recipients of the remote domain are apart from users of the same number",
	  "[users-load][tracking]")
{
	auto all = table_of(10, 10);
	tracking_expect(all.get(), 0, 1);
	tracking_expect(all.get(), 0, TRACKING_REMOTE(1));
	tracking_taken(all.get(), 0, 0, true);
	tracking_seen(all.get(), 0, TRACKING_REMOTE(1), 1, SECOND);
	CHECK(sum_of(all, true).seen == 1);
	CHECK(sum_of(all, false).lost == 1);
}

TEST_CASE("what was taken in the warm-up is waited for, and not counted", "[users-load][tracking]")
{
	auto all = table_of(10, 10);
	tracking_expect(all.get(), 0, 1);
	tracking_taken(all.get(), 0, 0, false);
	CHECK(sum_of(all).sent == 0);
	CHECK(tracking_waiting_count(all.get()) == 1);
}

TEST_CASE("each user has numbers of mails that are sent and that are missing",
	  "[users-load][tracking]")
{
	auto all = table_of(10, 20);
	std::vector<uint32_t> waiting(4), sent(4);
	for (uint64_t number = 0; number < 5; number++) {
		tracking_expect(all.get(), number, 2);
		tracking_expect(all.get(), number, TRACKING_REMOTE(0));
		if (number != 4)
			tracking_taken(all.get(), number, 0, true);
	}
	tracking_expect(all.get(), 0, 3);
	tracking_seen(all.get(), 0, 2, 1, SECOND);
	tracking_waits(all.get(), 4, waiting.data(), sent.data());
	CHECK(sent == std::vector<uint32_t>{ 0, 0, 4, 1 });
	CHECK(waiting == std::vector<uint32_t>{ 0, 0, 3, 1 });
}

TEST_CASE("as many deliveries as were planned are tracked, and none above",
	  "[users-load][tracking]")
{
	const uint64_t count = GENERATE(1, 8, 1000);
	CAPTURE(count);
	auto all = table_of(count + 5, count);
	for (uint64_t number = 0; number < count + 5; number++) {
		tracking_expect(all.get(), number, 1);
		tracking_expect(all.get(), number, 1); // twice is once
		tracking_taken(all.get(), number, 0, true);
	}
	for (uint64_t number = 0; number < count + 5; number++)
		tracking_seen(all.get(), number, 1, 1, SECOND);
	CHECK(sum_of(all).sent == count);
	CHECK(sum_of(all).seen == count);
}
