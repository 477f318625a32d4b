// SPDX-License-Identifier: GPL-3.0-or-later
// Files in texts and in TNEF that are no parts of a mail.
#include <string>

#include <catch2/catch.hpp>

#include "lib/inspect/inspect.h"
#include "tests/unit/inspect/inspecting.hh"

namespace
{

struct Inspected {
	unsigned objects;
	unsigned bombs;
	unsigned ambiguous;
	unsigned busy;
};

Inspected inspect(const std::string &bytes, enum inspect_kind kind = INSPECT_FILE,
		  uint64_t total = 1 << 20, size_t piece = 100, unsigned members = 100,
		  unsigned objects = 20)
{
	const struct inspect_sizes sizes = { 1, objects, 2, 2 };
	struct inspect_rules rules = {};
	struct inspect_pool *pool = nullptr;
	struct inspection *inspection = nullptr;
	rules.budget = UNPACK_BUDGET;
	rules.budget.total_left = total;
	rules.budget.members_left = members;
	REQUIRE(inspect_pool_new(nullptr, &sizes, &pool) == 0);
	REQUIRE(inspect_begin(pool, kind, &rules, &inspection) == 0);
	for (size_t at = 0; at < bytes.size(); at += piece) {
		const std::string part = bytes.substr(at, piece);
		inspect_push(inspection, reinterpret_cast<const uint8_t *>(part.data()),
			     part.size());
	}
	inspect_end(inspection, true);
	const struct inspect_result *result = inspect_result(inspection);
	const Inspected inspected = { result->objects, result->counts[INSPECT_BOMB],
				      result->counts[INSPECT_AMBIGUOUS],
				      result->counts[INSPECT_BUSY] };
	inspect_free(inspection);
	inspect_pool_free(pool);
	return inspected;
}

const std::string uu = "begin 644 x\n#86)C\n`\nend\n";

std::string tnef_of(const std::string &data)
{
	unsigned sum = 0;
	for (const char byte : data)
		sum += static_cast<uint8_t>(byte);
	return least_first(0x223e9f78, 4) + least_first(7, 2) + least_first(2, 1) +
	       least_first(0x6800f, 4) + least_first(data.size(), 4) + data + least_first(sum, 2);
}

std::string mail_of(const std::string &type, const std::string &coding, const std::string &body)
{
	return "From: a@example.org\nMIME-Version: 1.0\nContent-Type: " + type +
	       "\nContent-Transfer-Encoding: " + coding + "\n\n" + body;
}

} // namespace

TEST_CASE("a text that is a file is searched for files", "[inspect][within]")
{
	for (const size_t piece : { 1, 3, 100, 10000 }) {
		CHECK(inspect("text\n" + uu + "text\n" + uu, INSPECT_FILE, 1 << 20, piece)
			      .objects == 3);
		CHECK(inspect(tnef_of(uu), INSPECT_FILE, 1 << 20, piece).objects == 3);
	}
	CHECK(inspect("text\n").objects == 1);
	// A page shows what is in its addresses, whatever its lines are to another reader.
	const std::string image = "<img src='data:x;base64,YWJj'>\n";
	CHECK(inspect("<p>\n" + image).objects == 2);
	CHECK(inspect("<p>\nbegin 644 x\n" + image).objects == 2);
	CHECK(inspect("<p>\nbegin 644 x\n#86)C\n" + image).objects == 3);
	CHECK(inspect("<p>\n=ybegin line=1 name=x\n" + image).objects == 3);
	CHECK(inspect("begin 644 x\n#86)C\n").ambiguous == 1);
	// Readers pass controls, and marks of few bytes.
	CHECK(inspect("\x01<a download href='data:x;base64,YWJj'>").objects == 2);
	CHECK(inspect("MZ<!-- --><a download href='data:x;base64,YWJj'>").objects == 2);
	CHECK(inspect("MZ\n" + uu).objects == 2);
	const std::string file = "<w:binData>YWJj</w:binData>";
	CHECK(inspect("<w:wordDocument>" + file + file).objects == 3);
	CHECK(inspect("<x>" + file + "\nbegin 644 x\n#86)C\n" + image).objects == 4);
	CHECK(inspect(file + file, INSPECT_FILE, 1 << 20, 100, 1).bombs == 1);
}

TEST_CASE("what lib/mstream has found in a mail is not found again", "[inspect][within]")
{
	// The mail, its part, and the file in that.
	CHECK(inspect(mail_of("text/plain", "7bit", uu), INSPECT_MAIL).objects == 3);
	CHECK(inspect(mail_of("text/plain", "base64", base64(uu)), INSPECT_MAIL).objects == 3);
	CHECK(inspect(mail_of("application/ms-tnef", "base64", base64(tnef_of("x"))), INSPECT_MAIL)
		      .objects == 3);
	const std::string event =
		"BEGIN:VCALENDAR\r\nATTACH;ENCODING=BASE64:YWJj\r\nEND:VCALENDAR\r\n";
	CHECK(inspect(mail_of("text/calendar", "7bit", event), INSPECT_MAIL).objects == 3);
	CHECK(inspect(mail_of("text/xml", "base64", base64("<binData>YWJj</binData>")),
		      INSPECT_MAIL)
		      .objects == 3);
	// What it has not: a text that is none by its type, and what is in a file that it has found.
	CHECK(inspect(mail_of("application/octet-stream", "base64", base64(uu)), INSPECT_MAIL)
		      .objects == 3);
	CHECK(inspect(mail_of("application/ms-tnef", "base64", base64(tnef_of(tnef_of(uu)))),
		      INSPECT_MAIL)
		      .objects == 5);
}

TEST_CASE("depth and bytes are limited", "[inspect][within]")
{
	std::string nested = "text\n";
	for (int i = 0; i < 12; i++)
		nested = tnef_of(nested);
	CHECK(inspect(nested).objects == INSPECT_DEPTH + 1);
	CHECK(inspect(nested).bombs == 1);
	CHECK(inspect(tnef_of(std::string(1000, 'x')), INSPECT_FILE, 900).bombs == 1);
	CHECK(inspect(tnef_of(std::string(1000, 'x')), INSPECT_FILE, 1000).bombs == 0);
}

TEST_CASE("files in a text, and parts of a mail in a mail, are members", "[inspect][within]")
{
	const std::string texts = uu + uu + uu;
	CHECK(inspect(texts, INSPECT_FILE, 1 << 20, 100, 3).objects == 4);
	CHECK(inspect(texts, INSPECT_FILE, 1 << 20, 100, 3).bombs == 0);
	CHECK(inspect(texts, INSPECT_FILE, 1 << 20, 100, 2).objects == 3);
	CHECK(inspect(texts, INSPECT_FILE, 1 << 20, 100, 2).bombs == 1);
	std::string parts = "From: a@example.org\nContent-Type: multipart/mixed; boundary=x\n\n";
	for (int i = 0; i < 3; i++)
		parts += "--x\nContent-Type: image/png\n\nx\n";
	// The parts of the mail itself are not: of these lib/mstream has a limit.
	CHECK(inspect(parts + "--x--\n", INSPECT_MAIL, 1 << 20, 100, 1).objects == 4);
	CHECK(inspect(parts + "--x--\n", INSPECT_MAIL, 1 << 20, 100, 1).bombs == 0);
	const std::string nested =
		mail_of("application/octet-stream", "base64", base64(parts + "--x--\n"));
	CHECK(inspect(nested, INSPECT_MAIL, 1 << 20, 100, 3).objects == 5);
	CHECK(inspect(nested, INSPECT_MAIL, 1 << 20, 100, 3).bombs == 0);
	CHECK(inspect(nested, INSPECT_MAIL, 1 << 20, 100, 2).objects == 4);
	CHECK(inspect(nested, INSPECT_MAIL, 1 << 20, 100, 2).bombs == 1);
}

// Each of what looks for files in a text has had all of a piece before the next has some.
TEST_CASE("which files of a text are open at a time does not depend on where it is cut",
	  "[inspect]")
{
	const std::string text =
		"Words of a text.\n<img src=\"data:application/octet-stream;base64," +
		base64(std::string(3000, 'x')) + "\">\nbegin 644 a\n#0V%T\n";
	const Inspected whole = inspect(text, INSPECT_FILE, 1 << 20, text.size(), 100, 2);
	const size_t piece = GENERATE(1, 7, 100, 1000, 3000, 4200);
	CAPTURE(piece);
	const Inspected cut = inspect(text, INSPECT_FILE, 1 << 20, piece, 100, 2);
	CHECK(whole.busy == cut.busy);
	CHECK(whole.objects == cut.objects);
	CHECK(inspect(text).objects == 3);
}
