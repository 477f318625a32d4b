// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// front_users.hh - databases of recipients written and asked in a line or two.
//
// LMDB must not have one file open twice in a process: while a database is
// open, build in a child (child.hh).

#include "integration/mail/base/users/users.h"
#include "integration/mail/base/users/users_build.h"

#include <memory>
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

using list_pointer = std::unique_ptr<users_list, void (*)(users_list *)>;

inline list_pointer make_list(const std::vector<std::string> &lines,
			      const users_facts &facts = folding())
{
	users_list *list = nullptr;
	if (users_list_new(&facts, &list) != USERS_OK)
		throw std::runtime_error("no memory");
	list_pointer owner(list, users_list_free);
	for (const auto &line : lines) {
		const int ret = users_list_add(list, line.data(), line.size());
		if (ret != USERS_OK)
			throw std::runtime_error(line + ": " + users_list_strerror(ret));
	}
	users_list_sort(list);
	return owner;
}

inline int build(const std::string &path, const std::vector<std::string> &lines,
		 const users_facts &facts = folding(), users_build_guard *guard = nullptr)
{
	return users_build(path.c_str(), make_list(lines, facts).get(), 1700000000, guard);
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
		users_find_entry(users_, address.data(), address.size(), text);
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
		if (ret != USERS_OK)
			throw std::runtime_error(users_strerror(ret));
		return all;
	}

      private:
	users *users_ = nullptr;
	int status_;
};
