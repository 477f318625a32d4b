// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// vectors.hh - reads lib/format/vectors.txt, and turns its fields into values.
//
// Nothing here calls lib/format to understand a field (addresses are read by
// libc), so that a vector never proves itself.

#include "lib/format/name.h"

#include <arpa/inet.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

using bytes = std::vector<uint8_t>;

struct vector_case {
	unsigned line = 0;
	std::vector<std::string> fields; // the kind is not among them

	const std::string &operator[](size_t index) const
	{
		if (index >= fields.size())
			throw std::runtime_error("vectors.txt:" + std::to_string(line) +
						 ": field is missing");
		return fields[index];
	}
};

inline std::ostream &operator<<(std::ostream &out, const vector_case &c)
{
	out << "vectors.txt:" << c.line;
	for (const std::string &field : c.fields)
		out << ' ' << field;
	return out;
}

struct vector_line {
	std::string kind;
	vector_case fields;
};

inline std::vector<vector_line> all_vectors()
{
	std::ifstream in("lib/format/vectors.txt");
	if (!in)
		throw std::runtime_error("run in the top directory: no lib/format/vectors.txt");
	std::vector<vector_line> found;
	std::string text;
	for (unsigned line = 1; std::getline(in, text); line++) {
		std::istringstream words(text);
		vector_line next;
		if (!(words >> next.kind) || next.kind[0] == '#')
			continue;
		next.fields.line = line;
		for (std::string field; words >> field;)
			next.fields.fields.push_back(field);
		found.push_back(next);
	}
	return found;
}

inline std::vector<vector_case> vectors(const std::string &kind)
{
	std::vector<vector_case> found;
	for (const vector_line &line : all_vectors()) {
		if (line.kind == kind)
			found.push_back(line.fields);
	}
	if (found.empty())
		throw std::runtime_error("vectors.txt has no " + kind);
	return found;
}

// Runs what follows in a test case for each of them.
#define EACH(kind) GENERATE(from_range(vectors(kind)))

// ---- fields to values ----

inline bytes from_hex(const std::string &hex)
{
	bytes out;
	for (size_t i = 0; hex != "-" && i < hex.size(); i += 2)
		out.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
	return out;
}

inline std::string to_hex(const uint8_t *data, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	std::string out;
	for (size_t i = 0; i < size; i++) {
		out += digits[data[i] >> 4];
		out += digits[data[i] & 15];
	}
	return size > 0 ? out : "-";
}

inline std::string to_hex(const bytes &data)
{
	return to_hex(data.data(), data.size());
}

inline std::string hex_of(const dnsblv6_labels &name)
{
	return to_hex(name.wire, name.size);
}

// A text with \DDD for single bytes; "-" is empty.
inline std::string unescaped(const std::string &field)
{
	std::string out;
	for (size_t i = 0; field != "-" && i < field.size(); i++) {
		if (field[i] == '\\') {
			out += static_cast<char>(std::stoi(field.substr(i + 1, 3)));
			i += 3;
		} else {
			out += field[i];
		}
	}
	return out;
}

// A name to wire form without the root label.
inline bytes labels_of(const std::string &name)
{
	bytes out;
	if (name == "@")
		return out;
	std::istringstream labels(name);
	for (std::string label; std::getline(labels, label, '.');) {
		const std::string text = label == "-" ? label : unescaped(label);
		out.push_back(static_cast<uint8_t>(text.size()));
		out.insert(out.end(), text.begin(), text.end());
	}
	return out;
}

inline dnsblv6_labels labels_struct(const std::string &name)
{
	const bytes wire = labels_of(name);
	dnsblv6_labels labels = {};
	labels.size = static_cast<uint8_t>(wire.size());
	if (!wire.empty())
		memcpy(labels.wire, wire.data(), wire.size());
	return labels;
}

inline dnsblv6_addr address_of(const std::string &text)
{
	uint8_t raw[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	const bool is_ipv4 = text.find(':') == std::string::npos;
	if (inet_pton(is_ipv4 ? AF_INET : AF_INET6, text.c_str(), is_ipv4 ? raw + 12 : raw) != 1)
		throw std::runtime_error("no address: " + text);
	dnsblv6_addr addr = { 0, 0 };
	for (int i = 0; i < 8; i++) {
		addr.hi = addr.hi << 8 | raw[i];
		addr.lo = addr.lo << 8 | raw[8 + i];
	}
	return addr;
}

inline dnsblv6_prefix prefix_of(const std::string &text)
{
	const size_t slash = text.find('/');
	const bool is_ipv4 = text.find(':') == std::string::npos;
	unsigned prefix_len = 128;
	if (slash != std::string::npos)
		prefix_len = static_cast<unsigned>(std::stoul(text.substr(slash + 1))) +
			     (is_ipv4 ? 96u : 0u);
	return { address_of(text.substr(0, slash)), static_cast<uint8_t>(prefix_len) };
}

inline dnsblv6_style style_of(const std::string &text)
{
	static const std::map<std::string, dnsblv6_style> styles = {
		{ "dotted", DNSBLV6_STYLE_DOTTED },   { "flat", DNSBLV6_STYLE_FLAT },
		{ "both", DNSBLV6_STYLE_BOTH },	      { "both6", DNSBLV6_STYLE_BOTH6 },
		{ "classic", DNSBLV6_STYLE_CLASSIC },
	};
	const auto found = styles.find(text);
	if (found == styles.end())
		throw std::runtime_error("no style: " + text);
	return found->second;
}

inline std::vector<std::string> split(const std::string &text, char separator)
{
	std::vector<std::string> parts;
	std::istringstream in(text);
	for (std::string part; std::getline(in, part, separator);)
		parts.push_back(part);
	return parts;
}

// ---- values to compare and print ----

inline bool operator==(const dnsblv6_addr &a, const dnsblv6_addr &b)
{
	return a.hi == b.hi && a.lo == b.lo;
}

inline bool operator==(const dnsblv6_prefix &a, const dnsblv6_prefix &b)
{
	return a.first == b.first && a.prefix_len == b.prefix_len;
}

inline std::ostream &operator<<(std::ostream &out, const dnsblv6_addr &addr)
{
	char text[64];
	snprintf(text, sizeof(text), "%016llx:%016llx", static_cast<unsigned long long>(addr.hi),
		 static_cast<unsigned long long>(addr.lo));
	return out << text;
}

inline std::ostream &operator<<(std::ostream &out, const dnsblv6_prefix &prefix)
{
	return out << prefix.first << '/' << unsigned{ prefix.prefix_len };
}
