// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/common/counts.h"

#include <catch2/catch.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace
{

const counts_label labels[] = { { "queries", "Questions." }, { "tcp-closed", "Closed." } };

template <class F> std::string written(F fn)
{
	char *text = nullptr;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	REQUIRE(out != nullptr);
	fn(out);
	fclose(out);
	std::string result(text, size);
	free(text);
	return result;
}

} // namespace

TEST_CASE("a counter has underscores and an ending of its own", "[common][counts]")
{
	const uint64_t values[] = { 3, UINT64_MAX };
	CHECK(written([&](FILE *out) {
		      counts_write_counters(out, "dnsblv6-policy", labels, values, 2);
	      }) == "# HELP dnsblv6_policy_queries_total Questions.\n"
		    "# TYPE dnsblv6_policy_queries_total counter\n"
		    "dnsblv6_policy_queries_total 3\n"
		    "# HELP dnsblv6_policy_tcp_closed_total Closed.\n"
		    "# TYPE dnsblv6_policy_tcp_closed_total counter\n"
		    "dnsblv6_policy_tcp_closed_total 18446744073709551615\n");
}

TEST_CASE("the name of a zone is escaped in its label", "[common][counts]")
{
	const counts_metric gauge = { COUNTS_GAUGE, "dnsblv6_zone", "up", "1 when it is up" };
	CHECK(written([&](FILE *out) {
		      counts_write_head(out, &gauge);
		      counts_write_value(out, &gauge, "a\\.b\".example.", 1);
	      }) == "# HELP dnsblv6_zone_up 1 when it is up\n# TYPE dnsblv6_zone_up gauge\n"
		    "dnsblv6_zone_up{zone=\"a\\\\.b\\\".example.\"} 1\n");
}

TEST_CASE("a line of the log has as many counters as fit whole", "[common][counts]")
{
	const uint64_t values[] = { 0, 12 };
	char text[32];
	const std::string all = "queries=0 tcp-closed=12";
	CHECK(counts_format(labels, values, 2, true, text, sizeof(text)) == all);
	CHECK(counts_format(labels, values, 2, false, text, sizeof(text)) ==
	      std::string("tcp-closed=12"));
	CHECK(counts_format(labels, values, 2, true, text, all.size() + 1) == all);
	CHECK(counts_format(labels, values, 2, true, text, all.size()) == std::string("queries=0"));
	CHECK(counts_format(labels, values, 2, true, text, 5) == std::string());
}
