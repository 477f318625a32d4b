// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// parsed.hh - the configuration of a program out of a text. The binary has the dependency `fault`.
//
//     using parsed = parsed_as<policy_setup, policy_setup_parse, policy_setup_deinit>;

#include "tests/lib/fault.hh"

#include "lib/common/conf.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <memory>
#include <string>

inline void deinit_nothing(void *)
{
}

template <class Setup, int (*parse)(const char *, size_t, void *, conf_error *),
	  void (*deinit)(void *) = deinit_nothing>
class parsed_as
{
      public:
	explicit parsed_as(const std::string &text)
	{
		status = parse(text.data(), text.size(), &setup, &error);
	}
	~parsed_as()
	{
		deinit(&setup);
	}
	parsed_as(const parsed_as &) = delete;
	parsed_as &operator=(const parsed_as &) = delete;

	// Whichever allocation fails, there is no configuration, and what there is can be ended.
	static void check_without_memory(const std::string &text);

      private:
	std::unique_ptr<Setup> storage = std::make_unique<Setup>(); // up to 150 kB

      public:
	int status;
	Setup &setup = *storage;
	conf_error error = {};
};

template <class Setup, int (*parse)(const char *, size_t, void *, conf_error *),
	  void (*deinit)(void *)>
void parsed_as<Setup, parse, deinit>::check_without_memory(const std::string &text)
{
	bool has_failed = true;
	for (unsigned n = 1; has_failed; n++) {
		const auto setup = std::make_unique<Setup>();
		conf_error error = {};
		std::memset(setup.get(), 0xff,
			    sizeof(*setup)); // what it was before is not looked at
		fault::fail_at(n);
		const int status = parse(text.data(), text.size(), setup.get(), &error);
		has_failed = fault::end();
		CAPTURE(n, error.reason);
		CHECK((status < 0) == has_failed);
		deinit(setup.get());
	}
}
