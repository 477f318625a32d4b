// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/dns/framing.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

using bytes = std::vector<uint8_t>;

static bytes message(size_t size, uint8_t fill)
{
	bytes out = { static_cast<uint8_t>(size >> 8), static_cast<uint8_t>(size) };
	out.resize(2 + size, fill);
	return out;
}

static void append(bytes &out, const bytes &more)
{
	out.insert(out.end(), more.begin(), more.end());
}

// As much of stream as fits; what does not is left in it.
static void feed(framing &framed, bytes &stream)
{
	size_t room = 0;
	uint8_t *at = framing_room(&framed, &room);
	size_t count = std::min(room, stream.size());
	std::copy_n(stream.begin(), count, at);
	stream.erase(stream.begin(), stream.begin() + static_cast<long>(count));
	framing_add(&framed, count);
}

TEST_CASE("queries leave a stream as they came, wherever it is cut", "[dns][framing]")
{
	bytes all = message(12, 'a');
	append(all, message(100, 'b'));
	append(all, message(12, 'c'));
	for (size_t cut = 0; cut <= all.size(); cut++) {
		CAPTURE(cut);
		framing framed;
		framing_message got = {};
		bytes first(all.begin(), all.begin() + static_cast<long>(cut));
		bytes rest(all.begin() + static_cast<long>(cut), all.end());
		size_t end = 0;
		bytes fills;
		framing_init(&framed);
		for (bytes *part : { &first, &rest }) {
			feed(framed, *part);
			REQUIRE(part->empty());
			while (framing_next(&framed, &end, &got) == FRAMING_MESSAGE)
				fills.push_back(got.wire[got.size - 1]);
			framing_drop(&framed, end);
			end = 0;
		}
		CHECK(fills == bytes{ 'a', 'b', 'c' });
		CHECK(framed.size == 0);
		CHECK_FALSE(framing_is_bad(&framed));
	}
}

TEST_CASE("the longest query fits, whatever is behind it", "[dns][framing]")
{
	bytes stream = message(RESPONDER_QUERY_MAX, 'a');
	append(stream, message(12, 'b'));
	framing framed;
	framing_message got = {};
	size_t end = 0;
	framing_init(&framed);
	feed(framed, stream);
	CHECK(stream.size() == 14);
	REQUIRE(framing_next(&framed, &end, &got) == FRAMING_MESSAGE);
	CHECK(got.size == RESPONDER_QUERY_MAX);
	CHECK(framing_next(&framed, &end, &got) == FRAMING_MORE);
	framing_drop(&framed, end);
	end = 0;
	feed(framed, stream);
	REQUIRE(framing_next(&framed, &end, &got) == FRAMING_MESSAGE);
	CHECK(got.size == 12);
}

TEST_CASE("the beginning of a query that is too long is given, and the next one is found",
	  "[dns][framing]")
{
	auto size = GENERATE(as<size_t>{}, 4097, 4098, 9000, 0xffff);
	auto piece = GENERATE(as<size_t>{}, 1, 2, 4096, 4098, 70000);
	CAPTURE(size, piece);
	bytes all = message(12, 'a');
	append(all, message(size, 'b'));
	append(all, message(size, 'c'));
	append(all, message(12, 'd'));
	framing framed;
	framing_message got = {};
	bytes fills;
	framing_init(&framed);
	for (size_t at = 0; at < all.size(); at += piece) {
		bytes part(all.begin() + static_cast<long>(at),
			   all.begin() + static_cast<long>(std::min(at + piece, all.size())));
		while (!part.empty()) {
			size_t end = 0;
			feed(framed, part);
			while (framing_next(&framed, &end, &got) == FRAMING_MESSAGE) {
				fills.push_back(got.wire[got.size - 1]);
				CHECK((got.size == 12 || got.size == RESPONDER_QUERY_MAX));
			}
			framing_drop(&framed, end);
		}
		CHECK_FALSE(framing_is_bad(&framed));
	}
	CHECK(fills == bytes{ 'a', 'b', 'c', 'd' });
	CHECK_FALSE(framing_has_part(&framed));
}

TEST_CASE("a length that no query has is bad at once", "[dns][framing]")
{
	auto size = GENERATE(0U, 1U, 11U);
	CAPTURE(size);
	bytes stream = message(12, 'a');
	append(stream, { static_cast<uint8_t>(size >> 8), static_cast<uint8_t>(size) });
	framing framed;
	framing_message got = {};
	size_t end = 0;
	framing_init(&framed);
	feed(framed, stream);
	CHECK_FALSE(framing_is_bad(&framed));
	CHECK(framing_next(&framed, &end, &got) == FRAMING_MESSAGE);
	CHECK(framing_next(&framed, &end, &got) == FRAMING_BAD);
	CHECK(end == 14);
	framing_drop(&framed, end);
	CHECK(framing_is_bad(&framed));
}
