// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/dns/question.h"
#include "tests/unit/lib/bytes.hh"

#include <catch2/catch.hpp>

#include <string>

static bytes header(uint8_t flags, uint8_t questions, uint8_t answers, uint8_t additional)
{
	return { 0x12, 0x34, flags, 0, 0, questions, 0, answers, 0, 0, 0, additional };
}

// bl.Test of that type and class.
static bytes asks(uint16_t type, uint8_t qclass = 1)
{
	return { 2,
		 'b',
		 'l',
		 4,
		 'T',
		 'e',
		 's',
		 't',
		 0,
		 static_cast<uint8_t>(type >> 8),
		 static_cast<uint8_t>(type),
		 0,
		 qclass };
}

static bytes opt(const bytes &options = {}, uint8_t version = 0, uint8_t flags = 0x80)
{
	return bytes{
		0, 0, 41, 4, 0xd0, 0, version, flags, 0, 0, static_cast<uint8_t>(options.size())
	} + options;
}

static const bytes nsid = { 0, 3, 0, 0 };
static const bytes subnet = { 0, 8, 0, 7, 0, 1, 24, 0, 192, 0, 2 };

static question_verdict read(const bytes &wire, question_common *ret_question)
{
	return question_read(wire.data(), wire.size(), ret_question);
}

TEST_CASE("a question with options of any kind is read", "[dns][question]")
{
	question_common question;
	CHECK(read(header(1, 1, 0, 1) + asks(28) + opt(nsid + subnet), &question) == QUESTION_GOOD);
	CHECK(std::string(question.name, question.name + question.name_size) ==
	      std::string("\2bl\4test\0", 9));
	CHECK(question.label_count == 3);
	CHECK(question.offsets[1] == 3);
	CHECK(question.qtype == 28);
	CHECK(question.has_edns);
	CHECK(question.has_do);
	CHECK(question.payload == 1232);
	CHECK(question.cookie_size == 0);
	CHECK(question_end(&question) == 25);
}

TEST_CASE("records that a query need not have are stepped over", "[dns][question]")
{
	const bytes pointed = { 0xc0, 12, 0, 6, 0, 1, 0, 0, 0, 0, 0, 2, 1, 2 };
	const bytes named = { 1, 'a', 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0 };
	question_common question;
	CHECK(read(header(0, 1, 1, 2) + asks(1) + pointed + opt() + named, &question) ==
	      QUESTION_GOOD);
	CHECK(question.has_edns);
	CHECK(read(header(0, 1, 0, 1) + asks(255) + named, &question) == QUESTION_GOOD);
	CHECK_FALSE(question.has_edns);
	CHECK(question.payload == 0);
}

struct refused {
	const char *why;
	bytes wire;
	question_verdict verdict;
	bool has_question;
	bool has_edns;
};

TEST_CASE("what is not answered is refused by the right code", "[dns][question]")
{
	const bytes owned = { 1, 'a', 0, 0, 41, 4, 0xd0, 0, 0, 0, 0, 0, 0 };
	const refused all[] = {
		{ "nothing", {}, QUESTION_SILENCE, false, false },
		{ "half a header", bytes(11), QUESTION_SILENCE, false, false },
		{ "a response", header(0x80, 1, 0, 0) + asks(1), QUESTION_SILENCE, false, false },
		{ "NOTIFY", header(0x20, 1, 0, 0) + asks(6), QUESTION_NOTIMP, true, false },
		{ "opcode 15 with an OPT", header(0x78, 0, 0, 1) + opt(), QUESTION_NOTIMP, false,
		  false },
		{ "no question", header(0, 0, 0, 0), QUESTION_FORMERR, false, false },
		{ "two questions", header(0, 2, 0, 0) + asks(1) + asks(1), QUESTION_FORMERR, false,
		  false },
		{ "a name by a pointer", header(0, 1, 0, 0) + bytes{ 0xc0, 12, 0, 1, 0, 1 },
		  QUESTION_FORMERR, false, false },
		{ "no class", header(0, 1, 0, 0) + bytes{ 0, 0, 1 }, QUESTION_FORMERR, false,
		  false },
		{ "trailing bytes", header(0, 1, 0, 1) + asks(1) + opt() + bytes{ 0 },
		  QUESTION_FORMERR, true, true },
		{ "a record that is not there", header(0, 1, 0, 2) + asks(1) + opt(),
		  QUESTION_FORMERR, true, true },
		{ "two OPTs", header(0, 1, 0, 2) + asks(1) + opt() + opt(), QUESTION_FORMERR, true,
		  true },
		{ "an OPT as an answer", header(0, 1, 1, 0) + asks(1) + opt(), QUESTION_FORMERR,
		  true, false },
		{ "an OPT with a name", header(0, 1, 0, 1) + asks(1) + owned, QUESTION_FORMERR,
		  true, false },
		{ "half an option", header(0, 1, 0, 1) + asks(1) + opt({ 0, 3, 0 }),
		  QUESTION_FORMERR, true, true },
		{ "an option longer than its OPT",
		  header(0, 1, 0, 1) + asks(1) + opt({ 0, 3, 0, 9, 1 }), QUESTION_FORMERR, true,
		  true },
		{ "EDNS 1", header(0, 1, 0, 1) + asks(1) + opt({ 7 }, 1), QUESTION_BADVERS, true,
		  true },
		{ "class CH", header(0, 1, 0, 0) + asks(16, 3), QUESTION_REFUSED, true, false },
		{ "AXFR", header(0, 1, 0, 0) + asks(252), QUESTION_NOTIMP, true, false },
		{ "OPT as a type", header(0, 1, 0, 0) + asks(41), QUESTION_NOTIMP, true, false },
	};
	for (const refused &one : all) {
		CAPTURE(one.why);
		question_common question;
		CHECK(read(one.wire, &question) == one.verdict);
		CHECK((question.name_size > 0) == one.has_question);
		CHECK(question.has_edns == one.has_edns);
	}
}

TEST_CASE("a question that is cut anywhere is not good", "[dns][question]")
{
	const bytes whole = header(0, 1, 1, 1) + asks(1) +
			    bytes{ 1, 'a', 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 1, 2, 3, 4 } +
			    opt(nsid + subnet);
	question_common question;
	CHECK(read(whole, &question) == QUESTION_GOOD);
	for (size_t size = 0; size < whole.size(); size++) {
		CAPTURE(size);
		// Of exactly that size, for the sanitizer.
		bytes cut(whole.begin(), whole.begin() + static_cast<long>(size));
		CHECK(read(cut, &question) == (size < 12 ? QUESTION_SILENCE : QUESTION_FORMERR));
	}
}
