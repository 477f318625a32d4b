/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// A database of lines, and what is found with it, however the bytes are cut.

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

#include "lib/match/compile.h"
#include "lib/match/match.h"

// A directory of its own, which ends with it.
class Directory
{
      public:
	Directory()
	{
		char name[] = "/tmp/match-XXXXXX";
		REQUIRE(mkdtemp(name) != nullptr);
		path = name;
	}
	~Directory()
	{
		for (const std::string &name : names)
			unlink((path + "/" + name).c_str());
		rmdir(path.c_str());
	}
	Directory(const Directory &) = delete;
	Directory &operator=(const Directory &) = delete;

	std::string write(const std::string &name, const std::string &text)
	{
		const std::string whole = at(name);
		FILE *file = fopen(whole.c_str(), "we");
		REQUIRE(file != nullptr);
		REQUIRE(fwrite(text.data(), 1, text.size(), file) == text.size());
		REQUIRE(fclose(file) == 0);
		return whole;
	}
	std::string at(const std::string &name)
	{
		if (std::find(names.begin(), names.end(), name) == names.end())
			names.push_back(name);
		return path + "/" + name;
	}

      private:
	std::string path;
	std::vector<std::string> names;
};

using Files = std::vector<std::pair<std::string, std::string>>; // name, text

class Compiled
{
      public:
	explicit Compiled(const Files &files, bool is_strict = false)
	{
		REQUIRE(compile_new(is_strict, say, &messages, &compile) == 0);
		for (const auto &[name, text] : files) {
			const std::string path = directory.write(name, text);
			statuses.push_back(compile_add_file(compile, path.c_str()));
		}
	}
	~Compiled()
	{
		compile_free(compile);
	}
	Compiled(const Compiled &) = delete;
	Compiled &operator=(const Compiled &) = delete;

	std::string write()
	{
		const std::string path = directory.at("signatures.db");
		INFO(all_messages());
		REQUIRE(compile_write(compile, path.c_str()) == 0);
		return path;
	}
	std::string all_messages() const
	{
		std::string all;
		for (const std::string &message : messages)
			all += message + "\n";
		return all;
	}

	Directory directory;
	struct compile *compile = nullptr;
	std::vector<int> statuses;
	std::vector<std::string> messages;

      private:
	static void say(void *context, const char *message)
	{
		static_cast<std::vector<std::string> *>(context)->push_back(message);
	}
};

using Found = std::vector<std::string>; // "NAME@OFFSET", sorted

class Database
{
      public:
	explicit Database(const Files &files) : compiled(files)
	{
		char error[MATCH_ERROR_SIZE] = "";
		const int status = match_open(compiled.write().c_str(), &db, error);
		INFO(error);
		REQUIRE(status == 0);
		REQUIRE(match_worker_new(db, &worker) == 0);
		REQUIRE(match_object_new(worker, &object) == 0);
	}
	~Database()
	{
		match_object_free(object);
		match_worker_free(worker);
		match_close(db);
	}
	Database(const Database &) = delete;
	Database &operator=(const Database &) = delete;

	Found find_in_pieces(const std::string &bytes, size_t piece, enum content_kind kind,
			     enum content_kind container)
	{
		Found found;
		const auto *at = reinterpret_cast<const uint8_t *>(bytes.data());
		match_begin(object, take, &found);
		match_set_kind(object, kind, container);
		for (size_t i = 0; i < bytes.size(); i += piece)
			match_push(object, at + i, std::min(piece, bytes.size() - i));
		match_end(object);
		std::sort(found.begin(), found.end());
		return found;
	}
	Found find(const std::string &bytes, enum content_kind kind = CONTENT_OTHER,
		   enum content_kind container = CONTENT_OTHER)
	{
		const Found whole = find_in_pieces(bytes, SIZE_MAX / 2, kind, container);
		for (size_t piece : { 1, 2, 3, 7, 64, 4096 })
			REQUIRE(find_in_pieces(bytes, piece, kind, container) == whole);
		return whole;
	}

	Compiled compiled;
	struct match_db *db = nullptr;
	struct match_worker *worker = nullptr;
	struct match_object *object = nullptr;

      private:
	static void take(void *context, const struct match_finding *finding)
	{
		static_cast<Found *>(context)->push_back(std::string(finding->name) + "@" +
							 std::to_string(finding->offset));
	}
};
