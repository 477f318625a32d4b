// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/process/progress.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <string>

namespace
{
std::string line(uint64_t count, uint64_t done, uint64_t total, uint64_t elapsed_ms)
{
	char text[PROGRESS_LINE_SIZE];
	const size_t size = progress_format("lines read", count, done, total, elapsed_ms, text);
	CHECK(size == strlen(text));
	return text;
}
} // namespace

TEST_CASE("a line of progress has a share and an end, where the whole is known",
	  "[process][progress]")
{
	CHECK(line(5000, 0, 0, 9000) == "lines read 5000");
	CHECK(line(5000, 25, 100, 9000) == "lines read 5000, 25 %, 28 s left");
	CHECK(line(5000, 1, 100, 9000) == "lines read 5000, 1 %, 15 min left");
	CHECK(line(0, 0, 100, 9000) == "lines read 0, 0 %");
}

TEST_CASE("a share is not told too early, and a whole that was too small never full",
	  "[process][progress]")
{
	CHECK(line(5000, 25, 100, 100) == "lines read 5000, 25 %");
	CHECK(line(5000, 100, 100, 9000) == "lines read 5000, 99 %, 1 s left");
	CHECK(line(5000, 300, 100, 9000) == "lines read 5000, 99 %, 1 s left");
	CHECK(line(5000, 1, UINT64_MAX, UINT64_MAX / 2000).rfind("lines read 5000, 0 %", 0) == 0);
}
