// SPDX-License-Identifier: GPL-3.0-or-later
#include "server/zone/watch.h"
#include "tests/lib/child.hh"
#include "tests/unit/server/fixture.hh"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <regex>
#include <sstream>
#include <thread>
#include <vector>

// The lines of a log, sorted: which of two workers writes its line first is
// the scheduler's choice. How many seconds are left is the clock's.
static std::vector<std::string> lines_of(const std::string &log)
{
	std::istringstream xfrout(std::regex_replace(log, std::regex(" left_s=[0-9]+"), ""));
	std::vector<std::string> lines;
	for (std::string line; std::getline(xfrout, line);)
		lines.push_back(line);
	std::sort(lines.begin(), lines.end());
	return lines;
}

// Two processes that watch one store, as the workers of a server do. Stores
// are written here, where none is open.
class watchers
{
      public:
	watchers()
	{
		if (counters_open(&bank_, 2, 1, 1) != 0)
			throw std::runtime_error("no counters");
	}
	~watchers()
	{
		children_.clear();
		counters_close(&bank_);
	}
	watchers(const watchers &) = delete;
	watchers &operator=(const watchers &) = delete;

	// Another version of the store; they are started behind the first.
	void write(const store_options &options)
	{
		write_store(store(), options);
		while (children_.size() < 2)
			children_.push_back(std::make_unique<child>([this] { return watch(); }));
	}
	// Until the log has these lines, or it is clear that it never will.
	std::vector<std::string> wait_for_log(const std::string &wanted)
	{
		const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
		for (;;) {
			const std::vector<std::string> log =
				lines_of(std::filesystem::exists(log_) ? read_file(log_) : "");
			if (log == lines_of(wanted) || log.size() > lines_of(wanted).size() ||
			    std::chrono::steady_clock::now() > deadline)
				return log;
			std::this_thread::sleep_for(std::chrono::milliseconds(10));
		}
	}
	std::string serving(unsigned serial) const
	{
		return "info: [bl6.example.] serving, path=" + store() +
		       " serial=" + std::to_string(serial) + " records=0\n";
	}

      private:
	tmpdir directory_;
	std::string log_ = directory_.file("stderr");
	counters_bank bank_ = {};
	std::vector<std::unique_ptr<child>> children_;

	std::string store() const
	{
		return directory_.file("bl6.mdb");
	}
	int watch()
	{
		int fd = open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
		dup2(fd, STDERR_FILENO);
		const std::string text =
			"zone:\n  - domain: bl6.example.\n    store: " + store() + "\n";
		settings settings;
		conf_error error;
		struct catalog catalog;
		uv_loop_t loop;
		struct watch watch;
		if (settings_parse(&settings, text.data(), text.size(), "/", &error) != 0 ||
		    catalog_init(&catalog, &settings) != 0 || uv_loop_init(&loop) != 0 ||
		    watch_open(
			    &watch, &loop, &catalog, &settings, &bank_, [](void *) {}, nullptr) !=
			    0)
			return 1;
		return uv_run(&loop, UV_RUN_DEFAULT); // ended by the test
	}
};

TEST_CASE("each state of the signatures is logged once, by one of the workers", "[server][watch]")
{
	const auto now_s = static_cast<uint64_t>(time(nullptr));
	const std::string zone = "[bl6.example.] ";
	watchers both;
	store_options options;
	options.is_signed = true;
	options.signed_until_s = now_s + 4 * 86400;
	both.write(options);
	std::string log = both.serving(7);
	CHECK(both.wait_for_log(log) == lines_of(log));

	options.serial++;
	options.signed_until_s = now_s - 5;
	both.write(options);
	log += both.serving(8) + "error: " + zone +
	       "signatures have ended, validating resolvers refuse them, expired=" +
	       std::to_string(now_s - 5) + "\n";
	CHECK(both.wait_for_log(log) == lines_of(log));

	options.serial++;
	options.signed_until_s = now_s + 9 * 86400;
	both.write(options);
	log += both.serving(9) + "info: " + zone + "signatures good again\n";
	CHECK(both.wait_for_log(log) == lines_of(log));

	options.serial++;
	options.signed_until_s = now_s + 3 * 86400;
	both.write(options);
	log += both.serving(10) + "warning: " + zone +
	       "signatures end soon, expires=" + std::to_string(now_s + 3 * 86400) + "\n";
	CHECK(both.wait_for_log(log) == lines_of(log));
}

TEST_CASE("nothing is said about the signatures of a zone that has none", "[server][watch]")
{
	watchers both;
	store_options options;
	options.signed_until_s = 5;
	both.write(options);
	std::string log = both.serving(7);
	CHECK(both.wait_for_log(log) == lines_of(log));
	options.serial++;
	both.write(options);
	log += both.serving(8);
	CHECK(both.wait_for_log(log) == lines_of(log));
}
