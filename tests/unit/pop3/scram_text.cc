// SPDX-License-Identifier: GPL-3.0-or-later
// Keys of SCRAM-SHA-256 as PostgreSQL keeps them, with one spelling for each.
#include "tests/unit/pop3/session.hh"

#include "lib/pop3/scram_text.h"

namespace
{

const std::string SALT = "W22ZaJ0SNY7soEsUEjb6gQ==";
const std::string STORED = "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=";
const std::string SERVER = "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";

std::string word(const std::string &iterations, const std::string &salt, const std::string &stored,
		 const std::string &server)
{
	return "SCRAM-SHA-256$" + iterations + ":" + salt + "$" + stored + ":" + server;
}

// Of exactly that size, so that a byte too many is seen.
std::string refusal(const std::string &text, struct scram_keys *ret_keys)
{
	const std::vector<char> copy(text.begin(), text.end());
	const char *reason = scram_text_parse(copy.data(), copy.size(), ret_keys);
	return reason != nullptr ? reason : "";
}

std::string print(const struct scram_keys &keys)
{
	char text[SCRAM_TEXT_SIZE];
	const size_t size = scram_text_print(&keys, text);
	REQUIRE(std::strlen(text) == size);
	return text;
}

} // namespace

// The word was made with another implementation of HMAC and PBKDF2.
TEST_CASE("the keys of RFC 7677 have the word of PostgreSQL", "[pop3][scram_text]")
{
	const std::string text = word("4096", SALT, STORED, SERVER);
	struct scram_keys keys = {};
	CHECK(print(scram_sample()) == text);
	REQUIRE(refusal(text, &keys).empty());
	CHECK(keys.iterations == 4096);
	CHECK(keys.salt_size == 16);
	CHECK_FALSE(keys.is_mock);
	CHECK(scram_is_password(&keys, "pencil") == SASL_FINE);
	CHECK(print(keys) == text);
}

TEST_CASE("the longest and the shortest keys are a word", "[pop3][scram_text]")
{
	const auto [salt_size, iterations] = GENERATE(table<size_t, uint32_t>(
		{ { 1, 1 }, { 2, 4096 }, { SCRAM_SALT_MAX, SCRAM_ITERATIONS_MAX } }));
	struct scram_keys keys = scram_sample();
	struct scram_keys again = {};
	std::memset(keys.salt, 0xff, salt_size);
	keys.salt_size = salt_size;
	keys.iterations = iterations;
	const auto text = print(keys);
	REQUIRE(refusal(text, &again).empty());
	CHECK(again.iterations == iterations);
	CHECK(again.salt_size == salt_size);
	CHECK(print(again) == text);
}

TEST_CASE("what is no word of keys is refused, and nothing is written", "[pop3][scram_text]")
{
	const std::string head = "does not begin with SCRAM-SHA-256$";
	const std::string form = "is not SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY";
	const std::string count = "iterations: permitted are 1 to 1000000";
	const std::string salt = "the salt is not base64 of 1 to 64 bytes";
	const std::string key = "a key is not base64 of 32 bytes";
	const auto [text, reason] = GENERATE_COPY(table<std::string, std::string>({
		{ "", head },
		{ "SCRAM-SHA-256", head },
		{ "SCRAM-SHA-1$4096:" + SALT, head },
		{ "scram-sha-256$4096:" + SALT, head },
		{ "SCRAM-SHA-256$", form },
		{ "SCRAM-SHA-256$4096", form },
		{ "SCRAM-SHA-256$4096:" + SALT, form },
		{ "SCRAM-SHA-256$4096:" + SALT + "$" + STORED, form },
		{ word("", SALT, STORED, SERVER), count },
		{ word("0", SALT, STORED, SERVER), count },
		{ word("04096", SALT, STORED, SERVER), count },
		{ word("+4096", SALT, STORED, SERVER), count },
		{ word("1000001", SALT, STORED, SERVER), count },
		{ word("4294967297", SALT, STORED, SERVER), count },
		{ word("4096", "", STORED, SERVER), salt },
		{ word("4096", "W22ZaJ0SNY7soEsUEjb6gQ", STORED, SERVER), salt },
		{ word("4096", std::string(88, 'A'), STORED, SERVER), salt },
		{ word("4096", SALT, "", SERVER), key },
		{ word("4096", SALT, SALT, SERVER), key },
		{ word("4096", SALT, STORED, ""), key },
		{ word("4096", SALT, STORED, SALT), key },
		{ word("4096", SALT, STORED, SERVER + "\n"), key },
		{ word("4096", SALT, STORED, SERVER) + ":" + SERVER, key },
	}));
	CAPTURE(text);
	struct scram_keys keys = {};
	keys.iterations = 77;
	CHECK(refusal(text, &keys) == reason);
	CHECK(keys.iterations == 77);
}

TEST_CASE("a word that is cut is refused", "[pop3][scram_text]")
{
	const std::string text = word("4096", SALT, STORED, SERVER);
	struct scram_keys keys = {};
	for (size_t size = 0; size < text.size(); size++)
		CHECK_FALSE(refusal(text.substr(0, size), &keys).empty());
}
