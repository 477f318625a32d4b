// SPDX-License-Identifier: GPL-3.0-or-later
// What decoders of files in a part have said, for tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/mstream/files.h"

struct File {
	enum mstream_coding coding;
	std::string name;
	std::string bytes;
	bool is_whole;
};

struct Files {
	std::vector<File> all;
	std::vector<enum mstream_oddity> odd;
	bool is_open = false;
	bool is_wrong = false; // a call that cannot be
};

inline const struct mstream_files *files_functions()
{
	static const struct mstream_files functions = {
		[](void *context, enum mstream_coding coding, const char *name) {
			auto *files = static_cast<Files *>(context);
			files->is_wrong = files->is_wrong || files->is_open;
			files->is_open = true;
			files->all.push_back({ coding, name, "", false });
		},
		[](void *context, const uint8_t *bytes, size_t size) {
			auto *files = static_cast<Files *>(context);
			files->is_wrong = files->is_wrong || !files->is_open || size == 0;
			files->all.back().bytes.append(reinterpret_cast<const char *>(bytes), size);
		},
		[](void *context, bool is_whole) {
			auto *files = static_cast<Files *>(context);
			files->is_wrong = files->is_wrong || !files->is_open;
			files->is_open = false;
			files->all.back().is_whole = is_whole;
		},
		[](void *context, enum mstream_oddity oddity) {
			static_cast<Files *>(context)->odd.push_back(oddity);
		},
	};
	return &functions;
}

// In memory of exactly that size, piece by piece.
inline void in_pieces(const std::string &text, size_t piece,
		      const std::function<void(const uint8_t *, size_t)> &push)
{
	for (size_t at = 0; at < text.size(); at += piece) {
		const std::string part = text.substr(at, piece);
		const std::vector<uint8_t> bytes(part.begin(), part.end());
		push(bytes.data(), bytes.size());
	}
}

inline bool operator==(const File &a, const File &b)
{
	return a.coding == b.coding && a.name == b.name && a.bytes == b.bytes &&
	       a.is_whole == b.is_whole;
}

// Each byte there is, in runs and without.
inline std::string some_bytes(size_t size, unsigned seed = 1)
{
	std::string bytes;
	while (bytes.size() < size) {
		seed = seed * 1103515245 + 12345;
		const char byte = static_cast<char>(seed >> 16);
		bytes.append((seed >> 8) % 16 == 0 ? seed >> 24 : 1, byte);
	}
	return bytes.substr(0, size);
}
