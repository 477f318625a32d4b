// SPDX-License-Identifier: GPL-3.0-or-later
// The header of a mail as milters have it.
#include "integration/mail/base/peers/peer_fields.h"

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

namespace
{

using names = std::vector<std::string>; // "name|value"

struct split {
	names fields;
	std::string body;

	bool operator==(const split &other) const
	{
		return fields == other.fields && body == other.body;
	}
};

std::string field_of(const peer_fields &fields)
{
	return std::string(fields.text, fields.name_size) + "|" +
	       std::string(fields.text + fields.value_from, fields.size - fields.value_from);
}

split split_at(const std::string &mail, size_t piece)
{
	const auto fields = std::make_unique<peer_fields>();
	split result;
	fields_step step = FIELDS_MORE;
	size_t at = 0;
	while (step != FIELDS_BODY && at < mail.size()) {
		size_t used = 0;
		step = peer_fields_push(fields.get(),
					reinterpret_cast<const uint8_t *>(mail.data()) + at,
					std::min(piece, mail.size() - at), &used);
		at += used;
		if (step == FIELDS_FIELD)
			result.fields.push_back(field_of(*fields));
	}
	while (step != FIELDS_BODY) {
		step = peer_fields_end(fields.get());
		if (step == FIELDS_FIELD)
			result.fields.push_back(field_of(*fields));
	}
	result.body = std::string(fields->text, fields->size) + mail.substr(at);
	return result;
}

struct row {
	std::string mail;
	split expected;
};

const std::string LONG(2 * FIELDS_TEXT_MAX, 'x');
const std::string CUT(FIELDS_TEXT_MAX - 2, 'x');

} // namespace

TEST_CASE("a header is split into fields, and what is behind it is the body", "[scan][peer_fields]")
{
	const auto tried = GENERATE(values<row>({
		{ "", { {}, "" } },
		{ "\r\n", { {}, "" } },
		{ "\r\nbody\r\n", { {}, "body\r\n" } },
		{ "A: b\r\n\r\nbody", { { "A| b" }, "body" } },
		{ "A:b\nC: d\n\nbody", { { "A|b", "C| d" }, "body" } },
		{ "A: b\r\n c\r\n\td\r\nE: f\r\n\r\n", { { "A| b\n c\n\td", "E| f" }, "" } },
		{ "A \t: b\r\n\r\n", { { "A| b" }, "" } },
		{ "A:\r\nB: \r\n\r\n", { { "A|", "B| " }, "" } },
		{ "A: b\r\rc\r\n\r\n", { { "A| b\r\rc" }, "" } },
		{ std::string("A: b\0c\r\n\r\nd\0e", 13), { { "A| b c" }, { "d\0e", 3 } } },
		// Ends too early.
		{ "A: b", { { "A| b" }, "" } },
		{ "A: b\r", { { "A| b" }, "" } },
		{ "A: b\r\n", { { "A| b" }, "" } },
		{ "A: b\r\n\r", { { "A| b" }, "\r" } },
		{ "A: b\r\nC", { { "A| b" }, "C" } },
		// A line that is no field begins the body.
		{ "A: b\r\nno field\r\nC: d\r\n", { { "A| b" }, "no field\r\nC: d\r\n" } },
		{ "From a@b Thu\r\nA: b\r\n", { {}, "From a@b Thu\r\nA: b\r\n" } },
		{ "A: b\r\n: c\r\n", { { "A| b" }, ": c\r\n" } },
		{ " A: b\r\n", { {}, " A: b\r\n" } },
		{ "A: b\r\n\xc3\xa4: c\r\n", { { "A| b" }, "\xc3\xa4: c\r\n" } },
		{ "A: b\r\n\rC: d\r\n", { { "A| b" }, "\rC: d\r\n" } },
		{ "A\r\n\r\nb", { {}, "A\r\n\r\nb" } },
		// Too long: a value is cut, a name is none.
		{ "A:" + LONG + "\r\nB: c\r\n\r\nd", { { "A|" + CUT, "B| c" }, "d" } },
		{ LONG + ": a\r\n", { {}, LONG + ": a\r\n" } },
	}));
	CAPTURE(tried.mail.substr(0, 80));
	for (const size_t piece : { tried.mail.size() + 1, size_t(1), size_t(2), size_t(3) })
		CHECK(split_at(tried.mail, piece) == tried.expected);
}
