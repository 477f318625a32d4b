// SPDX-License-Identifier: GPL-3.0-or-later
// How large the messages of a client claim to be.
#include "integration/mail/base/tls/hello.h"

#include <catch2/catch.hpp>

#include <string>

namespace
{

const size_t MAX = 1000;

std::string record(int type, const std::string &payload)
{
	return std::string{ static_cast<char>(type), 3, 1, static_cast<char>(payload.size() >> 8),
			    static_cast<char>(payload.size()) } +
	       payload;
}

std::string message(int type, size_t claimed, size_t there)
{
	return std::string{ static_cast<char>(type), static_cast<char>(claimed >> 16),
			    static_cast<char>(claimed >> 8), static_cast<char>(claimed) } +
	       std::string(there, 'x');
}

// In pieces of each size, to the same end.
bool take(const std::string &bytes)
{
	bool is_first = true;
	bool is_fine = false;
	for (size_t piece = 1; piece <= bytes.size(); piece++) {
		struct hello hello = {};
		bool is_taken = true;
		for (size_t at = 0; at < bytes.size() && is_taken; at += piece) {
			const std::string part = bytes.substr(at, piece);
			is_taken =
				hello_take(&hello, reinterpret_cast<const uint8_t *>(part.data()),
					   part.size(), MAX);
		}
		CAPTURE(piece);
		REQUIRE((is_first || is_taken == is_fine));
		is_first = false;
		is_fine = is_taken;
	}
	return is_fine;
}

} // namespace

TEST_CASE("a message up to the limit passes, one that claims more does not", "[front][hello]")
{
	CHECK(take(record(22, message(1, MAX, MAX))));
	CHECK(take(record(22, message(1, MAX, 10))));
	CHECK_FALSE(take(record(22, message(1, MAX + 1, 10))));
	CHECK_FALSE(take(record(22, message(1, 0xffffff, 0))));
}

TEST_CASE("a claim that is spread over records is seen", "[front][hello]")
{
	const std::string claim = message(1, 100000, 0);
	CHECK_FALSE(take(record(22, claim.substr(0, 1)) + record(22, claim.substr(1, 2)) +
			 record(22, "") + record(22, claim.substr(3))));
}

TEST_CASE("the second hello is looked at as the first", "[front][hello]")
{
	const std::string first =
		record(22, message(1, 300, 200)) + record(22, std::string(100, 'x'));
	CHECK(take(first + record(20, "\1") + record(22, message(1, 300, 300))));
	CHECK_FALSE(take(first + record(20, "\1") + record(22, message(1, 5000, 300))));
	CHECK_FALSE(take(first + record(22, message(1, 300, 300) + message(1, 5000, 0))));
}

TEST_CASE("what is encrypted is not looked at", "[front][hello]")
{
	const std::string hello = record(22, message(1, 300, 300));
	const std::string noise = record(22, std::string(50, '\xff'));
	CHECK(take(hello + record(23, noise) + noise));
	CHECK(take(hello + record(22, message(16, 30, 30)) + record(20, "\1") + noise));
	CHECK_FALSE(take(hello + noise));
}

TEST_CASE("what is no TLS is left to OpenSSL", "[front][hello]")
{
	CHECK(take("EHLO client.example\r\nMAIL FROM:<>\r\n"));
	CHECK(take(std::string("\x80\x2e\1\3\1", 5) + std::string(46, '\xff')));
}
