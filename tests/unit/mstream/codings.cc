// SPDX-License-Identifier: GPL-3.0-or-later
// base64 and quoted-printable, as they should be and as they are.
#include <string>

#include "tests/unit/mstream/mail.hh"

namespace
{

void read_coded(const std::string &coding, const std::string &body, Mail &mail)
{
	read_all("Content-Type: application/x-thing\nContent-Transfer-Encoding: " + coding +
			 "\n\n" + body,
		 mail);
	REQUIRE(mail.parts.size() >= 1);
}

std::string encode(const std::string &bytes, size_t line_size)
{
	const char *const characters =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	std::string made;
	size_t column = 0;
	for (size_t at = 0; at < bytes.size(); at += 3) {
		unsigned group = 0;
		for (size_t i = 0; i < 3; i++)
			group = group << 8 |
				(at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : 0U);
		for (size_t i = 0; i < 4; i++) {
			const bool is_pad = at + i > bytes.size();
			made += is_pad ? '=' : characters[group >> (18 - 6 * i) & 63];
			if (++column % line_size == 0)
				made += "\r\n";
		}
	}
	return made;
}

} // namespace

TEST_CASE("base64 in lines of any size", "[mstream][codings]")
{
	std::string bytes;
	for (unsigned i = 0; i < 20011; i++)
		bytes += static_cast<char>(i * 7 + i / 256);
	for (const size_t line : { 1, 3, 4, 5, 57, 76, 1000, 100000 }) {
		for (const size_t size : { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 700 }) {
			Mail mail;
			read_mail("Content-Transfer-Encoding: base64\n\n" +
					  encode(bytes.substr(0, size), line),
				  100, mail);
			REQUIRE(mail.parts.size() == 1);
			CHECK(mail.parts[0]->bytes == bytes.substr(0, size));
			CHECK(mail.odd.empty());
		}
		Mail mail;
		read_mail("Content-Transfer-Encoding: base64\n\n" + encode(bytes, line), 16384,
			  mail);
		CHECK(mail.parts[0]->bytes == bytes);
	}
}

TEST_CASE("base64 in any cut", "[mstream][codings]")
{
	Mail mail;
	read_coded("base64", "aGVs\r\nbG8g d29y\tbGQ=\r\n", mail);
	CHECK(mail.parts.size() == 1);
	CHECK(mail.parts[0]->bytes == "hello world");
	CHECK(mail.odd.empty());
}

TEST_CASE("bytes that base64 does not have are skipped, or its end", "[mstream][codings]")
{
	Mail mail;
	read_coded("base64", "aGVs!bG8#=\n", mail);
	REQUIRE(mail.parts.size() == 2);
	CHECK(mail.parts[0]->bytes == "hello");
	CHECK(mail.parts[1]->bytes == "hel");
	CHECK(mail.parts[1]->is_copy);
	CHECK(mail.parts[1]->view != mail.parts[0]->view);
	CHECK(mail.is_odd("bad coding 1"));
}

TEST_CASE("the other alphabet of base64", "[mstream][codings]")
{
	Mail mail;
	read_coded("base64", "AAAA__8-AAAA\n", mail);
	REQUIRE(mail.parts.size() >= 3);
	CHECK(mail.has(std::string("\0\0\0\xff\xff\x3e\0\0\0", 9)));
	CHECK(mail.has(std::string("\0\0\0", 3))); // or its end
	CHECK(mail.parts[2]->is_copy);
	CHECK(mail.is_odd("bad coding"));
}

TEST_CASE("padding amid base64 is an end, a new beginning, or nothing", "[mstream][codings]")
{
	SECTION("of a quantum that is not full")
	{
		Mail mail;
		read_coded("base64", "YQ==YmM=\n", mail);
		REQUIRE(mail.parts.size() == 3);
		CHECK(mail.has("abc"));
		CHECK(mail.has("a"));
		// Without the padding the bits go on: YQYmMw
		CHECK(mail.has("a\x06\x26\x33") == false);
		CHECK(mail.parts[2]->bytes.substr(0, 3) == "a\x06\x26");
		CHECK(mail.is_odd("bad coding"));
	}
	SECTION("of a full one there is no third way")
	{
		Mail mail;
		read_coded("base64", "YWJj=YWJj", mail);
		REQUIRE(mail.parts.size() == 2);
		CHECK(mail.has("abcabc"));
		CHECK(mail.has("abc"));
	}
	SECTION("at the end it may be too much, or missing")
	{
		Mail mail;
		read_coded("base64", "YWI====\n\n", mail);
		CHECK(mail.parts.size() == 1);
		CHECK(mail.parts[0]->bytes == "ab");
		CHECK(mail.odd.empty());
		Mail other;
		read_coded("base64", "YWI\n", other);
		CHECK(other.parts[0]->bytes == "ab");
		CHECK(other.is_odd("bad coding"));
	}
}

TEST_CASE("quoted-printable", "[mstream][codings]")
{
	const struct {
		const char *body, *bytes;
		bool is_odd;
	} all[] = {
		{ "a=3Db=3db=41\n", "a=b=bA\n", false },
		{ "soft=\nbreak=\r\ning=\rit\n", "softbreakingit\n", false },
		{ "CR CR LF=\r\r\nis=\r\rone=\r\rx\n", "CR CR LFis\rone\rx\n", false },
		{ "blanks = \t \nhere\n", "blanks here\n", false },
		{ "the end=", "the end", false },
		{ "the end= ", "the end", false },
		{ "cut =4", "cut =4", false },
		{ "a  b\tc", "a  b\tc", false },
		{ "bad =ZZ =4Z ==41 = x", "bad =ZZ =4Z =A = x", true },
		{ "=C3=A4=\r\n=c3=A4", "\xc3\xa4\xc3\xa4", false },
		{ "\n\n=0A\n", "\n\n\n\n", false },
	};
	for (const auto &one : all) {
		Mail mail;
		read_coded("quoted-printable", one.body, mail);
		CHECK(mail.parts[0]->bytes == one.bytes);
		CHECK(mail.is_odd("bad coding") == one.is_odd);
		CHECK(mail.parts.size() == 1);
	}
}

TEST_CASE("blanks at the end of a line of quoted-printable are kept, or dropped",
	  "[mstream][codings]")
{
	SECTION("a few")
	{
		Mail mail;
		read_coded("quoted-printable", "one \ntwo\t \r\n three\n", mail);
		REQUIRE(mail.parts.size() == 2);
		CHECK(mail.parts[0]->bytes == "one \ntwo\t \r\n three\n");
		CHECK(mail.parts[1]->bytes == "one\ntwo\r\n three\n");
		CHECK(mail.is_odd("bad coding"));
	}
	SECTION("more than a line has are data")
	{
		Mail mail;
		const std::string blanks(200, ' ');
		read_coded("quoted-printable", "one" + blanks + "\ntwo" + blanks + "three\n", mail);
		REQUIRE(mail.parts.size() == 1);
		CHECK(mail.parts[0]->bytes == "one" + blanks + "\ntwo" + blanks + "three\n");
	}
	SECTION("79 are the most that are held")
	{
		for (const size_t size : { 78, 79, 80, 81 }) {
			Mail mail;
			read_coded("quoted-printable", "x" + std::string(size, ' ') + "\ny", mail);
			CHECK(mail.parts.size() == (size <= 79 ? 2 : 1));
		}
	}
}

TEST_CASE("each coding that is said, and each that may be meant", "[mstream][codings]")
{
	SECTION("two fields")
	{
		Mail mail;
		read_all("Content-Transfer-Encoding: 7bit\nContent-Transfer-Encoding: "
			 "base64\n\naGVsbG8=",
			 mail);
		REQUIRE(mail.parts.size() == 2);
		CHECK(mail.parts[0]->bytes == "aGVsbG8=");
		CHECK(mail.parts[1]->bytes == "hello");
		CHECK(mail.parts[1]->view == 1);
		CHECK(mail.is_odd("two types"));
	}
	SECTION("an unknown one")
	{
		Mail mail;
		read_all("Content-Transfer-Encoding: base65\n\naGVsbG8=3D", mail);
		CHECK(mail.has("aGVsbG8=3D"));
		CHECK(mail.has("aGVsbG8="));
		CHECK(mail.has("hello"));
		CHECK(mail.is_odd("bad coding"));
	}
	SECTION("with comments and blanks")
	{
		Mail mail;
		read_all("Content-Transfer-Encoding: (as) \tBase64 (always); x=y\n\naGVsbG8=",
			 mail);
		CHECK(mail.parts.size() == 1);
		CHECK(mail.parts[0]->bytes == "hello");
		CHECK(mail.odd.empty());
	}
}
