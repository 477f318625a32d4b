// SPDX-License-Identifier: GPL-3.0-or-later
// Bodies of Outlook's mails, RTF that is compressed.
#include <catch2/catch.hpp>

#include "tests/unit/unpack/unpacking.hh"

namespace
{

std::string body_of(const std::string &mark, const std::string &data, uint64_t size, uint32_t crc)
{
	return little(data.size() + 12, 4) + little(size, 4) + mark + little(crc, 4) + data;
}

std::string all_of(const std::string &bytes)
{
	const Unpacked whole = unpack_all(CONTENT_LZFU, bytes);
	for (const size_t piece : { 1, 2, 7 })
		CHECK(unpack_all(CONTENT_LZFU, bytes, UNPACK_BUDGET, piece).all() == whole.all());
	return whole.all();
}

// The example of MS-OXRTFCP, 4.1.
const std::string
	example("\x03\x00\x0a\x00\x72\x63\x70\x67\x31\x32\x35\x42\x32\x0a\xf3\x20\x68\x65\x6c"
		"\x09\x00\x20\x62\x77\x05\xb0\x6c\x64\x7d\x0a\x80\x0f\xa0",
		33);
const std::string text = "{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n";

} // namespace

TEST_CASE("a body comes out as it was", "[unpack][lzfu]")
{
	CHECK(all_of(body_of("LZFu", example, 43, 0xa7c7c5f1)) == "=" + text + ";");
	CHECK(all_of(body_of("LZFu", example + "behind", 43, 0xa7c7c5f1)) == "=" + text + ";");
	CHECK(all_of(body_of("MELA", text, text.size(), 0)) == "=" + text + ";");
	// A copy that goes on into what it makes, "xxx...", as long as there is room for it.
	const std::string run = std::string("\x02x", 2) + std::string("\x0c\xff", 2) + "yyyyyy";
	CHECK(all_of(body_of("LZFu", run, 18, 0)) == "=" + std::string(18, 'x') + ";");
}

TEST_CASE("a body that lies gives what there is", "[unpack][lzfu]")
{
	CHECK(all_of(body_of("LZFu", example, 43, 1)) == "=" + text + ";!damaged: ");
	CHECK(all_of(body_of("LZFu", example, 5, 0xa7c7c5f1)) == "={\\rtf;");
	CHECK(all_of(body_of("LZFu", example.substr(0, 12), 43, 0)).find("!cut: ") !=
	      std::string::npos);
	CHECK(all_of(body_of("MELA", "abc", 100, 0)) == "=abc;!cut: ");
	CHECK(all_of(body_of("MELA", "", 0, 0)) == "=;");
	CHECK(all_of(body_of("LZFu", "", 10, 0).substr(0, 15)) == "!cut: ");
	CHECK(all_of(body_of("none", "abc", 3, 0)) == "!damaged: ");
}
