// SPDX-License-Identifier: GPL-3.0-or-later
// Messages of OpenPGP, as gpg 2.2 begins them.
#include <string>

#include <catch2/catch.hpp>

#include "lib/content/pgp.h"

namespace
{

bool is_encrypted(const std::string &head)
{
	const std::string copy(head); // of exactly that size
	return pgp_is_encrypted(reinterpret_cast<const uint8_t *>(copy.data()), copy.size());
}

const std::string line = "-----BEGIN PGP MESSAGE-----\n";
const std::string password = "\x8c\x0d\x04\x09\x03\x02\xd7\x86\xcd\x77";
const std::string recipient = "\x85\x01\x0c\x03"
			      "8letters\x01\x07";

} // namespace

TEST_CASE("a message that is encrypted is known by its first packet", "[content][pgp]")
{
	CHECK(is_encrypted(password));
	CHECK(is_encrypted(recipient));
	CHECK(is_encrypted("\x84\x5e\x03"
			   "8letters\x12\x01"));
	CHECK(is_encrypted("\xc3\x0d\x04\x09\x03"));
	CHECK(is_encrypted("\xc1\xc0\x4c\x03"
			   "8letters\x01"));
	CHECK(is_encrypted("\xc1\x4c\x06\x15\x04"));
	CHECK(is_encrypted("\xc3\x1c\x06\x1a\x09"));
	// Signed, compressed or stored alone; one that is cut; other versions and algorithms.
	for (const std::string &other :
	     { std::string("\xa3\x01\x9b\xc0\xcb"), std::string("\x90\x0d\x03\0\x0a\1", 6),
	       std::string("\xcb\x0d\x04\x09\x03"), password.substr(0, 4), recipient.substr(0, 12),
	       std::string("\x8c\x0d\x07\x09\x03"), std::string("\x8c\x0d\x04\x19\x03"),
	       std::string("\x8e\x0d\x04\x09\x03"), std::string("\xc3\xff\x04\x09\x03"),
	       std::string("\x85\x01\x0c\x03"
			   "8letters\x41\x07"),
	       std::string() })
		CHECK_FALSE(is_encrypted(other));
	// A table of dBASE 7 with a memo, of 20 May 2021.
	CHECK_FALSE(is_encrypted("\x8c\x79\x05\x14\x09"));
}

TEST_CASE("a message that is encrypted is known in a text", "[content][pgp]")
{
	CHECK(is_encrypted(line + "\njA0ECQMC14bNdxorj43/0n4\n"));
	CHECK(is_encrypted("Hello,\n" + line +
			   "Version: 1\nComment: a\n \r\nhQEMAzhsZXR0ZXJzAQcx\n"));
	CHECK(is_encrypted(line + "\nowGbwMvMwCG2N9FB\n" + line + "\nwcBMAzhsZXR0ZXJzAQ=="));
	CHECK_FALSE(is_encrypted(line + "\nowGbwMvMwCG2N9FBS2zq\n"));
	CHECK_FALSE(is_encrypted(line + "jA0ECQMC14bNdxorj43/0n4\n"));
	CHECK_FALSE(is_encrypted("> " + line + "\njA0ECQMC14bNdxorj43/0n4\n"));
	CHECK_FALSE(is_encrypted(line + "\njA0E"));
	CHECK_FALSE(is_encrypted(line));
}
