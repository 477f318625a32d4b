// SPDX-License-Identifier: GPL-3.0-or-later
// What an edge may ask a checker, and what it may be told.
#include "integration/mail/pop-front/login/check.h"

#include "tests/lib/seeds.hh"

#include <catch2/catch.hpp>

#include <cstring>
#include <memory>

namespace
{

template <class Message> std::unique_ptr<Message> filled(int byte)
{
	auto made = std::make_unique<Message>();
	memset(made.get(), byte, sizeof(*made));
	return made;
}

} // namespace

TEST_CASE("texts of a question about a password have to end", "[pop][check]")
{
	const auto request = filled<check_request>('x');
	request->kind = CHECK_PASSWORD;
	CHECK_FALSE(check_request_is_valid(request.get()));
	request->user[SASL_TEXT_MAX] = '\0';
	CHECK_FALSE(check_request_is_valid(request.get()));
	request->password[SASL_TEXT_MAX] = '\0';
	// What is not of its kind is not looked at.
	CHECK(check_request_is_valid(request.get()));
	request->user[SASL_TEXT_MAX] = 'x';
	CHECK_FALSE(check_request_is_valid(request.get()));
}

TEST_CASE("a message of SCRAM has a size that it may have", "[pop][check]")
{
	const auto request = filled<check_request>('x');
	request->kind = CHECK_SCRAM_FIRST;
	request->first_size = SASL_MESSAGE_MAX + 1;
	CHECK_FALSE(check_request_is_valid(request.get()));
	request->first_size = SASL_MESSAGE_MAX;
	CHECK(check_request_is_valid(request.get()));
	request->kind = CHECK_SCRAM_FINAL;
	request->nonce[CHECK_NONCE_SIZE - 1] = '\0';
	request->final_size = SASL_MESSAGE_MAX + 1;
	CHECK_FALSE(check_request_is_valid(request.get()));
	request->final_size = SASL_MESSAGE_MAX;
	CHECK(check_request_is_valid(request.get()));
	request->first_size = UINT16_MAX;
	CHECK_FALSE(check_request_is_valid(request.get()));
}

TEST_CASE("the nonce of a proof is printable, without a comma, and ends", "[pop][check]")
{
	const auto row = GENERATE(table<std::string, bool>({
		{ std::string(CHECK_NONCE_SIZE - 1, 'n'), true },
		{ "!", true },
		{ "~+/=", true },
		{ "", false },
		{ std::string(CHECK_NONCE_SIZE, 'n'), false },
		{ "a,b", false },
		{ "a b", false },
		{ "a\x7f", false },
		{ "a\x80", false },
		{ "\n", false },
	}));
	CAPTURE(std::get<0>(row));
	const auto request = filled<check_request>(0);
	request->kind = CHECK_SCRAM_FINAL;
	memcpy(request->nonce, std::get<0>(row).data(), std::get<0>(row).size());
	CHECK(check_request_is_valid(request.get()) == std::get<1>(row));
	const auto reply = filled<check_reply>(0);
	reply->answer = CHECK_CHALLENGE;
	memcpy(reply->nonce, std::get<0>(row).data(), std::get<0>(row).size());
	CHECK(check_reply_is_valid(reply.get()) == std::get<1>(row));
}

TEST_CASE("a kind of question that there is not is refused", "[pop][check]")
{
	const auto request = filled<check_request>(0);
	for (const int kind : { static_cast<int>(CHECK_KINDS), 7, 255 }) {
		request->kind = static_cast<uint8_t>(kind);
		CHECK_FALSE(check_request_is_valid(request.get()));
	}
}

TEST_CASE("an answer is one of five, and yes names a mailbox", "[pop][check]")
{
	const auto reply = filled<check_reply>(0);
	for (const int answer : { CHECK_NO, CHECK_MALFORMED, CHECK_FAILED }) {
		reply->answer = static_cast<uint8_t>(answer);
		CHECK(check_reply_is_valid(reply.get()));
	}
	for (const int answer : { static_cast<int>(CHECK_ANSWERS), 255 }) {
		reply->answer = static_cast<uint8_t>(answer);
		CHECK_FALSE(check_reply_is_valid(reply.get()));
	}
	reply->answer = CHECK_YES;
	CHECK_FALSE(check_reply_is_valid(reply.get()));
	reply->mailbox[0] = 'm';
	CHECK(check_reply_is_valid(reply.get()));
	memset(reply->mailbox, 'm', sizeof(reply->mailbox));
	CHECK_FALSE(check_reply_is_valid(reply.get()));
	reply->mailbox[USERS_ENTRY_SIZE - 1] = '\0';
	reply->text_size = SCRAM_ANSWER_MAX;
	CHECK_FALSE(check_reply_is_valid(reply.get()));
	reply->text_size = SCRAM_ANSWER_MAX - 1;
	CHECK(check_reply_is_valid(reply.get()));
	memset(reply->nonce, 'n', sizeof(reply->nonce));
	CHECK_FALSE(check_reply_is_valid(reply.get()));
}
