// SPDX-License-Identifier: GPL-3.0-or-later
// Files in sections of OneNote, and what Office saves with pages.
#include <catch2/catch.hpp>

#include "tests/unit/unpack/unpacking.hh"

namespace
{

std::string taken_from(enum content_kind kind, const std::string &bytes)
{
	const Unpacked whole = unpack_all(kind, bytes);
	for (const size_t piece : { 1, 2, 7 })
		CHECK(unpack_all(kind, bytes, UNPACK_BUDGET, piece).all() == whole.all());
	return whole.all();
}

const std::string mark("\xe7\x16\xe3\xbd\x65\x26\x11\x45\xa4\xc4\x8d\x4d\x0b\x7a\x9e\xac");

std::string file_of(const std::string &bytes, uint64_t size)
{
	return mark + little(size, 8) + std::string(12, '\0') + bytes;
}

std::string mso_of(const std::string &bytes, uint64_t offset)
{
	return std::string("ActiveMime\0\0", 12) + std::string(18, '.') + little(offset - 46, 2) +
	       std::string(offset - 32, '.') + bytes;
}

} // namespace

TEST_CASE("files in OneNote come out wherever they stand", "[unpack][onenote]")
{
	CHECK(taken_from(CONTENT_ONENOTE, "a section without").empty());
	CHECK(taken_from(CONTENT_ONENOTE, "before" + file_of("one", 3) + "between " + mark[0] +
						  file_of("", 0) + file_of(mark, 16) + "behind") ==
	      "file 1=one;file 2=;file 3=" + mark + ";");
	CHECK(taken_from(CONTENT_ONENOTE, std::string("x") + mark[0] + file_of("two", 3)) ==
	      "file 1=two;");
}

TEST_CASE("a file of OneNote hides none that is in it, or in its head", "[unpack][onenote]")
{
	const std::string inner = file_of("malware", 7);
	const std::string outer = "a" + inner + "b";
	CHECK(taken_from(CONTENT_ONENOTE, file_of(outer, outer.size())) ==
	      "file 1=" + outer + ";file 2=malware;");
	CHECK(taken_from(CONTENT_ONENOTE, file_of("a" + inner, UINT64_MAX)) ==
	      "file 1=a" + inner + "|file 2=malware;!cut: file 1");
	// Its unused bytes, and its first ones.
	const std::string head = mark + little(33, 8) + "unused";
	CHECK(taken_from(CONTENT_ONENOTE, head + inner) ==
	      "file 1=" + inner.substr(6, 33) + ";file 2=malware;");
}

TEST_CASE("files of OneNote within one another have a limit", "[unpack][onenote]")
{
	std::string bytes;
	for (int i = 0; i < 9; i++)
		bytes += file_of("", 1000);
	const std::string all = taken_from(CONTENT_ONENOTE, bytes + std::string(1000, 'x'));
	CHECK(all.find("file 8=") != std::string::npos);
	CHECK(all.find("file 9=") == std::string::npos);
	CHECK(all.find("!members: ") != std::string::npos);
	struct unpack_budget budget = UNPACK_BUDGET;
	budget.total_left = 101;
	const std::string two = file_of("", 200) + file_of(std::string(300, 'x'), 300);
	const std::string whole = unpack_all(CONTENT_ONENOTE, two, budget).all();
	CHECK(whole.find("!total size: ") != std::string::npos);
	CHECK(unpack_all(CONTENT_ONENOTE, two, budget, 1).all() == whole);
}

TEST_CASE("a file of OneNote whose size lies ends with the section", "[unpack][onenote]")
{
	CHECK(taken_from(CONTENT_ONENOTE, file_of("abc", UINT64_MAX)) == "file 1=abc|!cut: file 1");
	CHECK(taken_from(CONTENT_ONENOTE, file_of("", 9).substr(0, 20)).empty());
}

TEST_CASE("ActiveMime is opened where its head says", "[unpack][mso]")
{
	for (const uint64_t offset : { 50, 554, 1000 })
		CHECK(taken_from(CONTENT_MSO, mso_of(deflated("a document", 15), offset)) ==
		      "=a document;");
	CHECK(taken_from(CONTENT_MSO, mso_of("none", 50)) == "!damaged: ");
	CHECK(taken_from(CONTENT_MSO, mso_of("", 50)) == "!cut: ");
}
