// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/mailstore/mailbody.h"

#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <string>

namespace
{
const uint8_t *bytes_of(const std::string &text)
{
	return reinterpret_cast<const uint8_t *>(text.data());
}

struct measured {
	mailbody body{};
	int status;
	explicit measured(const std::string &text)
	    : status(mailbody_measure(bytes_of(text), text.size(), &body))
	{
	}
	~measured()
	{
		mailbody_free(&body);
	}
};

std::string fill(mailbody &body, size_t room)
{
	std::string out;
	std::string piece(room, '?');
	mailbody_rewind(&body);
	for (;;) {
		const size_t size =
			mailbody_fill(&body, reinterpret_cast<uint8_t *>(piece.data()), room);
		if (size == 0)
			return out;
		out.append(piece, 0, size);
	}
}

std::string undo(const mailbody &body, const std::string &wire, size_t step)
{
	std::string out;
	mailbody_undo state;
	mailbody_undo_init(&state, body.lines, body.exceptions, body.exceptions_size, wire.size());
	for (size_t at = 0; at < wire.size(); at += step) {
		const std::string part = wire.substr(at, step);
		std::string room(part.size() + 1, '?');
		const size_t size = mailbody_undo_take(&state, bytes_of(part), part.size(),
						       reinterpret_cast<uint8_t *>(room.data()));
		REQUIRE(size <= room.size());
		out.append(room, 0, size);
	}
	return out;
}
} // namespace

TEST_CASE("a text becomes lines with CRLF and doubled dots", "[mailstore][body]")
{
	struct row {
		std::string text;
		std::string wire;
		int lines;
		bool is_wire;
	};
	const row rows[] = {
		{ "", "", MAILBODY_CRLF, true },
		{ "a\r\n", "a\r\n", MAILBODY_CRLF, true },
		{ "a\n", "a\r\n", MAILBODY_LF, false },
		{ "a", "a\r\n", MAILBODY_CRLF | MAILBODY_OPEN, false },
		{ ".", "..\r\n", MAILBODY_CRLF | MAILBODY_OPEN, false },
		{ ".\r\n..\r\n", "..\r\n...\r\n", MAILBODY_CRLF, false },
		{ "a\n.b\n", "a\r\n..b\r\n", MAILBODY_LF, false },
		{ "a\nb\r\n", "a\r\nb\r\n", MAILBODY_MIXED, false },
		{ "a\r\r\n", "a\r\r\n", MAILBODY_CRLF, true },
		{ "a\r", "a\r\r\n", MAILBODY_CRLF | MAILBODY_OPEN, false },
		{ "\n\n", "\r\n\r\n", MAILBODY_LF, false },
	};
	for (const row &r : rows) {
		CAPTURE(r.text);
		measured m(r.text);
		REQUIRE(m.status == 0);
		CHECK(int(m.body.lines) == r.lines);
		CHECK(m.body.is_wire == r.is_wire);
		CHECK(m.body.wire_size == r.wire.size());
		for (size_t room : { 1, 2, 3, 100 }) {
			const std::string wire = fill(m.body, room);
			CHECK(wire == r.wire);
			CHECK(undo(m.body, wire, room) == r.text);
		}
	}
}

TEST_CASE("any text comes back byte by byte, however it is cut", "[mailstore][body]")
{
	const auto seed = RANDOM_SEED(500);
	CAPTURE(seed);
	randomness rnd(seed);
	static const char *const pieces[] = { "\r\n", "\n",   "\r",  ".",	 "..",
					      "a",    "text", "\n.", "\r\n.\r\n" };
	std::string text;
	for (unsigned i = rnd.below(60); i > 0; i--)
		text += pieces[rnd.below(9)];
	text += std::string(rnd.below(2), '\0');
	measured m(text);
	REQUIRE(m.status == 0);
	const std::string wire = fill(m.body, 1 + rnd.below(9));
	CHECK(wire.size() == m.body.wire_size);
	CHECK(undo(m.body, wire, 1 + rnd.below(9)) == text);
	// What POP3 would take for the end, or for another end of a line, is not in it.
	CHECK(wire.find("\r\n.\r\n") == std::string::npos);
	CHECK((wire.empty() || wire.substr(wire.size() - 2) == "\r\n"));
	for (size_t at = wire.find('\n'); at != std::string::npos; at = wire.find('\n', at + 1))
		CHECK((at > 0 && wire[at - 1] == '\r'));
	const uint64_t dots = m.body.wire_size - m.body.octets;
	uint64_t doubled = 0;
	for (size_t at = 0; at < wire.size(); at++)
		doubled += wire[at] == '.' && (at == 0 || wire[at - 1] == '\n');
	CHECK(dots == doubled);
}

TEST_CASE("a text with too many line ends of two kinds is refused", "[mailstore][body]")
{
	std::string text;
	for (int i = 0; i < 70000; i++)
		text += "a\nb\r\n";
	measured m(text);
	CHECK(m.status == -E2BIG);
}
