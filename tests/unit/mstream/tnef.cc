// SPDX-License-Identifier: GPL-3.0-or-later
// Attachments in winmail.dat, in pieces of any size.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "lib/mstream/tnef.h"
#include "tests/unit/mstream/files.hh"

namespace
{

Files read_tnef(const std::string &text, size_t piece, bool is_whole)
{
	struct tnef tnef;
	Files files;
	tnef_begin(&tnef);
	in_pieces(text, piece, [&](const uint8_t *bytes, size_t size) {
		tnef_push(&tnef, bytes, size, files_functions(), &files);
	});
	tnef_end(&tnef, is_whole, files_functions(), &files);
	return files;
}

// The same in all pieces.
Files read_in_pieces(const std::string &text, bool is_whole = true)
{
	const Files whole = read_tnef(text, text.size() + 1, is_whole);
	CHECK_FALSE(whole.is_wrong);
	CHECK_FALSE(whole.is_open);
	for (const size_t piece : { 1, 2, 3, 5, 7, 64, 1000 }) {
		const Files files = read_tnef(text, piece, is_whole);
		CHECK_FALSE(files.is_wrong);
		CHECK(files.all == whole.all);
		CHECK(files.odd == whole.odd);
	}
	return whole;
}

std::string number(uint64_t value, int size)
{
	std::string bytes;
	for (int i = 0; i < size; i++)
		bytes += static_cast<char>(value >> (8 * i));
	return bytes;
}

std::string attribute(int level, unsigned id, const std::string &data, int wrong = 0)
{
	unsigned sum = 0;
	for (const char byte : data)
		sum += static_cast<uint8_t>(byte);
	return number(static_cast<unsigned>(level), 1) + number(id, 2) + number(6, 2) +
	       number(data.size(), 4) + data + number(sum + static_cast<unsigned>(wrong), 2);
}

std::string tnef_of(const std::string &attributes)
{
	return number(0x223e9f78, 4) + number(7, 2) + attributes;
}

std::string padded(const std::string &bytes)
{
	return bytes + std::string(-bytes.size() & 3, '\0');
}

std::string property(unsigned id, unsigned type, const std::string &value)
{
	return number(type, 2) + number(id, 2) + number(1, 4) + number(value.size(), 4) +
	       padded(value);
}

std::string properties(const std::vector<std::string> &all)
{
	std::string bytes = number(all.size(), 4);
	for (const std::string &one : all)
		bytes += one;
	return bytes;
}

std::string wide(const std::u16string &text)
{
	std::string bytes;
	for (const char16_t unit : text)
		bytes += number(unit, 2);
	return bytes;
}

std::string attachment(const std::string &name, const std::string &data)
{
	return attribute(2, 0x9002, std::string(14, '\0')) +
	       attribute(2, 0x8010, name + std::string(1, '\0')) + attribute(2, 0x800f, data);
}

const std::vector<enum mstream_oddity> bad = { MSTREAM_BAD_CODING };
const std::vector<enum mstream_oddity> no_end = { MSTREAM_NO_END };

} // namespace

TEST_CASE("attachments have their names and bytes", "[mstream][tnef]")
{
	CHECK(sizeof(struct tnef) < 1024);
	const std::string some = some_bytes(3000);
	const Files files = read_in_pieces(tnef_of(attribute(1, 0x9006, number(0x10000, 4)) +
						   attachment("a.exe", some) + attachment("", "") +
						   attachment(std::string(300, 'n'), "x")));
	CHECK(files.odd.empty());
	REQUIRE(files.all.size() == 3);
	CHECK(files.all[0] == File{ MSTREAM_TNEF, "a.exe", some, true });
	CHECK(files.all[1] == File{ MSTREAM_TNEF, "", "", true });
	CHECK(files.all[2] ==
	      File{ MSTREAM_TNEF, std::string(MSTREAM_NAME_SIZE - 1, 'n'), "x", true });
	// The name of one is not the next one's.
	const Files two = read_in_pieces(tnef_of(attachment("a", "1") + attribute(2, 0x9002, "") +
						 attribute(2, 0x800f, "2")));
	REQUIRE(two.all.size() == 2);
	CHECK(two.all[1].name.empty());
}

TEST_CASE("properties of MAPI have bodies, names and data", "[mstream][tnef]")
{
	const std::string iid(16, 'i');
	const std::string guid(16, 'g');
	const std::vector<std::string> fixed = {
		number(0x02, 2) + number(0x1111, 2) + number(1, 4),
		number(0x0b, 2) + number(0x1112, 2) + number(1, 4),
		number(0x40, 2) + number(0x1113, 2) + number(1, 8),
		number(0x48, 2) + number(0x1114, 2) + guid,
		number(0x1003, 2) + number(0x1115, 2) + number(3, 4) + number(0, 12),
		// Named by a number, and by a name.
		number(0x03, 2) + number(0x8001, 2) + guid + number(0, 4) + number(5, 4) +
			number(1, 4),
		number(0x1e, 2) + number(0x8002, 2) + guid + number(1, 4) + number(6, 4) +
			padded(wide(u"abc")) + number(1, 4) + number(5, 4) + padded("value"),
		// Several values.
		number(0x101e, 2) + number(0x1116, 2) + number(2, 4) + number(1, 4) + padded("a") +
			number(0, 4),
	};
	std::vector<std::string> body = fixed;
	body.push_back(property(0x1009, 0x102, "LZFu."));
	body.insert(body.end(), fixed.begin(), fixed.end());
	body.push_back(property(0x1013, 0x102, "<html>"));
	body.push_back(property(0x1000, 0x1f, wide(u"hi gr\u00f6\u20ac\U0001f600\xdc00") + "x"));
	const std::vector<std::string> attached = {
		property(0x3707, 0x1f, wide(u"gr\u00f6\u20ac\U0001f600.exe") + number(0, 2)),
		property(0x3701, 0x0d, iid + "object"),
		property(0x3704, 0x1e, std::string("short\0more", 10)),
		property(0x3701, 0x102, "binary"),
		property(0x3707, 0x1f, number(0xd800, 2) + wide(u"x") + number(0xdc00, 2)),
		property(0x3701, 0x0d, "tiny"),
	};
	const Files files = read_in_pieces(tnef_of(attribute(1, 0x9003, properties(body)) +
						   attribute(2, 0x9002, "") +
						   attribute(2, 0x9005, properties(attached))));
	CHECK(files.odd.empty());
	REQUIRE(files.all.size() == 6);
	CHECK(files.all[0] == File{ MSTREAM_TNEF, "body.rtf", "LZFu.", true });
	CHECK(files.all[1] == File{ MSTREAM_TNEF, "body.html", "<html>", true });
	CHECK(files.all[2] ==
	      File{ MSTREAM_TNEF, "body.txt", "hi gr\u00f6\u20ac\U0001f600?", true });
	CHECK(files.all[3] == File{ MSTREAM_TNEF, "gr\u00f6\u20ac\U0001f600.exe", "object", true });
	CHECK(files.all[4] == File{ MSTREAM_TNEF, "short", "binary", true });
	CHECK(files.all[5] == File{ MSTREAM_TNEF, "?x?", "tiny", true });
}

TEST_CASE("sums and lengths that lie are said", "[mstream][tnef]")
{
	const std::string one = attachment("a", "data");
	CHECK(read_in_pieces(tnef_of(attribute(1, 0x8004, "subject", 1) + one)).odd == bad);
	CHECK(read_in_pieces(tnef_of(attribute(1, 0x8004, "subject", 1) + one)).all.size() == 1);
	CHECK(read_in_pieces("not a TNEF at all").odd == bad);
	CHECK(read_in_pieces("not a TNEF at all").all.empty());
	CHECK(read_in_pieces("").odd == no_end);
	CHECK(read_in_pieces("", false).odd.empty());
	// A level that there is none, with an attribute behind it; what is too short for any.
	CHECK(read_in_pieces(tnef_of(one + attribute(3, 0x8004, "x") + one)).all.size() == 2);
	CHECK(read_in_pieces(tnef_of(one + attribute(3, 0x8004, "x") + one)).odd == bad);
	CHECK(read_in_pieces(tnef_of(one + "\n")).odd.empty());

	// Cut anywhere.
	const std::string whole = tnef_of(one);
	for (size_t size = whole.size() - 16; size < whole.size(); size++) {
		const Files files = read_in_pieces(whole.substr(0, size));
		if (size == whole.size() - 15)
			CHECK(files.odd.empty());
		CHECK(read_in_pieces(whole.substr(0, size), false).odd.empty());
	}
	const Files cut = read_in_pieces(whole.substr(0, whole.size() - 4));
	REQUIRE(cut.all.size() == 1);
	CHECK(cut.all[0] == File{ MSTREAM_TNEF, "a", "da", true });
	CHECK(cut.odd == no_end);
	CHECK_FALSE(read_in_pieces(whole.substr(0, whole.size() - 4), false).all[0].is_whole);

	// More than there is: bytes to the end are its bytes.
	std::string lying = whole;
	lying.replace(lying.size() - 10, 4, number(UINT32_MAX, 4));
	CHECK(read_in_pieces(lying).all[0].bytes == "data" + lying.substr(lying.size() - 2));
	CHECK(read_in_pieces(lying).odd == no_end);
}

TEST_CASE("properties that lie end with their attribute", "[mstream][tnef]")
{
	const auto read_one = [](const std::string &bytes) {
		return read_in_pieces(tnef_of(attribute(2, 0x9005, bytes) + attachment("a", "b")));
	};
	// A value that is longer than the attribute.
	const std::string longer = number(1, 4) + number(0x102, 2) + number(0x3701, 2) +
				   number(1, 4) + number(UINT32_MAX, 4) + "some";
	REQUIRE(read_one(longer).all.size() == 2);
	CHECK(read_one(longer).all[0].bytes == "some");
	CHECK(read_one(longer).odd == bad);
	// A type that there is none.
	CHECK(read_one(number(1, 4) + number(0x77, 2) + number(0x3701, 2)).odd == bad);
	CHECK(read_one(number(1, 4) + number(0x77, 2) + number(0x3701, 2)).all.size() == 1);
	// Numbers of properties, of values, of bytes in a name.
	CHECK(read_one(number(UINT32_MAX, 4) + property(0x3701, 0x102, "x")).all.size() == 2);
	CHECK(read_one(number(0, 4) + property(0x3701, 0x102, "x")).all.size() == 1);
	CHECK(read_one(number(1, 4) + number(0x1014, 2) + number(1, 2) + number(UINT32_MAX, 4))
		      .all.size() == 1);
	CHECK(read_one(number(1, 4) + number(3, 2) + number(0x8000, 2) + std::string(16, 'g') +
		       number(1, 4) + number(UINT32_MAX, 4))
		      .all.size() == 1);
	CHECK(read_one(number(1, 4) + number(0x102, 2) + number(0x3701, 2) + number(UINT32_MAX, 4) +
		       number(0, 4) + number(0, 4))
		      .all.size() == 3);
}
