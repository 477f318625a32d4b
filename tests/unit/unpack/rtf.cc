// SPDX-License-Identifier: GPL-3.0-or-later
// Objects in texts of RTF, as readers take them, and as malware writes them.
#include <catch2/catch.hpp>

#include "tests/unit/unpack/unpacking.hh"

namespace
{

std::string hex_of(const std::string &bytes)
{
	static const char digits[] = "0123456789abcdef";
	std::string text;
	for (const char byte : bytes) {
		text += digits[static_cast<uint8_t>(byte) >> 4];
		text += digits[static_cast<uint8_t>(byte) & 15];
	}
	return text;
}

std::string string_of(const std::string &text)
{
	return little(text.size() + 1, 4) + text + std::string(1, '\0');
}

std::string object_of(const std::string &name, const std::string &data)
{
	return little(0x501, 4) + little(2, 4) + string_of(name) + little(0, 4) + little(0, 4) +
	       little(data.size(), 4) + data + "a picture of it";
}

std::string package_of(const std::string &name, const std::string &file)
{
	return little(2, 2) + name + std::string(1, '\0') + "C:\\x" + std::string(1, '\0') +
	       little(0x30000, 4) + little(3, 4) + "C:\\" + little(file.size(), 4) + file + "more";
}

std::string rtf_of(const std::string &digits)
{
	return "{\\rtf1 text \\'e4{\\object\\objemb{\\*\\objclass x}{\\*\\objdata " + digits +
	       "}{\\result {x}}} text}";
}

std::string objects_of(const std::string &rtf)
{
	const Unpacked whole = unpack_all(CONTENT_RTF, rtf);
	for (const size_t piece : { 1, 2, 7, 100 })
		CHECK(unpack_all(CONTENT_RTF, rtf, UNPACK_BUDGET, piece).all() == whole.all());
	return whole.all();
}

} // namespace

TEST_CASE("objects of a text come out, and files of the packager", "[unpack][rtf]")
{
	const std::string large(10000, 'x');
	CHECK(objects_of("{\\rtf1 text}").empty());
	CHECK(objects_of(rtf_of(hex_of(object_of("Equation.3", "data")))) == "Equation.3=data;");
	CHECK(objects_of(rtf_of(hex_of(object_of("Word", large)))) == "Word=" + large + ";");
	CHECK(objects_of(rtf_of(hex_of(object_of("Package", package_of("a.exe", "file"))))) ==
	      "a.exe=file;");
	CHECK(objects_of(rtf_of(hex_of(object_of("Package", package_of("a.exe", large))))) ==
	      "a.exe=" + large + ";");
	CHECK(objects_of(rtf_of(hex_of(object_of("pAcKaGe", package_of("a.exe", "file"))))) ==
	      "a.exe=file;");
	std::string third = package_of("a.exe", "file");
	third[0] = 3;
	CHECK(objects_of(rtf_of(hex_of(object_of("Package", third)))) == "a.exe=file;");
	CHECK(objects_of(rtf_of(hex_of(object_of("Package", "other")))) == "Package=other;");
	const std::string two = rtf_of(hex_of(object_of("a", "1")));
	CHECK(objects_of(two + two) == "a=1;a=1;");
}

TEST_CASE("what stands between the digits is passed", "[unpack][rtf]")
{
	const std::string digits = hex_of(object_of("a", "data"));
	std::string odd;
	for (size_t at = 0; at < digits.size(); at++) {
		odd += digits[at];
		odd += at % 5 == 0    ? "\r\n"
		       : at % 5 == 1  ? "\\par "
		       : at % 5 == 2  ? "{\\*\\abc ff}"
		       : at % 10 == 3 ? "\\'ff"
				      : "z";
	}
	CHECK(objects_of(rtf_of(odd)) == "a=data;");
	std::string upper = digits;
	for (char &digit : upper)
		digit = static_cast<char>(toupper(digit));
	CHECK(objects_of(rtf_of(upper)) == "a=data;");
	// A character drops the digit before it that has no second one.
	CHECK(objects_of(rtf_of(digits.substr(0, 20) + "f\\'41" + digits.substr(20))) == "a=data;");
	// But not in a group that is passed.
	for (const char *group : { "{\\*\\zzz \\'41}", "{\\title \\'41}" })
		CHECK(objects_of(rtf_of(digits.substr(0, 21) + group + digits.substr(21))) ==
		      "a=data;");
	// A word that begins like a destination is none, and its digits are data.
	CHECK(objects_of(rtf_of(digits.substr(0, 21) + "{\\windowcaptiozz " + digits[21] + "}" +
				digits.substr(22))) == "a=data;");
	// Destinations of the specification that are so without "\\*".
	for (const char *word : { "annotation", "upr", "xe", "headerf", "colorschememapping" })
		CHECK(objects_of(rtf_of(digits.substr(0, 20) + "{\\" + word + " 41{42}}" +
					digits.substr(20))) == "a=data;");
	// Bytes as they are, braces among them.
	const std::string object = object_of("a", "}{\\");
	CHECK(objects_of(rtf_of("\\bin" + std::to_string(object.size()) + " " + object)) ==
	      "a=}{\\;");
	// A group without a destination of its own has that of the group around it.
	CHECK(objects_of(rtf_of("{" + digits.substr(0, 21) + "{\\b " + digits.substr(21) +
				"{\\*\\abc 01{02}03}{\\pict 04{\\bin2 }}}}}}")) == "a=data;");
	CHECK(objects_of(
		      rtf_of(digits.substr(0, 20) + "{\\*\\abc {\\*\\objdata 41}{\\pict 05}}")) ==
	      "object=" + object_of("a", "data").substr(0, 10) + ";object=A;");
	// Binary bytes elsewhere are no text.
	CHECK(objects_of("{\\rtf1\\bin3 }}}" + rtf_of(digits).substr(5)) == "a=data;");
	// Fewer than none are none.
	CHECK(objects_of("{\\rtf1\\bin-99999999 " + rtf_of(digits).substr(5)) == "a=data;");
}

TEST_CASE("other forms, and objects without an end, are given as they are", "[unpack][rtf]")
{
	CHECK(objects_of(rtf_of("414243")) == "object=ABC;");
	CHECK(objects_of(rtf_of("4142434")) == "object=ABC;");
	CHECK(objects_of(rtf_of("")).empty());
	const std::string lying = little(0x501, 4) + little(2, 4) + little(0xffffffff, 4) + "name";
	CHECK(objects_of(rtf_of(hex_of(lying))) == "object=" + lying + ";");
	// A compound file, and a program, without the head of an object.
	for (const std::string &bare :
	     { "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + std::string(3000, '\0'),
	       "MZ\x90" + std::string(1, '\0') + little(3, 4) + little(4, 4) + little(0xffff, 4) +
		       std::string(3000, '\0') })
		CHECK(objects_of(rtf_of(hex_of(bare))) == "object=" + bare + ";");
	// Strings may be longer than the head that is kept.
	const std::string large(5000, 'y');
	for (const size_t size : { 2540, 2541, 2542, 2543, 2544, 2545, 5000, 60000 }) {
		const std::string topic = string_of(std::string(size, 't'));
		const std::string object = little(0x501, 4) + little(2, 4) + string_of("a") +
					   topic + topic + little(4, 4) + "data" + "more";
		CHECK(objects_of(rtf_of(hex_of(object))) == "a=data;");
	}
	const std::string file = package_of("a.exe", large);
	CHECK(objects_of(rtf_of(hex_of(little(0x501, 4) + little(2, 4) + string_of("Package") +
				       string_of(std::string(600, 't')) + little(0, 4) +
				       little(file.size(), 4) + file))) == "a.exe=" + large + ";");
	CHECK(objects_of(rtf_of(hex_of(large))) == "object=" + large + ";");
	// The data is said to be longer; the text ends.
	std::string longer = object_of("a", "data");
	longer.replace(longer.size() - 23, 4, little(0xffffffff, 4));
	CHECK(objects_of(rtf_of(hex_of(longer))) == "a=dataa picture of it;");
	CHECK(objects_of("{\\rtf1{\\*\\objdata " + hex_of(object_of("a", "data"))) == "a=data;");
	CHECK(objects_of("{\\rtf1 \\objdata 41 \\objdata 42}") == "object=A;object=B;");
	struct unpack_budget budget = UNPACK_BUDGET;
	budget.total_left = 3;
	CHECK(unpack_all(CONTENT_RTF, rtf_of(hex_of(object_of("a", "data"))), budget)
		      .has("total size: a"));
}
