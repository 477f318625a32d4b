// SPDX-License-Identifier: GPL-3.0-or-later
// Header fields: types, boundaries and names, and the lines they are made of.
#include <algorithm>
#include <string>

#include "tests/unit/mstream/mail.hh"

namespace
{

std::string name_of(const std::string &fields)
{
	Mail mail;
	read_all("Content-Type: a/b\n" + fields + "\n\nx", mail);
	REQUIRE(mail.parts.size() == 1);
	return mail.parts[0]->name;
}

// Of a multipart whose type has these parameters, with one part: is it found?
bool finds(const std::string &parameters, const std::string &boundary, bool is_odd = false)
{
	Mail mail;
	read_all("Content-Type: multipart/mixed" + parameters + "\n\n--" + boundary +
			 "\nContent-Type: a/b\n\nfound\n--" + boundary + "--\n",
		 mail);
	CHECK(mail.odd.empty() != is_odd);
	return std::any_of(mail.parts.begin(), mail.parts.end(), [](const Part *part) {
		return part->bytes == "found" && part->type == "a/b";
	});
}

std::string type_of(const std::string &value)
{
	Mail mail;
	read_all("Content-Type: " + value + "\n\nx", mail);
	REQUIRE(mail.parts.size() >= 1);
	return mail.parts[0]->type;
}

} // namespace

TEST_CASE("types are in lower case, without comments", "[mstream][heads]")
{
	CHECK(type_of("Text/HTML") == "text/html");
	CHECK(type_of(" text/html ; charset=x") == "text/html");
	CHECK(type_of("(a (b\\)) c) text/html (d)") == "text/html");
	CHECK(type_of("text / html") == "text/html");
	CHECK(type_of("text\n /html") == "text/html");
	CHECK(type_of("\v\f text/html\f") == "text/html");
	CHECK(type_of("text") == "text/plain");
	CHECK(type_of("text/") == "text/plain");
	CHECK(type_of("a/b/c") == "text/plain");
	CHECK(type_of("") == "text/plain");
	CHECK(type_of("a/" + std::string(200, 'b')).size() == MSTREAM_TYPE_SIZE - 1);
}

TEST_CASE("boundaries, however they are written", "[mstream][heads]")
{
	CHECK(finds("; boundary=abc", "abc"));
	CHECK(finds(";boundary=\"abc\"", "abc"));
	CHECK(finds(";\n\tcharset=x;\n boundary = \"a b\"", "a b"));
	CHECK(finds("; BOUNDARY=abc; x", "abc"));
	CHECK(finds("; boundary=\"a;b\"", "a;b"));
	CHECK(finds("; boundary=abc (a comment; boundary=def)", "abc", true));
	CHECK(finds("; (a comment; boundary=def) boundary=abc", "abc"));
	CHECK(finds("; boundary=\"abc \"", "abc"));
	CHECK(finds("; boundary=\"'abc'\"", "'abc'"));
	CHECK(finds("; boundary=" + std::string(256, 'a'), std::string(256, 'a')));
	// In more than one way.
	CHECK(finds("; boundary=\"a\\b\"", "ab", true));
	CHECK(finds("; boundary=\"a\\b\"", "a\\b", true));
	CHECK(finds("; boundary=a b", "a", true));
	CHECK(finds("; boundary=a b", "a b", true));
	CHECK(finds("; boundary='abc'", "abc", true));
	CHECK(finds("; boundary='abc'", "'abc'", true));
	CHECK(finds("; boundary=abc; boundary=def", "abc", true));
	CHECK(finds("; boundary=abc; boundary=def", "def", true));
	CHECK(finds("; boundary=\"abc", "abc", true));
	CHECK(finds("; x=\"y; boundary=abc", "abc", true));
	CHECK(finds(" boundary=abc", "abc", true));
	// RFC 2231.
	CHECK(finds("; boundary*=us-ascii'en'a%62c", "abc", true));
	CHECK(finds("; boundary*0=ab; boundary*1=c", "abc", true));
	CHECK(finds("; boundary*0*=''a%62; boundary*1*=%63", "abc", true));
	// None: the first line that looks like a delimiter.
	CHECK(finds("", "abc", true));
	CHECK(finds("; boundary=\"\"", "abc", true));
	// Of no bytes, as some have it.
	CHECK(finds("; boundary=\"\"", "", true));
	CHECK(finds("; boundary=", "", true));
	// Without quotes, what is of no token.
	CHECK(finds("; boundary=abc\"", "abc", true));
	CHECK(finds("; boundary=abc,d", "abc", true));
	CHECK(finds("; boundary=abc,d", "abc,d", true));
}

TEST_CASE("boundaries as some readers take them, and none should be written", "[mstream][heads]")
{
	using namespace std::string_literals;
	// Encoded words.
	CHECK(finds("; boundary=\"=?us-ascii?Q?a=62c?=\"", "abc", true));
	CHECK(finds("; boundary==?us-ascii?B?YWJj?=", "abc", true));
	CHECK(finds("; boundary=\"=?us-ascii?Q?abc?=\"", "=?us-ascii?Q?abc?=", true));
	// NUL ends it, or is left out.
	CHECK(finds("; boundary=\"ab\0cd\""s, "ab", true));
	CHECK(finds("; boundary=\"ab\0cd\""s, "abcd", true));
	CHECK(finds("; boundary=\"ab\0cd\""s, "ab\0cd"s, true));
	// Blanks before it, and quotes within quotes.
	CHECK(finds("; boundary=\" \tabc\"", "abc", true));
	CHECK(finds("; boundary=\" abc\"", " abc", true));
	CHECK(finds("; boundary=\"\"abc\"\"", "abc", true));
}

TEST_CASE("a fold within a boundary is its blanks, or one", "[mstream][heads]")
{
	CHECK(finds("; boundary=\"a\n b\"", "a b"));
	CHECK(finds("; boundary=\"a\n  b\"", "a  b", true));
	CHECK(finds("; boundary=\"a\n \t b\"", "a b", true));
	CHECK(finds("; boundary=\"a\n\tb\"", "a\tb", true));
	CHECK(finds("; boundary=\"\n abc\"", "abc", true));
	CHECK(name_of("Content-Disposition: attachment; filename=\"a\n\tb.txt\"") == "a b.txt");
}

TEST_CASE("sections of a boundary may be in any order", "[mstream][heads]")
{
	const struct {
		const char *parameters, *boundary;
	} all[] = {
		{ "boundary*1=b; boundary*0=a; boundary*2=c", "abc" },
		{ "boundary*2=c; boundary*0=a; boundary*1=b", "abc" },
		{ "boundary*2=c; boundary*1=b; boundary*0=a", "abc" },
		// One is missing: those before it alone, or all.
		{ "boundary*0=ab; boundary*2=c", "ab" },
		{ "boundary*0=ab; boundary*2=c", "abc" },
	};
	for (const auto &one : all) {
		Mail mail;
		const std::string line = "--" + std::string(one.boundary);
		read_all("Content-Type: multipart/mixed; " + std::string(one.parameters) + "\n\n" +
				 line + "\nContent-Transfer-Encoding: base64\n\naGVsbG8=\n" + line +
				 "--\n",
			 mail);
		CHECK(mail.has("hello"));
	}
}

TEST_CASE("an empty line before the header of a part is passed over by some readers",
	  "[mstream][heads]")
{
	const std::string field = "Content-Transfer-Encoding: base64\n\naGVsbG8=\n";
	for (const std::string before : { "\n", "\n\n\n", "\r\n" }) {
		for (const std::string fields : { "", "X: y\n" }) {
			Mail mail;
			read_all("Content-Type: multipart/mixed; boundary=a\n\n--a\n" + before +
					 fields + field + "--a--\n",
				 mail);
			CHECK(mail.has("hello"));
			CHECK(mail.is_odd("bad field"));
		}
	}
	// A text, also one that begins as fields do.
	for (const std::string text :
	     { "text\n", "Note: text\n\nmore\n", " text\n\nmore\n", "a: b\nc d\n", "a: b\n",
	       "\n\n\ntext", " \n \ntext\n", "a: b\n \ntext\n", "--\ntext\n" }) {
		Mail mail;
		read_all("Content-Type: multipart/mixed; boundary=a\n\n--a\n\n" + text +
				 "\n--a\n\nsecond\n--a--\n",
			 mail);
		CHECK(mail.parts.size() == 2);
		CHECK(mail.has(text));
		CHECK(mail.has("second"));
		CHECK(mail.odd.empty());
	}
	Mail digest;
	read_all("Content-Type: multipart/digest; boundary=a\n\n--a\n\n" + field + "--a--\n",
		 digest);
	CHECK(digest.parts.size() == 1);
	CHECK(digest.has("hello"));
	CHECK(digest.odd.empty());
}

TEST_CASE("bytes that are of no name are passed over in one by some readers", "[mstream][heads]")
{
	using namespace std::string_literals;
	for (const std::string &name :
	     { "Content\0-Transfer-Encoding"s, "Content-Transfer-Encoding\0"s,
	       "\v\0Content-Transfer-Encoding"s, "Content- Transfer-Encoding"s,
	       "\xc2\xa0"
	       "Content-Transfer-Encoding"s }) {
		Mail mail;
		read_all("X: y\n" + name + ": base64\n\naGVsbG8=\n", mail);
		CHECK(mail.has("hello"));
		CHECK(mail.is_odd("bad field"));
	}
}

TEST_CASE("a boundary that is too long to be kept is known by its beginning", "[mstream][heads]")
{
	for (const size_t size : { 257, 500, 2000 }) {
		const std::string boundary(size, 'a');
		Mail mail;
		read_all("Content-Type: multipart/mixed; boundary=\"" + boundary + "\"\n\n--" +
				 boundary +
				 "\nContent-Type: a/b\nContent-Transfer-Encoding: base64\n\n"
				 "Zm91bmQ=\n--" +
				 boundary + "--\n",
			 mail);
		CHECK(mail.has("found"));
		CHECK(mail.is_odd("bad boundary"));
	}
}

TEST_CASE("empty lines before a mail are passed over by some readers", "[mstream][heads]")
{
	for (const std::string before : { "\n", "\r\n\r\n", "\n\n\n" }) {
		Mail mail;
		read_all(before + "Content-Transfer-Encoding: base64\n\naGVsbG8=\n", mail);
		CHECK(mail.has("hello"));
		CHECK(mail.is_odd("bad field"));
		Mail text;
		read_all(before + "begin 644 a\n#86)C\n`\nend\n", text);
		CHECK(text.has("abc"));
	}
}

TEST_CASE("a name is that of the disposition, or that of the type", "[mstream][heads]")
{
	CHECK(name_of("X: y").empty());
	CHECK(name_of("Content-Disposition: attachment; filename=a.txt") == "a.txt");
	CHECK(name_of("Content-Disposition: attachment;\n filename=\"a \\\"b\\\".txt\"") ==
	      "a \"b\".txt");
	CHECK(name_of("Content-Disposition: attachment; filename=a(1).txt") == "a(1).txt");
	CHECK(name_of("Content-Disposition: attachment; filename=my file.txt; x=y") ==
	      "my file.txt");
	Mail mail;
	read_all("Content-Type: a/b; name=one\nContent-Disposition: inline; filename=two\n\nx",
		 mail);
	CHECK(mail.parts[0]->name == "two");
	Mail other;
	read_all("Content-Disposition: inline; filename=two\nContent-Type: a/b; name=one\n\nx",
		 other);
	CHECK(other.parts[0]->name == "two");
}

TEST_CASE("names in other charsets", "[mstream][heads]")
{
	const std::string field = "Content-Disposition: attachment; ";
	CHECK(name_of(field + "filename*=utf-8'de'%c3%A4.txt") == "\xc3\xa4.txt");
	CHECK(name_of(field + "filename*=iso-8859-1''%e4.txt") == "\xc3\xa4.txt");
	CHECK(name_of(field + "filename*=iso-8859-15''%A4") == "\xe2\x82\xac");
	CHECK(name_of(field + "filename*=Windows-1252''%80%93") == "\xe2\x82\xac\xe2\x80\x9c");
	CHECK(name_of(field + "filename*=koi8-r''a%e4b") == "a?b");
	CHECK(name_of(field + "filename*=utf-8''%ff%c3") == "??");
	CHECK(name_of(field + "filename*0=\"a b\"; filename*1=.t; filename*2=xt") == "a b.txt");
	CHECK(name_of(field + "filename*0*=iso-8859-1''%e4; filename*1*=%f6; filename*2=%x") ==
	      "\xc3\xa4\xc3\xb6%x");
	CHECK(name_of(field + "filename=plain; filename*=utf-8''starred") == "starred");
	CHECK(name_of(field + "filename=\"=?utf-8?Q?a_=C3=A4?= =?ISO-8859-1?B?5A==?=.txt\"") ==
	      "a \xc3\xa4\xc3\xa4.txt");
	CHECK(name_of(field + "filename=\"=?utf-8?X?a?=\"") == "=?utf-8?X?a?=");
	CHECK(name_of(field + "filename=\"=?utf-8*en?Q?a?=b\"") == "ab");
	// Raw bytes: UTF-8 as it is, no controls.
	CHECK(name_of(field + "filename=\xc3\xa4\x01\xe4") == "\xc3\xa4?");
}

TEST_CASE("a name is cut to its bound, between two characters", "[mstream][heads]")
{
	std::string text;
	for (unsigned i = 0; i < 200; i++)
		text += "\xc3\xa4";
	const std::string name = name_of("Content-Disposition: x; filename=" + text);
	CHECK(name.size() <= MSTREAM_NAME_SIZE - 1);
	CHECK(name.substr(0, 254) == text.substr(0, 254));
}

TEST_CASE("lines that are no fields begin the body, or are passed over", "[mstream][heads]")
{
	Mail mail;
	read_all("Content-Type: text/html\nno field\nContent-Transfer-Encoding: "
		 "base64\n\naGVsbG8=\n",
		 mail);
	REQUIRE(mail.parts.size() == 2);
	CHECK(mail.has("no field\nContent-Transfer-Encoding: base64\n\naGVsbG8=\n"));
	CHECK(mail.has("hello"));
	CHECK(mail.is_odd("bad field"));
}

TEST_CASE("a line of blanks goes on with a field, or ends the header", "[mstream][heads]")
{
	Mail mail;
	read_all("Content-Type: text/html\n \t\nContent-Transfer-Encoding: base64\n\naGVsbG8=\n",
		 mail);
	REQUIRE(mail.parts.size() == 2);
	CHECK(mail.has("Content-Transfer-Encoding: base64\n\naGVsbG8=\n"));
	CHECK(mail.has("hello"));
	CHECK(mail.is_odd("bad field"));
}

TEST_CASE("CR CR LF is two ends of lines, or one", "[mstream][heads]")
{
	std::string text =
		"Subject: x\nContent-Type: multipart/mixed;\n boundary=x\n\n"
		"--x\nContent-Type: a/b\nContent-Transfer-Encoding: base64\n\naGVsbG8=\n--x\n"
		"Content-Type: message/rfc822\n\nContent-Transfer-Encoding: "
		"base64\n\nd29ybGQ=\n--x--\n";
	std::string made;
	for (const char byte : text)
		made += byte == '\n' ? "\r\r\n" : std::string(1, byte);
	Mail mail;
	read_all(made, mail);
	CHECK(mail.has("hello"));
	CHECK(mail.has("world"));
	CHECK(mail.is_odd("bad field"));
}

TEST_CASE("what lies about fields", "[mstream][heads]")
{
	SECTION("a blank before the colon")
	{
		Mail mail;
		read_all("Content-Type : text/html\n\nx", mail);
		CHECK(mail.parts[0]->type == "text/html");
		CHECK(mail.is_odd("bad field"));
	}
	SECTION("the line of a mailbox")
	{
		Mail mail;
		read_all("From a@b Thu Nov 26 05:00:00 2026\nContent-Type: text/html\n\nx", mail);
		CHECK(mail.parts.size() == 1);
		CHECK(mail.parts[0]->type == "text/html");
		CHECK(mail.odd.empty());
	}
	SECTION("a header without a body")
	{
		Mail mail;
		read_all("Content-Type: text/html", mail);
		CHECK(mail.parts.size() == 1);
		CHECK(mail.parts[0]->type == "text/html");
		CHECK(mail.parts[0]->bytes.empty());
	}
	SECTION("nothing at all")
	{
		Mail mail;
		read_all("", mail);
		CHECK(mail.parts.empty());
		CHECK(mail.odd.empty());
	}
	SECTION("a delimiter amid a header")
	{
		Mail mail;
		read_all("Content-Type: multipart/mixed; boundary=x\n\n"
			 "--x\nContent-Type: text/html\n--x\n\ntwo\n--x--\n",
			 mail);
		CHECK(mail.parts.size() == 1);
		CHECK(mail.has("two"));
	}
	SECTION("a field that begins with dashes")
	{
		Mail mail;
		read_all("--a-field: y\nContent-Type: text/html\n\nx", mail);
		CHECK(mail.parts.size() == 1);
		CHECK(mail.parts[0]->type == "text/html");
		CHECK(mail.odd.empty());
	}
}
