// SPDX-License-Identifier: GPL-3.0-or-later
// Compound files that say what a test wants.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/unpack/unpacking.hh"

class Compound
{
      public:
	unsigned shift = 9;
	uint32_t mini_below = 4096;
	bool is_backward = false; // sectors of streams in the other order

	explicit Compound(const std::map<std::string, std::string> &streams)
	{
		entries_.push_back({ "Root Entry", 5, "" });
		for (const auto &[path, data] : streams)
			entries_[make(path, 2)].data = data;
	}

	// Where an entry of the directory is, for tests that change it.
	size_t entry_at(const std::string &path) const
	{
		return at(directory_begin_) + 128 * numbers_.at(path);
	}
	size_t fat_at(uint32_t sector) const
	{
		return at(fat_begin_) + 4 * static_cast<size_t>(sector);
	}
	uint32_t start_of(const std::string &path) const
	{
		return entries_[numbers_.at(path)].start;
	}

	std::string bytes()
	{
		std::string mini;
		std::vector<uint32_t> mini_fat;
		for (Entry &entry : entries_) {
			if (entry.type != 2 || entry.data.empty())
				continue;
			if (entry.data.size() >= mini_below)
				entry.start = add(entry.data);
			else
				add_mini(entry, mini, mini_fat);
		}
		entries_[0].start = mini.empty() ? END : add(mini);
		entries_[0].size = mini.size();
		const uint32_t mini_fat_begin = mini_fat.empty() ? END : add(words(mini_fat));
		directory_begin_ = add(directory());
		return with_tables(mini_fat_begin);
	}

      private:
	static constexpr uint32_t END = 0xfffffffe;
	static constexpr uint32_t FREE = 0xffffffff;

	struct Entry {
		std::string name;
		int type;
		std::string data;
		uint32_t start = END;
		uint64_t size = 0;
		std::vector<size_t> children = {};
	};

	std::vector<Entry> entries_;
	std::map<std::string, size_t> numbers_;
	std::vector<uint32_t> fat_;
	std::string sectors_;
	uint32_t directory_begin_ = 0;
	uint32_t fat_begin_ = 0;

	size_t at(uint32_t sector) const
	{
		return (static_cast<size_t>(sector) + 1) << shift;
	}

	size_t make(const std::string &path, int type)
	{
		if (path.empty())
			return 0;
		if (numbers_.count(path) > 0)
			return numbers_[path];
		const size_t slash = path.rfind('/');
		const size_t parent =
			slash == std::string::npos ? 0 : make(path.substr(0, slash), 1);
		entries_.push_back(
			{ slash == std::string::npos ? path : path.substr(slash + 1), type, "" });
		numbers_[path] = entries_.size() - 1;
		entries_[parent].children.push_back(entries_.size() - 1);
		return entries_.size() - 1;
	}

	static std::string words(const std::vector<uint32_t> &numbers)
	{
		std::string text;
		for (const uint32_t number : numbers)
			text += little(number, 4);
		return text;
	}

	// The chain of the data's sectors begins there.
	uint32_t add(std::string data)
	{
		const size_t size = static_cast<size_t>(1) << shift;
		data.resize((data.size() + size - 1) / size * size);
		const auto first = static_cast<uint32_t>(fat_.size());
		const auto count = static_cast<uint32_t>(data.size() / size);
		for (uint32_t i = 0; i < count; i++) {
			const uint32_t piece = is_backward ? count - 1 - i : i;
			sectors_ += data.substr(piece * size, size);
			if (is_backward)
				fat_.push_back(i == 0 ? END : first + i - 1);
			else
				fat_.push_back(i + 1 == count ? END : first + i + 1);
		}
		return is_backward ? first + count - 1 : first;
	}

	static void add_mini(Entry &entry, std::string &mini, std::vector<uint32_t> &mini_fat)
	{
		entry.start = static_cast<uint32_t>(mini_fat.size());
		mini += entry.data;
		mini.resize((mini.size() + 63) / 64 * 64);
		while (mini_fat.size() + 1 < mini.size() / 64)
			mini_fat.push_back(static_cast<uint32_t>(mini_fat.size()) + 1);
		mini_fat.push_back(END);
	}

	std::string directory() const
	{
		std::vector<uint32_t> right(entries_.size(), FREE);
		for (const Entry &entry : entries_) {
			for (size_t i = 1; i < entry.children.size(); i++)
				right[entry.children[i - 1]] =
					static_cast<uint32_t>(entry.children[i]);
		}
		std::string text;
		for (size_t i = 0; i < entries_.size(); i++) {
			const Entry &entry = entries_[i];
			std::string name;
			for (const char byte : entry.name)
				name += little(static_cast<uint8_t>(byte), 2);
			name.resize(64);
			const uint64_t size = entry.type == 2 ? entry.data.size() : entry.size;
			text += name + little(2 * entry.name.size() + 2, 2) +
				little(static_cast<uint64_t>(entry.type), 1) + little(1, 1) +
				little(FREE, 4) + little(right[i], 4) +
				little(entry.children.empty() ? FREE : entry.children[0], 4) +
				std::string(36, '\0') + little(entry.start, 4) + little(size, 8);
		}
		return text;
	}

	// The FAT names its own sectors; those that the header has no room for are in a list.
	std::string with_tables(uint32_t mini_fat_begin)
	{
		const size_t each = static_cast<size_t>(1) << (shift - 2);
		const size_t used = fat_.size();
		size_t fat_count = 0;
		size_t list_count = 0;
		while (used + fat_count + list_count > fat_count * each) {
			fat_count++;
			list_count =
				fat_count > 109 ? (fat_count - 109 + each - 2) / (each - 1) : 0;
		}
		fat_begin_ = static_cast<uint32_t>(used);
		fat_.resize(used + fat_count, 0xfffffffd);
		fat_.resize(used + fat_count + list_count, 0xfffffffc);
		fat_.resize(fat_count * each, FREE);
		const auto list_begin = static_cast<uint32_t>(used + fat_count);
		std::string list;
		for (size_t i = 109; i < fat_count; i++) {
			list += little(fat_begin_ + i, 4);
			if (list.size() % (each * 4) == each * 4 - 4)
				list += little(list_begin + (list.size() + 4) / (each * 4), 4);
		}
		list.resize(list_count * each * 4, '\xff');
		std::string header =
			"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + std::string(16, '\0') +
			little(0x3e, 2) + little(shift == 9 ? 3 : 4, 2) + little(0xfffe, 2) +
			little(shift, 2) + little(6, 2) + std::string(10, '\0') +
			little(fat_count, 4) + little(directory_begin_, 4) + little(0, 4) +
			little(mini_below, 4) + little(mini_fat_begin, 4) + little(1, 4) +
			little(list_count > 0 ? list_begin : END, 4) + little(list_count, 4);
		for (size_t i = 0; i < 109; i++)
			header += little(i < fat_count ? fat_begin_ + i : FREE, 4);
		header.resize(static_cast<size_t>(1) << shift);
		return header + sectors_ + words(fat_) + list;
	}
};

inline std::string compound_of(const std::map<std::string, std::string> &streams)
{
	return Compound(streams).bytes();
}
