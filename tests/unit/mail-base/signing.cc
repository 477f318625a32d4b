// SPDX-License-Identifier: GPL-3.0-or-later
// The messages between an edge and the keyholder.
#include "integration/mail/base/tls/signing.h"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstring>
#include <vector>

namespace
{

const std::vector<uint8_t> INPUT(48, 0xab);

std::vector<uint8_t> request_bytes()
{
	signing_request request = {};
	uint8_t bytes[SIGNING_REQUEST_MAX];
	request.number = 0x0102030405060708;
	request.operation = SIGNING_ECDSA;
	std::memset(request.fingerprint, 0x5a, sizeof(request.fingerprint));
	request.input = INPUT.data();
	request.input_size = INPUT.size();
	const size_t size = signing_encode_request(&request, bytes);
	return { bytes, bytes + size };
}

std::vector<uint8_t> answer_bytes(signing_result result, size_t size)
{
	const std::vector<uint8_t> signature(KEYS_SIGNATURE_MAX, 7);
	const signing_answer answer = { 9, result, signature.data(), size };
	uint8_t bytes[SIGNING_ANSWER_MAX];
	const size_t made = signing_encode_answer(&answer, bytes);
	return { bytes, bytes + made };
}

int decode_answer(const std::vector<uint8_t> &bytes)
{
	signing_answer ignored;
	return signing_decode_answer(bytes.data(), bytes.size(), &ignored);
}

int decode_request(const std::vector<uint8_t> &bytes)
{
	signing_request ignored;
	return signing_decode_request(bytes.data(), bytes.size(), &ignored);
}

} // namespace

TEST_CASE("a request is read as it was written", "[front][signing]")
{
	const auto bytes = request_bytes();
	signing_request read;
	REQUIRE(bytes.size() == SIGNING_REQUEST_HEAD + INPUT.size());
	CHECK(std::memcmp(bytes.data(), "SKQ1\1\2\3\4\5\6\7\10\3\0\0\60", 16) == 0);
	REQUIRE(signing_decode_request(bytes.data(), bytes.size(), &read) == 0);
	CHECK(read.number == 0x0102030405060708);
	CHECK(read.operation == SIGNING_ECDSA);
	CHECK(read.fingerprint[31] == 0x5a);
	CHECK(std::vector<uint8_t>(read.input, read.input + read.input_size) == INPUT);
}

TEST_CASE("a request that is cut, longer or of other words is refused", "[front][signing]")
{
	const auto good = request_bytes();
	for (size_t cut = 0; cut < good.size(); cut++) {
		CAPTURE(cut);
		REQUIRE(decode_request({ good.begin(), good.begin() + static_cast<long>(cut) }) ==
			-EBADMSG);
	}
	auto longer = good;
	longer.push_back(0);
	CHECK(decode_request(longer) == -EBADMSG);
	const auto [at, value] = GENERATE(
		table<size_t, int>({ { 0, 'X' }, { 12, 0 }, { 12, 4 }, { 13, 1 }, { 14, 2 } }));
	CAPTURE(at, value);
	auto other = good;
	other[at] = static_cast<uint8_t>(value);
	CHECK(decode_request(other) == -EBADMSG);
}

TEST_CASE("a request with nothing to sign, or too much of it, is refused", "[front][signing]")
{
	auto bytes = request_bytes();
	bytes.resize(SIGNING_REQUEST_HEAD);
	bytes[15] = 0;
	CHECK(decode_request(bytes) == -EBADMSG);
	bytes.resize(SIGNING_REQUEST_HEAD + KEYS_SIGNATURE_MAX + 1);
	bytes[14] = (KEYS_SIGNATURE_MAX + 1) >> 8;
	bytes[15] = (KEYS_SIGNATURE_MAX + 1) & 0xff;
	CHECK(decode_request(bytes) == -EBADMSG);
}

TEST_CASE("an answer has a signature when it says so, and only then", "[front][signing]")
{
	CHECK(decode_answer(answer_bytes(SIGNING_SIGNED, 256)) == 0);
	CHECK(decode_answer(answer_bytes(SIGNING_SIGNED, 0)) == -EBADMSG);
	CHECK(decode_answer(answer_bytes(SIGNING_REFUSED, 0)) == 0);
	CHECK(decode_answer(answer_bytes(SIGNING_REFUSED, 1)) == -EBADMSG);
	CHECK(decode_answer(answer_bytes(static_cast<signing_result>(4), 0)) == -EBADMSG);
	auto request = request_bytes();
	CHECK(decode_answer(request) == -EBADMSG);
}

TEST_CASE("an answer that is cut or longer is refused", "[front][signing]")
{
	const auto good = answer_bytes(SIGNING_SIGNED, 70);
	for (size_t cut = 0; cut < good.size(); cut++) {
		CAPTURE(cut);
		REQUIRE(decode_answer({ good.begin(), good.begin() + static_cast<long>(cut) }) ==
			-EBADMSG);
	}
	auto longer = good;
	longer.push_back(0);
	CHECK(decode_answer(longer) == -EBADMSG);
}
