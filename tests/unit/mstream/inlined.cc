// SPDX-License-Identifier: GPL-3.0-or-later
// Files as base64 in XML, in calendars and in visiting cards, in pieces of any size.
#include <string>

#include <catch2/catch.hpp>

#include "lib/mstream/inlined.h"
#include "tests/unit/mstream/files.hh"

namespace
{
Files read_inlined(const std::string &text, size_t piece, bool is_whole)
{
	struct inlined inlined;
	Files files;
	inlined_begin(&inlined);
	in_pieces(text, piece, [&](const uint8_t *bytes, size_t size) {
		inlined_push(&inlined, bytes, size, files_functions(), &files);
	});
	inlined_end(&inlined, is_whole, files_functions(), &files);
	return files;
}

// "abc;x;" for two files; ":" at the end of one that was cut. The same in all pieces.
std::string inlined_in(const std::string &text, bool is_whole = true)
{
	std::string found;
	const Files whole = read_inlined(text, text.size() + 1, is_whole);
	CHECK_FALSE(whole.is_wrong);
	CHECK_FALSE(whole.is_open);
	for (const size_t piece : { 1, 2, 3, 5, 7, 64 })
		CHECK(read_inlined(text, piece, is_whole).all == whole.all);
	for (const File &file : whole.all) {
		CHECK(file.coding == MSTREAM_BASE64);
		found += file.bytes + (file.is_whole ? ";" : ":");
	}
	return found;
}

std::string in_utf16(const std::string &text, bool is_big)
{
	std::string wide = is_big ? "\xfe\xff" : "\xff\xfe";
	for (const char byte : text)
		wide += is_big ? std::string{ '\0', byte } : std::string{ byte, '\0' };
	return wide;
}
} // namespace

TEST_CASE("files in elements of XML", "[mstream][inlined]")
{
	const std::string word =
		"<?xml version=\"1.0\"?>\r\n<?mso-application progid=\"Word.Document\"?>\r\n"
		"<w:wordDocument xmlns:w=\"x\"><w:docSuppData><w:binData w:name=\"a > b.mso\" "
		"xml:space='preserve'>\r\nYWJj\r\nZGVm\r\n</w:binData></w:docSuppData>"
		"<w:p>YWJj</w:p></w:wordDocument>";
	CHECK(inlined_in(word) == "abcdef;");
	CHECK(inlined_in(in_utf16(word, false)) == "abcdef;");
	CHECK(inlined_in(in_utf16(word, true)) == "abcdef;");
	CHECK(inlined_in("\xef\xbb\xbf \n<pkg:part><pkg:binaryData>YWJj</pkg:binaryData></pkg:part>"
			 "<pkg:part><pkg:binaryData>YQ==</pkg:binaryData></pkg:part>") == "abc;a;");
	CHECK(inlined_in("<office:binary-data>YWJj</office:binary-data>") == "abc;");
	CHECK(inlined_in("<pdf xmlns=\"x\"><document><chunk>YWJj</chunk></document></pdf>") ==
	      "abc;");
	CHECK(inlined_in("<BINARY id='x'>YWJj</BINARY>") == "abc;");
	CHECK(inlined_in("<a><base64>YWJj</base64><base64Binary\n>ZA</base64Binary></a>") ==
	      "abc;d;");
}

TEST_CASE("files in XML that is written in other ways", "[mstream][inlined]")
{
	CHECK(inlined_in("<binData><![CDATA[YWJj]]></binData>") == "abc;");
	CHECK(inlined_in("<binData>YW<!-- > x -- -->Jj<?x y?>ZA</binData>") == "abcd;");
	CHECK(inlined_in("<binData>YW<!ENTITY x>Jj</binData>") == "abc;");
	CHECK(inlined_in("<binData>&#89;&#x57;&#10;Jj&plus;&#xABCDEF;</binData>") == "abc;");
	CHECK(inlined_in("<binData>YWJj<b>ZGVm</b></binData>") == "abc;");
	CHECK(inlined_in("<binData>YWJj<binData>ZA==") == "abc;d;");
	CHECK(inlined_in("<binData>YW.Jj;</binData>") == "abc;");
	CHECK(inlined_in("<binData/>YWJj<binData x='/'>ZA==</x>") == "d;");
	CHECK(inlined_in("<binData></binData>") == ";");
	CHECK(inlined_in("<binData>YWJj", false) == "abc:");
	CHECK(inlined_in("<binData>YWJj<", true) == "abc;");
	CHECK(inlined_in("<binData>YWJj<![CDA", true) == "abc;");
}

TEST_CASE("what looks like a tag or its end in comments, instructions, CDATA and attributes",
	  "[mstream][inlined]")
{
	const std::string file = "<binData x=\"1\">YWJj</binData>";
	CHECK(inlined_in("<a><!-- <binData x=\" -->" + file) == "abc;");
	CHECK(inlined_in("<?x <binData> <!-- ?>" + file) == "abc;");
	CHECK(inlined_in("<a><![CDATA[ ]] > <binData> <!-- ]]]>" + file) == "abc;");
	CHECK(inlined_in("<!DOCTYPE a [<!ENTITY x \"<!--\"><!-- ' -->]>" + file) == "abc;");
	CHECK(inlined_in("<a<!-- <binData> -->" + file) == "abc;");
	CHECK(inlined_in("<binData x='" + file) == "abc;");
	CHECK(inlined_in("<binData x='&#39;>Y' y=\"&#x22;>Y\">YWJj</binData>") == "abc;");
	CHECK(inlined_in("<binData>YW<!--> YW -->Jj</binData>") == "abc;");
	CHECK(inlined_in("<binData>YW<!---> YW -->Jj</binData>") == "abc;");
	CHECK(inlined_in("<binData>YW<?x > YW ?>Jj</binData>") == "abc;");
	CHECK(inlined_in("<binData>YW<![CDATA[J<!--]j]]></binData>") == "abc;");
	CHECK(inlined_in("<binData>YW&amp;&#60;J&lt;&#x2028;&quot;j</binData>") == "abc;");
}

TEST_CASE("texts that are no XML, or have other elements", "[mstream][inlined]")
{
	CHECK(inlined_in("x <binData>YWJj</binData>").empty());
	CHECK(inlined_in("").empty());
	CHECK(inlined_in("\xff\xfe").empty());
	CHECK(inlined_in("<binDat>YWJj</binDat><binDataX>YWJj</binDataX><xbinData>YWJj</xbinData>")
		      .empty());
	CHECK(inlined_in("<averyveryverylongname:averyveryverylongname>YWJj").empty());
	CHECK(inlined_in("<!DOCTYPE html><!-- x --><HTML lang='x'><binData>YWJj</binData>")
		      .empty());
	CHECK(inlined_in("<a><html><b><br/><bi\n><base><binData>YWJj</binData>") == "abc;");
	CHECK(inlined_in("</binData>YWJj<html><p>binData>YWJj").empty());
}

TEST_CASE("files in lines of calendars and visiting cards", "[mstream][inlined]")
{
	CHECK(inlined_in("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nATTACH;FMTTYPE=application/"
			 "msword;ENCODING=BASE64;"
			 "VALUE=BINARY;X-FILENAME=\"a:b;c.doc\":YWJj\r\n "
			 "ZGVm\r\n\tZw==\r\nEND:VEVENT\r\n"
			 "ATTACH;ENCODING=\"base64\":YWJj\r\nEND:VCALENDAR\r\n") == "abcdefg;abc;");
	CHECK(inlined_in("begin:vcard\nitem1.PHOTO;ENCODING=b;TYPE=JPEG:YWJj\nKEY;BASE64:\n "
			 "ZGVm\n\nEND:VCARD\n") == "abc;def;");
	// vCard 2.1: not folded, up to an empty line, or what is none of base64.
	CHECK(inlined_in("BEGIN:VCARD\r\nPHOTO;ENCODING=BASE64;JPEG:"
			 "\r\nYWJj\r\nZGVm\r\n\r\nYWJj\r\n") == "abcdef;");
	CHECK(inlined_in("BEGIN:VCARD\r\nPHOTO;ENCODING=BASE64:\r\nYQ==\r\nURL:YWJj\r\n")
		      .substr(0, 1) == "a");
	// Names and parameters may be folded anywhere.
	CHECK(inlined_in("BEGIN:VCALENDAR\r\nATT\r\n ACH;ENCO\r\n DING=BA\r\n\tSE64\r\n :YW\r\n "
			 "Jj\r\nX:y\r\n") == "abc;");
	CHECK(inlined_in("BEGIN:VCALENDAR\r\nATTACH;X=\"&#34;\";ENCODING=BASE64:YWJj\r\nX:y\r\n") ==
	      "abc;");
	CHECK(inlined_in("BEGIN:VCALENDAR\r\nATTACH;ENCODING=BASE64:YWJj", false) == "abc:");
	CHECK(inlined_in(in_utf16("BEGIN:VCALENDAR\r\nATTACH;ENCODING=BASE64:YWJj\r\nX:y\r\n",
				  false)) == "abc;");
}

TEST_CASE("lines of calendars and visiting cards may end in a CR", "[mstream][inlined]")
{
	CHECK(inlined_in("BEGIN:VCARD\rVERSION:3.0\rPHOTO;ENCODING=b:YWJj\rEND:VCARD\r") == "abc;");
	CHECK(inlined_in("BEGIN:VCARD\rPHOTO;ENCO\r DING=b:YW\r\tJj\rKEY;ENCODING=b:ZGVm\r\n "
			 "Zw==\rEND:VCARD") == "abc;defg;");
	// One within a value is nothing, unless a property follows.
	CHECK(inlined_in("BEGIN:VCARD\r\nPHOTO;ENCODING=b:YWJj\rZGVm\rZ2hp\r\nEND:VCARD\r\n") ==
	      "abcdefghi;");
	CHECK(inlined_in("BEGIN:VCARD\nPHOTO;ENCODING=b:YWJj\rZGVmZGVmZGVmZGVmZGVm\r\rZGVm") ==
	      "abcdefdefdefdefdefdef;");
	for (const char *next : { "END:VCARD", "X-Y;Z=1:YWJj", "g.TEL:1", "SIXTEENLETTERSAB:1" })
		CHECK(inlined_in(std::string("BEGIN:VCARD\rPHOTO;ENCODING=b:YWJj\r") + next +
				 "\rX:y\r") == "abc;");
	CHECK(inlined_in("BEGIN:VCARD\rPHOTO;ENCODING=b:YWJj\rKEY;ENCODING=b:ZGVm\rX:y\r") ==
	      "abc;def;");
	CHECK(inlined_in("BEGIN:VCARD\r\r\nPHOTO;ENCODING=b:YW\r\r\n Jj\r\r\nX:y\r\r\n") == "abc;");
}

TEST_CASE("lines that have no files", "[mstream][inlined]")
{
	CHECK(inlined_in("BEGIN:X\r\nATTACH;ENCODING=BASE64:YWJj\r\n").empty());
	CHECK(inlined_in(
		      "BEGIN:VCALENDAR\r\nATTACH:YWJj\r\nSUMMARY;ENCODING=QUOTED-PRINTABLE:YWJj\r\n"
		      "X;Y=\"ENCODING=BASE64;ENCODING=B\":YWJj\r\n;ENCODING\r\n:YWJj\r\n")
		      .empty());
	CHECK(inlined_in("BEGIN:VCALENDAR\r\nDESCRIPTION:a;ENCODING=BASE64:YWJj\r\n "
			 ";ENCODING=BASE64:YWJj\r\n")
		      .empty());
}
