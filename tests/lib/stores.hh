// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// stores.hh - stores written and read in a line or two.
//
//     write_store(path, [](writer *w) { return put(w, STORE_RECORDS, "a", "1"); });
//     CHECK(read_table(path, STORE_RECORDS) == table{ { "a", "1" } });
//
// LMDB must not have one file open twice in a process: while a reader is open,
// write in a child (child.hh).

#include "lib/lmdb/reader.h"
#include "lib/lmdb/writer.h"
#include "lib/store/tables.h"

#include <catch2/catch.hpp>

#include <map>
#include <stdexcept>
#include <string>

using table = std::map<std::string, std::string>;

// std::string compares as char; keys compare as memcmp() does, and so does
// std::char_traits<char>, which compares as unsigned char.

inline std::string text_of(const store_bytes &bytes)
{
	return { reinterpret_cast<const char *>(bytes.data), bytes.size };
}

template <typename Function> int write_store(const std::string &path, Function function)
{
	return writer_run(
		path.c_str(), &zone_store,
		[](writer *w, void *context) { return (*static_cast<Function *>(context))(w); },
		&function);
}

inline int put(writer *w, store_table in, const std::string &key, const std::string &value)
{
	return writer_put(w, in, key.data(), key.size(), value.data(), value.size());
}

inline int remove(writer *w, store_table in, const std::string &key)
{
	return writer_delete(w, in, key.data(), key.size());
}

inline int put_all(writer *w, store_table in, const table &entries)
{
	for (const auto &[key, value] : entries) {
		const int ret = put(w, in, key, value);
		if (ret != STORE_OK)
			return ret;
	}
	return STORE_OK;
}

// 288 MB of values, more than the first size limit of a store.
inline int put_much(writer *w)
{
	const std::string value(240000, 'v');
	for (int i = 0; i < 1200; i++) {
		char key[16];
		snprintf(key, sizeof(key), "%06d", i);
		const int ret = put(w, STORE_RECORDS, key, value);
		if (ret != STORE_OK)
			return ret;
	}
	return STORE_OK;
}

inline void make_store(const std::string &path, const table &records)
{
	REQUIRE(write_store(path, [&](writer *w) { return put_all(w, STORE_RECORDS, records); }) ==
		STORE_OK);
}

// Enough entries for a tree of some depth, a few of them with pages of their own.
inline table many_entries()
{
	table entries;
	for (int i = 0; i < 1500; i++)
		entries["key" + std::to_string(i)] =
			std::string(i % 300 == 7 ? 9000 : 17, static_cast<char>('a' + i % 26));
	return entries;
}

// A reader that is closed with its owner; begun on request.
class opened_reader
{
      public:
	explicit opened_reader(const std::string &path)
	    : status_(reader_open(path.c_str(), &zone_store, &reader_))
	{
	}
	~opened_reader()
	{
		reader_close(reader_);
	}
	opened_reader(const opened_reader &) = delete;
	opened_reader &operator=(const opened_reader &) = delete;

	int status() const
	{
		return status_;
	}
	reader *get() const
	{
		return reader_;
	}

      private:
	reader *reader_ = nullptr;
	int status_;
};

// All of a table, between begin and end.
inline int walk(reader *r, store_table in, table *ret_entries)
{
	store_bytes key;
	store_bytes value;
	int ret = reader_seek(r, in, nullptr, 0, &key, &value);
	while (ret == STORE_OK) {
		(*ret_entries)[text_of(key)] = text_of(value);
		ret = reader_next(r, in, &key, &value);
	}
	return ret == DNSBLV6_ENOTFOUND ? int{ STORE_OK } : ret;
}

inline table read_table(const std::string &path, store_table in)
{
	const opened_reader opened(path);
	table entries;
	int ret = opened.status();
	if (ret == STORE_OK)
		ret = reader_begin(opened.get());
	if (ret == STORE_OK) {
		ret = walk(opened.get(), in, &entries);
		reader_end(opened.get());
	}
	if (ret != STORE_OK)
		throw std::runtime_error(path + ": " + store_strerror(ret));
	return entries;
}

// Opens, begins and verifies, in this process.
inline int open_and_verify(const std::string &path)
{
	const opened_reader opened(path);
	int ret = opened.status();
	if (ret == STORE_OK)
		ret = reader_begin(opened.get());
	if (ret == STORE_OK) {
		ret = reader_verify(opened.get());
		reader_end(opened.get());
	}
	return ret;
}
