// SPDX-License-Identifier: GPL-3.0-or-later
// The bytes of a mail: where it ends, what is undone, what is refused.
#include "lib/smtp/body.h"
#include "tests/unit/lib/lone.hh"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace
{

using bytes = std::vector<uint8_t>;

struct read_mail {
	body_status status = BODY_MORE;
	body_refusal refusal = BODY_FINE;
	size_t used = 0;
	std::string text;

	bool operator==(const read_mail &other) const
	{
		return status == other.status && refusal == other.refusal && used == other.used &&
		       text == other.text;
	}
};

size_t room_of(const struct body &body, size_t size)
{
	return body.takes_lf ? BODY_ROOM(size) : size;
}

// In memory of exactly that size, for the sanitizer.
body_status take(struct body *body, const std::string &piece, read_mail *mail)
{
	const bytes in(piece.begin(), piece.end());
	bytes out(room_of(*body, in.size()));
	size_t used = 0;
	size_t out_size = 0;
	const body_status status =
		body_take(body, in.data(), in.size(), &used, out.data(), &out_size);
	REQUIRE(out_size <= out.size());
	mail->text.append(out.begin(), out.begin() + static_cast<long>(out_size));
	mail->used += used;
	return status;
}

read_mail read(const std::string &stream, size_t piece = SIZE_MAX, uint64_t size_max = 0,
	       bool takes_lf = false)
{
	read_mail mail;
	struct body body;
	body_init(&body, size_max);
	body.takes_lf = takes_lf;
	for (size_t at = 0; at < stream.size() && mail.status == BODY_MORE;
	     at += std::min(piece, stream.size() - at))
		mail.status = take(&body, stream.substr(at, piece), &mail);
	mail.refusal = body.refusal;
	if (mail.refusal != BODY_FINE)
		mail.text.clear();
	return mail;
}

read_mail read_chunks(const std::string &stream, size_t piece, bool takes_lf = false)
{
	read_mail mail;
	struct body body;
	size_t out_size = 0;
	body_init(&body, 0);
	body.takes_lf = takes_lf;
	for (size_t at = 0; at < stream.size(); at += std::min(piece, stream.size() - at)) {
		const std::string part = stream.substr(at, piece);
		const bytes in(part.begin(), part.end());
		bytes out(room_of(body, in.size()));
		body_take_chunk(&body, in.data(), in.size(), out.data(), &out_size);
		mail.text.append(out.begin(), out.begin() + static_cast<long>(out_size));
	}
	bytes out(BODY_END_MAX);
	mail.status = body_end(&body, out.data(), &out_size);
	mail.text.append(out.begin(), out.begin() + static_cast<long>(out_size));
	mail.refusal = body.refusal;
	if (mail.refusal != BODY_FINE)
		mail.text.clear();
	return mail;
}

// ---- what others take for the end of a mail ----

// Of DATA, which begins behind a CR LF. npos: it does not end.
size_t end_by(const std::string &stream, const std::vector<std::string> &ends)
{
	const std::string all = "\r\n" + stream;
	size_t best = std::string::npos;
	for (const auto &end : ends) {
		const size_t at = all.find(end);
		if (at != std::string::npos)
			best = std::min(best, at + end.size() - 2);
	}
	return best;
}

size_t strict_end(const std::string &stream)
{
	return end_by(stream, { "\r\n.\r\n" });
}

// Servers that were found to take another end, each on its own and all of them together.
const std::vector<std::vector<std::string>> LOOSE = {
	{ "\r\n.\r\n", "\n.\n" },
	{ "\r\n.\r\n", "\n.\r\n" },
	{ "\r\n.\r\n", "\r\n.\n" },
	{ "\r\n.\r\n", "\r.\r" },
	{ "\r\n.\r\n", "\r.\r\n" },
	{ "\r\n.\r\n", "\r\n.\r" },
	{ "\r\n.\r\n", "\n.\r" },
	{ "\r\n.\r\n", "\r.\n" },
	{ "\r\n.\r\n", "\r\n.\r\r\n" },
	{ "\r\n.\r\n", std::string("\r\n\0.\r\n", 6) },
	{ "\r\n.\r\n", "\n.\n", "\n.\r\n", "\r\n.\n", "\r.\r", "\r.\r\n", "\r\n.\r", "\n.\r",
	  "\r.\n" },
};

// Whether another server sees the same mail. One that takes CR for an end of line has seen the end
// at the CR of ours, and passes over the LF.
bool is_same_end(const std::string &stream, const std::vector<std::string> &ends, size_t end)
{
	const size_t other = end_by(stream, ends);
	return other == end || other + 1 == end;
}

std::string undo_dots(const std::string &lines)
{
	std::string made;
	bool is_begin = true;
	for (const char c : lines) {
		if (!(is_begin && c == '.'))
			made += c;
		is_begin = c == '\n';
	}
	return made;
}

// As whoever sends the mail on does it.
std::string put_dots(const std::string &text)
{
	std::string made;
	bool is_begin = true;
	for (const char c : text) {
		if (is_begin && c == '.')
			made += '.';
		made += c;
		is_begin = c == '\n';
	}
	return made + ".\r\n";
}

bool has_lone_cr(const std::string &text)
{
	for (size_t i = 0; i < text.size(); i++) {
		if (text[i] == '\0')
			return true;
		if (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'))
			return true;
	}
	return false;
}

// Each LF ends a line, with a CR before it or without; the dot of a line that has more is undone.
std::string normalize(const std::string &text, bool undoes_dots)
{
	std::string made;
	for (size_t at = 0; at < text.size();) {
		const size_t lf = std::min(text.find('\n', at), text.size());
		std::string line = text.substr(at, lf - at);
		if (!line.empty() && line.back() == '\r')
			line.pop_back();
		if (undoes_dots && line.size() > 1 && line[0] == '.')
			line.erase(0, 1);
		made += line + "\r\n";
		at = lf + 1;
	}
	return made;
}

const char ALPHABET[] = { '\r', '\n', '.', 'a', '\0' };

// The n-th stream of that length.
std::string stream_of(size_t number, size_t length)
{
	std::string stream;
	for (size_t i = 0; i < length; i++, number /= sizeof(ALPHABET))
		stream += ALPHABET[number % sizeof(ALPHABET)];
	return stream;
}

size_t count_of(size_t length)
{
	size_t count = 1;
	for (size_t i = 0; i < length; i++)
		count *= sizeof(ALPHABET);
	return count;
}

// Everything that has to be true of a stream behind DATA. Not a CHECK for each: there are many.
const char *find_fault(const std::string &stream)
{
	const read_mail mail = read(stream);
	const size_t end = strict_end(stream);
	if ((mail.status == BODY_MORE) != (end == std::string::npos))
		return "the end is not where CR LF . CR LF is";
	if (mail.status == BODY_MORE)
		return mail.used == stream.size() ? nullptr : "not all was taken";
	if (mail.used != end)
		return "something else was taken for the end";
	if ((mail.status == BODY_REFUSED) != has_lone(stream.substr(0, end)))
		return "what has lone CR, LF or NUL is refused, and nothing else";
	if (mail.status == BODY_REFUSED)
		return nullptr;
	for (const auto &ends : LOOSE)
		if (!is_same_end(stream, ends, end))
			return "another server sees another mail in what was accepted";
	if (mail.text != undo_dots(stream.substr(0, end - 3)))
		return "the dots are not undone";
	const std::string sent = put_dots(mail.text);
	for (const auto &ends : LOOSE)
		if (!is_same_end(sent, ends, sent.size()))
			return "sent on it ends elsewhere";
	return nullptr;
}

// The same where lone LFs are taken for CR LF.
const char *find_fault_of_lf(const std::string &stream)
{
	const read_mail mail = read(stream, SIZE_MAX, 0, true);
	const size_t end = strict_end(stream);
	if ((mail.status == BODY_MORE) != (end == std::string::npos))
		return "the end is not where CR LF . CR LF is";
	if (mail.used != (end == std::string::npos ? stream.size() : end))
		return "something else was taken for the end";
	if (mail.status == BODY_MORE)
		return nullptr;
	if ((mail.status == BODY_REFUSED) != has_lone_cr(stream.substr(0, end)))
		return "what has lone CR or NUL is refused, and nothing else";
	if (mail.status == BODY_REFUSED)
		return nullptr;
	if (mail.text != normalize(stream.substr(0, end - 3), true))
		return "not the lines of the sender";
	const std::string sent = put_dots(mail.text);
	for (const auto &ends : LOOSE)
		if (!is_same_end(sent, ends, sent.size()))
			return "sent on it ends elsewhere";
	return nullptr;
}

} // namespace

TEST_CASE("a lone LF that is taken for CR LF is no part of the end of a mail", "[front][body]")
{
	const size_t length = GENERATE(range<size_t>(0, 8));
	const std::string rest = GENERATE("", "\r\n.\r\n", "MAIL FROM:<x@y>\r\n.\r\n");
	for (size_t number = 0; number < count_of(length); number++) {
		const std::string stream = stream_of(number, length) + rest;
		const char *fault = find_fault_of_lf(stream);
		if (fault != nullptr) {
			CAPTURE(fault, stream);
			FAIL();
		}
	}
	SUCCEED();
}

TEST_CASE("of all streams of CR, LF, dot, a letter and NUL the end of a mail is CR LF . CR LF only",
	  "[front][body]")
{
	const size_t length = GENERATE(range<size_t>(0, 9));
	for (size_t number = 0; number < count_of(length); number++) {
		const std::string stream = stream_of(number, length);
		const char *fault = find_fault(stream);
		if (fault != nullptr) {
			CAPTURE(fault, stream);
			FAIL();
		}
	}
	SUCCEED();
}

TEST_CASE("no stream smuggles a second mail when the true end comes late", "[front][body]")
{
	const size_t length = GENERATE(range<size_t>(0, 8));
	const std::string rest = "MAIL FROM:<x@y>\r\n.\r\n";
	for (size_t number = 0; number < count_of(length); number++) {
		const std::string stream = "a\r\n" + stream_of(number, length) + rest;
		const char *fault = find_fault(stream);
		if (fault != nullptr) {
			CAPTURE(fault, stream);
			FAIL();
		}
	}
	SUCCEED();
}

TEST_CASE("pieces of any size make the same mail", "[front][body]")
{
	const size_t length = GENERATE(range<size_t>(0, 6));
	const bool takes_lf = GENERATE(false, true);
	for (size_t number = 0; number < count_of(length); number++) {
		const std::string stream = stream_of(number, length) + "b\r\n.\r\nQUIT\r\n";
		const read_mail whole = read(stream, SIZE_MAX, 0, takes_lf);
		const read_mail chunked = read_chunks(stream, SIZE_MAX, takes_lf);
		for (size_t piece = 1; piece < 5; piece++)
			if (!(read(stream, piece, 0, takes_lf) == whole) ||
			    !(read_chunks(stream, piece, takes_lf) == chunked)) {
				CAPTURE(stream, piece);
				FAIL();
			}
	}
	SUCCEED();
}

TEST_CASE("chunks are taken as they are when their lines end in CR LF, else refused",
	  "[front][body]")
{
	const size_t length = GENERATE(range<size_t>(0, 8));
	for (size_t number = 0; number < count_of(length); number++) {
		const std::string stream = stream_of(number, length);
		const read_mail mail = read_chunks(stream, SIZE_MAX);
		const bool ends = stream.empty() || stream.back() == '\n';
		const bool is_right = has_lone(stream)
					      ? mail.status == BODY_REFUSED
					      : mail.status == BODY_END &&
							mail.text == stream + (ends ? "" : "\r\n");
		if (!is_right) {
			CAPTURE(stream, mail.text);
			FAIL();
		}
	}
	SUCCEED();
}

TEST_CASE("lone LFs of chunks are taken for CR LF, and dots are left alone", "[front][body]")
{
	const size_t length = GENERATE(range<size_t>(0, 8));
	for (size_t number = 0; number < count_of(length); number++) {
		const std::string stream = stream_of(number, length);
		const read_mail mail = read_chunks(stream, SIZE_MAX, true);
		const bool is_right = has_lone_cr(stream) ? mail.status == BODY_REFUSED
							  : mail.text == normalize(stream, false);
		if (!is_right) {
			CAPTURE(stream, mail.text);
			FAIL();
		}
	}
	SUCCEED();
}

TEST_CASE("the CR that a lone LF gets counts for the size of a mail", "[front][body]")
{
	CHECK(read("a\nb\n\r\n.\r\n", SIZE_MAX, 8, true).text == "a\r\nb\r\n\r\n");
	const read_mail mail = read("a\nb\n.\n\r\n.\r\n", SIZE_MAX, 8, true);
	CHECK(mail.refusal == BODY_TOO_LARGE);
	CHECK(mail.used == 11);
}

TEST_CASE("what is wrong first is what is said", "[front][body]")
{
	struct row {
		std::string stream;
		body_refusal refusal;
		int code;
		const char *name;
	};
	const row tried = GENERATE(values<row>({
		{ "a\r\n.\r\n", BODY_FINE, 250, "fine" },
		{ ".\r\n", BODY_FINE, 250, "fine" },
		{ "..\r\n.\r\n", BODY_FINE, 250, "fine" },
		{ "a\n.\n\r\n.\r\n", BODY_BARE_LF, 521, "bare_lf" },
		{ "a\n.\r\n\r\n.\r\n", BODY_BARE_LF, 521, "bare_lf" },
		{ "a\r\n.\n\r\n.\r\n", BODY_BARE_LF, 521, "bare_lf" },
		{ "a\r.\r\r\n.\r\n", BODY_BARE_CR, 521, "bare_cr" },
		{ "a\r\n.\r\r\n.\r\n", BODY_BARE_CR, 521, "bare_cr" },
		{ "a\r\r\n.\r\n", BODY_BARE_CR, 521, "bare_cr" },
		{ std::string("a\0\n\r\n.\r\n", 8), BODY_NUL, 550, "nul" },
		{ "12345678\r\n..2345678\r\n.\r\n", BODY_FINE, 250, "fine" },
		{ "12345678\r\n12345678\r\n1\r\n.\r\n", BODY_TOO_LARGE, 552, "too_large" },
		{ "12345678\r\n12345678\r\n\r\n.\r\n", BODY_FINE, 250, "fine" },
	}));
	CAPTURE(tried.stream);
	const read_mail mail = read(tried.stream + "NOOP\r\n", SIZE_MAX, 22);
	CHECK(mail.used == tried.stream.size());
	CHECK(mail.refusal == tried.refusal);
	CHECK((mail.status == BODY_END) == (tried.refusal == BODY_FINE));
	CHECK(body_code(mail.refusal) == tried.code);
	CHECK(std::string(body_refusal_name(mail.refusal)) == tried.name);
	CHECK(std::string(body_text(mail.refusal)).substr(1, 1) == ".");
	for (size_t piece = 1; piece < 6; piece++)
		CHECK(read(tried.stream + "NOOP\r\n", piece, 22) == mail);
}

TEST_CASE("nothing comes out once a mail is refused", "[front][body]")
{
	struct body body;
	read_mail mail;
	body_init(&body, 0);
	CHECK(take(&body, "good\r\n", &mail) == BODY_MORE);
	CHECK(take(&body, "bad\nworse\r\n", &mail) == BODY_MORE);
	CHECK(body.refusal == BODY_BARE_LF);
	CHECK(mail.text == "good\r\nbad");
	CHECK(take(&body, "more\r\n..\r\n", &mail) == BODY_MORE);
	CHECK(mail.text == "good\r\nbad");
	CHECK(take(&body, ".\r\n", &mail) == BODY_REFUSED);
	CHECK(mail.text == "good\r\nbad");
}

TEST_CASE("dots are undone in place", "[front][body]")
{
	std::string text = "..\r\n.a\r\n...\r\n.\r\nrest";
	auto *at = reinterpret_cast<uint8_t *>(&text[0]);
	struct body body;
	size_t used = 0;
	size_t out_size = 0;
	body_init(&body, 0);
	CHECK(body_take(&body, at, text.size(), &used, at, &out_size) == BODY_END);
	CHECK(text.substr(0, out_size) == ".\r\na\r\n..\r\n");
	CHECK(text.substr(used) == "rest");
	CHECK(body.size == out_size);
}

TEST_CASE("a mail of nothing but lone LFs is read as fast as another", "[front][body]")
{
	// Squared it would be some 10^12 bytes looked at, and the test would never end.
	const std::string lines(1 << 20, '\n');
	const bool takes_lf = GENERATE(false, true);
	const read_mail mail = read(lines + "\r\n.\r\n", SIZE_MAX, 0, takes_lf);
	CHECK(mail.status == (takes_lf ? BODY_END : BODY_REFUSED));
	CHECK(mail.used == lines.size() + 5);
}
