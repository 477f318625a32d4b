// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// lists.hh - list files in, what was understood out: as lines of text.
//
//     lists read;
//     read.add("ip4set", "192.0.2.1 :3:listed\n");
//     CHECK(read.entries() == lines{ "192.0.2.1 127.0.0.3 2100 listed" });
//     CHECK(read.findings() == "");

#include "tests/lib/tmpdir.hh"

#include "zone-tools/base/findings.h"
#include "zone-tools/base/listing.h"
#include "zone-tools/lists/sources.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using lines = std::vector<std::string>;

class lists
{
      public:
	static constexpr uint64_t NOW_S = 1800000000; // 2027-01-15 08:00:00 UTC

	sources_options options = {};
	struct listing listing = {};
	struct findings counts = {};

	lists()
	{
		options.now_s = NOW_S;
		options.allow_reserved = true;
		counts.limit = UINT64_MAX;
		counts.stream = open_memstream(&text_, &text_size_);
		if (listing_init(&listing) != DNSBLV6_OK || counts.stream == nullptr)
			throw std::bad_alloc();
	}
	~lists()
	{
		listing_deinit(&listing);
		fclose(counts.stream);
		free(text_);
	}
	lists(const lists &) = delete;
	lists &operator=(const lists &) = delete;

	// One LIST of that type (NULL: plain), each content a file of its own.
	int add(const char *type, const lines &contents)
	{
		std::string list = type != nullptr ? std::string(type) + ":" : "";
		const size_t first = file_count_;
		for (const std::string &content : contents) {
			const std::string path = dir_.file("list" + std::to_string(file_count_));
			write_file(path, content);
			list += (file_count_++ == first ? "" : ",") + path;
		}
		return add_path(list);
	}
	int add(const char *type, const std::string &content)
	{
		return add(type, lines{ content });
	}
	int add_path(const std::string &list)
	{
		return sources_read(&listing, list.c_str(), &options, &counts, nullptr);
	}

	// "prefix A TTL text" or "!prefix"; the address in a text is "$".
	lines entries(size_t dataset = 0) const
	{
		lines result;
		if (dataset >= listing.dataset_count)
			return result;
		const struct dataset &set = listing.datasets[dataset];
		dataset_walk walk = dataset_walk_all(&set);
		entry one = {};
		while (dataset_next(&walk, &one))
			result.push_back(entry_text(one));
		return result;
	}

	// ".name A TTL text", "*.name ...", "!name"; "name TTL TYPE" and the size of its RDATA.
	lines names(size_t dataset = 0) const
	{
		lines result;
		const struct dataset &set = listing.datasets[dataset];
		for (size_t i = 0; i < set.name_count; i++)
			result.push_back(name_text(set.names[i]));
		return result;
	}

	// Names of the origins of a dataset; "" is the apex.
	lines origins(size_t dataset) const
	{
		lines result;
		const struct dataset &set = listing.datasets[dataset];
		for (size_t i = 0; i < set.origin_count; i++) {
			char text[DNSBLV6_NAME_TEXT_SIZE];
			const dnsblv6_labels &name = listing.origins[set.origins[i]];
			dnsblv6_name_format(name.wire, name.size, text);
			result.emplace_back(text);
		}
		return result;
	}

	// All lines printed, with the directory of the files cut out.
	std::string findings() const
	{
		fflush(counts.stream);
		std::string result(text_, text_size_);
		const std::string directory = dir_.path() + "/";
		for (size_t at; (at = result.find(directory)) != std::string::npos;)
			result.erase(at, directory.size());
		return result;
	}

	const tmpdir &dir() const
	{
		return dir_;
	}

      private:
	tmpdir dir_;
	size_t file_count_ = 0;
	char *text_ = nullptr;
	size_t text_size_ = 0;

	std::string entry_text(const struct entry &entry) const
	{
		char text[DNSBLV6_PREFIX_TEXT_SIZE];
		dnsblv6_prefix_format({ entry.first, entry.prefix_len }, text);
		if (entry.value == ENTRY_EXCLUDED)
			return "!" + std::string(text);
		return text + std::string(" ") + value_text(entry.value);
	}

	std::string name_text(const struct name_entry &entry) const
	{
		char text[DNSBLV6_NAME_TEXT_SIZE];
		dnsblv6_labels name = {};
		if (dnsblv6_key_to_labels(entry.key, entry.key_size, &name) != DNSBLV6_OK)
			return "bad key";
		dnsblv6_name_format(name.wire, name.size, text);
		if (entry.is_record) {
			const dnsblv6_rr &rr = listing.records[entry.value];
			return text + std::string(" ") + std::to_string(rr.ttl) + " " +
			       std::to_string(rr.type) + " " + std::to_string(rr.rdata_size);
		}
		const std::string reach = entry.reach == NAME_BELOW    ? "*."
					  : entry.reach == NAME_ITSELF ? ""
								       : ".";
		if (entry.value == ENTRY_EXCLUDED)
			return "!" + reach + text;
		return reach + text + " " + value_text(entry.value);
	}

	std::string value_text(uint32_t number) const
	{
		const dnsblv6_value &value = listing.pool.values[number];
		char a[DNSBLV6_ADDR_TEXT_SIZE];
		dnsblv6_addr_format(dnsblv6_addr_from_ipv4(value.a), a);
		std::string result = a + std::string(" ") + std::to_string(value.ttl);
		if (value.text_size > 0)
			result += " " + template_text(value);
		return result;
	}

	static std::string template_text(const dnsblv6_value &value)
	{
		std::string result(reinterpret_cast<const char *>(value.text), value.text_size);
		for (char &c : result)
			c = c == DNSBLV6_TEXT_ADDRESS ? '$' : c;
		return result;
	}
};
