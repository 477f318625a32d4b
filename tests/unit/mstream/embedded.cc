// SPDX-License-Identifier: GPL-3.0-or-later
// Files in texts: uuencode, yEnc, BinHex, and addresses with data, in pieces of any size.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <zlib.h>

#include <catch2/catch.hpp>

#include "lib/mstream/addresses.h"
#include "lib/mstream/embedded.h"
#include "lib/mstream/quoted.h"
#include "tests/unit/mstream/files.hh"

namespace
{

Files read(const std::string &text, size_t piece, bool is_whole = true)
{
	struct embedded embedded;
	Files files;
	embedded_begin(&embedded);
	in_pieces(text, piece, [&](const uint8_t *bytes, size_t size) {
		embedded_push(&embedded, bytes, size, files_functions(), &files);
	});
	embedded_end(&embedded, is_whole, files_functions(), &files);
	return files;
}

Files read_addresses(const std::string &text, size_t piece, bool is_whole = true)
{
	struct addresses addresses;
	Files files;
	addresses_begin(&addresses);
	in_pieces(text, piece, [&](const uint8_t *bytes, size_t size) {
		addresses_push(&addresses, bytes, size, files_functions(), &files);
	});
	addresses_end(&addresses, is_whole, files_functions(), &files);
	return files;
}

Files read_quoted(const std::string &text, size_t piece, bool is_whole = true)
{
	struct quoted quoted;
	Files files;
	quoted_begin(&quoted);
	in_pieces(text, piece, [&](const uint8_t *bytes, size_t size) {
		quoted_push(&quoted, bytes, size, files_functions(), &files);
	});
	quoted_end(&quoted, is_whole, files_functions(), &files);
	return files;
}

// The same in all pieces.
Files read_all(const std::string &text, bool is_whole = true, decltype(read) *reader = read)
{
	const Files whole = reader(text, text.size() + 1, is_whole);
	CHECK_FALSE(whole.is_wrong);
	CHECK_FALSE(whole.is_open);
	for (const size_t piece : { 1, 2, 3, 5, 7, 64, 1000 }) {
		const Files files = reader(text, piece, is_whole);
		CHECK_FALSE(files.is_wrong);
		CHECK(files.all == whole.all);
		CHECK(files.odd == whole.odd);
	}
	return whole;
}

std::string uu_line(const std::string &bytes, char zero = '`')
{
	const auto character = [&](unsigned bits) {
		return bits == 0 ? zero : static_cast<char>(bits + 32);
	};
	std::string line(1, character(static_cast<unsigned>(bytes.size())));
	for (size_t at = 0; at < bytes.size(); at += 3) {
		unsigned group = 0;
		for (size_t i = 0; i < 3; i++)
			group = group << 8 |
				(at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : 0);
		for (int shift = 18; shift >= 0; shift -= 6)
			line += character(group >> shift & 63);
	}
	return line;
}

std::string uu_text(const std::string &name, const std::string &bytes, const std::string &eol,
		    char zero = '`')
{
	std::string text = "begin 644 " + name + eol;
	for (size_t at = 0; at < bytes.size(); at += 45)
		text += uu_line(bytes.substr(at, 45), zero) + eol;
	return text + zero + eol + "end" + eol;
}

std::string yenc_lines(const std::string &bytes, const std::string &eol)
{
	std::string text;
	size_t column = 0;
	for (const char byte : bytes) {
		const auto coded = static_cast<uint8_t>(static_cast<uint8_t>(byte) + 42);
		if (coded == 0 || coded == '\n' || coded == '\r' || coded == '=' ||
		    (column == 0 && coded == '.'))
			text += std::string("=") + static_cast<char>(coded + 64);
		else
			text += static_cast<char>(coded);
		if (++column == 128) {
			text += eol;
			column = 0;
		}
	}
	return text + (column > 0 ? eol : "");
}

std::string hex(unsigned long number)
{
	char text[32];
	snprintf(text, sizeof(text), "%08lx", number);
	return text;
}

unsigned long crc_of(const std::string &bytes)
{
	return crc32(0, reinterpret_cast<const Bytef *>(bytes.data()),
		     static_cast<uInt>(bytes.size()));
}

std::string yenc_text(const std::string &name, const std::string &bytes, const std::string &eol)
{
	const std::string size = std::to_string(bytes.size());
	return "=ybegin line=128 size=" + size + " name=" + name + eol + yenc_lines(bytes, eol) +
	       "=yend size=" + size + " crc32=" + hex(crc_of(bytes)) + eol;
}

uint16_t binhex_crc(const std::string &bytes)
{
	unsigned crc = 0;
	for (const char byte : bytes) {
		crc ^= static_cast<unsigned>(static_cast<uint8_t>(byte)) << 8;
		for (int i = 0; i < 8; i++)
			crc = (crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1;
	}
	return static_cast<uint16_t>(crc);
}

std::string big_endian(uint64_t number, int size)
{
	std::string bytes;
	for (int i = size - 1; i >= 0; i--)
		bytes += static_cast<char>(number >> (8 * i));
	return bytes;
}

std::string with_crc(const std::string &bytes)
{
	return bytes + big_endian(binhex_crc(bytes), 2);
}

std::string runs(const std::string &bytes)
{
	std::string coded;
	for (size_t at = 0; at < bytes.size();) {
		size_t end = at + 1;
		while (end < bytes.size() && end - at < 255 && bytes[end] == bytes[at])
			end++;
		coded += bytes[at];
		if (bytes[at] == '\x90')
			coded += '\0';
		if (end - at > 3)
			coded += std::string("\x90") + static_cast<char>(end - at);
		at = end - at > 3 ? end : at + 1;
	}
	return coded;
}

std::string sextets(const std::string &bytes, const std::string &eol)
{
	static const char alphabet[] =
		"!\"#$%&'()*+,-012345689@ABCDEFGHIJKLMNPQRSTUVXYZ[`abcdefhijklmpqr";
	std::string text = ":";
	unsigned bits = 0;
	int count = 0;
	for (const char byte : bytes) {
		bits = bits << 8 | static_cast<uint8_t>(byte);
		for (count += 8; count >= 6; count -= 6) {
			text += alphabet[bits >> (count - 6) & 63];
			if (text.size() % 66 == 64)
				text += eol;
		}
	}
	if (count > 0)
		text += alphabet[bits << (6 - count) & 63];
	return text + ":" + eol;
}

const char binhex_says[] = "(This file must be converted with BinHex 4.0)";

std::string binhex_text(const std::string &name, const std::string &data,
			const std::string &resource, const std::string &eol)
{
	const std::string header = std::string(1, static_cast<char>(name.size())) + name +
				   std::string(1, '\0') + "TEXTttxt" + std::string(2, '\0') +
				   big_endian(data.size(), 4) + big_endian(resource.size(), 4);
	return binhex_says + eol + eol +
	       sextets(runs(with_crc(header) + with_crc(data) + with_crc(resource)), eol);
}

} // namespace

TEST_CASE("a file in each coding is found between lines of text", "[mstream][embedded]")
{
	CHECK(sizeof(struct embedded) < 1024);
	for (const std::string eol : { "\r\n", "\n", "\r" }) {
		for (const size_t size : { 0, 1, 2, 3, 44, 45, 46, 127, 128, 129, 5000 }) {
			const std::string bytes = some_bytes(size);
			const std::string before =
				"Dear Tina," + eol + eol + "begin with this:" + eol;
			const Files files = read_all(before + uu_text("a b.exe", bytes, eol) +
						     "text" + eol + yenc_text("c.exe", bytes, eol) +
						     eol + binhex_text("d.exe", bytes, "", eol) +
						     "end" + eol + uu_text("e", bytes, eol, ' ') +
						     binhex_text("f", "", bytes, eol));
			REQUIRE(files.odd.empty());
			REQUIRE(files.all.size() == (size > 0 ? 6 : 5));
			CHECK(files.all[0] == File{ MSTREAM_UUENCODE, "a b.exe", bytes, true });
			CHECK(files.all[1] == File{ MSTREAM_YENC, "c.exe", bytes, true });
			CHECK(files.all[2] == File{ MSTREAM_BINHEX, "d.exe", bytes, true });
			CHECK(files.all[3] == File{ MSTREAM_UUENCODE, "e", bytes, true });
			CHECK(files.all[4] == File{ MSTREAM_BINHEX, "f", "", true });
			if (size > 0)
				CHECK(files.all[5] ==
				      File{ MSTREAM_BINHEX, "f.rsrc", bytes, true });
		}
	}
}

TEST_CASE("a text without a file has none", "[mstream][embedded]")
{
	const char *const texts[] = {
		"",
		"begin",
		"begin 644 x",
		"begin 644 x\n",
		"begin 644 x\nthis is a sentence of prose, about a file\nend\n",
		"beginning 644 x\nM\n",
		"begin 9 x\n#86)C\n",
		" begin 644 x\n#86)C\n",
		"=y\n=yend size=1\n=ypart begin=1 end=1\n",
		"=ybeginning\n",
		":$f*TEQKPH\n",
		"(This file must be converted with BinHex 4.0)\n\nsome: text\n",
		"a begin 644 x\n#86)C\nend\n",
	};
	for (const char *text : texts) {
		INFO(text);
		const Files files = read_all(text);
		CHECK(files.all.empty());
		CHECK(files.odd.empty());
	}
}

static std::string bytes_of(const std::string &text, enum mstream_coding coding = MSTREAM_BASE64)
{
	std::string all;
	for (const File &file : read_all(text, true, read_addresses).all) {
		CHECK(file.coding == coding);
		all += file.bytes + ";";
	}
	return all;
}

TEST_CASE("addresses with data are files", "[mstream][addresses]")
{
	CHECK(bytes_of("<a href=\"data:text/plain;base64,YWJj\">") == "abc;");
	CHECK(bytes_of("<a href='data:;BASE64,YWJjZA=='><img "
		       "src=data:image/png;base64,YWJjZGU=>\n") == "abcd;abcde;");
	CHECK(bytes_of("url('data:x;base64,YW\r\n Jj')") == "abc;");
	CHECK(bytes_of("url(data:x;base64,YWJj )") == "abc;");
	CHECK(bytes_of("<img src=data:x;base64,YWJj alt=x><img src='data:x;base64,YW Jj'>") ==
	      "abc;abc;");
	CHECK(bytes_of("x=\"" + std::string(60, ' ') + "data:" + std::string(70, 'x') +
		       ";base64,YW Jj\"") == "abc;");
	CHECK(bytes_of("data:x;base64,YW%4aj%2b%2F%3d\"rest") == "abc\xfb;");
	CHECK(bytes_of("data:x;base64,YW%zz") == "a;");
	// Blanks that are coded are passed without quotes, too; ends of lines fall out before %XX is read.
	CHECK(bytes_of("url(data:x;base64,YW%0D%0A%20%09%0cJj )") == "abc;");
	CHECK(bytes_of("'data:x;base64,YW%\r\n4\ta\fj'") == "abc;");
	CHECK(bytes_of("url(data:x;base64,YW%\n4aj )") == "a;");
	// Characters that a page names by their numbers.
	CHECK(bytes_of("'data:x;base64,YW&#74;j&#43;&#x2F;&#X3d;'") == "abc\xfb;");
	CHECK(bytes_of("src=data:x;base64,YW&#10;&#x4aj&#43&#47>") == "abc\xfb;");
	CHECK(bytes_of("'data:x;base64,YW&#37;4aj'") == "abc;");
	CHECK(bytes_of("'data:x;base64,YW&#000000074;&#330;j'") == "ab;");
	CHECK(bytes_of("'d&#97;ta:x&#59;b&#x61;se64&#44;YWJj&Tab;YWJj&NewLine;&plus;w&equals;'") ==
	      "abcabc\xfb;");
	CHECK(bytes_of("'data:x&semi;base64&comma;YW Jj' url(data:x&y;base64,YWJj) "
		       "url(data:x&#999;base64,YWJj)") == "abc;abc;abc;");
	CHECK(bytes_of("data:x;base64,YWJ&#106") == "abc;");
	CHECK(bytes_of("data:x;base64&commas;,YWJj &;base64 &#;base64 &#x;base64").empty());
	for (const size_t at : { 0, 1 }) {
		std::string wide(2 * std::strlen("url(data:x&#59;base64,YW%4aj )"), '\0');
		for (size_t i = 0; i < wide.size(); i += 2)
			wide[i + at] = "url(data:x&#59;base64,YW%4aj )"[i / 2];
		CHECK(bytes_of(wide) == "abc;");
	}
	for (const char *end : { "&", "&#", "&#;", "&#x", "&amp;", "&#g", "&#999999999999;" })
		CHECK(bytes_of(std::string("'data:x;base64,YW") + end + "Jj'") == "a;");
	CHECK(bytes_of("data:x;base64,") == ";");
	// Ends of lines and tabs are nothing in an address, and blanks around the word neither, however many.
	CHECK(bytes_of("'data:x;\nbase64,YWJj'") == "abc;");
	CHECK(bytes_of("'data:x;ba\tse\r\n6\n\n4\t,\tYWJj'") == "abc;");
	CHECK(bytes_of("'data:x; base64 ,YWJj' 'data:x;\t  base64\n ,YW Jj'") == "abc;abc;");
	CHECK(bytes_of("'data:x;" + std::string(99, ' ') + "base64,YWJj'") == "abc;");
	CHECK(bytes_of("<img src=\n\tdata:x;base64,YWJj alt=x>") == "abc;");
	CHECK(bytes_of("<img src= \n\r\n data:x;base64,YWJj alt=x>") == "abc;");
	CHECK(bytes_of("a,b;base6,c;base64;d,base64,;x base64,YWJj").empty());
	// A comma of a visiting card has a backslash, and lines of one are folded.
	CHECK(bytes_of("PHOTO:data:image/jpeg;base64\\,YW\r\n JjZA==\r\nEND:VCARD\r\n") == "abcd;");
	CHECK(bytes_of("x='data:x\\;base64\\,YWJj'") == "abc;");
	CHECK(bytes_of("PHOTO:data:x;base64,YW\r\n Jj\r\nEND:VCARD\r\n") == "abc;");
	CHECK(bytes_of("KEY;VALUE=uri:data:x;base64,YW\n\tJj\n\nEND:VCARD\n") == "abc;");
	CHECK(bytes_of("x=\"data:x;base64,YW\nJj\"") == "abc;");
	// So have "/" and ends of lines in strings of scripts.
	CHECK(bytes_of("{\"x\":\"data:image\\/png;base64,\\/\\/8\\\r\n\\/\"}") == "\xff\xff\x3f;");
	CHECK(bytes_of("{\"x\":\"<a href=\\\"data:x;base64,YWJj\\\">\"}") == "abc;");
	CHECK(bytes_of("{\"x\":\"data:x;base64,YW\\r\\nJj\\n\"}") == "abc;");
	// Scripts join strings.
	CHECK(bytes_of("x='data:x;base64,YW' + 'Jj'+\n\t\"ZA==\"") == "abcd;");
	CHECK(bytes_of("x=\"data:x;base64,\" & _\r\n \"YWJj\" & y") == "abc;");
	CHECK(bytes_of("x='data:'+y+';base64,'+'YWJj'") == "abc;");
	CHECK(bytes_of("x=['data:x;base64,YW', 'Jj'] + ['data:x;base64,YW' 'Jj', '' + + 'Jj']") ==
	      "a;a;");
	CHECK(bytes_of("<img src='data:x;base64,YWJj' alt=\"data:x;base64,YWJj\">") == "abc;abc;");
	CHECK_FALSE(read_all("data:x;base64,YWJj", false, read_addresses).all[0].is_whole);
	CHECK(read_all("data:x;base64,YWJj", true, read_addresses).all[0].is_whole);
}

TEST_CASE("files in addresses without base64 come out", "[mstream][addresses]")
{
	const auto plain_of = [](const std::string &text) {
		return bytes_of(text, MSTREAM_PERCENT);
	};
	CHECK(plain_of("<a href=\"data:text/html,%3Cp>it's\n a %41 100%;%4z%%41\">x") ==
	      "<p>it's a A 100%;%4z%A;");
	CHECK(plain_of("<a href='data:text/html;charset=utf-8;x=\"y\",a\"b,c'>") == "a\"b,c;");
	CHECK(plain_of("<a href=data:,a%20b%0A%00>c <a href=data:;charset=x,y z>") ==
	      std::string("a b\n\0;y;", 8));
	CHECK(plain_of("url(data:image/svg+xml,<svg/> x) see data:text/plain,abc def") ==
	      "<svg/;abc;");
	CHECK(plain_of("'da\nta:te\txt/html,a\tb' \"data&colon;text&sol;html&comma;a&#98;\"") ==
	      "ab;ab;");
	CHECK(plain_of("'data:text/html," + std::string(3, '\0') + "a%\n4\t1%4' data:x/y,%") ==
	      "aA%4;;");
	CHECK(plain_of("data: a, b. The data:x, edata/x,y; :text/html,z").empty());
	// Any type, where the address has a begin.
	for (const char *type : { "text/plain;x=!", "text/plain;x=%20", "foo", "base64", "a b(:>",
				  "text/plain;x=&quot;&#39;&#34;&apos;", "x;base64&commas;" })
		for (const char *quote : { "\"", "'" })
			CHECK(plain_of(quote + std::string("data:") + type + ",abc" + quote) ==
			      "abc;");
	CHECK(plain_of("'data:text/plain;x=" + std::string(5000, 'a') + "/b,c'") == "c;");
	CHECK(plain_of("href=data:foo!,abc def=da\nta:\nfoo,a =data:x/\ny,b 'data:foo',c") ==
	      "abc;b;");
	CHECK(plain_of("(data:foo!,abc)\" (data: foo, a) (data:>,a) {data:a,b} \"data:\", "
		       "'data:',") == "abc);");
}

TEST_CASE("characters of addresses that a page names end nothing", "[mstream][addresses]")
{
	const auto plain_of = [](const std::string &text) {
		return bytes_of(text, MSTREAM_PERCENT);
	};
	CHECK(plain_of("'data:,&percnt;41&lt;&gt;&amp;&excl;&DiacriticalGrave;&VerticalLine;"
		       "&lowbar;&copy;&nbsp;&lt&bsol'") == "A<>&!`|_&copy;&nbsp;<\\;");
	CHECK(plain_of("\"data:,a&quot;b'c&#32;d&NewLine;e\"") == "a\"b'c de;");
	CHECK(plain_of("<a href=data:text/plain,a'b\"c&gt;d&#32;e>") == "a'b\"c>d e;");
	CHECK(plain_of("<a href=data:text/plain,a'b\"c d>") == "a'b\"c;");
}

TEST_CASE("addresses of a page within a page's attribute", "[mstream][addresses]")
{
	const auto plain_of = [](const std::string &text) {
		return bytes_of(text, MSTREAM_PERCENT);
	};
	CHECK(bytes_of("srcdoc=\"&lt;a "
		       "href=&quot;d&amp;#97;ta&amp;colon;;b&AMP&#35;97;se64,Y&amp;#87;J"
		       "j&quot;&gt;\"") == "abc;");
	CHECK(plain_of("srcdoc=\"<a href='data:,a&amp;quot;b&quot;c&amp;#39;d&#39;e'>x") ==
	      "a\"b\"c'd'e;");
	CHECK(plain_of("srcdoc=\"<a href=&quot;data:;&amp;quot;!,a&amp;quot;b&quot; c>\"") ==
	      "a\"b;");
	// Also behind what might have been one.
	CHECK(plain_of("srcdoc='<a href=\"data:,x&&#97;mp;#97;y\">'") == "x&#97;y;");
	CHECK(plain_of("srcdoc=\"<a href='d&&#35;97;ta:,x&&#35;97;y'>\"").find("xay") !=
	      std::string::npos);
	CHECK(plain_of("srcdoc='<a href&#61;data:!,a&amp;#32;b&gt;c'") == "a b;");
	CHECK(plain_of("'data:,&amp;&amp;copy;&amp;amp;&amp'") == "&&copy;&&;");
}

TEST_CASE("addresses of a page in ISO-2022-JP", "[mstream][addresses]")
{
	CHECK(bytes_of("'da\033(Bta:;ba\033$Bs\033(Je64\033$@,Y\033(BW\033(BJ\033(I\033(Bj'") ==
	      "abc;");
	CHECK(bytes_of("'data:x;base64,YW\033(JJj") == "abc;");
	CHECK(bytes_of("'data:,a\033(B&#\033(B98;\033\033(Bc\033(X\033$\033(\033d\033(",
		       MSTREAM_PERCENT) == "ab\033c\033(X\033$\033(\033d\033(;");
}

TEST_CASE("files in strings of scripts are told by their first bytes", "[mstream][quoted]")
{
	const auto strings_of = [](const std::string &text) {
		std::string all;
		for (const File &file : read_all(text, true, read_quoted).all) {
			CHECK(file.coding == MSTREAM_BASE64);
			all += file.bytes + ";";
		}
		return all;
	};
	// As much as has to follow one another.
	const std::string head = "UEsDB" + std::string(27, 'A');
	const std::string zip = "PK\3\4" + std::string(20, '\0');
	CHECK(strings_of("x = atob(\"" + head + "Y2Q=\");") == zip + "cd;");
	CHECK(strings_of("x = atob('" + head + "' + \"Y\" +\n `2Q=`)") == zip + "cd;");
	CHECK(strings_of("x = \"" + head + "Y\" & _\r\n\"2Q=\"") == zip + "cd;");
	CHECK(strings_of("[\"" + head + "Y\\r\\n2Q=\\n\",'" + head + "']") ==
	      zip + "cd;" + zip + ";");
	CHECK(strings_of("<a x=\"y\">" + head + "Y\r\n 2Q=</a><b>\n\t" + head + "</b>") ==
	      zip + "cd;" + zip + ";");
	CHECK(strings_of("\"\"" + head + "Y2Q=") == zip + "cd;");
	CHECK(strings_of("<a>" + head + "Y&#13;\n2Q=&#xD;\n</a>'" + head + "'") ==
	      zip + "cd;" + zip + ";");
	CHECK(strings_of("<a><![CDATA[\n" + head + "Y2Q=]]></a>") == zip + "cd;");
	CHECK(strings_of("<a>" + head + "&lt;a>" + head + "&'" + head) ==
	      zip + ";" + zip + ";" + zip + ";");
	std::string wide = "\"";
	for (const char byte : head + "Y2Q")
		(wide += '\0') += byte;
	CHECK(strings_of(wide) == zip + "cd;");
	for (const std::string mark :
	     { "TVqQAA", "TVpQAA", "TVoAAA", "TVpBUl", "TVroAA", "TAAAAA", "UmFyIR", "N3q8ry",
	       "TVNDRg", "H4sIA", "H4sIC", "/Td6WF", "0M8R4K", "JVBERi", "e1xydG", "PCFET0",
	       "PCFkb2", "PGh0bW", "PHNjcm" })
		CHECK_FALSE(strings_of("'" + mark + std::string(32, '/')).empty());
	// A word of a script, what no mark is, and what no quote is before.
	CHECK(strings_of("\"UEsDB\" 'JVBERi0xLjQ=' `" + head.substr(0, 31) + "`").empty());
	CHECK(strings_of(head + " =" + head + " \"UEsd" + head + "\" 'TVrqAA" + head).empty());
	CHECK_FALSE(read_all("'" + head, false, read_quoted).all[0].is_whole);
	CHECK(read_all("'" + head, true, read_quoted).all[0].is_whole);
}

TEST_CASE("uuencode is read as clients read it", "[mstream][embedded]")
{
	const std::string abc = "#86)C\n"; // "abc"
	const std::vector<File> one = { { MSTREAM_UUENCODE, "x", "abc", true } };

	SECTION("forms of the first line")
	{
		for (const char *begin :
		     { "begin 644 x\n", "begin 0644 x\n", "BEGIN 644   x  \n", "begin\t644\tx\n",
		       "begin  x\n", "begin 644 x\n\n\n", "begin 6 x\n", "begin 100644 x\n" })
			CHECK(read_all(begin + abc + "`\nend\n").all == one);
		CHECK(read_all("begin 644\n" + abc + "end\n").all[0].name.empty());
	}
	SECTION("forms of lines")
	{
		// A checksum behind it, a group that is not filled, blanks that were lost.
		CHECK(read_all("begin 644 x\n#86)CA\n`\nend\n").all == one);
		CHECK(read_all("begin 644 x\n\"86(\n!8P  \n`\nend").all == one);
		const Files zeros = read_all("begin 644 x\n&86)C\n`\nend\n");
		CHECK(zeros.all[0].bytes == std::string("abc\0\0\0", 6));
		CHECK(zeros.odd.empty());
	}
	SECTION("lines before the first, as clients bear them")
	{
		const std::vector<enum mstream_oddity> odd = { MSTREAM_BAD_CODING };
		for (const std::string junk :
		     { "`some junk\n", "some junk\n", "A\xa0 b\n", "junk\n\njunk\n:a\n" }) {
			const Files files = read_all("begin 644 x\n" + junk + abc + "`\nend\n");
			CHECK(files.all == one);
			CHECK(files.odd == odd);
			CHECK(read_all("begin 6 x\n" + junk + abc + "`\nend\n").all.empty());
			CHECK(read_all("begin 644 x\n" + junk + "end\n" + abc).all.empty());
		}
		// Six bits of letters that uuencode does not have.
		const Files small = read_all("begin 0644 x\n#xv)\x83\n`\nend\n");
		CHECK(small.all == one);
		CHECK(small.odd == odd);
		std::string junk;
		for (int i = 0; i < 15; i++)
			junk += "this is no line of it\n";
		CHECK(read_all("begin 644 x\n" + junk + abc + "`\nend\n").all == one);
		CHECK(read_all("begin 644 x\n" + junk + junk + abc + "`\nend\n").all.empty());
		// Neither does prose there that says "begin".
		CHECK(read_all("begin 644 x\njunk\nbegin  x\njunk\n" + abc + "`\nend\n").all ==
		      one);
		// A line of no bytes, and others, which readers pass.
		const Files late = read_all("begin 644 x\n`\nsome junk\n" + abc + "`\nend\n");
		CHECK(late.all == one);
		CHECK(late.odd == odd);
		CHECK(read_all("begin 644 x\n" + abc + "`\njunk\n#xv)\x83\nend\n").all[0].bytes ==
		      "abcabc");
		CHECK(read_all("begin 644 x\n`\njunk\nbegin 644 y\n" + abc + "end\n").all.size() ==
		      2);
		// Other files are found there.
		const Files other =
			read_all("begin 644 y\nsome junk\nbegin 644 x\n" + abc + "`\nend\n");
		CHECK(other.all == one);
		CHECK(other.odd.empty());
	}
	SECTION("ends")
	{
		CHECK(read_all("begin 644 x\n" + abc + "end\n").all == one);
		CHECK(read_all("begin 644 x\n" + abc + "`\nEND  \n").all == one);
		const Files open = read_all("begin 644 x\n" + abc);
		REQUIRE(open.all.size() == 1);
		CHECK(open.all[0] == File{ MSTREAM_UUENCODE, "x", "abc", true });
		CHECK(open.odd == std::vector<enum mstream_oddity>{ MSTREAM_NO_END });
		CHECK(read_all("begin 644 x\n" + abc, false).odd.empty());
		CHECK_FALSE(read_all("begin 644 x\n" + abc, false).all[0].is_whole);
		// The line of no bytes is an end, too.
		CHECK(read_all("begin 644 x\n" + abc + "`\n").all == open.all);
		CHECK(read_all("begin 644 x\n" + abc + "`\n").odd.empty());
		// The end that is missing, and another file.
		const Files two = read_all("begin 644 x\n" + abc + "begin 600 y\n" + abc + "end\n");
		REQUIRE(two.all.size() == 2);
		CHECK(two.odd == std::vector<enum mstream_oddity>{ MSTREAM_NO_END });
		CHECK(two.all[1] == File{ MSTREAM_UUENCODE, "y", "abc", true });
		// Lines behind the line of no bytes.
		const Files more = read_all("begin 644 x\n" + abc + "`\n" + abc + "end\n");
		REQUIRE(more.all.size() == 1);
		CHECK(more.all[0].bytes == "abcabc");
		CHECK(more.odd == std::vector<enum mstream_oddity>{ MSTREAM_BAD_CODING });
		CHECK(read_all("begin 644 x\n" + abc + "`\nbegin 644 y\n" + abc + "end\n")
			      .all.size() == 2);
	}
	SECTION("what is wrong is said once, and read")
	{
		const Files files = read_all("begin 644 x\n" + abc + "#86)c\n#86)\x80\nend\n");
		REQUIRE(files.all.size() == 1);
		CHECK(files.all[0].bytes.size() == 9);
		CHECK(files.odd == std::vector<enum mstream_oddity>{ MSTREAM_BAD_CODING });
	}
	SECTION("names and lines that are long are cut")
	{
		const std::string name(1000, 'n');
		const Files files =
			read_all("begin 644 " + name + "\n" + abc + "end\n" +
				 std::string(100000, 'b') + "\n" + uu_text("z", "1", "\n"));
		REQUIRE(files.all.size() == 2);
		CHECK(files.all[0].name == std::string(MSTREAM_NAME_SIZE - 1, 'n'));
		CHECK(files.all[1].name == "z");
	}
	SECTION("base64")
	{
		const Files files = read_all("begin-base64 644 x\nYWJj\nZGVmZw==\n\n====\ntext\n");
		REQUIRE(files.all.size() == 1);
		CHECK(files.all[0] == File{ MSTREAM_UUENCODE, "x", "abcdefg", true });
		CHECK(files.odd.empty());
		CHECK(read_all("begin-base64 644 x\n" + std::string(400, 'A') + "\n====\n").odd ==
		      std::vector<enum mstream_oddity>{ MSTREAM_BAD_CODING });
		// Names in base64, as sharutils has them.
		CHECK(read_all("begin-base64-encoded 644 eA==\nYWJj\n====\n").all == one);
		CHECK(read_all("begin-encoded 644 eA==\n" + abc + "`\nend\n").all == one);
		const Files odd = read_all("begin-base64 644 x\nY?WJj\n");
		CHECK(odd.all[0].bytes == "abc");
		CHECK(odd.odd ==
		      std::vector<enum mstream_oddity>{ MSTREAM_BAD_CODING, MSTREAM_NO_END });
	}
}

TEST_CASE("yEnc is compared with what it says", "[mstream][embedded]")
{
	const std::string begin = "=ybegin line=128 size=3 name=a name=b.exe \r\n";
	const std::string abc = yenc_lines("abc", "\r\n");
	const std::vector<enum mstream_oddity> bad = { MSTREAM_BAD_CODING };

	CHECK(read_all(begin + abc + "=yend size=3 crc32=352441c2\r\n").odd.empty());
	CHECK(read_all(begin + abc + "=yend size=3 crc32=352441C2").odd.empty());
	CHECK(read_all(begin + abc + "=yend size=3\r\n").odd.empty());
	CHECK(read_all(begin + abc + "=yend\r\n").all[0] ==
	      File{ MSTREAM_YENC, "a name=b.exe", "abc", true });
	CHECK(read_all(begin + abc + "=yend size=4\r\n").odd == bad);
	CHECK(read_all(begin + abc + abc + "=yend\r\n").odd == bad);
	CHECK(read_all(begin + abc + "=yend size=3 crc32=352441c3\r\n").odd == bad);
	CHECK(read_all(begin + abc + "=ywhat\r\n=yend size=3\r\n").odd == bad);
	CHECK(read_all(begin + abc + "=\r\n=yend size=3\r\n").odd == bad);

	// The second part of two.
	const std::string part =
		"=ybegin part=2 line=128 size=100 name=x\n=ypart begin=98 end=100\n";
	CHECK(read_all(part + abc + "=yend size=3 part=2 pcrc32=352441c2 crc32=1\n").odd.empty());
	CHECK(read_all(part + abc + "=yend size=3 part=2 pcrc32=1\n").odd == bad);
	CHECK(read_all(part + "=yend size=3\n").odd == bad);

	const Files open = read_all(begin + abc + begin + abc + "=yend size=3\n");
	REQUIRE(open.all.size() == 2);
	CHECK(open.all[0].is_whole);
	CHECK(open.all[1].is_whole);
	CHECK(open.all[1].name == "a name=b.exe");
	CHECK(open.odd == std::vector<enum mstream_oddity>{ MSTREAM_NO_END });
	CHECK(read_all(begin + abc).odd == std::vector<enum mstream_oddity>{ MSTREAM_NO_END });
	CHECK(read_all(begin + abc, false).odd.empty());
	// A line begins with an escape that is no command.
	CHECK(read_all(begin + "=}bc\n=yend\n").all[0].bytes.size() == 3);
}

TEST_CASE("BinHex is compared with its checksums", "[mstream][embedded]")
{
	const std::vector<enum mstream_oddity> bad = { MSTREAM_BAD_CODING };
	const std::string whole = binhex_text("a.exe", "data data", "fork", "\n");
	const Files files = read_all(whole);
	REQUIRE(files.all.size() == 2);
	CHECK(files.all[0] == File{ MSTREAM_BINHEX, "a.exe", "data data", true });
	CHECK(files.all[1] == File{ MSTREAM_BINHEX, "a.exe.rsrc", "fork", true });

	// Cut anywhere, nothing is lost that was there, and it is not whole.
	const size_t begin = whole.find(':');
	for (size_t size = begin + 1; size + 3 < whole.size(); size++) {
		const Files cut = read_all(whole.substr(0, size));
		CHECK(cut.odd.back() == MSTREAM_NO_END);
		CHECK(read_all(whole.substr(0, size), false).odd.empty());
	}
	// Any character that is another.
	for (size_t at = begin + 10; at + 3 < whole.size(); at++) {
		if (whole[at] == '\n')
			continue;
		std::string changed = whole;
		changed[at] = changed[at] == 'A' ? 'B' : 'A';
		CHECK_FALSE(read_all(changed).odd.empty());
	}
	std::string foreign = whole;
	foreign.insert(begin + 20, "~");
	CHECK(read_all(foreign).odd == bad);
	CHECK(read_all(foreign).all == files.all);

	// A name of no bytes, and one that no disk has, as readers take them.
	for (const size_t size : { 0, 255 }) {
		const std::string name(size, 'n');
		CHECK(read_all(binhex_text(name, "data", "", "\n")).all ==
		      std::vector<File>{ { MSTREAM_BINHEX, name, "data", true } });
	}
	// Behind "begin", a line that can be one of uuencode is.
	const std::string long_lines = some_bytes(52);
	CHECK(read_all(std::string(binhex_says) + "\nbegin 644 x\n" +
		       uu_line(long_lines.substr(0, 26)) + "\n" + uu_line(long_lines.substr(26)) +
		       "\n`\nend\n")
		      .all == std::vector<File>{ { MSTREAM_UUENCODE, "x", long_lines, true } });
	for (const size_t eol_at : { 64, 1000 }) {
		std::string coded = binhex_text("a", some_bytes(600), "", "\n");
		coded = coded.substr(std::strlen(binhex_says) + 2);
		if (eol_at > 64)
			coded.erase(std::remove(coded.begin(), coded.end(), '\n'), coded.end());
		CHECK(read_all(std::string(binhex_says) + "\nbegin 644 x\n" + coded + "\n").all ==
		      std::vector<File>{ { MSTREAM_BINHEX, "a", some_bytes(600), true } });
	}
	CHECK(read_all(std::string(binhex_says) + "\n:!!!!:\n").all.empty());
	CHECK(read_all(std::string(binhex_says) + "\n:rrrr:\n" + uu_text("x", "1", "\n"))
		      .all.size() == 1);
	// Its end comes again as a text.
	CHECK(read_all(whole + whole).all.size() == 4);
}
