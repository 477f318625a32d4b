// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// front_users.hh - databases of recipients written and asked in a line or two.
//
// LMDB must not have one file open twice in a process: while a database is
// open, build in a child (child.hh).

#include "integration/mail/base/users/users.h"
#include "integration/mail/base/users/users_build.h"

#include <stdexcept>
#include <string>
#include <vector>

inline users_facts folding(bool folds_case = true, char extension = '\0')
{
	users_facts facts = {};
	facts.folds_case = folds_case;
	facts.extension = extension;
	return facts;
}

struct filling {
	const std::vector<std::string> &lines;
	users_builder build = {};
};

inline int fill_lines(users_builder *build, void *context)
{
	for (const auto &line : static_cast<filling *>(context)->lines) {
		const int ret = users_build_add(build, line.data(), line.size());
		if (ret != STORE_OK)
			return ret;
	}
	return STORE_OK;
}

// Lines that no list could have are not expected.
inline int build(const std::string &path, const std::vector<std::string> &lines,
		 const users_facts &facts = folding(), users_builder *ret_build = nullptr)
{
	filling filled{ lines };
	filled.build.facts = facts;
	filled.build.facts.built_at_s = 1700000000;
	filled.build.max_shrink_percent =
		ret_build != nullptr ? ret_build->max_shrink_percent : 100;
	const int ret = users_build(path.c_str(), &filled.build, fill_lines, &filled);
	if (ret_build != nullptr)
		*ret_build = filled.build;
	return ret;
}

// Closed with its owner.
class opened_users
{
      public:
	explicit opened_users(const std::string &path) : status_(users_open(path.c_str(), &users_))
	{
	}
	~opened_users()
	{
		users_close(users_);
	}
	opened_users(const opened_users &) = delete;
	opened_users &operator=(const opened_users &) = delete;

	int status() const
	{
		return status_;
	}
	users *get() const
	{
		return users_;
	}
	int find(const std::string &address) const
	{
		return users_find(users_, address.data(), address.size());
	}
	// What makes the address valid; "": nothing does.
	std::string entry(const std::string &address) const
	{
		char text[USERS_ENTRY_SIZE] = "";
		users_settings settings = {};
		users_find_settings(users_, address.data(), address.size(), text, &settings);
		return text;
	}
	std::vector<std::string> lines() const
	{
		std::vector<std::string> all;
		const int ret = users_walk(
			users_,
			[](void *context, const char *line, size_t size) {
				static_cast<std::vector<std::string> *>(context)->emplace_back(
					line, size);
				return 0;
			},
			&all);
		if (ret != STORE_OK)
			throw std::runtime_error(users_strerror(ret));
		return all;
	}

      private:
	users *users_ = nullptr;
	int status_;
};

// One item of a value, as users_settings.h says.
inline std::string item(int tag, const std::string &bytes)
{
	return std::string{ static_cast<char>(tag), static_cast<char>(bytes.size() >> 8),
			    static_cast<char>(bytes.size()) } +
	       bytes;
}
