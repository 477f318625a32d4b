// SPDX-License-Identifier: GPL-3.0-or-later
// What is in messages that are signed.
#include <catch2/catch.hpp>

#include "tests/unit/unpack/unpacking.hh"

namespace
{

std::string signed_in(const std::string &bytes)
{
	const Unpacked whole = unpack_all(CONTENT_CMS, bytes);
	for (const size_t piece : { 1, 2, 7 })
		CHECK(unpack_all(CONTENT_CMS, bytes, UNPACK_BUDGET, piece).all() == whole.all());
	return whole.all();
}

std::string ber(int tag, const std::string &bytes)
{
	std::string head(1, static_cast<char>(tag));
	head += bytes.size() < 128 ? std::string(1, static_cast<char>(bytes.size()))
				   : "\x82" + std::string(1, static_cast<char>(bytes.size() >> 8)) +
					     static_cast<char>(bytes.size());
	return head + bytes;
}

// Of a length that is not said.
std::string open_ber(int tag, const std::string &bytes)
{
	return std::string(1, static_cast<char>(tag)) + "\x80" + bytes + std::string(2, '\0');
}

std::string type(char last)
{
	return ber(0x06, std::string("\x2a\x86\x48\x86\xf7\x0d\x01\x07") + last);
}

// content is what stands behind the type "data".
template <typename make>
std::string signed_message(const make &made, const std::string &content,
			   const std::string &content_type = type(1))
{
	const std::string digests = ber(0x31, ber(0x30, ber(0x06, "\x2b\x0e") + ber(5, "")));
	const std::string certificates = ber(0xa0, ber(0x30, ber(0x04, "no content")));
	return made(0x30,
		    type(2) + made(0xa0, made(0x30, ber(2, "\1") + digests +
							    made(0x30, content_type + content) +
							    certificates + ber(0x31, ""))));
}

const std::string mail_in_it = "Subject: a\r\n\r\n" + std::string(300, 'x');

} // namespace

TEST_CASE("what is signed comes out, whatever form its lengths have", "[unpack][cms]")
{
	CHECK(signed_in(signed_message(ber, ber(0xa0, ber(4, mail_in_it)))) ==
	      "=" + mail_in_it + ";");
	const std::string parts =
		ber(4, mail_in_it.substr(0, 100)) + ber(4, "") + ber(4, mail_in_it.substr(100));
	for (const std::string &content :
	     { open_ber(0xa0, open_ber(0x24, parts)), ber(0xa0, ber(0x24, parts)),
	       open_ber(0xa0, ber(4, mail_in_it)) }) {
		CHECK(signed_in(signed_message(open_ber, content)) == "=" + mail_in_it + ";");
		CHECK(signed_in(signed_message(ber, content)) == "=" + mail_in_it + ";");
	}
}

TEST_CASE("what is signed elsewhere, cut or none has what there is", "[unpack][cms]")
{
	CHECK(signed_in(signed_message(ber, "")).empty());
	CHECK(signed_in(signed_message(open_ber, "")).empty());
	const std::string whole = signed_message(ber, ber(0xa0, ber(4, mail_in_it)));
	const size_t at = whole.find(mail_in_it);
	// The type before, and something like a content.
	for (const std::string &content : { std::string(), ber(0xa0, ber(4, "not it")) }) {
		std::string other = whole;
		other.insert(other.find("\x31"), ber(0x30, type(1) + content));
		CHECK(signed_in(other).find("=" + mail_in_it + ";") != std::string::npos);
	}
	CHECK(signed_in(whole.substr(0, at + 20)) == "=" + mail_in_it.substr(0, 20) + ";");
	CHECK(signed_in(whole.substr(0, at)) == "=;");
	CHECK(signed_in(whole.substr(0, 30)).empty());
	CHECK(signed_in("\x30\xff" + std::string(300, '\xff')).empty());
	CHECK(signed_in("\x30\x88" + std::string(300, '\xff')).empty());
}

TEST_CASE("what is signed may be of any type", "[unpack][cms]")
{
	const std::string content = ber(0xa0, ber(4, mail_in_it));
	const std::string bytes = "\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01";
	for (const std::string &other :
	     { ber(0x06, "\x2a\x03\x04"), ber(0x06, std::string(300, '\x2a')),
	       "\x06\x81\x09" + bytes, std::string("\x06\x84\0\0\0\x09", 6) + bytes })
		CHECK(signed_in(signed_message(ber, content, other)) == "=" + mail_in_it + ";");
	// An object of its own kind, and one that has no octets in it.
	CHECK(signed_in(signed_message(ber, ber(0xa0, ber(0x0c, "text")))).empty());
}

TEST_CASE("what is encrypted is said of a message", "[unpack][cms]")
{
	const std::string oid = "\x2a\x86\x48\x86\xf7\x0d\x01";
	const std::string within = ber(
		0xa0,
		ber(0x30, ber(2, "\2") + ber(0x31, ber(0x30, ber(4, "key"))) +
				  ber(0x30, type(1) + ber(0x30, ber(6, "\x60\x86") + ber(4, "iv")) +
						    ber(0x80, "secret"))));
	for (const std::string &encrypted :
	     { type(3), type(4), type(6), ber(6, oid + "\x09\x10\x01\x17"),
	       "\x06\x81\x09" + oid + "\7\3" })
		CHECK(signed_in(ber(0x30, encrypted + within)) == "!encrypted: ");
	CHECK(signed_in(ber(0x30, type(3)).substr(0, 12)).empty());
	CHECK(signed_in(ber(0x30, ber(6, oid + "\x09\x10\x01\x17\1") + within)).empty());
	// A certificate's own types, and one behind the first say nothing.
	CHECK(signed_in(signed_message(ber, ber(0xa0, ber(4, "a")), type(3))) == "=a;");
	CHECK(signed_in(ber(0x30, ber(6, "\x2a\3") + type(3) + within)).empty());
}
