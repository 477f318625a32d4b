// SPDX-License-Identifier: GPL-3.0-or-later
#include "integration/mail/base/scan/scan_frame.h"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace
{

std::vector<uint8_t> write_frame(const scan_frame &frame)
{
	std::vector<uint8_t> bytes(SCAN_FRAME_MAX);
	bytes.resize(scan_frame_write(&frame, bytes.data()));
	return bytes;
}

int read_frame(const std::vector<uint8_t> &bytes, scan_frame_direction direction,
	       scan_frame *ret_frame)
{
	return scan_frame_read(bytes.data(), bytes.size(), direction, ret_frame);
}

scan_frame begin_frame()
{
	scan_frame frame = {};
	frame.type = SCAN_FRAME_BEGIN;
	frame.origin.kind = CONTENT_RAR;
	frame.origin.depth = 3;
	frame.origin.is_guess = true;
	frame.number = 70000;
	frame.budget.total_left = UINT64_C(1) << 40;
	frame.budget.ratio = 200;
	frame.budget.ratio_from = 1 << 20;
	frame.budget.spool_left = 5;
	frame.budget.members_left = 9999;
	strcpy(frame.path, "part 2 / a.zip");
	return frame;
}

scan_frame finding_frame()
{
	scan_frame frame = {};
	frame.type = SCAN_FRAME_FINDING;
	frame.finding.class_ = INSPECT_SUSPICIOUS;
	frame.finding.offset = 77;
	strcpy(frame.finding.name, "suspicious: lying");
	strcpy(frame.finding.path, "a.rar / gr\xc3\xbc.exe");
	return frame;
}

} // namespace

TEST_CASE("a frame is read as it was written", "[mail-scan]")
{
	scan_frame read = {};

	SECTION("begin")
	{
		REQUIRE(read_frame(write_frame(begin_frame()), SCAN_FRAME_TO_DECODER, &read) == 0);
		CHECK(read.origin.kind == CONTENT_RAR);
		CHECK(read.origin.depth == 3);
		CHECK(read.origin.is_guess);
		CHECK_FALSE(read.origin.is_beside);
		CHECK(read.number == 70000);
		CHECK(read.budget.total_left == UINT64_C(1) << 40);
		CHECK(read.budget.members_left == 9999);
		CHECK(std::string(read.path) == "part 2 / a.zip");
	}
	SECTION("data")
	{
		const uint8_t bytes[] = { 0, 1, 2 };
		scan_frame frame = {};
		frame.type = SCAN_FRAME_DATA;
		frame.number = 4;
		frame.bytes = bytes;
		frame.size = sizeof(bytes);
		REQUIRE(read_frame(write_frame(frame), SCAN_FRAME_TO_DECODER, &read) == 0);
		CHECK(read.number == 4);
		REQUIRE(read.size == sizeof(bytes));
	}
	SECTION("finding")
	{
		REQUIRE(read_frame(write_frame(finding_frame()), SCAN_FRAME_TO_SCANNER, &read) ==
			0);
		CHECK(read.finding.class_ == INSPECT_SUSPICIOUS);
		CHECK(read.finding.offset == 77);
		CHECK(std::string(read.finding.name) == "suspicious: lying");
		CHECK(std::string(read.finding.path) == "a.rar / gr\xc3\xbc.exe");
	}
	SECTION("finished")
	{
		scan_frame frame = {};
		frame.type = SCAN_FRAME_FINISHED;
		frame.counts[INSPECT_BOMB] = 3;
		frame.looked_at = 123456;
		frame.objects = 5;
		frame.budget.total_left = 99;
		REQUIRE(read_frame(write_frame(frame), SCAN_FRAME_TO_SCANNER, &read) == 0);
		CHECK(read.counts[INSPECT_BOMB] == 3);
		CHECK(read.looked_at == 123456);
		CHECK(read.objects == 5);
		CHECK(read.budget.total_left == 99);
	}
}

TEST_CASE("what is not exactly a frame is refused", "[mail-scan]")
{
	scan_frame read = {};
	std::vector<uint8_t> bytes = write_frame(begin_frame());

	SECTION("the other direction's")
	{
		CHECK(read_frame(bytes, SCAN_FRAME_TO_SCANNER, &read) == -EBADMSG);
		CHECK(read_frame(write_frame(finding_frame()), SCAN_FRAME_TO_DECODER, &read) ==
		      -EBADMSG);
	}
	SECTION("nothing, or an unknown type")
	{
		CHECK(read_frame({}, SCAN_FRAME_TO_SCANNER, &read) == -EBADMSG);
		CHECK(read_frame({ 0 }, SCAN_FRAME_TO_DECODER, &read) == -EBADMSG);
		CHECK(read_frame({ 99 }, SCAN_FRAME_TO_SCANNER, &read) == -EBADMSG);
	}
	SECTION("a kind, a depth or a class that there is not")
	{
		bytes[1] = CONTENT_KIND_COUNT;
		CHECK(read_frame(bytes, SCAN_FRAME_TO_DECODER, &read) == -EBADMSG);
		bytes[1] = CONTENT_RAR;
		bytes[2] = INSPECT_DEPTH + 1;
		CHECK(read_frame(bytes, SCAN_FRAME_TO_DECODER, &read) == -EBADMSG);
		bytes = write_frame(finding_frame());
		bytes[1] = INSPECT_CLASS_COUNT;
		CHECK(read_frame(bytes, SCAN_FRAME_TO_SCANNER, &read) == -EBADMSG);
	}
	SECTION("a text with an end of line, or one that is longer than its packet")
	{
		bytes.back() = '\n';
		CHECK(read_frame(bytes, SCAN_FRAME_TO_DECODER, &read) == -EBADMSG);
		bytes = write_frame(finding_frame());
		bytes[10] = 255;
		CHECK(read_frame(bytes, SCAN_FRAME_TO_SCANNER, &read) == -EBADMSG);
	}
	SECTION("one byte more, or less")
	{
		scan_frame frame = {};
		frame.type = SCAN_FRAME_FINISHED;
		bytes = write_frame(frame);
		bytes.push_back(0);
		CHECK(read_frame(bytes, SCAN_FRAME_TO_SCANNER, &read) == -EBADMSG);
		bytes.resize(bytes.size() - 2);
		CHECK(read_frame(bytes, SCAN_FRAME_TO_SCANNER, &read) == -EBADMSG);
	}
}
