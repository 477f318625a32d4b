// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// parsed.hh - the configuration of an adapter out of a text: of the one whose setup.h stands
// before this header.

#include <memory>
#include <string>

class parsed
{
      public:
	explicit parsed(const std::string &text)
	{
		status = setup_parse(text.data(), text.size(), &setup, &error);
	}
	~parsed()
	{
		setup_deinit(&setup);
	}
	parsed(const parsed &) = delete;
	parsed &operator=(const parsed &) = delete;

      private:
	std::unique_ptr<struct setup> storage = std::make_unique<struct setup>(); // up to 150 kB

      public:
	int status;
	struct setup &setup = *storage;
	conf_error error = {};
};
