// SPDX-License-Identifier: GPL-3.0-or-later
// A mail through mstream, in pieces, with what its events have said.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>

#include "lib/mstream/mstream.h"

struct Part {
	unsigned view = 0;
	std::string position, type, name, bytes;
	enum mstream_coding coding = MSTREAM_IDENTITY;
	bool is_ended = false, is_whole = false, is_copy = false;

	auto all() const
	{
		return std::tie(position, view, bytes, name, type, coding, is_whole, is_copy);
	}
	bool operator==(const Part &other) const
	{
		return all() == other.all();
	}
	bool operator<(const Part &other) const
	{
		return all() < other.all();
	}
};

struct Mail {
	std::vector<Part *> parts;
	std::map<std::string, unsigned> odd; // text and position: how often
	size_t piece = 0;		     // bytes of the largest piece of data
	bool is_wrong = false;

	Mail() = default;
	Mail(const Mail &) = delete;
	Mail &operator=(const Mail &) = delete;
	~Mail()
	{
		for (Part *part : parts)
			delete part;
	}
	std::vector<Part> sorted() const
	{
		std::vector<Part> all;
		for (const Part *part : parts)
			all.push_back(*part);
		std::sort(all.begin(), all.end());
		return all;
	}
	bool is_odd(const std::string &text) const
	{
		for (const auto &one : odd) {
			if (one.first.compare(0, text.size(), text) == 0)
				return true;
		}
		return false;
	}
	bool has(const std::string &bytes) const
	{
		for (const Part *part : parts) {
			if (part->bytes == bytes)
				return true;
		}
		return false;
	}
};

inline void *begin_part(void *context, const struct mstream_part *part)
{
	auto *mail = static_cast<Mail *>(context);
	auto *made = new Part;
	if (part->before != nullptr)
		made->bytes = static_cast<Part *>(part->before)->bytes;
	made->is_copy = part->before != nullptr;
	made->view = part->view;
	made->position = part->position;
	made->type = part->type;
	made->name = part->name;
	made->coding = part->coding;
	mail->parts.push_back(made);
	return made;
}

inline void part_data(void *context, void *part, const uint8_t *bytes, size_t size)
{
	auto *mail = static_cast<Mail *>(context);
	auto *made = static_cast<Part *>(part);
	mail->is_wrong = mail->is_wrong || size == 0 || made->is_ended;
	mail->piece = std::max(mail->piece, size);
	made->bytes.append(reinterpret_cast<const char *>(bytes), size);
}

inline void end_part(void *context, void *part, bool is_whole)
{
	auto *mail = static_cast<Mail *>(context);
	auto *made = static_cast<Part *>(part);
	mail->is_wrong = mail->is_wrong || made->is_ended;
	made->is_ended = true;
	made->is_whole = is_whole;
}

inline void part_odd(void *context, enum mstream_oddity oddity, const char *position)
{
	auto *mail = static_cast<Mail *>(context);
	mail->odd[std::string(mstream_oddity_text(oddity)) + " " + position]++;
}

inline const struct mstream_events part_events = { begin_part, part_data, end_part, part_odd };

// In pieces of so many bytes, each in memory of its own size.
inline void read_mail(const std::string &text, size_t piece, Mail &mail, bool is_whole = true)
{
	std::vector<unsigned char> memory(mstream_size(), 0xa5);
	struct mstream *stream = mstream_begin(memory.data(), &part_events, &mail);
	for (size_t at = 0; at < text.size(); at += piece) {
		const std::string some = text.substr(at, piece);
		const std::vector<uint8_t> bytes(some.begin(), some.end());
		mstream_push(stream, bytes.data(), bytes.size());
	}
	mstream_end(stream, is_whole);
	for (const Part *part : mail.parts)
		mail.is_wrong = mail.is_wrong || !part->is_ended;
}

// In one piece, when it is the same in all pieces, with CRLF for LF; and with LF alone, and CR alone,
// when only the ends of lines are different then.
inline void read_all(const std::string &text, Mail &whole)
{
	read_mail(text, text.size() + 1, whole);
	CHECK_FALSE(whole.is_wrong);
	for (const size_t piece : { 1, 2, 3, 5, 7, 16, 61, 500 }) {
		Mail mail;
		read_mail(text, piece, mail);
		CHECK_FALSE(mail.is_wrong);
		CHECK(mail.piece <= std::max(piece, size_t{ MSTREAM_PENDING }));
		CHECK(mail.sorted() == whole.sorted());
		CHECK(mail.odd == whole.odd);
	}
}

inline std::string crlf(const std::string &text)
{
	std::string made;
	for (const char byte : text) {
		if (byte == '\n')
			made += '\r';
		made += byte;
	}
	return made;
}

inline std::string cr(std::string text)
{
	std::replace(text.begin(), text.end(), '\n', '\r');
	return text;
}
