// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// parsed.hh - the configuration of an adapter out of a text: of the one whose setup.h stands
// before this header. The binary has the dependency `fault`.

#include "tests/lib/fault.hh"

#include <catch2/catch.hpp>

#include <cstring>
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

// Whichever allocation fails, there is no configuration, and what there is can be ended.
inline void check_without_memory(const std::string &text)
{
	bool has_failed = true;
	for (unsigned n = 1; has_failed; n++) {
		const auto setup = std::make_unique<struct setup>();
		conf_error error = {};
		std::memset(setup.get(), 0xff,
			    sizeof(*setup)); // what it was before is not looked at
		fault::fail_at(n);
		const int status = setup_parse(text.data(), text.size(), setup.get(), &error);
		has_failed = fault::end();
		CAPTURE(n, error.reason);
		CHECK((status < 0) == has_failed);
		setup_deinit(setup.get());
	}
}
