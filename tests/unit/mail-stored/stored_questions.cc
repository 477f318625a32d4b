// SPDX-License-Identifier: GPL-3.0-or-later
// What a client may ask about a cluster, and how the answers are written.
#include "integration/mail/mail-stored/store/counters.h"
#include "integration/mail/mail-stored/store/requests.h"

#include <catch2/catch.hpp>

#include <cerrno>
#include <string>
#include <vector>

namespace
{

// Answers all questions, and knows which came.
struct asked {
	struct questions questions; // first
	std::vector<unsigned> numbers;
};

int answer(struct questions *questions, storewire_question question, const uint8_t *, size_t,
	   questions_rows *rows)
{
	reinterpret_cast<asked *>(questions)->numbers.push_back(question);
	questions_add(rows, "state=%s", "well");
	return 0;
}

int ask(struct requests *requests, unsigned question, bool is_own)
{
	storewire_request request = {};
	requests_answer answer;
	request.type = STOREWIRE_CLUSTER;
	request.number = question;
	request.has_memory = question == STOREWIRE_USERS_PUT;
	requests->is_own = is_own;
	requests_take(requests, &request, -1, 1, &answer);
	return answer.reply.status;
}

} // namespace

TEST_CASE("any client may ask how a cluster is, and the machine's own may change it",
	  "[mail-stored][questions]")
{
	stored_setup setup = {};
	uint64_t counters[STORED_COUNTER_COUNT] = {};
	struct requests requests = {};
	struct asked asked = {};
	REQUIRE(requests_init(&requests, nullptr, nullptr, &setup, counters) == 0);
	asked.questions.cluster = answer;
	requests.questions = &asked.questions;
	for (const unsigned question : { STOREWIRE_NODES, STOREWIRE_HEALTH, STOREWIRE_USERS_STATE })
		CHECK(ask(&requests, question, false) == 0);
	CHECK(asked.numbers.size() == 3);
	for (const unsigned question : { STOREWIRE_CLUSTER_CHECK, STOREWIRE_CLUSTER_CHECK_DEEP,
					 STOREWIRE_REPAIR, STOREWIRE_USERS_PUT }) {
		CHECK(ask(&requests, question, false) == -EPERM);
		CHECK(asked.numbers.size() == 3);
	}
	for (unsigned question = 0; question < STOREWIRE_QUESTIONS; question++)
		CHECK(ask(&requests, question, true) == 0);
	CHECK(ask(&requests, STOREWIRE_QUESTIONS, true) == -EINVAL);
	requests_deinit(&requests);
}

TEST_CASE("a value with a line end makes no line", "[mail-stored][questions]")
{
	questions_rows rows = {};
	questions_add(&rows, "thing=finding text=%s", "x\nthing=found missing=0\r\x7f\x1b");
	questions_add(&rows, "thing=found missing=%u", 7U);
	const std::string text(reinterpret_cast<char *>(rows.bytes), rows.size);
	CHECK(text == "thing=finding text=x?thing=found missing=0???\nthing=found missing=7\n");
	CHECK(rows.count == 2);
	questions_free_rows(&rows);
}
