// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// librarysample.hh - the section "library" of a program's sample, beside the library's own options.
//
//     librarysample::check(read_file("....conf.sample"), { "role", "kind" });

#include "client-lib/config/config.h"

#include <catch2/catch.hpp>

#include <regex>
#include <set>
#include <string>

namespace librarysample
{

// Each option but those elsewhere is there, and has the default that the library has.
inline void check(const std::string &sample, const std::set<std::string> &elsewhere)
{
	config said;
	config defaults;
	config_init(&said);
	config_init(&defaults);
	const std::string library = sample.substr(sample.find("\nlibrary:"));
	for (unsigned i = 0; config_key(i) != nullptr; i++) {
		const std::string key = config_key(i);
		CAPTURE(key);
		const std::regex item("\n    #?" + key + ": ");
		CHECK(std::regex_search(library, item) == (elsewhere.count(key) == 0));
	}
	const std::regex item("\n    ([-a-z]+): ([^\n]+)");
	for (std::sregex_iterator i(library.begin(), library.end(), item), end; i != end; ++i) {
		char error[CONFIG_ERROR_MAX];
		CAPTURE((*i)[1], (*i)[2]);
		CHECK(config_set(&said, (*i)[1].str().c_str(), (*i)[2].str().c_str(), error) == 0);
	}
	CHECK(said.max_requests == 16384); // the one that differs, and the manual says so
	CHECK(said.threshold == defaults.threshold);
	CHECK(said.cache_size == defaults.cache_size);
	CHECK(said.min_ttl_s == defaults.min_ttl_s);
	CHECK(said.max_ttl_s == defaults.max_ttl_s);
	CHECK(said.max_negative_ttl_s == defaults.max_negative_ttl_s);
	CHECK(said.failure_ttl_s == defaults.failure_ttl_s);
	CHECK(said.max_stale_s == defaults.max_stale_s);
	CHECK(said.prefetch_percent == defaults.prefetch_percent);
	CHECK(said.probe_interval_s == defaults.probe_interval_s);
	CHECK(said.attempt_timeout_ms == defaults.attempt_timeout_ms);
	CHECK(said.mixed_case == defaults.mixed_case);
	CHECK(said.use_ranges == defaults.use_ranges);
	CHECK(std::string(said.resolv_conf) == defaults.resolv_conf);
}

} // namespace librarysample
