// SPDX-License-Identifier: GPL-3.0-or-later
// Mails and their parts: multiparts, messages, delimiters, ends of lines, bounds.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/mstream/mail.hh"

namespace
{

const std::string two_parts = "From: a@example.org\n"
			      "MIME-Version: 1.0\n"
			      "Content-Type: multipart/mixed;\n"
			      " boundary=\"bound\"\n"
			      "\n"
			      "preamble\n"
			      "--bound\n"
			      "\n"
			      "first\n"
			      "line\n"
			      "--bound\n"
			      "Content-Type: Image/PNG; name=a.png\n"
			      "Content-Transfer-Encoding: BASE64\n"
			      "\n"
			      "aGVsbG8g\n"
			      "d29ybGQ=\n"
			      "\n"
			      "--bound--\n"
			      "epilogue\n";

struct Expected {
	std::string position, type, name, bytes;
};

void check_parts(const Mail &mail, const std::vector<Expected> &expected)
{
	REQUIRE(mail.parts.size() == expected.size());
	for (size_t i = 0; i < expected.size(); i++) {
		CHECK(mail.parts[i]->position == expected[i].position);
		CHECK(mail.parts[i]->type == expected[i].type);
		CHECK(mail.parts[i]->name == expected[i].name);
		CHECK(mail.parts[i]->bytes == expected[i].bytes);
		CHECK(mail.parts[i]->is_whole);
	}
}

} // namespace

TEST_CASE("a mail without MIME is one text", "[mstream][mails]")
{
	Mail mail;
	read_all("Subject: x\r\n\r\nhello\r\n--dashes\r\n", mail);
	check_parts(mail, { { "1", "text/plain", "", "hello\r\n--dashes\r\n" } });
	CHECK(mail.odd.empty());
}

TEST_CASE("a multipart has its parts, and what is beside them", "[mstream][mails]")
{
	SECTION("LF")
	{
		Mail mail;
		read_all(two_parts, mail);
		check_parts(mail, { { "0", "text/plain", "", "preamble" },
				    { "1", "text/plain", "", "first\nline" },
				    { "2", "image/png", "a.png", "hello world" },
				    { "0", "text/plain", "", "epilogue\n" } });
		CHECK(mail.odd.empty());
	}
	SECTION("CRLF")
	{
		Mail mail;
		read_all(crlf(two_parts), mail);
		check_parts(mail, { { "0", "text/plain", "", "preamble" },
				    { "1", "text/plain", "", "first\r\nline" },
				    { "2", "image/png", "a.png", "hello world" },
				    { "0", "text/plain", "", "epilogue\r\n" } });
		CHECK(mail.odd.empty());
	}
	SECTION("CR")
	{
		Mail mail;
		read_all(cr(two_parts), mail);
		check_parts(mail, { { "0", "text/plain", "", "preamble" },
				    { "1", "text/plain", "", "first\rline" },
				    { "2", "image/png", "a.png", "hello world" },
				    { "0", "text/plain", "", "epilogue\r" } });
		// Where lines end in LF it is a header without an end.
		CHECK(mail.is_odd("bad field"));
	}
}

TEST_CASE("messages and multiparts within one another", "[mstream][mails]")
{
	Mail mail;
	read_all("Content-Type: multipart/mixed; boundary=a\n\n"
		 "--a\nContent-Type: text/html\n\n<p>\n"
		 "--a\nContent-Type: message/rfc822\n\n"
		 "Subject: inner\nContent-Type: multipart/alternative; boundary=\"a-b\"\n\n"
		 "--a-b\n\none\n--a-b\nContent-Type: text/x; name=y\n\ntwo\n--a-b--\n\n"
		 "--a\nContent-Type: message/rfc822\n\nSubject: plain\n\nthree\n"
		 "--a\nContent-Type: multipart/digest; boundary=c\n\n"
		 "--c\n\nSubject: d\n\nfour\n--c\nContent-Type: text/plain\n\nfive\n--c--\n--a--\n",
		 mail);
	check_parts(mail, { { "1", "text/html", "", "<p>" },
			    { "2.1", "text/plain", "", "one" },
			    { "2.2", "text/x", "y", "two" },
			    { "3.1", "text/plain", "", "three" },
			    { "4.1.1", "text/plain", "", "four" },
			    { "4.2", "text/plain", "", "five" } });
	CHECK(mail.odd.empty());
}

TEST_CASE("a message that is encoded is read all the same", "[mstream][mails]")
{
	// Subject: s, Content-Type: text/html, "hi"
	Mail mail;
	read_all("Content-Type: multipart/mixed; boundary=a\n\n"
		 "--a\nContent-Type: message/rfc822; name=m.eml\n"
		 "Content-Transfer-Encoding: base64\n\n"
		 "U3ViamVjdDogcwpDb250ZW50LVR5cGU6IHRleHQvaHRtbAoKaGk=\n--a--\n",
		 mail);
	check_parts(mail, { { "1", "message/rfc822", "m.eml",
			      "Subject: s\nContent-Type: text/html\n\nhi" },
			    { "1.1", "text/html", "", "hi" } });
	CHECK(mail.is_odd("bad coding"));
}

TEST_CASE("boundaries that are prefixes of one another", "[mstream][mails]")
{
	Mail mail;
	read_all("Content-Type: multipart/mixed; boundary=x\n\n"
		 "--x\nContent-Type: multipart/mixed; boundary=xy\n\n"
		 "--xy\nContent-Type: multipart/mixed; boundary=xyz\n\n"
		 "--xyz\n\none\n--xyz--\n--xy\n\ntwo\n--xy--\n--x\n\nthree\n--x--\n",
		 mail);
	check_parts(mail, { { "1.1.1", "text/plain", "", "one" },
			    { "1.2", "text/plain", "", "two" },
			    { "2", "text/plain", "", "three" } });
	CHECK(mail.odd.empty());
}

TEST_CASE("a delimiter may have blanks behind it, and is one at the end", "[mstream][mails]")
{
	Mail mail;
	read_all("Content-Type: multipart/mixed; boundary=x\n\n--x \t\n\none\n--x--", mail);
	check_parts(mail, { { "1", "text/plain", "", "one" } });
	CHECK(mail.odd.empty());
}

TEST_CASE("a line that begins as a delimiter is read in both ways", "[mstream][mails]")
{
	Mail mail;
	read_all("Content-Type: multipart/mixed; boundary=x\n\n"
		 "--x\n\none\n--xtra\n\ntwo\n--x\n\nthree\n--x--\n",
		 mail);
	CHECK(mail.has("one\n--xtra\n\ntwo"));
	CHECK(mail.has("one"));
	CHECK(mail.has("two"));
	CHECK(mail.is_odd("bad boundary"));
	// Behind the next delimiter both are the same.
	CHECK(std::count_if(mail.parts.begin(), mail.parts.end(),
			    [](const Part *part) { return part->bytes == "three"; }) == 1);
}

TEST_CASE("a multipart that is not closed", "[mstream][mails]")
{
	SECTION("by the end of the mail")
	{
		Mail mail;
		read_all("Content-Type: multipart/mixed; boundary=x\n\n--x\n\none\n", mail);
		check_parts(mail, { { "1", "text/plain", "", "one\n" } });
		CHECK(mail.is_odd("no end"));
	}
	SECTION("by a delimiter of the one around it")
	{
		Mail mail;
		read_all("Content-Type: multipart/mixed; boundary=x\n\n"
			 "--x\nContent-Type: multipart/mixed; boundary=y\n\n--y\n\none\n"
			 "--x\n\ntwo\n--x--\n",
			 mail);
		check_parts(mail, { { "1.1", "text/plain", "", "one" },
				    { "2", "text/plain", "", "two" } });
		CHECK(mail.is_odd("no end"));
	}
	SECTION("a mail that has broken off is not odd, and not whole")
	{
		Mail mail;
		read_mail("Content-Type: multipart/mixed; boundary=x\n\n--x\n\none\n", 1000, mail,
			  false);
		REQUIRE(mail.parts.size() == 1);
		CHECK_FALSE(mail.parts[0]->is_whole);
		CHECK(mail.odd.empty());
	}
}

TEST_CASE("parts behind the end of their multipart are parts", "[mstream][mails]")
{
	Mail mail;
	read_all("Content-Type: multipart/mixed; "
		 "boundary=x\n\n--x\n\none\n--x--\n--x\n\ntwo\n--x--\n",
		 mail);
	check_parts(mail, { { "1", "text/plain", "", "one" }, { "2", "text/plain", "", "two" } });
	CHECK(mail.is_odd("bad boundary"));
}

TEST_CASE("files in texts and in TNEF are parts", "[mstream][mails]")
{
	SECTION("uuencode")
	{
		Mail mail;
		read_all("Subject: x\n\nSee:\nbegin 644 a.txt\n#0V%T\n`\nend\nbye\n", mail);
		REQUIRE(mail.parts.size() == 2);
		CHECK(mail.parts[1]->name == "a.txt");
		CHECK(mail.parts[1]->bytes == "Cat");
		CHECK(mail.parts[1]->coding == MSTREAM_UUENCODE);
		CHECK(mail.parts[1]->position == "1");
	}
	SECTION("uuencode that the header says, whatever the mode is")
	{
		const std::string body = "\n\nbegin abc a.txt\n#0V%T\n`\nend\n";
		for (const std::string coding : { "x-uuencode", "X-UUE", "uuencode", "uue" }) {
			Mail mail;
			read_all("Content-Type: application/zip\nContent-Transfer-Encoding: " +
					 coding + body,
				 mail);
			REQUIRE(mail.parts.size() == 2);
			CHECK(mail.parts[1]->name == "a.txt");
			CHECK(mail.parts[1]->bytes == "Cat");
		}
		Mail mail;
		read_all("Content-Transfer-Encoding: 7bit" + body, mail);
		CHECK(mail.parts.size() == 1);
	}
	SECTION("beside the parts")
	{
		Mail mail;
		read_all("Content-Type: multipart/mixed; boundary=x\n\n"
			 "begin 644 a.txt\n#0V%T\n`\nend\n--x--\n",
			 mail);
		CHECK(mail.has("Cat"));
	}
	SECTION("in an address, amid lines of another file")
	{
		Mail mail;
		read_all("Content-Type: text/html\n\nbegin 644 a.txt\n#0V%T\n"
			 "<img src='data:x;base64,RG9n'>\n#0V%T\nend\n",
			 mail);
		REQUIRE(mail.parts.size() == 3);
		CHECK(mail.has("Dog"));
		CHECK(mail.parts[1]->bytes.substr(0, 3) == "Cat");
	}
	SECTION("TNEF by its first bytes")
	{
		// Nothing but the mark, the key, and a body: attribute 0x800c, "hi" with a NUL, its sum.
		Mail mail;
		read_all("Content-Type: image/png\nContent-Transfer-Encoding: base64\n\n"
			 "eJ8+IgEAAQyAAgADAAAAaGkA0QA=\n",
			 mail);
		CHECK(std::count_if(mail.parts.begin(), mail.parts.end(), [](const Part *part) {
			      return part->coding == MSTREAM_TNEF;
		      }) <= 1);
		CHECK(mail.parts.size() >= 1);
	}
}

TEST_CASE("10,000 parts, and what is behind them", "[mstream][mails]")
{
	std::string text = "Content-Type: multipart/mixed; boundary=x\n\n";
	for (unsigned i = 0; i < 10010; i++)
		text += "--x\n\n" + std::to_string(i) + "\n";
	text += "--x--\n";
	Mail mail;
	read_mail(text, 4096, mail);
	CHECK(mail.parts.size() == MSTREAM_PARTS);
	CHECK(mail.parts.back()->bytes == "9999");
	CHECK(mail.odd.size() >= 1);
	CHECK(mail.is_odd("too many"));
}

TEST_CASE("100 levels", "[mstream][mails]")
{
	std::string text;
	for (unsigned i = 0; i < 100; i++) {
		const std::string boundary = "b" + std::to_string(i) + "e";
		text += "Content-Type: multipart/mixed; boundary=" + boundary + "\n\n--" +
			boundary + "\n";
	}
	text += "\nsecret\n";
	Mail mail;
	read_all(text, mail);
	REQUIRE(mail.parts.size() >= 1);
	CHECK(mail.parts[0]->bytes.find("secret") != std::string::npos);
	CHECK(mail.is_odd("too deep"));
}

TEST_CASE("a header of 64 MB", "[mstream][mails]")
{
	std::vector<unsigned char> memory(mstream_size());
	const std::string piece(1U << 20, 'a');
	const auto push = [](struct mstream *stream, const std::string &text) {
		mstream_push(stream, reinterpret_cast<const uint8_t *>(text.data()), text.size());
	};
	SECTION("of a field that says nothing")
	{
		Mail mail;
		struct mstream *stream = mstream_begin(memory.data(), &part_events, &mail);
		push(stream, "X: ");
		for (unsigned i = 0; i < 64; i++)
			push(stream, piece);
		push(stream, "\n\nbody");
		mstream_end(stream, true);
		REQUIRE(mail.parts.size() == 1);
		CHECK(mail.parts[0]->bytes == "body");
		CHECK(mail.odd.empty());
	}
	SECTION("of a parameter, with the boundary behind it")
	{
		Mail mail;
		struct mstream *stream = mstream_begin(memory.data(), &part_events, &mail);
		push(stream, "Content-Type: multipart/mixed; x=");
		for (unsigned i = 0; i < 8; i++)
			push(stream, piece);
		push(stream, ";\n boundary=x\n\n--x\n\nbody\n--x--\n");
		mstream_end(stream, true);
		REQUIRE(mail.parts.size() == 1);
		CHECK(mail.parts[0]->bytes == "body");
		CHECK(mail.is_odd("long field"));
	}
	SECTION("of a name")
	{
		Mail mail;
		struct mstream *stream = mstream_begin(memory.data(), &part_events, &mail);
		for (unsigned i = 0; i < 8; i++)
			push(stream, piece);
		push(stream, ": x\nContent-Type: text/html\n\nbody");
		mstream_end(stream, true);
		CHECK(mail.parts.size() == 2); // from the long line on, and without it
		CHECK(mail.has("body"));
	}
}

TEST_CASE("its memory is bounded", "[mstream][mails]")
{
	CHECK(mstream_size() <= 44 * 1024);
	// A mail that is not odd touches little of it.
	std::vector<unsigned char> memory(mstream_size(), 0xa5);
	Mail mail;
	const std::string text = crlf(two_parts);
	struct mstream *stream = mstream_begin(memory.data(), &part_events, &mail);
	mstream_push(stream, reinterpret_cast<const uint8_t *>(text.data()), text.size());
	mstream_end(stream, true);
	size_t touched = 0;
	for (size_t at = 0; at < memory.size(); at += 64) {
		const size_t end = std::min(at + 64, memory.size());
		touched += std::any_of(memory.begin() + static_cast<long>(at),
				       memory.begin() + static_cast<long>(end),
				       [](unsigned char byte) { return byte != 0xa5; })
				   ? 64
				   : 0;
	}
	CHECK(touched < 6 * 1024);
	CAPTURE(mstream_size(), touched);
}
