// SPDX-License-Identifier: GPL-3.0-or-later
// What a load is told about.
#include "bench/smtp-load/figures.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <memory>
#include <string>

namespace
{

constexpr uint64_t MS = 1000000;
constexpr uint64_t S = 1000 * MS;

// A whole session that ended now.
void pass(figures &all, session_outcome outcome, uint64_t now_ns, uint64_t took_ns = MS)
{
	session one = {};
	one.outcome = outcome;
	one.accepted = outcome == SESSION_DELIVERED ? 2 : 0;
	figures_begun(&all, now_ns, 0);
	figures_decided(&all, now_ns, &one);
	figures_ended(&all, now_ns, outcome, took_ns);
}

std::string printed(const figures &all, int (*print)(const figures *, FILE *))
{
	char *text = nullptr;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	REQUIRE(print(&all, file) == 0);
	fclose(file);
	std::string result(text, size);
	std::free(text);
	return result;
}

} // namespace

TEST_CASE("a quantile is at most a thirtieth above the value", "[smtp-load][figures]")
{
	auto histogram = std::make_unique<figures_histogram>();
	CHECK(figures_quantile_ns(histogram.get(), 0.5) == 0);
	for (uint64_t ms = 1; ms <= 1000; ms++)
		figures_add(histogram.get(), ms * MS);
	const double share = GENERATE(0.01, 0.5, 0.9, 0.99, 1.0);
	const double wanted = share * 1000 * MS;
	const auto got = double(figures_quantile_ns(histogram.get(), share));
	CHECK(got >= wanted * 0.999);
	CHECK(got <= wanted * 31 / 30);
}

TEST_CASE("no latency is too small or too large to be counted", "[smtp-load][figures]")
{
	auto histogram = std::make_unique<figures_histogram>();
	figures_add(histogram.get(), 0);
	figures_add(histogram.get(), UINT64_MAX);
	CHECK(histogram->count == 2);
	CHECK(figures_quantile_ns(histogram.get(), 0.5) == 0);
	CHECK(figures_quantile_ns(histogram.get(), 1) > 3600 * S);
}

TEST_CASE("counts are of the whole run, rates of the window", "[smtp-load][figures]")
{
	auto all = std::make_unique<figures>();
	figures_init(all.get(), 1 * S);
	pass(*all, SESSION_DELIVERED, 0);
	pass(*all, SESSION_DELIVERED, 1 * S);
	pass(*all, SESSION_BOUNCED, 2 * S);
	pass(*all, SESSION_TIMEOUT, 2 * S);
	all->window_to_ns = 3 * S;
	pass(*all, SESSION_DELIVERED, 3 * S);
	CHECK_THAT(
		printed(*all, figures_print),
		Catch::StartsWith("seconds=2.000 sessions=5 delivered=3 bounced=1 left=0 refused=0 "
				  "deferred=0 broken=0 timeouts=1 errors=0 open=0 open_max=1 ") &&
			Catch::Contains(" recipients=6 ") &&
			Catch::Contains(" goodput=0.50 decided_per_s=1.00 ") &&
			Catch::Contains(" session_p50_ms=1.0"));
	CHECK(all->mail.count == 1);
	figures_deinit(all.get());
}

TEST_CASE("the series has a row for each second, also where nothing happened",
	  "[smtp-load][figures]")
{
	auto all = std::make_unique<figures>();
	figures_init(all.get(), 0);
	figures_begun(all.get(), 0, 0);
	pass(*all, SESSION_DELIVERED, 3 * S);
	CHECK(printed(*all, figures_print_series) ==
	      "second\tbegun\tdelivered\tbounced\tleft\trefused\tdeferred\tbroken\ttimeouts\terrors"
	      "\topen\n"
	      "0\t1\t0\t0\t0\t0\t0\t0\t0\t0\t1\n"
	      "1\t0\t0\t0\t0\t0\t0\t0\t0\t0\t1\n"
	      "2\t0\t0\t0\t0\t0\t0\t0\t0\t0\t1\n"
	      "3\t1\t1\t0\t0\t0\t0\t0\t0\t0\t1\n");
	figures_deinit(all.get());
}
