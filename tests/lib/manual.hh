// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// manual.hh - the options of a manual page beside the rows of a program's table.

#include "lib/common/conf.h"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <regex>
#include <string>

namespace manual
{

// What the page says about an item of that section, in words; "" when it does not have it.
inline std::string text_of(const std::string &page, const std::string &section,
			   const std::string &item)
{
	const size_t begin = page.find("\n.Ss " + section + "\n");
	if (begin == std::string::npos)
		return "";
	const size_t end = std::min(page.find("\n.Ss ", begin + 4), page.find("\n.Sh ", begin + 4));
	const std::string whole = page.substr(begin, end - begin);
	// One line may be about several: "reject-code , defer-code : Ar code".
	size_t at = 0;
	std::string names;
	while (names.find(" " + item + " ") == std::string::npos) {
		at = whole.find("\n.It Ic ", at + 1);
		if (at == std::string::npos)
			return "";
		names = whole.substr(at + 7, whole.find(" :", at) - at - 6);
	}
	const auto find_end = [&whole](size_t from) {
		return std::min(whole.find("\n.It ", from + 1), whole.find("\n.El", from + 1));
	};
	// A line without a text of its own has that of the next.
	size_t last = at, next = find_end(at);
	while (next != std::string::npos && next == whole.find('\n', last + 1)) {
		last = next;
		next = find_end(last);
	}
	const std::string found = whole.substr(at + 1, next - at - 1);
	std::string words = std::regex_replace(found, std::regex("\n\\.[A-Z][a-z] "), " ");
	words = std::regex_replace(words, std::regex("[\n\"]|\\\\&"), " ");
	return std::regex_replace(
		words, std::regex("([0-9]) (millisecond|second|minute|hour|day)s?"), "$1$2");
}

// Is that word the default, perhaps with another unit?
inline bool is_preset(const conf_item &row, std::string word)
{
	word = std::regex_replace(word, std::regex("^([0-9]+[smhd])(econd|inute|our|ay)$"), "$1");
	int64_t expected = 0, number = 0;
	const values_unit unit = row.type == CONF_SECONDS ? VALUES_SECONDS
				 : row.type == CONF_MS	  ? VALUES_MS
				 : row.type == CONF_SIZE  ? VALUES_BYTES
							  : VALUES_COUNT;
	if (word == row.preset || word + "." == row.preset)
		return true;
	return row.type != CONF_CHOICE &&
	       values_parse_number(row.preset, unit, INT64_MIN, INT64_MAX, &expected) &&
	       values_parse_number(word.c_str(), unit, INT64_MIN, INT64_MAX, &number) &&
	       number == expected;
}

inline bool tells_preset(const conf_item &row, const std::string &text)
{
	if (text.find(row.preset) != std::string::npos && std::strchr(row.preset, ' ') != nullptr)
		return true;
	static const std::regex word("[^ ,;()\\[\\]]+");
	for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at) {
		std::string one = at->str();
		while (!one.empty() && std::strchr(".:", one.back()) != nullptr)
			one.pop_back();
		if (is_preset(row, one) || (one == "none" && is_preset(row, "0")))
			return true;
	}
	return false;
}

// Every row of the first section_count sections is in the page, with its default.
inline void check_rows(const conf_table &table, size_t section_count, const std::string &path)
{
	const std::string page = read_file(path);
	for (size_t s = 0; s < section_count; s++) {
		const conf_section &section = table.sections[s];
		for (size_t i = 0; i < section.item_count; i++) {
			const conf_item &row = section.items[i];
			const std::string text = text_of(page, section.name, row.name);
			INFO(path << ": " << section.name << ", " << row.name << ":" << text);
			CHECK_FALSE(text.empty());
			if (row.preset != nullptr && !row.is_list &&
			    std::strcmp(row.preset, "no") != 0)
				CHECK(tells_preset(row, text));
		}
	}
}

} // namespace manual
