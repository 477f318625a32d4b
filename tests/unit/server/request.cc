// SPDX-License-Identifier: GPL-3.0-or-later
#include "server/counts/zonestatus.h"
#include "server/control/request.h"

#include <catch2/catch.hpp>

#include <string>

namespace
{

std::string parse(const std::string &line, request *ret_request)
{
	const char *reason = request_parse(line.data(), line.size(), ret_request);
	return reason != nullptr ? reason : "";
}

} // namespace

TEST_CASE("each request is understood, and top takes a number", "[server][request]")
{
	request got = {};
	auto row = GENERATE(table<std::string, request_verb, unsigned>(
		{ { "status", REQUEST_STATUS, 0 },
		  { "zones", REQUEST_ZONES, 0 },
		  { "stats", REQUEST_STATS, 0 },
		  { "metrics", REQUEST_METRICS, 0 },
		  { "reload", REQUEST_RELOAD, 0 },
		  { "stop", REQUEST_STOP, 0 },
		  { "driver", REQUEST_DRIVER, 0 },
		  { "top", REQUEST_TOP, REQUEST_TOP_DEFAULT },
		  { "top 1", REQUEST_TOP, 1 },
		  { "top 1000", REQUEST_TOP, 1000 } }));
	CAPTURE(std::get<0>(row));
	CHECK(parse(std::get<0>(row), &got).empty());
	CHECK(got.verb == std::get<1>(row));
	CHECK(got.number == std::get<2>(row));
}

TEST_CASE("anything else is refused with a reason", "[server][request]")
{
	request got = {};
	auto line = GENERATE(as<std::string>(), "", " ", "STATUS", "statu", "statuss", " status",
			     "status ", "status 1", "stop 1", "top ", "top 0", "top 01", "top -1",
			     "top 1001", "top 99999999999999999999", "top 5 5", "top  5", "top\t5",
			     "top 5\r", std::string("stop\0", 5), "\xff\xfe");
	CAPTURE(line);
	CHECK_FALSE(parse(line, &got).empty());
}

TEST_CASE("a zonestatus shows the worker that is worst off", "[server][zonestatus]")
{
	zonestatus shown = {};
	REQUIRE(zonestatus_open(&shown, 3, 2) == 0);
	CHECK(zonestatus_find_worst(&shown, 1).state == ZONESTATUS_OPENING);
	auto put = [&](size_t worker, zonestatus_state state, uint64_t built_s) {
		zonestatus_zone zone = {};
		zone.state = state;
		zone.built_s = built_s;
		zone.serial = built_s + 1;
		zonestatus_put(&shown, worker, 1, &zone);
	};
	put(0, ZONESTATUS_SERVING, 200);
	put(1, ZONESTATUS_SERVING, 100);
	CHECK(zonestatus_find_worst(&shown, 1).state == ZONESTATUS_OPENING); // the third one
	put(2, ZONESTATUS_SERVING, 300);
	CHECK(zonestatus_find_worst(&shown, 1).state == ZONESTATUS_SERVING);
	CHECK(zonestatus_find_worst(&shown, 1).serial == 101);
	put(2, ZONESTATUS_EXPIRED, 300);
	CHECK(zonestatus_find_worst(&shown, 1).state == ZONESTATUS_EXPIRED);
	put(0, ZONESTATUS_FAILED, 0);
	CHECK(zonestatus_find_worst(&shown, 1).state == ZONESTATUS_FAILED);
	CHECK(zonestatus_find_worst(&shown, 0).state == ZONESTATUS_OPENING);
	zonestatus_close(&shown);
}
