// SPDX-License-Identifier: GPL-3.0-or-later
// What comes out of an archive, and zips that say what a test wants.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <zlib.h>

#include "lib/unpack/unpack.h"

struct Member {
	std::string name;
	std::string data;
	bool is_whole = false;
};

struct Unpacked {
	int status = 0;
	std::deque<Member> members;	// which stay where they are
	std::vector<std::string> flaws; // "text: name"
	struct unpack_budget left = UNPACK_BUDGET;

	bool has(const std::string &flaw) const
	{
		for (const std::string &other : flaws)
			if (other == flaw)
				return true;
		return false;
	}
	std::string all() const
	{
		std::string text;
		for (const Member &member : members)
			text += member.name + "=" + member.data + (member.is_whole ? ";" : "|");
		for (const std::string &flaw : flaws)
			text += "!" + flaw;
		return text;
	}
};

namespace unpacking
{

inline void *begin(void *context, const char *name)
{
	auto *unpacked = static_cast<Unpacked *>(context);
	unpacked->members.push_back({ name, "", false });
	return &unpacked->members.back();
}
inline void data(void *, void *member, const uint8_t *bytes, size_t size)
{
	static_cast<Member *>(member)->data.append(reinterpret_cast<const char *>(bytes), size);
}
inline void end(void *, void *member, bool is_whole)
{
	static_cast<Member *>(member)->is_whole = is_whole;
}
inline void flaw(void *context, enum unpack_flaw flaw, const char *name)
{
	static_cast<Unpacked *>(context)->flaws.push_back(std::string(unpack_flaw_text(flaw)) +
							  ": " + name);
}

} // namespace unpacking

inline Unpacked unpack_all(enum content_kind kind, const std::string &bytes,
			   struct unpack_budget budget = UNPACK_BUDGET, size_t piece = SIZE_MAX,
			   bool is_whole = true)
{
	static const struct unpack_events events = { unpacking::begin, unpacking::data,
						     unpacking::end, unpacking::flaw, nullptr };
	Unpacked unpacked;
	unpacked.left = budget;
	const struct unpack_row *row = unpack_find(kind);
	std::unique_ptr<uint8_t[]> memory(new uint8_t[UNPACK_HERE_MEMORY]);
	struct unpack *unpack = nullptr;
	unpacked.status =
		row == nullptr
			? -1
			: unpack_begin(row,
				       unpack_place(row) == UNPACK_HERE ? memory.get() : nullptr,
				       &unpacked.left, &events, &unpacked, &unpack);
	if (unpacked.status != 0)
		return unpacked;
	for (size_t at = 0; at < bytes.size();) {
		const size_t size = piece < bytes.size() - at ? piece : bytes.size() - at;
		unpack_push(unpack, reinterpret_cast<const uint8_t *>(bytes.data()) + at, size);
		at += size;
	}
	unpack_end(unpack, is_whole);
	return unpacked;
}

// window: as of deflateInit2(): -15 raw, 15 zlib, 31 gzip.
inline std::string deflated(const std::string &text, int window = -15)
{
	z_stream stream;
	std::memset(&stream, 0, sizeof(stream));
	deflateInit2(&stream, 9, Z_DEFLATED, window, 9, Z_DEFAULT_STRATEGY);
	std::string out(deflateBound(&stream, text.size()) + 64, '\0');
	stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(text.data()));
	stream.avail_in = static_cast<uInt>(text.size());
	stream.next_out = reinterpret_cast<Bytef *>(&out[0]);
	stream.avail_out = static_cast<uInt>(out.size());
	deflate(&stream, Z_FINISH);
	out.resize(out.size() - stream.avail_out);
	deflateEnd(&stream);
	return out;
}

inline std::string little(uint64_t value, int size)
{
	std::string text;
	for (int i = 0; i < size; i++)
		text += static_cast<char>(value >> (8 * i));
	return text;
}

// A member as its two headers have it; what is to be a lie is changed between make and add.
struct ZipMember {
	std::string name;
	std::string packed;
	uint32_t crc;
	uint64_t size;
	uint16_t method;
	uint16_t flags = 0;
	std::string extra = "";
};

inline ZipMember zip_member(const std::string &name, const std::string &text, uint16_t method = 8)
{
	const auto *bytes = reinterpret_cast<const Bytef *>(text.data());
	return { name, method == 8 ? deflated(text) : text,
		 static_cast<uint32_t>(crc32(0, bytes, static_cast<uInt>(text.size()))),
		 text.size(), method };
}

inline std::string zip_facts(const ZipMember &member, bool is_known)
{
	return little(is_known ? member.crc : 0, 4) +
	       little(is_known ? member.packed.size() : 0, 4) +
	       little(is_known ? member.size : 0, 4);
}

inline std::string zip_local(const ZipMember &member)
{
	return "PK\3\4" + little(20, 2) + little(member.flags, 2) + little(member.method, 2) +
	       little(0, 4) + zip_facts(member, (member.flags & 8) == 0) +
	       little(member.name.size(), 2) + little(member.extra.size(), 2) + member.name +
	       member.extra;
}

inline std::string zip_descriptor(const ZipMember &member, bool is_signed = true)
{
	return (is_signed ? "PK\7\10" : "") + zip_facts(member, true);
}

inline std::string zip_central(const ZipMember &member, uint64_t offset)
{
	return "PK\1\2" + little(20, 2) + little(20, 2) + little(member.flags, 2) +
	       little(member.method, 2) + little(0, 4) + zip_facts(member, true) +
	       little(member.name.size(), 2) + little(0, 12) + little(offset, 4) + member.name;
}

inline std::string zip_end(unsigned count, uint64_t size, uint64_t offset,
			   const std::string &comment = "")
{
	return "PK\5\6" + little(0, 4) + little(count, 2) + little(count, 2) + little(size, 4) +
	       little(offset, 4) + little(comment.size(), 2) + comment;
}

inline std::string zip_of(const std::vector<ZipMember> &members, const std::string &before = "")
{
	std::string bytes = before;
	std::string directory;
	for (const ZipMember &member : members) {
		directory += zip_central(member, bytes.size());
		bytes += zip_local(member) + member.packed;
		if ((member.flags & 8) != 0)
			bytes += zip_descriptor(member);
	}
	const size_t at = bytes.size();
	return bytes + directory +
	       zip_end(static_cast<unsigned>(members.size()), directory.size(), at);
}
