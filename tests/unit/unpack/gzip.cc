// SPDX-License-Identifier: GPL-3.0-or-later
// gzip and zlib, names, and the limits that all formats have.
#include <catch2/catch.hpp>

#include "lib/unpack/unpack_name.h"
#include "tests/unit/unpack/unpacking.hh"

namespace
{

std::string some_text()
{
	std::string text;
	for (int i = 0; i < 3000; i++)
		text += "line " + std::to_string(i * 7919) + "\n";
	return text;
}

std::string shown(const std::string &raw, enum unpack_charset charset = UNPACK_NAME_LATIN1)
{
	char name[UNPACK_NAME_SIZE];
	unpack_name(reinterpret_cast<const uint8_t *>(raw.data()), raw.size(), charset, name);
	return name;
}

} // namespace

TEST_CASE("rows that are opened here say so", "[unpack][rows]")
{
	for (const enum content_kind kind : { CONTENT_GZIP, CONTENT_ZLIB, CONTENT_ZIP }) {
		const struct unpack_row *row = unpack_find(kind);
		REQUIRE(row != nullptr);
		CHECK(unpack_place(row) == UNPACK_HERE);
	}
	CHECK(unpack_find(CONTENT_TEXT) == nullptr);
	for (unsigned flaw = 0; flaw <= UNPACK_FLAW_COUNT; flaw++)
		CHECK(std::string(unpack_flaw_text(static_cast<enum unpack_flaw>(flaw))) != "");
}

TEST_CASE("gzip and zlib give what was put in", "[unpack][gzip]")
{
	const std::string text = some_text();
	for (const size_t piece : { size_t(1), size_t(7), size_t(1024), SIZE_MAX }) {
		CHECK(unpack_all(CONTENT_GZIP, deflated(text, 31), UNPACK_BUDGET, piece).all() ==
		      "=" + text + ";");
		CHECK(unpack_all(CONTENT_ZLIB, deflated(text, 15), UNPACK_BUDGET, piece).all() ==
		      "=" + text + ";");
	}
}

TEST_CASE("members of a gzip file are one, and have the first one's name", "[unpack][gzip]")
{
	std::string named = "\x1f\x8b\x08";
	named += std::string("\x1e\0\0\0\0\0\3\3\0abca\x1b\xe9.txt\0remark\0hc", 29);
	const std::string plain = deflated("second", 31);
	const std::string body = deflated("first ", 31).substr(10);
	CHECK(unpack_all(CONTENT_GZIP, named + body + plain + std::string(40, '\0')).all() ==
	      "a?\xc3\xa9.txt=first second;");
	CHECK(unpack_all(CONTENT_GZIP, plain + named + body).all() == "=secondfirst ;");
}

TEST_CASE("what is wrong with a gzip file is said, and its bytes are given", "[unpack][gzip]")
{
	const std::string plain = deflated("some text", 31);
	CHECK(unpack_all(CONTENT_GZIP, plain + "more").all() == "=some text;!damaged: ");
	CHECK(unpack_all(CONTENT_GZIP, plain + "\x1fmore").all() == "=some text;!damaged: ");
	std::string wrong = plain;
	wrong[wrong.size() - 8] ^= 1;
	CHECK(unpack_all(CONTENT_GZIP, wrong).all() == "=some text;!damaged: ");
	wrong = plain;
	wrong[wrong.size() - 1] ^= 1;
	CHECK(unpack_all(CONTENT_GZIP, wrong).all() == "=some text;!damaged: ");
	wrong = plain;
	wrong[10] = '\xff';
	CHECK(unpack_all(CONTENT_GZIP, wrong).has("damaged: "));
	wrong = plain;
	wrong[2] = 7;
	CHECK(unpack_all(CONTENT_GZIP, wrong).all() == "!unsupported method: ");
	CHECK(unpack_all(CONTENT_GZIP, "BZ").all() == "!damaged: ");
	wrong = deflated("some text", 15);
	wrong[wrong.size() - 1] ^= 1;
	CHECK(unpack_all(CONTENT_ZLIB, wrong).all() == "=some text;!damaged: ");
	CHECK(unpack_all(CONTENT_ZLIB, deflated("some text", 15) + "more").all() ==
	      "=some text;!damaged: ");
	CHECK(unpack_all(CONTENT_ZLIB, "\x78\x9d").all() == "!damaged: ");
	CHECK(unpack_all(CONTENT_ZLIB, "\x78\xbb").all() == "!unsupported method: ");
}

TEST_CASE("a gzip file that is cut anywhere says so, unless it was cut elsewhere", "[unpack][gzip]")
{
	const std::string whole = deflated(some_text().substr(0, 500), 31);
	for (size_t size = 0; size < whole.size(); size++) {
		const std::string cut = whole.substr(0, size);
		const Unpacked unpacked = unpack_all(CONTENT_GZIP, cut);
		REQUIRE(unpacked.has("cut: "));
		REQUIRE((unpacked.members.empty() || !unpacked.members[0].is_whole));
		REQUIRE(unpack_all(CONTENT_GZIP, cut, UNPACK_BUDGET, 3, false).flaws.empty());
	}
}

TEST_CASE("a limit is met at the same byte however the input is cut", "[unpack][limits]")
{
	const std::string bomb = deflated(std::string(20 << 20, 'x'), 31);
	const Unpacked whole = unpack_all(CONTENT_GZIP, bomb);
	CHECK(whole.has("ratio: "));
	REQUIRE(whole.members.size() == 1);
	CHECK(whole.members[0].data.size() < (4 << 20));
	for (const size_t piece : { size_t(1), size_t(100), size_t(1500) })
		CHECK(unpack_all(CONTENT_GZIP, bomb, UNPACK_BUDGET, piece).all() == whole.all());

	struct unpack_budget budget = UNPACK_BUDGET;
	budget.ratio = 0; // none
	budget.total_left = 12345;
	const Unpacked total = unpack_all(CONTENT_GZIP, bomb, budget, 77);
	REQUIRE(total.members.size() == 1);
	CHECK(total.members[0].data.size() == 12345);
	CHECK_FALSE(total.members[0].is_whole);
	CHECK(total.has("total size: "));
	CHECK(total.left.total_left == 0);

	budget.total_left = 20 << 20;
	CHECK(unpack_all(CONTENT_GZIP, bomb, budget).flaws.empty());
	budget.members_left = 0;
	CHECK(unpack_all(CONTENT_GZIP, bomb, budget).all() == "!members: ");
}

TEST_CASE("a name is UTF-8 that does no harm", "[unpack][name]")
{
	CHECK(shown("a/b.txt") == "a/b.txt");
	CHECK(shown("a\r\n\x7f\x1b[") == "a????[");
	CHECK(shown("\xc3\xa4") == "\xc3\xa4");
	CHECK(shown("\xe4") == "\xc3\xa4");
	CHECK(shown("\x84", UNPACK_NAME_CP437) == "\xc3\xa4");
	CHECK(shown("\xc3\xa4", UNPACK_NAME_CP437) == "\xc3\xa4");
	CHECK(shown("gpj.\xe2\x80\xae"
		    "exe") == "gpj.?exe");
	CHECK(shown("\xed\xa0\x80") == "\xc3\xad\xc2\xa0?"); // half of a surrogate is no character
	CHECK(shown("\xc0\xaf") == "\xc3\x80\xc2\xaf");
	CHECK(shown(std::string("a\0b", 3)) == "a");
	CHECK(shown("\xf0\x9f\x98\x80") == "\xf0\x9f\x98\x80");
	CHECK(shown(std::string(300, 'x')).size() < UNPACK_NAME_SIZE);
	std::string umlauts;
	for (int i = 0; i < 200; i++)
		umlauts += "\xc3\xa4";
	CHECK(shown(umlauts.substr(0, 257)).size() % 2 == 0);
}
