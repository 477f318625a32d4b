// SPDX-License-Identifier: GPL-3.0-or-later
// What of a run counts, and how it is written.
#include "bench/users-load/counts/report.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <memory>
#include <string>

namespace
{

constexpr uint64_t S = 1000000000;

std::unique_ptr<tally> tally_of(uint64_t from_s, uint64_t to_s)
{
	auto made = std::make_unique<tally>();
	tally_init(made.get(), from_s * S, to_s * S, 5 * S);
	return made;
}

} // namespace

TEST_CASE("what was due in the window counts, however late it ends", "[users-load][tally]")
{
	auto all = tally_of(10, 20);
	tally_done(all.get(), TRANSACTION_STORE, 10 * S - 1, 12 * S);
	tally_done(all.get(), TRANSACTION_STORE, 10 * S, 12 * S);
	tally_done(all.get(), TRANSACTION_STORE, 20 * S - 1, 30 * S);
	tally_done(all.get(), TRANSACTION_STORE, 20 * S, 21 * S);
	const tally_transaction &store = all->transactions[TRANSACTION_STORE];
	CHECK(store.count == 2);
	CHECK(store.within == 1);
	CHECK(store.took.count == 2);
	CHECK(all->transactions[TRANSACTION_COPY].count == 0);
}

TEST_CASE("what takes exactly as long as the limit is within it", "[users-load][tally]")
{
	auto all = tally_of(0, 20);
	tally_done(all.get(), TRANSACTION_LOGIN, 1 * S, 6 * S);
	tally_done(all.get(), TRANSACTION_LOGIN, 1 * S, 6 * S + 1);
	CHECK(all->transactions[TRANSACTION_LOGIN].within == 1);
}

TEST_CASE("an error is a transaction that is not within the limit, and has no time",
	  "[users-load][tally]")
{
	auto all = tally_of(0, 20);
	tally_failed(all.get(), TRANSACTION_EXPUNGE, 1 * S, TALLY_BAD);
	tally_failed(all.get(), TRANSACTION_EXPUNGE, 20 * S, TALLY_BAD);
	tally_error(all.get(), 2 * S, TALLY_CLOSED);
	tally_error(all.get(), 20 * S, TALLY_CLOSED);
	const tally_transaction &expunge = all->transactions[TRANSACTION_EXPUNGE];
	CHECK(expunge.count == 1);
	CHECK(expunge.errors == 1);
	CHECK(expunge.within == 0);
	CHECK(expunge.took.count == 0);
	CHECK(all->errors[TALLY_BAD] == 1);
	CHECK(all->errors[TALLY_CLOSED] == 1);
}

TEST_CASE("what has no answer at the end is never within the limit", "[users-load][tally]")
{
	auto all = tally_of(0, 20);
	tally_unanswered(all.get(), TRANSACTION_SEARCH, 19 * S, 20 * S);
	const tally_transaction &search = all->transactions[TRANSACTION_SEARCH];
	CHECK(search.count == 1);
	CHECK(search.errors == 0);
	CHECK(search.within == 0);
	CHECK(figures_quantile_ns(&search.took, 1) >= S);
}

TEST_CASE("sessions are counted by when they were due, those that are open at all times",
	  "[users-load][tally]")
{
	auto all = tally_of(10, 20);
	tally_session_begun(all.get(), 1 * S);
	tally_session_begun(all.get(), 10 * S);
	tally_session_begun(all.get(), 11 * S);
	tally_session_ended(all.get(), 1 * S, true);
	tally_session_ended(all.get(), 10 * S, false);
	tally_session_left(all.get());
	CHECK(all->sessions_begun == 2);
	CHECK(all->sessions_ended == 1);
	CHECK(all->sessions_failed == 0);
	CHECK(all->open == 0);
	CHECK(all->open_max == 3);
}

TEST_CASE("the latest beginning is told", "[users-load][tally]")
{
	auto all = tally_of(0, 20);
	tally_late(all.get(), 5 * S, 5 * S + 7000000);
	tally_late(all.get(), 6 * S, 6 * S + 3000000);
	tally_late(all.get(), 8 * S, 7 * S);
	CHECK(all->late_max_ns == 7000000);
}

TEST_CASE("a report has a member for each type, kind and way", "[users-load][report]")
{
	auto result = std::make_unique<report>();
	tally_init(&result->tally, 0, 20 * S, 5 * S);
	result->users = 250;
	result->window_s = 20;
	tally_session_begun(&result->tally, 1 * S);
	tally_failed(&result->tally, TRANSACTION_COPY, 1 * S, TALLY_NO);
	result->local.sent = 3;
	result->local.lost = 1;
	result->faults[0] = { "a flag that was stored is gone", 2 };
	char *text = nullptr;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	REQUIRE(report_print(result.get(), file) == 0);
	fclose(file);
	const std::string said(text, size);
	std::free(text);
	CHECK_THAT(
		said,
		Catch::StartsWith("{\"users\":250,") && Catch::EndsWith("}}\n") &&
			Catch::Contains(
				"\"sessions\":{\"begun\":1,\"ended\":0,\"failed\":0,\"open_max\":1,"
				"\"per_hour\":180.0}") &&
			Catch::Contains("\"COPY\":{\"count\":1,\"errors\":1,\"within\":0,") &&
			Catch::Contains("\"local\":{\"sent\":3,\"seen\":0,\"within\":0,") &&
			Catch::Contains("\"remote\":{\"sent\":0,") &&
			Catch::Contains("\"no\":1,") &&
			Catch::Contains("\"faults\":{\"a flag that was stored is gone\":2}"));
	for (int i = 0; i < TRANSACTIONS; i++)
		CHECK_THAT(said,
			   Catch::Contains("\"" + std::string(transaction_name(transaction(i))) +
					   "\":{\"count\":"));
}
